"""What LogisticRegression, LinearSVC and MLPClassifier share: classes, scores and probabilities of a network."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.base.class_labels import Classifier
from hubbub.learn.base.inputs import examples
from hubbub.learn.base.network_estimator import NetworkEstimator, Training
from hubbub.learn.training.network import Examples, Floats
from hubbub.learn.training.recipes import Recipe, TrainingFacts, linear
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, Real, identity_of


class NetworkClassifier(NetworkEstimator, Classifier):
    """A classifier that is a network trained by noisy clipped sums."""

    def _outputs(self, y: Any, account: Account | None) -> tuple[int, Any, dict[str, object]]:
        classes = self._labels(y, account)
        names = identity_of(classes.tolist())  # 1 is not "1"
        return 1 if len(classes) == 2 else len(classes), classes, {"classes": names}

    def _examples(self, made: Training, X: Any, y: Any) -> Examples:
        return examples(X, y, norm=made.norm, classes=made.told)

    def _learned_from(self, made: Training, values: Floats) -> None:
        super()._learned_from(made, values)
        self.classes_ = made.told

    # ------------------------------------------------------------ predicting

    def decision_function(self, X: Any) -> Floats:
        """The scores: one per row for two classes (above 0: the second), else one per class."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        inputs = self._inputs(X)
        chances = self.network_.probabilities(self.weights_, inputs)
        return np.hstack([1 - chances, chances]) if chances.shape[1] == 1 else chances

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        return self._chosen(self.decision_function(X))


class LinearClassifier(NetworkClassifier):
    """A classifier without hidden layers."""

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        classes: Any = None,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        sampling: str = "poisson",
        batch: int | None = None,
        steps: int | None = None,
        clip: float | None = None,
        learning_rate: float | None = None,
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.norm = epsilon, delta, norm
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.sampling, self.batch, self.steps = sampling, batch, steps
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    def _recipe(self, facts: TrainingFacts) -> Recipe:
        return linear(facts)

    @property
    def coef_(self) -> Floats:
        """The weights of features, one row per class (one row in all for two classes), for rows within the norm."""
        return self.network_.split(self.weights_)[0][0].T / self.norm_

    @property
    def intercept_(self) -> Floats:
        """The offsets, one per row of ``coef_``."""
        return self.network_.split(self.weights_)[0][1] * self.network_.bias
