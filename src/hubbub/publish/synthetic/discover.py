"""Bounds and lists of values that nobody declared: found privately, and paid for."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from hubbub.mechanisms import FindRange, ThresholdPartitionSelection
from hubbub.publish.cells import CategoryCells, Codes, Coding, Scale, coding_of, numbers_of, texts_of
from hubbub.publish.domains import MOST_FOUND, Categorical, Date, Found, Numeric, equal_edges
from hubbub.publish.marginal_counts import Whom, epsilon_for
from hubbub.terms import Event

if TYPE_CHECKING:
    import pyarrow

_LONGEST = 64  # signs of a value that may be found; a longer one counts as other


@dataclass(frozen=True, slots=True)
class Finder:
    """What it costs to find one column's domain, and how it is done.

    Guarantee: each ``find`` is within its event, for the unit and neighbours of ``whom``, if no unit has more than
    ``whom.most`` rows.
    Because: ``FindRange`` [WZLDSG20] and ``ThresholdPartitionSelection`` [KKMN09]; each counts what one unit has.
    Not covered: running time.
    """

    whom: Whom
    rho: Fraction
    delta: Fraction  # of each list of values

    def event(self, column: Numeric | Categorical) -> Event:
        """What ``find`` does, known beforehand."""
        return (self._keys() if isinstance(column, Categorical) else self._range()).event

    def find(self, column: Numeric | Categorical, values: pyarrow.ChunkedArray, people: Codes | None) -> Found:
        """Two bounds (0 and 1 if no part of the line stands out), or the values that many units have."""
        if isinstance(column, Numeric):
            return list(self._range().release(numbers_of(values, dates=False)) or (0.0, 1.0))
        return self._values(values, people)

    def _values(self, values: pyarrow.ChunkedArray, people: Codes | None) -> Found:
        """Values with a noisy number of units above the threshold, the most frequent ones if there are too many."""
        import pyarrow
        import pyarrow.compute as pc

        text = texts_of(values)
        units = pyarrow.array(people if people is not None else np.arange(len(text)))
        pairs = pyarrow.table({"value": text, "unit": units}).filter(pc.less_equal(pc.utf8_length(text), _LONGEST))
        counted = pairs.group_by(["value", "unit"]).aggregate([]).group_by("value").aggregate([("unit", "count")])
        counts = dict(zip(counted["value"].to_pylist(), counted["unit_count"].to_pylist(), strict=True))
        named = self._keys().release(counts)
        kept = sorted(named, key=lambda value: (-named[value], value))[:MOST_FOUND]
        return sorted(kept)

    def _range(self) -> FindRange:
        whom = self.whom
        epsilon = epsilon_for(self.rho / 4)  # of a pure step: rho = epsilon^2/2
        return FindRange(epsilon=epsilon, max_per_unit=whom.most, neighbours=whom.neighbours, unit=whom.unit)

    def _keys(self) -> ThresholdPartitionSelection:
        whom = self.whom
        return ThresholdPartitionSelection(
            rho=self.rho,
            delta=self.delta,
            noise="gaussian",
            max_keys_per_unit=whom.most,
            neighbours=whom.neighbours,
            unit=whom.unit,
        )


def coding_with(column: Numeric | Categorical | Date, domain: Found | None) -> Coding:
    """The cells of a column, with what was found if its domain is private."""
    if domain is None:
        return coding_of(column)
    if isinstance(column, Categorical):
        return CategoryCells(tuple(domain), column.other)
    assert isinstance(column, Numeric)
    edges = equal_edges(Fraction(domain[0]), Fraction(domain[1]), column.bins, whole=column.is_whole)
    return Scale(tuple(edges), column.missing, "int" if column.is_whole else "float", column.step)
