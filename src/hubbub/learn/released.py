"""What estimators from noisy sums share: plan from public facts, charge, read, sum, and learn from the sums alone."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.charges import Account, account_of, charged, request_for
from hubbub.learn.estimators import Estimator, price_of
from hubbub.learn.inputs import shape_of, table_of
from hubbub.learn.moments import Plan, plan_sums
from hubbub.learn.network import Floats
from hubbub.terms import (
    ApproximateDP,
    Event,
    Guarantee,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Receipt,
    ReversedBounds,
    Unit,
    WrongShape,
    exact,
    whole,
)


@dataclass(frozen=True, slots=True)
class Design:
    """What a fit will add up, from public facts: see ``plan_sums``. ``stored`` numbers leave it."""

    size: int
    square: Fraction
    largest: int
    stored: int
    steps: int = 1
    classes: NDArray[Any] | None = None  # of a classifier
    facts: Mapping[str, object] = field(default_factory=dict)  # what, beside the event, makes two fits the same


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything about a fit that is decided before a value is read."""

    design: Design
    plan: Plan
    rows: int
    columns: int
    guarantee: Guarantee
    total: bool

    @property
    def run(self) -> Event:
        """The event."""
        return self.plan.run

    @property
    def size(self) -> int:
        """How many numbers are stored."""
        return self.design.stored

    @property
    def parts(self) -> dict[str, object]:
        """What, beside the event, makes two fits the same."""
        classes = [] if self.design.classes is None else [repr(name) for name in self.design.classes.tolist()]
        return {"rows": self.rows, "columns": self.columns, "classes": classes, **self.design.facts}


class SumEstimator(Estimator):
    """An estimator that learns from noisy sums over rows and from nothing else."""

    epsilon: Any
    delta: Any
    rows: Any
    neighbours: Any
    unit: str
    account: Any
    population: str | None
    dataset: str | None

    n_features_in_: int
    classes_: NDArray[Any]
    event_: Event
    guarantee_: Guarantee
    receipt_: Receipt | None

    def _design(self, rows: int, columns: int, y: Any, account: Account | None) -> Design:
        """What will be added up. Looks at no value but, where allowed, the labels."""
        raise NotImplementedError  # pragma: no cover

    def _release(self, made: Prepared, X: Any, y: Any) -> Floats:
        """The noisy sums, or what was made of them: exactly ``stored`` numbers."""
        raise NotImplementedError  # pragma: no cover

    def _learn(self, made: Prepared, values: Floats) -> None:
        """Set what is learned, from the released numbers alone."""
        raise NotImplementedError  # pragma: no cover

    # ------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from the rows of X (and y, where there is one)."""
        account = account_of(self.account, self.population)
        made = self._prepare(X, y, account)
        request = None
        if account is not None:
            request = request_for(
                account,
                made.plan.run,
                delta=made.guarantee.holds.delta,  # type: ignore[attr-defined]
                size=made.size,
                dataset=self.dataset,
                parts=made.parts,
                title=f"fit {type(self).__name__}",
            )
        values, receipt = charged(account, request, lambda: self._release(made, X, y))
        self._keep(X, made, values, receipt)
        return self

    def _prepare(self, X: Any, y: Any, account: Account | None) -> Prepared:
        """All decisions, from parameters and shapes."""
        epsilon, delta = price_of(self)
        relation, unit = Neighbours.parse(self.neighbours), Unit(self.unit)
        rows, columns = shape_of(X)
        rows = rows if self.rows is None else whole(self.rows, name="rows")
        design = self._design(rows, columns, y, account)
        plan = plan_sums(
            size=design.size,
            square=design.square,
            largest=design.largest,
            columns=columns + 1,
            rows=2 * rows,
            steps=design.steps,
            epsilon=epsilon,
            delta=delta,
            neighbours=relation,
            unit=unit,
        )
        guarantee = Guarantee(ApproximateDP(epsilon, delta), unit, relation, tuple(self._caveats(account)))
        return Prepared(design, plan, rows, columns, guarantee, self._total())

    def _total(self) -> bool:
        """Whether enough is declared that no row may make the fit fail."""
        return self.rows is not None

    def _caveats(self, account: Account | None) -> list[str]:
        said = ["Running time is not covered."]
        if self.rows is None:
            said.append("The number of rows counts as public.")
        if self.unit:
            said.append("Each has one row.")
        if account is None:
            said.append("Charged to no ledger.")
        return said

    def _keep(self, X: Any, made: Prepared, values: Floats, receipt: Receipt | None) -> None:
        self.n_features_in_ = made.columns
        names = getattr(X, "columns", None)
        if names is not None and all(isinstance(name, str) for name in names):
            self.feature_names_in_ = np.asarray(names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        if made.design.classes is not None:
            self.classes_ = made.design.classes
        self.event_, self.guarantee_, self.receipt_ = made.run, made.guarantee, receipt
        self._learn(made, values)

    # ------------------------------------------------------------ reading

    def _table(self, X: Any, made: Prepared) -> Floats:
        """The values of X; at most twice the declared rows."""
        table = table_of(X, total=made.total)
        if len(table) > 2 * made.rows:
            raise WrongShape(
                f"more than twice the {made.rows} declared rows came.",
                why="Sums of at most that many fit into integers.",
                fix="Declare rows= about as many as there are.",
            )
        return table

    def _known(self, X: Any) -> Floats:
        """The values of X for a fitted model, with the columns that it was fitted on."""
        self._need_fit()
        (_, columns), name = shape_of(X), type(self).__name__
        if columns != self.n_features_in_:
            raise WrongShape(
                f"X has {columns} features, but {name} is expecting {self.n_features_in_} features as input.",
                why="The model was fitted on that many.",
                fix="Give the same columns in the same order.",
            )
        return table_of(X)


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
