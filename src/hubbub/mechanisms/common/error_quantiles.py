"""How far noise strays: the smallest distance that holds with a given confidence."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hubbub.terms import Real, fraction_of

_SUMMED = 1 << 16  # sigma up to which the discrete Gaussian is added up term by term


def laplace_error(scale: Fraction, confidence: Real) -> int:
    """The least integer w with P(|X| > w) <= 1 - confidence for discrete Laplace X of that scale."""
    miss = 1 - float(fraction_of(confidence, name="confidence"))
    t = float(scale)
    # P(|X| > w) = 2 e^(-(w+1)/t) / (1 + e^(-1/t))
    return max(0, math.ceil(-t * (math.log(miss) + math.log1p(math.exp(-1 / t)) - math.log(2)) - 1 - 1e-9))


@lru_cache(maxsize=1024)
def gaussian_error(sigma: Fraction, confidence: Real) -> int:
    """The least integer w with P(|X| > w) <= 1 - confidence for discrete Gaussian X of that sigma."""
    from scipy.special import ndtri

    level = float(fraction_of(confidence, name="confidence"))
    s = float(sigma)
    if s > _SUMMED:  # there the continuous quantile is the discrete one to within a step
        return math.ceil(-float(ndtri((1 - level) / 2)) * s)
    masses = np.exp(-0.5 * (np.arange(math.ceil(40 * s) + 2) / s) ** 2)
    inside = np.cumsum(masses) * 2 - masses[0]
    return int(np.searchsorted(inside / inside[-1], level - 1e-12))
