"""What may stand in a column, said beforehand: the public facts that synthetic data are made from.

    Numeric(lower=0, upper=99)               numbers, cut into bins; bounds="private" finds them, at a cost
    Categorical(["a", "b"])                  a public list; values="private" finds the frequent ones, at a cost
    Date(lower="2025-01-01", upper=...)      days, cut into bins
    Key("person")                            names of people or things: made up anew, never copied

Whatever lies outside is moved to a public value: numbers to the nearest bound, other words to the cell of the missing.
"""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as entry
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

from hubbub.schema import PRIVATE
from hubbub.terms import (
    EmptyInput,
    MissingParameter,
    NotANumber,
    OutOfRange,
    ReversedBounds,
    TooLarge,
    exact,
    identity_of,
    positive,
    shown,
    whole,
)

if TYPE_CHECKING:
    import pyarrow

_BINS = 100  # of a number or date, if nothing is said
MOST_FOUND = 100  # values of a private list
_MOST_CELLS = 1 << 14  # of one column
_FIRST = datetime.date(1970, 1, 1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Numeric:
    """Numbers between two bounds, in ``bins`` equal parts; whole numbers get a bin each if there are few enough.

    Whether these are whole numbers is part of the declaration (``whole``; if it is not given, they are if both bounds
    are written without a point), and never read off the rows: one missing value turns whole numbers into doubles in
    many a table. With ``missing=True`` missing values are a cell of their own; else they count as the lower bound.
    Made-up values are multiples of ``step``, if there is one; it changes nothing that is measured.
    """

    lower: Any = None
    upper: Any = None
    bounds: str | None = None
    bins: int | None = None
    missing: bool = False
    whole: bool | None = entry(default=None, repr=False)  # told by the column's type
    step: Any = entry(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.bounds not in (None, PRIVATE) or (self.bounds is None) == (self.lower is None or self.upper is None):
            raise MissingParameter(
                "a numeric column needs lower and upper, or bounds='private'.",
                why="Bounds are public, or they are found privately and paid for; they are never read off the rows.",
                fix='Write Numeric(lower=0, upper=100) or Numeric(bounds="private").',
            )
        if self.bounds is None and not exact(self.lower, name="lower") < exact(self.upper, name="upper"):
            raise _reversed_bounds(self.lower, self.upper)
        if self.bins is not None:
            whole(self.bins, name="bins")
        if self.step is not None:
            object.__setattr__(self, "step", self._checked_step())

    def _checked_step(self) -> Fraction:
        step = positive(self.step, name="step")
        ends = [] if self.bounds is not None else [exact(self.lower, name="lower"), exact(self.upper, name="upper")]
        if any((end / step).denominator != 1 for end in ends):
            raise OutOfRange(
                f"lower and upper are no multiples of step={shown(step)}.",
                why="Values are multiples of step, and both bounds are values.",
                fix="Choose a step that divides lower and upper, such as 1 or 0.01.",
            )
        return step

    @property
    def is_whole(self) -> bool:
        """Whether the column holds whole numbers: as declared, or if both bounds are written without a point."""
        if self.whole is not None:
            return bool(self.whole)
        return all(isinstance(end, int) and not isinstance(end, bool) for end in (self.lower, self.upper))

    @property
    def cells(self) -> int:
        """How many cells the column has at most."""
        return (self.bins or _BINS) + self.missing

    def edges(self, *, whole: bool) -> list[Fraction]:
        """Where the bins begin, and where the last one ends. Bins of whole numbers begin at whole numbers."""
        return equal_edges(Fraction(str(self.lower)), Fraction(str(self.upper)), self.bins, whole=whole)


@dataclass(frozen=True, slots=True)
class Categorical:
    """One of a public list of values, or of those that many rows have (``values="private"``).

    Missing values and whatever is not listed are one more cell, written as ``other``; with ``other=...`` given as one
    of the values they count as that one.
    """

    values: Sequence[Hashable] | str
    other: Hashable = None

    def __post_init__(self) -> None:
        if isinstance(self.values, str):
            if self.values != PRIVATE:
                raise OutOfRange(
                    f"values must be a list or 'private' and is {self.values!r}.",
                    why="The list of categories is public, or it is found privately and paid for.",
                    fix='Write Categorical(["a", "b"]) or Categorical("private").',
                )
            _check_alike([self.other, PRIVATE])  # what is found is text
            return
        listed = tuple(self.values)
        if not listed or len(set(listed)) != len(listed) or None in listed:
            raise EmptyInput(
                "a categorical column needs a list of different values.",
                why="The list is public and says what may appear in the synthetic table.",
                fix='Write Categorical(["a", "b"]), without the missing value.',
            )
        _check_alike([*listed, self.other])
        object.__setattr__(self, "values", listed)

    @property
    def is_private(self) -> bool:
        """Whether the list is to be found."""
        return self.values == PRIVATE

    @property
    def cells(self) -> int:
        """How many cells the column has at most: private lists are cut off at this length."""
        return MOST_FOUND + 1 if self.is_private else len(self.values) + (self.other not in self.values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Date:
    """Days between two dates, both included, in ``bins`` parts of (nearly) the same length; missing ones count as in
    ``Numeric``."""

    lower: datetime.date | str
    upper: datetime.date | str
    bins: int | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        for name in ("lower", "upper"):
            object.__setattr__(self, name, _read_date(getattr(self, name)))
        if not self.lower <= self.upper:  # type: ignore[operator]
            raise _reversed_bounds(self.lower, self.upper)

    @property
    def cells(self) -> int:
        """How many cells the column has."""
        return len(self.edges(whole=True)) - 1 + self.missing

    def edges(self, *, whole: bool) -> list[Fraction]:
        """In days since 1970; the last bin ends after the last day."""
        first, last = (Fraction((day - _FIRST).days) for day in (self.lower, self.upper))  # type: ignore[operator]
        return equal_edges(first, last, self.bins, whole=True)


@dataclass(frozen=True, slots=True)
class SurrogateKey:
    """Names of people or things: each synthetic row gets a new one, ``prefix-1``, ``prefix-2``, ...; none is read."""

    prefix: str = "key"


ColumnDomain: TypeAlias = Numeric | Categorical | Date | SurrogateKey
Domain: TypeAlias = Mapping[str, ColumnDomain]
Found: TypeAlias = list[Any]  # two bounds, or a list of values: as it is stored


def column_identity(column: object) -> Any:
    """What makes two declarations the same, beside the type of the column that follows from them: as JSON."""
    match column:
        case Numeric():
            ends = {"lower": identity_of(column.lower), "upper": identity_of(column.upper), "bounds": column.bounds}
            return {"column": "numeric", **ends, "bins": column.bins, "missing": bool(column.missing)}
        case Categorical():
            values = column.values if isinstance(column.values, str) else list(column.values)
            return {"column": "categorical", "values": identity_of(values), "other": identity_of(column.other)}
        case Date():
            ends = {"lower": identity_of(column.lower), "upper": identity_of(column.upper)}
            return {"column": "date", **ends, "bins": column.bins, "missing": bool(column.missing)}
        case SurrogateKey():
            return {"column": "key", "prefix": column.prefix}
    return identity_of(column)


def is_private(column: object) -> bool:
    """Whether the column's domain is to be found."""
    return (isinstance(column, Numeric) and column.bounds is not None) or (
        isinstance(column, Categorical) and column.is_private
    )


def equal_edges(lower: Fraction, upper: Fraction, bins: int | None, *, whole: bool) -> list[Fraction]:
    """The ends of equal bins; of whole numbers, one each if ``bins`` allows, and at most so many."""
    if whole:
        first, last = -(-lower.numerator // lower.denominator), upper.numerator // upper.denominator + 1
        count = min(bins or _BINS, max(1, last - first))
        return [Fraction(first + (last - first) * i // count) for i in range(count + 1)]
    count = bins or _BINS
    return [lower + (upper - lower) * i / count for i in range(count + 1)]


def domain_for(schema: pyarrow.Schema, given: Domain | str | None) -> dict[str, ColumnDomain]:
    """A declaration for every column, in the table's order; without any, each is found privately.

    What is declared is complete: a column that is left out is refused, with the line to add.
    """
    check_names(schema)
    for field in schema:
        check_type(field)
    if given is None or (isinstance(given, str) and given == PRIVATE):
        return {field.name: _private_domain(field) for field in schema}
    declared = dict(given) if isinstance(given, Mapping) else {}
    missing = [field for field in schema if field.name not in declared]
    if missing:
        lines = ", ".join(f'"{field.name}": {_example_line(field)}' for field in missing)
        raise MissingParameter(
            f"{_name_list(field.name for field in missing)} has no domain.",
            why="What may stand in a column is a public fact; it cannot be read off the rows for free.",
            fix=f"Add to domain= {{{lines}}}, or leave the columns out of the table.",
        )
    unknown = [name for name in declared if name not in schema.names]
    if unknown:
        raise OutOfRange(
            f"the table has no column {_name_list(unknown)}.",
            why="A domain speaks of the table's columns.",
            fix=f"The columns are {', '.join(schema.names)}.",
        )
    return {field.name: _check_column(field.name, declared[field.name]) for field in schema}


def check_names(schema: pyarrow.Schema) -> None:
    """Refuse two columns of one name."""
    if len(set(schema.names)) < len(schema.names):
        raise OutOfRange(
            "two columns of the table have the same name.",
            why="A domain speaks of columns by their names.",
            fix="Rename one of them, or leave it out.",
        )


def check_type(field: pyarrow.Field) -> None:
    """Refuse a column whose values are neither numbers, words, dates nor truth values."""
    import pyarrow

    kind, types = field.type, pyarrow.types
    inner = kind.value_type if types.is_dictionary(kind) else kind
    allowed = (
        types.is_boolean, types.is_integer, types.is_floating, types.is_decimal, types.is_string, types.is_large_string,
        types.is_string_view, types.is_date, types.is_timestamp, types.is_null,
    )  # fmt: skip
    if not any(test(inner) for test in allowed):
        raise OutOfRange(
            f"column {field.name!r} holds values of type {kind}.",
            why="A cell holds a number, a word, a date or a truth value.",
            fix="Turn the column into one of these, or leave it out of the table.",
        )


def _check_column(name: str, column: object) -> ColumnDomain:
    if isinstance(column, SurrogateKey):
        return column
    if not isinstance(column, Numeric | Categorical | Date):
        raise NotANumber(
            f"the domain of {name!r} is a {type(column).__name__}.",
            why="A column is Numeric, Categorical, Date or Key.",
            fix=f'Write domain={{"{name}": Numeric(lower=0, upper=100), ...}}.',
        )
    if column.cells > _MOST_CELLS:
        raise TooLarge(
            f"column {name!r} has {column.cells} cells, and the most is {_MOST_CELLS}.",
            why="Every cell gets noise of its own: with so many, nothing but noise would be seen.",
            fix="Give fewer bins= or values, or declare the column as Key() if it names people or things.",
        )
    return column


def _private_domain(field: pyarrow.Field) -> ColumnDomain:
    """How a column's domain is found if nobody declared one: by its type, which is public."""
    import pyarrow

    kind, types = field.type, pyarrow.types
    if types.is_boolean(kind):
        return Categorical((False, True))
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return Numeric(bounds=PRIVATE, missing=True, whole=types.is_integer(kind))
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind) or types.is_dictionary(kind):
        return Categorical(PRIVATE)
    raise MissingParameter(
        f"column {field.name!r} has no domain, and for values of type {kind} none can be found privately.",
        why="What may stand in a column is a public fact, or it is found at a cost.",
        fix=f'Write domain={{"{field.name}": {_example_line(field)}, ...}}, or leave the column out.',
    )


def _example_line(field: pyarrow.Field) -> str:
    """The declaration to write, by the column's type."""
    import pyarrow

    kind, types = field.type, pyarrow.types
    if types.is_date(kind) or types.is_timestamp(kind):
        return 'Date(lower="2000-01-01", upper="2029-12-31")'
    if types.is_boolean(kind):
        return "Categorical([False, True])"
    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "Numeric(lower=..., upper=...)"
    return "Categorical([...])"


def _name_list(names: Any) -> str:
    quoted = [repr(name) for name in names]
    return f"column {quoted[0]}" if len(quoted) == 1 else "each of " + ", ".join(quoted)


def _check_alike(values: list[Hashable]) -> None:
    """Refuse values that cannot stand in one column together, before anything is made of them."""
    import pyarrow

    try:
        pyarrow.array(values)
    except (pyarrow.ArrowException, OverflowError, TypeError, ValueError):
        raise OutOfRange(
            "the values of a categorical column, and other=, are of several types or of one that no column has.",
            why="They will stand in one column of the synthetic table.",
            fix="Give all of them as text, as numbers, as dates or as truth values: Categorical([1, 2], other=0).",
        ) from None


def _read_date(value: object) -> datetime.date:
    if isinstance(value, datetime.datetime):
        return value.date()
    if isinstance(value, datetime.date):
        return value
    try:
        return datetime.date.fromisoformat(str(value))
    except ValueError:
        raise NotANumber(
            "the bound of a date column is no date.",
            why="Bounds are days.",
            fix='Write Date(lower="2025-01-01", upper="2025-12-31").',
        ) from None


def _reversed_bounds(lower: object, upper: object) -> ReversedBounds:
    return ReversedBounds(
        f"lower is {lower} and upper is {upper}.",
        why="The bins lie between them.",
        fix="Swap them, or give other bounds.",
    )
