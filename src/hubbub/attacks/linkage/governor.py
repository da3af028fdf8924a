"""The governor's diagnosis: a hospital's records without names, the voter roll, and four steps [Swe02]."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks import plain_tables, populations
from hubbub.attacks.linkage import generalized_values
from hubbub.attacks.populations import InventedState
from hubbub.attacks.report import Attack, count_of
from hubbub.explain import Figure
from hubbub.render import Json
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart

if TYPE_CHECKING:
    import pyarrow

_FACTS = ("birth_date", "sex", "zip")  # in this order the circle narrows


def governor(population: InventedState | None = None, *, coarse: bool = False) -> Governor:
    """Find the governor of an invented state in the hospital's records, knowing what any newspaper tells.

    Everybody knows when the governor was born and where the governor lives. The voter roll tells whether anybody
    else shares that; the hospital's records then have one row that fits. With ``coarse`` the hospital has released
    decades and three digits of the ZIP code instead.

    >>> story = governor(populations.classroom(40_000))
    >>> story.voters_left[-1], story.records, story.diagnoses
    (1, 1, ('cancer',))
    """
    import pyarrow as pa

    state = population or populations.classroom()
    released = state.coarse(state.hospital) if coarse else state.hospital
    known = state.people.slice(0, 1)  # the governor comes first
    left = [int(mask.sum()) for mask in _narrow_rows(state.coarse(state.voters) if coarse else state.voters, known)]
    diagnoses = released.column("diagnosis").filter(pa.array(_narrow_rows(released, known)[-1])).to_pylist()
    return Governor(state.voters.num_rows, tuple(left), tuple(sorted(diagnoses)), coarse)


@dataclass(frozen=True, slots=True)
class Governor(Attack):
    """How the circle narrows: voters left after each fact, and the diagnoses of the records that fit."""

    kind: ClassVar[str] = "governor"
    name: ClassVar[str] = "The governor"

    voters: int
    voters_left: tuple[int, ...]  # after the birth date, the sex, and the ZIP code
    diagnoses: tuple[str, ...]
    coarse: bool

    @property
    def title(self) -> str:
        """What was tried."""
        return "Which hospital record is the governor's?"

    @property
    def steps(self) -> tuple[tuple[str, int], ...]:
        """What is known, fact by fact, and how many voters are left."""
        born, lives = (
            ("in that decade", "in that part of the state") if self.coarse else ("on that day", "in that ZIP code")
        )
        rows = (f"born {born}", "... and of that sex", f"... and {lives}")
        return tuple(zip(rows, self.voters_left, strict=True))

    @property
    def records(self) -> int:
        """How many hospital records fit what is known of the governor."""
        return len(self.diagnoses)

    @property
    def succeeded(self) -> bool:
        """Whether one record is left, and one voter."""
        return self.records == 1 and self.voters_left[-1] == 1

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        if self.succeeded:
            sentence = f"One of {self.voters:,} registered voters fits, and one hospital record"
            return f"{sentence}: the governor has {self.diagnoses[0]}."
        left = f"{self.voters_left[-1]:,} of {self.voters:,} registered voters fit"
        return f"{left}, and {self.records:,} hospital records: which one is the governor's cannot be told."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "voters": self.voters,
            "voters_left": dict(zip(_FACTS, self.voters_left, strict=True)),
            "records": self.records,
            "diagnoses": {name: self.diagnoses.count(name) for name in sorted(set(self.diagnoses))},
            "coarse": self.coarse,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        common = max(set(self.diagnoses), key=self.diagnoses.count) if self.diagnoses else "none"
        return (
            ("registered voters", f"{self.voters:,}"),
            *((what, f"{left:,}") for what, left in self.steps),
            ("hospital records that fit", f"{self.records:,}"),
            (
                "most frequent diagnosis among these",
                f"{common}: {count_of(self.diagnoses.count(common), self.records)}",
            ),
        )

    def figure(self) -> Figure:
        """The voters that are left after each fact."""
        steps = [(what, float(left), f"{left:,}") for what, left in self.steps]
        svg = bar_chart(
            [Bar(what, left, shown=shown) for what, left, shown in steps],
            title=f"{self.voters:,} voters, and how few are left",
            description="; ".join(f"{what}: {shown}" for what, _, shown in steps) + ".",
            label="voters left",
        )
        return Figure(self.kind, svg, "Each fact alone is harmless.", text_bars(steps))

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not self.succeeded:
            return ("The governor hides among all who fit. Whoever guesses knows little more than the frequencies.",)
        return (
            "This is how Latanya Sweeney found the record of the governor of Massachusetts in the 1990s: birth date "
            "and home from the newspapers, the voter roll for a small fee, and records that were called anonymous.",
            "A governor is not special. Most people are alone with these three facts (`uniqueness`).",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Coarser dates and places hide this one person by these facts (`governor(coarse=True)`). They do not, if "
            "all who fit have the same diagnosis, or if a further fact is known. Counts with noise tell how many "
            "people have cancer, and nothing about the governor.",
        )


def _rows_fitting(table: pyarrow.Table, known: pyarrow.Table, fact: str) -> NDArray[np.bool_]:
    """Which rows agree with the known person in one fact."""
    shown = table.column(fact)
    return generalized_values.fitting_values(shown, known.column(fact))[:, 0][plain_tables.encode_column(shown)]


def _narrow_rows(table: pyarrow.Table, known: pyarrow.Table) -> list[NDArray[np.bool_]]:
    """Which rows are left as the facts are added, one by one."""
    left, masks = np.ones(table.num_rows, bool), []
    for fact in _FACTS:
        left = left & _rows_fitting(table, known, fact)
        masks.append(left)
    return masks
