"""What a person counts under each of several keys, as whole numbers; and the threshold that goes with it."""

from __future__ import annotations

import math
from bisect import bisect_left
from fractions import Fraction

from hubbub.mechanisms.common.thresholds import gaussian_threshold
from hubbub.terms import Neighbours, root_of, whole

_ONE = 1 << 12  # parts in which a person is counted: a weight loses at most one of them
_EXACT, _RATIO = 128, 32  # numbers of keys with a weight of their own; above, steps grow by a 32nd
_MOST_KEYS = 2**32  # of one unit


class KeyWeights:
    """What a person counts under each of so many keys, in whole parts of a person (``one`` of them).

    ``steps`` has (number of keys, weight): whoever has more keys than one step, and no more than the next, has the
    weight of the next. Numbers up to 128 are steps of their own.

    >>> KeyWeights(3, weighted=True).steps
    ((1, 7094), (2, 5016), (3, 4096))
    """

    def __init__(self, most: int, *, weighted: bool) -> None:
        self.most = whole(most, name="max_keys_per_unit", most=_MOST_KEYS)
        self.one = _ONE if weighted and self.most > 1 else 1
        self.steps = tuple((j, self._weight(j)) for j in (_steps(self.most) if self.one > 1 else [self.most]))

    def _weight(self, keys: int) -> int:
        """one * sqrt(most / keys), rounded down; 1 for everybody where nothing is weighed."""
        return 1 if self.one == 1 else math.isqrt(self.one**2 * self.most // keys)

    def of(self, keys: int) -> int:
        """The weight of a person under so many keys."""
        return self.steps[bisect_left(self.steps, (keys, 0))][1]

    def length(self, neighbours: Neighbours) -> Fraction:
        """How far one unit moves the sums in L2; rounded up."""
        return root_of(Fraction(self.one**2 * self.most * (2 if neighbours is Neighbours.REPLACE else 1)))

    def threshold(self, sigma: Fraction, own: Fraction) -> int:
        """The least sum with which a key is named: whatever number of keys a unit has, all alone pass with ``own``.

        A unit that steps up to ``keys`` has at most so many, each with a sum of its weight.
        """
        return max(weight + gaussian_threshold(sigma, tries=keys, chance=own) for keys, weight in self.steps)


def _steps(most: int) -> list[int]:
    steps = list(range(1, min(most, _EXACT) + 1))
    while steps[-1] < most:
        steps.append(min(most, steps[-1] + steps[-1] // _RATIO))
    return steps
