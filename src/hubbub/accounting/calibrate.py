"""How much noise a target asks for, for any composition."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from hubbub.accounting.bounds import Events, epsilon
from hubbub.terms import Neighbours, NoBound, Unreachable, exact, fraction_of, positive


def noise_for(
    events: Callable[[Fraction], Events],
    *,
    epsilon_target: object,
    delta: object,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    least: object = Fraction(1, 100),
    most: object = 10**6,
    precision: object = Fraction(1, 1000),
) -> Fraction:
    """The smallest noise scale at which ``events(scale)`` cost at most the target, to a relative precision.

    The answer always meets the target: the search ends on its safe side. ``events`` must cost less for more noise.

    >>> from hubbub.accounting import Repeat
    >>> from hubbub.mechanisms import Gaussian
    >>> run = lambda sigma: Repeat(Gaussian(sensitivity=1, sigma=sigma).event, 1000)
    >>> round(float(noise_for(run, epsilon_target=1, delta=1e-5)), 1)
    118.0
    """
    goal = positive(epsilon_target, name="epsilon_target")
    allowed = float(fraction_of(delta, name="delta", zero=True))
    low, high = positive(least, name="least"), positive(most, name="most")
    tolerance = positive(precision, name="precision")

    def meets(scale: Fraction) -> bool:
        try:
            return exact(float(epsilon(events(scale), delta=allowed, neighbours=neighbours)), name="epsilon") <= goal
        except NoBound:
            return False

    if meets(low):
        return low
    if not meets(high):
        raise Unreachable(
            f"even a noise scale of {float(high):g} does not reach epsilon = {float(goal):g}.",
            why="The search looks between `least` and `most` only.",
            fix="Allow a larger `most`, a larger epsilon or delta, or fewer events.",
        )
    while high > low * (1 + tolerance):
        middle = _between(low, high)
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _between(low: Fraction, high: Fraction) -> Fraction:
    """About the geometric mean, as a short fraction."""
    middle = (float(low) * float(high)) ** 0.5
    return min(high, max(low, Fraction(middle).limit_denominator(1 << 30)))
