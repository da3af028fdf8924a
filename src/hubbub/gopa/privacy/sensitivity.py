"""How far one protected unit moves a party's integers, and what that needs in noise."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Literal, get_args

from hubbub.accounting import mu_for
from hubbub.gopa.privacy import binomial_noise, vector_moments
from hubbub.terms import OutOfRange, fraction_of, whole

Kind = Literal["range", "one-hot", "norm"]


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """What replacing one unit can change of an honest party's input.

    - ``range``: each of ``coordinates`` numbers, by at most ``share`` of its range. One number is the default. A party
      that protects itself has share 1; a hospital that averages over m patients and protects each of them 1/m.
    - ``one-hot``: a histogram to which the unit adds its ``share`` in one cell: two cells move, one up and one down.
    - ``norm``: a vector in a ball: it moves by at most ``share`` of the diameter in L2, which has ``steps`` steps.
      This is about the integers, after rounding. With share 1 the ball itself bounds it: rounding towards the centre
      stays inside, and two vectors in a ball are no further apart than its diameter. With a smaller share no rounding
      of the sum keeps it by itself: a twentieth of a step in each of 100 coordinates may become one step in each. Then
      count the rounding in, as ``Subjects`` does, or round what each unit adds before adding it up.

    All numbers of a vector are accounted together: one unit moves them all at once.

    >>> Sensitivity("one-hot", coordinates=10).shifts(3)
    (3, 3)
    """

    kind: Kind = "range"
    coordinates: int = 1
    share: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        if self.kind not in get_args(Kind):
            raise OutOfRange(
                f"there is no sensitivity of the kind {self.kind!r}.",
                why="What one unit can change is a range, a one-hot vector, or a vector of bounded norm.",
                fix='Give "range", "one-hot" or "norm".',
            )
        whole(self.coordinates, name="coordinates", least=2 if self.kind == "one-hot" else 1)
        object.__setattr__(self, "share", fraction_of(self.share, name="share", one=True))

    @property
    def whole(self) -> bool:
        """Whether inputs are whole numbers of steps already, so that nothing is rounded."""
        return self.kind == "one-hot" and self.share == 1

    def shifts(self, steps: int) -> tuple[int, ...]:
        """By how many steps coordinates move at most, for each that can; empty if only their L2 norm is known.

        Rounding keeps this: two numbers at most x apart, rounded with the same coin, are at most ceil(x) apart.
        """
        most = math.ceil(self.share * steps)
        return {"range": (most,) * self.coordinates, "one-hot": (most, most), "norm": ()}[self.kind]

    def squared(self, steps: int) -> int:
        """The largest squared L2 distance, in steps."""
        moved = self.shifts(steps)
        return sum(s * s for s in moved) if moved else math.ceil((self.share * steps) ** 2)

    def delta(self, trials: int, steps: int, epsilon: float) -> float:
        """At least the delta if each coordinate has Bin(trials, 1/2) of honest noise.

        Guarantee: a vector of sums with that noise is (epsilon, delta)-DP if one unit moves it no further than said.
        Because: the noise is a sum of fair coins, whose profile is summed as in [CKS20, Thm. 7]: docs/proofs/gopa.md.
        Error: for one or two coordinates above the exact delta by a factor of 1e-9 at most; for more, the moments cost
        about a seventh more variance.
        """
        moved = self.shifts(steps)
        if len(moved) == 1:
            return binomial_noise.delta_of_one(trials, moved[0], epsilon)
        if len(moved) == 2:
            return binomial_noise.delta_of_two(trials, moved[0], moved[1], epsilon)
        if moved:
            return vector_moments.delta_of_many(trials, Counter(moved), epsilon)
        return vector_moments.delta_of_norm(trials, self.squared(steps), self.coordinates, epsilon)

    def trials(self, steps: int, epsilon: float, delta: float, *, each: int = 1) -> int:
        """The least number of honest coins per coordinate, a multiple of ``each``, that is (epsilon, delta)-DP."""
        return _least_trials(self, steps, epsilon, delta, each)


@lru_cache(maxsize=4096)
def _least_trials(moved: Sensitivity, steps: int, epsilon: float, delta: float, each: int) -> int:
    """The least: one more coin never hurts (it is post-processing), so bisection finds it."""
    low, high = 0, math.ceil(4 * moved.squared(steps) / mu_for(epsilon, delta) ** 2 / each)
    while moved.delta(high * each, steps, epsilon) > delta:
        low, high = high, high + max(1, high // 16)
    low = max(low, high // 2) if moved.delta(max(low, high // 2) * each, steps, epsilon) > delta else low
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if moved.delta(middle * each, steps, epsilon) <= delta else (middle, high)
    return high * each
