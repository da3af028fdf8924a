"""How good a private model is, privately: some rows are held out, and the model is measured on them.

Every row is held out by a coin of its own, or trains the model, never both. So nobody pays twice: a person's row is in
one part, and the two parts compose in parallel.
"""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from hubbub import noise
from hubbub.learn.base.fit_plan import FitFacts, FitPlan, Price, Watch, nobody
from hubbub.learn.base.inputs import private_table, table_of
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.base.shapes import TableColumns
from hubbub.learn.base.targets import class_numbers, column_of, targets_of
from hubbub.learn.composition.delegation import Delegating, answers_alone
from hubbub.learn.composition.stages import Stage, copy_of, stage_for
from hubbub.learn.training.calibration import noise_multiplier
from hubbub.learn.training.moments import noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import FullBatch
from hubbub.ledger import Account, AccountLike, Pool
from hubbub.releases import plan_pool
from hubbub.terms import (
    ApproximateStep,
    GaussianNoise,
    Guarantee,
    MissingParameter,
    Neighbours,
    Parallel,
    Real,
    Receipt,
    Repeat,
    WrongNeighbours,
    WrongShape,
    fraction_of,
)

_FINE = 1 << 16  # steps of an error in 1
_STEP = Fraction(1, _FINE)
_SURE = 1.96  # standard deviations of a 95% interval


@dataclass(frozen=True, slots=True)
class ModelScore:
    """How good a model is: accuracy (``width`` 0), or the mean absolute error of a target of that width.

    ``missed`` is the mean error of a row from 0 to 1, ``rows`` how many there were, and ``noise`` the standard
    deviation of the noise on sums; 0 if the rows are public.
    """

    missed: float
    rows: float
    noise: float = 0.0
    width: float = 0.0

    @property
    def kind(self) -> str:
        """What is measured."""
        return "mean absolute error" if self.width else "accuracy"

    @property
    def value(self) -> float:
        """The measure itself."""
        return self._of(self.missed)

    @property
    def interval(self) -> tuple[float, float]:
        """About 95%: for which rows happened to be there, and for the noise."""
        spread = self.missed * (1 - self.missed) / self.rows
        noisy = (self.noise / self.rows) ** 2 * (self.missed**2 + (1 - self.missed) ** 2)
        far = _SURE * math.sqrt(spread + noisy)
        ends = [self._of(min(1.0, max(0.0, self.missed + side * far))) for side in (-1, 1)]
        return min(ends), max(ends)

    def _of(self, missed: float) -> float:
        return missed * self.width if self.width else 1 - missed

    def words(self) -> str:
        """The measure with its interval."""
        low, high = self.interval
        if self.width:
            return f"{self.value:.4g}, between {low:.4g} and {high:.4g}"
        return f"{self.value:.1%}, between {low:.1%} and {high:.1%}"


def public_score(model: PrivateEstimator, X: ArrayLike, y: ArrayLike) -> ModelScore:
    """The score of a model on rows that are public."""
    missed = row_errors(model, [model.predict(row[None])[0] for row in table_of(X)], y)
    return ModelScore(float(missed.mean()), float(len(missed)), width=width_of(model))


def width_of(model: PrivateEstimator) -> float:
    """The width of a regressor's target; 0 for a classifier."""
    ends = getattr(model, "target_bounds_", None)
    return 0.0 if ends is None else float(ends[1] - ends[0])


def row_errors(model: PrivateEstimator, answers: list[Any], y: ArrayLike) -> Floats:
    """The error of each row, from 0 to 1, of what the model answered for it; 1 where it has no answer (None)."""
    ends, rows = getattr(model, "target_bounds_", None), len(answers)
    if ends is None:
        predicted, truth = (class_numbers(each, model.classes_, rows) for each in (answers, y))
        return np.where((predicted == truth) & (predicted >= 0), 0.0, 1.0)
    near, far = (targets_of(each, ends, rows) for each in (answers, y))
    return np.where([answer is None for answer in answers], 1.0, np.abs(near - far) / 2)


