"""Exact laws, and the tests that compare samples with them.

Sources are seeded, so a test always sees the same sample; the false-alarm rates say how likely a *correct*
mechanism would have failed when the seed was chosen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from scipy import stats

FALSE_ALARM = 1e-4  # of one goodness-of-fit test
CERTAIN = 1e-9  # chance that one confidence limit of an audit is wrong


class NoSource:
    """A source of randomness that must not be touched."""

    def random_words(self, count: int) -> Any:
        raise AssertionError("noise was drawn")

    def bits(self, count: int) -> Any:
        raise AssertionError("noise was drawn")


def p_value(outcomes: Iterable[Hashable], masses: Mapping[Hashable, float]) -> float:
    """Chi-square of the sample against the masses; rare cells, and what the masses leave out, are pooled."""
    seen = Counter(outcomes)
    trials = seen.total()
    common = [cell for cell, mass in masses.items() if mass * trials >= 10]
    observed = [seen[cell] for cell in common]
    expected = [masses[cell] * trials for cell in common]
    rest = trials - sum(observed), trials - sum(expected)
    if rest[1] > 5:
        observed.append(rest[0])
        expected.append(rest[1])
    elif rest[0] > 60:  # far beyond a Poisson variable of mean 5
        return 0.0
    factor = sum(observed) / sum(expected)
    return float(stats.chisquare(observed, [e * factor for e in expected]).pvalue)


def laplace_mass(scale: float) -> Callable[[int], float]:
    p = math.exp(-1 / scale)
    return lambda x: (1 - p) / (1 + p) * p ** abs(x)


def laplace_masses(scale: float, center: int = 0) -> dict[Hashable, float]:
    mass = laplace_mass(scale)
    reach = math.ceil(40 * scale)
    return {center + x: mass(x) for x in range(-reach, reach + 1)}


def gaussian_masses(sigma: float, center: int = 0) -> dict[Hashable, float]:
    reach = math.ceil(12 * sigma)
    x = np.arange(-reach, reach + 1)
    masses = np.exp(-(x**2) / (2 * sigma**2))
    return {center + int(k): float(m) for k, m in zip(x, masses / masses.sum(), strict=True)}


def cell_masses(cdf: Callable[[Any], Any], width: float, reach: int = 60) -> dict[Hashable, float]:
    """Masses of the cells [k width, (k + 1) width) of a continuous law."""
    edges = cdf(np.arange(-reach, reach + 1) * width)
    return {int(k): float(m) for k, m in zip(range(-reach, reach), np.diff(edges), strict=True)}


def cells(values: Iterable[float], width: float) -> list[int]:
    return [math.floor(v / width) for v in values]


def breach(first: Iterable[Hashable], second: Iterable[Hashable], *, epsilon: float, delta: float = 0.0) -> bool:
    """Whether two samples prove that the mechanism is not (epsilon, delta)-DP on this pair of inputs.

    Looks at every single outcome, at every one-sided range of ordered outcomes, and at all of it the other way
    round. Each confidence limit (Clopper and Pearson) is wrong with probability at most 1e-9.
    """
    a, b = Counter(first), Counter(second)
    return _one_way(a, b, epsilon, delta) or _one_way(b, a, epsilon, delta)


def _one_way(a: Counter[Hashable], b: Counter[Hashable], epsilon: float, delta: float) -> bool:
    outcomes = sorted({*a, *b}, key=lambda o: (str(type(o)), o))
    hits = np.array([[a[o], b[o]] for o in outcomes])
    events = np.concatenate([hits, np.cumsum(hits, axis=0), np.cumsum(hits[::-1], axis=0)])
    lower = stats.beta.ppf(CERTAIN, events[:, 0], a.total() - events[:, 0] + 1)
    upper = stats.beta.ppf(1 - CERTAIN, events[:, 1] + 1, b.total() - events[:, 1])
    lower, upper = np.nan_to_num(lower, nan=0.0), np.nan_to_num(upper, nan=1.0)
    return bool(np.any(lower > math.exp(epsilon) * upper + delta))


def covered(errors: Iterable[float], bound: float, confidence: float) -> bool:
    """Whether the share of errors within the bound is not significantly below the confidence."""
    inside = sum(abs(e) <= bound for e in errors)
    trials = len(list(errors)) if not isinstance(errors, np.ndarray) else errors.size
    return float(stats.binomtest(int(inside), trials, confidence, alternative="less").pvalue) > FALSE_ALARM
