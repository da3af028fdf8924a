"""A price -> noise, where keys are chosen as well: Gaussian noise on people chooses, and what is told has its own.

The choice takes a share of the price, first. What is told shares the rest: as Laplace noise (epsilons add up) or as
Gaussian noise (rho adds up, with that of the choice), whichever has the smaller predicted error. Neither looks at the
other, so the interval of a number that is told is the same whether or not its key was nearly left out.

The share was chosen on tables of a development set and measured on others: docs/sql.md, ``bench/sql/selection.py``.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hubbub.accounting import costs, mu_for, quick_epsilon
from hubbub.mechanisms import DiscreteGaussian, Geometric, WeightedPartitionSelection
from hubbub.sql.compiler.query_plan import Moved, QuestionPlan
from hubbub.sql.noise_allocation import NoiseAllocation
from hubbub.terms import Compose, Event, Neighbours, Unit, Unreachable, root_of

_STEEPNESS = Fraction(3, 2)
_TENTH_PERCENT = Fraction(999, 1000)
_ROUNDS = 2000
_DIMENSION = 1 << 40  # of what is told by keys whose number is not known
_LEVEL = 0.95

Measures = tuple[DiscreteGaussian | Geometric, ...]


def allocate_with_selection(
    plan: QuestionPlan, *, epsilon: Fraction, tail: Fraction, own: Fraction, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
    """The noise that an (epsilon, tail + own) price buys a plan that chooses its keys.

    Guarantee: the events together are (epsilon, tail)-close but for a share ``own`` of the outputs.
    Because: [DMNS06], epsilons add up; Gaussians together are checked by their trade-off curve [DRS22].
    """
    laplace = _laplace_beside(plan, epsilon, tail, own, neighbours, unit)
    if not plan.measures:
        return laplace
    gaussian = _gaussian_beside(plan, epsilon, tail, own, neighbours, unit)
    return min((laplace, gaussian), key=lambda each: _predicted_error(plan, each))


def allocate_with_selection_rho(
    plan: QuestionPlan, *, rho: Fraction, own: Fraction, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
    """The noise that a price of rho buys a plan that chooses its keys.

    Guarantee: own-approximate rho-zCDP.
    Because: [BS16, Lem. 2.3], rho add up; epsilon tanh(epsilon/2) of a pure step: ``accounting.costs.pure_rho``.
    """
    share = choice_share(plan)
    chooser = _chooser(plan, own, neighbours, unit, rho=rho * share)
    if not plan.measures:
        return NoiseAllocation((), (), chooser)
    rest = rho * (1 - share)
    laplace = NoiseAllocation(_laplace(plan, _epsilon_of(rest), neighbours, unit), (), chooser)
    gaussian = NoiseAllocation(_gaussian(plan, rest, neighbours, unit), (), chooser)
    return min((laplace, gaussian), key=lambda each: _predicted_error(plan, each))


def choice_share(plan: QuestionPlan) -> Fraction:
    """The share of the price that chooses keys: all of it where nothing else is told.

    Laplace noise on what is told grows with what one person moves (L1, in rows, over all measures); the noise of the
    choice with the root of a person's keys. The less the second is beside the first, the more keys would be named whose
    numbers are lost in noise: share / (1 - share) = 1.5 sqrt(root of keys / rows).
    """
    assert plan.selection is not None
    if not plan.measures:
        return Fraction(1)
    rows = sum(moved.l1 / max(1, measure.largest) for moved, measure in zip(plan.moved, plan.measures, strict=True))
    odds = _STEEPNESS * Fraction(math.sqrt(math.sqrt(plan.selection.keys) / max(1.0, rows))).limit_denominator(1000)
    return odds / (1 + odds)


# ---------------------------------------------------------------- both kinds of noise


def _laplace_beside(
    plan: QuestionPlan, epsilon: Fraction, tail: Fraction, own: Fraction, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
    share = choice_share(plan)
    chooser = _chooser(plan, own, neighbours, unit, epsilon=epsilon * share, delta=tail)
    return NoiseAllocation(_laplace(plan, epsilon * (1 - share), neighbours, unit), (), chooser)


def _gaussian_beside(
    plan: QuestionPlan, epsilon: Fraction, tail: Fraction, own: Fraction, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
    """All Gaussians together are (epsilon, tail)-close: from one Gaussian down, until the discrete ones are."""
    share = choice_share(plan)
    rho = Fraction(mu_for(float(epsilon), float(tail))) ** 2 / 2
    for _ in range(_ROUNDS):
        chooser = _chooser(plan, own, neighbours, unit, rho=rho * share)
        measures = _gaussian(plan, rho * (1 - share), neighbours, unit)
        noises: list[Event] = [chooser.event.noise, *(measure.event for measure in measures)]
        reached = quick_epsilon(Compose(tuple(noises)), delta=tail, neighbours=neighbours)
        if reached <= float(epsilon):
            return NoiseAllocation(measures, (), chooser)
        rho *= min(_TENTH_PERCENT, Fraction(float(epsilon) / reached) ** 2)  # epsilon grows at least as the root of rho
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


def _laplace(plan: QuestionPlan, epsilon: Fraction, neighbours: Neighbours, unit: Unit) -> Measures:
    return tuple(
        Geometric(sensitivity=moved.l1, epsilon=epsilon * share, dimension=_DIMENSION, neighbours=neighbours, unit=unit)
        for moved, share in zip(plan.moved, plan.weights, strict=True)
    )


def _gaussian(plan: QuestionPlan, rho: Fraction, neighbours: Neighbours, unit: Unit) -> Measures:
    return tuple(
        DiscreteGaussian(
            sensitivity=_length(moved),
            sigma=root_of(_length(moved) ** 2 / (2 * rho * share)),
            dimension=_DIMENSION,
            neighbours=neighbours,
            unit=unit,
        )
        for moved, share in zip(plan.moved, plan.weights, strict=True)
    )


def _length(moved: Moved) -> Fraction:
    root = math.isqrt(moved.l2_squared)
    return Fraction(root) if root * root == moved.l2_squared else root_of(moved.l2_squared)


def _epsilon_of(rho: Fraction) -> Fraction:
    """The largest epsilon, to a millionth of itself, whose pure step costs no more than rho."""
    low = Fraction(math.sqrt(2 * rho) * (1 - 1e-12))  # a pure step costs epsilon^2 / 2 at most
    high = 2 * rho + 2  # and epsilon tanh(epsilon/2) is at least epsilon^2 / (2 + epsilon)
    while high - low > low / 10**6:
        middle = (low + high) / 2
        low, high = (middle, high) if costs.pure_rho(middle) <= rho else (low, middle)
    return low


def _predicted_error(plan: QuestionPlan, spent: NoiseAllocation) -> float:
    """The 95% errors of what is told, as the logarithm of their geometric mean; with a step, which is never 0."""
    errors = [math.log(measure.error(_LEVEL) + 1) for measure in spent.measures]
    return sum(errors) / len(plan.measures)
