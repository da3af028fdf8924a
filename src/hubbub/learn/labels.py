"""Classifiers from noisy sums: declared or public classes, and the share of rows that they get right."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.charges import Account
from hubbub.learn.inputs import classes_of, labels_of
from hubbub.learn.network import Labels
from hubbub.learn.released import Prepared, SumEstimator
from hubbub.learn.targets import need_target
from hubbub.terms import MissingParameter, OutOfRange, WrongShape


class LabelledEstimator(SumEstimator):
    """A classifier that learns from noisy sums."""

    classes: Any

    def _labels(self, y: Any, account: Account | None) -> NDArray[Any]:
        """The declared classes; or those of y, which is looked at only if no ledger is charged."""
        return _declared(self.classes) if self.classes is not None else self._found(y, account)

    def _found(self, y: Any, account: Account | None) -> NDArray[Any]:
        if account is not None:
            name = type(self).__name__
            raise MissingParameter(
                f"{name} needs classes= when a ledger is charged.",
                why="The charge comes before y is read, and depends on how many classes there are.",
                fix=f"Write {name}(..., classes=[0, 1]).",
            )
        need_target(y)
        return classes_of(y)

    def _total(self) -> bool:
        return self.rows is not None and self.classes is not None

    def _caveats(self, account: Account | None) -> list[str]:
        said = super()._caveats(account)
        return said if self.classes is not None else [*said, "The set of labels counts as public."]

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        raise NotImplementedError  # pragma: no cover

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted; on private rows this is a private number."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))


def _declared(classes: Any) -> NDArray[Any]:
    declared = np.unique(np.asarray(classes))
    if len(declared) < 2:
        raise OutOfRange(
            "classes= needs at least two class labels.", why="There is nothing to tell apart.", fix="Declare all."
        )
    return declared


def labels_for(y: Any, made: Prepared, rows: int) -> Labels:
    """The class numbers of y, one per row of X; -1 for none of them, which is refused where the owner may be told."""
    labels = labels_of(y, np.asarray(made.design.classes))
    if len(labels) != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one class.", fix="Give one label per row of X."
        )
    if not made.total and (labels < 0).any():
        raise OutOfRange(
            "y holds labels that are none of the declared classes.",
            why="Which labels they are is not told here.",
            fix="Declare all classes=, or declare rows= too: then such rows contribute nothing.",
        )
    return labels
