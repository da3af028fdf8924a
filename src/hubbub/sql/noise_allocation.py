"""A price -> noise: how much goes on each measure so that the whole answer costs just that.

Discrete Laplace noise has an epsilon that adds up, discrete Gaussian noise a rho; measures share it by the plan's
weights. For Gaussian noise a price of (epsilon, tail) is turned into the largest rho at which all of it together is
(epsilon, tail)-DP by the common trade-off curve [BW18], checked by the accounting that charges it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.accounting import basic_cost, mu_for, pure_epsilon_for
from hubbub.mechanisms import DiscreteGaussian, Geometric, NoisyCDF, WeightedPartitionSelection
from hubbub.releases import Noise
from hubbub.sql.compiler.query_plan import Moved, NoiseKind, QuestionPlan, price_groups
from hubbub.sql.price import Price
from hubbub.terms import (
    ApproximateDP,
    Compose,
    Event,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    PrivacyBound,
    PureDP,
    PureStep,
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
    joint: tuple[tuple[int, ...], ...] = ()  # measures that share a price: what is done to them is one event

    def noise(self, index: int) -> Noise:
        """The law of a measure's noise, in steps."""
        event = self.measures[index].event
        if isinstance(event, GaussianNoise):
            return Noise("gaussian", event.sigma)
        return Noise("laplace", event.scale)

    def events(self) -> list[Event]:
        """What is done, one event per mechanism, or per group of mechanisms that share a price."""
        chosen = [self.chooser.event] if self.chooser is not None else []
        groups = price_groups(len(self.measures), self.joint)
        measured = [joint_event([self.measures[i] for i in group]) for group in groups]
        return [*measured, *(curve.event for curve in self.curves), *chosen]


def joint_event(mechanisms: Sequence[DiscreteGaussian | Geometric]) -> Event:
    """What integer noise on measures does that one unit moves together by no more than one of them.

    Guarantee: the event of noise on the whole vector, if the distances that a unit moves each measure, in parts of the
    mechanism's own sensitivity, add up to at most 1.
    Because: the losses |d_i| / scale_i add up to at most the largest sensitivity_i / scale_i [DMNS06]; and squares
    of parts that add up to 1 add up to no more: (d_i / sigma_i)^2 stays within the largest (sensitivity_i / sigma_i)^2
    [BS16]. ``docs/proofs/sql.md``, "Measures that share a price".
    """
    first = mechanisms[0].event
    if len(mechanisms) == 1:
        return first
    events = [mechanism.event for mechanism in mechanisms]
    laplace = [event for event in events if isinstance(event, LaplaceNoise)]
    if len(laplace) == len(events):
        epsilon = max(event.epsilon for event in laplace)
        return PureStep(mechanism="joint-geometric", epsilon=epsilon, neighbours=first.neighbours, unit=first.unit)
    gaussian = [event for event in events if isinstance(event, GaussianNoise)]
    finest = min(gaussian, key=lambda event: event.sigma)
    sensitivity = finest.sigma * max(event.sensitivity / event.sigma for event in gaussian)
    return replace(finest, sensitivity=sensitivity, dimension=sum(event.dimension for event in gaussian))


def allocate_noise(
    plans: tuple[QuestionPlan, ...], kind: NoiseKind, price: Price, *, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    """The noise of a kind for each plan; all of them together cost the price."""
    if any(plan.selection is not None for plan in plans):
        return _allocate_choices(plans, kind, price, neighbours, unit)
    if kind is NoiseKind.LAPLACE:
        return tuple(_laplace_noise(plan, pure_part(price) / len(plans), neighbours, unit) for plan in plans)
    if price.rho is not None:
        return _allocate_rho(plans, price.rho, neighbours, unit)
    assert price.epsilon is not None
    if (alone := _allocate_single(plans, price, neighbours, unit)) is not None:
        return (alone,)
    rho = Fraction(mu_for(float(price.epsilon), float(price.tail))) ** 2 / 2  # of one Gaussian
    for _ in range(_ROUNDS):
        allocations = _allocate_rho(plans, rho, neighbours, unit)
        cost = basic_cost(event_of(allocations), neighbours, tail=price.tail, stated=price.epsilon)
        if cost is not None and cost.epsilon <= price.epsilon:
            return allocations
        rho *= _TENTH_PERCENT
    raise Unreachable(
        "no noise meets so small an epsilon and delta.",
        why="The discrete noise would need to be finer than its grid.",
        fix="Ask for a larger epsilon or delta.",
    )


def pure_part(price: Price) -> Fraction:
    """The epsilon that Laplace noise may have for a price."""
    if price.rho is not None:
        return pure_epsilon_for(price.rho)
    assert price.epsilon is not None
    return price.epsilon


def _allocate_choices(
    plans: tuple[QuestionPlan, ...], kind: NoiseKind, price: Price, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    """Plans of which some choose their keys: each by itself, for an equal part of the price."""
    from hubbub.sql.key_selection_noise import allocate_with_selection  # it allocates in the words of this module

    choosing = sum(plan.selection is not None for plan in plans)
    part = Price(
        epsilon=None if price.epsilon is None else price.epsilon / len(plans),
        rho=None if price.rho is None else price.rho / len(plans),
        tail=price.tail / len(plans),
        own=price.own / choosing,
    )
    return tuple(
        allocate_noise((plan,), kind, part, neighbours=neighbours, unit=unit)[0]
        if plan.selection is None
        else allocate_with_selection(plan, kind, part, neighbours=neighbours, unit=unit)
        for plan in plans
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
        delta=price.tail,
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
    measures = gaussian_measures(plan, rho, neighbours, unit)
    return NoiseAllocation(measures, _noisy_curves(plan, "rho", rho, neighbours, unit), None, plan.joint)


def _laplace_noise(plan: QuestionPlan, epsilon: Fraction, neighbours: Neighbours, unit: Unit) -> NoiseAllocation:
    measures = laplace_measures(plan, epsilon, neighbours, unit)
    return NoiseAllocation(measures, _noisy_curves(plan, "epsilon", epsilon, neighbours, unit), None, plan.joint)


def gaussian_measures(
    plan: QuestionPlan, rho: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[DiscreteGaussian, ...]:
    """Gaussian noise for each measure of a plan, for its share of rho."""
    return tuple(
        DiscreteGaussian(
            sensitivity=_l2_length(moved),
            sigma=root_of(Fraction(moved.l2_squared) / (2 * rho * share)),
            dimension=_noisy_dimension(plan),
            neighbours=neighbours,
            unit=unit,
        )
        for moved, share in zip(plan.moved, plan.weights, strict=False)
    )


def laplace_measures(
    plan: QuestionPlan, epsilon: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[Geometric, ...]:
    """Discrete Laplace noise for each measure of a plan, for its share of epsilon."""
    return tuple(
        Geometric(
            sensitivity=moved.l1,
            epsilon=epsilon * share,
            dimension=_noisy_dimension(plan),
            neighbours=neighbours,
            unit=unit,
        )
        for moved, share in zip(plan.moved, plan.weights, strict=False)
    )


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
