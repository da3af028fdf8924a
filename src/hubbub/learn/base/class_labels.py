"""Classifiers: declared or public classes, and the share of rows that they get right."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.base.inputs import class_numbers, classes_of
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.base.shapes import need_target
from hubbub.learn.base.sum_estimator import SumEstimator, SumFitPlan
from hubbub.learn.training.network import Labels
from hubbub.ledger import Account
from hubbub.terms import MissingParameter, OutOfRange


class Classifier(PrivateEstimator):
    """What classifiers share."""

    classes: Any
    classes_: NDArray[Any]

    _needs_target = True

    def _labels(self, y: Any, account: Account | None) -> NDArray[Any]:
        """The declared classes; or those of y, which is looked at only if no ledger is charged."""
        if self.classes is not None:
            return _declared(self.classes)
        if account is not None:
            name = type(self).__name__
            raise MissingParameter(
                f"{name} needs classes= when a ledger is charged.",
                why="The charge comes before y is read, and depends on how many classes there are.",
                fix=f"Write {name}(..., classes=[0, 1]).",
            )
        need_target(y)
        return classes_of(y)

    def _counted_public(self) -> list[str]:
        labels = ["The set of labels counts as public."] if self.classes is None else []
        return [*super()._counted_public(), *labels]

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        raise NotImplementedError  # pragma: no cover

    def _chosen(self, scores: NDArray[Any]) -> NDArray[Any]:
        """The classes of scores: one score per row for two classes, else one per class."""
        places = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[places])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted; on private rows this is a private number."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))


class LabelledEstimator(Classifier, SumEstimator):
    """A classifier that learns from noisy sums."""


def _declared(classes: Any) -> NDArray[Any]:
    declared = np.unique(np.asarray(classes))
    if len(declared) < 2:
        raise OutOfRange(
            "classes= needs at least two class labels.", why="There is nothing to tell apart.", fix="Declare all."
        )
    return declared


def labels_for(y: Any, made: SumFitPlan, rows: int) -> Labels:
    """The class numbers of y, one per row of X; -1 for none of them."""
    return class_numbers(y, np.asarray(made.design.classes), rows)
