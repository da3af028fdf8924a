"""A price -> noise: how much goes on each measure so that the whole answer costs just that.

Discrete Laplace noise has an epsilon that adds up, discrete Gaussian noise a rho; measures share it by the plan's
weights. For Gaussian noise a price of (epsilon, tail) is turned into the largest rho at which all of it together is
(epsilon, tail)-DP by the common trade-off curve [BW18], checked by the accounting that charges it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

from hubbub.accounting import BasicCost, basic_cost, costs, mu_for, pure_epsilon_for
from hubbub.mechanisms import DiscreteGaussian, Geometric, JointQuantiles, NoisyCDF, WeightedPartitionSelection
from hubbub.releases import Noise
from hubbub.sql.compiler.query_plan import Moved, NoiseKind, QuestionPlan, price_groups
from hubbub.sql.pricing.price import Price
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

QuantileNoise: TypeAlias = NoisyCDF | JointQuantiles

_ALWAYS_TOGETHER = 6  # so many levels by one choice are more exact than any curve
_MOST_TOGETHER = 24  # more never are
_TENTH_PERCENT = Fraction(999, 1000)
_ROUNDS = 2000
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class NoiseAllocation:
    """The noise of one plan: one mechanism per measure, one per curve, and one that chooses keys.

    Where levels of totals are measured, there is one per level and measure, level by level. ``told`` has the noise of
    each measure in what is told, where that is worked out from several that are measured.
    """

    measures: tuple[DiscreteGaussian | Geometric, ...]
    curves: tuple[QuantileNoise, ...]
    chooser: WeightedPartitionSelection | None
    joint: tuple[tuple[int, ...], ...] = ()  # measures that share a price: what is done to them is one event
    told: tuple[Noise, ...] = ()

    def noise(self, index: int) -> Noise:
        """The law of a measure's noise, in steps."""
        if self.told:
            return self.told[index]
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
    """The noise of a kind for each plan; all of them together cost the price, and no more."""

    def allocate(price: Price) -> tuple[NoiseAllocation, ...]:
        return _allocate(plans, kind, price, neighbours, unit)

    if price.rho is None:
        return allocate(price)
    return _at_most(price.rho, lambda rho: allocate(replace(price, rho=rho)), neighbours)


def _at_most(
    rho: Fraction, allocate: Callable[[Fraction], tuple[NoiseAllocation, ...]], neighbours: Neighbours
) -> tuple[NoiseAllocation, ...]:
    """Noise that is charged at most ``rho``: lengths that are rounded up may cost a millionth more than was meant."""
    part = rho
    while True:
        allocations = allocate(part)
        cost = costs.concentrated(event_of(allocations), neighbours)
        assert cost is not None
        if cost[0] <= rho:
            return allocations
        part *= rho / cost[0]


