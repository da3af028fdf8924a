"""Regressors: targets between public bounds, and how much of their variance is explained."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np

from hubbub.learn.inputs import column_of, numbers_of
from hubbub.learn.network import Floats
from hubbub.learn.released import pair_of
from hubbub.terms import MissingParameter, NotANumber, OutOfRange, WrongShape


class Regressor:
    """What regressors share beside ``predict``."""

    _kind = "regressor"

    def predict(self, X: Any) -> Floats:
        """The prediction for each row."""
        raise NotImplementedError  # pragma: no cover

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R^2: 1 less the share of the variance that is left; on private rows this is a private number."""
        truth = np.asarray(y, dtype=np.float64)
        left = np.average((truth - self.predict(X)) ** 2, weights=sample_weight)
        spread = np.average((truth - np.average(truth, weights=sample_weight)) ** 2, weights=sample_weight)
        return float(1 - left / spread) if spread else float(left == 0)

    def __sklearn_tags__(self) -> Any:
        from sklearn.utils import RegressorTags

        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.classifier_tags, tags.regressor_tags = None, RegressorTags(poor_score=True)
        return tags


def target_bounds_of(estimator: Any) -> tuple[float, float]:
    """The declared bounds of y, or a refusal with the line to add."""
    if estimator.target_bounds is None:
        name = type(estimator).__name__
        raise MissingParameter(
            f"{name} needs target_bounds=, the smallest and largest value of y.",
            why="Without them one row could move the model without limit, and reading them from y would tell about it.",
            fix=f"Write {name}(..., target_bounds=(0, 100)).",
        )
    return pair_of(estimator.target_bounds, "target_bounds")


def targets_of(y: Any, bounds: tuple[float, float], rows: int, *, total: bool) -> Floats:
    """y clipped to its bounds and moved to -1..1; what is not a number counts as the middle, if ``total``."""
    values = _numbers(column_of(y), total=total)
    if len(values) != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one target.", fix="Give one per row of X."
        )
    if not total and not np.isfinite(values).all():
        raise OutOfRange(
            "Input y contains NaN or infinity.",
            why="A missing target teaches nothing. Which rows have one is not told here.",
            fix="Leave such rows out, or declare rows=: then they count as the middle of the bounds.",
        )
    middle, half = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    scaled = np.clip((np.clip(values, *bounds) - middle) / half, -1.0, 1.0)
    return np.where(np.isfinite(values), scaled, 0.0)


def _numbers(values: Any, *, total: bool) -> Floats:
    numbers = numbers_of(values, total=total)
    if numbers is None:
        raise NotANumber("y holds values that are not numbers.", why="Targets are numbers.", fix="Give numbers.")
    return numbers


def need_target(y: Any) -> None:
    """Refuse a missing y."""
    if y is None:
        raise MissingParameter(
            "requires y to be passed, but the target y is None.", why="There is nothing to learn.", fix="Give y."
        )
