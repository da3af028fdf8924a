"""Networks that are trained step by step: the run, calibrated, and the estimators that do what it says."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hubbub.learn.base.inputs import ready
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.private_count import Price, RowCount
from hubbub.learn.base.private_estimator import PrivateEstimator, Watch, Watcher
from hubbub.learn.identity import stored_fields
from hubbub.learn.training.calibration import in_units, plan
from hubbub.learn.training.network import Examples, Floats, Network
from hubbub.learn.training.noisy_descent import Descent, train
from hubbub.learn.training.recipes import Recipe, TrainingFacts
from hubbub.learn.training.sampling import FixedBatch, Sampling, sampling_of
from hubbub.ledger import Account
from hubbub.terms import Event, Guarantee, Neighbours, OutOfRange, Repeat, Unit, positive, whole


@dataclass(frozen=True, slots=True)
class Training:
    """Everything about a fit that is decided before a value is read. ``told`` is what the kind of model adds."""

    network: Network
    recipe: Recipe
    sampling: Sampling
    run: Repeat
    rows: RowCount
    norm: float
    guarantee: Guarantee
    told: Any
    facts: Mapping[str, object]

    @property
    def size(self) -> int:
        """How many numbers are stored."""
        return self.network.size

    @property
    def parts(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same."""
        return {
            "widths": list(self.network.widths),
            "bias": str(self.network.bias),
            "recipe": {key: str(value) for key, value in stored_fields(self.recipe).items()},
            "norm": str(Fraction(self.norm)),
            "rows": self.rows.expected,
            **self.facts,
        }

    def train(self, data: Examples, watch: Watch) -> Floats:
        """Do what the run says."""
        if isinstance(watch, Watcher):
            watch.begin(self.run.times)
        clip = self.recipe.clip
        return train(
            self.run,
            data,
            clipped_sum=lambda weights, rows, chosen: self.network.clipped_sum(weights, rows, chosen, clip=clip),
            start=self.network.start(),
            descent=Descent(
                rate=self.recipe.rate,
                scale=self.sampling.expected(self.rows.expected),
                momentum=self.recipe.momentum,
                tail=self.recipe.tail,
            ),
            project=self.network.project,
            watch=watch,
        )


class NetworkEstimator(PrivateEstimator):
    """An estimator that is a network trained by noisy clipped sums."""

    norm: Any
    sampling: str
    batch: int | None
    steps: int | None
    clip: float | None
    learning_rate: float | None

    weights_: Floats
    network_: Network
    recipe_: Recipe
    norm_: float

    def _network(self, inputs: int, outputs: int) -> Network:
        raise NotImplementedError  # pragma: no cover

    def _recipe(self, facts: TrainingFacts) -> Recipe:
        raise NotImplementedError  # pragma: no cover

    def _outputs(self, y: Any, account: Account | None) -> tuple[int, Any, dict[str, object]]:
        """How many outputs there are, what they mean, and the same for a fingerprint."""
        raise NotImplementedError  # pragma: no cover

    def _examples(self, made: Training, X: Any, y: Any) -> Examples:
        """The rows, ready for training."""
        raise NotImplementedError  # pragma: no cover

    # ------------------------------------------------------------ fitting

    def _plan(self, columns: int, y: Any, account: Account | None, rows: RowCount, price: Price) -> Training:
        norm, relation, unit = norm_of(self), Neighbours.parse(self.neighbours), Unit(self.unit)
        outputs, told, facts = self._outputs(y, account)
        network = self._network(columns, outputs)
        recipe = self._changed(self._recipe(TrainingFacts(rows.expected, columns, outputs, *price, relation)))
        sampling = sampling_of(self.sampling, batch=recipe.batch, rows=rows.expected, neighbours=relation)
        run = plan(
            sampling=sampling,
            steps=recipe.steps,
            clip=recipe.clip,
            error=lambda most: network.error(rows=most, clip=recipe.clip),
            size=network.size,
            rows=rows.most,
            epsilon=price[0],
            delta=price[1],
            neighbours=relation,
            unit=unit,
        )
        return Training(network, recipe, sampling, run, rows, norm, self._promise(price, account), told, facts)

    def _changed(self, recipe: Recipe) -> Recipe:
        """The recipe with what the user gave."""
        return recipe.changed(
            steps=None if self.steps is None else whole(self.steps, name="steps"),
            batch=None if self.batch is None else whole(self.batch, name="batch"),
            clip=None if self.clip is None else float(positive(self.clip, name="clip")),
            rate=None if self.learning_rate is None else float(positive(self.learning_rate, name="learning_rate")),
        )

    def _counts(self) -> bool:
        """Also where rows are declared: how much sums may be rounded follows from how many there really are.

        A sample of fixed size has a known size, and is for neighbours that have equally many rows.
        """
        return super()._counts() or (self.rows is not None and self.sampling != "fixed")

    def _after_count(self, made: Training, price: Price) -> Event | None:
        """Full batches cost the same whatever the count is; so do sampled ones, unless their rate follows from it."""
        if isinstance(made.sampling, FixedBatch):
            raise OutOfRange(
                'rows="private" does not go with sampling="fixed".',
                why="A sample of fixed size is accounted for a known number of rows.",
                fix='Write sampling="poisson", or declare rows=.',
            )
        if isinstance(self.rows, str) and self.sampling != "full":
            return None
        relation = Neighbours.parse(self.neighbours)
        return in_units(made.sampling, made.run.times, made.network.size, *price, relation, Unit(self.unit))

    def _released(self, made: Training, X: Any, y: Any, watch: Watch) -> Floats:
        data = self._examples(made, X, y)
        self._refuse_more(len(data), made.rows)
        return made.train(data, watch)

    def _learned_from(self, made: Training, values: Floats) -> None:
        self.n_features_in_, self.weights_ = made.network.widths[0], values
        self.recipe_, self.network_, self.norm_ = made.recipe, made.network, made.norm

    def _scores(self, X: Any) -> Floats:
        """What leaves the last layer, one column per output."""
        inputs = self._inputs(X)
        return self.network_.scores(self.weights_, inputs)

    def _inputs(self, X: Any) -> Floats:
        """The rows as they enter the first layer."""
        table = self._known(X)
        return ready(table, self.norm_)[0]
