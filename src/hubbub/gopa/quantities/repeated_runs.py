"""Several runs on the same people: what they cost together, and the noise that makes them fit a budget."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction

from hubbub.gopa.privacy import vector_moments
from hubbub.gopa.privacy.calibration import RunPlan
from hubbub.gopa.quantities.base import PartyInput
from hubbub.terms import Real, fraction_of, positive, whole

_ROUNDS = 12


def delta_over(agreed: RunPlan, runs: Real, epsilon: Real) -> float:
    """At least the delta of so many runs of one plan together, whatever each of them learns from those before.

    Guarantee: the runs together are (epsilon, delta)-DP for what each run protects.
    Because: moments of the privacy loss add up [Mir17, Prop. 1], those of a run being those of ``Sensitivity.delta``;
    places that are left out, and graphs that fail, are added as chances: docs/proofs/gopa.md, "What is averaged".
    Error: for one run this is a bound from moments where ``RunPlan`` may have an exact sum, and a little larger.

    >>> from hubbub.gopa.quantities.numbers import BoundedNumber
    >>> made = BoundedNumber().plan(100, epsilon=0.25, delta=1e-8, honest=0.8)
    >>> delta_over(made, 10, 1) < 1e-6 < delta_over(made, 40, 1)
    True
    """
    count, cost = whole(runs, name="runs"), float(positive(epsilon, name="epsilon"))
    trials, moved = agreed.noise_bits * agreed.honest, agreed.sensitivity.shifts(agreed.steps)
    if moved:
        together = {shift: count * many for shift, many in Counter(moved).items()}
        noise = vector_moments.delta_of_many(trials, together, cost)
    else:
        squared = count * agreed.sensitivity.squared(agreed.steps)
        noise = vector_moments.delta_of_norm(trials, squared, count * agreed.sensitivity.coordinates, cost)
    return min(1.0, noise + count * agreed.delta_graph)


def plan_over(
    of: PartyInput,
    parties: int,
    *,
    runs: int,
    epsilon: Real,
    delta: Real,
    honest: Real = Fraction(1, 2),
    dropouts: Real = Fraction(1, 20),
) -> RunPlan:
    """The plan of one run, so many of which are (epsilon, delta)-DP together; its own epsilon is that of one run.

    >>> from hubbub.gopa.quantities.numbers import BoundedNumber
    >>> made = plan_over(BoundedNumber(), 100, runs=10, epsilon=1, delta=1e-6, honest=0.8)
    >>> 0.2 < made.epsilon < 0.5, delta_over(made, 10, 1) <= 1e-6
    (True, True)
    """
    whole(runs, name="runs")
    total, slack = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta")

    def tried(each: Fraction) -> RunPlan:
        return of.plan(parties, epsilon=each, delta=slack / (2 * runs), honest=honest, dropouts=dropouts)

    def fits(candidate: RunPlan) -> bool:
        return Fraction(delta_over(candidate, runs, total)) <= slack

    low, high = total / runs, total
    best = tried(low)
    while not fits(best):  # the bound from moments asks for more than an exact sum
        high, low = low, low * Fraction(7, 8)
        best = tried(low)
    for _ in range(_ROUNDS):
        middle = _round_down((low + high) / 2)
        candidate = tried(middle)
        low, high, best = (middle, high, candidate) if fits(candidate) else (low, middle, best)
    return best


def _round_down(epsilon: Fraction) -> Fraction:
    """Down to three digits or so: a number to be read."""
    unit = 10 ** max(3, 3 - len(str(int(epsilon))))
    return Fraction(int(epsilon * unit) or 1, unit)
