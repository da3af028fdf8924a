"""The descriptor: what a data owner declares about a dataset, read from TOML and checked.

``read`` and ``parse`` give what the text says; ``complete`` joins it with the names and types of the sources' columns
to the public facts that every query is planned from. Whatever is wrong is refused with the place in the file. Nothing
here reads a row.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, NoReturn

from hubbub.schema.declared import (
    Declared,
    DeclaredColumn,
    DeclaredTable,
    bound_units,
    kind_undeclared,
    step_units,
    typed_bound,
)
from hubbub.schema.declared_columns import COLUMN_KEYS, check_kind
from hubbub.schema.declared_fields import budget_in, choice_in, fact_in, name_in, refuse_missing, source_path
from hubbub.schema.declared_links import TABLE_KEYS, link_tables, tables_in, unit_in
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.schema.toml_positions import TomlTable, TomlText, did_you_mean
from hubbub.terms import Neighbours

__all__ = [
    "COLUMN_KEYS",
    "ENGINES",
    "TABLE_KEYS",
    "Declared",
    "DeclaredColumn",
    "DeclaredTable",
    "bound_units",
    "complete",
    "json_schema",
    "parse",
    "read",
    "step_units",
    "typed_bound",
]
ENGINES = ("duckdb", "postgres", "spark")


def read(path: str | Path) -> Declared:
    """The descriptor in a file; relative paths in it start from its folder."""
    source = TomlText.read(
        path,
        called="descriptor",
        why="Bounds, keys and the budget are declared there, and nothing is answered without them.",
        fix="Check the path, or draft a descriptor with `hubbub init`.",
    )
    return _parse_text(source, Path(path).parent)


def parse(text: str, *, name: str = "descriptor.toml", folder: Path | None = None) -> Declared:
    """What a descriptor says; ``name`` stands in messages, ``folder`` is where relative paths start.

    >>> declared = parse('''
    ... dataset.name = "survey"
    ... privacy = { unit = "row", budget = { epsilon = 1 } }
    ... tables.answers = { source = "answers.csv", columns.age = { lower = 0, upper = 120, step = 1 } }
    ... ''')
    >>> declared.population, declared.tables[0].columns[0].upper
    ('survey', Fraction(120, 1))
    """
    return _parse_text(TomlText(name, text.replace("\r\n", "\n")), folder)


def _parse_text(source: TomlText, folder: Path | None) -> Declared:
    root = TomlTable(source, (), source.load())
    root.only("dataset", "privacy", "declared", "tables")
    declared = _read_sections(root, folder)
    return replace(declared, tables=tuple(link_tables(declared, root.section("tables"))))


def complete(declared: Declared, schemas: Mapping[str, Sequence[tuple[str, Kind]]]) -> Dataset:
    """The public facts: what was declared, joined with the names and kinds of each table's columns."""
    tables = tuple(_complete_table(declared, table, schemas.get(table.name)) for table in declared.tables)
    named = {table.name: table for table in tables}
    protected, _, column = declared.unit.partition(".")
    unit = (
        f"{protected}.{_source_spelling(declared, ('privacy', 'unit'), named[protected], column)}"
        if declared.unit
        else ""
    )
    return Dataset(
        name=declared.name,
        population=declared.population,
        unit=unit,
        budget=declared.budget,
        tables=tuple(_spell_links(declared, table, named) for table in tables),
        engine=declared.engine,
        version=declared.version,
        neighbours=declared.neighbours,
        ledger=declared.ledger,
        facts=declared.facts,
    )


def json_schema() -> dict[str, Any]:
    """The JSON Schema (2020-12) of a descriptor, for editors: shapes and types, not what hangs together."""
    text = (files("hubbub.schema") / "descriptor.schema.json").read_text(encoding="utf-8")
    schema: dict[str, Any] = json.loads(text)
    return schema


