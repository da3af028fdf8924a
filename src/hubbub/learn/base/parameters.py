"""The parameters that every private estimator has, read at the edge: who pays, the price, norms and bounds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, Protocol, TypeAlias, TypeGuard

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, Price, RowCount
from hubbub.learn.training.network import Floats
from hubbub.ledger import Account, AccountLike, Ledger
from hubbub.terms import (
    AS_GIVEN,
    ApproximateDP,
    Guarantee,
    MissingParameter,
    Neighbours,
    OutOfRange,
    Real,
    ReversedBounds,
    Unit,
    WrongShape,
    exact,
    fraction_of,
    positive,
    whole,
)

ONE_ROW = "Each has one row."
_LEAST, _MOST = Fraction(1, 10**150), Fraction(10**150)  # squares of these are doubles, too

ColumnBounds: TypeAlias = Sequence[Any] | str | None  # a pair, pairs, or "private"


class Priced(Protocol):
    """Whoever has a price."""

    epsilon: Real | None
    delta: Real | None


class FitParameters(Priced, Protocol):
    """What every private estimator is told about a fit."""

    rows: int | str | None
    neighbours: Neighbours | str
    unit: str


class HasNorm(Protocol):
    """Whoever declares the largest norm of a row."""

    norm: Real | None


class HasBounds(Protocol):
    """Whoever declares bounds of columns."""

    bounds: ColumnBounds


def read_facts(
    estimator: FitParameters, *, rows: int, columns: int, y: ArrayLike | None, account: Account | None
) -> FitFacts:
    """What is public about a fit of this estimator on a table of this shape."""
    private_rows = is_private(estimator.rows, name="rows", else_="a whole number", example="rows=10_000")
    caveats = caveats_of(estimator, charged=account is not None)
    price = price_of(estimator)
    declared = None if estimator.rows is None or private_rows else whole(estimator.rows, name="rows")
    planned = rows if declared is None else declared
    neighbours, unit = Neighbours.parse(estimator.neighbours), Unit(estimator.unit)
    return FitFacts(
        rows=rows,
        columns=columns,
        y=y,
        declared=declared,
        private_rows=private_rows,
        public_rows=estimator.rows is None,
        row_count=RowCount(planned, 2 * planned),  # coins may draw up to twice what is expected
        price=price,
        neighbours=neighbours,
        unit=unit,
        guarantee=Guarantee(ApproximateDP(*price), unit, neighbours, caveats),
        account=account,
    )


def account_of(account: AccountLike | None, population: str | None) -> Account | None:
    """The account that ``account=`` (an Account, a Ledger or a Connection) and ``population=`` name."""
    if account is None:
        return None
    if population is None:
        return Account.of(account)
    if isinstance(account, Ledger):
        return Account(ledger=account, population=population)
    return replace(Account.of(account), population=population)


def caveats_of(estimator: FitParameters, *, charged: bool) -> tuple[str, ...]:
    """What the guarantee leaves out, and what counts as public because nobody declared it."""
    caveats = ["Running time is not covered.", AS_GIVEN]
    if estimator.rows is None:
        caveats.append("The number of rows counts as public.")
    if hasattr(estimator, "classes") and estimator.classes is None:
        caveats.append("The set of labels counts as public.")
    if estimator.unit:
        caveats.append(ONE_ROW)
    if not charged:
        caveats.append("Charged to no ledger.")
    return tuple(caveats)


def price_of(estimator: Priced) -> Price:
    """(epsilon, delta) of an estimator, or a refusal with the line to add."""
    for name, example in (("epsilon", "1"), ("delta", "1e-6")):
        if getattr(estimator, name) is None:
            raise MissingParameter(
                f"{type(estimator).__name__} needs {name}.",
                why="There is no default price.",
                fix=f"Write {type(estimator).__name__}(..., {name}={example}).",
            )
    return exact_price(estimator.epsilon, estimator.delta)


def exact_price(epsilon: Real | None, delta: Real | None) -> Price:
    """Epsilon and delta exactly; both must be doubles, too, in which noise is looked for."""
    price = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta")
    for name, number in zip(("epsilon", "delta"), price, strict=True):
        double_of(number, name=name)
    return price


def norm_of(estimator: HasNorm) -> float:
    """The declared norm of rows, or a refusal with the line to add."""
    if estimator.norm is None:
        raise MissingParameter(
            f"{type(estimator).__name__} needs norm=, the largest L2 norm of a row of X.",
            why="Without it one row could move the model without limit, and reading it from X would tell about rows.",
            fix=f"Write {type(estimator).__name__}(..., norm=1.0); longer rows are scaled down to it.",
        )
    return positive_double(estimator.norm, name="norm")


def is_private(given: object, *, name: str, else_: str, example: str) -> bool:
    """Whether a parameter says "private": found in the rows and paid for, instead of declared."""
    if not isinstance(given, str):
        return False
    if given != "private":
        raise OutOfRange(
            f"{name} must be {else_} or 'private' and is {given!r}.",
            why="It is known, or found and paid for.",
            fix=f'Write {example} or {name}="private".',
        )
    return True


def declared_columns(estimator: object) -> int | None:
    """For how many columns something is declared one by one (``bounds=``, ``bins=``); None if for none."""
    bounds, bins = (getattr(estimator, name, None) for name in ("bounds", "bins"))
    if _is_list(bounds) and np.ndim(bounds[0]) > 0:
        return len(bounds)
    return len(bins) if _is_list(bins) else None


def _is_list(given: Any) -> TypeGuard[Sequence[Any]]:
    return isinstance(given, Sequence | np.ndarray) and not isinstance(given, str) and len(given) > 0


def bounds_of(estimator: HasBounds, columns: int) -> tuple[Floats, Floats]:
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
    bounds = np.array([pair_of(pair, "bounds") for pair in pairs])
    return bounds[:, 0].copy(), bounds[:, 1].copy()


def pair_of(pair: Sequence[Real], name: str) -> tuple[float, float]:
    """(lower, upper), refused if they are no numbers or the wrong way round."""
    if len(pair) != 2:
        raise WrongShape(f"{name}= holds pairs.", why="(lowest, highest)", fix=f"Write {name}=(0, 1).")
    lower, upper = (double_of(exact(end, name=name), name=name) for end in pair)
    if lower >= upper:
        raise ReversedBounds(
            f"{name}=({lower:g}, {upper:g}): the lower bound must lie below the upper one.",
            why="Values are clipped between the two.",
            fix="Give the smaller one first.",
        )
    return lower, upper


def positive_double(value: Real, *, name: str) -> float:
    """A number above 0 as a double, refused if it is too small or too large for one."""
    return double_of(positive(value, name=name), name=name)


def double_of(number: Fraction, *, name: str) -> float:
    """A number as a double, refused if it, or its square, is infinite as a double, or 0 where the number is not.

    Guarantee: none by itself; no norm is 0 and no bound infinite where rows are divided by it or clipped to it.
    Because: what is exact here is clipped in doubles, whose range is smaller [Mir12].
    """
    if number != 0 and not _LEAST <= abs(number) <= _MOST:
        raise OutOfRange(
            f"{name} is too {'small' if abs(number) < 1 else 'large'} for a double.",
            why="Rows are clipped, divided and squared in doubles, which end at about 1e-308 and 1e308.",
            fix=f"Give {name} between 1e-150 and 1e150, or scale the column.",
        )
    return float(number)
