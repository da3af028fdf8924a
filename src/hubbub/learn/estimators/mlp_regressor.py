"""A small neural network that predicts a number."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from typing import Any

import numpy as np

from hubbub.learn.base.inputs import private_table, ready
from hubbub.learn.base.network_estimator import NetworkEstimator, Training
from hubbub.learn.base.targets import Regressor, target_bounds_of, targets_of
from hubbub.learn.estimators.mlp_classifier import hidden_of
from hubbub.learn.training.network import Examples, Floats, Labels, Network
from hubbub.learn.training.recipes import Recipe, TrainingFacts, layered
from hubbub.ledger import Account, AccountLike
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


class MLPRegressor(Regressor, NetworkEstimator):
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
        target_bounds: Any = None,
        hidden: tuple[int, ...] = (64,),
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
        self.epsilon, self.delta, self.norm, self.target_bounds = epsilon, delta, norm, target_bounds
        self.hidden, self.rows, self.neighbours, self.unit = hidden, rows, neighbours, unit
        self.sampling, self.batch, self.steps = sampling, batch, steps
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    target_bounds_: tuple[float, float]

    # ------------------------------------------------------------ fitting

    def _network(self, inputs: int, outputs: int) -> Network:
        return RegressionNetwork((inputs, *hidden_of(self), outputs))

    def _recipe(self, facts: TrainingFacts) -> Recipe:
        return layered(facts)

    def _outputs(self, y: Any, account: Account | None) -> tuple[int, Any, dict[str, object]]:
        ends = target_bounds_of(self)
        return 1, ends, {"targets": list(map(str, ends))}

    def _examples(self, made: Training, X: Any, y: Any) -> Examples:
        inputs, squares = ready(private_table(X), made.norm)
        targets = targets_of(y, made.told, len(inputs))
        return Examples(inputs, squares, targets)  # type: ignore[arg-type]

    def _learned_from(self, made: Training, values: Floats) -> None:
        super()._learned_from(made, values)
        self.target_bounds_ = made.told

    def predict(self, X: Any) -> Floats:
        """The prediction for each row, within the declared bounds of the target."""
        scores = self._scores(X)[:, 0]
        lower, upper = self.target_bounds_
        return np.clip((lower + upper) / 2 + scores * (upper - lower) / 2, lower, upper)
