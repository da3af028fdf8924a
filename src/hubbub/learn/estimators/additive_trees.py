"""Additive models of small trees: as accurate as a table of scores per column can be, and as easy to read."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.parameters import ColumnBounds, bounds_of, double_of, positive_double
from hubbub.learn.base.private_estimator import PrivateClassifier, PrivateEstimator, PrivateRegressor
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.base.targets import ClassTarget, Target, class_target, number_target
from hubbub.learn.estimators.network_classifier import likeliest_class
from hubbub.learn.training.boosting import FINE, Bins, Boosting, Residuals
from hubbub.learn.training.moments import Grid, Integers
from hubbub.learn.training.network import Floats, Labels
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, exact, whole

_REACH = 12 * FINE  # scores beyond which the logistic function counts as flat


@dataclass(frozen=True, slots=True)
class TreeRounds:
    """Rounds of boosting, in each of which all columns get one small tree."""

    bins: Bins
    rounds: int
    leaves: int
    rate: float
    target: Target

    @classmethod
    def of(cls, estimator: AdditiveTrees, target: Target, columns: int) -> TreeRounds:
        """As the estimator was asked to, for so many columns."""
        bins, rounds = cut_columns(estimator, columns), whole(estimator.rounds, name="rounds")
        leaves, rate = whole(estimator.leaves, name="leaves", least=2), estimator.learning_rate
        given = 4 / columns if rate is None else positive_double(rate, name="learning_rate")
        return cls(bins, rounds, leaves, given, target)

    def design(self, columns: int) -> SumDesign:
        """A sum of each bin and output in each round."""
        size = self.bins.total * self.target.outputs
        return SumDesign(
            size=size,
            square=Fraction(columns * self.target.outputs),
            largest=1,
            stored=size,
            steps=self.rounds + 1,
            identity={
                "bins": [list(map(str, ends)) for ends in self.bins.edges],
                "leaves": self.leaves,
                "rate": str(self.rate),
                **self.target.identity,
            },
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None) -> Floats:
        """The scores of all bins."""
        assert y is not None  # the estimator needs a target
        classes, grid = isinstance(self.target, ClassTarget), plan.grid
        truth = self.target.read(y, len(table))
        residuals = (
            logistic_residuals(truth, self.target.outputs, grid)  # type: ignore[arg-type]
            if classes
            else clipped_residuals(truth, grid)  # type: ignore[arg-type]
        )
        boosting = Boosting(rounds=self.rounds, rate=self.rate, leaves=self.leaves, curvature=0.25 if classes else 1.0)
        return boosting.train(
            self.bins.codes(table),
            residuals,
            bins=self.bins,
            outputs=self.target.outputs,
            grid=grid,
            step=plan.step,
        ).ravel()

    def learned(self, plan: SumFitPlan, values: Floats) -> dict[str, object]:
        """The scores of each column's bins."""
        scores = np.split(values.reshape(self.bins.total, -1), self.bins.starts[1:])
        return {"bins_": self.bins, "term_scores_": scores, **self.target.learned}


def cut_columns(estimator: AdditiveTrees, columns: int) -> Bins:
    """The ends of bins: equal ones between the bounds, or those that were given."""
    lower, upper = bounds_of(estimator, columns)
    given = estimator.bins if isinstance(estimator.bins, Sequence) else [estimator.bins] * columns
    if len(given) != columns:
        raise OutOfRange(
            f"bins= has {len(given)} entries and X has {columns} columns.",
            why="Each column is cut by itself.",
            fix="Give one number for all columns, or a number or a list of ends per column.",
        )
    return Bins(tuple(_bin_ends(cut, low, high) for cut, low, high in zip(given, lower, upper, strict=True)))


def _bin_ends(cut: Any, lower: float, upper: float) -> tuple[float, ...]:
    if isinstance(cut, Sequence | np.ndarray):
        ends = tuple(double_of(exact(end, name="bins"), name="bins") for end in cut)
        if list(ends) != sorted(set(ends)):
            raise OutOfRange("the ends of bins must grow.", why="Bins follow each other.", fix="Sort them.")
        return ends
    count = whole(cut, name="bins")
    return tuple(np.linspace(lower, upper, count + 1)[1:-1].tolist())


