"""Estimators around another one: they can do what that one can, and scikit-learn takes them for one of its kind."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike, NDArray
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if

from hubbub.learn.base.private_estimator import PrivateEstimator, need_fit
from hubbub.learn.base.shapes import check_columns, shape_of


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

    def _entering(self, X: ArrayLike) -> ArrayLike:
        """What enters the estimator inside."""
        return X

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
