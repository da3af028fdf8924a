"""What an event costs in each currency, for the neighbours asked for; None where a currency does not apply.

A step says for which neighbours its sensitivity holds. Asked for the same relation, it costs what it says.
A step for add-remove, asked for replace, is twice as far away (a removal and an addition), so its
sensitivity, its epsilon or the root of its rho doubles. The other way round nothing follows.
"""

from __future__ import annotations

import math
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from fractions import Fraction
from functools import singledispatch
from typing import TypeVar

from hubbub.accounting import privacy_profiles
from hubbub.accounting.gaussian_tradeoff import is_summed, mu_of
from hubbub.accounting.privacy_profiles import PrivacyProfile
from hubbub.terms import (
    ApproximateStep,
    Compose,
    ConcentratedStep,
    Event,
    ExponentialChoice,
    GaussianKeys,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    Parallel,
    Poisson,
    PureStep,
    Repeat,
    Step,
    WithoutReplacement,
    WrongNeighbours,
    round_up,
)

Count = tuple[Event, int]
_LARGEST_EXPONENT = 700  # whose exponential is a double
_UP, _DOWN = (Context(prec=60, rounding=way, Emin=-(10**5), Emax=10**5) for way in (ROUND_CEILING, ROUND_FLOOR))
T = TypeVar("T")


def flatten_event(event: Event, times: int = 1) -> list[Count]:
    """An event as (part, how often), with Compose and Repeat taken apart."""
    if isinstance(event, Repeat):
        return flatten_event(event.event, times * event.times)
    if isinstance(event, Compose):
        return [part for inner in event.events for part in flatten_event(inner, times)]
    return [(event, times)]


def unit_distance(step: Step, neighbours: Neighbours) -> int:
    """How many of the step's own neighbours lie between two data sets of the relation asked for."""
    if step.neighbours == neighbours:
        return 1
    if step.neighbours is Neighbours.ADD_REMOVE:
        return 2
    raise WrongNeighbours(
        f"the {step.mechanism} step was calibrated for replacing a unit and is asked about adding or removing one.",
        why="Data sets of different size are not compared by a guarantee for replacement.",
        fix='Ask with neighbours="replace", or calibrate the mechanism for "add-remove".',
    )


# ---------------------------------------------------------------- pure and approximate


@singledispatch
def pure_epsilon(event: Event, neighbours: Neighbours) -> Fraction | None:
    """The event's epsilon with delta = 0, exactly, or None if it is not pure."""
    return None


@pure_epsilon.register(LaplaceNoise | PureStep | ExponentialChoice)
def _pure_of_pure_noise(event: LaplaceNoise | PureStep | ExponentialChoice, neighbours: Neighbours) -> Fraction:
    return event.epsilon * unit_distance(event, neighbours)


@pure_epsilon.register
def _pure_of_repeat(event: Repeat, neighbours: Neighbours) -> Fraction | None:
    inner = pure_epsilon(event.event, neighbours)
    return None if inner is None else inner * event.times


@pure_epsilon.register
def _pure_of_compose(event: Compose, neighbours: Neighbours) -> Fraction | None:
    return _sum_costs([pure_epsilon(inner, neighbours) for inner in event.events])


@pure_epsilon.register
def _pure_of_parallel(event: Parallel, neighbours: Neighbours) -> Fraction | None:
    costs = _all_known([pure_epsilon(inner, neighbours) for inner in event.events])
    if costs is None:
        return None
    if neighbours is Neighbours.ADD_REMOVE:
        return max(costs)
    return max(*costs, _two_largest(event) or Fraction(0))


@pure_epsilon.register
def _pure_of_poisson(event: Poisson, neighbours: Neighbours) -> Fraction | None:
    """[BBG18, Thm. 8]; for replace, the group of two of the sampled mechanism."""
    inner = pure_epsilon(event.event, Neighbours.ADD_REMOVE)
    if inner is None:
        return None
    factor = 1 if neighbours is Neighbours.ADD_REMOVE else 2
    return factor * _amplified_epsilon(inner, event.rate)


