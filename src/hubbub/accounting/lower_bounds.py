"""Lower bounds on epsilon, so that tightness is visible: what additive noise surely costs.

They come from a pair of data sets that a declared sensitivity allows: an attacker who watches only the Laplace and
Gaussian answers of a composition gains at least this. Values lie on the grid, so data move by whole steps: a
sensitivity of 1.5 steps allows one step, and one below a step allows nothing. dp-accounting rounds the losses of these
pairs *down*. Where nothing of the kind is known about an event it counts as free, so the bound may be zero.

    fine grids (2^20 steps per scale)   the continuous distribution, which is the discrete one to a millionth
    Gaussians of sigma >= 16 steps      a Gaussian of variance sigma^2 + 3, which is the discrete one with a Gaussian of
                                        variance 3 added (post-processing), up to a factor of e^(10^-12)
    other coarse grids                  the discrete distribution itself
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from hubbub.accounting import gaussian_tradeoff
from hubbub.accounting.costs import Count, flatten_event, unit_distance
from hubbub.terms import Event, GaussianNoise, LaplaceNoise, Neighbours, Poisson

_SURE = 1 - 1e-6
_FINE = 1 << 20  # grid steps per scale
_ADDED = 3  # variance, in squared grid steps


def epsilon_lower_bound(event: Event, delta: float, neighbours: Neighbours) -> float:
    """A lower bound on epsilon at ``delta`` for all events together."""
    parts = flatten_event(event)
    if delta == 0:
        laplace = [(part, times) for part, times in parts if isinstance(part, LaplaceNoise)]
        return float(sum(times * _laplace_loss(part, neighbours) for part, times in laplace)) * _SURE
    known = [(part, times) for part, times in parts if _moves_output(part, neighbours)]
    if not known:
        return 0.0
    if all(isinstance(part, GaussianNoise) and _is_wide(part) for part, _ in known):
        slack = 1e-12 * sum(times for _, times in known)
        return (
            max(0.0, gaussian_tradeoff.epsilon_of(min(1.0, delta * (1 + slack)), _total_mu(known, neighbours)) - slack)
            * _SURE
        )
    return _composed_epsilon(known, neighbours, delta) * _SURE


def _additive_noise(part: Event, neighbours: Neighbours) -> tuple[LaplaceNoise | GaussianNoise, float] | None:
    """The additive noise of a part and the share of units that it looks at."""
    if isinstance(part, LaplaceNoise | GaussianNoise):
        return part, 1.0
    sampled = isinstance(part, Poisson) and neighbours is Neighbours.ADD_REMOVE
    if sampled and isinstance(part, Poisson) and isinstance(part.event, LaplaceNoise | GaussianNoise):
        return part.event, float(part.rate)
    return None


def _moves_output(part: Event, neighbours: Neighbours) -> bool:
    noise = _additive_noise(part, neighbours)
    return noise is not None and noise[0].sensitivity >= noise[0].grid


def _certain_steps(noise: LaplaceNoise | GaussianNoise) -> int:
    """How many grid steps one coordinate can surely move."""
    return math.floor(noise.sensitivity / noise.grid)


def _laplace_loss(noise: LaplaceNoise, neighbours: Neighbours) -> Fraction:
    return _certain_steps(noise) * noise.grid / noise.scale * unit_distance(noise, neighbours)


def _is_wide(noise: GaussianNoise) -> bool:
    return noise.sigma >= 16 * noise.grid  # else the added variance would tell too little


def _total_mu(parts: list[Count], neighbours: Neighbours) -> float:
    square = 0.0
    for part, times in parts:
        assert isinstance(part, GaussianNoise)
        ones = min(part.dimension, math.floor((part.sensitivity / part.grid) ** 2))  # coordinates, one step each
        moved = max(_certain_steps(part) ** 2, ones) * unit_distance(part, neighbours) ** 2
        square += times * float(moved / ((part.sigma / part.grid) ** 2 + _ADDED))
    return math.sqrt(square)


def _composed_epsilon(parts: list[Count], neighbours: Neighbours, delta: float) -> float:
    together: Any = None
    for part, times in parts:
        noise = _additive_noise(part, neighbours)
        assert noise is not None
        one = _optimistic_losses(*noise, unit_distance(noise[0], neighbours)).self_compose(times)
        together = one if together is None else together.compose(one)
    cut = max(pmf._infinity_mass for pmf in (together._pmf_remove, together._pmf_add))
    if delta + cut >= 1:
        return 0.0
    least = float(together.get_epsilon_for_delta(delta + cut))  # tails that were cut off are no infinite losses
    return max(0.0, least) if math.isfinite(least) else 0.0


def _optimistic_losses(noise: LaplaceNoise | GaussianNoise, rate: float, apart: int) -> Any:
    from dp_accounting.pld import privacy_loss_distribution as dp

    ways = {"pessimistic_estimate": False, "sampling_prob": rate, "use_connect_dots": False}
    if isinstance(noise, LaplaceNoise):
        if noise.scale >= _FINE * noise.grid:
            return dp.from_laplace_mechanism(float(noise.scale / noise.sensitivity) / apart, **ways)
        return dp.from_discrete_laplace_mechanism(
            float(noise.grid / noise.scale), apart * _certain_steps(noise), **ways
        )
    if noise.sigma >= _FINE * noise.grid:
        return dp.from_gaussian_mechanism(float(noise.sigma / noise.sensitivity) / apart, **ways)
    return dp.from_discrete_gaussian_mechanism(float(noise.sigma / noise.grid), apart * _certain_steps(noise), **ways)
