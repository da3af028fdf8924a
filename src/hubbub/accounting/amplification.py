"""Sampling amplifies: a mechanism on a random sample costs less, since a unit is probably not in it.

The formulas of [BBG18] for a mechanism that is (epsilon, delta)-DP by itself. For the whole composition, wrap
events in ``Poisson`` or ``WithoutReplacement`` and ask ``accounting.epsilon``, which uses the full profile.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hubbub.terms import ApproximateDP, Real, fraction_of, positive, round_up, whole


def poisson(*, epsilon: Real, delta: Real = 0, rate: Real) -> ApproximateDP:
    """Each unit sampled independently with probability ``rate``; add-remove neighbours.

    Guarantee: (ln(1 + q (e^epsilon - 1)), q delta)-DP under add-remove.
    Because: [BBG18, Thm. 8].

    >>> round(float(poisson(epsilon=1, rate=0.01).epsilon), 5)
    0.01704
    """
    return _amplified_bound(epsilon, delta, fraction_of(rate, name="rate", one=True))


def without_replacement(*, epsilon: Real, delta: Real = 0, sample: int, population: int) -> ApproximateDP:
    """A uniform sample of fixed size; replace neighbours, also for the mechanism on the sample.

    Guarantee: (ln(1 + q (e^epsilon - 1)), q delta)-DP under replace, with q = sample / population.
    Because: [BBG18, Thm. 9].
    """
    taken = whole(sample, name="sample")
    return _amplified_bound(epsilon, delta, Fraction(taken, whole(population, name="population", least=taken)))


def _amplified_bound(epsilon: Real, delta: Real, rate: Fraction) -> ApproximateDP:
    e, d = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta", zero=True)
    if rate == 1 or e > 700:  # beyond, e^epsilon is no double, and amplification no help
        return ApproximateDP(e, d * rate)
    return ApproximateDP(min(e, round_up(math.log1p(float(rate) * math.expm1(float(e))), steps=4)), d * rate)
