"""How good a private model is, privately: some rows are held out, and the model is measured on them.

Every row is held out by a coin of its own, or trains the model, never both. So nobody pays twice: a person's row is in
one part, and the two parts compose in parallel.
"""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hubbub import noise
from hubbub.learn.base.inputs import class_numbers, column_of, private_table, table_of
from hubbub.learn.base.jobs import FitPlan
from hubbub.learn.base.parameters import Wrapper
from hubbub.learn.base.private_count import Price, RowCount
from hubbub.learn.base.private_estimator import PrivateEstimator, Watch
from hubbub.learn.base.targets import targets_of
from hubbub.learn.composition.stages import TableShape, copy_of
from hubbub.learn.identity import tag_of
from hubbub.learn.training.calibration import multiplier
from hubbub.learn.training.moments import noisy_sum
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import FullBatch
from hubbub.ledger import Account, AccountLike, Pool
from hubbub.releases import plan_pool
from hubbub.terms import (
    ApproximateStep,
    GaussianNoise,
    Guarantee,
    Neighbours,
    Parallel,
    Real,
    Receipt,
    Repeat,
    Unit,
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


def public_score(model: Any, X: Any, y: Any) -> ModelScore:
    """The score of a model on rows that are public."""
    missed = misses(model, table_of(X), y)
    return ModelScore(float(missed.mean()), float(len(missed)), width=width_of(model))


def width_of(model: Any) -> float:
    """The width of a regressor's target; 0 for a classifier."""
    ends = getattr(model, "target_bounds_", None)
    return 0.0 if ends is None else float(ends[1] - ends[0])


def misses(model: Any, table: Floats, y: Any) -> Floats:
    """The error of each row, from 0 to 1. Rows are asked one by one, so that no answer depends on other rows."""
    asked = np.array([model.predict(row[None])[0] for row in table])
    ends = getattr(model, "target_bounds_", None)
    if ends is None:
        said, truth = (class_numbers(each, model.classes_, len(table)) for each in (asked, y))
        return np.where(said == truth, 0.0, 1.0)
    near, far = (targets_of(each, ends, len(table)) for each in (asked, y))
    return np.asarray(np.abs(near - far) / 2)


@dataclass(frozen=True, slots=True)
class Split:
    """A fit with a held-out part whose every decision is made."""

    estimator: PrivateEstimator
    inner: FitPlan
    run: Repeat
    step: GaussianNoise
    share: Fraction
    guarantee: Guarantee

    @property
    def size(self) -> int:
        """Two sums beside what the model is."""
        return self.inner.size + 2

    @property
    def parts(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same."""
        return {"estimator": tag_of(self.estimator), "share": str(self.share), "plan": dict(self.inner.parts)}


class WithHeldOutScore(Wrapper, PrivateEstimator):
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

    _is_whole = True

    @property
    def _needs_target(self) -> bool:  # type: ignore[override]
        return bool(getattr(self.estimator, "_needs_target", False))

    def __init__(
        self,
        estimator: Any = None,
        *,
        share: Real = 0.2,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.estimator, self.share, self.epsilon, self.delta = estimator, share, epsilon, delta
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _counts(self) -> bool:
        """Never by itself: the estimator counts the rows of its part."""
        super()._counts()
        return False

    def _row_count(self, came: int) -> RowCount:
        return RowCount.public(came) if isinstance(self.rows, str) else super()._row_count(came)

    def _plan(self, columns: int, y: Any, account: Account | None, rows: RowCount, price: Price) -> Split:
        share = fraction_of(self.share, name="share")
        if Neighbours.parse(self.neighbours) is Neighbours.REPLACE:
            raise WrongNeighbours(
                "a model is measured on held-out rows for add-remove neighbours only.",
                why="Parts of the data cost as much as the dearer one if a row comes or goes.",
                fix='Write neighbours="add-remove", or measure on public rows.',
            )
        kept = max(1, round(rows.expected * (1 - share)))
        copy = copy_of(
            self.estimator,
            epsilon=price[0],
            delta=price[1],
            rows=self.rows if self.rows is None or isinstance(self.rows, str) else kept,
            neighbours=self.neighbours,
            unit=self.unit,
        )
        inner = copy._prepare(TableShape((kept, columns)), y, account)
        step = GaussianNoise(
            sigma=-(-multiplier(FullBatch(), 1, *price, Neighbours.ADD_REMOVE) // _STEP) * _STEP,
            sensitivity=Fraction(1),
            grid=_STEP,
            dimension=2,
            mechanism="held-out",
            unit=Unit(self.unit),
        )
        return Split(copy, inner, _together(inner.run, step, price, account), step, share, inner.guarantee)

    def _released(self, made: Split, X: Any, y: Any, watch: Watch) -> Floats:
        table, labels = private_table(X), column_of(y)
        if len(labels) != len(table):
            raise WrongShape(
                "X and y have different numbers of rows.", why="Each row has one target.", fix="Give one per row of X."
            )
        held = noise.bernoulli(made.share, len(table)).astype(bool)  # each row by itself
        values = made.estimator._release_all(made.inner, table[~held], labels[~held], watch)
        made.estimator._keep(TableShape((1, table.shape[1])), made.inner, values, None)
        missed = misses(made.estimator, table[held], labels[held]) if held.any() else np.zeros(0)
        return np.concatenate([values, noisy_misses(missed, made.step)])

    def _learned_from(self, made: Split, values: Floats) -> None:
        made.estimator._keep(TableShape((1, 1)), made.inner, values[:-2], None)
        self.estimator_ = made.estimator
        self.n_features_in_ = made.estimator.n_features_in_
        wrong, right = float(values[-2]), float(values[-1])
        rows = max(1.0, wrong + right)
        self.score_ = ModelScore(
            min(1.0, max(0.0, wrong / rows)), rows, float(made.step.sigma), width_of(self.estimator_)
        )

    def _keep(self, X: Any, made: Any, values: Floats, receipt: Receipt | None) -> None:
        super()._keep(X, made, values, receipt)
        self.estimator_._note_names(X)
        self.estimator_.event_, self.estimator_.receipt_ = self.event_, receipt

    def _inner(self) -> Any:
        return getattr(self, "estimator_", self.estimator)


def _together(fit: Repeat, step: GaussianNoise, price: Price, account: Account | None) -> Repeat:
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
