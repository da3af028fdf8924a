"""The distribution of a weighted sum of independent noise draws: how large it is, and how far it strays.

A least-squares answer is such a sum. Gaussian noise keeps its shape in sums. Laplace noise does not: a sum's tails lie
between Laplace's own and the normal's, and the sum of the weights' fourth powers says where.
``docs/proofs/noisy-cdf.md`` has the argument and what of it is a numerical check.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.common.additive import AdditiveNoise
from hubbub.terms import LaplaceNoise, Real, fraction_of

Floats = NDArray[np.float64]

LATTICE = 0.5  # what is added to a half-width because draws are integers
_FINE = 4.0  # sigma from which the variance of the discrete Gaussian is sigma^2 in all digits
_CONCENTRATIONS = np.linspace(0.0, 1.0, 101)[1:] ** 2  # sum w^4 / (sum w^2)^2, denser near zero


def variance_of(event: AdditiveNoise) -> float:
    """The variance of one draw of integer noise."""
    if isinstance(event, LaplaceNoise):
        ratio = math.exp(-1 / float(event.scale))
        return 2 * ratio / math.expm1(-1 / float(event.scale)) ** 2
    sigma = float(event.sigma)
    if sigma >= _FINE:
        return sigma**2
    x = np.arange(-64, 65)
    masses = np.exp(-0.5 * (x / sigma) ** 2)
    return float((masses * x**2).sum() / masses.sum())


def critical_value(event: AdditiveNoise, concentration: Floats, confidence: Real) -> Floats:
    """How many standard deviations a weighted sum stays within, with that confidence.

    ``concentration`` is sum w^4 / (sum w^2)^2: 1 for a single draw, near 0 for many of similar weight.
    """
    return sum_critical_value(concentration, confidence, laplace=isinstance(event, LaplaceNoise))


def sum_critical_value(concentration: Floats, confidence: Real, *, laplace: bool) -> Floats:
    """The same by the kind of the noise; each weight stands for the standard deviation that its draw adds."""
    from scipy.special import ndtri

    level = float(fraction_of(confidence, name="confidence"))
    if not laplace:
        return np.full(concentration.shape, -float(ndtri((1 - level) / 2)))
    return np.interp(concentration, np.concatenate([[0.0], _CONCENTRATIONS]), _laplace_table(level))


@lru_cache(maxsize=64)
def _laplace_table(level: float) -> Floats:
    """For concentration 0 and each tabled one: the widest of the normal and of two sums with that concentration."""
    from scipy.special import ndtri

    miss = 1 - level
    normal = -float(ndtri(miss / 2))
    equal = _bisect_tail(lambda x: _outside_equal(x, _CONCENTRATIONS), miss)
    single = _bisect_tail(lambda x: _outside_single(x, _CONCENTRATIONS), miss)
    widest = np.maximum.accumulate(np.maximum(normal, np.maximum(equal, single)))
    return np.concatenate([[normal], widest])


def _bisect_tail(outside: Callable[[Floats], Floats], miss: float) -> Floats:
    low = np.zeros(_CONCENTRATIONS.size)
    high = np.full(_CONCENTRATIONS.size, 2.0 - 2 * math.log(miss))
    for _ in range(48):
        middle = (low + high) / 2
        far = outside(middle) > miss
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    return high


def _outside_equal(x: Floats, concentration: Floats) -> Floats:
    """P(|X| > x) where X has variance 1 and is a sum of 1/concentration equal Laplace draws.

    Such a sum is normal with a Gamma distributed variance; the integral over the Gamma's logarithm is a trapezoid sum.
    """
    from scipy.special import ndtr

    shape = 1 / concentration[:, None]
    shift = np.linspace(-40, 13, 801) / np.sqrt(shape)
    weights = np.exp(-shape * (np.expm1(shift) - shift))
    tails = 2 * ndtr(-x[:, None] * np.exp(-shift / 2))
    return np.asarray((weights * tails).sum(axis=1) / weights.sum(axis=1))


def _outside_single(x: Floats, concentration: Floats) -> Floats:
    """P(|X| > x) where X has variance 1 and is one Laplace draw plus a normal."""
    from scipy.special import log_ndtr, ndtr

    share = np.minimum(np.sqrt(concentration), 1 - 1e-9)  # of the variance that is the Laplace draw's
    scale, sigma = np.sqrt(share / 2), np.sqrt(1 - share)
    lift = (sigma / scale) ** 2 / 2
    falling = np.exp(lift - x / scale + log_ndtr(x / sigma - sigma / scale))
    rising = np.exp(lift + x / scale + log_ndtr(-x / sigma - sigma / scale))
    return np.asarray(2 * ndtr(-x / sigma) + falling - rising)
