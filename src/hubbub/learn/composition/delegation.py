"""Estimators around another one: they can do what that one can, and scikit-learn takes them for one of its kind."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from hubbub.learn.base.private_estimator import PrivateEstimator, need_fit
from hubbub.learn.base.shapes import check_columns, shape_of
from hubbub.learn.training.network import Floats


def _if_inner_has(method: str) -> Callable[[Delegating], bool]:
    def check(wrapper: Delegating) -> bool:
        getattr(wrapper._inner(), method)  # an AttributeError, if it has none
        return True

    return check


class Delegating(PrivateEstimator):
    """A private estimator that answers as the estimator inside does."""

    _pays_for_parts = True

    def _inner(self) -> Any:
        """The estimator inside, fitted if this one is."""
        raise NotImplementedError  # pragma: no cover

    def _declared_width(self) -> int | None:
        return self._inner()._declared_width() if isinstance(self._inner(), PrivateEstimator) else None

    def _entering(self, X: ArrayLike) -> ArrayLike:
        """What enters the estimator inside."""
        return X

    def _entering_alone(self, rows: Floats) -> Floats:
        """What enters the estimator inside if each private row is asked by itself, as in training."""
        return rows

    def _checked(self, X: ArrayLike) -> ArrayLike:
        need_fit(self)
        shape_of(X, empty=True)
        check_columns(self, X)
        return self._entering(X)

    @property
    def _needs_target(self) -> bool:  # type: ignore[override]
        return bool(getattr(self._inner(), "_needs_target", False))

    @available_if(_if_inner_has("predict"))  # type: ignore[untyped-decorator]
    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """What the estimator inside predicts."""
        return self._inner().predict(self._checked(X))  # type: ignore[no-any-return]

    @available_if(_if_inner_has("predict_proba"))  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> NDArray[Any]:
        """The probabilities of the estimator inside."""
        return self._inner().predict_proba(self._checked(X))  # type: ignore[no-any-return]

    @available_if(_if_inner_has("decision_function"))  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> NDArray[Any]:
        """The scores of the estimator inside."""
        return self._inner().decision_function(self._checked(X))  # type: ignore[no-any-return]

    @available_if(_if_inner_has("transform"))  # type: ignore[untyped-decorator]
    def transform(self, X: ArrayLike) -> NDArray[Any]:
        """The rows as the estimator inside transforms them."""
        return self._inner().transform(self._checked(X))  # type: ignore[no-any-return]

    def score(self, X: ArrayLike, y: ArrayLike | None = None) -> float:
        """The score of the estimator inside; on private rows this is a private number."""
        return float(self._inner().score(self._checked(X), y))

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes of the estimator inside."""
        return self._inner().classes_  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Any:
        inner = self._inner()
        return super().__sklearn_tags__() if inner is None else get_tags(inner)


def answers_alone(model: Any, rows: Floats) -> list[Any]:
    """What a fitted model predicts for each private row, asked by itself; None where that row makes it fail.

    Guarantee: none; each answer depends on the model and on that row alone, and nothing raises or warns.
    Because: post-processing of the model and of each row [DR14, Prop. 2.1].
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        while isinstance(model, Delegating):
            model, rows = model._inner(), model._entering_alone(rows)
        return [_answer(model, row[None]) for row in rows]


def _answer(model: Any, row: Floats) -> Any:
    try:
        return model.predict(row)[0]
    except (Exception, SystemExit):  # whatever it is, it is about one row, and must not be told
        return None
