"""What LogisticRegression and MLPClassifier share: plan from public facts, charge, read, train, predict."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.charges import Account, account_of, charged, request_for
from hubbub.learn.engine import Descent, train
from hubbub.learn.estimators import Estimator, norm_of, price_of
from hubbub.learn.inputs import classes_of, examples, ready, shape_of, table_of
from hubbub.learn.network import Examples, Floats, Network
from hubbub.learn.plans import plan
from hubbub.learn.recipes import Facts, Recipe
from hubbub.learn.sampling import Sampling, sampling_of
from hubbub.terms import (
    ApproximateDP,
    Guarantee,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Receipt,
    Repeat,
    Unit,
    WrongShape,
    positive,
    whole,
)


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about a fit that is decided before a value is read."""

    network: Network
    recipe: Recipe
    sampling: Sampling
    run: Repeat
    norm: float
    rows: int
    classes: NDArray[Any]
    guarantee: Guarantee

    def train(self, data: Examples, watch: Callable[[int], None]) -> Floats:
        """Do what the run says."""
        if len(data) > 2 * self.rows:
            raise WrongShape(
                f"more than twice the {self.rows} declared rows came.",
                why="The rounding of sums is bounded for at most that many.",
                fix="Declare rows= about as many as there are.",
            )
        clip = self.recipe.clip
        return train(
            self.run,
            data,
            clipped_sum=lambda weights, rows, chosen: self.network.clipped_sum(weights, rows, chosen, clip=clip),
            start=self.network.start(),
            descent=Descent(
                rate=self.recipe.rate,
                scale=self.sampling.expected(self.rows),
                momentum=self.recipe.momentum,
                tail=self.recipe.tail,
            ),
            project=self.network.project,
            watch=watch,
        )


