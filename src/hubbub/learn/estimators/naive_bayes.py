"""Naive Bayes with Gaussian columns."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.base.bounded_estimator import BoundedEstimator
from hubbub.learn.base.class_labels import LabelledEstimator, labels_for
from hubbub.learn.base.sum_estimator import SumDesign, SumFitPlan
from hubbub.learn.training.column_moments import ColumnStatistics, column_sums, square, width
from hubbub.learn.training.moments import bounded_entries, noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, Real


class GaussianNB(LabelledEstimator, BoundedEstimator):
    """Naive Bayes: each class has a count, and each column a mean and a variance in it, all from one noisy release.

    ``bounds`` is a pair for all columns or one pair per column, from public knowledge, or ``"private"``, for half of
    the budget. ``classes``, if declared, are not read from y.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: a row adds to one class only, so sums of all classes move as far as those of one; [DRS22, Cor. 2] and
    ``docs/proofs/moments.md``.
    Error: with n rows in a class and bounds -1..1 a mean is off by about sigma/n, with sigma in ``event_``.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.
    """

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: Any = None,
        classes: Any = None,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _sums(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        classes = self._labels(y, account)
        size = len(classes) * width(columns)
        return SumDesign(size=size, square=Fraction(square(columns)), largest=1, stored=size, classes=classes)

    def _summed(self, made: SumFitPlan, table: Floats, y: Any, bounds: tuple[Floats, Floats]) -> Floats:
        grid = made.plan.grid
        labels = labels_for(y, made, len(table))
        entries = bounded_entries(table, *bounds, grid)
        sums = [column_sums(entries[labels == k], grid) for k in range(len(made.design.classes))]  # type: ignore[arg-type]
        return noisy_sum(np.concatenate(sums), step_of(made.plan.run))

    def _learned(self, made: SumFitPlan, values: Floats, bounds: tuple[Floats, Floats]) -> None:
        found = [
            ColumnStatistics.of(part, bounds, made.plan.deviation) for part in np.split(values, len(self.classes_))
        ]
        self.class_count_ = np.array([each.count for each in found])
        self.class_prior_ = self.class_count_ / self.class_count_.sum()
        self.theta_ = np.array([each.mean for each in found])
        self.var_ = np.array([each.variance for each in found])

    # ------------------------------------------------------------ predicting

    def _log_chances(self, X: Any) -> Floats:
        """ln of prior times density, up to what all classes share."""
        table = self._known(X)
        table = np.clip(table, self.bounds_[:, 0], self.bounds_[:, 1])
        scores = [
            np.log(prior) - ((table - mean) ** 2 / variance + np.log(variance)).sum(axis=1) / 2
            for prior, mean, variance in zip(self.class_prior_, self.theta_, self.var_, strict=True)
        ]
        return np.column_stack(scores)

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        scores = self._log_chances(X)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        likeliest = self._log_chances(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
