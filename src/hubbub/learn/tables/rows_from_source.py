"""Reading cells: private ones after the charge, one row per person; public ones from a file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.engines import UNREADABLE, Csv, Engine, EngineFailed, header_of
from hubbub.relations import DIALECTS, Expr, column_named, is_direct, person_form, print_relation
from hubbub.relations.nodes import (
    PERSON,
    Alias,
    Filter,
    NamedValue,
    PlainRows,
    Project,
    Relation,
    SourceTable,
    Window,
    compare_number,
    declared_id,
    is_known,
    keyed_hash,
    over_person,
)
from hubbub.schema import Dataset, Table, files_of, format_of, unavailable
from hubbub.terms import NotProved, SourceUnavailable, UnknownName

if TYPE_CHECKING:
    import pyarrow

Cells = dict[str, Any]  # values by column


def reader(engine: Engine, dataset: Dataset, table: Table, names: Sequence[str]) -> Callable[[], Cells]:
    """A function that reads these columns; of each person, if people are told apart by a column, one row.

    Which row it is depends on the rows of that person alone.
    """
    text = print_relation(_one_row_each(dataset, table, names), DIALECTS[engine.dialect])
    return lambda: _cells(engine, text, names)


def _one_row_each(dataset: Dataset, table: Table, names: Sequence[str]) -> Relation:
    source = Alias(SourceTable(table.name, tuple((column.name, column.kind) for column in table.columns)), "s")
    if not dataset.unit:
        return PlainRows(source, tuple(NamedValue(name, _column(source, name)) for name in names))
    columns = tuple(NamedValue(f"c{i}", _column(source, name)) for i, name in enumerate(names))
    whose = Alias(Project(source, (*columns, NamedValue(PERSON, _person(dataset, table, source)))), "whose")
    whom, own = whose.column(PERSON), [whose.column(each.name) for each in columns]
    first = NamedValue("place", over_person("row_number", whom, [keyed_hash(own, None)]))
    ranked = Alias(Window(Filter(whose, (is_known(whom),)), (*_again(whose, columns), first)), "ranked")
    return PlainRows(Filter(ranked, (compare_number("eq", ranked.column("place"), 1),)), _again(ranked, columns))


def _again(source: Relation, columns: Sequence[NamedValue]) -> tuple[NamedValue, ...]:
    return tuple(NamedValue(each.name, source.column(each.name)) for each in columns)


def _column(source: Relation, name: str) -> Expr:
    return next(column.reference for column in source.columns if column.name.lower() == name.lower())


def public_cells(file: Path, names: Sequence[str]) -> Cells:
    """These columns of a file whose rows are public, in the order of its rows."""
    table = _public(str(file))
    there = {name.lower(): name for name in table.column_names}
    missing = [name for name in names if name.lower() not in there]
    if missing:
        raise UnknownName(
            f"{file.name} has no column {missing[0]!r}.",
            why="The model reads it, or is measured by it.",
            fix=f"Give a file with the columns {', '.join(names)}.",
        )
    return {name: table[there[name.lower()]].to_pylist() for name in names}


def _public(file: str) -> pyarrow.Table:
    import pyarrow
    from pyarrow import parquet

    [path] = files_of(file)
    try:
        if format_of(path) == "parquet":
            return parquet.read_table(path)
        return Csv((path,), tuple(header_of(path))).read()
    except (*UNREADABLE, pyarrow.ArrowException):
        raise unavailable(file, "it is not what its name says") from None


def _person(dataset: Dataset, table: Table, source: Relation) -> Expr:
    """What tells people apart in this table, as for a question: two spellings of one id are one person."""
    if is_direct(table, dataset):
        assert table.link is not None
        held = column_named(table, table.link.column)
        return declared_id(_column(source, held.name), held, person_form(dataset))
    raise NotProved(
        f"a row of {table.name!r} does not itself say whose it is.",
        why="One row of each person trains the model, so it must be known which rows are whose.",
        fix="Add the person's column to it, or fit on a table that has it.",
    )


def _cells(engine: Engine, text: str, names: Sequence[str]) -> Cells:
    try:
        arrays = engine.arrays(text)
    except EngineFailed:
        raise SourceUnavailable(
            "the rows could not be read.",
            why="What exactly went wrong might tell about them, and is not said.",
            fix="Check that the file is whole, and what it is about.",
        ) from None
    return {name: _plain(values) for name, values in zip(names, arrays, strict=True)}


def _plain(values: Any) -> Any:
    """Without a mask: what is missing is None, or NaN among numbers."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind == "f":
        return values.filled(np.nan)
    return np.ma.MaskedArray(values, dtype=object).filled(None)
