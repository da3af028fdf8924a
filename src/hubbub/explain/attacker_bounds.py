"""What (epsilon, delta) bounds for someone who tests whether a person is in the data, as plain functions.

The attacker is the strongest there is: knows everybody else's data, the mechanism and both possible
inputs, and sees the answer. What is computed here are limits that hold for every such attacker and every
mechanism with that guarantee, not estimates of what a real one achieves.
"""

from __future__ import annotations

import math

from hubbub.render import LARGEST


def odds_factor(epsilon: float) -> float:
    """e^epsilon: the most by which the odds of anything can be multiplied."""
    return math.exp(min(epsilon, LARGEST))


def belief(prior: float, *, epsilon: float, delta: float = 0.0) -> float:
    """The most that someone who held ``prior`` likely can believe, on average, if it is true.

    Guarantee: for pure DP, every single answer leaves at most p e^eps / (p e^eps + 1 - p), by Bayes' rule.
    With a delta no single answer is bounded so (one of probability delta may tell everything); but the
    answer can be got from a mechanism that with probability delta tells everything and else is
    epsilon-DP. Counting those cases as certainty, the belief averages at most
    delta + (1 - delta) p e^eps / (p e^eps + 1 - p). At p = 1/2 that is (e^eps + delta) / (e^eps + 1),
    the share of right guesses of the best test.
    Because: [KOV15] (any (epsilon, delta)-DP pair is a post-processing of that one); [WZ10].
    Error: float64 rounding.
    Not covered: several releases together (add up their cost first); several people together.

    >>> round(belief(0.5, epsilon=1), 3)
    0.731
    """
    if not 0 < prior < 1:
        return float(prior)
    odds_against = (1 - prior) / prior * math.exp(-min(epsilon, LARGEST))
    return delta + (1 - delta) / (1 + odds_against)


def true_positives(false_positives: float, *, epsilon: float, delta: float = 0.0) -> float:
    """The most people that a test can rightly call "in", if it calls that share of others "in" by mistake.

    Guarantee: no test on the answer of an (epsilon, delta)-DP mechanism does better than
    min(e^eps f + delta, 1 - e^-eps (1 - delta - f)), cut to [0, 1], at false-positive rate f; and some
    mechanism with that guarantee allows exactly this.
    Because: [WZ10], [KOV15].
    Error: float64 rounding.
    Not covered: what one mechanism really allows, which is often much less.

    >>> round(true_positives(0.01, epsilon=1), 4)
    0.0272
    """
    steep = delta + (math.exp(min(0.0, epsilon + math.log(false_positives))) if false_positives > 0 else 0.0)
    flat = 1 - math.exp(-min(epsilon, LARGEST)) * (1 - delta - false_positives)
    return max(0.0, min(1.0, steep, flat))


def roc_corner(*, epsilon: float, delta: float = 0.0) -> tuple[float, float]:
    """Where the two lines of the ROC bound meet: the test with the most right guesses at even odds."""
    wrong = (1 - delta) / (1 + odds_factor(epsilon))
    return wrong, 1 - wrong
