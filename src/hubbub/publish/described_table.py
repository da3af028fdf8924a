"""A table of a described dataset, to be published: its columns now, its rows by the engine, after the charge."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.engines import Engine, EngineFailed
from hubbub.publish.domains import ColumnDomain, Date
from hubbub.publish.unread_table import Unread, declared_schema, rows_as_declared, rows_unreadable
from hubbub.relations import DIALECTS, Expr, column_named, is_direct, person_form, print_relation
from hubbub.relations.nodes import (
    Alias,
    Filter,
    NamedValue,
    PlainRows,
    Relation,
    SourceTable,
    declared_id,
    is_known,
    read_as,
)
from hubbub.schema import Column, Dataset, Kind, Table
from hubbub.terms import NotProved

if TYPE_CHECKING:
    import pyarrow

_ANY_DAY = Date(lower="0001-01-01", upper="9999-12-31")
_TEMPORAL = (Kind.DATE, Kind.TIMESTAMP)


def described_table(engine: Engine, dataset: Dataset, table: Table, domain: Mapping[str, ColumnDomain]) -> Unread:
    """The columns of a table, and how its rows are read: each value by itself, as it was declared.

    People are told apart as in every question about the dataset: two spellings of one id are one person, and a row
    that is nobody's is not read.
    """
    kinds = {name: Kind(kind) for name, kind in engine.columns(table.name)}
    shown = [column for column in table.columns if kinds[column.name] is not Kind.OPAQUE]
    person = _person(dataset, table)
    whose = {} if person is None else {person.name: dataset.unit}
    types = {
        column.name: _arrow_type(kinds[column.name] if column.name not in whose else Kind.TEXT) for column in shown
    }
    days = {column.name: _ANY_DAY for column in shown if column.kind in _TEMPORAL and column.name not in whose}
    text = print_relation(_rows(dataset, table, shown, kinds, person), DIALECTS[engine.dialect])

    def read() -> pyarrow.Table:
        return rows_as_declared(_read(engine, text, types), {**days, **domain})

    return Unread(declared_schema(_schema(types), {**days, **domain}), cache(read), whose)


def _person(dataset: Dataset, table: Table) -> Column | None:
    """The column that tells people apart; None if each row is protected."""
    if not dataset.unit:
        return None
    if not is_direct(table, dataset):
        raise NotProved(
            f"a row of {table.name!r} does not itself say whose it is.",
            why="So many rows of each person count, so it must be known which rows are whose.",
            fix="Add the person's column to it, or publish a table that has it.",
        )
    assert table.link is not None
    return column_named(table, table.link.column)


def _rows(
    dataset: Dataset, table: Table, columns: list[Column], kinds: Mapping[str, Kind], person: Column | None
) -> Relation:
    source = Alias(SourceTable(table.name, tuple((column.name, kinds[column.name]) for column in table.columns)), "s")
    cells = {column.name: _cell(source.column(column.name), kinds[column.name]) for column in columns}
    if person is None:
        return PlainRows(source, tuple(NamedValue(name, cell) for name, cell in cells.items()))
    whom = declared_id(source.column(person.name), person, person_form(dataset))
    cells |= {person.name: read_as(whom, "", Kind.TEXT)} if person.name in cells else {}
    return PlainRows(Filter(source, (is_known(whom),)), tuple(NamedValue(name, cell) for name, cell in cells.items()))


def _cell(column: Expr, stored: Kind) -> Expr:
    """A cell as no value can make it fail: numbers as doubles, truth values as they are, all else as text."""
    if stored is Kind.BOOLEAN:
        return column
    return read_as(column, "", Kind.NUMBER if stored.is_number else Kind.TEXT)


def _arrow_type(stored: Kind) -> Any:
    import pyarrow

    if stored.is_number:
        return pyarrow.float64()
    return pyarrow.bool_() if stored is Kind.BOOLEAN else pyarrow.string()


def _schema(types: Mapping[str, Any]) -> pyarrow.Schema:
    import pyarrow

    return pyarrow.schema(list(types.items()))


def _read(engine: Engine, text: str, types: Mapping[str, Any]) -> pyarrow.Table:
    import pyarrow

    try:
        arrays = engine.arrays(text)
    except EngineFailed:
        raise rows_unreadable() from None
    columns = {
        name: pyarrow.array(np.ma.getdata(array), type=kind, mask=np.ma.getmaskarray(array))
        for (name, kind), array in zip(types.items(), arrays, strict=True)
    }
    return pyarrow.table(columns)
