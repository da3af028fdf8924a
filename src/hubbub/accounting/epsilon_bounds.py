"""What events cost together: the minimum of every bound that holds, saying which one won.

All bounds here hold for events whose parameters were fixed in advance; the *data* that later events look at
may depend on earlier answers. While parameters themselves are chosen adaptively, use ``filters``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from fractions import Fraction

from hubbub.accounting import (
    composition,
    conversions,
    costs,
    event_classes,
    gaussian_tradeoff,
    privacy_loss_distribution,
    renyi,
)
from hubbub.accounting import lower_bounds as lower
from hubbub.terms import (
    Compose,
    Event,
    GaussianKeys,
    GaussianNoise,
    MixedUnits,
    Neighbours,
    NoBound,
    Real,
    Repeat,
    Unit,
    WrongShape,
    exact,
    fraction_of,
    positive,
    shown,
)

Events = Event | Iterable[Event]


class Epsilon(float):
    """An upper bound on epsilon: a float that also says at which delta, by which method, and what others gave."""

    delta: float
    neighbours: Neighbours
    method: str
    bounds: dict[str, float]
    events: Event

    @property
    def lower(self) -> float:
        """A lower bound beside it, worked out when asked for: no accounting could promise less than this."""
        return min(float(self), lower.epsilon_lower_bound(self.events, self.delta, self.neighbours))

    def __repr__(self) -> str:
        return f"{float(self):.6g} (delta={self.delta:g}, {self.neighbours}, by {self.method})"


class Delta(float):
    """An upper bound on delta: a float that also says at which epsilon and by which method."""

    epsilon: float
    neighbours: Neighbours
    method: str
    bounds: dict[str, float]

    def __repr__(self) -> str:
        return f"{float(self):.6g} (epsilon={self.epsilon:g}, {self.neighbours}, by {self.method})"


def epsilon(events: Events, *, delta: Real, neighbours: Neighbours | str = Neighbours.ADD_REMOVE) -> Epsilon:
    """The smallest epsilon that holds for all events together at ``delta``.

    Guarantee: the events together are (epsilon, delta)-DP for the given neighbours, if their parameters were
    fixed in advance.
    Because: each bound by its own theorem: simple [DMNS06] and advanced composition [DRV10], zCDP [BS16],
    Renyi [Mir17], Gaussian DP [DRS22], loss distributions [ZDW22]; the least of valid bounds is valid.

    >>> from hubbub.mechanisms import Gaussian
    >>> from hubbub.accounting import Repeat
    >>> epsilon(Repeat(Gaussian(sensitivity=1, sigma=20).event, 1000), delta=1e-5)
    7.51128 (delta=1e-05, add-remove, by gaussian)
    """
    whole, relation = one_event(events), Neighbours.parse(neighbours)
    target = fraction_of(delta, name="delta", zero=True)
    try:
        bounds = _epsilon_bounds(whole, target, relation)
    except OverflowError:  # a cost beyond all doubles
        bounds = {}
    method = min(bounds, key=lambda name: bounds[name], default="none")
    if not bounds or math.isinf(bounds[method]):
        raise _no_bound(f"delta = {shown(target)}")
    answer = Epsilon(bounds[method])
    answer.delta, answer.neighbours, answer.method, answer.bounds = float(target), relation, method, bounds
    answer.events = whole
    return answer


def rough_epsilon(events: Events, *, delta: Fraction, neighbours: Neighbours) -> float:
    """An epsilon that holds at ``delta``, by formulas and Renyi divergences: no loss distributions, never long.

    Guarantee: the events are (epsilon, delta)-DP for the given neighbours, if their parameters were fixed in advance.
    Because: [DMNS06], [BS16], [DRS22] and [Mir17]; the least of valid bounds is valid.
    """
    whole = one_event(events)
    bounds = composition.composition_bounds(whole, delta, neighbours) | _closed_forms(whole, delta, neighbours)
    if delta:
        bounds |= _renyi_bound(event_classes.simplify_event(whole), float(delta), neighbours)
    return min(bounds.values(), default=math.inf)


def quick_epsilon(event: Event, *, delta: Fraction, neighbours: Neighbours) -> float:
    """An epsilon that holds for the event at ``delta``, by formulas alone: pure, zCDP or Gaussian; else infinite.

    ``epsilon`` may find a smaller one by composing loss distributions, which takes a thousand times as long.

    Guarantee: the event is (epsilon, delta)-DP for the given neighbours.
    Because: [DMNS06], [BS16] and [DRS22]; the least of valid bounds is valid.
    """
    return min(_closed_forms(event, delta, neighbours).values(), default=math.inf)


def delta(events: Events, *, epsilon: Real, neighbours: Neighbours | str = Neighbours.ADD_REMOVE) -> Delta:
    """The smallest delta that holds for all events together at ``epsilon``.

    Guarantee: the events together are (epsilon, delta)-DP for the given neighbours, if their parameters were
    fixed in advance.
    Because: the same theorems as for ``epsilon``, solved for delta [ZDW22, Thm. 10].
    """
    whole, relation = one_event(events), Neighbours.parse(neighbours)
    asked = positive(epsilon, name="epsilon")
    try:
        target = float(asked)
        bounds = _delta_bounds(whole, target, relation)
    except OverflowError:
        raise _no_bound(f"epsilon = {shown(asked)}") from None
    if not bounds:
        raise _no_bound(f"epsilon = {target:g}")
    method = min(bounds, key=lambda name: bounds[name])
    answer = Delta(bounds[method])
    answer.epsilon, answer.neighbours, answer.method, answer.bounds = target, relation, method, bounds
    return answer


def one_event(events: Events) -> Event:
    """One event for all of them, refused if they protect different units: their costs have no common meaning."""
    whole = _compose_events(events)
    units = {step.unit for step in whole.steps()}
    if len(units) > 1:
        raise mixed_units(units)
    return whole


def mixed_units(units: Iterable[Unit]) -> MixedUnits:
    """The refusal to add up costs for different units."""
    return MixedUnits(
        f"these events protect different units: {', '.join(sorted(unit.describe() for unit in units))}.",
        why="A cost for one row and a cost for one person do not add up to a cost for either.",
        fix="Account for each unit by itself, or give every mechanism the same unit=.",
    )


def _compose_events(events: Events) -> Event:
    if isinstance(events, Event):
        return events
    listed = tuple(events) if isinstance(events, Iterable) else ()
    if not listed or not all(isinstance(event, Event) for event in listed):
        raise WrongShape(
            "an event or a list of events was expected.",
            why="Costs are worked out from what was done, and only events say that.",
            fix="Pass mechanism.event, or a list of them.",
        )
    return Compose(listed)


def _no_bound(where: str) -> NoBound:
    return NoBound(
        f"no finite bound is known for these events at {where}.",
        why="Gaussian noise and key selection have no pure bound, and some compositions have no joint currency.",
        fix="Ask at a larger delta, or account for the parts separately.",
    )


def _epsilon_bounds(whole: Event, delta: Fraction, relation: Neighbours) -> dict[str, float]:
    bounds: dict[str, float] = {}
    target = float(delta)
    if (pure := costs.pure_epsilon(whole, relation)) is not None:
        bounds["pure"] = _float_up(pure)
    if target == 0:
        return bounds
    bounds |= composition.composition_bounds(whole, delta, relation)
    bounds |= _closed_forms(whole, delta, relation)
    summed = any(isinstance(step, GaussianNoise) and gaussian_tradeoff.is_summed(step) for step in whole.steps())
    if "gaussian" in bounds and not summed:
        return bounds  # exact: nothing can be better
    simpler = event_classes.simplify_event(whole)
    bounds |= _renyi_bound(simpler, target, relation)
    if (losses := privacy_loss_distribution.compose_losses(simpler, relation)) is not None:
        bounds["loss distribution"] = losses.epsilon(target)
    return bounds


def _renyi_bound(whole: Event, delta: float, relation: Neighbours) -> dict[str, float]:
    curve = renyi.curve(whole, relation)
    return {} if curve is None else {"renyi": conversions.curve_epsilon(curve, delta)}


def _closed_forms(whole: Event, delta: Fraction, relation: Neighbours) -> dict[str, float]:
    bounds: dict[str, float] = {}
    if (pure := costs.pure_epsilon(whole, relation)) is not None:
        bounds["pure"] = _float_up(pure)
    if (rho := costs.concentrated(whole, relation)) is not None and delta > rho[1]:
        bounds["zcdp"] = conversions.rho_epsilon(_float_up(rho[0]), float(delta - rho[1]) * (1 - 1e-12))
    if (mu_slack := costs.gaussian_mu(whole, relation)) is not None:
        mu, slack = mu_slack
        bounds["gaussian"] = gaussian_tradeoff.epsilon_of(float(delta) * (1 - slack), mu) + slack
    noise, own = _keys_apart(whole, relation)
    if 0 < own < delta:
        bounds["keys apart"] = min(_closed_forms(noise, delta - own, relation).values(), default=math.inf)
    return bounds


def _keys_apart(whole: Event, relation: Neighbours) -> tuple[Event, Fraction]:
    """The event with the noise of each choice of keys in its place, and the chances of lonely keys, added up.

    The noise of a choice is what is left of it but for a share ``own`` of the outputs: docs/proofs/keys.md.
    """
    parts = costs.flatten_event(whole)
    if any(isinstance(part, GaussianKeys) and costs.unit_distance(part, relation) > 1 for part, _ in parts):
        return whole, Fraction(0)
    own = sum((part.own * times for part, times in parts if isinstance(part, GaussianKeys)), Fraction(0))
    noises = ((part.noise if isinstance(part, GaussianKeys) else part, times) for part, times in parts)
    return Compose(tuple(Repeat(part, times) for part, times in noises)) if own else whole, own


def _delta_bounds(whole: Event, target: float, relation: Neighbours) -> dict[str, float]:
    bounds: dict[str, float] = {}
    if (pure := costs.pure_epsilon(whole, relation)) is not None and pure <= exact(target, name="epsilon"):
        bounds["pure"] = 0.0
    if (rho := costs.concentrated(whole, relation)) is not None:
        bounds["zcdp"] = min(1.0, conversions.rho_delta(_float_up(rho[0]), target) + _float_up(rho[1]))
    if (mu_slack := costs.gaussian_mu(whole, relation)) is not None:
        mu, slack = mu_slack
        bounds["gaussian"] = min(1.0, gaussian_tradeoff.delta_of(max(0.0, target - slack), mu) * (1 + slack))
    if (losses := privacy_loss_distribution.compose_losses(event_classes.simplify_event(whole), relation)) is not None:
        bounds["loss distribution"] = losses.delta(target)
    return bounds


def _float_up(value: Fraction) -> float:
    near = float(value)
    return near if Fraction(near) >= value else math.nextafter(near, math.inf)