class AdditiveTrees(PrivateEstimator):
    """What the classifier and the regressor share once they are fitted."""

    bins_: Bins
    term_scores_: list[Floats]

    def _scores(self, X: ArrayLike) -> Floats:
        """The sum of the scores of each row's bins, one column per output."""
        rows = self._rows_to_answer(X)
        codes = self.bins_.codes(rows)
        tables = np.vstack(self.term_scores_)
        return np.asarray(sum(tables[column] for column in codes.T))


class AdditiveTreesClassifier(PrivateClassifier, AdditiveTrees):
    """Boosted trees of one column each, added up: a generalized additive model that can be read column by column.

    ``bounds`` is a pair for all columns or one pair per column and ``bins`` how many equal bins lie between (one
    number, or per column a number or a list of ends), all from public knowledge. A column of codes 0 to m - 1 has
    bounds (-0.5, m - 0.5) and m bins. ``term_scores_`` has the scores of each column's bins.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: noisy sums of residuals per bin as in [NCBSK21], all columns at once, composed as one Gaussian
    [DRS22, Cor. 2]; ``docs/proofs/moments.md``.
    Error: none is promised; on a public test set, ``score`` tells.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.
    """

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: ColumnBounds = None,
        bins: int | Sequence[Any] = 16,
        classes: ArrayLike | None = None,
        rounds: int = 60,
        leaves: int = 16,
        learning_rate: Real | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.bins, self.classes = epsilon, delta, bounds, bins, classes
        self.rounds, self.leaves, self.learning_rate = rounds, leaves, learning_rate
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        return plan_sum_fit(TreeRounds.of(self, class_target(self, facts), facts.columns), facts)

    def decision_function(self, X: ArrayLike) -> Floats:
        """The scores: one per row for two classes (above 0: the second), else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class."""
        chances = (1 + np.tanh(self._scores(X) / 2)) / 2
        if chances.shape[1] == 1:
            return np.hstack([1 - chances, chances])
        return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each row."""
        scores = self.decision_function(X)
        return likeliest_class(self.classes_, scores)


class AdditiveTreesRegressor(PrivateRegressor, AdditiveTrees):
    """Boosted trees of one column each, added up, for targets between ``target_bounds``.

    The other parameters are those of ``AdditiveTreesClassifier``. What is left of a target counts at most half of the
    width of its bounds.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: noisy sums of clipped residuals per bin as in [NCBSK21], all columns at once, composed as one Gaussian
    [DRS22, Cor. 2]; ``docs/proofs/moments.md``.
    Error: none is promised; on a public test set, ``score`` tells.
    Not covered: running time; the number of rows, where it is not declared.
    """

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: ColumnBounds = None,
        target_bounds: tuple[Real, Real] | None = None,
        bins: int | Sequence[Any] = 16,
        rounds: int = 60,
        leaves: int = 16,
        learning_rate: Real | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.bounds, self.target_bounds = epsilon, delta, bounds, target_bounds
        self.bins, self.rounds, self.leaves, self.learning_rate = bins, rounds, leaves, learning_rate
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        return plan_sum_fit(TreeRounds.of(self, number_target(self), facts.columns), facts)

    def predict(self, X: ArrayLike) -> Floats:
        """The prediction for each row, within the declared bounds of the target."""
        scores = self._scores(X)[:, 0]
        lower, upper = self.target_bounds_
        return np.clip((lower + upper) / 2 + scores * (upper - lower) / 2, lower, upper)


def logistic_residuals(labels: Labels, outputs: int, grid: Grid) -> Residuals:
    """Probability less truth, each output by itself, from a table: the same score gives the same number everywhere."""
    chances = np.rint((1 + np.tanh(np.arange(-_REACH, _REACH + 1) / (2 * FINE))) / 2 * grid.one)
    truth = (labels[:, None] == (np.arange(outputs) if outputs > 1 else 1)) * float(grid.one)
    known = labels[:, None] >= 0

    def residuals(scores: Integers) -> Floats:
        return np.asarray(np.where(known, chances[np.clip(scores, -_REACH, _REACH) + _REACH] - truth, 0.0))

    return residuals


def clipped_residuals(truth: Floats, grid: Grid) -> Residuals:
    """Prediction less truth, at most 1 in size, in whole steps of the grid."""
    whole_truth = np.rint(truth[:, None] * grid.one)
    return lambda scores: np.clip(np.rint(scores * (grid.one / FINE)) - whole_truth, -grid.one, grid.one)
