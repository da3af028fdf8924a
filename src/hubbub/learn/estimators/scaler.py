"""Columns of mean 0 and variance 1."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin

from hubbub.learn.base.column_bounds import Bounds, WithinBounds
from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.parameters import ColumnBounds
from hubbub.learn.base.private_estimator import PrivateTransformer
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.training.column_moments import ColumnStatistics, column_sums, squared_sensitivity, statistics_count
from hubbub.learn.training.moments import bounded_entries, noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, Real


class ColumnSums:
    """The sums of bounded columns and of their squares."""

    def design(self, columns: int) -> SumDesign:
        """A count, and two sums of each column."""
        return SumDesign(
            size=statistics_count(columns),
            square=Fraction(squared_sensitivity(columns)),
            largest=1,
            stored=statistics_count(columns),
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None, bounds: Bounds) -> Floats:
        """The noisy sums."""
        return noisy_sum(column_sums(bounded_entries(table, *bounds, plan.grid), plan.grid), plan.step)

    def learned(self, plan: SumFitPlan, values: Floats, bounds: Bounds) -> dict[str, object]:
        """Means, variances and scales."""
        statistics = ColumnStatistics.from_sums(values, bounds, plan.deviation)
        return {
            "mean_": statistics.mean,
            "var_": statistics.variance,
            "scale_": np.sqrt(statistics.variance),
        }


class StandardScaler(OneToOneFeatureMixin, PrivateTransformer):  # type: ignore[misc]
    """Subtract a noisy mean and divide by a noisy standard deviation, column by column.

    ``bounds`` is a pair for all columns or one pair per column, from public knowledge; values are clipped to it.
    ``bounds="private"`` finds bounds with a noisy histogram of magnitudes, for half of the budget.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row. The transformed rows of
    a private table are as private as the table was: ``transform`` adds no noise to them.
    Because: one Gaussian release of sums (two with private bounds) [DRS22, Cor. 2]; ``docs/proofs/moments.md``.
    Error: with n rows and bounds -1..1 a mean is off by about sigma/n, with sigma in ``event_``.
    Not covered: running time; the number of rows, where it is not declared.

    >>> import numpy as np
    >>> X = np.random.default_rng(1).normal(50, 10, (5000, 2))
    >>> scaler = StandardScaler(epsilon=1, delta=1e-6, bounds=(0, 100)).fit(X)
    >>> bool(abs(scaler.mean_ - 50).max() < 1 and abs(scaler.scale_ - 10).max() < 1)
    True
    """

    bounds_: Floats
    mean_: Floats
    var_: Floats
    scale_: Floats

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: ColumnBounds = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        return plan_sum_fit(WithinBounds.of(ColumnSums(), self, facts.columns), facts)

    def transform(self, X: ArrayLike) -> Floats:
        """Rows on the common scale, values outside the bounds clipped first."""
        table = self._rows_to_answer(X)
        return (np.clip(table, self.bounds_[:, 0], self.bounds_[:, 1]) - self.mean_) / self.scale_

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Rows on their own scale again."""
        return self._rows_to_answer(X) * self.scale_ + self.mean_
