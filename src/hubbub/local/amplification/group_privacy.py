"""Group privacy in the local model: what k people who all change their values cost together, exactly."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hubbub.accounting import group_privacy
from hubbub.local.amplification.clones import least_epsilon
from hubbub.local.amplification.pure_epsilon import pure_epsilon
from hubbub.local.longitudinal.memoized import Memoized
from hubbub.local.longitudinal.memories import memory_of
from hubbub.local.randomizers.base import Randomizer
from hubbub.terms import ApproximateDP, NotProved, Real, fraction_of, round_up, whole

Floats = NDArray[np.float64]

_ERROR = 1e-12  # relative, of the binomial masses and their sum


def group(what: Randomizer | Real, *, size: int, delta: Real, independent: bool = True) -> ApproximateDP:
    """What ``size`` people cost who each send one epsilon-LDP report: the least of k epsilon, theorem and profile.

    Guarantee: (epsilon', delta)-DP for the values of any ``size`` people together, if every report is epsilon-LDP and
    drawn with fresh randomness of its own: not one that was memoized, and not one of two reports about one value.
    Because: [KOV15] two-valued randomized response dominates every epsilon-DP report, so the profile of k independent
    ones dominates theirs; [BNS19, Thm. 4.2] is the closed form, k epsilon^2/2 + epsilon sqrt(2 k ln(1/delta)).
    Not covered: reports of a person at several times, which are correlated if they are memoized; refused if told.

    >>> round(float(group(0.1, size=64, delta=1e-6).epsilon), 3)
    3.68
    """
    _check_independent(what, independent)
    epsilon = pure_epsilon(what)
    people, slack = whole(size, name="size"), fraction_of(delta, name="delta")
    theorem = group_privacy.local(epsilon=epsilon, size=people, delta=slack)
    exact = round_up(exact_epsilon(float(epsilon), people, float(slack)), steps=4)
    return ApproximateDP(min(theorem.epsilon, exact, people * epsilon), slack)


def group_profile(loss: float, *, epsilon: float, size: int) -> float:
    """delta at ``loss`` of ``size`` independent answers of two-valued randomized response, rounded up.

    The sum over j of Binomial(j; k, e/(1+e)) max(0, 1 - e^(loss - (2j - k) epsilon)).
    """
    return _delta_at(loss, *_privacy_losses(epsilon, size))


def exact_epsilon(epsilon: float, size: int, delta: float) -> float:
    """The smallest loss at which the profile is at most ``delta``, rounded up."""
    losses, masses = _privacy_losses(epsilon, size)
    return least_epsilon(lambda loss: _delta_at(loss, losses, masses), delta=delta, most=size * epsilon, halvings=60)


def _delta_at(loss: float, losses: Floats, masses: Floats) -> float:
    larger = losses > loss
    return float(masses[larger] @ -np.expm1(loss - losses[larger])) * (1 + _ERROR)


def _privacy_losses(epsilon: float, size: int) -> tuple[Floats, Floats]:
    """The privacy loss of each number of true answers, and its probability."""
    from scipy.stats import binom

    true_answers = np.arange(size + 1)
    losses = ((2 * true_answers - size) * epsilon).astype(np.float64)
    return losses, binom.pmf(true_answers, size, 1 / (1 + math.exp(-epsilon)))


def _check_independent(what: object, independent: bool) -> None:
    memoized = isinstance(what, Memoized) or (isinstance(what, Randomizer) and memory_of(what) is not None)
    if independent and not memoized:
        return
    raise NotProved(
        "the reports are memoized or otherwise not independent.",
        why="The bound adds up independent losses; reports that repeat each other lose together.",
        fix="Use k epsilon (hubbub.accounting.group_privacy.pure), or count each person once with fresh randomness.",
    )
