"""Networks that are trained step by step: what a user may say, the plan of a run, and its training."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, FitPlan, RowCount, Watch, Watcher, nobody
from hubbub.learn.base.inputs import private_table, refuse_more_rows, scale_rows
from hubbub.learn.base.parameters import positive_double
from hubbub.learn.base.private_count import plan_with_count
from hubbub.learn.base.targets import Target
from hubbub.learn.stored_words import stored_fields
from hubbub.learn.training.calibration import in_units, plan_run
from hubbub.learn.training.network import Examples, Floats, Network
from hubbub.learn.training.noisy_descent import Descent, train
from hubbub.learn.training.recipes import Recipe, TrainingFacts
from hubbub.learn.training.sampling import FixedBatch, Sampling, most_rows, sampling_of
from hubbub.terms import Event, Guarantee, OutOfRange, Real, Repeat, TooLarge, whole


class TrainingParameters(Protocol):
    """The parameters of estimators that are trained step by step; None is left to the recipe."""

    sampling: str
    batch_size: int | None
    max_iter: int | None
    clip: Real | None
    learning_rate: Real | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkModel:
    """A kind of network: its layers and its recipe, what it predicts, and what the user said about training."""

    network: type[Network] = Network
    hidden: tuple[int, ...] = ()
    bias: float = 1.0
    least_outputs: int = 1
    recipe: Callable[[TrainingFacts], Recipe]
    largest_batch: int | None = None
    norm: float
    target: Target
    given: TrainingParameters

    def plan(self, facts: FitFacts) -> FitPlan:
        """The plan of a fit, which counts first where the number of rows is private or declared.

        Also where it is declared: how much sums may be rounded follows from how many rows there really are. A sample of
        fixed size has a known size, and is for neighbours that have equally many rows.
        """
        if facts.private_rows or (facts.declared is not None and self.given.sampling != "fixed"):
            return plan_with_count(facts, self._plan_rows, rest=self._after_count)
        return self._plan_rows(facts, facts.row_count)

    def _plan_rows(self, facts: FitFacts, rows: RowCount) -> NetworkPlan:
        (epsilon, delta), target, given = facts.price, self.target, _given_recipe(self.given)
        outputs = max(self.least_outputs, target.outputs)
        public = TrainingFacts(rows.expected, facts.columns, target.outputs, epsilon, delta, facts.neighbours)
        recipe = self.recipe(public).changed(**given)
        sampling = sampling_of(self.given.sampling, batch=recipe.batch, rows=rows.expected, neighbours=facts.neighbours)
        if self.largest_batch is not None and sampling.expected(rows.expected) > self.largest_batch:
            raise _large_batch(self.largest_batch)
        most = most_rows(sampling, rows.most, recipe.steps, delta)
        network = self.network((facts.columns, *self.hidden, outputs), bias=self.bias)
        size, error = network.size, network.error(rows=most, clip=recipe.clip)
        event = plan_run(
            sampling=sampling,
            steps=recipe.steps,
            clip=recipe.clip,
            error=error,
            size=size,
            most=most,
            epsilon=epsilon,
            delta=delta,
            neighbours=facts.neighbours,
            unit=facts.unit,
        )
        shape = {
            "widths": list(network.widths),
            "bias": str(network.bias),
            "recipe": {key: str(value) for key, value in stored_fields(recipe).items()},
            "norm": str(Fraction(self.norm)),
            "rows": rows.expected,
        }
        return NetworkPlan(
            facts,
            facts.guarantee,
            network,
            recipe,
            sampling,
            rows,
            self.norm,
            target,
            event,
            size,
            {**shape, **target.identity},
        )

    def _after_count(self, plan: FitPlan, facts: FitFacts) -> Event | None:
        """Full batches cost the same whatever the count is; so do sampled ones, unless their rate follows from it."""
        assert isinstance(plan, NetworkPlan)
        if isinstance(plan.sampling, FixedBatch):
            raise OutOfRange(
                'rows="private" does not go with sampling="fixed".',
                why="A sample of fixed size is accounted for a known number of rows.",
                fix='Write sampling="poisson", or declare rows=.',
            )
        if facts.private_rows and self.given.sampling != "full":
            return None
        return in_units(plan.sampling, plan.event.times, plan.size, *facts.price, facts.neighbours, facts.unit)


def _large_batch(most: int) -> TooLarge:
    return TooLarge(
        f"a batch has more than {most} rows.",
        why="All pairs of a batch are formed, and they grow with its square.",
        fix='Write batch_size=2048 and sampling="poisson".',
    )


def _given_recipe(given: TrainingParameters) -> dict[str, float | None]:
    """What a user said, by the fields of a recipe."""
    return {
        "steps": None if given.max_iter is None else whole(given.max_iter, name="max_iter"),
        "batch": None if given.batch_size is None else whole(given.batch_size, name="batch_size"),
        "clip": None if given.clip is None else positive_double(given.clip, name="clip"),
        "rate": None if given.learning_rate is None else positive_double(given.learning_rate, name="learning_rate"),
    }


@dataclass(frozen=True, slots=True)
class NetworkPlan:
    """A training run whose every decision is made."""

    facts: FitFacts
    guarantee: Guarantee
    network: Network
    recipe: Recipe
    sampling: Sampling
    rows: RowCount
    norm: float
    target: Target
    event: Repeat
    size: int
    identity: dict[str, object]

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Do what the event says: the weights."""
        assert y is not None  # the estimator needs a target
        table = private_table(X)
        refuse_more_rows(table, self.facts, self.rows)
        inputs, squares = scale_rows(table, self.norm)
        data = Examples(inputs, squares, self.target.read(y, len(inputs)))  # type: ignore[arg-type]
        if isinstance(watch, Watcher):
            watch.begin(self.event.times)
        clip = self.recipe.clip
        return train(
            self.event,
            data,
            clipped_sum=lambda weights, rows, chosen: self.network.clipped_sum(weights, rows, chosen, clip=clip),
            start=self.network.project(self.network.start()),
            descent=Descent(
                rate=self.recipe.rate,
                scale=self.sampling.expected(self.rows.expected),
                momentum=self.recipe.momentum,
                tail=self.recipe.tail,
            ),
            project=self.network.project,
            watch=watch,
        )

    def learned(self, values: Floats) -> dict[str, object]:
        """The weights, the network that they belong to, and what y meant."""
        network = {"weights_": values, "recipe_": self.recipe, "network_": self.network, "norm_": self.norm}
        return {**network, **self.target.learned}
