"""Confidence limits: from counted outcomes to an epsilon that is too small, with a stated chance of being wrong."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]
_SHARE = 0.1  # of the allowed error that the larger probability gets: the smaller one is the harder to bound


def at_least(hits: ArrayLike, trials: ArrayLike, *, error: float) -> Floats:
    """The lower end of Clopper and Pearson's interval: above the true probability with chance ``error`` at most.

    >>> float(at_least(50, 100, error=0.025).round(3))
    0.398
    """
    from scipy.special import betaincinv

    k, n = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    lower: Any = betaincinv(np.maximum(k, 0.5), n - k + 1, error)
    return np.where(k > 0, lower, 0.0)


def at_most(hits: ArrayLike, trials: ArrayLike, *, error: float) -> Floats:
    """The upper end of Clopper and Pearson's interval: below the true probability with chance ``error`` at most."""
    k, n = np.asarray(hits, dtype=np.float64), np.asarray(trials, dtype=np.float64)
    return 1 - at_least(n - k, n, error=error)


def epsilon_of(
    more: ArrayLike, less: ArrayLike, trials: ArrayLike, *, delta: float = 0.0, error: float = 0.05
) -> Floats:
    """The epsilon that counts of one event refute: ``more`` hits under one input, ``less`` under its neighbour.

    Guarantee: if the event was fixed before these trials and each side's trials are independent, a mechanism that is
    (epsilon, delta)-DP on this pair gets a larger number than its epsilon with probability at most ``error``.
    Because: [CP34] twice, and a union bound: P(more) <= e^epsilon P(less) + delta; see docs/proofs/audit.md.
    Error: below the true log-ratio of the event by about the two intervals' relative widths.
    Not covered: an event that was chosen by looking at these very trials.

    >>> float(epsilon_of(50_000, 18_394, 100_000).round(3))
    0.981
    """
    likely = at_least(more, trials, error=_SHARE * error) - delta
    rare = at_most(less, trials, error=(1 - _SHARE) * error)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(likely > 0, np.log(np.maximum(likely, 1e-300)) - np.log(rare), 0.0)
    return np.asarray(np.maximum(ratio, 0.0), dtype=np.float64)


def largest_bound(trials: int, *, delta: float = 0.0, error: float = 0.05) -> float:
    """The most that so many counted trials per side can ever show: always under one input, never under the other.

    >>> round(largest_bound(100_000), 2)
    10.38
    """
    return float(epsilon_of(trials, 0, trials, delta=delta, error=error)) if trials else 0.0


@dataclass(frozen=True, slots=True)
class Caution:
    """How far counts are trusted while an event is chosen: for choosing only, nothing is certified with it.

    ``doubt`` counts the uncertainty of the counts themselves, so that no event is taken for its luck; ``prior`` is how
    many hits the trend of a tail is worth where its own hits are few.
    """

    doubt: float
    prior: float

    def promise(self, more: Floats, less: Floats, trials: float, ahead: float, *, delta: float) -> Floats:
        """About what ``epsilon_of`` will say of ``ahead`` new trials, judged by ``trials`` old ones.

        The limits are Wilson's, which are quick.
        """
        size = 1 / (1 / ahead + self.doubt / trials)
        likely = _wilson_upper(more / trials, size, -2.5) - delta
        rare = _wilson_upper(np.minimum(_smoothed_rare_hits(more, less, self.prior) / trials, 1.0), size, 1.7)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(likely > 0, np.log(np.maximum(likely, 1e-300)) - np.log(rare), -math.inf)


SAFE = Caution(doubt=3.0, prior=5.0)
BOLD = Caution(doubt=0.35, prior=20.0)


def _smoothed_rare_hits(more: Floats, less: Floats, prior: float) -> Floats:
    """Hits on the rare side; where they are few, drawn towards the line that log-counts follow further in."""
    used = (less >= 8) & (less <= 300) & (more > 0)
    if used.sum() < 6:
        return np.maximum(less + 1, 3.0)
    x, y, weight = np.log(more[used]), np.log(less[used]), less[used]
    centre, height = np.average(x, weights=weight), np.average(y, weights=weight)
    spread = np.average((x - centre) ** 2, weights=weight)
    if spread < 1e-6:
        return np.maximum(less + 1, 3.0)
    slope = np.clip(np.average((x - centre) * (y - height), weights=weight) / spread, 0.8, 100.0)
    line = np.exp(height + slope * (np.log(np.maximum(more, 0.5)) - centre))
    return np.where(less < 20, line * (less + prior) / (line + prior), less)


def _wilson_upper(p: Floats, n: float, z: float) -> Floats:
    centre = p + z * z / (2 * n)
    spread = z * np.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    return np.asarray((centre + spread) / (1 + z * z / n), dtype=np.float64)
