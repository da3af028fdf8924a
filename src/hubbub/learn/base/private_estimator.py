"""How every private estimator fits: decide from public facts, charge, read, release, and learn from that alone."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np

from hubbub.learn.base.inputs import private_table, table_of
from hubbub.learn.base.jobs import FitPlan, account_of, planned_fit, release_fit
from hubbub.learn.base.parameters import Estimator, is_private, price_of
from hubbub.learn.base.private_count import CountFirstPlan, Price, PrivateCount, RowCount, counted
from hubbub.learn.base.shapes import check_target, names_of, need_target, shape_of
from hubbub.learn.identity import tag_of
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, AccountLike
from hubbub.terms import AS_GIVEN, ApproximateDP, Event, Guarantee, Neighbours, Receipt, Unit, WrongShape, whole

Watch = Callable[[int], None]


def nobody(step: int) -> None:
    """Nobody is watching."""


@dataclass(frozen=True, slots=True)
class Watcher:
    """A ``watch=`` that is also told how many steps there will be."""

    begin: Callable[[int], object]
    step: Callable[[int], object]

    def __call__(self, done: int) -> None:
        """So many steps are done."""
        self.step(done)


class PrivateEstimator(Estimator):
    """An estimator of private rows. What it releases is a vector whose size is known before a value is read."""

    _is_whole = False  # whether it pays for other estimators
    _needs_target = False  # whether it learns from y

    epsilon: Any
    delta: Any
    rows: Any
    neighbours: Any
    unit: str
    account: AccountLike | None
    population: str | None
    dataset: str | None

    n_features_in_: int
    event_: Event
    guarantee_: Guarantee
    receipt_: Receipt | None
    rows_: int  # the noisy count, where rows="private" needs one

    def _plan(self, columns: int, y: Any, account: Account | None, rows: RowCount, price: Price) -> Any:
        """Every decision about a fit on so many rows at this price; of values, only labels are read, where allowed."""
        raise NotImplementedError  # pragma: no cover

    def _released(self, made: Any, X: Any, y: Any, watch: Watch) -> Floats:
        """Read the rows, and release what was decided: exactly ``made.size`` numbers."""
        raise NotImplementedError  # pragma: no cover

    def _learned_from(self, made: Any, values: Floats) -> None:
        """Set what is learned, from the released numbers alone."""
        raise NotImplementedError  # pragma: no cover

    # ------------------------------------------------------------ fitting

    def fit(self, X: Any, y: Any = None, *, watch: Watch = nobody) -> Self:
        """Learn from the rows of X (and y, where there is one); ``watch`` is told the number of each step done."""
        account = account_of(self.account, self.population)
        self._check(X, y)
        made = self._prepare(X, y, account)
        title = f"fit {type(self).__name__}"
        train = partial(self._release_all, made, X, y, watch)
        job = planned_fit(made, train, estimator=tag_of(self), dataset=self.dataset, title=title)
        values, receipt = release_fit(job, account)
        self._keep(X, made, values, receipt)
        return self

    def _check(self, X: Any, y: Any) -> None:
        """Refuse what cannot be fitted, by types and shapes alone: before a charge, and whatever the values are."""
        rows, _ = shape_of(X, empty=self.rows is not None)
        if self._needs_target:
            need_target(y)
            check_target(y, rows)

    def _prepare(self, X: Any, y: Any, account: Account | None) -> FitPlan:
        """All decisions, from parameters and shapes."""
        rows, columns = shape_of(X, empty=self.rows is not None)
        if self._counts():
            declared = None if isinstance(self.rows, str) else whole(self.rows, name="rows")
            return counted(
                PrivateCount(price_of(self), Neighbours.parse(self.neighbours), Unit(self.unit), declared),
                tuple(self._caveats(account)),
                plan=lambda rows, price: self._plan(columns, y, account, rows, price),
                rest=self._after_count,
            )
        made: FitPlan = self._plan(columns, y, account, self._row_count(rows), price_of(self))
        return made

    def _counts(self) -> bool:
        """Whether a noisy count comes first."""
        return is_private(self.rows, name="rows", else_="a whole number", example="rows=10_000")

    def _row_count(self, came: int) -> RowCount:
        return RowCount.public(came if self.rows is None else whole(self.rows, name="rows"))

    def _after_count(self, made: Any, price: Price) -> Event | None:
        """The event of what follows a count, if no count changes its cost; else it is known by its price alone."""
        return None

    def _release_all(self, made: Any, X: Any, y: Any, watch: Watch = nobody) -> Floats:
        if not isinstance(made, CountFirstPlan):
            return self._released(made, X, y, watch)
        table = private_table(X)
        rows = made.counting.draw(len(table))
        return np.concatenate([[float(rows)], self._released(made.planned(rows), table, y, watch)])

    def _keep(self, X: Any, made: Any, values: Floats, receipt: Receipt | None) -> None:
        self._note_names(X)
        if isinstance(made, CountFirstPlan):
            if made.counting.declared is None:
                self.rows_ = int(values[0])
            self._learned_from(made.planned(values[0]), values[1:])
        else:
            self._learned_from(made, values)
        self.event_, self.guarantee_, self.receipt_ = made.run, made.guarantee, receipt

    def _note_names(self, X: Any) -> None:
        names = names_of(X)
        if names is not None:
            self.feature_names_in_ = names
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_

    # ------------------------------------------------------------ what is promised

    def _promise(self, price: Price, account: Account | None) -> Guarantee:
        relation, unit = Neighbours.parse(self.neighbours), Unit(self.unit)
        return Guarantee(ApproximateDP(*price), unit, relation, tuple(self._caveats(account)))

    def _caveats(self, account: Account | None) -> list[str]:
        said = ["Running time is not covered.", AS_GIVEN, *self._counted_public()]
        if self.unit:
            said.append("Each has one row.")
        if account is None:
            said.append("Charged to no ledger.")
        return said

    def _counted_public(self) -> list[str]:
        """What counts as public because nobody declared it."""
        return ["The number of rows counts as public."] if self.rows is None else []

    # ------------------------------------------------------------ reading

    def _known(self, X: Any) -> Floats:
        """The values of X for a fitted model, with the columns that it was fitted on."""
        self._need_fit()
        (_, columns), name = shape_of(X, empty=True), type(self).__name__
        if columns != self.n_features_in_:
            raise WrongShape(
                f"X has {columns} features, but {name} is expecting {self.n_features_in_} features as input.",
                why="The model was fitted on that many.",
                fix="Give the same columns in the same order.",
            )
        self._check_names(X)
        return table_of(X)

    def _refuse_more(self, rows: int, planned: RowCount) -> None:
        """Refuse more rows than a plan is for, where their number is public: else a refusal would tell about rows."""
        if self.rows is None and rows > planned.most:
            raise WrongShape(
                f"more than twice the {planned.expected} rows came that were planned for.",
                why="Sums are planned for at most that many.",
                fix="Fit again, on more rows.",
            )
