"""Lower bounds on epsilon, so that tightness is visible: what additive noise surely costs.

They come from the worst pair of data sets that a declared sensitivity allows: an attacker who watches only the
Laplace and Gaussian answers of a composition gains at least this. dp-accounting rounds the losses of these pairs
*down*. Where nothing of the kind is known about an event it counts as free, so the bound may be zero.
"""

from __future__ import annotations

import math
from typing import Any

from hubbub.accounting import gaussian
from hubbub.accounting.costs import Count, distance, flatten
from hubbub.terms import Event, GaussianNoise, LaplaceNoise, Neighbours, Poisson

_SURE = 1 - 1e-6  # our discrete noise differs from the continuous by far less


def epsilon(event: Event, delta: float, neighbours: Neighbours) -> float:
    """A lower bound on epsilon at ``delta`` for all events together."""
    parts = flatten(event)
    if delta == 0:
        laplace = [(part, times) for part, times in parts if isinstance(part, LaplaceNoise)]
        return float(sum(times * part.epsilon * distance(part, neighbours) for part, times in laplace)) * _SURE
    known = [(part, times) for part, times in parts if _noise(part, neighbours) is not None]
    if not known:
        return 0.0
    if all(isinstance(part, GaussianNoise) for part, _ in known):
        return gaussian.epsilon_of(delta, _mu(known, neighbours)) * _SURE
    return _composed(known, neighbours, delta) * _SURE


def _noise(part: Event, neighbours: Neighbours) -> tuple[LaplaceNoise | GaussianNoise, float] | None:
    """The additive noise of a part and the share of units that it looks at."""
    if isinstance(part, LaplaceNoise | GaussianNoise):
        return part, 1.0
    sampled = isinstance(part, Poisson) and neighbours is Neighbours.ADD_REMOVE
    if sampled and isinstance(part, Poisson) and isinstance(part.event, LaplaceNoise | GaussianNoise):
        return part.event, float(part.rate)
    return None


def _mu(parts: list[Count], neighbours: Neighbours) -> float:
    square = 0.0
    for part, times in parts:
        assert isinstance(part, GaussianNoise)
        square += times * (float(part.sensitivity / part.sigma) * distance(part, neighbours)) ** 2
    return math.sqrt(square)


def _composed(parts: list[Count], neighbours: Neighbours, delta: float) -> float:
    together: Any = None
    for part, times in parts:
        found = _noise(part, neighbours)
        assert found is not None
        one = _optimistic(*found, distance(found[0], neighbours)).self_compose(times)
        together = one if together is None else together.compose(one)
    return max(0.0, float(together.get_epsilon_for_delta(delta)))


def _optimistic(noise: LaplaceNoise | GaussianNoise, rate: float, apart: int) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as dp

    if isinstance(noise, LaplaceNoise):
        scale = float(noise.scale / noise.sensitivity) / apart
        return dp.from_laplace_mechanism(scale, pessimistic_estimate=False, sampling_prob=rate, use_connect_dots=False)
    sigma = float(noise.sigma / noise.sensitivity) / apart
    return dp.from_gaussian_mechanism(sigma, pessimistic_estimate=False, sampling_prob=rate, use_connect_dots=False)
