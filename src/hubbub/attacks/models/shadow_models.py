"""Shadow models: train many models like the target, and learn how they treat what they were trained on.

The attacker has examples of the same kind as the training data and can run the same training. Each shadow model sees
a random half of the examples, so it is known for each model which examples are in. What sets those apart is then
looked for in the target: by a classifier on the model's probabilities [SSSS17], or example by example (``lira``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.attacks.models.model_leak import ModelMembership
from hubbub.attacks.models.model_outputs import TrainedModel, class_probabilities, label_log_odds
from hubbub.attacks.requirements import Floats, both_kinds, check_lengths, rectangular_array
from hubbub.attacks.roc import Roc
from hubbub.terms import Unsuitable, whole

Train = Callable[[NDArray[Any], NDArray[Any]], TrainedModel]


@dataclass(frozen=True, slots=True, eq=False)
class Shadows:
    """Models by examples: who was trained on what (``inside``), and the ``probabilities`` that each gives the classes.

    Each model may play the target while the others are the shadows. So all of them give scores, of members and of
    others, and rare false positives can be counted with few models.
    """

    examples: NDArray[Any]
    labels: NDArray[np.int64]
    classes: tuple[object, ...]
    inside: NDArray[np.bool_]
    probabilities: Floats

    @property
    def confidence(self) -> Floats:
        """The log-odds that each model gives the right class of each example."""
        return label_log_odds(self.probabilities, self.labels)

    def roc(self, scores: Floats) -> Roc:
        """The scores of all models and examples, split into members and others."""
        return Roc.of(scores[self.inside], scores[~self.inside])


def shadow_models(train: Train, X: ArrayLike, y: ArrayLike, *, models: int = 32, seed: int = 0) -> Shadows:  # noqa: N803
    """Train ``models`` models by ``train(X, y)``, each on a random half of the examples, each example in half of them.

    A model has ``predict_proba(X)`` (and ``classes_``) as in scikit-learn, or is a torch module that gives logits for
    classes 0, 1, ....
    """
    examples, codes, classes = _labelled_examples(X, y)
    count = whole(models, name="models", least=8)
    order = np.random.default_rng(seed).random((count, len(codes))).argsort(axis=0)
    inside = order < count // 2
    named = np.asarray(classes)[codes]
    outputs = [class_probabilities(_train_model(train, examples[row], named[row]), examples, classes) for row in inside]
    return Shadows(examples, codes, classes, inside, np.stack(outputs))


def _labelled_examples(X: ArrayLike, y: ArrayLike) -> tuple[NDArray[Any], NDArray[np.int64], tuple[object, ...]]:  # noqa: N803
    examples, labels = rectangular_array(X), rectangular_array(y)
    if examples.ndim < 2 or labels.ndim != 1:
        raise Unsuitable(
            f"X and y have shapes {examples.shape} and {labels.shape}.",
            why="There is one row of X, and one label, for each example.",
            fix="Give X with one row per example and y as a flat list.",
        )
    check_lengths(len(examples), len(labels), what="examples and labels")
    both_kinds(labels, name="labels")
    classes, codes = np.unique(labels, return_inverse=True)
    return examples, codes.astype(np.int64), tuple(classes.tolist())


def _train_model(train: Train, examples: NDArray[Any], labels: NDArray[Any]) -> TrainedModel:
    if np.unique(labels).size < 2:
        raise Unsuitable(
            "a random half of the examples has labels of one kind only.",
            why="No model can be trained on it.",
            fix="Give more examples of the rarer class.",
        )
    return train(examples, labels)


def confidence_attack(shadows: Shadows) -> ModelMembership:
    """Say "member" wherever the model is sure: one threshold for all examples, the simplest attack [YGFJ18]."""
    return ModelMembership("confidence", shadows.roc(shadows.confidence), *shadows.inside.shape)


def shadow_attack(shadows: Shadows) -> ModelMembership:
    """A classifier per class tells members from others by the model's probabilities [SSSS17].

    The classifiers (logistic regressions) learn from one half of the models and judge the other, and the other way
    round.
    """
    features = _log_odds(shadows.probabilities)
    half = len(features) // 2
    scores = np.empty(shadows.inside.shape)
    for learn, judge in ((slice(half), slice(half, None)), (slice(half, None), slice(half))):
        for code in range(len(shadows.classes)):
            mine = shadows.labels == code
            known = features[learn][:, mine].reshape(-1, features.shape[2])
            weights = _fit_logistic(known, shadows.inside[learn][:, mine].ravel())
            scores[judge, mine] = features[judge][:, mine] @ weights
    return ModelMembership("shadow models", shadows.roc(scores), *shadows.inside.shape)


def _log_odds(outputs: Floats) -> Floats:
    """The log-odds of every class, and a constant."""
    every = [label_log_odds(outputs, np.full(outputs.shape[1], code)) for code in range(outputs.shape[2])]
    return np.stack([*every, np.ones(outputs.shape[:2])], axis=2)


def _fit_logistic(features: Floats, labels: NDArray[np.bool_], *, ridge: float = 1e-2) -> Floats:
    """The weights of a logistic regression, by Newton's method."""
    weights = np.zeros(features.shape[1])
    for _ in range(25):
        chance = 1 / (1 + np.exp(-np.clip(features @ weights, -30, 30)))
        slope = features.T @ (labels - chance) - ridge * weights
        bend = (features.T * (chance * (1 - chance))) @ features + ridge * np.eye(len(weights))
        weights = weights + np.linalg.solve(bend, slope)
    return weights
