"""A price -> noise, where keys are chosen as well: Gaussian noise on people chooses, and what is told has its own.

The choice takes a share of the price, first. What is told shares the rest, as Laplace noise (epsilons add up) or as
Gaussian noise (rho adds up, with that of the choice). Neither looks at the other, so the interval of a number that is
told is the same whether or not its key was nearly left out.

The share was chosen on tables of a development set and measured on others: docs/sql.md, ``bench/sql/selection.py``.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from hubbub.accounting import mu_for, pure_epsilon_for, quick_epsilon
from hubbub.mechanisms import WeightedPartitionSelection
from hubbub.sql.compiler.query_plan import NoiseKind, QuestionPlan
from hubbub.sql.pricing.noise_allocation import NoiseAllocation, gaussian_noise, laplace_noise
from hubbub.sql.pricing.price import Price
from hubbub.terms import Compose, Neighbours, Unit, Unreachable

_STEEPNESS = Fraction(3, 2)
_TENTH_PERCENT = Fraction(999, 1000)
_ROUNDS = 2000


def allocate_with_selection(
    plan: QuestionPlan, kind: NoiseKind, price: Price, *, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
    """The noise of a kind that a price buys a plan that chooses its keys.

    Guarantee: the events together are (epsilon, tail)-close but for a share ``own`` of the outputs; or own-approximate
    rho-zCDP, of a price in rho.
    Because: [DMNS06], epsilons add up; Gaussians together are checked by their trade-off curve [DRS22]; rho add up
    [BS16, Lem. 2.3], a pure step's by ``accounting.costs.pure_rho``.
    """
    share = choice_share(plan)
    if price.rho is not None:
        chooser = _chooser(plan, price.own, neighbours, unit, rho=price.rho * share)
        rest = price.rho * (1 - share)
        if share == 1:
            return NoiseAllocation((), (), chooser)
        if kind is NoiseKind.LAPLACE:
            return replace(laplace_noise(plan, pure_epsilon_for(rest), neighbours, unit), chooser=chooser)
        return replace(gaussian_noise(plan, rest, neighbours, unit), chooser=chooser)
    assert price.epsilon is not None
    if kind is NoiseKind.GAUSSIAN and plan.measures:
        return _gaussian_beside(plan, price, share, neighbours, unit)
    chooser = _chooser(plan, price.own, neighbours, unit, epsilon=price.epsilon * share, delta=price.tail)
    return replace(laplace_noise(plan, price.epsilon * (1 - share), neighbours, unit), chooser=chooser)


def choice_share(plan: QuestionPlan) -> Fraction:
    """The share of the price that chooses keys: all of it where nothing else is told.

    Laplace noise on what is told grows with what one person moves (L1, in rows, over all prices that are paid); the
    noise of the choice with the root of a person's keys. The less the second is beside the first, the more keys would
    be named whose numbers are lost in noise: share / (1 - share) = 1.5 sqrt(root of keys / rows).
    """
    assert plan.selection is not None
    if not plan.measures and not plan.curves:
        return Fraction(1)
    rows = sum(plan.moved[group[0]].l1 / max(1, plan.measures[group[0]].largest) for group in plan.groups)
    rows += len(plan.curves) * plan.curve_rows
    odds = _STEEPNESS * Fraction(math.sqrt(math.sqrt(plan.selection.keys) / max(1.0, rows))).limit_denominator(1000)
    return odds / (1 + odds)


def _gaussian_beside(
    plan: QuestionPlan, price: Price, share: Fraction, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
    """All Gaussians together are (epsilon, tail)-close: from one Gaussian down, until the discrete ones are."""
    assert price.epsilon is not None
    rho = Fraction(mu_for(float(price.epsilon), float(price.tail))) ** 2 / 2
    for _ in range(_ROUNDS):
        chooser = _chooser(plan, price.own, neighbours, unit, rho=rho * share)
        told = gaussian_noise(plan, rho * (1 - share), neighbours, unit)
        noises = Compose((chooser.event.noise, *told.events()))
        reached = quick_epsilon(noises, delta=price.tail, neighbours=neighbours)
        if reached <= float(price.epsilon):
            return replace(told, chooser=chooser)
        rho *= min(_TENTH_PERCENT, Fraction(float(price.epsilon) / reached) ** 2)  # epsilon grows as the root of rho
    raise Unreachable(
        "no noise meets so small an epsilon and delta.",
        why="The discrete noise would need to be finer than its grid.",
        fix="Ask for a larger epsilon or delta.",
    )


def _chooser(
    plan: QuestionPlan,
    own: Fraction,
    neighbours: Neighbours,
    unit: Unit,
    *,
    epsilon: Fraction | None = None,
    delta: Fraction | None = None,
    rho: Fraction | None = None,
) -> WeightedPartitionSelection:
    assert plan.selection is not None
    return WeightedPartitionSelection(
        max_keys_per_unit=plan.selection.keys,
        weighted=plan.selection.weighted,
        epsilon=epsilon,
        delta=delta,
        rho=rho,
        own=own,
        neighbours=neighbours,
        unit=unit,
    )
