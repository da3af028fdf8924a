"""What binomial noise hides: delta for integers that move, each sum rounded up by the error of its arithmetic.

The noise of a coordinate is B ~ Bin(trials, 1/2). If one unit moves it by s, the laws of B and B + s have the profile

    delta(epsilon) = sum over k of max(0, P[k] - e^epsilon P[k - s]),

the same in both directions, since P is symmetric. It grows with s (P is log-concave, so the worst events are half
lines) and falls with ``trials`` (one more coin is post-processing): see docs/proofs/gopa.md.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

ULP = 2.0**-52
_EXACT = 2_000  # trials up to which the largest mass is an exact quotient of integers
_REACH = 14  # standard deviations from the middle that are summed; what lies beyond counts as revealed


@dataclass(frozen=True, slots=True, eq=False)
class Masses:
    """The masses P[first], P[first + 1], ... of Bin(trials, 1/2), each right up to the factor 1 +- ``error``.

    ``beyond`` bounds the mass that lies outside on one side; it is zero where nothing lies outside.
    """

    trials: int
    first: int
    values: Floats
    error: float
    beyond: float

    def moved(self, shift: int) -> Floats:
        """The masses of the same noise plus ``shift``, at the same places; zero where nothing is known of them."""
        kept = max(0, len(self.values) - shift)
        return np.concatenate([np.zeros(len(self.values) - kept), self.values[:kept]])


@lru_cache(maxsize=64)
def binomial_masses(trials: int, reach: float = _REACH) -> Masses:
    """The masses around the middle, up to so many standard deviations away."""
    middle = trials // 2
    steps = min(middle, math.ceil(reach * math.sqrt(trials) / 2) + 8)
    places = np.arange(middle, middle - steps, -1, dtype=np.float64)
    falling = np.cumprod(places / (trials - places + 1))  # P[k - 1] / P[k] = k / (trials - k + 1)
    left = np.concatenate([falling[::-1], [1.0]]) * middle_mass(trials)
    right = left[::-1] if trials % 2 else left[-2::-1]
    beyond = 0.0 if steps == middle else float(left[0]) * _tail_ratio(trials, middle - steps)
    error = (4 * steps + 16) * ULP
    return Masses(trials, middle - steps, np.concatenate([left, right]), error, beyond * (1 + 2 * error))


def middle_mass(trials: int) -> float:
    """At least the largest mass, C(n, n // 2) / 2^n, and above it by less than 1e-10: exact for few trials.

    With m = ceil(n / 2) it is C(2m, m) / 4^m, and ln of that is below -ln(pi m) / 2 - 1 / (8m) + 1 / (180 m^3), since
    the partial sums of Stirling's series for ln m! lie above and below it in turn.
    """
    if trials <= _EXACT:
        return math.comb(trials, trials // 2) / (1 << trials) * (1 + ULP)
    half = (trials + 1) // 2
    return math.exp(-math.log(math.pi * half) / 2 - 1 / (8 * half) + 1 / (180 * half**3)) * (1 + 64 * ULP)


def _tail_ratio(trials: int, place: int) -> float:
    """All masses below ``place`` over the mass there: the quotients fall, so a geometric series bounds it."""
    quotient = place / (trials - place + 1)
    return quotient / (1 - quotient)


@lru_cache(maxsize=4096)
def delta_of_one(trials: int, shift: int, epsilon: float) -> float:
    """At least the delta if one coordinate moves by ``shift``, for any epsilon of at least 0.

    >>> 9e-7 < delta_of_one(80, 1, 1.0) < 1e-6 < delta_of_one(79, 1, 1.0)
    True
    """
    known = binomial_masses(trials)
    values, moved = known.values, math.exp(epsilon) * known.moved(shift)
    slack = _rounding_slack(known, epsilon)
    likelier = values - moved > -slack * values  # all that may be positive, and a little more
    total = float(np.sum(np.maximum(0.0, values - moved)[likelier])) + slack * float(np.sum(values[likelier]))
    return _round_up(total + known.beyond, len(values)) if shift else 0.0


@lru_cache(maxsize=1024)
def delta_of_two(trials: int, first: int, second: int, epsilon: float) -> float:
    """At least the delta if two coordinates move, each with noise of its own: a histogram in which one unit moves.

    Given the first coordinate, with the loss L = ln(P[j] / P[j - first]), the second has to make up for epsilon - L,
    and the worst events for it are half lines again. So the sum goes over j, with distribution functions inside.
    """
    known = binomial_masses(trials)
    p, q, r = known.values, known.moved(first), known.moved(second)
    slack = _rounding_slack(known, epsilon)
    with np.errstate(divide="ignore"):
        here, there = np.log(p / q), np.log(p / r)  # both fall; infinite where nothing is known of q and r
    sums, moved = _prefix_sums(p), _prefix_sums(r)
    ends = np.searchsorted(-there, here - epsilon + slack, side="left")  # all with there > epsilon - here - slack
    total = float(np.sum(p * sums[ends]))
    other = math.exp(epsilon) * float(np.sum(q * moved[ends]))
    slack += 4 * len(p) * ULP  # of the running sums
    return _round_up(max(0.0, total - other) + 2 * slack * total + 4 * known.beyond, 4 * len(p))


def _rounding_slack(known: Masses, epsilon: float) -> float:
    """How far a quotient of two masses times e^epsilon may be off, as a factor."""
    return 4 * (known.error + ULP * (epsilon + 4))


def _prefix_sums(values: Floats) -> Floats:
    """The sum of the first 0, 1, 2, ... values."""
    return np.concatenate([[0.0], np.cumsum(values)])


def _round_up(total: float, terms: int) -> float:
    """A sum of so many terms that are not negative, rounded up, and never above 1."""
    return min(1.0, total * (1 + (terms + 8) * ULP))
