"""The exponential mechanism in two stories: an election, and an auction where noise on the price would fail.

Probabilities are worked out here for the picture, in floats; ``hubbub.mechanisms`` draws the choice exactly.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

from hubbub.render import as_float


def exponential_chances(
    scores: Sequence[Fraction], *, epsilon: Fraction, sensitivity: Fraction, monotone: bool
) -> tuple[float, ...]:
    """The chance of each option under the exponential mechanism.

    Guarantee: choosing so is epsilon-DP if one unit changes each score by at most ``sensitivity``: in
    general with weights e^(epsilon score / (2 sensitivity)); without the 2 if the score is ``monotone``
    (adding a unit lowers none of them) and neighbours add or remove one unit. Replacing one is both at
    once: then the weights without the 2 are 2 epsilon-DP only.
    Because: [MT07], [DR14].
    Error: float64 rounding; options below e^-700 of the best show as 0.
    Not covered: options that depend on the data; the list of options must be public.
    """
    rate = epsilon / sensitivity / (1 if monotone else 2)
    best = max(scores)
    weights = [math.exp(as_float(rate * (score - best))) for score in scores]
    return tuple(weight / math.fsum(weights) for weight in weights)


def describe_weights(*, monotone: bool) -> str:
    """The weights in words."""
    return "e^(epsilon score / sensitivity)" if monotone else "e^(epsilon score / (2 sensitivity))"