class NetworkClassifier(Estimator):
    """A classifier that is a network trained by noisy clipped sums."""

    epsilon: Any
    delta: Any
    norm: Any
    classes: Any
    rows: Any
    neighbours: Any
    unit: str
    sampling: str
    batch: int | None
    steps: int | None
    clip: float | None
    learning_rate: float | None
    account: Any
    population: str | None
    dataset: str | None

    classes_: NDArray[Any]
    n_features_in_: int
    weights_: Floats
    event_: Repeat
    guarantee_: Guarantee
    receipt_: Receipt | None

    def _network(self, inputs: int, outputs: int) -> Network:
        raise NotImplementedError  # pragma: no cover

    def _recipe(self, facts: Facts) -> Recipe:
        raise NotImplementedError  # pragma: no cover

    # ------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any, *, watch: Callable[[int], None] = lambda step: None) -> Self:
        """Train on the rows of X with the classes y; ``watch`` is told the number of each step done."""
        account = account_of(self.account, self.population)
        made = self._prepare(X, y, account)
        request = None
        if account is not None:
            request = request_for(
                account,
                made.run,
                delta=made.guarantee.holds.delta,  # type: ignore[attr-defined]
                size=made.network.size,
                dataset=self.dataset,
                parts=_parts(made),
                title=f"train {type(self).__name__}",
            )
        total = self.classes is not None and self.rows is not None
        weights, receipt = charged(
            account,
            request,
            lambda: made.train(examples(X, y, norm=made.norm, classes=made.classes, total=total), watch),
        )
        self._keep(X, made, weights, receipt)
        return self

    def _prepare(self, X: Any, y: Any, account: Account | None) -> Prepared:
        """All decisions, from parameters and shapes; y is looked at for its classes only if none are declared."""
        epsilon, delta = price_of(self)
        norm, relation = norm_of(self), Neighbours.parse(self.neighbours)
        rows, inputs = shape_of(X)
        rows = rows if self.rows is None else whole(self.rows, name="rows")
        classes = self._classes(y, account)
        outputs = 1 if len(classes) == 2 else len(classes)
        network = self._network(inputs, outputs)
        recipe = self._chosen(Facts(rows, inputs, outputs, epsilon, delta, relation))
        sampling = sampling_of(self.sampling, batch=recipe.batch, rows=rows, neighbours=relation)
        run = plan(
            sampling=sampling,
            steps=recipe.steps,
            clip=recipe.clip,
            error=lambda most: network.error(rows=most, clip=recipe.clip),
            size=network.size,
            rows=2 * rows,
            epsilon=epsilon,
            delta=delta,
            neighbours=relation,
            unit=Unit(self.unit),
        )
        guarantee = Guarantee(ApproximateDP(epsilon, delta), Unit(self.unit), relation, self._caveats(account))
        return Prepared(network, recipe, sampling, run, norm, rows, classes, guarantee)

    def _chosen(self, facts: Facts) -> Recipe:
        return self._recipe(facts).changed(
            steps=None if self.steps is None else whole(self.steps, name="steps"),
            batch=None if self.batch is None else whole(self.batch, name="batch"),
            clip=None if self.clip is None else float(positive(self.clip, name="clip")),
            rate=None if self.learning_rate is None else float(positive(self.learning_rate, name="learning_rate")),
        )

    def _classes(self, y: Any, account: Account | None) -> NDArray[Any]:
        if self.classes is not None:
            declared = np.unique(np.asarray(self.classes))
            if len(declared) < 2:
                raise OutOfRange(
                    "classes= needs at least two class labels.",
                    why="There is nothing to tell apart.",
                    fix="Declare all.",
                )
            return declared
        if account is not None:
            raise MissingParameter(
                f"{type(self).__name__} needs classes= when a ledger is charged.",
                why="The charge comes before y is read, and depends on how many classes there are.",
                fix=f"Write {type(self).__name__}(..., classes=[0, 1]).",
            )
        if y is None:
            raise MissingParameter(
                "requires y to be passed, but the target y is None.", why="A classifier learns classes.", fix="Give y."
            )
        return classes_of(y)

    def _caveats(self, account: Account | None) -> tuple[str, ...]:
        said = ["Running time is not covered."]
        if self.unit:
            said.append("One row each is assumed.")
        if self.rows is None:
            said.append("The number of rows counts as public.")
        if self.classes is None:
            said.append("The set of labels counts as public.")
        if account is None:
            said.append("Charged to no ledger.")
        return tuple(said)

    def _keep(self, X: Any, made: Prepared, weights: Floats, receipt: Receipt | None) -> None:
        self.classes_, self.n_features_in_ = made.classes, made.network.widths[0]
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.weights_, self.event_, self.guarantee_, self.receipt_ = weights, made.run, made.guarantee, receipt
        self.recipe_, self.network_, self.norm_ = made.recipe, made.network, made.norm

    # ------------------------------------------------------------ predicting

    def decision_function(self, X: Any) -> Floats:
        """The scores: one per row for two classes (above 0: the second), else one per class."""
        inputs = self._inputs(X)
        scores = self.network_.scores(self.weights_, inputs)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class."""
        inputs = self._inputs(X)
        chances = self.network_.probabilities(self.weights_, inputs)
        return np.hstack([1 - chances, chances]) if chances.shape[1] == 1 else chances

    def predict(self, X: Any) -> NDArray[Any]:
        """The likeliest class of each row."""
        scores = self.decision_function(X)
        chosen = (scores > 0).astype(np.int64) if scores.ndim == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The share of rows whose class is predicted; on private rows this is a private number."""
        return float(np.average(self.predict(X) == np.asarray(y), weights=sample_weight))

    def _inputs(self, X: Any) -> Floats:
        self._need_fit()
        (_, columns), name = shape_of(X), type(self).__name__
        if columns != self.n_features_in_:
            raise WrongShape(
                f"X has {columns} features, but {name} is expecting {self.n_features_in_} features as input.",
                why="The model has a weight for each feature it was trained on.",
                fix="Give the same columns in the same order.",
            )
        return ready(table_of(X), self.norm_)[0]


def _parts(made: Prepared) -> dict[str, object]:
    """What, beside the event, makes two fits the same."""
    return {
        "widths": list(made.network.widths),
        "bias": str(made.network.bias),
        "recipe": {name: str(value) for name, value in asdict(made.recipe).items()},
        "norm": str(Fraction(made.norm)),
        "rows": made.rows,
        "classes": [repr(name) for name in made.classes.tolist()],  # 1 is not "1"
    }
