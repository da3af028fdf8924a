"""From a table to a private model: columns whose bounds are found privately, and a model that reads tables."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.column_bounds import BUCKETS, private_bounds
from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.private_estimator import PrivateEstimator, PrivateTransformer
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.composition.held_out_score import ModelScore, public_score
from hubbub.learn.tables.features import (
    MISSING,
    Category,
    Column,
    NamedColumns,
    NumberFeature,
    Style,
    codes_of,
    features_of,
    numbers_in,
    width_of,
    words_in,
)
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import Event, Guarantee, Neighbours, Real, Receipt, Unreadable

_ZERO = 1e-6  # numbers below it are about zero


@dataclass(frozen=True, slots=True)
class Magnitudes:
    """How many values of each column without bounds have which magnitude; and the bounds that follow."""

    columns: tuple[Column, ...]
    style: str
    unknown: list[int]  # which columns have no bounds

    def design(self, columns: int) -> SumDesign:
        """A histogram of each of these columns."""
        count = len(self.unknown)
        identity = {"columns": [each.identity() for each in self.columns], "style": str(self.style)}
        return SumDesign(size=count * BUCKETS, square=Fraction(count), largest=1, stored=2 * count, identity=identity)

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None) -> Floats:
        """The bounds, from noisy histograms."""
        codes = table[:, self.unknown]
        codes[codes == MISSING] = 0.0
        return np.concatenate(private_bounds(codes, plan.grid, plan.step))

    def learned(self, plan: SumFitPlan, values: Floats) -> dict[str, object]:
        """All columns with bounds."""
        lower, upper = np.split(values, 2)
        columns = list(self.columns)
        for number, low, high in zip(self.unknown, lower.tolist(), upper.tolist(), strict=True):
            columns[number] = NumberFeature(columns[number].name, *_tidy_bounds(low, high))
        return {"columns_": tuple(columns)}


class PrivateColumns(PrivateTransformer):
    """Codes of a table become features; bounds of numbers that nobody declared are found privately.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: a noisy histogram of magnitudes per column, released at once [DMNS06]; ``column_bounds.private_bounds``.
    Error: bounds are powers of two; values in sparse magnitudes are left out, and then clipped.
    Not covered: running time; the number of rows, where it is not declared.
    """

    def __init__(
        self,
        columns: Sequence[Column] = (),
        *,
        style: str = "bins",
        epsilon: Real | None = None,
        delta: Real | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.columns, self.style, self.epsilon, self.delta = columns, style, epsilon, delta
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _unknown(self) -> list[int]:
        return [
            place for place, each in enumerate(self.columns) if isinstance(each, NumberFeature) and not each.bounded
        ]

    def _leaving(self, columns: int) -> int:
        return width_of(self.columns, Style(self.style))

    def _plan(self, facts: FitFacts) -> FitPlan:
        return plan_sum_fit(Magnitudes(tuple(self.columns), self.style, self._unknown()), facts)

    def transform(self, X: ArrayLike) -> Floats:
        """The features of codes."""
        return features_of(self._rows_to_answer(X), self.columns_, Style(self.style))


def _tidy_bounds(lower: float, upper: float) -> tuple[float, float]:
    """The ends of buckets, where the one around 0 ends at 0; if there is no other, the bounds are 0 and 1."""
    low, high = (0.0 if abs(end) < _ZERO else end for end in (lower, upper))
    return (low, high) if low < high else (low, low + 1.0)


@dataclass(frozen=True, slots=True)
class TableModel:
    """A fitted private model that reads tables with named columns; ``hubbub fit`` makes one.

    ``columns`` say how cells become numbers, ``target`` what is predicted, ``estimator`` is the fitted estimator, and
    ``score`` how good it is, as far as somebody measured it; ``notes`` are what its card tells beside that.
    """

    columns: tuple[Column, ...]
    target: Column
    style: Style
    estimator: Any
    guarantee: Guarantee
    event: Event
    receipt: Receipt | None = None
    score: ModelScore | None = None
    notes: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "style", Style(self.style))  # a file has its word
        if not all(isinstance(each, NumberFeature | Category) for each in (*self.columns, self.target)):
            raise Unreadable("a column of a model is no column.", why="It says how cells are read.", fix="Fit again.")
        if not isinstance(self.estimator, PrivateEstimator) or not isinstance(self.guarantee, Guarantee):
            raise Unreadable("a model lacks its estimator or guarantee.", why="It is nothing else.", fix="Fit again.")

    def features(self, table: NamedColumns) -> Floats:
        """The features of a table (a frame, or columns by name)."""
        return features_of(codes_of(table, self.columns), self.columns, self.style)

    def predict(self, table: NamedColumns) -> NDArray[Any]:
        """A class, as a word, or a number for each row."""
        return np.asarray(self.estimator.predict(self.features(table)))

    def predict_proba(self, table: NamedColumns) -> Floats:
        """The probability of each of ``estimator.classes_``, where the model has probabilities."""
        return np.asarray(self.estimator.predict_proba(self.features(table)))

    def truth(self, table: NamedColumns) -> NDArray[Any]:
        """The targets in a table, as the model predicts them."""
        read = words_in if isinstance(self.target, Category) else numbers_in
        return read(table, self.target.name)

    def measured(self, table: NamedColumns) -> ModelScore:
        """The score on a table that is public."""
        return public_score(self.estimator, self.features(table), self.truth(table))
