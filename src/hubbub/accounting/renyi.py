"""The moments accountant: Renyi divergences at fixed orders, which add up under composition [Mir17, Prop. 1]."""

from __future__ import annotations

import logging
import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from hubbub.accounting.conversions import pure_divergence
from hubbub.accounting.costs import concentrated, flatten_event, pure_epsilon, unit_distance
from hubbub.accounting.gaussian_tradeoff import mu_of
from hubbub.terms import (
    Event,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    Parallel,
    Poisson,
    RenyiDP,
    Step,
    WithoutReplacement,
)

ORDERS = (*(1 + x / 10 for x in range(1, 100)), *range(11, 65), 80, 96, 128, 192, 256, 384, 512, 768, 1024)
Divergences = NDArray[np.float64]
_ROUNDING = 2.0**-46  # relative, of a few logarithms and sums in doubles


def curve(event: Event, neighbours: Neighbours, orders: tuple[float, ...] = ORDERS) -> RenyiDP | None:
    """The Renyi curve of an event at the given orders, or None where it has none."""
    values = divergences(event, neighbours, np.array(orders))
    return None if values is None else RenyiDP(tuple(orders), tuple(values.tolist()))


def divergences(event: Event, neighbours: Neighbours, orders: Divergences) -> Divergences | None:
    """The same as an array, for those who ask often."""
    parts = [(_part_divergence(part, neighbours, orders), times) for part, times in flatten_event(event)]
    known = [times * divergence for divergence, times in parts if divergence is not None]
    return sum(known[1:], known[0]) if len(known) == len(parts) else None


def _part_divergence(part: Event, neighbours: Neighbours, orders: Divergences) -> Divergences | None:
    if isinstance(part, LaplaceNoise):
        steps = max(1, math.floor(part.sensitivity * unit_distance(part, neighbours) / part.grid))
        return _laplace_divergence(orders, float(part.scale / part.grid), steps)
    if isinstance(part, Parallel):
        return _parallel_divergence(part, neighbours, orders)
    if isinstance(part, Poisson | WithoutReplacement):
        return _sampled_divergence(part, neighbours, orders)
    return _step_divergence(part, neighbours, orders)


def _step_divergence(part: Event, neighbours: Neighbours, orders: Divergences) -> Divergences | None:
    """The smaller of what zCDP and what pure DP say."""
    options = []
    cost = concentrated(part, neighbours)
    if cost is not None and cost[1] == 0:
        options.append(orders * float(cost[0]))
    epsilon = pure_epsilon(part, neighbours)
    if epsilon is not None:
        options.append(_pure_divergence(orders, float(epsilon)))
    return reduce(np.minimum, options) if options else None


def _laplace_divergence(orders: Divergences, scale: float, steps: int) -> Divergences:
    """The divergence of discrete Laplace noise ``steps`` apart, summed in closed form over the three regions."""
    p, e = 1 / scale, steps / scale  # -ln of the ratio of neighbouring masses; epsilon
    head = (orders - 1) * e - math.log1p(math.exp(-p))  # x <= 0
    tail = -orders * e - math.log1p(math.exp(-p))  # x >= steps
    total = np.logaddexp(head, tail)
    if steps > 1:  # a geometric series over 0 < x < steps
        r = (2 * orders - 1) * p
        series = np.expm1(-r * (steps - 1)) / np.expm1(-r)
        total = np.logaddexp(total, head + math.log(-math.expm1(-p)) - r + np.log(series))
    rounding = _ROUNDING * (2 + orders * e + abs(math.log(p)))  # of logarithms that cancel
    divergence = (total + rounding) / (orders - 1) * (1 + 1e-9)
    return np.minimum(
        np.maximum(divergence, 0.0), _pure_divergence(orders, e)
    )  # for tiny steps the rounding is all there is


def _pure_divergence(orders: Divergences, epsilon: float) -> Divergences:
    return np.array([pure_divergence(order, epsilon) for order in orders.tolist()])


def _parallel_divergence(part: Parallel, neighbours: Neighbours, orders: Divergences) -> Divergences | None:
    """The largest part; under replacement also the two largest together, since a unit may move."""
    own = [divergences(inner, neighbours, orders) for inner in part.events]
    single = [divergences(inner, Neighbours.ADD_REMOVE, orders) for inner in part.events]
    if any(divergence is None for divergence in (*own, *single)):
        return None
    largest = np.max([divergence for divergence in own if divergence is not None], axis=0)
    if neighbours is Neighbours.ADD_REMOVE:
        return np.asarray(largest, dtype=np.float64)
    moved = np.sort([divergence for divergence in single if divergence is not None], axis=0)[-2:].sum(axis=0)
    return np.asarray(np.maximum(largest, moved), dtype=np.float64)


def _sampled_divergence(
    part: Poisson | WithoutReplacement, neighbours: Neighbours, orders: Divergences
) -> Divergences | None:
    """Sampled Gaussians through dp-accounting: [MTZ19] for Poisson, [WBK19] for a fixed size.

    What the discrete noise differs from the continuous (a factor of e^(slack/2) in every mass, up or down) and what
    dp-accounting rounds are added: both are small beside one step and not beside a rate of 10^-9.
    """
    inner = part.event
    wanted = Neighbours.ADD_REMOVE if isinstance(part, Poisson) else Neighbours.REPLACE
    mu_slack = mu_of(inner) if isinstance(inner, GaussianNoise) else None
    if mu_slack is None or not isinstance(inner, Step) or neighbours is not wanted:
        return None
    from dp_accounting import (
        GaussianDpEvent,
        NeighboringRelation,
        PoissonSampledDpEvent,
        SampledWithoutReplacementDpEvent,
    )
    from dp_accounting.rdp import RdpAccountant

    noise = GaussianDpEvent(1 / (mu_slack[0] * unit_distance(inner, neighbours)))
    if isinstance(part, Poisson):
        sampled = PoissonSampledDpEvent(float(part.rate), noise)
        relation = NeighboringRelation.ADD_OR_REMOVE_ONE
    else:
        sampled = SampledWithoutReplacementDpEvent(part.population, part.sample, noise)
        relation = NeighboringRelation.REPLACE_ONE
    accountant = RdpAccountant(orders.tolist(), relation)
    with _without_notes():
        accountant.compose(sampled)
    rounding = 1e-12 * (1 + (orders - 1) * accountant.rdp)
    apart = mu_slack[1] * unit_distance(inner, neighbours) * (orders - 0.5)
    return np.asarray(accountant.rdp + (rounding + apart) / (orders - 1), dtype=np.float64)


@contextmanager
def _without_notes() -> Iterator[None]:
    """Without the notes that dp-accounting writes about orders whose series it gives up: those become infinite."""
    log = logging.getLogger("absl")
    level = log.level
    log.setLevel(logging.ERROR)
    try:
        with np.errstate(all="ignore"):
            yield
    finally:
        log.setLevel(level)
