"""The privacy blanket of one randomizer: what everybody's report has in common, whatever the value.

With probability gamma a report is drawn from one distribution omega that does not depend on the value. Among n people
those reports hide the one we look at [BBGN19, Sec. 5]: with M ~ Binomial(n, gamma), W ~ omega and l = (the distribution
under x minus e^epsilon times that under x') / (gamma omega),

    delta(epsilon) = E[(l(W_1) + ... + l(W_M))_+] / n.

The sum is that of n independent terms, each 0 with probability 1 - gamma, so a Fourier transform gives its
distribution. Terms are split between two neighbours on a grid so that their mean stays: (.)_+ is convex, hence the
split only raises the expectation. Tilting the distribution to where the sum is near 0 keeps the digits of a small
delta. The argument and the errors are in ``docs/proofs/shuffle.md``.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from hubbub.local.amplification.clones import least_epsilon

Floats = NDArray[np.float64]

_FINE = 12  # grid steps per standard deviation of one term
_FAR = 1e-18  # probability that may fold over at the ends of the grid
_LARGEST = 1 << 21  # points of a transform
_MARGIN = 1 + 1e-7  # above the relative error of the arithmetic
_HALVINGS = 24


@dataclass(frozen=True)
class BlanketPair:
    """Two inputs, seen through the blanket: outcomes by mass under omega, both distributions over gamma omega."""

    gamma: float
    masses: tuple[float, ...]
    first: tuple[float, ...]
    second: tuple[float, ...]


def two_levels(epsilon: float, *, support: float, overlap: float) -> BlanketPair:
    """A design in which a report is e^epsilon times likelier in the input's own set than outside it.

    ``support`` is the share of all reports in one set, ``overlap`` that in two sets at once.
    """
    factor = math.exp(epsilon)
    only = support - overlap
    return BlanketPair(
        gamma=1 / (factor * support + 1 - support),
        masses=(overlap, only, only, 1 - support - only),
        first=(factor, factor, 1.0, 1.0),
        second=(factor, 1.0, factor, 1.0),
    )


def pairs_of(matrix: Floats) -> list[BlanketPair]:
    """All pairs of inputs of a randomizer given by its matrix: row x is the distribution of the report of x."""
    common = matrix.min(axis=0)
    seen = common > 0  # an epsilon-LDP report that one value never sends, no value sends
    gamma = float(common.sum())
    ratios, masses = matrix[:, seen] / common[seen], tuple((common[seen] / gamma).tolist())
    rows = [tuple(row) for row in ratios.round(12).tolist()]
    return [BlanketPair(gamma, masses, first, second) for first in rows for second in rows if first is not second]


def blanket_epsilon(pairs: Iterable[BlanketPair], *, honest: int, delta: float, most: float) -> float:
    """The epsilon at ``delta`` of ``honest`` shuffled reports: the largest over the pairs, never above ``most``."""
    profiles = [partial(blanket_profile, pair, honest=honest) for pair in set(pairs)]
    return max(least_epsilon(each, delta=delta, most=most, halvings=_HALVINGS) for each in profiles)


def blanket_profile(pair: BlanketPair, epsilon: float, *, honest: int) -> float:
    """An upper bound of delta at ``epsilon``; 1 where the transform would be too long."""
    factor = math.exp(epsilon)
    values = np.append(np.array(pair.first) - factor * np.array(pair.second), 0.0)
    masses = np.append(pair.gamma * np.array(pair.masses), 1 - pair.gamma)
    if values.max() <= 0:
        return 0.0
    steps, chances, step = _on_grid(values, masses)
    tilt, log_mass = _tilt_terms(steps, chances)
    weights = chances * np.exp(tilt * steps - log_mass)
    masses_of_sum = _sum_distribution(steps, weights, honest)
    if masses_of_sum is None:
        return 1.0
    positive = np.arange(1, masses_of_sum.size)
    total = float(np.sum(positive * np.exp(-tilt * positive) * masses_of_sum[1:]))
    return min(1.0, _MARGIN * step / honest * math.exp(honest * log_mass) * max(0.0, total))


def _on_grid(values: Floats, masses: Floats) -> tuple[Floats, Floats, float]:
    """The terms in grid steps, each split between the two neighbours so that its mean stays."""
    mean = float(values @ masses)
    step = math.sqrt(float((values - mean) ** 2 @ masses)) / _FINE
    floors = np.floor(values / step)
    upper = values / step - floors
    steps, places = np.unique(np.concatenate([floors, floors + 1]), return_inverse=True)
    split = np.concatenate([masses * (1 - upper), masses * upper])
    return steps, np.bincount(places, split).astype(np.float64), step


def _tilt_terms(steps: Floats, masses: Floats) -> tuple[float, float]:
    """The tilt that gives the terms mean 0, and the logarithm of the tilted total mass."""
    low, high = 0.0, 1.0 / _FINE
    while _tilted_mean(steps, masses, high) < 0:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _tilted_mean(steps, masses, middle) < 0 else (low, middle)
    return low, _log_mass(steps, masses, low)


def _log_mass(steps: Floats, masses: Floats, tilt: float) -> float:
    exponents = tilt * steps + np.log(np.maximum(masses, 1e-300))
    largest = float(exponents.max())
    return largest + math.log(float(np.exp(exponents - largest).sum()))


def _tilted_mean(steps: Floats, masses: Floats, tilt: float) -> float:
    exponents = tilt * steps + np.log(np.maximum(masses, 1e-300))
    return float(steps @ np.exp(exponents - exponents.max()))


def _sum_distribution(steps: Floats, masses: Floats, count: int) -> Floats | None:
    """The masses of 0, 1, 2, ... of the sum of ``count`` terms of mean 0; None if it spreads too far."""
    from scipy.fft import irfft, next_fast_len, rfft

    reach = _sum_radius(steps, masses, count)
    size = next_fast_len(2 * reach + 2, real=True)
    if size > _LARGEST:
        return None
    terms = np.bincount((steps.astype(np.int64)) % size, masses, minlength=size)
    return np.asarray(np.maximum(irfft(rfft(terms) ** count, size), 0.0)[:reach])


def _sum_radius(steps: Floats, masses: Floats, count: int) -> int:
    """Beyond this distance from 0 the sum has next to no mass, by Chernoff's bound."""
    deviation = math.sqrt(float(steps**2 @ masses) * count)
    rates = np.geomspace(0.05, 40, 60) / deviation
    radii = []
    for side in (1.0, -1.0):
        growth = np.array([count * _log_mass(side * steps, masses, rate) for rate in rates])
        radii.append(float(np.min((growth - math.log(_FAR)) / rates)))
    return math.ceil(max(radii)) + 1
