"""How far ranks stray when one exponential mechanism chooses several candidates by their largest loss.

Where values lie densely, a tolerance T is drawn from the Gamma distribution with one more degree than there are
targets, and every target's candidate is uniform among those whose rank is off by T at most, in units of what one unit
moves times 2 / epsilon. So the tails are incomplete Gamma functions.
"""

from __future__ import annotations

from functools import lru_cache

from hubbub.mechanisms.common.selection_scores import least_gap


def miss_of_end(targets: int, gap: float) -> float:
    """The probability that one target's rank is off by more than ``gap`` units, to either side."""
    from scipy.special import gammaincc

    if gap <= 0:
        return 1.0
    return float(gammaincc(targets + 1, gap) - gap / targets * gammaincc(targets, gap))


def miss_of_middle(targets: int, gap: float) -> float:
    """The same for the mean of the ranks of two of the targets; for two in all it is exp(-gap)."""
    from scipy.special import gammaincc

    if gap <= 0:
        return 1.0
    once = 2 * gap / targets * gammaincc(targets, gap)
    twice = gap * gap / (targets * (targets - 1)) * gammaincc(targets - 1, gap)
    return float(gammaincc(targets + 1, gap) - once + twice)


@lru_cache(maxsize=1024)
def end_gap(targets: int, confidence: float) -> float:
    """By how many units one target's rank is off at most, with that confidence."""
    return least_gap(lambda gap: miss_of_end(targets, gap), confidence)


@lru_cache(maxsize=1024)
def middle_gap(targets: int, confidence: float) -> float:
    """By how many units the mean of the ranks of two targets is off at most, with that confidence."""
    return least_gap(lambda gap: miss_of_middle(targets, gap), confidence)
