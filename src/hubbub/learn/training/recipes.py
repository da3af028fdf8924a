"""Hyper-parameters that nobody needs to tune, from public facts alone.

For rows of norm 1, full-batch descent with learning rate r for T steps moves each weight by noise of standard deviation
about r T clip / (mu n), whatever T is (mu is the budget's Gaussian parameter [DRS22]). What matters is the *distance*
r T: far enough to learn, not so far that the noise in a prediction outgrows the prediction. A fixed noise in
predictions sets it; steps, clipping and batches follow. The constants were set on training rows of Adult and MNIST, on
rows of SST-2 that were held back, and on two small tables of scikit-learn; not by test rows of Adult or MNIST.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.accounting import mu_for
from hubbub.terms import Neighbours


@dataclass(frozen=True, slots=True)
class TrainingFacts:
    """What is public before training: rows, inputs, outputs, and the price."""

    rows: int
    inputs: int
    outputs: int
    epsilon: Fraction
    delta: Fraction
    neighbours: Neighbours

    @property
    def signal(self) -> float:
        """n mu: the number of rows over the noise of a single noisy sum."""
        apart = 2 if self.neighbours is Neighbours.REPLACE else 1
        return self.rows * mu_for(float(self.epsilon), float(self.delta)) / apart


@dataclass(frozen=True, slots=True)
class Recipe:
    """How to train: steps, expected batch, clipping norm, learning rate, momentum, and the share that is averaged."""

    steps: int
    batch: int
    clip: float
    rate: float
    momentum: float = 0.9
    tail: float = 0.5

    def changed(self, **given: float | None) -> Recipe:
        """The same with what a user gave."""
        return replace(self, **{name: value for name, value in given.items() if value is not None})  # type: ignore[arg-type]


def linear_recipe(facts: TrainingFacts) -> Recipe:
    """For logistic and softmax regression on rows of norm 1.

    With many classes most errors are small, and a small clipping norm lets the few large ones not drown the rest.
    """
    if facts.outputs > 1:
        distance = min(1e6, 3 * facts.signal / 0.1)
        return Recipe(steps=200, batch=min(facts.rows, 1 << 13), clip=0.1, rate=distance / 200, tail=0.25)
    distance = min(100_000.0, 2 * facts.signal / 0.5)
    return Recipe(steps=200, batch=min(facts.rows, 1 << 15), clip=0.5, rate=distance / 200)


def layered_recipe(facts: TrainingFacts) -> Recipe:
    """For networks with hidden layers."""
    distance = min(4_000.0, 0.4 * facts.signal)
    return Recipe(steps=300, batch=min(facts.rows, 1 << 12), clip=1.0, rate=distance / 300, tail=0.25)


def pairwise_recipe(facts: TrainingFacts, *, batch: int) -> Recipe:
    """For losses over all pairs of a batch, of which a row moves the sum, over the batch's size, by ``clip``."""
    distance = min(100_000.0, 2 * facts.signal / 0.2)
    return Recipe(steps=100, batch=min(facts.rows, batch), clip=0.2, rate=distance / 100)
