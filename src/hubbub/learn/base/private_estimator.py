"""How every private estimator fits: decide from public facts, charge, read, release, and learn from that alone."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from functools import partial
from typing import Any, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin, TransformerMixin
from sklearn.exceptions import NotFittedError

from hubbub.learn.base.fit_plan import FitFacts, FitPlan, Watch, nobody
from hubbub.learn.base.inputs import table_of
from hubbub.learn.base.jobs import fit_job, release_fit
from hubbub.learn.base.parameters import account_of, declared_columns, read_facts
from hubbub.learn.base.shapes import (
    TableColumns,
    check_columns,
    check_target,
    columns_of,
    need_target,
    shape_of,
    with_width,
)
from hubbub.learn.stored_words import tag_of
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import EmptyInput, Event, Guarantee, Neighbours, Real, Receipt


class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator of private rows. What it releases is a vector whose size is known before a value is read.

    A kind of estimator says one thing: the plan that follows from public facts. The plan is the model while it is
    fitted: it trains, and says what was learned.
    """

    _job = "fit"  # its stored name
    _pays_for_parts = False  # whether it pays for other estimators
    _needs_target = False  # whether it learns from y

    epsilon: Real | None
    delta: Real | None
    rows: int | str | None
    neighbours: Neighbours | str
    unit: str
    account: AccountLike | None
    population: str | None
    dataset: str | None

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    event_: Event
    guarantee_: Guarantee
    receipt_: Receipt | None
    rows_: int  # the noisy count, where rows="private" needs one

    def _plan(self, facts: FitFacts) -> FitPlan:
        """Every decision about a fit; of values, only labels are read, where these count as public."""
        raise NotImplementedError  # pragma: no cover

    def _declared_width(self) -> int | None:
        """How many columns there are by what was declared for each of them; None if nothing was."""
        return declared_columns(self)

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, *, watch: Watch = nobody) -> Self:
        """Learn from the rows of X (and y, where there is one); ``watch`` is told the number of each step done.

        Of a list, the number of columns is what was declared for each column (``bounds=``); if nothing was, it is the
        length of most rows and counts as public: where rows may differ in length, give an array.
        """
        table = with_width(X, self._declared_width())
        rows, width = shape_of(table, empty=self.rows is not None)
        columns = columns_of(table)
        if self._needs_target:
            need_target(y)
            check_target(y, rows)
        account = account_of(self.account, self.population)
        facts = read_facts(self, rows=rows, columns=width, y=y, account=account)
        plan = self._plan(facts)
        job = fit_job(
            plan,
            partial(plan.train, table, y, watch),
            delta=facts.price[1],
            job=self._job,
            estimator=tag_of(self),
            dataset=self.dataset,
            title=f"{self._job} {type(self).__name__}",
        )
        values, receipt = release_fit(job, account)
        before = self.__dict__.copy()
        try:
            return self._learn(plan, values, receipt, columns)
        except BaseException:  # the old model stays whole
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _learn(self, plan: FitPlan, values: Floats, receipt: Receipt | None, columns: TableColumns) -> Self:
        """Set what was learned, from the released numbers alone; nothing of an earlier fit stays."""
        learned = plan.learned(values) | vars(columns)
        for name in [name for name in vars(self) if name.endswith("_")]:
            delattr(self, name)
        self.__dict__.update(learned)
        self.event_, self.guarantee_, self.receipt_ = plan.event, plan.guarantee, receipt
        return self

    # ------------------------------------------------------------ after the fit

    def _rows_to_answer(self, X: ArrayLike) -> Floats:
        """The values of X for a fitted model, with the columns that it was fitted on."""
        need_fit(self)
        shape_of(X, empty=True)
        check_columns(self, X)
        return table_of(X)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        return tags


class PrivateClassifier(ClassifierMixin, PrivateEstimator):  # type: ignore[misc]
    """A private estimator of classes, which are declared (``classes=``) or count as public."""

    _needs_target = True

    classes: ArrayLike | None
    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # with few rows, noise wins
        return tags


class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """A private estimator of numbers between declared bounds (``target_bounds=``)."""

    _needs_target = True

    target_bounds: tuple[Real, Real] | None
    target_bounds_: tuple[float, float]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # with few rows, noise wins
        return tags


class PrivateTransformer(TransformerMixin, PrivateEstimator):  # type: ignore[misc]
    """A private estimator that transforms rows. The transformed rows of a private table stay private."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = []
        return tags


class NotFitted(EmptyInput, NotFittedError):  # type: ignore[misc]
    """There is no model yet."""


def need_fit(estimator: PrivateEstimator) -> None:
    """Refuse an estimator that has learned nothing yet."""
    if not estimator.__sklearn_is_fitted__():
        name = type(estimator).__name__
        raise NotFitted(
            f"this {name} is not fitted.", why="There is no model yet.", fix=f"Call {name}.fit(X, y) first."
        )
