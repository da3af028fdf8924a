"""The error that an average keeps within wherever it lies: what ``within`` promises; previews say what is usual."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction

from hubbub.releases.formulas import effective_std_dev, laplace_factor, normal_quantile
from hubbub.sql.compiler.query_plan import AggregateReading, QuestionPlan
from hubbub.sql.pricing.noise_allocation import NoiseAllocation

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
    noises = [(float(plan.measures[i].unit), i) for i in reading.measures]
    sizes = [unit * effective_std_dev(spent.noise(i), confidence) for unit, i in noises]
    is_laplace = any(spent.noise(i).distribution == "laplace" for i in reading.measures)
    factor = laplace_factor(confidence) if is_laplace else normal_quantile(confidence)

    def radius(weights: Mapping[int, float]) -> float:
        return factor * math.hypot(*(weight * sizes[place] for place, weight in weights.items()))

    counts = factor * math.hypot(*(float(w) * s for w, s in zip(_count_weights(reading), sizes, strict=True)))
    worst = max(radius(weights) for weights in _worst_weights(reading, wanted))
    return rows >= _TOLD_APART * counts and worst <= wanted * rows


def mean_reach(reading: AggregateReading) -> Fraction:
    """How far an average may lie from its centre."""
    assert reading.lower is not None and reading.upper is not None
    return max(reading.upper - reading.centre, reading.centre - reading.lower)


def _count_weights(reading: AggregateReading) -> tuple[Fraction, ...]:
    """How the count is read off the measures of an average."""
    return reading.weights or (Fraction(0), Fraction(1))


def _worst_weights(reading: AggregateReading, wanted: float) -> list[dict[int, float]]:
    """How much of each noise is in the error, times the number of rows, where the average lies at its worst."""
    assert reading.lower is not None and reading.upper is not None
    if not reading.weights:
        return [{0: 1.0, 1: float(mean_reach(reading)) + wanted}]
    aside = wanted / float(reading.upper - reading.lower)
    return [{0: 1 + aside, 1: aside}, {0: aside, 1: 1 + aside}]
