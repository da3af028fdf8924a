"""Privacy-loss distributions: composition computed rather than bounded, by dp-accounting.

Each event's profile is sampled on a common grid and joined by chords in e^epsilon, which lie above it
("connect the dots", [DGKKM22]); dp-accounting convolves. The result is an upper bound up to the rounding of
its Fourier transforms and of as many steps as were composed, for which ``noise_floor`` is taken off delta.

It holds for parameters fixed in advance. While an analyst chooses parameters adaptively, stopping at a
composed curve is no valid filter: use ``hubbub.accounting.filters``.
"""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np

from hubbub.accounting.costs import Count, dominating_profile, flatten_event
from hubbub.accounting.gaussian_tradeoff import is_summed, mu_of
from hubbub.accounting.privacy_profiles import Curve, PrivacyProfile
from hubbub.terms import Compose, Event, GaussianNoise, Neighbours, Poisson, Repeat

_LARGEST_STEP = 2.0**-13
_MOST_NODES = 2.0**20
_MOST_STEPS = 10**9  # beyond, rounding would take all of a sensible delta
_AT_ONCE = 1 << 14  # copies whose sum dp-accounting bounds well: its search for tails starts at one over the support
_LARGEST_SUPPORT = 1 << 24  # nodes of a sum that still fit into memory beside their transforms
_LEAST_VARIATION = 1e-8  # of a step whose profile doubles still resolve


@dataclass(frozen=True, slots=True)
class LossDistribution:
    """A composed privacy-loss distribution."""

    distribution: Any  # dp_accounting's own type; it ships no types
    noise_floor: float
    slack: float

    def epsilon(self, delta: float) -> float:
        """epsilon at ``delta``; infinite where delta drowns in the rounding."""
        if delta <= 2 * self.noise_floor:
            return math.inf
        return float(self.distribution.get_epsilon_for_delta(delta * (1 - self.slack) - self.noise_floor)) + self.slack

    def delta(self, epsilon: float) -> float:
        """delta at ``epsilon``."""
        delta = float(self.distribution.get_delta_for_epsilon(max(0.0, epsilon - self.slack)))
        return min(1.0, delta * (1 + self.slack) + self.noise_floor)


def compose_losses(event: Event, neighbours: Neighbours) -> LossDistribution | None:
    """The loss distribution of an event, or None where a part of it has no profile or losses are beyond the grid."""
    profiles = [(_profile_of(part, neighbours), times) for part, times in _merge_parts(flatten_event(event))]
    terms = [(curve, times) for curve, times in profiles if curve is not None]
    steps = sum(times for _, times in terms)
    if len(terms) < len(profiles) or steps > _MOST_STEPS:
        return None
    if min(_total_variation(curve) for curve, _ in terms) < _LEAST_VARIATION:
        return None
    step, nodes = _loss_grid(terms)
    try:
        built = _compose_pairwise([_self_compose(_discretize(curve, step), times) for curve, times in terms])
    except (IndexError, _TooWide):  # so little noise that dp-accounting's grid has no mass inside, or no end
        return None
    slack = sum(times * curve.slack for curve, times in terms)
    return LossDistribution(built, (nodes + steps) * 1e-16, slack)


@dataclass(frozen=True, slots=True)
class _ReplacedSample:
    """A Poisson-sampled Gaussian under replacement, which dp-accounting knows in closed form."""

    mu: float
    rate: float
    slack: float = 0.0

    @property
    def reach(self) -> float:
        return self.mu * (self.mu + 19)


def _profile_of(event: Event, neighbours: Neighbours) -> PrivacyProfile | _ReplacedSample | None:
    if isinstance(event, Poisson) and neighbours is Neighbours.REPLACE and isinstance(event.event, GaussianNoise):
        mu_slack = mu_of(event.event)
        own = event.event.neighbours is Neighbours.ADD_REMOVE
        return _ReplacedSample(mu_slack[0], float(event.rate), mu_slack[1]) if mu_slack is not None and own else None
    return dominating_profile(event, neighbours)


def _merge_parts(parts: list[Count]) -> list[Count]:
    """Equal events counted once, and Gaussians, which compose in closed form, merged into one."""
    counts: Counter[Event] = Counter()
    for event, times in parts:
        counts[event] += times
    gaussians = [(event, times) for event, times in counts.items() if _merges_closed(event)]
    others = [(event, times) for event, times in counts.items() if not _merges_closed(event)]
    if not gaussians:
        return others
    return [*others, (Compose(tuple(Repeat(event, times) for event, times in gaussians)), 1)]


