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
from typing import TypeAlias

from hubbub.accounting import mu_for, quick_epsilon, rho_for
from hubbub.mechanisms import DiscreteGaussian, Geometric, JointQuantiles, NoisyCDF, ThresholdPartitionSelection
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

QuantileNoise: TypeAlias = NoisyCDF | JointQuantiles

_ALWAYS_TOGETHER = 6  # so many levels by one choice are more exact than any curve
_MOST_TOGETHER = 24  # more never are
_TENTH_PERCENT = Fraction(999, 1000)
_ROUNDS = 2000
_SURE = 0.95


@dataclass(frozen=True, slots=True)
class NoiseAllocation:
    """The noise of one plan: one mechanism per measure, one per curve, and one that chooses keys."""

    measures: tuple[DiscreteGaussian | Geometric, ...]
    curves: tuple[QuantileNoise, ...]
    chooser: ThresholdPartitionSelection | None

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
    if price.rho is not None:
        return _allocate_rho(plans, price.rho, price.delta, neighbours, unit)
    assert price.epsilon is not None
    if price.delta == 0:
        return tuple(_laplace_noise(plan, price.epsilon / len(plans), neighbours, unit) for plan in plans)
    if all(plan.quantiles and not plan.measures and plan.public_keys for plan in plans):
        return _share_among_quantiles(plans, price.epsilon, neighbours, unit)
    if (alone := _allocate_single(plans, price, neighbours, unit)) is not None:
        return (alone,)
    chosen = any(not plan.public_keys for plan in plans)
    half = price.delta / 2 if chosen else price.delta
    rho = _largest_rho(price.epsilon, half, chosen)
    for _ in range(_ROUNDS):
        allocations = _allocate_rho(plans, rho, half if chosen else price.delta, neighbours, unit)
        if quick_epsilon(event_of(allocations), delta=price.delta, neighbours=neighbours) <= float(price.epsilon):
            return allocations
        rho *= _TENTH_PERCENT
    raise Unreachable(
        "no noise meets so small an epsilon and delta.",
        why="The discrete noise would need to be finer than its grid.",
        fix="Ask for a larger epsilon or delta.",
    )


def _allocate_single(
    plans: tuple[QuestionPlan, ...], price: Price, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation | None:
    """A single measure is calibrated by its own discrete profile, which needs a little less noise."""
    plan = plans[0]
    if len(plans) > 1 or len(plan.measures) != 1 or plan.curves or not plan.public_keys:
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


def _largest_rho(epsilon: Fraction, delta: Fraction, chosen: bool) -> Fraction:
    """Where the search starts: Gaussians together are one Gaussian; a choice of keys needs the looser conversion."""
    if chosen:
        return Fraction(rho_for(float(epsilon), float(delta)))
    return Fraction(mu_for(float(epsilon), float(delta))) ** 2 / 2


def _allocate_rho(
    plans: tuple[QuestionPlan, ...], rho: Fraction, delta: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    """Gaussian noise whose rho add up to ``rho``; ``delta`` is for choosing keys, shared among the plans that do."""
    choosing = sum(not plan.public_keys for plan in plans)
    return tuple(_gaussian_noise(plan, rho / len(plans), delta / max(1, choosing), neighbours, unit) for plan in plans)


def _gaussian_noise(
    plan: QuestionPlan, rho: Fraction, delta: Fraction, neighbours: Neighbours, unit: Unit
) -> NoiseAllocation:
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
    curves = quantile_noise(plan, neighbours, unit, rho=rho)
    if plan.public_keys:
        return NoiseAllocation(measures, curves, None)
    under = keys_per_unit(plan)
    chooser = ThresholdPartitionSelection(
        delta=delta, max_keys_per_unit=under, rho=rho * shares[-1], noise="gaussian", neighbours=neighbours, unit=unit
    )
    return NoiseAllocation(measures, curves, chooser)


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
    curves = quantile_noise(plan, neighbours, unit, epsilon=epsilon)
    return NoiseAllocation(measures, curves, None)


def _share_among_quantiles(
    plans: tuple[QuestionPlan, ...], epsilon: Fraction, neighbours: Neighbours, unit: Unit
) -> tuple[NoiseAllocation, ...]:
    """Quantiles alone need no delta: choices by rank are pure, and so is the noise of a curve beside them."""
    share = epsilon / len(plans)
    return tuple(NoiseAllocation((), quantile_noise(plan, neighbours, unit, epsilon=share), None) for plan in plans)


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


def keys_per_unit(plan: QuestionPlan) -> int:
    """Under how many keys one person counts when keys are chosen."""
    known = [number for number in (plan.bounding.keys, plan.bounding.rows) if number is not None]
    return min(known)


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
