"""Points of a projective space over the integers modulo a prime, as numbers.

A vector is the number with its coordinates as digits. A point is a line through zero; it is written as the vector on
it whose leading digit is 1. Points are numbered 0, 1, 2, ... in the order of these vectors, so that point number N
with m digits after the leading 1 is the vector order^m + N - starts[m], with starts[m] = 1 + order + ... + order^(m-1).
Vector zero is no point: nothing here ever makes it.
"""

from __future__ import annotations

from bisect import bisect_right

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.common.exact_words import Integers, Number, as_number

MOST_VECTORS = 1 << 23  # what the transform works on; every number here fits 32 bits
Small = NDArray[np.int32]
Digits = int | Small  # of one vector, or of many
Index = int | NDArray[np.intp]


def dimension_for(order: int, points: int) -> int:
    """The fewest coordinates (at least two) that give that many points."""
    dimension = 2
    while (order**dimension - 1) // (order - 1) < points:
        dimension += 1
    return dimension


class Space:
    """The points of ``dimension`` coordinates modulo the prime ``order``; what takes a point takes an array of them."""

    def __init__(self, order: int, dimension: int) -> None:
        self.order, self.dimension = order, dimension
        powers = [order**m for m in range(dimension + 1)]
        starts = [(power - 1) // (order - 1) for power in powers]
        self.points, self.plane, self.common = starts[-1], starts[-2], starts[-3]
        self.outside = order ** (dimension - 1)  # points that are not in a given hyperplane
        self.vectors = powers[-1]
        self._places = powers[:-1]
        self._powers, self._starts = _Table(powers), _Table(starts)
        self._inverses = _Table([0, *(pow(digit, -1, order) for digit in range(1, order))])

    def vector(self, point: Number) -> Digits:
        """The vector of a point."""
        number = _as_digits(point)
        m = self._starts.last_up_to(number)
        return self._powers[m] + number - self._starts[m]

    def point(self, vector: Digits) -> Number:
        """The point of a vector that is not zero."""
        m = self._powers.last_up_to(vector)
        scaled = self._times(vector, self._inverses[vector // self._powers[m]])
        return as_number(scaled - self._powers[m] + self._starts[m])

    def meet(self, point: Number, free: Number, product: Number) -> Number:
        """The point whose product with ``point`` is ``product``, with the digits of ``free`` in the other places.

        The digit at the leading place of ``point`` (where it has 1) is what makes the product come out.
        """
        number = _as_digits(point)
        m = self._starts.last_up_to(number)
        place = self._powers[m]
        high, low = divmod(_as_digits(free), place)
        missing = (_as_digits(product) - self._product(number - self._starts[m], low)) % self.order
        return self.point((high * self.order + missing) * place + low)

    def _product(self, a: Digits, b: Digits) -> Digits:
        """Of two vectors of which one has a zero in its leading place."""
        total: Digits = 0
        for _ in range(self.dimension - 1):
            a, first = divmod(a, self.order)
            b, second = divmod(b, self.order)
            total = total + first * second
        return total

    def _times(self, vector: Digits, factor: Digits) -> Digits:
        if isinstance(factor, int) and factor == 1:
            return vector
        result: Digits = 0
        for place in self._places:
            vector, digit = divmod(vector, self.order)
            result = result + digit * factor % self.order * place
        return result

    def transform(self, counts: NDArray[np.int64]) -> NDArray[np.float64]:
        """For each point, order * (counts of the points orthogonal to it) - (all counts)."""
        vectors = self.vector(np.arange(self.points))
        grid = np.zeros(self.vectors)
        for factor in range(1, self.order):
            grid[self._times(vectors, factor)] = counts
        half = self.order // 2 + 1
        result = np.fft.rfftn(grid.reshape((self.order,) * self.dimension)).real.ravel()
        mirrored = np.where(vectors % self.order < half, vectors, self._times(vectors, self.order - 1))
        return np.asarray(result[mirrored // self.order * half + mirrored % self.order])


class _Table:
    """Numbers to look up, by one index or by many."""

    def __init__(self, numbers: list[int]) -> None:
        self._list, self._array = numbers, np.array(numbers, dtype=np.int32)

    def __getitem__(self, index: Digits | Index) -> Digits:
        return self._list[index] if isinstance(index, int) else self._array[index]

    def last_up_to(self, number: Digits) -> Index:
        """The index of the last of the numbers, which rise, that is not above this one."""
        if isinstance(number, int):
            return bisect_right(self._list, number) - 1
        return np.searchsorted(self._array, number, side="right") - 1


def _as_digits(number: int | Integers) -> Digits:
    return number if isinstance(number, int) else number.astype(np.int32)
