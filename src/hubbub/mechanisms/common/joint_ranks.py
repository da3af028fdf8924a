"""How far ranks stray when one exponential mechanism chooses several intervals by their largest loss.

Where values lie densely, let c be by how many units (what one unit of privacy moves, times 2 / epsilon) the rank of a
middle is off. The half length that just reaches costs nothing more; one whose ends are y units too near makes the loss
|c| + y; one that is y units too long, the larger of |c| and y - |c|, and of |c| + y up to a loss that is called
lopsided. Half lengths have ranks about ``step`` units apart.
"""

from __future__ import annotations

from functools import lru_cache
from math import exp, factorial

from numpy.polynomial import Polynomial

from hubbub.mechanisms.common.selection_scores import least_gap


def miss_of_middle(levels: int, step: float, lopsided: float, gap: float) -> float:
    """The probability that the rank of one of the middles is off by more than ``gap`` units."""
    if gap <= 0:
        return 1.0
    if levels == 1:
        return _weight_beyond(step, lopsided, gap) / _weight_beyond(step, lopsided, 0)
    return _miss_among_several(levels, step, gap)


def _weight_beyond(step: float, lopsided: float, gap: float) -> float:
    """The integral over c from the gap on, of exp(-loss) over all half lengths."""
    far = max(gap, lopsided)
    free = exp(-lopsided) * (far**2 - gap**2) / 2 + (far + 1) * exp(-far)  # of 2 c exp(-loss), where y goes up to 2 c
    return (1 + 2 / step) * exp(-gap) + 2 / step * free


def _miss_among_several(levels: int, step: float, gap: float) -> float:
    """The same for several levels, where nothing is lopsided.

    Of each c up to t, 1 + 2 t / step intervals have a loss of at most t. All tuples whose losses are at most t are
    equally probable, so the tail is a mean of polynomials over the exponential distribution.
    """
    intervals = Polynomial([0.0, 1.0, 2 / step])  # half of those with a loss of t at most
    later = Polynomial([gap, 1.0])
    beyond = Polynomial([0.0, 1.0]) * (1 + later * 2 / step) * intervals(later) ** (levels - 1)
    return exp(-gap) * _exponential_mean(beyond) / _exponential_mean(intervals**levels)


def _exponential_mean(polynomial: Polynomial) -> float:
    return sum(float(coefficient) * factorial(power) for power, coefficient in enumerate(polynomial.coef.tolist()))


@lru_cache(maxsize=1024)
def middle_gap(levels: int, step: float, lopsided: float, confidence: float) -> float:
    """By how many units the rank of one of the middles is off at most, with that confidence."""
    return least_gap(lambda gap: miss_of_middle(levels, step, lopsided, gap), confidence)
