"""MLPRegressor: a network of one or two hidden layers that predicts a number, trained step by step."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.network_plan import NetworkModel
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.private_estimator import PrivateRegressor
from hubbub.learn.base.targets import number_target
from hubbub.learn.estimators.mlp_classifier import hidden_widths
from hubbub.learn.estimators.network_classifier import FittedNetwork
from hubbub.learn.training.network import Floats, Labels, Network
from hubbub.learn.training.recipes import layered_recipe
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, Real


class RegressionNetwork(Network):
    """Layers of tanh units and one linear output, with the squared loss up to a residual of 1 and linear beyond.

    The residual is 1-Lipschitz in the output and at most 1, as a classifier's is, so ``error`` holds for it too.
    """

    def _forward(self, weights: Floats, inputs: Floats) -> list[Floats]:
        entering = [inputs]
        parts = self.split(weights)
        for matrix, offsets in parts[:-1]:
            entering.append(np.tanh(entering[-1] @ matrix + self.bias * offsets))
        matrix, offsets = parts[-1]
        return [*entering, np.asarray(entering[-1] @ matrix + self.bias * offsets)]

    def _backward(self, weights: Floats, entering: list[Floats], labels: Labels) -> list[Floats]:
        errors = [np.clip(entering[-1] - labels[:, None], -1.0, 1.0)]
        parts = self.split(weights)
        for i in reversed(range(1, len(parts))):
            errors.insert(0, (errors[0] @ parts[i][0].T) * (1 - entering[i] ** 2))
        return errors


class MLPRegressor(PrivateRegressor, FittedNetwork):
    """A network with one or two hidden layers of tanh units for targets between ``target_bounds``.

    The other parameters are those of ``MLPClassifier``.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: [ACGMMTZ16, Alg. 1] accounted by loss distributions [ZDW22]; ``docs/proofs/learn.md`` for sums in doubles.
    Error: none is promised; on a public test set, ``score`` tells.
    Not covered: running time; the number of rows, where it is not declared.
    """

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        target_bounds: tuple[Real, Real] | None = None,
        hidden_layer_sizes: Sequence[int] = (64,),
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
        self.epsilon, self.delta, self.norm, self.target_bounds = epsilon, delta, norm, target_bounds
        self.hidden_layer_sizes, self.rows, self.neighbours, self.unit = hidden_layer_sizes, rows, neighbours, unit
        self.sampling, self.batch_size, self.max_iter = sampling, batch_size, max_iter
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        norm, hidden, target = norm_of(self), hidden_widths(self.hidden_layer_sizes), number_target(self)
        return NetworkModel(
            network=RegressionNetwork, hidden=hidden, recipe=layered_recipe, norm=norm, target=target, given=self
        ).plan(facts)

    def predict(self, X: ArrayLike) -> Floats:
        """The prediction for each row, within the declared bounds of the target."""
        scores = self._scores(X)[:, 0]
        lower, upper = self.target_bounds_
        return np.clip((lower + upper) / 2 + scores * (upper - lower) / 2, lower, upper)
