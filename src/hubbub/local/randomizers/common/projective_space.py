"""Points of a projective space over the integers modulo a prime, as numbers.

A vector is the number with its coordinates as digits. A point is a line through zero; it is written as the vector on
it whose leading digit is 1. Points are numbered 0, 1, 2, ... in the order of these vectors, so that point number N
with m digits after the leading 1 is the vector order^m + N - starts[m], with starts[m] = 1 + order + ... + order^(m-1).
Vector zero is no point: nothing here ever makes it.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.common.exact_words import Codes

MOST_VECTORS = 1 << 23  # what the transform works on; every number here fits 32 bits
Small = NDArray[np.int32]


def dimension_for(order: int, points: int) -> int:
    """The fewest coordinates (at least two) that give that many points."""
    dimension = 2
    while (order**dimension - 1) // (order - 1) < points:
        dimension += 1
    return dimension


class Space:
    """The points of ``dimension`` coordinates modulo the prime ``order``."""

    def __init__(self, order: int, dimension: int) -> None:
        self.order, self.dimension = order, dimension
        self.powers: list[int] = [order**m for m in range(dimension + 1)]
        self.starts: list[int] = [(power - 1) // (order - 1) for power in self.powers]
        self.points, self.plane, self.common = self.starts[-1], self.starts[-2], self.starts[-3]
        self.outside = order ** (dimension - 1)  # points that are not in a given hyperplane
        self.inverses = [0, *(pow(digit, -1, order) for digit in range(1, order))]

    # one point

    def vector(self, point: int) -> int:
        """The vector of a point."""
        m = bisect_right(self.starts, point) - 1
        return int(self.powers[m] + point - self.starts[m])

    def point(self, vector: int) -> int:
        """The point of a vector that is not zero."""
        m = bisect_right(self.powers, vector) - 1
        lead = vector // self.powers[m]
        scaled = vector if lead == 1 else self._times(vector, self.inverses[lead])
        return int(scaled - self.powers[m] + self.starts[m])

    def meet(self, point: int, free: int, product: int) -> int:
        """The point whose product with ``point`` is ``product``, with the digits of ``free`` in the other places.

        The digit at the leading place of ``point`` (where it has 1) is what makes the product come out.
        """
        own = self.vector(point)
        place = self.powers[bisect_right(self.starts, point) - 1]
        vector = free // place * place * self.order + free % place
        missing = (product - self._product(own % place, vector % place)) % self.order
        return self.point(vector + missing * place)

    def _product(self, a: int, b: int) -> int:
        total = 0
        while a and b:
            a, first = divmod(a, self.order)
            b, second = divmod(b, self.order)
            total += first * second
        return total

    def _times(self, vector: int, factor: int) -> int:
        result, place = 0, 1
        while vector:
            vector, digit = divmod(vector, self.order)
            result += digit * factor % self.order * place
            place *= self.order
        return result

    # many points

    @cached_property
    def _power_array(self) -> Small:
        return np.array(self.powers, dtype=np.int32)

    @cached_property
    def _start_array(self) -> Small:
        return np.array(self.starts, dtype=np.int32)

    @cached_property
    def _offsets(self) -> Small:
        return self._power_array - self._start_array

    def vectors(self, points: NDArray[Any]) -> Small:
        """The vector of each point."""
        small = points.astype(np.int32)
        return small + self._offsets[np.searchsorted(self._start_array, small, side="right") - 1]

    def points_of(self, vectors: Small) -> Codes:
        """The point of each vector, none of which is zero."""
        m = np.searchsorted(self._power_array, vectors, side="right") - 1
        factor = np.array(self.inverses, dtype=np.int32)[vectors // self._power_array[m]]
        scaled = np.where(factor == 1, vectors, self._times_many(vectors, factor))
        return (scaled - self._offsets[m]).astype(np.int64)

    def meet_many(self, points: Codes, free: NDArray[Any], outside: NDArray[np.bool_]) -> Codes:
        """``meet`` for many, with product 1 where ``outside`` and 0 elsewhere."""
        small = points.astype(np.int32)
        m = np.searchsorted(self._start_array, small, side="right") - 1
        place = self._power_array[m]
        high, low = np.divmod(free.astype(np.int32), place)
        own = small - self._start_array[m]  # the digits below the leading 1
        missing = (outside - self._product_many(own, low)) % self.order
        return self.points_of((high * self.order + missing) * place + low)

    def _product_many(self, a: Small, b: Small) -> Small:
        total = np.zeros_like(a)
        for _ in range(self.dimension - 1):
            a, first = np.divmod(a, np.int32(self.order))
            b, second = np.divmod(b, np.int32(self.order))
            total += first * second
        return total

    def _times_many(self, vectors: Small, factor: Small) -> Small:
        result = np.zeros_like(vectors)
        for place in self.powers[:-1]:
            vectors, digit = np.divmod(vectors, np.int32(self.order))
            result += digit * factor % np.int32(self.order) * np.int32(place)
        return result

    # all points

    def transform(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """For each point, order * (counts of the points orthogonal to it) - (all counts)."""
        vectors = self.vectors(np.arange(self.points))
        grid = np.zeros(self.powers[-1])
        for factor in range(1, self.order):
            grid[self._times_many(vectors, np.full_like(vectors, factor))] = counts
        shape = (self.order,) * self.dimension
        half = self.order // 2 + 1
        result: NDArray[np.float64] = np.fft.rfftn(grid.reshape(shape)).real.ravel()
        mirrored = np.where(
            vectors % self.order < half, vectors, self._times_many(vectors, np.full_like(vectors, self.order - 1))
        )
        return np.asarray(result[mirrored // self.order * half + mirrored % self.order])
