"""What estimators from noisy sums share: plan from public facts, charge, read, sum, and learn from the sums alone."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.base.inputs import private_table
from hubbub.learn.base.private_count import Price, RowCount
from hubbub.learn.base.private_estimator import PrivateEstimator, Watch
from hubbub.learn.training.moments import SumsPlan, plan_sums
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account
from hubbub.terms import (
    Guarantee,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Repeat,
    ReversedBounds,
    Unit,
    WrongShape,
    exact,
    identity_of,
    whole,
)

_ANY = 1 << 28  # as many rows as anybody has in memory: sums of more would wrap around, which is no less private


@dataclass(frozen=True, slots=True)
class SumDesign:
    """What a fit will add up, from public facts: see ``plan_sums``. ``stored`` numbers leave it."""

    size: int
    square: Fraction
    largest: int
    stored: int
    steps: int = 1
    classes: NDArray[Any] | None = None  # of a classifier
    facts: Mapping[str, object] = field(default_factory=dict)  # what, beside the event, makes two fits the same


@dataclass(frozen=True, slots=True)
class SumFitPlan:
    """Everything about a fit that is decided before a value is read."""

    design: SumDesign
    plan: SumsPlan
    rows: RowCount
    columns: int
    guarantee: Guarantee

    @property
    def run(self) -> Repeat:
        """The event."""
        return self.plan.run

    @property
    def size(self) -> int:
        """How many numbers are stored."""
        return self.design.stored

    @property
    def parts(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same."""
        classes = [] if self.design.classes is None else identity_of(self.design.classes.tolist())
        return {"rows": self.rows.expected, "columns": self.columns, "classes": classes, **self.design.facts}


class SumEstimator(PrivateEstimator):
    """An estimator that learns from noisy sums over rows and from nothing else."""

    classes_: NDArray[Any]

    def _design(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        """What will be added up. Looks at no value but, where allowed, the labels."""
        raise NotImplementedError  # pragma: no cover

    def _release(self, made: SumFitPlan, X: Any, y: Any) -> Floats:
        """The noisy sums, or what was made of them: exactly ``stored`` numbers."""
        raise NotImplementedError  # pragma: no cover

    def _learn(self, made: SumFitPlan, values: Floats) -> None:
        """Set what is learned, from the released numbers alone."""
        raise NotImplementedError  # pragma: no cover

    # ------------------------------------------------------------ fitting

    def _plan(self, columns: int, y: Any, account: Account | None, rows: RowCount, price: Price) -> SumFitPlan:
        relation, unit = Neighbours.parse(self.neighbours), Unit(self.unit)
        design = self._design(rows.expected, columns, y, account)
        plan = plan_sums(
            size=design.size,
            square=design.square,
            largest=design.largest,
            columns=columns + 1,
            rows=rows.most,
            steps=design.steps,
            epsilon=price[0],
            delta=price[1],
            neighbours=relation,
            unit=unit,
        )
        return SumFitPlan(design, plan, rows, columns, self._promise(price, account))

    def _counts(self) -> bool:
        """Never: sums need no number of rows. If it is private, they are planned for as many as fit."""
        super()._counts()
        return False

    def _row_count(self, came: int) -> RowCount:
        if self.rows is None:
            return super()._row_count(came)
        return RowCount(_ANY if isinstance(self.rows, str) else whole(self.rows, name="rows"), _ANY)

    def _released(self, made: SumFitPlan, X: Any, y: Any, watch: Watch) -> Floats:
        return self._release(made, X, y)

    def _learned_from(self, made: SumFitPlan, values: Floats) -> None:
        self.n_features_in_ = made.columns
        if made.design.classes is not None:
            self.classes_ = made.design.classes
        self._learn(made, values)

    def _table(self, X: Any, made: SumFitPlan) -> Floats:
        """The values of X; where the number of rows is public, of no more than were planned for."""
        table = private_table(X)
        self._refuse_more(len(table), made.rows)
        return table


# ---------------------------------------------------------------- bounds


def bounds_of(estimator: Any, columns: int) -> tuple[Floats, Floats]:
    """(lower, upper) of each column, or a refusal with the line to add."""
    given, name = estimator.bounds, type(estimator).__name__
    if given is None:
        raise MissingParameter(
            f"{name} needs bounds=, the smallest and largest value of each column of X.",
            why="Without them one row could move a sum without limit, and reading them from X would tell about rows.",
            fix=f"Write {name}(..., bounds=(0, 1)), or one pair per column: bounds=[(0, 120), (0, 1)].",
        )
    pairs = [tuple(given)] * columns if np.ndim(given[0]) == 0 else [tuple(pair) for pair in given]
    if len(pairs) != columns:
        raise WrongShape(
            f"bounds= has {len(pairs)} pairs and X has {columns} columns.",
            why="Each column needs its own bounds.",
            fix="Give one pair for all columns, or one pair per column.",
        )
    read = np.array([pair_of(pair, "bounds") for pair in pairs])
    return read[:, 0].copy(), read[:, 1].copy()


def pair_of(pair: Any, name: str) -> tuple[float, float]:
    """(lower, upper), refused if they are no numbers or the wrong way round."""
    if len(pair) != 2:
        raise WrongShape(f"{name}= holds pairs.", why="(lowest, highest)", fix=f"Write {name}=(0, 1).")
    lower, upper = (float(exact(end, name=name)) for end in pair)
    if lower >= upper:
        raise ReversedBounds(
            f"{name}=({lower:g}, {upper:g}): the lower bound must lie below the upper one.",
            why="Values are clipped between the two.",
            fix="Give the smaller one first.",
        )
    if not upper / 2 - lower / 2 > 0:
        raise OutOfRange(
            f"{name}=({lower:g}, {upper:g}): half of the distance is 0 in doubles.",
            why="Values are measured by it.",
            fix="Give bounds that lie further apart, or scale the column.",
        )
    return lower, upper
