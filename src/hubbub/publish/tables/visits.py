"""Visits of people to places, day by day: counted exactly, before noise."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.cells import CategoryCells, Codes, numbers_of, plain_table
from hubbub.publish.privacy_units import chosen_rows, people_of

if TYPE_CHECKING:
    import pyarrow

_FIRST = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True, eq=False)
class Visits:
    """Who was where on which day, as numbers; a place that is not listed comes after all others."""

    people: Codes
    places: Codes
    days: NDArray[np.float64]
    listed: int  # how many places there are
    texts: pyarrow.Table  # person and place as they are written, which decides what counts if a person has too much

    @classmethod
    def of(cls, private: pyarrow.Table, columns: tuple[str, str, str], places: Sequence[str]) -> Visits:
        """From the rows."""
        unit, place, day = columns
        return cls(
            people_of(private[unit]),
            CategoryCells(tuple(places)).encode(private[place]),
            numbers_of(private[day], dates=True),
            len(places),
            plain_table(private, [unit, place]),
        )

    def counts(self, day: datetime.date, *, most: int) -> Codes:
        """Different people at each place on the day; of each person at most so many places count.

        Which places count depends on that person alone: ``units.chosen_rows``.
        """
        today = self.days == (day - _FIRST).days
        there = np.flatnonzero(today & (self.places < self.listed) & (self.people >= 0))
        _, once = np.unique(self.people[there] * self.listed + self.places[there], return_index=True)
        seen = there[once]  # one row of each person at each place
        kept = seen[chosen_rows(self.people[seen], self.texts.take(seen), most)]
        return np.bincount(self.places[kept], minlength=self.listed)
