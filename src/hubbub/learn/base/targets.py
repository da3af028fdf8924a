"""Regressors: targets between public bounds, and how much of their variance is explained."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np

from hubbub.learn.base.inputs import column_of, numbers_of
from hubbub.learn.base.sum_estimator import pair_of
from hubbub.learn.training.network import Floats
from hubbub.terms import MissingParameter, WrongShape


class Regressor:
    """What regressors share beside ``predict``."""

    _kind = "regressor"
    _needs_target = True

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


def targets_of(y: Any, bounds: tuple[float, float], rows: int) -> Floats:
    """y clipped to its bounds and moved to -1..1; what is not a finite number counts as the middle."""
    values = numbers_of(column_of(y))
    if len(values) != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one target.", fix="Give one per row of X."
        )
    middle, half = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    known = np.where(np.isfinite(values), values, middle)
    return np.clip((np.clip(known, *bounds) - middle) / half, -1.0, 1.0)