@dataclass(frozen=True, slots=True)
class SplitPlan:
    """A fit with a held-out part whose every decision is made."""

    stage: Stage
    event: Repeat
    step: GaussianNoise
    share: Fraction

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.stage.plan.guarantee

    @property
    def size(self) -> int:
        """Two sums beside what the model is."""
        return self.stage.size + 2

    @property
    def identity(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same."""
        return {**self.stage.identity, "share": str(self.share)}

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Train on the rows that coins choose, and measure on the others."""
        table, labels = private_table(X), column_of(y)
        if len(labels) != len(table):
            raise WrongShape(
                "X and y have different numbers of rows.", why="Each row has one target.", fix="Give one per row of X."
            )
        held = noise.bernoulli(self.share, len(table)).astype(bool)  # each row by itself
        values = self.stage.release(table[~held], labels[~held], watch)
        fitted = self.stage.fitted(values)
        missed = row_errors(fitted, answers_alone(fitted, table[held]), labels[held])
        return np.concatenate([values, noisy_misses(missed, self.step)])

    def learned(self, values: Floats) -> dict[str, object]:
        """The fitted estimator, and its score."""
        fitted = self.stage.fitted(values[:-2])
        wrong, right = float(values[-2]), float(values[-1])
        rows = max(1.0, wrong + right)
        missed = min(1.0, max(0.0, wrong / rows))
        return {"estimator_": fitted, "score_": ModelScore(missed, rows, float(self.step.sigma), width_of(fitted))}


class WithHeldOutScore(Delegating):
    """An estimator that is fitted on most rows and measured on the others, for the price of the fit.

    ``estimator`` has no price of its own. Each row is held out with probability ``share``. ``score_`` is the noisy
    score, ``estimator_`` the fitted estimator.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row; model and score
    together.
    Because: a row is in one part, drawn by itself, so the dearer part is the cost of both [McS09, Thm. 4]; errors are
    two exact sums that one row moves by at most 1 in L2 [DRS22, Thm. 1]. ``docs/proofs/learn.md``.
    Error: with m rows held out the score is off by at most about 1/sqrt(m) for its rows and sigma/m for its noise.
    Not covered: running time; the number of rows, where it is not declared.
    """

    def __init__(
        self,
        estimator: PrivateEstimator | None = None,
        *,
        share: Real = 0.2,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.estimator, self.share, self.epsilon, self.delta = estimator, share, epsilon, delta
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> SplitPlan:
        share = fraction_of(self.share, name="share")
        if self.estimator is None:
            raise MissingParameter(
                "a held-out score needs an estimator.",
                why="There is nothing to fit.",
                fix="Write WithHeldOutScore(LogisticRegression(norm=1.0), ...).",
            )
        if facts.neighbours is Neighbours.REPLACE:
            raise WrongNeighbours(
                "a model is measured on held-out rows for add-remove neighbours only.",
                why="Parts of the data cost as much as the dearer one if a row comes or goes.",
                fix='Write neighbours="add-remove", or measure on public rows.',
            )
        epsilon, delta = facts.price
        kept = max(1, round(facts.row_count.expected * (1 - share)))
        copy = copy_of(
            self.estimator,
            epsilon=epsilon,
            delta=delta,
            rows=self.rows if facts.declared is None else kept,  # the estimator counts the rows of its part
            neighbours=self.neighbours,
            unit=self.unit,
        )
        stage = stage_for(copy, (kept, facts.columns), facts.y, facts.account)
        step = GaussianNoise(
            sigma=-(-noise_multiplier(FullBatch(), 1, epsilon, delta, Neighbours.ADD_REMOVE) // _STEP) * _STEP,
            sensitivity=Fraction(1),
            grid=_STEP,
            dimension=2,
            mechanism="held-out",
            unit=facts.unit,
        )
        return SplitPlan(stage, _combined_event(stage.event, step, facts.price, facts.account), step, share)

    def _learn(self, plan: FitPlan, values: Floats, receipt: Receipt | None, columns: TableColumns) -> Self:
        super()._learn(plan, values, receipt, columns)
        self.estimator_.__dict__.update(vars(columns))
        self.estimator_.event_, self.estimator_.receipt_ = self.event_, receipt
        return self

    def _inner(self) -> Any:
        return getattr(self, "estimator_", self.estimator)


def _combined_event(fit: Repeat, step: GaussianNoise, price: Price, account: Account | None) -> Repeat:
    """One part of the rows trains and the other measures; told by the price where parts cannot be accounted."""
    questions = account is not None and plan_pool(account) is Pool.QUESTIONS  # counted in zCDP, which knows all parts
    if questions or isinstance(fit.event, GaussianNoise):
        return Repeat(Parallel((fit, step)), 1)
    whole = ApproximateStep(epsilon=price[0], delta=price[1], mechanism="fit-and-measure", unit=step.unit)
    return Repeat(whole, 1)


def noisy_misses(missed: Floats, step: GaussianNoise, *, rng: noise.RandomSource | None = None) -> Floats:
    """Noisy sums of errors and of what is left of them to 1: together about the number of rows.

    Guarantee: what the step's accounting says; adding or removing a row moves the two by at most 1 in L2.
    Because: an error e adds (e, 1 - e), in whole steps of the grid [CKS20].
    """
    wrong = np.rint(missed * _FINE).astype(np.int64)
    return noisy_sum(np.array([wrong.sum(), (_FINE - wrong).sum()]), step, rng=rng)
