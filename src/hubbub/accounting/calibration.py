"""How much noise a target asks for, for any composition."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from hubbub.accounting.epsilon_bounds import Events, epsilon, rough_epsilon
from hubbub.terms import Neighbours, NoBound, Real, Unreachable, exact, fraction_of, positive, shown

_CLOSER = Fraction(9, 10)  # how far below the rough answer the first tight look is


def noise_for(
    events: Callable[[Fraction], Events],
    *,
    epsilon_target: object,
    delta: Real,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    least: object = Fraction(1, 100),
    most: object = 10**6,
    precision: object = Fraction(1, 1000),
) -> Fraction:
    """The smallest noise scale at which ``events(scale)`` cost at most the target, to a relative precision.

    The answer always meets the target: the search ends on its safe side. ``events`` must cost less for more noise.
    Rough bounds find the neighbourhood first: loss distributions of far too little noise would take gigabytes. Only
    scales of few binary digits are looked at: an event tells requests apart, and the last digits of doubles are not
    the same on every machine.

    >>> from hubbub.accounting import Repeat
    >>> from hubbub.mechanisms import Gaussian
    >>> run = lambda sigma: Repeat(Gaussian(sensitivity=1, sigma=sigma).event, 1000)
    >>> round(float(noise_for(run, epsilon_target=1, delta=1e-5)), 1)
    118.0
    """
    goal, relation = positive(epsilon_target, name="epsilon_target"), Neighbours.parse(neighbours)
    allowed = fraction_of(delta, name="delta", zero=True)
    low, high = positive(least, name="least"), positive(most, name="most")
    tolerance = positive(precision, name="precision")

    def roughly(scale: Fraction) -> float:
        return rough_epsilon(events(scale), delta=allowed, neighbours=relation)

    def tightly(scale: Fraction) -> float:
        try:
            return float(epsilon(events(scale), delta=allowed, neighbours=relation))
        except NoBound:
            return math.inf

    rough, tight = _Search(roughly, goal, tolerance), _Search(tightly, goal, tolerance)
    if not rough.meets(high):
        return tight.between(low, _check_reached(tight, high))
    return tight.downwards(low, rough.between(low, high))


class _Search:
    """Looks for the least scale whose cost is at most the goal; a cost falls with the scale."""

    def __init__(self, cost: Callable[[Fraction], float], goal: Fraction, tolerance: Fraction) -> None:
        self._cost, self.goal, self._tolerance = cost, goal, tolerance
        self._known: dict[Fraction, float] = {}

    def meets(self, scale: Fraction) -> bool:
        """Whether the goal is met at that scale."""
        if scale not in self._known:
            self._known[scale] = self._cost(scale)
        cost = self._known[scale]
        return math.isfinite(cost) and exact(cost, name="epsilon") <= self.goal

    def between(self, low: Fraction, high: Fraction) -> Fraction:
        """The least scale from ``low`` on, given that ``high`` meets the goal."""
        if self.meets(low):
            return low
        self.meets(high)  # for its cost
        nudge = self._tolerance / 3
        while high > low * (1 + self._tolerance):
            middle = self._guess(low, high) * (1 + nudge)
            middle = min(max(middle, _scale_between(low, high, 0.02)), _scale_between(low, high, 0.98))
            middle = self._short(middle)
            if not low < middle < high:
                middle = self._short(_scale_between(low, high, 0.5))  # so near an end, rounding went past it
            low, high = (low, middle) if self.meets(middle) else (middle, high)
            nudge = -nudge  # the guess is soon right: close in on it from both sides
        return high

    def downwards(self, least: Fraction, high: Fraction) -> Fraction:
        """The least scale, from one that meets the goal: down in growing steps, then in between."""
        low, factor = high, _CLOSER
        while low > least:
            low, factor = max(least, self._short(high * factor)), factor**2
            if not self.meets(low):
                return self.between(low, high)
            high = low
        return high

    def _short(self, scale: Fraction) -> Fraction:
        """The nearest scale with so many binary digits as the tolerance needs."""
        step = Fraction(2) ** math.floor(math.log2(scale * self._tolerance / 16))
        return round(scale / step) * step

    def _guess(self, low: Fraction, high: Fraction) -> Fraction:
        """Where the cost would be the goal if it fell like a power of the scale; without costs, the middle."""
        above, below = self._known[low], self._known[high]
        if not (0 < below < above < math.inf):
            return _scale_between(low, high, 0.5)
        return _scale_between(low, high, math.log(above / float(self.goal)) / math.log(above / below))


def _check_reached(search: _Search, high: Fraction) -> Fraction:
    if not search.meets(high):
        raise Unreachable(
            f"even a noise scale of {shown(high)} does not reach epsilon = {shown(search.goal)}.",
            why="The search looks between `least` and `most` only.",
            fix="Allow a larger `most`, a larger epsilon or delta, or fewer events.",
        )
    return high


def _scale_between(low: Fraction, high: Fraction, share: float) -> Fraction:
    """The scale that lies so far between two others, in proportion."""
    return min(high, max(low, Fraction(float(low) ** (1 - share) * float(high) ** share)))
