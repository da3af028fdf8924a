"""Counts that are whole, not negative and add up: the nearest ones to noisy counts.

Everything here is post-processing: it sees noisy counts alone.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]


def to_totals(values: Floats, totals: Integers) -> Integers:
    """For each column, the whole numbers of the given total that lie nearest to the column's values.

    The nearest point of the simplex first [DSSC08], then rounding down, and the largest remainders up.

    >>> to_totals(np.array([[5.6, 2.0], [-3.0, 1.4], [1.2, 0.6]]), np.array([6, 4])).tolist()
    [[5, 2], [0, 1], [1, 1]]
    """
    return _round_columns(_on_simplex(values, totals), totals)


def _on_simplex(values: Floats, totals: Integers) -> Floats:
    """Subtract from each column the one number that makes what stays above zero add up to its total."""
    falling = -np.sort(-values, axis=0)
    ranks = np.arange(1, len(values) + 1)[:, None]
    levels = (np.cumsum(falling, axis=0) - totals) / ranks
    kept = np.maximum((falling > levels).sum(axis=0), 1)
    return np.asarray(np.maximum(values - levels[kept - 1, np.arange(values.shape[1])], 0.0))


def _round_columns(values: Floats, totals: Integers) -> Integers:
    """Down, and then up where the most was lost, until each column has its total; ties go to the first row."""
    down = np.floor(values).astype(np.int64)
    lost = down - values
    ranks = np.argsort(np.argsort(lost, axis=0, kind="stable"), axis=0, kind="stable")
    missing = totals - down.sum(axis=0)
    return np.asarray(down + (ranks < missing), dtype=np.int64)


def combine_levels(noisy: list[Floats], sigmas: list[float], parents: list[Integers]) -> list[Floats]:
    """The best linear estimate of each level from itself and everything below it [HRMS10, Sec. 4].

    ``parents[i]`` has, for each row of level i + 1, its row in level i.
    """
    estimates, spread = [noisy[-1]], np.full(len(noisy[-1]), sigmas[-1] ** 2)
    for level in reversed(range(len(noisy) - 1)):
        up = parents[level]
        sums = np.zeros_like(noisy[level])
        np.add.at(sums, up, estimates[0])
        below = np.bincount(up, spread, minlength=len(noisy[level]))
        own = sigmas[level] ** 2
        share = np.where(below > 0, own / (own + below), 0.0)  # how much the sum of the parts counts
        estimates.insert(0, noisy[level] + share[:, None] * (sums - noisy[level]))
        spread = np.where(below > 0, own * below / (own + below), own)
    return estimates


def round_downwards(estimates: list[Floats], parents: list[Integers]) -> list[Integers]:
    """From the top level down: whole numbers that are not negative and add up to those above, cell by cell."""
    top = estimates[0]
    total = np.array([max(0, round(float(top.sum())))])
    levels = [to_totals(top.reshape(-1, 1), total).reshape(top.shape)]
    for level, up in enumerate(parents):
        below = np.zeros(estimates[level + 1].shape, dtype=np.int64)
        order = np.argsort(up, kind="stable")
        for rows in np.split(order, np.flatnonzero(np.diff(up[order])) + 1):
            below[rows] = to_totals(estimates[level + 1][rows], levels[level][up[rows[0]]])
        levels.append(below)
    return levels
