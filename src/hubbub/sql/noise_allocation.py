"""A price -> noise: how much goes on each measure so that the whole answer costs just that.

With a delta the noise is discrete Gaussian and its cost adds up in rho; measures share it by the plan's weights. A
price of (epsilon, delta) is turned into the largest rho at which all Gaussians together are (epsilon, delta)-DP by
their common trade-off curve [BW18], checked by the accounting. A pure budget means discrete Laplace noise and epsilons
that add up.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from hubbub.accounting import mu_for, quick_epsilon
from hubbub.mechanisms import DiscreteGaussian, Geometric, NoisyCDF, WeightedPartitionSelection
from hubbub.releases import Noise
from hubbub.sql.compiler.query_plan import Moved, QuestionPlan
from hubbub.sql.price import Price
from hubbub.terms import (
    ApproximateDP,
    Compose,
    Event,
    GaussianNoise,
    Neighbours,
    PrivacyBound,
    PureDP,
    Unit,
    Unreachable,
    ZeroConcentratedDP,
    root_of,
)

_TENTH_PERCENT = Fraction(999, 1000)
_ROUNDS = 2000


@dataclass(frozen=True, slots=True)
class NoiseAllocation:
    """The noise of one plan: one mechanism per measure, one per curve, and one that chooses keys."""

    measures: tuple[DiscreteGaussian | Geometric, ...]
    curves: tuple[NoisyCDF, ...]
    chooser: WeightedPartitionSelection | None

    def noise(self, index: int) -> Noise:
        """The law of a measure's noise, in steps."""
        event = self.measures[index].event
        if isinstance(event, GaussianNoise):
            return Noise("gaussian", event.sigma)
        return Noise("laplace", event.scale)

    def events(self) -> list[Event]:
        """What is done, one event per mechanism."""
        chosen = [self.chooser.event] if self.chooser is not None else []
        return [*(m.event for m in self.measures), *(curve.event for curve in self.curves), *chosen]


