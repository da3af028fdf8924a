"""What a descriptor says, as values, before the sources' columns are known; and bounds in the units of the schema."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from typing import Any

from hubbub.schema.source_files import InDatabase
from hubbub.schema.tables import Column, ColumnFacts, Kind, PersonLink, Privately, Value
from hubbub.schema.toml_positions import TomlText
from hubbub.terms import Budget, Neighbours

Bound = Fraction | date  # a datetime is a date
_EPOCH = date(1970, 1, 1)
_KINDS: tuple[tuple[Any, Kind], ...] = (  # the first that fits: a bool is an int, a datetime is a date
    (bool, Kind.BOOLEAN),
    (int, Kind.INTEGER),
    (float | Fraction, Kind.NUMBER),
    (str, Kind.TEXT),
    (datetime, Kind.TIMESTAMP),
    (date, Kind.DATE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredColumn(ColumnFacts):
    """What the text says of a column; its kind may still have to come from the source."""

    kind: Kind | None = None
    lower: Bound | None = None
    upper: Bound | None = None
    step: Fraction | None = None

    @property
    def implied(self) -> Kind | None:
        """The kind that values or bounds speak of; values that are found are text, and bounds those of numbers."""
        if self.privately is not None:
            return Kind.TEXT if self.privately is Privately.VALUES else Kind.NUMBER
        return kind_declared(self.values, self.lower, self.upper, step=self.step)

    def of_kind(self, kind: Kind, name: str = "") -> Column:
        """The column, now that its kind is known, under the name that its source spells."""
        return Column(
            **{**self.facts(), "name": name or self.name},
            kind=kind,
            lower=None if self.lower is None else bound_units(self.lower),
            upper=None if self.upper is None else bound_units(self.upper),
            step=None if self.step is None else step_units(self.step, kind),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class DeclaredTable:
    """What the text says of a table; ``link`` names columns as they were typed.

    ``source`` is a file or URL, a table inside a database, or empty: then it is looked up by the table's name.
    ``header`` says of a CSV file that its first line names its columns, or how they are named if no line does.
    """

    name: str
    source: str | InDatabase = ""
    header: bool | tuple[str, ...] | None = None
    key: str = ""
    link: PersonLink | None = None
    max_rows_per_unit: int | None = None
    rows: int | None = None
    public: bool = False
    why: str = ""
    columns: tuple[DeclaredColumn, ...] = ()

    def names(self) -> list[str]:
        """Every column that is spoken of."""
        linked = [self.link.column] if self.link is not None else []
        return [*linked, *([self.key] if self.key else []), *(column.name for column in self.columns)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Declared:
    """What a descriptor says, before the names and types of the sources' columns are known."""

    name: str
    engine: str
    version: str
    population: str
    unit: str
    neighbours: Neighbours
    budget: Budget
    ledger: str
    tables: tuple[DeclaredTable, ...]
    facts: Mapping[str, str]
    text: TomlText = field(repr=False, compare=False)


def bound_units(value: Bound) -> Fraction:
    """A bound in the column's own units: a date in days, a time in microseconds since 1970-01-01."""
    if isinstance(value, Fraction):
        return value
    if isinstance(value, datetime):
        since = (value if value.tzinfo else value.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
        return Fraction((since.days * 86_400 + since.seconds) * 1_000_000 + since.microseconds)
    return Fraction((value - _EPOCH).days)


def typed_bound(number: Fraction, kind: Kind) -> Bound:
    """What ``bound_units`` made of a bound, as it is typed again; times come back in UTC without a zone."""
    if kind is Kind.DATE:
        return _EPOCH + timedelta(days=int(number))
    if kind is Kind.TIMESTAMP:
        return datetime(1970, 1, 1) + timedelta(microseconds=int(number))
    return number


def step_units(step: Fraction, kind: Kind) -> Fraction:
    """A step in the column's own units: typed in days for dates, in seconds for times."""
    return step * 1_000_000 if kind is Kind.TIMESTAMP else step


def value_kind(value: Value | Fraction) -> Kind:
    """The kind of a bound or a value."""
    return next(kind for known, kind in _KINDS if isinstance(value, known))


def sort_of(value: Value | Fraction) -> object:
    """What must be alike in one list, and in a pair of bounds: whole numbers and others may mix, zones may not."""
    kind = value_kind(value)
    zone = isinstance(value, datetime) and value.tzinfo is not None
    return Kind.NUMBER if kind.is_number else (kind, zone)


def kind_declared(
    values: Sequence[Value] | None,
    lower: Bound | None = None,
    upper: Bound | None = None,
    *,
    step: Fraction | None = None,
) -> Kind | None:
    """What a column is by what is declared of it: never by its source, where one missing value makes integers doubles.

    Values say it; else bounds do: whole bounds with a whole step make it an integer, others a number.

    >>> kind_declared(None, Fraction(0), Fraction(10), step=Fraction(1)), kind_declared(None, Fraction(0), Fraction(10))
    (<Kind.INTEGER: 'integer'>, <Kind.NUMBER: 'number'>)
    """
    if values:
        return common_kind(values)
    if lower is None or upper is None:
        return Kind.NUMBER if step is not None else None
    numbers = (lower, upper, step)
    if all(isinstance(number, Fraction) and number.denominator == 1 for number in numbers):
        return Kind.INTEGER
    return Kind.TIMESTAMP if isinstance(upper, datetime) else value_kind(lower)


def kind_undeclared(arrived: Kind) -> Kind:
    """What a column is of which nothing is declared: all numbers are numbers, whole or not."""
    return Kind.NUMBER if arrived is Kind.INTEGER else arrived


def common_kind(values: Sequence[Value]) -> Kind:
    """The kind that all values have, or numbers if some are whole and some are not."""
    kinds = {value_kind(value) for value in values}
    return Kind.NUMBER if Kind.NUMBER in kinds else value_kind(values[0])
