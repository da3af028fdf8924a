"""Many different events as a few classes, each a little costlier than its members: for reports over long histories.

Parameters are rounded *up* in cost to powers of one ratio, so every member is dominated by its class, and the
bound for the classes holds for the events. A thousand-odd classes at most are left of any number of events.
"""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from functools import lru_cache

from hubbub.accounting.costs import flatten_event
from hubbub.accounting.gaussian_tradeoff import FINE, mu_of
from hubbub.terms import (
    ApproximateStep,
    Compose,
    Event,
    ExponentialChoice,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    Poisson,
    PureStep,
    Repeat,
)

_DISTINCT = 256  # up to this many kinds of events nothing is rounded
_RATIO = 1.01  # from one class to the next
_FINEST = 1 << 34  # grid steps per scale from which Laplace events share a grid


def simplify_event(event: Event) -> Event:
    """The same event, or one that dominates it and has fewer kinds of parts."""
    parts = flatten_event(event)
    if len(parts) <= _DISTINCT:
        return event
    counts: Counter[Event] = Counter()
    for part, times in parts:
        counts[part] += times
    if len(counts) > _DISTINCT:
        exact, counts = counts, Counter()
        for part, times in exact.items():
            counts[_class_of(part)] += times
    return Compose(tuple(Repeat(part, times) for part, times in counts.items()))


def _class_of(event: Event) -> Event:
    """An event of the nearest class above, which dominates this one."""
    if isinstance(event, LaplaceNoise):
        return _laplace_class(event)
    if isinstance(event, PureStep):
        return PureStep(mechanism="class", epsilon=_round_up(event.epsilon), neighbours=event.neighbours)
    if isinstance(event, ExponentialChoice):
        return ExponentialChoice(epsilon=_round_up(event.epsilon), neighbours=event.neighbours)
    if isinstance(event, ApproximateStep):
        delta = min(_round_up(event.delta), (1 + event.delta) / 2)
        return ApproximateStep(
            mechanism="class", epsilon=_round_up(event.epsilon), delta=delta, neighbours=event.neighbours
        )
    if isinstance(event, Poisson) and isinstance(event.event, GaussianNoise):
        return Poisson(_gaussian_class(event.event), min(Fraction(1), _round_up(event.rate)))
    return event


def _laplace_class(event: LaplaceNoise) -> LaplaceNoise:
    """Less noise of the same kind: on fine grids a standard scale, on coarse ones the same sensitivity."""
    steps = event.scale / event.grid
    if steps >= _FINEST:
        return _standard_laplace(_round_up(event.sensitivity / event.scale), event.neighbours)
    scale = event.grid / _round_up(1 / steps)
    return LaplaceNoise(scale=scale, sensitivity=event.sensitivity, grid=event.grid, neighbours=event.neighbours)


@lru_cache(maxsize=4096)
def _standard_laplace(epsilon: Fraction, neighbours: Neighbours) -> LaplaceNoise:
    scale = 1 / epsilon
    return LaplaceNoise(scale=scale, sensitivity=Fraction(1), grid=scale / _FINEST, neighbours=neighbours)


def _gaussian_class(event: GaussianNoise) -> GaussianNoise:
    mu_slack = mu_of(event)
    if mu_slack is None or event.sigma < FINE * event.grid:  # on a coarse grid the class's smaller slack would not do
        return event
    sigma = 1 / _round_up(Fraction(mu_slack[0]))
    return GaussianNoise(
        sigma=sigma,
        sensitivity=Fraction(1),
        grid=sigma / (1 << 40),
        dimension=event.dimension,  # as many coordinates, so that the slack is the event's own
        neighbours=event.neighbours,
        unit=event.unit,
    )


def _round_up(value: Fraction) -> Fraction:
    """The least power of the ratio that is not below ``value`` (or the next, where doubles cannot tell)."""
    return _ratio_power(math.ceil(math.log(value) / math.log(_RATIO) + 1e-9))


@lru_cache(maxsize=4096)
def _ratio_power(exponent: int) -> Fraction:
    return Fraction(_RATIO**exponent)
