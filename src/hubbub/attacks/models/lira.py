"""LiRA: the likelihood-ratio attack, example by example [CCNSTT22].

An unusual example changes a model that was trained on it; a usual one hardly does. So each example is compared with
itself: how sure are shadow models of it that have seen it, and how sure those that have not? Both are taken as Gaussian
in the log-odds of the right class, and the target's own log-odds are held against the two.
"""

from __future__ import annotations

import numpy as np

from hubbub.attacks.models.model_leak import ModelMembership
from hubbub.attacks.models.model_outputs import TrainedModel, class_probabilities, label_log_odds
from hubbub.attacks.models.shadow_models import Shadows
from hubbub.attacks.requirements import Floats

_ENOUGH = 32  # models on a side from which each example has a variance of its own
_LEAST = 1e-6  # variance, for examples that all models treat alike


def lira(shadows: Shadows, *, online: bool = True, epsilon: float | None = None) -> ModelMembership:
    """Attack each shadow model with the help of the others, and report how well its members are found.

    ``online`` uses models that have seen the example and models that have not; otherwise (offline, cheaper for a real
    attacker, who need not train anew for each example) the latter alone. ``epsilon`` is what the training promises, for
    the report.
    """
    values = shadows.confidence
    seen, unseen = shadows.inside.astype(np.float64), (~shadows.inside).astype(np.float64)
    sides = (_fit_gaussian(values, side, leave_one_out=True) for side in (seen, unseen))
    scores = _likelihood_scores(values, *sides, online=online)
    name = f"LiRA, {'online' if online else 'offline'}"
    models, examples = shadows.inside.shape
    return ModelMembership(name, shadows.roc(scores), models, examples, epsilon)


def lira_scores(shadows: Shadows, model: TrainedModel, *, online: bool = True) -> Floats:
    """How likely each of the shadows' examples was in the training data of another model: the attack itself."""
    outputs = class_probabilities(model, shadows.examples, shadows.classes)
    value = label_log_odds(outputs, shadows.labels)
    sides = (shadows.inside.astype(np.float64), (~shadows.inside).astype(np.float64))
    seen, unseen = (_fit_gaussian(shadows.confidence, side, leave_one_out=False) for side in sides)
    return np.asarray(_likelihood_scores(value, seen, unseen, online=online)[0])  # all rows are the same


def _fit_gaussian(values: Floats, chosen: Floats, *, leave_one_out: bool) -> tuple[Floats, Floats]:
    """Mean and variance of each example over the chosen models; each model without itself if ``leave_one_out``."""
    own = chosen * float(leave_one_out)
    counts = chosen.sum(axis=0) - own
    mean = ((values * chosen).sum(axis=0) - own * values) / counts
    square = ((values**2 * chosen).sum(axis=0) - own * values**2) / counts
    variance = np.maximum(square - mean**2, 0) * counts / (counts - 1)
    if counts.min() < _ENOUGH:
        variance = np.broadcast_to(variance.mean(axis=-1, keepdims=True), variance.shape)
    return mean, np.maximum(variance, _LEAST)


def _likelihood_scores(
    value: Floats, seen: tuple[Floats, Floats], unseen: tuple[Floats, Floats], *, online: bool
) -> Floats:
    mean, variance = unseen
    if not online:
        return np.asarray((value - mean) / np.sqrt(variance))
    return _log_density(value, *seen) - _log_density(value, *unseen)


def _log_density(value: Floats, mean: Floats, variance: Floats) -> Floats:
    return np.asarray(-((value - mean) ** 2) / (2 * variance) - np.log(variance) / 2)
