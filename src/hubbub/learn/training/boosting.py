"""Boosting of additive models in exact integers: one table of scores per column, moved by noisy sums of residuals.

Every column is cut into public bins, and the model is a sum of one score per column: the score of the bin that a row is
in. A round adds up the residuals of the rows in each bin, for all columns at once, with noise, and grows one small tree
per column whose leaves are runs of bins with public random ends. Scores are integers, so a row's residual depends on
nothing but the row and the tables, and the sensitivity is exact.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.training.moments import Grid, Integers, noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.noise import RandomSource
from hubbub.terms import GaussianNoise

Codes: TypeAlias = NDArray[np.int64]  # a column of bin numbers per column of the table, counted through all columns
Residuals = Callable[[Integers], Floats]  # integer scores of rows (one column per output) -> residuals in entry steps

FINE = 1 << 12  # steps of a score in 1
_MOMENTUM = 0.9
_CAUTION = 16  # how much noise counts against a leaf, beside its rows
_REACH = 16.0  # the largest score of a bin


@dataclass(frozen=True, slots=True)
class Bins:
    """Where each column is cut, from public knowledge."""

    edges: tuple[tuple[float, ...], ...]

    @property
    def sizes(self) -> list[int]:
        """How many bins each column has."""
        return [len(ends) + 1 for ends in self.edges]

    @property
    def starts(self) -> list[int]:
        """The number of each column's first bin, if all are counted through."""
        return [0, *np.cumsum(self.sizes[:-1]).tolist()]

    @property
    def total(self) -> int:
        """How many bins there are in all columns."""
        return sum(self.sizes)

    def codes(self, table: Floats) -> Codes:
        """The bin of every value."""
        columns = [
            start + np.searchsorted(np.array(ends), table[:, j], side="right")
            for j, (ends, start) in enumerate(zip(self.edges, self.starts, strict=True))
        ]
        return np.column_stack(columns)


@dataclass(frozen=True, slots=True)
class Boosting:
    """How tables move: ``rate`` per round, trees with at most ``leaves`` leaves, the mean of the last half kept.

    ``curvature`` bounds the second derivative of the loss.
    """

    rounds: int
    rate: float
    leaves: int
    curvature: float

    def train(
        self,
        codes: Codes,
        residuals: Residuals,
        *,
        bins: Bins,
        outputs: int,
        grid: Grid,
        step: GaussianNoise,
        rng: RandomSource | None = None,
    ) -> Floats:
        """The tables, one row per bin and one column per output.

        Guarantee: ``rounds`` + 1 releases of the step's accounting, if a row's residuals have norm at most
        sensitivity / sqrt(columns), and its bins are those of ``codes``.
        Because: a row is in one bin of each column; ``docs/proofs/moments.md``, [NCBSK21] for boosting by noisy sums.
        """
        generator = np.random.default_rng(0)  # where trees are cut is no secret
        counts = noisy_sum(bin_sums(codes, np.full((len(codes), 1), float(grid.one)), bins, grid)[:, 0], step, rng=rng)
        tables, velocity = np.zeros((bins.total, outputs)), np.zeros((bins.total, outputs))
        mean, kept = np.zeros_like(tables), 0
        for turn in range(self.rounds):
            scores = np.rint(tables * FINE).astype(np.int64)
            totals = bin_sums(codes, residuals(np.add.reduce([scores[column] for column in codes.T])), bins, grid)
            noisy = noisy_sum(totals.ravel(), step, rng=rng).reshape(totals.shape)
            velocity = _MOMENTUM * velocity + self._leaf_steps(noisy, counts, float(step.sigma), bins, generator)
            tables = np.clip(tables - self.rate * (1 - _MOMENTUM) * velocity, -_REACH, _REACH)
            if 2 * turn >= self.rounds:
                kept += 1
                mean += (tables - mean) / kept
        return mean

    def _leaf_steps(
        self, totals: Floats, counts: Floats, deviation: float, bins: Bins, generator: np.random.Generator
    ) -> Floats:
        """The step of each bin: that of its leaf, which is shorter the fewer rows are sure to be in it."""
        leaves = self._leaves(bins, generator)
        sums = np.stack([np.bincount(leaves, weights=column) for column in totals.T], axis=1)
        rows, members = np.bincount(leaves, weights=counts), np.bincount(leaves)
        weight = self.curvature * (np.maximum(rows, 0) + _CAUTION * deviation * np.sqrt(members))
        return np.asarray((sums / weight[:, None])[leaves])

    def _leaves(self, bins: Bins, generator: np.random.Generator) -> Codes:
        """The leaf of each bin, counted through: runs of bins of one column with random ends."""
        ends = np.zeros(bins.total, dtype=np.int64)
        ends[bins.starts] = 1
        for start, size in zip(bins.starts, bins.sizes, strict=True):
            cuts = generator.permutation(size - 1)[: self.leaves - 1]
            ends[start + 1 + cuts] = 1
        return np.asarray(np.cumsum(ends) - 1)


def bin_sums(codes: Codes, values: Floats, bins: Bins, grid: Grid) -> Integers:
    """The sum of integer values over the rows of each bin, in steps of 4^-bits: one column per column of ``values``.

    Guarantee: adding or removing a row whose values have norm V (in steps) moves it by at most V sqrt(columns) in L2.
    Because: ``docs/proofs/moments.md``; sums of integers on a grid [CKS20].
    """
    total = np.zeros((bins.total, values.shape[1]))
    for k in range(values.shape[1]):
        for column in codes.T:
            total[:, k] += np.bincount(column, weights=values[:, k], minlength=bins.total)  # integers: exact
    return total.astype(np.int64) * grid.one
