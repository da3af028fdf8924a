"""A small neural network that predicts a number."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.charges import Account
from hubbub.learn.engine import Descent, train
from hubbub.learn.estimators import norm_of, price_of
from hubbub.learn.inputs import ready, shape_of
from hubbub.learn.mlp import MLPClassifier
from hubbub.learn.moments import Grid, Plan
from hubbub.learn.network import Examples, Floats, Labels, Network
from hubbub.learn.plans import plan
from hubbub.learn.recipes import Facts, Recipe, layered
from hubbub.learn.released import Design, Prepared, SumEstimator
from hubbub.learn.sampling import Sampling, sampling_of
from hubbub.learn.targets import Regressor, need_target, target_bounds_of, targets_of
from hubbub.terms import ApproximateDP, Guarantee, Neighbours, Repeat, Unit, positive, whole


class Curve(Network):
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


@dataclass(frozen=True, slots=True)
class Machine:
    """How a network is trained, from public facts."""

    network: Curve
    recipe: Recipe
    sampling: Sampling

    def train(self, run: Repeat, data: Examples, rows: int) -> Floats:
        """Do what the run says."""
        clip = self.recipe.clip
        return train(
            run,
            data,
            clipped_sum=lambda weights, given, chosen: self.network.clipped_sum(weights, given, chosen, clip=clip),
            start=self.network.start(),
            descent=Descent(
                rate=self.recipe.rate,
                scale=self.sampling.expected(rows),
                momentum=self.recipe.momentum,
                tail=self.recipe.tail,
            ),
            project=self.network.project,
        )


class MLPRegressor(Regressor, SumEstimator):
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
        epsilon: Any = None,
        delta: Any = None,
        norm: Any = None,
        target_bounds: Any = None,
        hidden: tuple[int, ...] = (64,),
        rows: Any = None,
        neighbours: Any = "add-remove",
        unit: str = "",
        sampling: str = "poisson",
        batch: int | None = None,
        steps: int | None = None,
        clip: float | None = None,
        learning_rate: float | None = None,
        account: Any = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.norm, self.target_bounds = epsilon, delta, norm, target_bounds
        self.hidden, self.rows, self.neighbours, self.unit = hidden, rows, neighbours, unit
        self.sampling, self.batch, self.steps = sampling, batch, steps
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    # ------------------------------------------------------------ fitting

    def _machine(self, rows: int, columns: int) -> Machine:
        widths = MLPClassifier(hidden=self.hidden)._network(columns, 1).widths
        epsilon, delta = price_of(self)
        relation = Neighbours.parse(self.neighbours)
        recipe = layered(Facts(rows, columns, 1, epsilon, delta, relation)).changed(
            steps=None if self.steps is None else whole(self.steps, name="steps"),
            batch=None if self.batch is None else whole(self.batch, name="batch"),
            clip=None if self.clip is None else float(positive(self.clip, name="clip")),
            rate=None if self.learning_rate is None else float(positive(self.learning_rate, name="learning_rate")),
        )
        sampling = sampling_of(self.sampling, batch=recipe.batch, rows=rows, neighbours=relation)
        return Machine(Curve(widths), recipe, sampling)

    def _prepare(self, X: Any, y: Any, account: Account | None) -> Prepared:
        need_target(y)
        (epsilon, delta), norm, ends = price_of(self), norm_of(self), target_bounds_of(self)
        relation, unit = Neighbours.parse(self.neighbours), Unit(self.unit)
        rows, columns = shape_of(X)
        rows = rows if self.rows is None else whole(self.rows, name="rows")
        machine = self._machine(rows, columns)
        run = plan(
            sampling=machine.sampling,
            steps=machine.recipe.steps,
            clip=machine.recipe.clip,
            error=lambda most: machine.network.error(rows=most, clip=machine.recipe.clip),
            size=machine.network.size,
            rows=2 * rows,
            epsilon=epsilon,
            delta=delta,
            neighbours=relation,
            unit=unit,
        )
        facts = {
            "norm": str(Fraction(norm)),
            "targets": list(map(str, ends)),
            "widths": list(machine.network.widths),
            "recipe": str(machine.recipe),
        }
        size = machine.network.size
        design = Design(size=size, square=Fraction(1), largest=1, stored=size, facts=facts)
        guarantee = Guarantee(ApproximateDP(epsilon, delta), unit, relation, tuple(self._caveats(account)))
        return Prepared(design, Plan(run, Grid(20)), rows, columns, guarantee, self._total())

    def _release(self, made: Prepared, X: Any, y: Any) -> Floats:
        inputs, squares = ready(self._table(X, made), norm_of(self))
        targets = targets_of(y, target_bounds_of(self), len(inputs), total=made.total)
        data = Examples(inputs, squares, targets)  # type: ignore[arg-type]
        return self._machine(made.rows, made.columns).train(made.plan.run, data, made.rows)

    def _learn(self, made: Prepared, values: Floats) -> None:
        machine = self._machine(made.rows, made.columns)
        self.weights_, self.network_, self.recipe_ = values, machine.network, machine.recipe
        self.norm_, self.target_bounds_ = norm_of(self), target_bounds_of(self)

    def predict(self, X: Any) -> Floats:
        """The prediction for each row, within the declared bounds of the target."""
        inputs = ready(self._known(X), self.norm_)[0]
        lower, upper = self.target_bounds_
        scores = self.network_.scores(self.weights_, inputs)[:, 0]
        return np.clip((lower + upper) / 2 + scores * (upper - lower) / 2, lower, upper)
