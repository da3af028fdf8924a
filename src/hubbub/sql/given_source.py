"""A dataset without a descriptor: from what is given to ``hb.connect`` about a file or a table in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, time
from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.engines import Engine, is_pandas
from hubbub.relations import kind_of, place_of
from hubbub.schema import Column, Dataset, Kind, PersonLink, Table, Value, is_reserved, kind_declared, kind_undeclared
from hubbub.terms import (
    Budget,
    Neighbours,
    NotANumber,
    OutOfRange,
    ReversedBounds,
    UnknownName,
    exact,
    positive,
    whole,
)

Columns = Mapping[str, Sequence[tuple[str, Kind]]]  # of each table


@dataclass(frozen=True, slots=True)
class GivenFacts:
    """What was said about the data."""

    unit: str
    bounds: Mapping[str, Sequence[Any]]
    keys: Mapping[str, Sequence[Any]]
    max_rows: int | None
    rows: int | None
    name: str = ""
    version: str = ""

    @property
    def column(self) -> str:
        """The column that tells people apart; empty if every row is a unit."""
        return "" if self.unit == "row" else self.unit.rpartition(".")[2]

    def names(self) -> list[str]:
        """Every column that is spoken of."""
        return [*([self.column] if self.column else []), *self.bounds, *self.keys]


def dataset_given(
    sources: Mapping[str, object],
    engine: Engine,
    given: GivenFacts,
    budget: Budget | None,
    population: str | None,
    neighbours: Neighbours,
) -> Dataset:
    """The public facts about these sources, with the names and types of their columns."""
    visible = {name: visible_in(engine, name) for name in sources}
    tables = tuple(
        _declare_table(name, source, visible[name], given)
        for name, source in sources.items()
        if not given.column or any(given.column.lower() == other.lower() for other, _ in visible[name])
    )
    if not tables:
        raise UnknownName(
            f"there is no column {given.column!r}.",
            why="It was named as the one that tells people apart.",
            fix=f"Use one of: {', '.join(name for columns in visible.values() for name, _ in columns)[:300]}.",
        )
    _check_named({**given.bounds, **given.keys}, tables)
    wanted = given.unit.rpartition(".")[0].lower()
    first = next((table for table in tables if table.name.lower() == wanted), tables[0])
    name = given.name or first.name
    return Dataset(
        name=name,
        population=population or name,
        unit=f"{first.name}.{first.link.column}" if first.link is not None else "",
        budget=budget,
        tables=tables,
        version=given.version or "1",
        neighbours=neighbours,
    )


def visible_in(engine: Engine, name: str) -> list[tuple[str, Kind]]:
    """The columns of a table that questions may speak of."""
    return [(column, Kind(kind)) for column, kind in engine.columns(name) if not is_reserved(column)]


# ---------------------------------------------------------------- columns


def _declare_table(name: str, source: object, visible: Sequence[tuple[str, Kind]], given: GivenFacts) -> Table:
    bounds = {key.lower(): value for key, value in given.bounds.items()}
    keys = {key.lower(): value for key, value in given.keys.items()}
    columns = tuple(
        _declare_column(column, _source_kind(kind, source), bounds.get(column.lower()), keys.get(column.lower()))
        for column, kind in visible
    )
    unit = given.column.lower()
    return Table(
        name=name,
        source=source,
        columns=columns,
        link=next((PersonLink(column.name) for column in columns if unit and column.name.lower() == unit), None),
        max_rows_per_unit=None if given.max_rows is None else whole(given.max_rows, name="max_rows_per_unit"),
        rows=None if given.rows is None else whole(given.rows, name="rows"),
    )


def _source_kind(kind: Kind, source: object) -> Kind:
    """The type that a source gives a column; pandas makes objects of truth values as soon as one is missing."""
    return Kind.TEXT if is_pandas(source) and kind in (Kind.BOOLEAN, Kind.OPAQUE) else kind


def _declare_column(name: str, arrived: Kind, bounds: Sequence[Any] | None, keys: Sequence[Any] | None) -> Column:
    """What is declared decides what a column is; the source's type does where nothing is declared."""
    values = None if keys is None else _check_values(name, keys)
    if bounds is None:
        return Column(name=name, kind=kind_declared(values) or kind_undeclared(arrived), values=values)
    if len(bounds) not in (2, 3):
        raise OutOfRange(
            f"bounds of {name!r} are (lower, upper) or (lower, upper, step).",
            why="A value is clamped to two bounds and rounded to a grid.",
            fix=f'Write bounds={{"{name}": (0, 100)}}.',
        )
    step = positive(bounds[2], name=f"bounds[{name!r}][2]") if len(bounds) == 3 else None
    ends = [end if isinstance(end, date) else _exact_end(name, end) for end in bounds[:2]]
    kind = kind_declared(values, *ends, step=step)
    assert kind is not None
    low, high = _exact_bounds(name, ends, kind)
    return Column(name=name, kind=kind, lower=low, upper=high, step=step, values=values)


def _exact_end(name: str, end: object) -> Fraction:
    if isinstance(end, str):
        raise NotANumber(
            f"the bounds of {name!r} must be numbers, dates or times, and not text.",
            why="They decide what the column is, and a text of digits could be each of these.",
            fix=f'Write numbers without quotes; for days "{name}": (date(2025, 1, 1), date(2025, 12, 31)), with '
            "`from datetime import date`; for times the same with datetime.",
        )
    return exact(end, name=f"bounds[{name!r}]")


def _exact_bounds(name: str, ends: Sequence[date | Fraction], kind: Kind) -> tuple[Fraction, Fraction]:
    low, high = (
        place_of(_end_moment(end, kind, last)) if isinstance(end, date) else end
        for end, last in zip(ends, (False, True), strict=True)
    )
    assert low is not None and high is not None
    if low >= high:
        raise ReversedBounds(
            f"the lower bound of {name!r} is not below the upper one.",
            why="Between them lies every value that counts in full.",
            fix="Swap them.",
        )
    return low, high


def _end_moment(end: date, kind: Kind, last: bool) -> date:
    """A bound as the column counts: days, or moments from the first of a day to its last."""
    if kind is Kind.TIMESTAMP and not isinstance(end, datetime):
        return datetime.combine(end, time.max if last else time.min)
    return end.date() if kind is Kind.DATE and isinstance(end, datetime) else end


def _check_values(name: str, keys: Sequence[Any]) -> tuple[Value, ...]:
    values = tuple(key.item() if isinstance(key, np.generic) else key for key in keys)
    plain = all(isinstance(value, bool | int | float | str | date) and value == value for value in values)  # noqa: PLR0124  (NaN)
    if not plain or not values or len(set(values)) != len(values) or len({kind_of(value) for value in values}) != 1:
        raise OutOfRange(
            f"the keys of {name!r} are different values of one kind.",
            why="Each is a row of the answer.",
            fix=f'Write keys={{"{name}": ["north", "south"]}}.',
        )
    return values


def _check_named(named: Mapping[str, Any], tables: Sequence[Table]) -> None:
    for name in named:
        if not any(table.column(name) for table in tables):
            known = ", ".join(column.name for table in tables for column in table.columns)
            raise UnknownName(
                f"there is no column {name!r}.",
                why="Bounds or keys were given for it.",
                fix=f"Use one of: {known[:300]}.",
            )
