"""Count, mean and variance of bounded columns, from one noisy release.

A value t in -1..1 adds (1, t, 2 t^2 - 1). The last is twice as wide as t^2 and costs no more: t^2 + (2 t^2 - 1)^2 is
at most 2, as is t^2 + t^4.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hubbub.learn.training.moments import Grid, Integers
from hubbub.learn.training.network import Floats


def statistics_count(columns: int) -> int:
    """How many statistics there are."""
    return 1 + 2 * columns


def squared_sensitivity(columns: int) -> int:
    """The largest squared norm of what a row adds."""
    return 1 + 2 * columns


def column_sums(entries: Floats, grid: Grid) -> Integers:
    """Of integer entries: how many rows, the sum of each column, and of 2 t^2 - 1; in steps of 4^-bits.

    Guarantee: adding or removing a row moves them by at most sqrt(1 + 2 columns) in L2.
    Because: ``docs/proofs/moments.md``; integers throughout, on the grid of [CKS20].
    """
    whole = entries.astype(np.int64)
    bends = 2 * whole**2 - grid.unit
    return np.concatenate([[len(whole) * grid.unit], whole.sum(axis=0) * grid.one, bends.sum(axis=0)])


@dataclass(frozen=True, slots=True)
class ColumnStatistics:
    """What a noisy release says of columns, in their own units."""

    count: float
    mean: Floats
    variance: Floats

    @classmethod
    def from_sums(cls, sums: Floats, bounds: tuple[Floats, Floats], deviation: float) -> ColumnStatistics:
        """From noisy sums. Variances lie above the noise, and means within the bounds."""
        columns = len(sums) // 2
        count = max(1.0, float(sums[0]))
        middle, half = bounds[0] / 2 + bounds[1] / 2, bounds[1] / 2 - bounds[0] / 2
        mean = np.clip(sums[1 : columns + 1] / count, -1, 1)
        spread = (sums[columns + 1 :] / count + 1) / 2 - mean**2
        return cls(count, middle + half * mean, half**2 * np.clip(spread, min(1.0, deviation / count), 1))