def _merges_closed(event: Event) -> bool:
    return isinstance(event, GaussianNoise) and not is_summed(event)


def _loss_grid(terms: list[tuple[PrivacyProfile | _ReplacedSample, int]]) -> tuple[float, float]:
    """The common step, fine against the typical loss of one event, and how many nodes the total will take."""
    spreads = [(2.5 * _total_variation(curve), times) for curve, times in terms]
    count = sum(times for _, times in spreads)
    square = sum(times * spread**2 for spread, times in spreads)
    span = square + 20 * math.sqrt(square) + max(curve.reach for curve, _ in terms)
    step = max(min(_LARGEST_STEP, math.sqrt(square / count) / 64), span / _MOST_NODES)
    return step, span / step


def _total_variation(curve: PrivacyProfile | _ReplacedSample) -> float:
    if isinstance(curve, _ReplacedSample):
        return curve.rate * math.erf(curve.mu / math.sqrt(2))
    return float(curve.remove(np.zeros(1))[0])


def _discretize(curve: PrivacyProfile | _ReplacedSample, step: float) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as dp

    if isinstance(curve, _ReplacedSample):
        from dp_accounting import NeighboringRelation

        return dp.from_gaussian_mechanism(
            1 / curve.mu,
            value_discretization_interval=step,
            sampling_prob=curve.rate,
            neighboring_relation=NeighboringRelation.REPLACE_ONE,
        )
    remove = _connect_dots(curve.remove, curve.reach, step)
    if curve.add is curve.remove:
        return dp.PrivacyLossDistribution(remove)
    return dp.PrivacyLossDistribution(remove, _connect_dots(curve.add, curve.reach, step))


def _connect_dots(curve: Curve, reach: float, step: float) -> Any:
    from dp_accounting.pld import pld_pmf

    last = math.ceil(reach / step)
    nodes = np.arange(-last, last + 1)
    deltas = np.minimum.accumulate(curve(np.asarray(nodes * step, dtype=np.float64)))
    return pld_pmf.create_pmf_pessimistic_connect_dots(step, nodes, deltas)


class _TooWide(Exception):
    """A sum with more nodes than fit into memory: so many copies of so little noise."""


def _self_compose(distribution: Any, times: int) -> Any:
    """The distribution composed with itself, by the digits of ``times`` to the base of what is done at once."""
    parts = []
    while times:
        times, digit = divmod(times, _AT_ONCE)
        parts += [_small_power(distribution, digit)] if digit else []
        distribution = _small_power(distribution, _AT_ONCE) if times else distribution
    return _compose_pairwise(parts)


def _small_power(distribution: Any, times: int) -> Any:
    """The same for few copies; for very few by squaring, which is quicker than the general way."""
    if times > 512:
        _check_support(distribution, times)
        with np.errstate(over="ignore"):  # of tilts that its search for a cut gives up
            return distribution.self_compose(times)
    squares = [distribution]
    while len(squares) < times.bit_length():
        squares.append(squares[-1].compose(squares[-1]))
    return _compose_pairwise([square for bit, square in enumerate(squares) if times >> bit & 1])


def _check_support(distribution: Any, times: int) -> None:
    """Refuse a sum whose support dp-accounting cannot bound well: it would ask for gigabytes."""
    from dp_accounting.pld import common

    for pmf in (distribution._pmf_remove, distribution._pmf_add):
        masses = pmf.to_dense_pmf()._probs
        tilts = [tilt / len(masses) for tilt in (-20, -4, -1, 1, 4, 20)]  # some of those that it will try itself
        with np.errstate(all="ignore"):
            low, high = common.compute_self_convolve_bounds(masses, times, 1e-15, tilts)
        if high - low > _LARGEST_SUPPORT:
            raise _TooWide


def _compose_pairwise(distributions: list[Any]) -> Any:
    """Compose pairwise, so that large convolutions happen late and few times."""
    while len(distributions) > 1:
        pairs = zip(distributions[::2], distributions[1::2], strict=False)
        odd = distributions[-1:] if len(distributions) % 2 else []
        distributions = [first.compose(second) for first, second in pairs] + odd
    return distributions[0]
