"""Linear support vector machines."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.network_plan import NetworkModel
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.targets import class_target
from hubbub.learn.estimators.network_classifier import NetworkClassifier, linear_coefficients, linear_offsets
from hubbub.learn.training.network import Floats, Labels, Network
from hubbub.learn.training.recipes import linear_recipe
from hubbub.learn.training.rounding_error import CHUNK, UNIT, gamma
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, Real

_BIAS = 0.3  # the constant that feeds the intercept, beside rows of norm 1


class Margins(Network):
    """One linear score per class (one in all for two classes), each with the smooth hinge loss of its margin.

    The loss of a margin m is 0 from 1 on, (1 - m)^2 / 2 between 0 and 1, and 1/2 - m below: its slope is continuous.
    """

    def error(self, *, rows: int, clip: float) -> float:
        """E of ``docs/proofs/learn.md`` for these gradients; ``docs/proofs/moments.md`` has the slopes of hinges."""
        inputs, outputs = self.widths
        [layer] = self.layers()
        row, signal, slopes = gamma(inputs + 8), math.hypot(1, self.bias), math.sqrt(outputs)
        scores = layer.spectral * row + gamma(inputs + 2) * layer.frobenius * (signal + row)
        gradient = (scores + 4 * UNIT * slopes) * (signal + row) + slopes * row + 2 * UNIT * slopes * signal
        each = gradient + (clip + gradient) * gamma(inputs + outputs + 11)
        adding = (gamma(min(rows, CHUNK) + 4) + gamma(rows // CHUNK + 2)) * (clip + each)
        return rows * (each + adding) * 1.01 + 1e-280

    def _forward(self, weights: Floats, inputs: Floats) -> list[Floats]:
        [(matrix, offsets)] = self.split(weights)
        return [inputs, inputs @ matrix + self.bias * offsets]

    def _backward(self, weights: Floats, entering: list[Floats], labels: Labels) -> list[Floats]:
        scores = entering[-1]
        if scores.shape[1] == 1:
            signs = 2.0 * labels[:, None] - 1
        else:
            signs = np.where(labels[:, None] == np.arange(scores.shape[1]), 1.0, -1.0)
        slopes = -signs * np.clip(1 - signs * scores, 0.0, 1.0)
        slopes[labels < 0] = 0
        return [np.asarray(slopes, dtype=np.float64)]


class LinearSVC(NetworkClassifier):
    """A linear support vector machine with the smooth hinge loss, one against the rest for more than two classes.

    Parameters are those of ``LogisticRegression``; there is no ``predict_proba``.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: [ACGMMTZ16, Alg. 1] accounted by loss distributions [ZDW22]; ``docs/proofs/learn.md`` for sums in doubles.
    Error: none is promised; on a public test set, ``score`` tells.
    Not covered: running time; the number of rows and the set of labels, where they are not declared.
    """

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        classes: ArrayLike | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        sampling: str = "poisson",
        batch_size: int | None = None,
        max_iter: int | None = None,
        clip: Real | None = None,
        learning_rate: Real | None = None,
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.norm = epsilon, delta, norm
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.sampling, self.batch_size, self.max_iter = sampling, batch_size, max_iter
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        norm, target = norm_of(self), class_target(self, facts)
        return NetworkModel(
            network=Margins, bias=_BIAS, recipe=linear_recipe, norm=norm, target=target, given=self
        ).plan(facts)

    @property
    def coef_(self) -> Floats:
        """The weights of features, one row per class (one row in all for two classes), for rows within the norm."""
        return linear_coefficients(self)

    @property
    def intercept_(self) -> Floats:
        """The offsets, one per row of ``coef_``."""
        return linear_offsets(self)
