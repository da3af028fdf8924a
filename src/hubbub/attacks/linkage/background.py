"""Background knowledge: in a k-anonymous table, ruling out a value or two may leave one [MKGV07]."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks import plain_tables
from hubbub.attacks.linkage import generalized_values
from hubbub.attacks.linkage.equivalence_classes import SensitiveCounts, classes_of
from hubbub.attacks.plain_tables import ColumnValues, PlainTable
from hubbub.attacks.report import Attack, count_of, share_of
from hubbub.explain import Figure
from hubbub.render import Json, percent
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import Unsuitable


def background(
    table: PlainTable,
    *,
    quasi_identifiers: Sequence[str],
    sensitive: str,
    excluded: Sequence[object] = (),
    known: Mapping[str, object] | None = None,
    person: str | ColumnValues | None = None,
) -> Background:
    """Count how many values an attacker must rule out to be certain, and what ``excluded`` ones leave.

    ``excluded`` are values that the attacker knows somebody not to have: who runs marathons has no heart disease.
    ``known`` describes one victim by quasi-identifiers, plainly ({"age": 51} fits ``50-59``); then the report says
    what is believed of the victim before, with the table, and with the exclusions. ``person`` says whose each row is (a
    column of the table, or a sequence): then people are counted, and else rows.

    >>> wards = {"age": ["50-59"] * 4, "ill": ["heart disease", "cancer", "cancer", "heart disease"]}
    >>> found = background(wards, quasi_identifiers=["age"], sensitive="ill", excluded=["heart disease"],
    ...                    known={"age": 51})
    >>> found.beliefs
    {'cancer': 1.0}
    """
    classes = classes_of(table, quasi_identifiers=quasi_identifiers, sensitive=sensitive, person=person)
    ruled_out = _known_values(classes, excluded, sensitive)
    victim = None if known is None else _class_of(classes, quasi_identifiers, known)
    return Background(sensitive, classes, ruled_out, None if known is None else dict(known), victim)


@dataclass(frozen=True, slots=True, eq=False)
class Background(Attack):
    """The groups of a table, the values that are ruled out, and the counts of the victim's group (if there is one)."""

    kind: ClassVar[str] = "background"
    name: ClassVar[str] = "Background knowledge"

    sensitive: str
    classes: SensitiveCounts
    excluded: tuple[str, ...] = ()
    known: dict[str, object] | None = None
    victim: NDArray[np.int64] | None = None

    @property
    def least(self) -> int:
        """How many values must be ruled out until somebody's value is certain."""
        return int(self.classes.distinct.min()) - 1

    def exposed(self, exclusions: int) -> int:
        """How many people are certain for an attacker who can rule out that many values of the right ones."""
        return self.classes.among(self.classes.distinct <= exclusions + 1)

    @property
    def left(self) -> NDArray[np.int64]:
        """The counts by group without the people who have an excluded value."""
        kept = np.array([value not in self.excluded for value in self.classes.values])
        return np.asarray(self.classes.counts * kept)

    @property
    def exposed_now(self) -> int:
        """How many people without an excluded value are certain, once these values are ruled out."""
        alone = np.count_nonzero(self.left, axis=1) == 1
        return int(self.left[alone].sum())

    @property
    def beliefs(self) -> dict[str, float]:
        """What the attacker believes of the victim, most likely first; nothing without a victim."""
        if self.victim is None:
            return {}
        kept = np.array([value not in self.excluded for value in self.classes.values])
        counts = self.victim * kept
        order = np.argsort(-counts, kind="stable")
        return {self.classes.values[i]: float(counts[i] / counts.sum()) for i in order if counts[i]}

    @property
    def succeeded(self) -> bool:
        """Whether the victim's value is certain; without a victim, whether anybody's is."""
        return len(self.beliefs) == 1 if self.victim is not None else self.exposed_now > 0

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        ruled = f"with {', '.join(self.excluded)} ruled out" if self.excluded else "with nothing ruled out"
        if self.victim is None:
            certain = count_of(self.exposed_now, int(self.left.sum()))
            left = "people who" if self.classes.owners is not None else "rows that"
            return f"{ruled.capitalize()}, the {self.sensitive} is certain for {certain} of the {left} remain."
        if not self.beliefs:
            return f"{ruled.capitalize()}, nothing is left that the victim could have."
        first, belief = next(iter(self.beliefs.items()))
        return f"{ruled.capitalize()}, the victim has {first} with {'certainty' if belief == 1 else percent(belief)}."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "people": self.classes.people,
            "excluded": list(self.excluded),
            "exposed": self.exposed_now,
            "exclusions_needed": self.least,
            "exposed_by_exclusions": [self.exposed(i) for i in range(self._most + 1)],
            "beliefs": dict(self.beliefs),
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        people = self.classes.people
        counts = tuple(
            (f"certain after ruling out {i} value{'' if i == 1 else 's'}", count_of(self.exposed(i), people))
            for i in range(min(self._most, 4) + 1)
        )
        rows = tuple((f"the victim has {value}", share_of(belief)) for value, belief in self.beliefs.items())
        return (
            (self.classes.counted, f"{people:,}"),
            *counts,
            ("ruled out here", ", ".join(self.excluded) or "nothing"),
            *rows,
        )

    def figure(self) -> Figure:
        """How many people are certain, by the number of values that can be ruled out."""
        people = self.classes.people
        shares = [(i, self.exposed(i) / people) for i in range(self._most + 1)]
        bars = [(f"{i} ruled out", share, share_of(share)) for i, share in shares]
        svg = bar_chart(
            [Bar(name, share, shown=shown) for name, share, shown in bars],
            title="Whose value is certain, by how many others are ruled out",
            description="; ".join(f"{name}: {shown}" for name, _, shown in bars) + ".",
            label=f"share of {self.classes.counted} whose value is certain",
            show=percentage,
            include=(1.0,),
        )
        return Figure(self.kind, svg, "At most, for an attacker who rules out the right values.", text_bars(bars))

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        return (
            f"A group with several values of {self.sensitive} protects only as long as nobody can rule out all but "
            "one. Friends, colleagues and doctors can rule out much, and so can anybody for whom a value is unlikely.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "With l different values in each group (l-diversity) an attacker must rule out all but one, and that is "
            "all it promises. What people know cannot be foreseen. Differential privacy holds whatever is known: it "
            "bounds how much the answer adds to it.",
        )

    @property
    def _most(self) -> int:
        return int(self.classes.distinct.max()) - 1


