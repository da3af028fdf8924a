"""Estimators of columns with bounds: public ones, or ``bounds="private"``, found in the rows and paid for."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.base.parameters import is_private
from hubbub.learn.base.sum_estimator import SumDesign, SumEstimator, SumFitPlan, bounds_of
from hubbub.learn.training.moments import Grid, Integers, noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Account
from hubbub.noise import RandomSource
from hubbub.terms import GaussianNoise

_LOW, _HIGH = -20, 40  # magnitudes from 2^-20 to 2^40 are told apart
_SIDE = _HIGH - _LOW + 1
BUCKETS = 2 * _SIDE + 1  # negative magnitudes, about zero, positive ones
_SELDOM = 0.001  # how often noise alone opens a bucket


class BoundedEstimator(SumEstimator):
    """Sums over columns that lie between bounds. What is stored begins with the bounds that were used."""

    bounds: Any

    def _sums(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        """What is added up once the bounds are known."""
        raise NotImplementedError  # pragma: no cover

    def _summed(self, made: SumFitPlan, table: Floats, y: Any, bounds: tuple[Floats, Floats]) -> Floats:
        """What is released of a table with these bounds."""
        raise NotImplementedError  # pragma: no cover

    def _learned(self, made: SumFitPlan, values: Floats, bounds: tuple[Floats, Floats]) -> None:
        """Set what is learned."""
        raise NotImplementedError  # pragma: no cover

    def _design(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        private = _is_private(self.bounds)
        said = "private" if private else [str(ends.tolist()) for ends in bounds_of(self, columns)]
        design = self._sums(rows, columns, y, account)
        design = replace(design, stored=design.stored + 2 * columns, facts={**design.facts, "bounds": said})
        if not private:
            return design
        return replace(
            design,
            size=max(design.size, columns * BUCKETS),
            square=max(design.square, Fraction(columns)),
            steps=design.steps + 1,
        )

    def _release(self, made: SumFitPlan, X: Any, y: Any) -> Floats:
        table = self._table(X, made)
        if _is_private(self.bounds):
            bounds = private_bounds(table, made.plan.grid, step_of(made.plan.run))
        else:
            bounds = bounds_of(self, made.columns)
        return np.concatenate([*bounds, self._summed(made, table, y, bounds)])

    def _learn(self, made: SumFitPlan, values: Floats) -> None:
        lower, upper, rest = np.split(values, [made.columns, 2 * made.columns])
        self.bounds_ = np.column_stack([lower, upper])
        self._learned(made, rest, (lower, upper))


def _is_private(bounds: Any) -> bool:
    return is_private(bounds, name="bounds", else_="pairs of numbers", example="bounds=(0, 1)")


# ---------------------------------------------------------------- private bounds


def private_bounds(
    table: Floats, grid: Grid, step: GaussianNoise, *, rng: RandomSource | None = None
) -> tuple[Floats, Floats]:
    """Bounds of each column from a noisy histogram of signs and magnitudes: powers of two that hold the most values.

    Guarantee: what the step's accounting says, if its sensitivity is at least the root of the number of columns.
    Because: a row counts once in each column, so the counts move by the root of the columns in L2 [DMNS06].
    Error: values in buckets of a few standard deviations or fewer are left out, and then clipped.
    Not covered: running time.
    """
    columns = table.shape[1]
    counts = noisy_sum(bucket_counts(table).ravel() * grid.unit, step, rng=rng).reshape(columns, BUCKETS)
    limit = float(step.sigma) * math.sqrt(2 * math.log(columns * BUCKETS / _SELDOM))
    edges = _edges()
    lower, upper = np.zeros(columns), np.ones(columns)
    for j, full in enumerate(counts > limit):
        if full.any():
            places = np.flatnonzero(full)
            lower[j], upper[j] = edges[places[0]], edges[places[-1] + 1]
    return lower, upper


def bucket_counts(table: Floats) -> Integers:
    """How many values of each column lie in each bucket."""
    magnitude = np.clip(np.frexp(table)[1], _LOW, _HIGH) - _LOW + 1
    signs = np.where(np.abs(table) < 2.0 ** (_LOW - 1), 0, np.sign(table)).astype(np.int64)
    places = signs * magnitude + _SIDE
    return np.array([np.bincount(column, minlength=BUCKETS) for column in places.T])


def _edges() -> Floats:
    """The ends of the buckets, from the lowest to the highest."""
    positive = 2.0 ** np.arange(_LOW - 1, _HIGH + 1)
    return np.concatenate([-positive[::-1], positive])