def _allocate(
    plans: tuple[QuestionPlan, ...], kind: NoiseKind, price: Price, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    if any(plan.selection is not None for plan in plans):
        return _allocate_choices(plans, kind, price, neighbours, unit)
    if kind is NoiseKind.LAPLACE:
        return tuple(laplace_noise(plan, pure_part(price) / len(plans), neighbours, unit) for plan in plans)
    if price.rho is not None:
        return _allocate_rho(plans, price.rho, neighbours, unit)
    assert price.epsilon is not None
    if all(plan.quantiles and not plan.measures for plan in plans):  # choices by rank are pure, and need no delta
        return tuple(laplace_noise(plan, price.epsilon / len(plans), neighbours, unit) for plan in plans)
    if (alone := _allocate_single(plans, price, neighbours, unit)) is not None:
        return (alone,)
    rho = Fraction(mu_for(float(price.epsilon), float(price.tail))) ** 2 / 2  # of one Gaussian
    for _ in range(_ROUNDS):
        allocations = _allocate_rho(plans, rho, neighbours, unit)
        cost = basic_cost(event_of(allocations), neighbours, tail=price.tail, stated=price.epsilon)
        if cost is not None and cost.epsilon <= price.epsilon:
            return allocations
        rho *= min(_TENTH_PERCENT, _nearer(price, cost) if any(plan.curves for plan in plans) else _TENTH_PERCENT)
    raise Unreachable(
        "no noise meets so small an epsilon and delta.",
        why="The discrete noise would need to be finer than its grid.",
        fix="Ask for a larger epsilon or delta.",
    )


def _nearer(price: Price, cost: BasicCost | None) -> Fraction:
    """By how much rho is too large at least, beside choices by rank: epsilon grows as its root, or faster."""
    assert price.epsilon is not None
    return Fraction(1) if cost is None else Fraction(float(price.epsilon / cost.epsilon) ** 2)


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
    from hubbub.sql.pricing.key_selection_noise import (
        allocate_with_selection,  # it allocates in the words of this module
    )

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
    if len(plans) > 1 or len(plan.measures) != 1 or plan.curves or plan.measured:
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
    return tuple(gaussian_noise(plan, rho / len(plans), neighbours, unit) for plan in plans)


def gaussian_noise(plan: QuestionPlan, rho: Fraction, neighbours: Neighbours, unit: Unit) -> NoiseAllocation:
    """Gaussian noise on what is told of a plan, for a rho; the choice of its keys is not in it."""
    measures = _gaussian_measures(plan, rho, neighbours, unit)
    return NoiseAllocation(measures, quantile_noise(plan, neighbours, unit, rho=rho), None, _joint_measures(plan))


def laplace_noise(plan: QuestionPlan, epsilon: Fraction, neighbours: Neighbours, unit: Unit) -> NoiseAllocation:
    """Laplace noise on what is told of a plan, for an epsilon; the choice of its keys is not in it."""
    measures = _laplace_measures(plan, epsilon, neighbours, unit)
    return NoiseAllocation(
        measures, quantile_noise(plan, neighbours, unit, epsilon=epsilon), None, _joint_measures(plan)
    )


@dataclass(frozen=True, slots=True)
class _NoisedSums:
    """Sums that get noise by one mechanism: a measure, at a level of totals if these are measured."""

    moved: Moved
    share: Fraction  # of the price
    cells: int


def _noised_sums(plan: QuestionPlan) -> list[_NoisedSums]:
    """Everything that gets noise, level by level; levels share the price, and measures that of each level."""
    measured = plan.weights[: len(plan.measures)]
    if not plan.measured:
        dimension = _noisy_dimension(plan)
        return [_NoisedSums(moved, share, dimension) for moved, share in zip(plan.moved, measured, strict=True)]
    return [
        _NoisedSums(moved, level.share * share, plan.cells_of(level.kept))
        for level in plan.measured
        for moved, share in zip(level.moved, measured, strict=True)
    ]


def _joint_measures(plan: QuestionPlan) -> tuple[tuple[int, ...], ...]:
    """The measures that share a price, level by level."""
    starts = [len(plan.measures) * number for number in range(max(1, len(plan.measured)))]
    return tuple(tuple(start + place for place in group) for start in starts for group in plan.joint)


def _gaussian_measures(
    plan: QuestionPlan, rho: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[DiscreteGaussian, ...]:
    """Gaussian noise for each measure of a plan, for its share of rho.

    Where keys are public the exact length counts, as it always did: fingerprints hang on the last digit of a sigma. Its
    event has the length rounded up, and may cost a millionth more than its share; what it costs is what is charged.
    """
    return tuple(
        DiscreteGaussian(
            sensitivity=_l2_length(sums.moved),
            sigma=root_of(
                (Fraction(sums.moved.l2_squared) if plan.selection is None else _l2_length(sums.moved) ** 2)
                / (2 * rho * sums.share)
            ),
            dimension=sums.cells,
            neighbours=neighbours,
            unit=unit,
        )
        for sums in _noised_sums(plan)
    )


def _laplace_measures(
    plan: QuestionPlan, epsilon: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[Geometric, ...]:
    """Discrete Laplace noise for each measure of a plan, for its share of epsilon."""
    return tuple(
        Geometric(
            sensitivity=sums.moved.l1,
            epsilon=epsilon * sums.share,
            dimension=sums.cells,
            neighbours=neighbours,
            unit=unit,
        )
        for sums in _noised_sums(plan)
    )


def quantile_noise(
    plan: QuestionPlan,
    neighbours: Neighbours,
    unit: Unit,
    *,
    epsilon: Fraction | None = None,
    rho: Fraction | None = None,
) -> tuple[QuantileNoise, ...]:
    """One mechanism per curve, each for its share of the epsilon or rho of the plan."""
    shares = plan.weights[len(plan.moved) :]
    way, price = ("rho", rho) if epsilon is None else ("epsilon", epsilon)
    assert price is not None
    return tuple(_noise_of_curve(plan, i, {way: price * shares[i]}, neighbours, unit) for i in range(len(plan.curves)))


def _noise_of_curve(
    plan: QuestionPlan, index: int, price: dict[str, Fraction], neighbours: Neighbours, unit: Unit
) -> QuantileNoise:
    """One choice for all levels, or a noisy cumulative histogram where that tells the worst of them more exactly."""
    levels, cells = plan.levels_of(index), plan.curves[index].cells
    together = None
    if levels and (plan.size is None or len(levels) <= _MOST_TOGETHER):
        together = JointQuantiles(
            levels=levels,
            cells=cells,
            max_rows=plan.curve_rows,
            groups=plan.size != 1,
            neighbours=neighbours,
            unit=unit,
            **price,
        )
        if plan.size is None or len(levels) <= _ALWAYS_TOGETHER:
            return together
    curve = NoisyCDF(
        cells=cells,
        keys=plan.size or 1,
        max_rows=plan.curve_rows,
        neighbours=neighbours,
        unit=unit,
        **price,  # type: ignore[arg-type]
    )
    return curve if together is None or curve.error(_SURE) < together.error(_SURE) else together


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
    if price.epsilon is not None:
        return ApproximateDP(price.epsilon, price.delta) if price.delta else PureDP(price.epsilon)
    cost = costs.concentrated(event, neighbours)
    assert cost is not None
    return ZeroConcentratedDP(*cost)
