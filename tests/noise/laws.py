"""Exact mass functions and the goodness-of-fit test used throughout, with high precision from mpmath."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import mpmath
import numpy as np
from scipy import stats

FALSE_ALARM = 1e-6  # of each single test; seeds are fixed, so a failure repeats


def laplace_mass(scale: Fraction) -> Callable[[int], float]:
    p = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    return lambda x: float((1 - p) / (1 + p) * p ** abs(x))


def geometric_mass(scale: Fraction) -> Callable[[int], float]:
    p = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
    return lambda x: float((1 - p) * p**x) if x >= 0 else 0.0


def gaussian_mass(sigma: Fraction) -> Callable[[int], float]:
    a = mpmath.mpf(sigma.denominator) ** 2 / (2 * mpmath.mpf(sigma.numerator) ** 2)
    total = mpmath.nsum(lambda k: mpmath.exp(-a * k * k), [-mpmath.inf, mpmath.inf])
    return lambda x: float(mpmath.exp(-a * x * x) / total)


def fit(draws: np.ndarray, mass: Callable[[int], float], cells: Sequence[int]) -> float:
    """The p-value of a chi-square test on single points ``cells`` and everything else as one cell."""
    observed = [int(np.count_nonzero(draws == c)) for c in cells]
    expected = [mass(c) * draws.size for c in cells]
    observed.append(draws.size - sum(observed))
    expected.append(draws.size - sum(expected))
    kept = [(o, e) for o, e in zip(observed, expected, strict=True) if e >= 5]
    statistic = sum((o - e) ** 2 / e for o, e in kept)
    return float(stats.chi2.sf(statistic, len(kept) - 1))


def fit_continuous(draws: np.ndarray, quantile: Callable[[float], float], cells: int = 60) -> float:
    """The p-value of a chi-square test on cells of equal probability under a continuous law."""
    edges = [quantile(i / cells) for i in range(1, cells)]
    observed = np.bincount(np.searchsorted(edges, draws), minlength=cells)
    expected = draws.size / cells
    return float(stats.chi2.sf(((observed - expected) ** 2 / expected).sum(), cells - 1))
