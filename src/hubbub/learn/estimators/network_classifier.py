"""What LogisticRegression, LinearSVC and MLPClassifier share once they are fitted: scores, classes, coefficients."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.inputs import scale_rows
from hubbub.learn.base.private_estimator import PrivateClassifier, PrivateEstimator
from hubbub.learn.training.network import Floats, Network
from hubbub.learn.training.recipes import Recipe


class FittedNetwork(PrivateEstimator):
    """An estimator that is a network, once it is fitted."""

    weights_: Floats
    network_: Network
    recipe_: Recipe
    norm_: float

    def _inputs(self, X: ArrayLike) -> Floats:
        """The rows as they enter the first layer."""
        return scale_rows(self._rows_to_answer(X), self.norm_)[0]

    def _scores(self, X: ArrayLike) -> Floats:
        """What leaves the last layer, one column per output."""
        inputs = self._inputs(X)
        return self.network_.scores(self.weights_, inputs)

    @property
    def n_iter_(self) -> int:
        """How many steps the training took."""
        return self.recipe_.steps


class NetworkClassifier(PrivateClassifier, FittedNetwork):
    """A classifier that is a network."""

    def decision_function(self, X: ArrayLike) -> Floats:
        """The scores: one per row for two classes (above 0: the second), else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The likeliest class of each row."""
        scores = self.decision_function(X)
        return likeliest_class(self.classes_, scores)


class WithProbabilities(NetworkClassifier):
    """A network whose scores are those of probabilities."""

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class."""
        inputs = self._inputs(X)
        chances = self.network_.probabilities(self.weights_, inputs)
        return np.hstack([1 - chances, chances]) if chances.shape[1] == 1 else chances


def likeliest_class(classes: NDArray[Any], scores: Floats) -> NDArray[Any]:
    """The classes of scores: one score per row for two classes, else one per class."""
    numbers = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
    return np.asarray(classes[numbers])


def linear_coefficients(model: FittedNetwork) -> Floats:
    """The weights of features, one row per class (one row in all for two classes), for rows within the norm."""
    return model.network_.split(model.weights_)[0][0].T / model.norm_


def linear_offsets(model: FittedNetwork) -> Floats:
    """The offsets, one per row of the coefficients."""
    return model.network_.split(model.weights_)[0][1] * model.network_.bias
