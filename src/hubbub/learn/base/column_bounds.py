"""Sums over columns between bounds: public ones, or ``bounds="private"``, found in the rows and paid for."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.parameters import HasBounds, bounds_of, is_private
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan
from hubbub.learn.training.moments import Grid, Integers, noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.noise import RandomSource
from hubbub.terms import GaussianNoise

_LOW, _HIGH = -20, 40  # magnitudes from 2^-20 to 2^40 are told apart
_SIDE = _HIGH - _LOW + 1
BUCKETS = 2 * _SIDE + 1  # negative magnitudes, about zero, positive ones
_SELDOM = 0.001  # how often noise alone opens a bucket

Bounds = tuple[Floats, Floats]  # lowest and highest value of each column


class BoundedSums(Protocol):
    """What is added up once the bounds of columns are known, and what the noisy sums mean."""

    def design(self, columns: int) -> SumDesign:
        """What will be added up, for a table of so many columns."""

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None, bounds: Bounds) -> Floats:
        """What is released of a table with these bounds."""

    def learned(self, plan: SumFitPlan, values: Floats, bounds: Bounds) -> dict[str, object]:
        """What a fitted estimator knows, from the released numbers alone."""


@dataclass(frozen=True, slots=True)
class WithinBounds:
    """Sums between bounds that are declared (or None: private). What is stored begins with the bounds used."""

    inner: BoundedSums
    declared: Bounds | None

    @classmethod
    def of(cls, inner: BoundedSums, estimator: HasBounds, columns: int) -> WithinBounds:
        """With the bounds that the estimator was given."""
        private = is_private(estimator.bounds, name="bounds", else_="pairs of numbers", example="bounds=(0, 1)")
        return cls(inner, None if private else bounds_of(estimator, columns))

    def design(self, columns: int) -> SumDesign:
        """The bounds, and what is added up between them."""
        design = self.inner.design(columns)
        bounds = "private" if self.declared is None else [str(side.tolist()) for side in self.declared]
        design = replace(design, stored=design.stored + 2 * columns, identity={**design.identity, "bounds": bounds})
        if self.declared is not None:
            return design
        return replace(
            design,
            size=max(design.size, columns * BUCKETS),
            square=max(design.square, Fraction(columns)),
            steps=design.steps + 1,
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None) -> Floats:
        """The bounds that were used, and what was released of a table with them."""
        bounds = private_bounds(table, plan.grid, plan.step) if self.declared is None else self.declared
        return np.concatenate([*bounds, self.inner.measure(plan, table, y, bounds)])

    def learned(self, plan: SumFitPlan, values: Floats) -> dict[str, object]:
        """The bounds, and what was learned within them."""
        lower, upper, rest = np.split(values, [plan.columns, 2 * plan.columns])
        return {"bounds_": np.column_stack([lower, upper]), **self.inner.learned(plan, rest, (lower, upper))}


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
    edges = _bucket_edges()
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


def _bucket_edges() -> Floats:
    """The ends of the buckets, from the lowest to the highest."""
    positive = 2.0 ** np.arange(_LOW - 1, _HIGH + 1)
    return np.concatenate([-positive[::-1], positive])
