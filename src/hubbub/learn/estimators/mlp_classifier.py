"""A small neural network."""

from __future__ import annotations

from typing import Any

from hubbub.learn.base.network_classifier import NetworkClassifier
from hubbub.learn.training.network import Network
from hubbub.learn.training.recipes import Recipe, TrainingFacts, layered
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, whole


class MLPClassifier(NetworkClassifier):
    """A network with one or two hidden layers of tanh units, trained by noisy clipped gradient sums in float64.

    Parameters are those of ``LogisticRegression``; ``hidden`` lists the widths of the hidden layers.

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
        hidden: tuple[int, ...] = (64,),
        classes: Any = None,
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
        self.epsilon, self.delta, self.norm, self.hidden = epsilon, delta, norm, hidden
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.sampling, self.batch, self.steps, self.clip, self.learning_rate = (
            sampling,
            batch,
            steps,
            clip,
            learning_rate,
        )
        self.account, self.population, self.dataset = account, population, dataset

    def _network(self, inputs: int, outputs: int) -> Network:
        return Network((inputs, *hidden_of(self), outputs))

    def _recipe(self, facts: TrainingFacts) -> Recipe:
        return layered(facts)


def hidden_of(estimator: Any) -> tuple[int, ...]:
    """The widths of the hidden layers: one or two."""
    widths = tuple(whole(width, name="hidden") for width in estimator.hidden)
    if not 1 <= len(widths) <= 2:
        raise OutOfRange(
            f"hidden= lists one or two widths and has {len(widths)}.",
            why="The rounding of deeper networks is not bounded usefully.",
            fix="Write hidden=(64,) or hidden=(128, 64).",
        )
    return widths
