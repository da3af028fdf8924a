"""``fit_table``: from a table and what is public about its columns to a private model that reads such tables."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from numpy.typing import NDArray

from hubbub.learn.base.fit_plan import Watch, nobody
from hubbub.learn.base.parameters import ONE_ROW, account_of
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.learn.composition.pipeline import Pipeline
from hubbub.learn.composition.stages import copy_of
from hubbub.learn.estimators.additive_trees import AdditiveTreesClassifier, AdditiveTreesRegressor
from hubbub.learn.estimators.linear_regression import LinearRegression, Ridge
from hubbub.learn.estimators.linear_svc import LinearSVC
from hubbub.learn.estimators.logistic_regression import LogisticRegression
from hubbub.learn.estimators.mlp_classifier import MLPClassifier
from hubbub.learn.estimators.mlp_regressor import MLPRegressor
from hubbub.learn.estimators.naive_bayes import GaussianNB
from hubbub.learn.estimators.network_classifier import FittedNetwork
from hubbub.learn.tables.features import (
    Category,
    Column,
    NamedColumns,
    NumberFeature,
    Style,
    code_bounds,
    codes_of,
    features_of,
    norm_of,
    numbers_in,
    width_of,
    words_in,
)
from hubbub.learn.tables.table_model import PrivateColumns, TableModel
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, AccountLike, Pool, fingerprint
from hubbub.releases import plan_pool
from hubbub.terms import EmptyInput, Guarantee, MissingParameter, Neighbours, OutOfRange, Real

ONE_OF_EACH = "One row of each is used, picked from their own rows alone."
HELD_OUT = (
    "Measured privately on rows that did not train the model: each row was held out with probability 1/5, and the "
    "noise on the score has the price of the model. No row is in both parts, so the two together cost what one does."
)


class TableModelKind(StrEnum):
    """What may be trained."""

    LOGISTIC = "logistic"
    SVM = "svm"
    MLP = "mlp"
    TREES = "trees"
    NB = "nb"
    LINEAR = "linear"
    RIDGE = "ridge"


_CLASSES = (TableModelKind.LOGISTIC, TableModelKind.SVM, TableModelKind.MLP, TableModelKind.TREES, TableModelKind.NB)
_NUMBERS = (TableModelKind.LINEAR, TableModelKind.RIDGE, TableModelKind.MLP, TableModelKind.TREES)
_BY_CLASS: dict[TableModelKind, type[Any]] = {
    TableModelKind.LOGISTIC: LogisticRegression,
    TableModelKind.SVM: LinearSVC,
    TableModelKind.MLP: MLPClassifier,
    TableModelKind.TREES: AdditiveTreesClassifier,
    TableModelKind.NB: GaussianNB,
}
_BY_NUMBER: dict[TableModelKind, type[Any]] = {
    TableModelKind.LINEAR: LinearRegression,
    TableModelKind.RIDGE: Ridge,
    TableModelKind.MLP: MLPRegressor,
    TableModelKind.TREES: AdditiveTreesRegressor,
}
_BINNED = (TableModelKind.LOGISTIC, TableModelKind.SVM, TableModelKind.MLP)


@dataclass(frozen=True, slots=True)
class TableDesign:
    """Which model reads which columns how; all of it public."""

    columns: tuple[Column, ...]
    target: Column
    kind: TableModelKind

    @property
    def private(self) -> bool:
        """Whether bounds have to be found."""
        return any(isinstance(each, NumberFeature) and not each.bounded for each in self.columns)

    @property
    def style(self) -> Style:
        """How cells become features."""
        if self.kind in _BINNED:
            return Style.BINS
        return Style.CODES if self.kind is TableModelKind.TREES and not self.private else Style.SCALED

    def estimator(self) -> PrivateEstimator:
        """The estimator, without a price; with a step before it where bounds are private."""
        last = self._last()
        steps = [PrivateColumns(self.columns, style=self.style.value), last]
        return Pipeline(steps) if self.private else last

    def _last(self) -> PrivateEstimator:
        if isinstance(self.target, Category):
            estimator: PrivateEstimator = _BY_CLASS[self.kind](classes=list(self.target.values), **self._facts())
        else:
            estimator = _BY_NUMBER[self.kind](target_bounds=self.target.ends, **self._facts())
        return estimator

    def _facts(self) -> dict[str, Any]:
        if self.kind is TableModelKind.NB or (self.kind is TableModelKind.TREES and self.private):
            return {"bounds": (0, 1)}
        if self.kind is TableModelKind.TREES:
            bounds, bins = code_bounds(self.columns)
            return {"bounds": bounds, "bins": bins}
        return {"norm": norm_of(self.columns)}

    @property
    def digest(self) -> str:
        """What makes two designs the same."""
        columns = [each.identity() for each in self.columns]
        return fingerprint(columns=columns, target=self.target.identity(), model=self.kind.value)[:32]


def design_model(columns: Sequence[Column], target: Column, model: str | None = None) -> TableDesign:
    """The design for a target: logistic regression for classes and linear regression for numbers, unless said."""
    if not columns:
        raise EmptyInput("there are no columns to learn from.", why="A model reads columns.", fix="Name at least one.")
    if isinstance(target, NumberFeature) and not target.bounded:
        raise MissingParameter(
            f"the target {target.name!r} needs bounds.",
            why="Without them one row could move the model without limit.",
            fix=f"Declare {target.name} = {{ lower = ..., upper = ... }}.",
        )
    allowed = _CLASSES if isinstance(target, Category) else _NUMBERS
    kind = allowed[0] if model is None else TableModelKind(model)
    if kind not in allowed:
        sort = "classes" if isinstance(target, Category) else "a number"
        raise OutOfRange(
            f"{kind} is no model for {target.name!r}, which is {sort}.",
            why="Columns with a list of values are classes, columns with bounds are numbers.",
            fix=f"Use one of: {', '.join(allowed)}.",
        )
    return TableDesign(tuple(columns), target, kind)


@dataclass(slots=True)
class _Rows:
    """A table that is read once, when somebody asks for its values."""

    read: Callable[[], Any]
    table: Any = None
    done: bool = field(default=False)

    def get(self) -> Any:
        if not self.done:
            self.table, self.done = self.read(), True
        return self.table


@dataclass(frozen=True, slots=True)
class _Unread:
    """Features or targets that have a shape before they are read."""

    rows: _Rows
    shape: tuple[int, ...]
    derive: Callable[[NamedColumns], NDArray[Any]]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return self.derive(self.rows.get())

    def __len__(self) -> int:
        return self.shape[0]


def fit_table(
    table: NamedColumns | Callable[[], NamedColumns],
    *,
    columns: Sequence[Column],
    target: Column,
    epsilon: Real,
    delta: Real,
    model: str | None = None,
    measure: bool = False,
    rows: int | str | None = "private",
    neighbours: Neighbours | str = "add-remove",
    unit: str = "",
    picked: bool = False,
    account: AccountLike | None = None,
    population: str | None = None,
    dataset: str | None = None,
    watch: Watch = nobody,
) -> TableModel:
    """A private model of a table; ``table`` has columns by name, or is a function that reads it after the charge.

    ``columns`` and ``target`` are what is public about them (``tables.Number`` and ``tables.Category``); a number
    without bounds has them found privately. ``measure`` holds rows out and measures the model on them. ``picked`` says
    that the table has one row of each unit because one was picked from that unit's own rows, as ``reader`` does.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row; model, bounds, count
    and score together.
    Because: those of the estimators, of ``Pipeline``, ``WithHeldOutScore`` and ``PrivateCount``; cells become features
    row by row, which is post-processing of each row [DR14, Prop. 2.1].
    Error: none is promised; ``score`` tells, if it was measured.
    Not covered: running time; the number of rows, where ``rows`` is None.

    >>> import numpy as np
    >>> from hubbub.learn.tables.features import Category, NumberFeature
    >>> ages = np.random.default_rng(1).integers(0, 100, 4000)
    >>> people = {"age": ages, "pension": np.where(ages > 66, "yes", "no")}
    >>> age, pension = NumberFeature("age", 0, 100), Category("pension", ("no", "yes"))
    >>> model = fit_table(people, columns=[age], target=pension, epsilon=1, delta=1e-6)
    >>> model.predict({"age": [20, 80]}).tolist()
    ['no', 'yes']
    """
    plan = design_model(columns, target, model)
    estimator: PrivateEstimator = plan.estimator()
    _for_questions(estimator, account_of(account, population))
    price: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "rows": rows, "neighbours": neighbours, "unit": unit}
    named = None if dataset is None else f"{dataset}:{plan.digest}"
    paying = {**price, "account": account, "population": population, "dataset": named}
    whole = WithHeldOutScore(estimator, **paying) if measure else copy_of(estimator, **paying)
    whole.fit(*_unread_table(table, plan, rows), watch=watch)
    if picked:
        whole.guarantee_ = _say_picked(whole.guarantee_)
    return _unwrap_model(plan, whole)


def _say_picked(guarantee: Guarantee) -> Guarantee:
    """Of a unit with several rows one is used: then nothing has to be assumed of the data."""
    caveats = tuple(ONE_OF_EACH if caveat == ONE_ROW else caveat for caveat in guarantee.caveats)
    return replace(guarantee, caveats=caveats)


def _for_questions(estimator: PrivateEstimator, account: Account | None) -> None:
    """Where only questions can pay, training takes full batches, which zCDP can count."""
    if account is not None and plan_pool(account) is Pool.QUESTIONS and isinstance(estimator, FittedNetwork):
        estimator.sampling = "full"


def _unread_table(
    table: NamedColumns | Callable[[], NamedColumns], plan: TableDesign, rows: int | str | None
) -> tuple[_Unread, _Unread]:
    held = _Rows(table if callable(table) else lambda: table)
    count = _public_count(table, plan) if rows is None else 1  # else nobody looks at it
    read = words_in if isinstance(plan.target, Category) else numbers_in

    def features(cells: NamedColumns) -> Floats:
        codes = codes_of(cells, plan.columns)
        return codes if plan.private else features_of(codes, plan.columns, plan.style)

    width = len(plan.columns) if plan.private else width_of(plan.columns, plan.style)
    return (
        _Unread(held, (count, width), features),
        _Unread(held, (count,), lambda cells: read(cells, plan.target.name)),
    )


def _public_count(table: NamedColumns | Callable[[], NamedColumns], plan: TableDesign) -> int:
    """How many rows a table in memory has: by its length, and without a look at a value."""
    if callable(table):
        raise MissingParameter(
            "rows is None, and the table is read by a function.",
            why="Counting its rows would read them before anything is charged.",
            fix='Write rows="private", or rows=1000 if about so many are known to everybody.',
        )
    column: Any = table[plan.target.name]
    return len(column)


def _unwrap_model(plan: TableDesign, whole: Any) -> TableModel:
    """The fitted model, taken out of what was wrapped around it."""
    notes = {"measured": HELD_OUT} if isinstance(whole, WithHeldOutScore) else {}
    score = getattr(whole, "score_", None)
    inner = whole.estimator_ if isinstance(whole, WithHeldOutScore) else whole
    columns = plan.columns
    if isinstance(inner, Pipeline):
        columns, counted = inner.steps_[0].columns_, getattr(inner, "rows_", None)
        inner = inner.steps_[-1]
        if counted is not None:
            inner.rows_ = counted
    inner.event_, inner.guarantee_, inner.receipt_ = whole.event_, whole.guarantee_, whole.receipt_
    return TableModel(
        columns, plan.target, plan.style, inner, whole.guarantee_, whole.event_, whole.receipt_, score, notes
    )
