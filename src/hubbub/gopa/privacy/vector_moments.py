"""What binomial noise hides of a vector: a bound from moments of the privacy loss, for many coordinates that move.

The loss of a coordinate that moves by s is ln(P[k] / P[k - s]). Its moments of order alpha,

    Lambda(s) = ln sum over k of P[k]^alpha P[k - s]^(1 - alpha),

add up over coordinates, since their noises are independent, and Markov's inequality turns them into a delta. Places far
from the middle, where the loss may be infinite, are left out of the sum, and their mass is added to delta instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache

import numpy as np

from hubbub.gopa.privacy.binomial_noise import ULP, Floats, binomial_masses

_Total = Callable[[float], float]
_REACH = 9.5  # standard deviations: beyond it lies less than 3e-21 of the noise
_ORDERS = (0.7, 0.85, 1.0, 1.2)  # orders to try, as multiples of the best one for Gaussian noise


def delta_of_many(trials: int, moves: Mapping[int, int], epsilon: float) -> float:
    """At least the delta if for each shift so many coordinates move by it."""
    moves = {shift: count for shift, count in moves.items() if shift and count}
    squared = sum(count * shift * shift for shift, count in moves.items())
    revealed = sum(count * _left_out_mass(trials, shift) for shift, count in moves.items())
    return _least_delta(
        trials, squared, epsilon, revealed, lambda a: sum(c * _log_moment(trials, s, a, s) for s, c in moves.items())
    )


def delta_of_norm(trials: int, squared: int, coordinates: int, epsilon: float) -> float:
    """At least the delta if whole numbers move whose squares add up to at most ``squared``.

    The sum of Lambda(s_j) is at most ``squared`` times the largest Lambda(s) / s^2 of all shifts s that fit. The same
    places are left out for all of them.
    """
    largest = math.isqrt(squared)
    revealed = min(coordinates, squared) * _left_out_mass(trials, largest)

    def total(order: float) -> float:
        return squared * steepest_ratio(lambda shift: _log_moment(trials, shift, order, largest), largest)

    return _least_delta(trials, squared, epsilon, revealed, total)


def steepest_ratio(curve: Callable[[int], float], largest: int) -> float:
    """At least the largest curve(s) / s^2 over 1 <= s <= largest, for a curve that is convex on these s.

    Looks at all s up to 16, and beyond at some that are an eighth apart; between two of them the curve lies below its
    chord, (c + b s) with the slope b, and the largest of (c + b s) / s^2 is at an end or at s = -2c / b.

    Error: above the largest by less than 0.4 % for curves like s^2, and by an eighth at most for any that begins at 0.

    >>> 1 < steepest_ratio(lambda s: s**2, 4096) < 1.004
    True
    """
    at, here = 1, curve(1)
    largest_ratio = here
    while at < largest:
        further = min(largest, at + max(1, at // 8))
        there = curve(further)
        slope = (there - here) / (further - at)
        largest_ratio = max(largest_ratio, there / further**2, _interior_maximum(here - slope * at, slope, at, further))
        at, here = further, there
    return largest_ratio * (1 + 16 * ULP) if largest_ratio > 0 else largest_ratio


def _interior_maximum(start: float, slope: float, first: int, last: int) -> float:
    """The largest (start + slope s) / s^2 strictly between two places, or nothing if it is at one of them."""
    inner = start < 0 < slope and first < -2 * start / slope < last
    return slope**2 / (-4 * start) if inner and last > first + 1 else -math.inf


def _least_delta(trials: int, squared: int, epsilon: float, revealed: float, total: _Total) -> float:
    """The least delta over a few orders: e^(total - (a - 1) epsilon) (1 - 1/a)^(a - 1) / a [CKS20, Prop. 12]."""
    rho = 2 * squared / trials  # of Gaussian noise with the same variance
    best = max(1e-3, (epsilon - rho) / (2 * rho)) if rho else 1.0
    least = 1.0
    for factor in _ORDERS:
        order = 1 + factor * best
        log = total(order) - (order - 1) * epsilon + (order - 1) * math.log1p(-1 / order) - math.log(order)
        least = min(least, math.exp(min(0.0, log)) * (1 + 64 * ULP * (1 + order * (1 + epsilon))))
    return min(1.0, least + revealed)


def _left_out_mass(trials: int, shift: int) -> float:
    """At least the mass of the places left out: beyond the reach, or where the moved noise may have no mass."""
    known = binomial_masses(trials, _REACH)
    return (float(np.sum(known.values[:shift])) + 2 * known.beyond) * (1 + 2 * known.error)


@lru_cache(maxsize=65536)
def _log_moment(trials: int, shift: int, order: float, left_out: int) -> float:
    """At least Lambda(shift) over the places that are kept: all but the first ``left_out``, of which shift is no more.

    Over the same places it is convex in the shift, since each logarithm of a mass is concave.
    """
    known, logs = binomial_masses(trials, _REACH), _log_masses(trials)
    if left_out >= len(logs):
        return math.inf
    terms = order * logs[left_out:] - (order - 1) * logs[left_out - shift : len(logs) - shift]
    largest = float(np.max(terms))
    error = 2 * order * (known.error + 4 * ULP * -float(logs[0])) + (len(logs) + 8) * ULP
    return largest + math.log(float(np.sum(np.exp(terms - largest)))) + error


@lru_cache(maxsize=16)
def _log_masses(trials: int) -> Floats:
    return np.log(binomial_masses(trials, _REACH).values)
