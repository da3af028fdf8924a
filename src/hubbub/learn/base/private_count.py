"""A noisy count first, and training that is planned for it.

How many rows there are decides the sampling rate, the learning rate and the bound on rounding. Where that number is
private (``rows="private"``), a small part of epsilon buys a noisy count, and the rest pays for a run that is planned
from the count. Where it is declared, the rates follow from what was declared, and a far rougher and cheaper count
bounds the rounding: nobody learns whether the declared number was right. The run's cost follows from its own sampling
rate and noise, never from the true number of rows.
"""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from hubbub import noise
from hubbub.learn.base.fit_plan import FitFacts, FitPlan, Price, RowCount, Watch, nobody
from hubbub.learn.base.inputs import private_table
from hubbub.learn.training.network import Floats
from hubbub.terms import (
    ApproximateStep,
    Compose,
    Event,
    Guarantee,
    LaplaceNoise,
    Neighbours,
    Repeat,
    Unit,
)

_SHARE = Fraction(1, 20)  # of epsilon, for the count
_ROUGH = 8  # with a declared number the count is off by about an eighth of it
_MARGIN = Fraction(999_999, 1_000_000)  # of epsilon, which a ledger rounds up
_SELDOM = Fraction(1, 1_000_000)  # of delta: how often there are more rows than the run was planned for


_NOMINAL = 1000  # what is decided before the count is checked for so many


@dataclass(frozen=True, slots=True)
class PrivateCount:
    """A noisy count of rows, and what it leaves of a price.

    Guarantee: the count is epsilon/20-DP, or 8/declared-DP if that is less; with whatever is chosen after it and is
    ``left``-DP, the price holds.
    Because: one row moves the count by one [DMNS06, Prop. 1]; basic composition holds for mechanisms that are chosen
    by what earlier ones released [DR14, Thm. B.1]. ``docs/proofs/learn.md``.
    Error: the count is off by about 28/epsilon, or declared/6 if that is more.
    """

    price: Price
    neighbours: Neighbours
    unit: Unit
    declared: int | None = None

    @property
    def step(self) -> LaplaceNoise:
        """The event of the count."""
        apart = 2 if self.neighbours is Neighbours.REPLACE else 1
        scale, one = apart / self._share, Fraction(1)
        return LaplaceNoise(scale=scale, sensitivity=one, grid=one, mechanism="count", unit=self.unit)

    @property
    def left(self) -> Price:
        """What the rest may cost."""
        return (self.price[0] - self._share) * _MARGIN, self.price[1] * (1 - _SELDOM)

    @property
    def _share(self) -> Fraction:
        """What the count costs; nobody needs it more exactly than for an epsilon of 1, or than what is declared."""
        enough = Fraction(1) if self.declared is None else Fraction(_ROUGH, self.declared)
        return min(self.price[0] * _SHARE, enough, Fraction(1))

    def draw(self, rows: int, *, rng: noise.RandomSource | None = None) -> int:
        """A noisy count, at least 1."""
        return max(1, rows + int(noise.discrete_laplace(self.step.scale, rng=rng)))

    def rows(self, counted: int) -> RowCount:
        """What to plan for: more rows than ``most`` there are with a probability of a millionth of delta."""
        above = self.step.scale * Fraction(math.log(1 / (self.price[1] * _SELDOM)))
        return RowCount(self.declared or counted, counted + math.ceil(above) + 1)

    @property
    def nominal(self) -> RowCount:
        """What is planned for before a row is counted."""
        return RowCount.public(self.declared or _NOMINAL)


Planner = Callable[[FitFacts, RowCount], FitPlan]  # the fit at the price of these facts, for so many rows


@dataclass(frozen=True, slots=True)
class CountFirstPlan:
    """A fit that begins with a count: everything that is decided before a value is read."""

    counting: PrivateCount
    planner: Callable[[RowCount], FitPlan]
    rest: Event
    nominal: FitPlan
    guarantee: Guarantee

    @property
    def event(self) -> Repeat:
        """The count, and what comes after it."""
        return Repeat(Compose((self.counting.step, self.rest)), 1)

    @property
    def size(self) -> int:
        """The count is stored first."""
        return 1 + self.nominal.size

    @property
    def identity(self) -> Mapping[str, object]:
        """What, beside the event, makes two fits the same: what they would be for a nominal number of rows."""
        return {**self.nominal.identity, "rows": self.counting.declared or "private"}

    def plan_for(self, count: float) -> FitPlan:
        """The fit for this count."""
        return self.planner(self.counting.rows(int(count)))

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Count, plan for the count, and train."""
        table = private_table(X)
        count = self.counting.draw(len(table))
        return np.concatenate([[float(count)], self.plan_for(count).train(table, y, watch)])

    def learned(self, values: Floats) -> dict[str, object]:
        """The count, where nobody declared one, and what was trained for it."""
        count = {} if self.counting.declared else {"rows_": int(values[0])}
        return {**count, **self.plan_for(values[0]).learned(values[1:])}


def plan_with_count(facts: FitFacts, planner: Planner, *, rest: Callable[[FitPlan, FitFacts], Event | None]) -> FitPlan:
    """A fit that counts first. ``rest`` is the event of what follows where no count changes its cost."""
    counting = PrivateCount(facts.price, facts.neighbours, facts.unit, facts.declared)
    epsilon, delta = counting.left
    after = replace(facts, price=(epsilon, delta))
    nominal = planner(after, counting.nominal)
    event = rest(nominal, after) or ApproximateStep(
        epsilon=epsilon, delta=delta, mechanism="training", neighbours=facts.neighbours, unit=facts.unit
    )
    return CountFirstPlan(counting, lambda rows: planner(after, rows), event, nominal, facts.guarantee)