def _known_values(classes: SensitiveCounts, excluded: Sequence[object], sensitive: str) -> tuple[str, ...]:
    values = tuple(map(str, (excluded,) if isinstance(excluded, str) else excluded))
    missing = [value for value in values if value not in classes.values]
    if missing:
        raise Unsuitable(
            f"{missing[0]!r} is no value of {sensitive!r}.",
            why="Ruling out what nobody has tells nothing.",
            fix="Name values that occur in the column.",
        )
    return values


def _class_of(
    classes: SensitiveCounts, quasi_identifiers: Sequence[str], known: Mapping[str, object]
) -> NDArray[np.int64]:
    """The counts of the rows that may be the victim's."""
    plain_tables.known_columns(
        classes.table.select(list(quasi_identifiers)), list(known), called="the quasi-identifiers"
    )
    fits = np.ones(classes.table.num_rows, bool)
    for name, value in known.items():
        shown = classes.table.column(name)
        one = plain_tables.read_table({name: [str(value)]}, called="known").column(name)
        fits &= generalized_values.fitting_values(shown, one)[:, 0][plain_tables.encode_column(shown)]
    if not fits.any():
        raise Unsuitable(
            "no row fits what is known of the victim.",
            why="Then the victim is not in the table, and it tells nothing about them.",
            fix="Describe somebody who is in the table, by quasi-identifiers.",
        )
    groups = np.unique(classes.rows[fits])
    return np.asarray(classes.counts[groups].sum(axis=0))
