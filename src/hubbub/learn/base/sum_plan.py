"""Models that learn from noisy sums over rows and from nothing else: what is added up, its plan, its release."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Protocol

from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, RowCount, Watch, nobody
from hubbub.learn.base.inputs import private_table, refuse_more_rows
from hubbub.learn.training.moments import Grid, SumsPlan, plan_sums
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.terms import GaussianNoise, Guarantee, Repeat

_ANY = 1 << 28  # as many rows as anybody has in memory: sums of more would wrap around, which is no less private


@dataclass(frozen=True, slots=True)
class SumDesign:
    """What a fit will add up, from public facts: see ``plan_sums``. ``stored`` numbers leave it."""

    size: int
    square: Fraction
    largest: int
    stored: int
    steps: int = 1
    identity: Mapping[str, object] = field(default_factory=dict)  # what, beside the event, makes two fits the same


class SumModel(Protocol):
    """What is added up over rows, and what the noisy sums mean."""

    def design(self, columns: int) -> SumDesign:
        """What will be added up, for a table of so many columns."""

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None) -> Floats:
        """The noisy sums, or what was made of them: exactly ``stored`` numbers."""

    def learned(self, plan: SumFitPlan, values: Floats) -> dict[str, object]:
        """What a fitted estimator knows, from the released numbers alone."""


@dataclass(frozen=True, slots=True)
class SumFitPlan:
    """A fit from noisy sums whose every decision is made."""

    model: SumModel
    facts: FitFacts
    design: SumDesign
    sums: SumsPlan
    rows: RowCount

    @property
    def event(self) -> Repeat:
        """What will be done."""
        return self.sums.run

    @property
    def guarantee(self) -> Guarantee:
        """What is promised."""
        return self.facts.guarantee

    @property
    def columns(self) -> int:
        """How many columns the table has."""
        return self.facts.columns

    @property
    def grid(self) -> Grid:
        """The grid of entries and sums."""
        return self.sums.grid

    @property
    def step(self) -> GaussianNoise:
        """The noise of one release."""
        return step_of(self.event)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on every sum."""
        return self.sums.deviation

    @property
    def size(self) -> int:
        """How many numbers are stored."""
        return self.design.stored

    @property
    def identity(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same."""
        return {"rows": self.rows.expected, "columns": self.columns, "classes": [], **self.design.identity}

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Read the rows (where their number is public, no more than were planned for), and release their sums."""
        table = private_table(X)
        refuse_more_rows(table, self.facts, self.rows)
        return self.model.measure(self, table, y)

    def learned(self, values: Floats) -> dict[str, object]:
        """What a fitted estimator knows, from the released numbers alone."""
        return self.model.learned(self, values)


def plan_sum_fit(model: SumModel, facts: FitFacts) -> SumFitPlan:
    """The plan of a fit. Sums need no number of rows: if it is private, they are planned for as many as fit."""
    rows = facts.row_count if facts.public_rows else RowCount(facts.declared or _ANY, _ANY)
    design, (epsilon, delta) = model.design(facts.columns), facts.price
    sums = plan_sums(
        size=design.size,
        square=design.square,
        largest=design.largest,
        columns=facts.columns + 1,
        rows=rows.most,
        steps=design.steps,
        epsilon=epsilon,
        delta=delta,
        neighbours=facts.neighbours,
        unit=facts.unit,
    )
    return SumFitPlan(model, facts, design, sums, rows)
