"""The composition theorems of the lectures, as they state them, and as bounds on a list of events.

Simple: epsilons and deltas add up. Advanced [DRV10]: K mechanisms, each (epsilon, delta)-DP, are together
(epsilon', K delta + delta')-DP with epsilon' = sqrt(2 K ln(1/delta')) epsilon + K epsilon (e^epsilon - 1). Both also
hold when each mechanism is chosen after seeing the answers of the ones before it.

Parallel: on disjoint parts the largest counts, *if* a unit is added or removed. A slide that says so without
saying which neighbours is inexact: replacing a unit may move it from one part to another, and then two parts
change, so the cost doubles.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from hubbub.accounting.costs import approximate_cost, flatten_event
from hubbub.terms import ApproximateDP, Event, Neighbours, Real, fraction_of, positive, whole

_FEW = 64  # steps whose deltas are multiplied exactly


def simple(parts: Iterable[tuple[object, object]]) -> ApproximateDP:
    """Simple composition of (epsilon, delta) pairs.

    >>> simple([(0.1, 0)] * 10).epsilon
    Fraction(1, 1)
    """
    pairs = [(positive(e, name="epsilon"), fraction_of(d, name="delta", zero=True)) for e, d in parts]
    total = sum((d for _, d in pairs), Fraction(0))
    return ApproximateDP(sum((e for e, _ in pairs), Fraction(0)), min(total, Fraction(1)))


def advanced(*, epsilon: Real, delta: Real = 0, times: int, slack: Real) -> ApproximateDP:
    """Advanced composition as in the lectures; ``slack`` is their delta'.

    >>> round(float(advanced(epsilon=0.05, times=500, slack=1e-5).epsilon), 3)
    6.647
    """
    e, d = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta", zero=True)
    prime, count = fraction_of(slack, name="slack"), whole(times, name="times")
    total = _advanced_epsilon([(float(e), count)], float(prime))
    return ApproximateDP(Fraction(total), min(Fraction(1), count * d + prime))


def composition_bounds(event: Event, delta: Fraction, neighbours: Neighbours) -> dict[str, float]:
    """Simple and advanced composition of the events at ``delta``, where every part has its own (epsilon, delta)."""
    parts = [(approximate_cost(part, neighbours), times) for part, times in flatten_event(event)]
    known = [(cost, times) for cost, times in parts if cost is not None]
    used = _joint_delta([(cost[1], times) for cost, times in known])
    if len(known) < len(parts) or used > delta:
        return {}
    total = sum((times * cost[0] for cost, times in known), Fraction(0))
    bounds = {"simple": math.nextafter(float(total), math.inf)}
    left = float(delta - used) * (1 - 1e-12)
    if left > 0:
        bounds["advanced"] = _advanced_epsilon([(float(cost[0]), times) for cost, times in known], left)
    return bounds


def _joint_delta(deltas: list[tuple[Fraction, int]]) -> Fraction:
    """1 - prod (1 - delta), the chance that any of the steps fails [KOV15, Thm. 3.5]; for many, their sum."""
    if sum(times for _, times in deltas) > _FEW:
        return sum((times * delta for delta, times in deltas), Fraction(0))
    return 1 - math.prod(((1 - delta) ** times for delta, times in deltas), start=Fraction(1))


def _advanced_epsilon(parts: list[tuple[float, int]], slack: float) -> float:
    """sqrt(2 ln(1/slack) sum e^2) + sum e (e^e - 1), rounded up; infinite where e^e overflows."""
    if any(e > 700 for e, _ in parts):
        return math.inf
    square = sum(times * e * e for e, times in parts)
    drift = sum(times * e * math.expm1(e) for e, times in parts)
    return (math.sqrt(2 * math.log(1 / slack) * square) + drift) * (1 + 1e-12)