def allocate_noise(
    plans: tuple[QuestionPlan, ...], price: Price, *, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    """The noise for each plan; all of them together cost the price."""
    if any(plan.selection is not None for plan in plans):
        return _allocate_choices(plans, price, neighbours, unit)
    if price.rho is not None:
        return _allocate_rho(plans, price.rho, neighbours, unit)
    assert price.epsilon is not None
    if price.delta == 0:
        return tuple(_laplace_noise(plan, price.epsilon / len(plans), neighbours, unit) for plan in plans)
    if (alone := _allocate_single(plans, price, neighbours, unit)) is not None:
        return (alone,)
    rho = Fraction(mu_for(float(price.epsilon), float(price.delta))) ** 2 / 2  # of one Gaussian
    for _ in range(_ROUNDS):
        allocations = _allocate_rho(plans, rho, neighbours, unit)
        if quick_epsilon(event_of(allocations), delta=price.delta, neighbours=neighbours) <= float(price.epsilon):
            return allocations
        rho *= _TENTH_PERCENT
    raise Unreachable(
        "no noise meets so small an epsilon and delta.",
        why="The discrete noise would need to be finer than its grid.",
        fix="Ask for a larger epsilon or delta.",
    )


def _allocate_choices(
    plans: tuple[QuestionPlan, ...], price: Price, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    """Plans of which some choose their keys: each by itself, for an equal part of the price.

    Half of delta is for the tails of Gaussian noise, and half for the keys that one unit alone has; of a price in rho,
    which has no tails, all of it.
    """
    choosing = sum(plan.selection is not None for plan in plans)
    if price.rho is not None:
        part = Price(rho=price.rho / len(plans), delta=price.delta / choosing)
    else:
        assert price.epsilon is not None
        part = Price(epsilon=price.epsilon / len(plans), delta=price.delta / 2 / len(plans))
    own = part.delta if price.rho is not None else price.delta / 2 / choosing
    return tuple(
        _allocate_choice(plan, part, own, neighbours, unit)
        if plan.selection is not None
        else allocate_noise((plan,), part, neighbours=neighbours, unit=unit)[0]
        for plan in plans
    )


def _allocate_choice(
    plan: QuestionPlan, part: Price, own: Fraction, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
    from hubbub.sql import key_selection_noise as selection  # it allocates in the words of this module

    if part.rho is not None:
        return selection.allocate_with_selection_rho(plan, rho=part.rho, own=own, neighbours=neighbours, unit=unit)
    assert part.epsilon is not None
    return selection.allocate_with_selection(
        plan, epsilon=part.epsilon, tail=part.delta, own=own, neighbours=neighbours, unit=unit
    )


def _allocate_single(
    plans: tuple[QuestionPlan, ...], price: Price, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation | None:
    """A single measure is calibrated by its own discrete profile, which needs a little less noise."""
    plan = plans[0]
    if len(plans) > 1 or len(plan.measures) != 1 or plan.curves:
        return None
    mechanism = DiscreteGaussian(
        sensitivity=_l2_length(plan.moved[0]),
        epsilon=price.epsilon,
        delta=price.delta,
        dimension=_noisy_dimension(plan),
        neighbours=neighbours,
        unit=unit,
    )
    return NoiseAllocation((mechanism,), (), None)


def _allocate_rho(
    plans: tuple[QuestionPlan, ...], rho: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    """Gaussian noise whose rho add up to ``rho``."""
    return tuple(_gaussian_noise(plan, rho / len(plans), neighbours, unit) for plan in plans)


def _gaussian_noise(plan: QuestionPlan, rho: Fraction, neighbours: Neighbours, unit: Unit) -> NoiseAllocation:
    shares = list(plan.weights)
    measures = tuple(
        DiscreteGaussian(
            sensitivity=_l2_length(moved),
            sigma=root_of(Fraction(moved.l2_squared) / (2 * rho * shares[i])),
            dimension=_noisy_dimension(plan),
            neighbours=neighbours,
            unit=unit,
        )
        for i, moved in enumerate(plan.moved)
    )
    return NoiseAllocation(measures, _noisy_curves(plan, "rho", rho, neighbours, unit), None)


def _laplace_noise(plan: QuestionPlan, epsilon: Fraction, neighbours: Neighbours, unit: Unit) -> NoiseAllocation:
    measures = tuple(
        Geometric(
            sensitivity=moved.l1,
            epsilon=epsilon * plan.weights[i],
            dimension=_noisy_dimension(plan),
            neighbours=neighbours,
            unit=unit,
        )
        for i, moved in enumerate(plan.moved)
    )
    curves = _noisy_curves(plan, "epsilon", epsilon, neighbours, unit)
    return NoiseAllocation(measures, curves, None)


def _noisy_curves(
    plan: QuestionPlan, way: str, price: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[NoisyCDF, ...]:
    """One noisy cumulative histogram per curve, each for its share of the price."""
    return tuple(
        NoisyCDF(
            cells=curve.cells,
            keys=plan.size or 1,
            max_rows=plan.curve_rows,
            neighbours=neighbours,
            unit=unit,
            **{way: price * plan.weights[len(plan.moved) + i]},  # type: ignore[arg-type]
        )
        for i, curve in enumerate(plan.curves)
    )


def _l2_length(moved: Moved) -> Fraction:
    return (
        root_of(Fraction(moved.l2_squared))
        if not _is_square(moved.l2_squared)
        else Fraction(math.isqrt(moved.l2_squared))
    )


def _is_square(number: int) -> bool:
    return math.isqrt(number) ** 2 == number


def _noisy_dimension(plan: QuestionPlan) -> int:
    return plan.size if plan.size is not None else 1 << 40


def event_of(spent: Iterable[NoiseAllocation]) -> Event:
    """Everything that is done, as one event."""
    events = [event for each in spent for event in each.events()]
    return events[0] if len(events) == 1 else Compose(tuple(events))


def measure_of(price: Price, event: Event, neighbours: Neighbours) -> PrivacyBound:
    """What the answer alone guarantees."""
    from hubbub.accounting import costs

    if price.epsilon is not None:
        return ApproximateDP(price.epsilon, price.delta) if price.delta else PureDP(price.epsilon)
    cost = costs.concentrated(event, neighbours)
    assert cost is not None
    return ZeroConcentratedDP(*cost)
