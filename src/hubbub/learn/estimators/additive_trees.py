"""Additive models of small trees: as accurate as a table of scores per column can be, and as easy to read."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.base.class_labels import LabelledEstimator, labels_for
from hubbub.learn.base.shapes import need_target
from hubbub.learn.base.sum_estimator import SumDesign, SumEstimator, SumFitPlan, bounds_of
from hubbub.learn.base.targets import Regressor, target_bounds_of, targets_of
from hubbub.learn.training.boosting import FINE, Bins, Boosting, Residuals
from hubbub.learn.training.moments import Grid, Integers
from hubbub.learn.training.network import Floats, Labels
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, exact, positive, whole

_REACH = 12 * FINE  # scores beyond which the logistic function counts as flat


class AdditiveTrees(SumEstimator):
    """What the classifier and the regressor share."""

    bounds: Any
    bins: Any
    rounds: int
    learning_rate: float | None
    leaves: int
    _curvature = 1.0

    def _outputs(self, classes: NDArray[Any] | None) -> int:
        return 1 if classes is None or len(classes) == 2 else len(classes)

    def _targets(self, made: SumFitPlan, y: Any, rows: int) -> Residuals:
        """What a row's scores leave over, in whole steps of the grid, as a function of integer scores."""
        raise NotImplementedError  # pragma: no cover

    def _cuts(self, columns: int) -> Bins:
        """The ends of bins: equal ones between the bounds, or those that were given."""
        lower, upper = bounds_of(self, columns)
        given = self.bins if isinstance(self.bins, Sequence) else [self.bins] * columns
        if len(given) != columns:
            raise OutOfRange(
                f"bins= has {len(given)} entries and X has {columns} columns.",
                why="Each column is cut by itself.",
                fix="Give one number for all columns, or a number or a list of ends per column.",
            )
        return Bins(tuple(_ends(cut, low, high) for cut, low, high in zip(given, lower, upper, strict=True)))

    def _planned(self, columns: int, classes: NDArray[Any] | None) -> SumDesign:
        bins, outputs, rounds = self._cuts(columns), self._outputs(classes), whole(self.rounds, name="rounds")
        size = bins.total * outputs
        whole(self.leaves, name="leaves", least=2)
        facts = {
            "bins": [list(map(str, ends)) for ends in bins.edges],
            "leaves": self.leaves,
            "rate": str(self._rate(columns)),
        }
        return SumDesign(
            size=size,
            square=Fraction(columns * outputs),
            largest=1,
            stored=size,
            steps=rounds + 1,
            classes=classes,
            facts=facts,
        )

    def _rate(self, columns: int) -> float:
        if self.learning_rate is None:
            return 4 / columns
        return float(positive(self.learning_rate, name="learning_rate"))

    def _release(self, made: SumFitPlan, X: Any, y: Any) -> Floats:
        bins, outputs = self._cuts(made.columns), self._outputs(made.design.classes)
        table = self._table(X, made)
        machine = Boosting(
            rounds=whole(self.rounds, name="rounds"),
            rate=self._rate(made.columns),
            leaves=self.leaves,
            curvature=self._curvature,
        )
        return machine.train(
            bins.codes(table),
            self._targets(made, y, len(table)),
            bins=bins,
            outputs=outputs,
            grid=made.plan.grid,
            step=step_of(made.plan.run),
        ).ravel()

    def _learn(self, made: SumFitPlan, values: Floats) -> None:
        self.bins_ = self._cuts(made.columns)
        tables = values.reshape(self.bins_.total, -1)
        self.term_scores_ = np.split(tables, self.bins_.starts[1:])

    def _scores(self, X: Any) -> Floats:
        """The sum of the scores of each row's bins, one column per output."""
        table = self._known(X)
        codes = self.bins_.codes(table)
        tables = np.vstack(self.term_scores_)
        return np.asarray(sum(tables[column] for column in codes.T))


def _ends(cut: Any, lower: float, upper: float) -> tuple[float, ...]:
    if isinstance(cut, Sequence | np.ndarray):
        ends = tuple(float(exact(end, name="bins")) for end in cut)
        if list(ends) != sorted(set(ends)):
            raise OutOfRange("the ends of bins must grow.", why="Bins follow each other.", fix="Sort them.")
        return ends
    count = whole(cut, name="bins")
    return tuple(np.linspace(lower, upper, count + 1)[1:-1].tolist())


class AdditiveTreesClassifier(LabelledEstimator, AdditiveTrees):
    """Boosted trees of one column each, added up: a generalised additive model that can be read column by column.

    ``bounds`` is a pair for all columns or one pair per column and ``bins`` how many equal bins lie between (one
    number, or per column a number or a list of ends), all from public knowledge. A column of codes 0 to m - 1 has
    bounds (-0.5, m - 0.5) and m bins. ``term_scores_`` has the scores of each column's bins.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: noisy sums of residuals per bin as in [NCBSK21], all columns at once, composed as one Gaussian
    [DRS22, Cor. 2]; ``docs/proofs/moments.md``.
    Error: none is promised; on a public test set, ``score`` tells.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.
    """

    _curvature = 0.25

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        bounds: Any = None,
        bins: Any = 16,
        classes: Any = None,
        rounds: int = 60,
        leaves: int = 16,
        learning_rate: float | None = None,
        rows: Any = None,
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

    def _design(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        return self._planned(columns, self._labels(y, account))

    def _targets(self, made: SumFitPlan, y: Any, rows: int) -> Residuals:
        labels = labels_for(y, made, rows)
        return logistic_residuals(labels, self._outputs(made.design.classes), made.plan.grid)

    def decision_function(self, X: Any) -> Floats:
        """The scores: one per row for two classes (above 0: the second), else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        chances = (1 + np.tanh(self._scores(X) / 2)) / 2
        if chances.shape[1] == 1:
            return np.hstack([1 - chances, chances])
        return np.asarray(chances / np.maximum(chances.sum(axis=1, keepdims=True), 1e-300))

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        return self._chosen(self.decision_function(X))


class AdditiveTreesRegressor(Regressor, AdditiveTrees):
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
        bounds: Any = None,
        target_bounds: Any = None,
        bins: Any = 16,
        rounds: int = 60,
        leaves: int = 16,
        learning_rate: float | None = None,
        rows: Any = None,
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

    def _design(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        need_target(y)
        ends = target_bounds_of(self)
        design = self._planned(columns, None)
        return replace(design, facts={**design.facts, "targets": list(map(str, ends))})

    def _targets(self, made: SumFitPlan, y: Any, rows: int) -> Residuals:
        grid = made.plan.grid
        truth = np.rint(targets_of(y, target_bounds_of(self), rows)[:, None] * grid.one)
        return lambda scores: np.clip(np.rint(scores * (grid.one / FINE)) - truth, -grid.one, grid.one)

    def _learn(self, made: SumFitPlan, values: Floats) -> None:
        super()._learn(made, values)
        self.target_bounds_ = target_bounds_of(self)

    def predict(self, X: Any) -> Floats:
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
