"""What a trained model says of each example, whoever made the model: scikit-learn's way, or a torch module."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.attacks.requirements import Floats
from hubbub.terms import Unsuitable

if TYPE_CHECKING:
    import torch

_FLOOR = 1e-12


class TellsProbabilities(Protocol):
    """A trained classifier, as scikit-learn has it."""

    @property
    def predict_proba(self) -> Callable[[NDArray[Any]], ArrayLike]:
        """Gives a row per example and a column per class, in the order of ``classes_`` if it has them."""
        ...


TrainedModel: TypeAlias = "TellsProbabilities | torch.nn.Module"  # a module gives logits


def class_probabilities(model: TrainedModel, examples: NDArray[Any], classes: Sequence[object]) -> Floats:
    """One row per example and one column per class, in the order of ``classes``."""
    predict = getattr(model, "predict_proba", None)
    if callable(predict):
        outputs = np.asarray(predict(examples), dtype=np.float64)
        known = list(getattr(model, "classes_", classes))
    elif _is_module(model):
        outputs, known = _of_module(model, examples), list(classes)
    else:
        raise Unsuitable(
            f"a model of type {type(model).__name__} tells no probabilities.",
            why="The attack compares how sure the model is of each example.",
            fix="Have train() return a model with predict_proba(X), or a torch module that gives logits.",
        )
    if outputs.shape != (len(examples), len(known)) or not np.isfinite(outputs).all():
        raise Unsuitable(
            f"the model gives an array of shape {outputs.shape} for {len(examples)} examples of {len(known)} classes.",
            why="One finite probability is needed for each example and class.",
            fix="Have predict_proba(X) return one column per class.",
        )
    places = {one: place for place, one in enumerate(classes)}
    if not set(known) <= set(places):
        raise Unsuitable(
            "the model knows other classes than the labels.",
            why="Each of its columns is the probability of one label.",
            fix="Train it on the labels that it is given.",
        )
    placed = np.zeros((len(examples), len(classes)))
    placed[:, [places[one] for one in known]] = outputs  # a class that was not in its training set has probability 0
    return placed


def _is_module(model: object) -> bool:
    return callable(model) and hasattr(model, "parameters")


def _of_module(model: Any, examples: NDArray[Any]) -> Floats:
    """A torch module's logits as probabilities; a single logit is that of the second class."""
    import torch

    weights = next(model.parameters())
    was_training = model.training
    model.eval()
    with torch.no_grad():
        logits = model(torch.as_tensor(examples, dtype=weights.dtype, device=weights.device)).double()
    model.train(was_training)
    if logits.ndim == 1 or logits.shape[1] == 1:
        logits = torch.stack([torch.zeros_like(logits.reshape(-1)), logits.reshape(-1)], dim=1)
    return np.asarray(torch.softmax(logits, dim=1).cpu().numpy(), dtype=np.float64)


def label_log_odds(outputs: Floats, labels: NDArray[np.int64]) -> Floats:
    """The log-odds of the right class of each example; ``outputs`` may have further axes in front."""
    right = np.take_along_axis(outputs, np.broadcast_to(labels, outputs.shape[:-1])[..., None], axis=-1)[..., 0]
    wrong = outputs.sum(axis=-1) - right  # 1 - p would be 0 by rounding where the model is very sure
    return np.asarray(np.log(np.maximum(right, _FLOOR)) - np.log(np.maximum(wrong, _FLOOR)), dtype=np.float64)