def _read_sections(root: TomlTable, folder: Path | None) -> Declared:
    """All that the text says, but for the links between tables."""
    dataset, privacy, facts = root.section("dataset"), root.section("privacy"), root.section("declared")
    dataset.only("name", "engine", "version", "source")
    privacy.only("population", "unit", "neighbours", "budget", "ledger")
    called, engine = name_in(dataset, "name", "dataset"), choice_in(dataset, "engine", ENGINES)
    tables = tuple(tables_in(root.section("tables"), engine, dataset.words("source"), folder))
    if not tables:
        refuse_missing(root, "tables", "at least one table", "[tables.<name>]")
    return Declared(
        name=called,
        engine=engine,
        version=name_in(dataset, "version", "version", default="1"),
        population=name_in(privacy, "population", "population", default=called),
        unit=unit_in(privacy, tables),
        neighbours=Neighbours(choice_in(privacy, "neighbours", tuple(Neighbours))),
        budget=budget_in(privacy),
        ledger=source_path(privacy.words("ledger"), folder),
        tables=tables,
        facts={key: fact_in(facts, key) for key in facts.content},
        text=root.text,
    )


def _complete_table(declared: Declared, table: DeclaredTable, schema: Sequence[tuple[str, Kind]] | None) -> Table:
    path = ("tables", table.name)
    names = [name.lower() for name, _ in schema or ()]
    if schema is None or len(set(names)) < len(names):
        problem = "was not found at its source" if schema is None else "has columns that differ in case only"
        declared.text.refuse(
            path,
            f"table {table.name} {problem}.",
            why="A descriptor speaks of tables and columns that a query can name without doubt.",
            fix="Check source, or rename what is there.",
            key=True,
        )
    declared_columns: dict[str, DeclaredColumn] = {}
    for column in table.columns:
        if column.name.lower() not in names:
            _no_column(declared, (*path, "columns", column.name), table.name, column.name, [name for name, _ in schema])
        declared_columns[column.name.lower()] = column
    return Table(
        name=table.name,
        source=table.source,
        columns=tuple(
            _complete_column(declared, table, declared_columns.get(name.lower()), name, kind) for name, kind in schema
        ),
        link=table.link,
        key=table.key,
        max_rows_per_unit=table.max_rows_per_unit,
        rows=table.rows,
        public=table.public,
        why=table.why,
    )


def _complete_column(
    declared: Declared, table: DeclaredTable, column: DeclaredColumn | None, name: str, arrived: Kind
) -> Column:
    if column is None:
        return Column(name=name, kind=kind_undeclared(arrived))
    implied = None if arrived is Kind.OPAQUE else column.implied
    kind = column.kind or implied or kind_undeclared(arrived)
    check_kind(TomlTable(declared.text, ("tables", table.name, "columns", column.name), {}), column, kind)
    return column.of_kind(kind, name)


def _spell_links(declared: Declared, table: Table, named: Mapping[str, Table]) -> Table:
    """Key and link in the spelling of the source; all of their columns must be there."""
    path = ("tables", table.name)
    key = _source_spelling(declared, (*path, "key"), table, table.key) if table.key else ""
    if (link := table.link) is not None:
        far = (
            _source_spelling(declared, (*path, "unit", link.column), named[link.table], link.key) if link.table else ""
        )
        link = PersonLink(_source_spelling(declared, (*path, "unit"), table, link.column), link.table, far)
    return replace(table, key=key, link=link)


def _source_spelling(declared: Declared, path: tuple[str, ...], table: Table, name: str) -> str:
    column = table.column(name)
    if column is None:
        _no_column(declared, path, table.name, name, [column.name for column in table.columns])
    return column.name


def _no_column(declared: Declared, path: tuple[str, ...], table: str, name: str, known: Sequence[str]) -> NoReturn:
    declared.text.refuse(
        path,
        f"{table} has no column {name!r}.{did_you_mean(name, known)}",
        why="What is declared of a column that is not there would protect nobody.",
        fix=f"Name one of its columns: {', '.join(known)}.",
        key="columns" in path,
    )
