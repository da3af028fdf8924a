"""MLPClassifier: a network of one or two hidden layers that tells classes apart, trained step by step."""

from __future__ import annotations

from collections.abc import Sequence

from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.network_plan import NetworkModel
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.targets import class_target
from hubbub.learn.estimators.network_classifier import WithProbabilities
from hubbub.learn.training.recipes import layered_recipe
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, whole


class MLPClassifier(WithProbabilities):
    """A network with one or two hidden layers of tanh units, trained by noisy clipped gradient sums in float64.

    Parameters are those of ``LogisticRegression``; ``hidden_layer_sizes`` lists the widths of the hidden layers.

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
        hidden_layer_sizes: Sequence[int] = (64,),
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
        self.hidden_layer_sizes = hidden_layer_sizes
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.sampling, self.batch_size, self.max_iter = sampling, batch_size, max_iter
        self.clip, self.learning_rate = clip, learning_rate
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        norm, hidden, target = norm_of(self), hidden_widths(self.hidden_layer_sizes), class_target(self, facts)
        return NetworkModel(hidden=hidden, recipe=layered_recipe, norm=norm, target=target, given=self).plan(facts)


def hidden_widths(hidden_layer_sizes: Sequence[int]) -> tuple[int, ...]:
    """The widths of the hidden layers: one or two."""
    widths = tuple(whole(width, name="hidden_layer_sizes") for width in hidden_layer_sizes)
    if not 1 <= len(widths) <= 2:
        raise OutOfRange(
            f"hidden_layer_sizes= lists one or two widths and has {len(widths)}.",
            why="The rounding of deeper networks is not bounded usefully.",
            fix="Write hidden_layer_sizes=(64,) or hidden_layer_sizes=(128, 64).",
        )
    return widths
