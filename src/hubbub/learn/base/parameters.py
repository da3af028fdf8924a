"""What every estimator has: the parameters of its constructor, scikit-learn's conventions, and clear refusals.

scikit-learn is not needed. Where it is installed, its tags, clones, pipelines and checks work: nothing private of it is
used, and nothing of it is inherited.
"""

from __future__ import annotations

import inspect
from fractions import Fraction
from typing import Any, Self

from hubbub.learn.base.shapes import check_names
from hubbub.terms import EmptyInput, MissingParameter, OutOfRange, fraction_of, positive


class Parameters:
    """Parameters by name, as scikit-learn reads them."""

    @classmethod
    def _names(cls) -> list[str]:
        return [name for name in inspect.signature(cls.__init__).parameters if name != "self"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor, by name."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: Any) -> Self:
        """Change parameters of the constructor."""
        unknown = sorted(set(params) - set(self._names()))
        if unknown:
            raise OutOfRange(
                f"{type(self).__name__} has no parameter {unknown[0]!r}.",
                why="Only what the constructor takes can be set.",
                fix=f"It takes: {', '.join(self._names())}.",
            )
        for name, value in params.items():
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self).__init__).parameters
        given = [f"{k}={v!r}" for k, v in self.get_params().items() if v is not defaults[k].default]
        return f"{type(self).__name__}({', '.join(given)})"


class Estimator(Parameters):
    """Something that learns from rows."""

    _kind = "classifier"

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type=self._kind,
            target_tags=TargetTags(required=True),
            classifier_tags=ClassifierTags(poor_score=True),  # with few rows, noise wins
            input_tags=InputTags(),
            non_deterministic=True,
        )

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "guarantee_")

    def _check_names(self, X: Any) -> None:  # noqa: N803
        """Refuse columns of other names, or in another order, than those of the fit."""
        check_names(getattr(self, "feature_names_in_", None), X, model=type(self).__name__)

    def _need_fit(self) -> None:
        if not self.__sklearn_is_fitted__():
            raise _not_fitted(type(self).__name__)


class OfInner:
    """A method of something that wraps another estimator: there if that one has it, and asked of the fitted one."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, wrapper: Any, owner: type) -> Any:
        if wrapper is None:
            return self
        method = getattr(wrapper._inner(), self._name)  # an AttributeError, if it has none

        def asked(X: Any, *more: Any, **named: Any) -> Any:  # noqa: N803
            wrapper._need_fit()
            wrapper._check_names(X)
            return method(wrapper._entering(X), *more, **named)

        return asked


class Wrapper(Estimator):
    """An estimator around another one: it can do what that one can, and scikit-learn takes it for one of its kind."""

    def _inner(self) -> Any:
        """The estimator inside, fitted if this one is."""
        raise NotImplementedError  # pragma: no cover

    def _entering(self, X: Any) -> Any:  # noqa: N803
        """What enters the estimator inside."""
        return X

    predict = OfInner()
    predict_proba = OfInner()
    decision_function = OfInner()
    transform = OfInner()

    def score(self, X: Any, y: Any = None) -> float:  # noqa: N803
        """The score of the estimator inside; on private rows this is a private number."""
        self._need_fit()
        self._check_names(X)
        return float(self._inner().score(self._entering(X), y))

    @property
    def classes_(self) -> Any:
        """The classes of the estimator inside."""
        return self._inner().classes_

    def __sklearn_tags__(self) -> Any:
        return self._inner().__sklearn_tags__()


def price_of(estimator: Any) -> tuple[Fraction, Fraction]:
    """(epsilon, delta) of an estimator, or a refusal with the line to add."""
    for name, example in (("epsilon", "1"), ("delta", "1e-6")):
        if getattr(estimator, name) is None:
            raise MissingParameter(
                f"{type(estimator).__name__} needs {name}.",
                why="There is no default price.",
                fix=f"Write {type(estimator).__name__}(..., {name}={example}).",
            )
    return positive(estimator.epsilon, name="epsilon"), fraction_of(estimator.delta, name="delta")


def norm_of(estimator: Any) -> float:
    """The declared norm of rows, or a refusal with the line to add."""
    if estimator.norm is None:
        raise MissingParameter(
            f"{type(estimator).__name__} needs norm=, the largest L2 norm of a row of X.",
            why="Without it one row could move the model without limit, and reading it from X would tell about rows.",
            fix=f"Write {type(estimator).__name__}(..., norm=1.0); longer rows are scaled down to it.",
        )
    return float(positive(estimator.norm, name="norm"))


def is_private(given: Any, *, name: str, else_: str, example: str) -> bool:
    """Whether a parameter says "private": found in the rows and paid for, instead of declared."""
    if not isinstance(given, str):
        return False
    if given != "private":
        raise OutOfRange(
            f"{name} must be {else_} or 'private' and is {given!r}.",
            why="It is known, or found and paid for.",
            fix=f'Write {example} or {name}="private".',
        )
    return True


def _not_fitted(name: str) -> Exception:
    words = {
        "why": "There is no model yet.",
        "fix": f"Call {name}.fit(X, y) first.",
    }
    try:
        from sklearn.exceptions import NotFittedError
    except ImportError:
        return EmptyInput(f"this {name} is not fitted.", **words)
    kind = type(
        "NotFitted", (EmptyInput, NotFittedError), {"__module__": __name__, "__doc__": "There is no model yet."}
    )
    return kind(f"this {name} is not fitted.", **words)  # type: ignore[no-any-return]
