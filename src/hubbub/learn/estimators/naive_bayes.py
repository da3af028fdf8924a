"""Naive Bayes with Gaussian columns."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.column_bounds import Bounds, WithinBounds
from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.parameters import ColumnBounds
from hubbub.learn.base.private_estimator import PrivateClassifier
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.base.targets import ClassTarget, class_target
from hubbub.learn.training.column_moments import ColumnStatistics, column_sums, squared_sensitivity, statistics_count
from hubbub.learn.training.moments import bounded_entries, noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, Real


@dataclass(frozen=True, slots=True)
class ClassColumnSums:
    """The sums of bounded columns and of their squares, class by class."""

    target: ClassTarget

    def design(self, columns: int) -> SumDesign:
        """The sums of each class: a row is in one of them."""
        size = len(self.target.classes) * statistics_count(columns)
        return SumDesign(
            size=size,
            square=Fraction(squared_sensitivity(columns)),
            largest=1,
            stored=size,
            identity=self.target.identity,
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None, bounds: Bounds) -> Floats:
        """The noisy sums."""
        assert y is not None  # the estimator needs a target
        labels = self.target.read(y, len(table))
        entries = bounded_entries(table, *bounds, plan.grid)
        sums = [column_sums(entries[labels == number], plan.grid) for number in range(len(self.target.classes))]
        return noisy_sum(np.concatenate(sums), plan.step)

    def learned(self, plan: SumFitPlan, values: Floats, bounds: Bounds) -> dict[str, object]:
        """Counts, means and variances of each class."""
        sums = np.split(values, len(self.target.classes))
        statistics = [ColumnStatistics.from_sums(part, bounds, plan.deviation) for part in sums]
        counts = np.array([each.count for each in statistics])
        return {
            "class_count_": counts,
            "class_prior_": counts / counts.sum(),
            "theta_": np.array([each.mean for each in statistics]),
            "var_": np.array([each.variance for each in statistics]),
            **self.target.learned,
        }


class GaussianNB(PrivateClassifier):
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
        bounds: ColumnBounds = None,
        classes: ArrayLike | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds = epsilon, delta, bounds
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        sums = ClassColumnSums(class_target(self, facts))
        return plan_sum_fit(WithinBounds.of(sums, self, facts.columns), facts)

    # ------------------------------------------------------------ predicting

    def _log_chances(self, X: ArrayLike) -> Floats:
        """ln of prior times density, up to what all classes share."""
        table = self._rows_to_answer(X)
        table = np.clip(table, self.bounds_[:, 0], self.bounds_[:, 1])
        scores = [
            np.log(prior) - ((table - mean) ** 2 / variance + np.log(variance)).sum(axis=1) / 2
            for prior, mean, variance in zip(self.class_prior_, self.theta_, self.var_, strict=True)
        ]
        return np.column_stack(scores)

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class."""
        scores = self._log_chances(X)
        chances = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each row."""
        likeliest = self._log_chances(X).argmax(axis=1)
        return np.asarray(self.classes_[likeliest])
