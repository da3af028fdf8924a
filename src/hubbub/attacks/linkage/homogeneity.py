"""Homogeneity: in a k-anonymous table, a group whose members all have the same secret keeps it for nobody [MKGV07]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp
from typing import ClassVar

import numpy as np

from hubbub.attacks.linkage.equivalence_classes import SensitiveCounts, classes_of
from hubbub.attacks.plain_tables import ColumnValues, PlainTable
from hubbub.attacks.report import Attack, count_of
from hubbub.explain import Figure
from hubbub.render import Json, hundredths, icons, out_of_100, percent
from hubbub.render.charts import Icons, icon_array


def homogeneity(
    table: PlainTable, *, quasi_identifiers: Sequence[str], sensitive: str, person: str | ColumnValues | None = None
) -> Homogeneity:
    """Count who is exposed although nobody is singled out, and how much better an attacker guesses.

    The attacker knows that a person is in the table and which group fits. *Before* the table, the best guess for
    everybody is the most frequent value of all; *after*, that of the person's group. ``person`` says whose each row is
    (a column of the table, or a sequence): then people are counted, and else rows.

    >>> wards = {"age": ["20-30", "20-30", "70-80", "70-80"], "ill": ["asthma", "flu", "cancer", "cancer"]}
    >>> found = homogeneity(wards, quasi_identifiers=["age"], sensitive="ill")
    >>> found.k, found.l, found.exposed
    (2, 1, 2)
    """
    groups = classes_of(table, quasi_identifiers=quasi_identifiers, sensitive=sensitive, person=person)
    names = (quasi_identifiers,) if isinstance(quasi_identifiers, str) else tuple(quasi_identifiers)
    return Homogeneity(names, sensitive, groups)


@dataclass(frozen=True, slots=True, eq=False)
class Homogeneity(Attack):
    """The groups of a table, and what each tells about its members."""

    kind: ClassVar[str] = "homogeneity"
    name: ClassVar[str] = "Homogeneity"

    quasi_identifiers: tuple[str, ...]
    sensitive: str
    classes: SensitiveCounts

    @property
    def k(self) -> int:
        """The size of the smallest group: the table is k-anonymous."""
        return int(self.classes.sizes.min())

    @property
    def l(self) -> int:  # noqa: E743  (the name of the notion)
        """The fewest different values in a group: the table is l-diverse (distinct)."""
        return int(self.classes.distinct.min())

    @property
    def entropy_l(self) -> float:
        """The largest l for which the table is entropy l-diverse."""
        return exp(float(self.classes.entropies.min()))

    @property
    def homogeneous(self) -> int:
        """How many groups have one value only."""
        return int(np.count_nonzero(self.classes.distinct == 1))

    @property
    def exposed(self) -> int:
        """How many people are in such groups: their value is certain."""
        return self.classes.among(self.classes.distinct == 1)

    @property
    def before(self) -> float:
        """How often the best guess is right without the table."""
        return float(self.classes.prior.max())

    @property
    def after(self) -> float:
        """How often the best guess is right with the table."""
        return float(self.classes.counts.max(axis=1).sum() / self.classes.sizes.sum())

    def nearly_sure(self, belief: float = 0.9) -> int:
        """How many people have a value that the attacker holds at least that likely, and did not before."""
        risen = (self.classes.posterior >= belief) & (self.classes.prior < belief)
        return int(self.classes.counts[risen].sum())

    @property
    def succeeded(self) -> bool:
        """Whether anybody's value is certain."""
        return self.exposed > 0

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if not self.succeeded:
            return f"No group of the {self.k}-anonymous table has one {self.sensitive} only: the fewest are {self.l}."
        who = count_of(self.exposed, self.classes.people)
        if self.k == 1:
            return f"{who} are exposed: they are alone in their group, or all in it have the same {self.sensitive}."
        return (
            f"Every group has at least {self.k} {self.classes.counted}, and still {who} are exposed: all in their "
            f"group have the same {self.sensitive}."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "k": self.k,
            "l": self.l,
            "entropy_l": self.entropy_l,
            "people": self.classes.people,
            "groups": len(self.classes.sizes),
            "homogeneous_groups": self.homogeneous,
            "exposed": self.exposed,
            "nearly_sure": self.nearly_sure(),
            "right_guesses_before": self.before,
            "right_guesses_after": self.after,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        people, counted = self.classes.people, self.classes.counted
        return (
            (counted, f"{people:,}"),
            ("groups", f"{len(self.classes.sizes):,}"),
            ("smallest group (k)", f"{self.k:,}"),
            (f"fewest values of {self.sensitive} in a group (l)", f"{self.l:,}"),
            ("the same, weighed by frequency (entropy l)", f"{self.entropy_l:.2f}"),
            ("groups with one value only", count_of(self.homogeneous, len(self.classes.sizes))),
            (f"{counted} whose value is certain", count_of(self.exposed, people)),
            (f"{counted} whose value is at least 90% sure now", count_of(self.nearly_sure(), people)),
            ("right guesses before", percent(self.before)),
            ("right guesses after", percent(self.after)),
        )

    def figure(self) -> Figure:
        """Right guesses out of 100, before and after."""
        before, after = hundredths(self.before), hundredths(self.after)
        svg = icon_array(
            (
                Icons(f"Before the table: {out_of_100(self.before)}", before),
                Icons(f"With the table: {out_of_100(self.after)}", after),
            ),
            title=f"Right guesses of somebody's {self.sensitive}",
            description=f"Two groups of 100 figures: {before} filled before the table, {after} with it.",
            yes="a right guess",
            no="a wrong guess",
        )
        drawn = icons(((f"{before} before", before), (f"{after} with the table", after)))
        return Figure(self.kind, svg, "The best guess for everybody, without and with the released table.", drawn)

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        alone = (
            f"Who is alone with these values has a row of their own, and with it the {self.sensitive}. Where all rows "
            f"of a group have the same {self.sensitive}, nobody needs to know which row it is."
        )
        crowd = (
            f"A k-anonymous table hides which of {self.k} rows is yours. It does not hide what these rows have in "
            f"common: if all have the same {self.sensitive}, nobody needs to know which row it is."
        )
        belief = (
            f"The table also moves belief about all others: with it, {out_of_100(self.after)} guesses are right, and "
            f"{out_of_100(self.before)} without. Some of that is knowledge about groups, which a table is for."
        )
        return (alone if self.k == 1 else crowd, belief) if self.succeeded else (belief,)

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "The notion of l-diversity asks for several values in each group, and t-closeness for about the same "
            "frequencies as overall. Both need to know which column is sensitive, and fall to what an attacker may "
            "rule out (`background`). Differential privacy bounds what is learned from a person's row, whatever is "
            "known.",
        )
