"""The error that an average keeps within wherever it lies: what ``within`` promises; previews say what is usual."""

from __future__ import annotations

import math
from fractions import Fraction

from hubbub.releases.formulas import effective_std_dev, laplace_factor, normal_quantile
from hubbub.sql.compiler.query_plan import AggregateReading, QuestionPlan
from hubbub.sql.pricing.noise_allocation import NoiseAllocation

_MEASURES = ((Fraction(1), Fraction(0)), (Fraction(0), Fraction(1)))  # a total and a count that are measured
_TOLD_APART = 2.0  # a count is so many times its own noise before an average over it is told for sure


def keeps_mean(
    reading: AggregateReading,
    plan: QuestionPlan,
    spent: NoiseAllocation,
    *,
    rows: float,
    wanted: float,
    confidence: float,
) -> bool:
    """Whether an average over at least ``rows`` rows is told and off by at most ``wanted``, wherever it lies.

    Guarantee: the released average misses the one without noise by more than ``wanted`` with a probability of at most
    1 - ``confidence``.
    Because: with numerator S + Z and count n + N the error is (Z - d N) / (n + N), where d is how far the average lies
    from its centre. It is beyond w only if Z - (d + w) N > n w or Z - (d - w) N < -n w, each of which has half of the
    tails of a weighted sum of noises. ``laplace_factor`` standard deviations hold any such sum, and these are convex
    in the weights: none is larger than where the average lies at an end of its bounds, with w added.
    """
    sizes = [float(plan.measures[i].unit) * effective_std_dev(spent.noise(i), confidence) for i in reading.measures]
    is_laplace = any(spent.noise(i).distribution == "laplace" for i in reading.measures)
    factor = laplace_factor(confidence) if is_laplace else normal_quantile(confidence)
    total, count = reading.lines or _MEASURES

    def radius(away: float) -> float:
        weights = (float(t) - away * float(c) for t, c in zip(total, count, strict=True))
        return factor * math.hypot(*(weight * size for weight, size in zip(weights, sizes, strict=True)))

    assert reading.lower is not None and reading.upper is not None
    ends = (float(reading.lower - reading.centre), float(reading.upper - reading.centre))
    counts = factor * math.hypot(*(float(c) * size for c, size in zip(count, sizes, strict=True)))
    worst = max(radius(end + side) for end in ends for side in (-wanted, wanted))
    return rows >= _TOLD_APART * counts and worst <= wanted * rows


def mean_reach(reading: AggregateReading) -> Fraction:
    """How far an average may lie from its centre."""
    assert reading.lower is not None and reading.upper is not None
    return max(reading.upper - reading.centre, reading.centre - reading.lower)
