"""A budget counted both ways: the split of its delta, and what a step costs in the basic account.

Every step has four public numbers: epsilon and tail delta (basic), rho (concentrated), and a delta of its own, which
both accounts share. They speak of one decomposition: the step's two output distributions are (1 - own) P' + own P'' and
(1 - own) Q' + own Q'', and the same pair (P', Q') is (epsilon, tail)-close and rho-zCDP. A step passes if the own
deltas fit and one of the two accounts does: ``budget_limits.Limit``, docs/proofs/either-way.md.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from hubbub.accounting import costs, epsilon_bounds
from hubbub.terms import (
    ApproximateStep,
    Compose,
    ConcentratedStep,
    Event,
    GaussianKeys,
    GaussianNoise,
    Neighbours,
    NoBound,
    Parallel,
    Poisson,
    PureStep,
    Repeat,
    shown,
)


@dataclass(frozen=True, slots=True)
class DeltaSplit:
    """How the delta of a budget is shared out, once and for all, when the budget is opened; the shares add up to 1.

    ``converts`` turns rho into epsilon, ``own`` pays for steps that bring a delta of their own (choosing keys),
    ``tail`` for the tails of Gaussian noise in the basic account.
    """

    converts: Fraction
    own: Fraction
    tail: Fraction

    def describe(self) -> str:
        """The shares in words."""
        return f"{shown(self.converts)} to convert rho, {shown(self.own)} for own deltas, {shown(self.tail)} for tails"


MARGIN = Fraction(1_000_001, 1_000_000)  # on a bound in doubles: another machine's may end a little higher
_LEAST_TAIL = Fraction(1, 10**300)  # that a double holds in full
SPLIT = DeltaSplit(Fraction(3, 4), Fraction(1, 8), Fraction(1, 8))
FIRST_SPLIT = DeltaSplit(Fraction(3, 4), Fraction(1, 4), Fraction(0))  # of budgets that were opened by version 0.1


@dataclass(frozen=True, slots=True)
class BasicCost:
    """What a step costs where epsilons and tail deltas add up; its own delta is counted beside it."""

    epsilon: Fraction
    tail: Fraction


def basic_cost(
    event: Event, neighbours: Neighbours, *, tail: Fraction, stated: Fraction | None = None
) -> BasicCost | None:
    """(epsilon, tail) of an event without its own deltas; None if no epsilon is known at that tail.

    A pure event needs no tail. ``stated`` is an epsilon that somebody calibrated the event for: it is the cost if it
    holds, so that what people type adds up to what they expect. An epsilon worked out here has a millionth on top.

    Guarantee: P' and Q' of the event are (epsilon, tail)-close in both directions.
    Because: [KOV15, Thm. 3.3] takes the deltas of steps off; then [DMNS06], [BS16], [DRS22], [CKS20, Thm. 7], or the
    least of all bounds (``epsilon_bounds``), for parts whose parameters are fixed before the event is charged.
    """
    if isinstance(event, Parallel) and neighbours is Neighbours.ADD_REMOVE:
        return _largest_part([basic_cost(part, neighbours, tail=tail, stated=stated) for part in event.events])
    clean = without_own(event, neighbours)
    if clean is None:
        return None
    if (pure := costs.pure_epsilon(clean, neighbours)) is not None:
        return BasicCost(pure, Fraction(0))
    if tail < _LEAST_TAIL:
        return None
    if stated is not None and _holds_at(clean, neighbours, stated, tail):
        return BasicCost(stated, tail)
    epsilon = _epsilon_at(clean, neighbours, tail)
    return None if math.isinf(epsilon) else BasicCost(Fraction(epsilon) * MARGIN, tail)


def _largest_part(parts: Sequence[BasicCost | None]) -> BasicCost | None:
    """Disjoint parts of which one unit is in one only: the largest of each number."""
    known = [part for part in parts if part is not None]
    if len(known) < len(parts):
        return None
    return BasicCost(max(part.epsilon for part in known), max(part.tail for part in known))


def own_delta(event: Event, neighbours: Neighbours) -> Fraction:
    """The delta that an event brings by itself, once for both accounts; ``without_own`` is the event less it."""
    if isinstance(event, ConcentratedStep):
        cost = costs.concentrated(event, neighbours)
        return event.delta if cost is None else cost[1]
    if isinstance(event, GaussianKeys):
        return event.own
    if isinstance(event, Compose):
        return sum((own_delta(part, neighbours) for part in event.events), Fraction(0))
    if isinstance(event, Repeat):
        return own_delta(event.event, neighbours) * event.times
    if isinstance(event, Parallel):
        return _parallel_own(event, neighbours)
    cost = costs.approximate_cost(event, neighbours)
    return Fraction(0) if cost is None else cost[1]


def _parallel_own(event: Parallel, neighbours: Neighbours) -> Fraction:
    """The largest of the parts; a unit that is replaced may leave one part and enter another."""
    parts = [own_delta(part, neighbours) for part in event.events]
    if neighbours is Neighbours.ADD_REMOVE:
        return max(parts)
    single = sorted((own_delta(part, Neighbours.ADD_REMOVE) for part in event.events), reverse=True)
    return max(*parts, sum(single[:2], Fraction(0)))


def without_own(event: Event, neighbours: Neighbours) -> Event | None:
    """The event whose steps bring no delta of their own; None where taking it off is not known to be sound."""
    if isinstance(event, ApproximateStep | ConcentratedStep):
        return _clean_step(event, neighbours)
    if isinstance(event, GaussianKeys):
        return event.noise if costs.unit_distance(event, neighbours) == 1 else None
    if isinstance(event, Compose | Parallel):
        parts = [without_own(part, neighbours) for part in event.events]
        known = tuple(part for part in parts if part is not None)
        return replace(event, events=known) if len(known) == len(parts) else None
    if isinstance(event, Repeat):
        inner = without_own(event.event, neighbours)
        return None if inner is None else Repeat(inner, event.times)
    if isinstance(event, Poisson) and own_delta(event, neighbours):
        return _clean_sample(event, neighbours)
    return event


def _clean_step(event: ApproximateStep | ConcentratedStep, neighbours: Neighbours) -> Event | None:
    """One step with its delta taken off, for its own neighbours: a part of ``Parallel`` is asked about both kinds."""
    if costs.concentrated(event, neighbours) is None:
        return None
    if isinstance(event, ConcentratedStep):
        return replace(event, delta=Fraction(0))
    return PureStep(mechanism=event.mechanism, epsilon=event.epsilon, neighbours=event.neighbours, unit=event.unit)


def _clean_sample(event: Poisson, neighbours: Neighbours) -> Event:
    """A sample of steps with deltas: what is known of it is its (epsilon, delta)."""
    cost = costs.approximate_cost(event, neighbours)
    assert cost is not None
    step = next(event.steps())
    return PureStep(mechanism=step.mechanism, epsilon=cost[0], neighbours=neighbours, unit=step.unit)


def _holds_at(clean: Event, neighbours: Neighbours, epsilon: Fraction, tail: Fraction) -> bool:
    """Whether the event is (epsilon, tail)-close, by formulas alone: quick, and nearly the same on every machine.

    One Gaussian has an exact profile, also beside pure parts, whose epsilons come off first.
    """
    quick = _epsilon_quickly(clean, neighbours, tail)
    if quick <= epsilon:
        return True
    if quick > 4 * epsilon:  # a profile's sum is long where there is hardly any noise
        return False
    pure, others = _take_pure_parts(clean, neighbours)
    if len(others) != 1 or not isinstance(others[0], GaussianNoise) or pure >= epsilon:
        return False
    profile = costs.dominating_profile(others[0], neighbours)
    if profile is None:
        return False
    at = np.array([float(epsilon - pure) - profile.slack])
    return max(float(profile.remove(at)[0]), float(profile.add(at)[0])) <= tail


def _epsilon_at(clean: Event, neighbours: Neighbours, tail: Fraction) -> float:
    quick = _epsilon_quickly(clean, neighbours, tail)
    if math.isfinite(quick):
        return quick
    try:
        return float(epsilon_bounds.epsilon(clean, delta=tail, neighbours=neighbours))
    except NoBound:
        return math.inf


def _epsilon_quickly(clean: Event, neighbours: Neighbours, tail: Fraction) -> float:
    """By formulas: all parts together, or pure parts added to the others, of which the tail is; else infinite."""
    try:
        return _least_of_formulas(clean, neighbours, tail)
    except OverflowError:  # a cost beyond all doubles
        return math.inf


def _least_of_formulas(clean: Event, neighbours: Neighbours, tail: Fraction) -> float:
    whole = epsilon_bounds.quick_epsilon(clean, delta=tail, neighbours=neighbours)
    pure, others = _take_pure_parts(clean, neighbours)
    if not pure:
        return whole
    rest = epsilon_bounds.quick_epsilon(Compose(tuple(others)), delta=tail, neighbours=neighbours)
    return min(whole, (float(pure) + rest) * (1 + 1e-15))


def _take_pure_parts(clean: Event, neighbours: Neighbours) -> tuple[Fraction, list[Event]]:
    """The epsilons of the pure parts of an event together, and its other parts."""
    pure, others = Fraction(0), list[Event]()
    for part, times in costs.flatten_event(clean):
        cost = costs.pure_epsilon(part, neighbours)
        if cost is None:
            others.append(part if times == 1 else Repeat(part, times))
        else:
            pure += cost * times
    return pure, others