@pure_epsilon.register
def _pure_of_without_replacement(event: WithoutReplacement, neighbours: Neighbours) -> Fraction | None:
    if neighbours is not Neighbours.REPLACE:
        return None
    inner = pure_epsilon(event.event, neighbours)
    return None if inner is None else _amplified_epsilon(inner, Fraction(event.sample, event.population))


def approximate_cost(event: Event, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    """The event's own (epsilon, delta), where it is made of pure and approximate steps."""
    if not isinstance(event, Compose | Repeat):
        return _approximate_part(event, neighbours)
    total = [Fraction(0), Fraction(0)]
    for part, times in flatten_event(event):
        cost = _approximate_part(part, neighbours)
        if cost is None:
            return None
        total = [total[0] + times * cost[0], total[1] + times * cost[1]]
    return total[0], total[1]


def _approximate_part(part: Event, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    if isinstance(part, ApproximateStep):
        if unit_distance(part, neighbours) == 1:
            return part.epsilon, part.delta
        if part.epsilon > _LARGEST_EXPONENT:
            return None
        return 2 * part.epsilon, part.delta * (1 + round_up(math.exp(part.epsilon)))  # group of two [DR14]
    if isinstance(part, Poisson) and neighbours is Neighbours.ADD_REMOVE:
        inner = approximate_cost(part.event, neighbours)
        return None if inner is None else (_amplified_epsilon(inner[0], part.rate), inner[1] * part.rate)
    epsilon = pure_epsilon(part, neighbours)
    return None if epsilon is None else (epsilon, Fraction(0))


# ---------------------------------------------------------------- zCDP


@singledispatch
def concentrated(event: Event, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    """The event's (rho, delta): delta-approximate rho-zCDP, exactly, or None."""
    return None


@concentrated.register
def _zcdp_of_gaussian_noise(event: GaussianNoise, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    return event.rho * unit_distance(event, neighbours) ** 2, Fraction(0)


@concentrated.register
def _zcdp_of_gaussian_keys(event: GaussianKeys, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    """Of two steps apart nothing is known: what is left when a lonely key is not named differs from either end."""
    return (event.noise.rho, event.own) if unit_distance(event, neighbours) == 1 else None


@concentrated.register(LaplaceNoise | PureStep)
def _zcdp_of_pure_step(event: LaplaceNoise | PureStep, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    return pure_rho(event.epsilon * unit_distance(event, neighbours)), Fraction(0)


@concentrated.register
def _zcdp_of_exponential_choice(event: ExponentialChoice, neighbours: Neighbours) -> tuple[Fraction, Fraction]:
    """epsilon^2/8, by bounded range [CR21, Lem. 3.4]; permute-and-flip does not have it."""
    return (event.epsilon * unit_distance(event, neighbours)) ** 2 / 8, Fraction(0)


@concentrated.register
def _zcdp_of_approximate_step(event: ApproximateStep, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    """An (epsilon, delta)-DP step is delta-approximately epsilon-DP [KOV15, Thm. 3.3]."""
    cost = approximate_cost(event, neighbours)
    return None if cost is None else (pure_rho(cost[0]), cost[1])


@concentrated.register
def _zcdp_of_concentrated_step(event: ConcentratedStep, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    steps = unit_distance(event, neighbours)
    if steps == 1:
        return event.rho, event.delta
    return (event.rho * steps**2, Fraction(0)) if event.delta == 0 else None  # [BS16, Prop. 1.9]


@concentrated.register
def _zcdp_of_repeat(event: Repeat, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    inner = concentrated(event.event, neighbours)
    return None if inner is None else (inner[0] * event.times, inner[1] * event.times)


@concentrated.register
def _zcdp_of_compose(event: Compose, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    costs = _all_known([concentrated(inner, neighbours) for inner in event.events])
    return None if costs is None else (sum((c[0] for c in costs), Fraction(0)), sum((c[1] for c in costs), Fraction(0)))


@concentrated.register
def _zcdp_of_parallel(event: Parallel, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    own = _all_known([concentrated(inner, neighbours) for inner in event.events])
    single = _all_known([concentrated(inner, Neighbours.ADD_REMOVE) for inner in event.events])
    if own is None or single is None:
        return None
    if neighbours is Neighbours.ADD_REMOVE:
        return max(c[0] for c in own), max(c[1] for c in own)
    rho, delta = (sum(sorted((c[i] for c in single), reverse=True)[:2], Fraction(0)) for i in (0, 1))
    return max(rho, *(c[0] for c in own)), max(delta, *(c[1] for c in own))


@concentrated.register(Poisson | WithoutReplacement)
def _zcdp_of_sample(event: Poisson | WithoutReplacement, neighbours: Neighbours) -> tuple[Fraction, Fraction] | None:
    """Through the sampled mechanism's (epsilon, delta), where it has one."""
    cost = approximate_cost(event, neighbours)
    return None if cost is None else (pure_rho(cost[0]), cost[1])


def pure_rho(epsilon: Fraction) -> Fraction:
    """The rho of anything that is epsilon-DP: epsilon tanh(epsilon/2), rounded up, the same on every machine.

    Because: randomized response dominates every epsilon-DP step [KOV15, Thm. 3.3]; its loss L is +-epsilon with mean
    k = epsilon tanh(epsilon/2), and ln E exp(s (L - k)) <= s^2 k [KS98, Thm. 2], so that its Renyi divergence of each
    order a is at most a k: docs/proofs/either-way.md. Never more than epsilon^2/2 [BS16, Prop. 3.3].
    """
    if epsilon > _LARGEST_EXPONENT:
        return epsilon  # tanh is below 1
    return min(epsilon**2 / 2, epsilon * _tanh_of_half(epsilon))


def _tanh_of_half(epsilon: Fraction) -> Fraction:
    """tanh(epsilon/2) = (1 - y) / (1 + y) with y = exp(-epsilon), rounded up in decimals.

    Doubles would end a little apart on another machine, where charges are verified against the event.
    """
    exponent = _UP.divide(Decimal(epsilon.numerator), Decimal(epsilon.denominator))
    shrunk = _DOWN.next_minus(_DOWN.exp(exponent.copy_negate()))  # exp rounds to the nearest in any context
    return Fraction(_UP.divide(_UP.subtract(Decimal(1), shrunk), _DOWN.add(Decimal(1), shrunk)))


# ---------------------------------------------------------------- privacy profiles


@singledispatch
def dominating_profile(event: Event, neighbours: Neighbours) -> PrivacyProfile | None:
    """The event's dominating profile, or None where none is known in closed form."""
    return None


@dominating_profile.register
def _profile_of_gaussian_noise(event: GaussianNoise, neighbours: Neighbours) -> PrivacyProfile | None:
    apart = unit_distance(event, neighbours)
    if is_summed(event) and apart == 1:  # two steps apart, two coordinates may change
        return privacy_profiles.discrete_gaussian(
            float(event.sigma / event.grid), math.floor(event.sensitivity / event.grid)
        )
    mu_slack = mu_of(event)
    return (
        None if mu_slack is None else privacy_profiles.gaussian_profile(mu_slack[0] * apart, slack=mu_slack[1] * apart)
    )


@dominating_profile.register
def _profile_of_gaussian_keys(event: GaussianKeys, neighbours: Neighbours) -> PrivacyProfile | None:
    """That of the noise, but for a share ``own`` of the outputs: docs/proofs/keys.md."""
    if unit_distance(event, neighbours) > 1:
        return None
    inner = dominating_profile(event.noise, neighbours)
    return None if inner is None else privacy_profiles.leaky_profile(inner, min(1.0, float(round_up(float(event.own)))))


@dominating_profile.register
def _profile_of_laplace_noise(event: LaplaceNoise, neighbours: Neighbours) -> PrivacyProfile:
    steps = math.floor(event.sensitivity * unit_distance(event, neighbours) / event.grid)
    return privacy_profiles.laplace_profile(event.scale / event.grid, max(1, steps))


@dominating_profile.register
def _profile_of_pure_step(event: PureStep, neighbours: Neighbours) -> PrivacyProfile:
    return privacy_profiles.pure_profile(float(event.epsilon) * unit_distance(event, neighbours))


@dominating_profile.register
def _profile_of_exponential_choice(event: ExponentialChoice, neighbours: Neighbours) -> PrivacyProfile:
    return privacy_profiles.bounded_range(float(event.epsilon) * unit_distance(event, neighbours))


@dominating_profile.register
def _profile_of_approximate_step(event: ApproximateStep, neighbours: Neighbours) -> PrivacyProfile | None:
    cost = approximate_cost(event, neighbours)
    return None if cost is None else privacy_profiles.approximate_profile(float(cost[0]), min(1.0, float(cost[1])))


@dominating_profile.register(Compose | Repeat)
def _profile_of_compose(event: Compose | Repeat, neighbours: Neighbours) -> PrivacyProfile | None:
    """Only Gaussians compose in closed form."""
    mu_slack = gaussian_mu(event, neighbours)
    return None if mu_slack is None else privacy_profiles.gaussian_profile(mu_slack[0], slack=mu_slack[1])


@dominating_profile.register
def _profile_of_parallel(event: Parallel, neighbours: Neighbours) -> PrivacyProfile | None:
    if neighbours is Neighbours.REPLACE:
        return None  # two parts change at once: left to the currencies that add up
    inner = _all_known([dominating_profile(part, neighbours) for part in event.events])
    return None if inner is None else privacy_profiles.largest_profile(inner)


@dominating_profile.register
def _profile_of_poisson(event: Poisson, neighbours: Neighbours) -> PrivacyProfile | None:
    if neighbours is Neighbours.REPLACE:
        return None  # see pld.replaced_sample
    inner = dominating_profile(event.event, neighbours)
    return None if inner is None else privacy_profiles.poisson_profile(inner, float(event.rate))


@dominating_profile.register
def _profile_of_without_replacement(event: WithoutReplacement, neighbours: Neighbours) -> PrivacyProfile | None:
    if neighbours is not Neighbours.REPLACE:
        return None
    inner = dominating_profile(event.event, neighbours)
    return None if inner is None else privacy_profiles.fixed_size(inner, event.sample / event.population)


def gaussian_mu(event: Event, neighbours: Neighbours) -> tuple[float, float] | None:
    """(mu, slack) of Gaussians alone, whose squared mu add up [DRS22, Cor. 2]; None if anything else is there."""
    square, slack = 0.0, 0.0
    parts = flatten_event(event)
    for part, times in parts:
        mu_slack = mu_of(part) if isinstance(part, GaussianNoise) else None
        if mu_slack is None or not isinstance(part, GaussianNoise):
            return None
        apart = unit_distance(part, neighbours)
        square += times * (mu_slack[0] * apart) ** 2
        slack += times * mu_slack[1] * apart
    return math.sqrt(square) * (1 + 2e-16 * len(parts)), slack  # each addition rounds


# ---------------------------------------------------------------- small helpers


def _amplified_epsilon(epsilon: Fraction, rate: Fraction) -> Fraction:
    """ln(1 + rate (e^epsilon - 1)), rounded up, and never more than epsilon itself."""
    if rate == 1 or epsilon > 700:
        return epsilon
    if epsilon > _LARGEST_EXPONENT:
        return epsilon  # a sample costs no more than all
    return min(epsilon, round_up(math.log1p(float(rate) * math.expm1(float(epsilon))), steps=4))


def _two_largest(event: Parallel) -> Fraction | None:
    """A unit that moves from one part to another changes both: the two largest add-remove costs together."""
    singles = _all_known([pure_epsilon(inner, Neighbours.ADD_REMOVE) for inner in event.events])
    return None if singles is None else sum(sorted(singles, reverse=True)[:2], Fraction(0))


def _sum_costs(costs: list[Fraction | None]) -> Fraction | None:
    known = _all_known(costs)
    return None if known is None else sum(known, Fraction(0))


def _all_known(costs: list[T | None]) -> list[T] | None:
    known = [cost for cost in costs if cost is not None]
    return known if len(known) == len(costs) else None
