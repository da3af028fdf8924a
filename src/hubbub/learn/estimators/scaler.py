"""Columns of mean 0 and variance 1."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.base.bounded_estimator import BoundedEstimator
from hubbub.learn.base.sum_estimator import SumDesign, SumFitPlan
from hubbub.learn.training.column_moments import ColumnStatistics, column_sums, square, width
from hubbub.learn.training.moments import bounded_entries, noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, Real


class Transformer:
    """What scalers and projections share beside ``transform``."""

    _kind = "transformer"

    def fit_transform(self, X: Any, y: Any = None) -> Floats:
        """Fit, then transform the same rows: they stay private."""
        return self.fit(X, y).transform(X)  # type: ignore[attr-defined, no-any-return]

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import TargetTags, TransformerTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags, tags.transformer_tags = None, TransformerTags(preserves_dtype=[])
        tags.target_tags, tags.estimator_type = TargetTags(required=False), None
        return tags


class StandardScaler(Transformer, BoundedEstimator):
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

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: Any = None,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _sums(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        return SumDesign(size=width(columns), square=Fraction(square(columns)), largest=1, stored=width(columns))

    def _summed(self, made: SumFitPlan, table: Floats, y: Any, bounds: tuple[Floats, Floats]) -> Floats:
        grid = made.plan.grid
        return noisy_sum(column_sums(bounded_entries(table, *bounds, grid), grid), step_of(made.plan.run))

    def _learned(self, made: SumFitPlan, values: Floats, bounds: tuple[Floats, Floats]) -> None:
        found = ColumnStatistics.of(values, bounds, made.plan.deviation)
        self.mean_, self.var_, self.scale_ = found.mean, found.variance, np.sqrt(found.variance)

    def transform(self, X: Any) -> Floats:
        """Rows on the common scale, values outside the bounds clipped first."""
        table = self._known(X)
        return (np.clip(table, self.bounds_[:, 0], self.bounds_[:, 1]) - self.mean_) / self.scale_

    def inverse_transform(self, X: Any) -> Floats:
        """Rows on their own scale again."""
        return self._known(X) * self.scale_ + self.mean_
