"""Private bounds of a numeric column, when nobody declared any."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.additive import AdditiveNoise
from hubbub.mechanisms.common.grid_values import doubles_of
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.numeric_columns import Column, Value, column_of
from hubbub.mechanisms.common.thresholds import laplace_threshold
from hubbub.mechanisms.integer_noise import integer_noise
from hubbub.terms import (
    Neighbours,
    OutOfRange,
    Real,
    ReversedBounds,
    Unit,
    fraction_of,
    positive,
    whole,
)

_LIMIT = Fraction(2) ** 1000


class FindRange(Mechanism):
    """Find powers of two that enclose the bulk of a column, from noisy counts in public buckets.

    The buckets are [0, s], (s, 2s], (2s, 4s], ... up to ``largest`` and their mirror images below zero, with s =
    ``smallest``; larger values count in the outermost bucket, NaN and whatever is no number in none. The answer
    runs from the lowest to the highest bucket whose noisy count reaches a threshold, or is None if none does.

    Guarantee: epsilon-DP for the given unit and neighbours, if one unit has at most ``max_per_unit`` values (the
    caller bounds that; this class does not).
    Because: [WZLDSG20] through ``docs/proofs/private-range.md``: the counts are a histogram of L1 sensitivity
    ``max_per_unit`` (twice that under replace), and the rest is post-processing of noisy counts.
    Error: with probability at least 1 - ``beta`` no empty bucket is taken for a full one; a bucket of
    ``error(confidence)`` values is found with at least that confidence.
    Not covered: running time. Values in buckets with few others may lie outside the range.

    >>> from hubbub.noise.testing import seeded
    >>> FindRange(epsilon=1).release([130.0, 170.0, 185.0] * 50 + [1e9], rng=seeded(7))
    (128.0, 256.0)
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        max_per_unit: int = 1,
        beta: Real = Fraction(1, 1000),
        smallest: object = Fraction(1, 1024),
        largest: object = 2**40,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        cost = positive(epsilon, name="epsilon")
        chance = fraction_of(beta, name="beta")
        self._edges = _doubling_edges(smallest, largest)
        moved = whole(max_per_unit, name="max_per_unit") * (2 if relation is Neighbours.REPLACE else 1)
        self._noise = integer_noise(
            "find-range",
            l1=moved,
            l2_squared=moved**2,
            epsilon=cost,
            delta=None,
            rho=None,
            dimension=2 * len(self._edges),
            neighbours=relation,
            unit=unit,
        )
        self.event: AdditiveNoise = self._noise.event
        self.threshold = laplace_threshold(moved / cost, tries=2 * len(self._edges), chance=chance)

    def release(self, values: Column, *, rng: noise.RandomSource | None = None) -> tuple[float, float] | None:
        """(lower, upper), or None if no bucket stands out."""
        places = self._places(values)
        counts = np.bincount(places, minlength=2 * len(self._edges))
        noisy = np.asarray(self._noise.release(counts, rng=rng))
        occupied = np.flatnonzero(noisy >= self.threshold)
        return (self._side(int(occupied[0])), self._side(int(occupied[-1]) + 1)) if occupied.size else None

    def error(self, confidence: Real) -> int:
        """How many values a bucket needs to be found with that confidence."""
        one_sided = 2 * fraction_of(confidence, name="confidence") - 1
        return self.threshold + (self._noise.error(one_sided) if one_sided > 0 else 0)

    def _side(self, place: int) -> float:
        """Where the bucket at ``place`` begins: -largest, ..., -s, 0, s, ..., largest."""
        signed = place - len(self._edges)
        if signed == 0:
            return 0.0
        return math.copysign(float(self._edges[abs(signed) - 1]), signed)

    def _places(self, values: Column) -> NDArray[np.int64]:
        """The bucket of each value: a rule for each value by itself."""
        column = column_of(values)
        if isinstance(column, list):
            kept = [value for value in column if not (isinstance(value, float) and math.isnan(value))]
            sizes = np.array([self._size(value) for value in kept], dtype=np.int64)
            below = np.array([value < 0 for value in kept], dtype=bool)
        else:
            floats = doubles_of(column)
            floats = floats[~np.isnan(floats)]
            sizes = np.searchsorted(np.array(self._edges, dtype=np.float64), np.abs(floats)).astype(np.int64)
            below = floats < 0
        sizes = np.minimum(sizes, len(self._edges) - 1)
        return np.where(below, len(self._edges) - 1 - sizes, len(self._edges) + sizes)

    def _size(self, value: Value) -> int:
        if isinstance(value, float) and math.isinf(value):
            return len(self._edges)
        return bisect_left(self._edges, abs(Fraction(value)))


def _doubling_edges(smallest: object, largest: object) -> list[Fraction]:
    """smallest, twice that, and so on, up to the first that is at least ``largest``."""
    first, last = positive(smallest, name="smallest"), positive(largest, name="largest")
    if last < first:
        raise ReversedBounds(
            "largest is below smallest.",
            why="The buckets double from smallest to largest.",
            fix="Swap them, or leave them out.",
        )
    if first < _LIMIT**-1 or last > _LIMIT:
        raise OutOfRange(
            "smallest and largest must lie between 2^-1000 and 2^1000.",
            why="The answer is a pair of doubles.",
            fix="Choose the magnitudes that values of this kind can have.",
        )
    edges = [first]
    while edges[-1] < last:
        edges.append(2 * edges[-1])
    return edges
