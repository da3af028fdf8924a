"""``hb.connect``: from a descriptor, a file or a table in memory to a connection."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime, time
from fractions import Fraction
from pathlib import Path
from typing import Any

from hubbub.engines import DuckDB, InDatabase
from hubbub.engines.duckdb import tables_in
from hubbub.engines.sources import CSV, DATABASE
from hubbub.ledger import Ledger
from hubbub.sql import descriptor
from hubbub.sql.connection import SECONDS, Connection
from hubbub.sql.expressions import kind_of, place_of
from hubbub.sql.identity import check_ids
from hubbub.sql.prepare import is_prepared
from hubbub.sql.schema import Column, Dataset, Kind, Link, Table, Value
from hubbub.terms import (
    Budget,
    BudgetConflict,
    MissingParameter,
    Neighbours,
    OutOfRange,
    ReversedBounds,
    SourceUnavailable,
    UnknownName,
    exact,
    whole,
)


def connect(
    source: object,
    *,
    unit: str | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    budget: Budget | None = None,
    ledger: Ledger | str | Path | None = None,
    max_rows_per_unit: int | None = None,
    keys: Mapping[str, Sequence[Any]] | None = None,
    population: str | None = None,
    neighbours: Neighbours | str | None = None,
    rows: int | None = None,
    project: str = "default",
    analyst: str = "owner",
    seconds: float = SECONDS,
    memory: str = "",
) -> Connection:
    """Connect to data about people: a descriptor (``hospital.toml``), a file, or a table in memory.

    Without a descriptor the facts are given here: ``unit`` is the column that tells people apart ("row" if every row is
    protected by itself), ``max_rows_per_unit`` how many rows one of them has at most, ``bounds`` of numbers and dates
    (a third number is the grid), ``keys`` the public values of columns. A file's table is named after its stem.
    ``neighbours`` is "add-remove" if not given: the guarantee compares the data with and without one person.

    >>> import pandas, tempfile, hubbub
    >>> visits = pandas.DataFrame({"patient": [1, 1, 2, 3], "ward": ["n", "s", "n", "n"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with connect(visits, unit="patient", max_rows_per_unit=2, keys={"ward": ["n", "s"]},
    ...              budget=hubbub.Budget(1, 1e-6), ledger=f"{folder.name}/ledger.db") as db:
    ...     len(db.sql("SELECT ward, COUNT(*) AS n FROM table GROUP BY ward", epsilon=0.1))
    2
    >>> folder.cleanup()
    """
    dataset, engine = declare(
        source,
        unit=unit,
        bounds=bounds,
        budget=budget,
        max_rows_per_unit=max_rows_per_unit,
        keys=keys,
        population=population,
        neighbours=neighbours,
        rows=rows,
        memory=memory,
    )
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger or ledger_place(source, dataset))
    dataset = _same_people(book, dataset)
    _open(book, dataset)
    return Connection(dataset, engine, book, project=project, analyst=analyst, seconds=seconds)


def declare(
    source: object,
    *,
    unit: str | None = None,
    bounds: Mapping[str, Sequence[Any]] | None = None,
    budget: Budget | None = None,
    max_rows_per_unit: int | None = None,
    keys: Mapping[str, Sequence[Any]] | None = None,
    population: str | None = None,
    neighbours: Neighbours | str | None = None,
    rows: int | None = None,
    memory: str = "",
) -> tuple[Dataset, DuckDB]:
    """What is public about a source, and the engine that reads it; no ledger is touched."""
    if isinstance(source, str | Path) and str(source).lower().endswith(".toml"):
        given = {"unit": unit, "bounds": bounds, "budget": budget, "keys": keys, "population": population}
        also = {"rows": rows, "max_rows_per_unit": max_rows_per_unit, "neighbours": neighbours}
        _refuse_beside_descriptor({**given, **also})
        return _described(Path(source), memory)
    sources = _sources(source)
    if unit is None:
        raise MissingParameter(
            "connect needs a unit.",
            why="Who is protected is never guessed.",
            fix='Write unit="patient_id" for the column that tells people apart, or unit="row".',
        )
    engine = DuckDB(sources, memory=memory)
    facts = _Facts(unit, bounds or {}, keys or {}, max_rows_per_unit, rows)
    relation = Neighbours.parse(neighbours or Neighbours.ADD_REMOVE)
    return _declared(sources, engine, facts, budget, population, relation), engine


def ledger_place(source: object, dataset: Dataset) -> str | Path:
    """Where the ledger is if nobody says: as declared, or beside the data, one for each population."""
    folder = Path(str(source)).parent if isinstance(source, str | Path) else Path()
    return dataset.ledger or folder / f"{dataset.population}.ledger.db"


# ---------------------------------------------------------------- with a descriptor


def _described(path: Path, memory: str) -> tuple[Dataset, DuckDB]:
    declared = descriptor.read(path)
    if declared.engine != "duckdb":
        raise SourceUnavailable(
            f"the engine {declared.engine!r} is not there.",
            why="Data are read by DuckDB, which is embedded.",
            fix='Write engine = "duckdb".',
        )
    sources = {table.name: _source(table, path.parent) for table in declared.tables}
    engine = DuckDB(sources, memory=memory)
    return complete(declared, engine, sources), engine


def complete(declared: descriptor.Declared, engine: DuckDB, sources: Mapping[str, object]) -> Dataset:
    """What a descriptor declares, with the names and types that its sources have."""
    schemas = {name: _visible(engine, name) for name in sources}
    return _marked(descriptor.complete(declared, schemas), engine, sources)


def _source(table: descriptor.DeclaredTable, folder: Path) -> object:
    if isinstance(table.source, descriptor.Inside):
        return InDatabase(table.source.source, table.source.table)
    if table.source:
        return table.source
    for ending in (".parquet", ".csv"):
        if (folder / f"{table.name}{ending}").is_file():
            return folder / f"{table.name}{ending}"
    raise SourceUnavailable(
        f"the table {table.name!r} has no source.",
        why=f"There is neither {table.name}.parquet nor {table.name}.csv beside the descriptor.",
        fix=f'Write source = "..." in [tables.{table.name}].',
    )


def _marked(dataset: Dataset, engine: DuckDB, sources: Mapping[str, object]) -> Dataset:
    """The dataset with what the sources themselves tell; ids that would never meet are refused."""
    dataset = replace(dataset, tables=tuple(_told_by_source(table, engine) for table in dataset.tables))
    for table in dataset.tables:
        _check_spellings(table, engine)
    check_ids(dataset)
    tables = (
        replace(table, prepared=is_prepared(sources[table.name], table, dataset, engine.columns(table.name)))
        for table in dataset.tables
    )
    return replace(dataset, tables=tuple(tables))


def _told_by_source(table: Table, engine: DuckDB) -> Table:
    """The table with the types of its source, and which columns come as text."""
    kinds, natives = dict(engine.columns(table.name)), engine.natives(table.name)
    columns = tuple(
        replace(
            column,
            from_text=kinds.get(column.name) == "text" and column.kind is not Kind.TEXT,
            native=natives.get(column.name, ""),
        )
        for column in table.columns
    )
    return replace(table, columns=columns)


def _check_spellings(table: Table, engine: DuckDB) -> None:
    """Public keys of a column with a collation are written as keys leave: in the spelling that equal texts share."""
    for column in table.columns:
        texts = [value for value in column.values or () if isinstance(value, str)]
        if not texts or " COLLATE " not in column.native:
            continue
        for text, form in zip(texts, engine.spellings(table.name, column.name, texts), strict=True):
            if text != form:
                raise OutOfRange(
                    f"the key {text!r} of {column.name!r} is written {form!r} here.",
                    why="The column has a collation, and texts that it calls equal leave in one spelling.",
                    fix=f"Write {form!r}.",
                )


def _visible(engine: DuckDB, name: str) -> list[tuple[str, Kind]]:
    return [(column, Kind(kind)) for column, kind in engine.columns(name) if not column.startswith("_hb_")]


def _refuse_beside_descriptor(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value is not None:
            raise MissingParameter(
                f"{name} stands in the descriptor and is not given to connect.",
                why="What is public about a dataset is declared in one place.",
                fix=f"Leave {name} out, or change the descriptor.",
            )


# ---------------------------------------------------------------- without one


def _sources(source: object) -> dict[str, object]:
    if not isinstance(source, str | Path):
        return {"table": source}
    path = Path(str(source))
    if str(source).lower().endswith(DATABASE):
        return {name: InDatabase(str(source), name) for name in tables_in(str(source))}
    stem = re.sub(r"[*?\[\]]", "", path.name.split(".")[0]).strip("_-") or path.parent.name or "table"
    return {stem: str(source)}


@dataclass(frozen=True, slots=True)
class _Facts:
    """What connect was told about the data."""

    unit: str
    bounds: Mapping[str, Sequence[Any]]
    keys: Mapping[str, Sequence[Any]]
    max_rows: int | None
    rows: int | None

    @property
    def column(self) -> str:
        """The column that tells people apart; empty if every row is a unit."""
        return "" if self.unit == "row" else self.unit.rpartition(".")[2]


def _declared(
    sources: Mapping[str, object],
    engine: DuckDB,
    facts: _Facts,
    budget: Budget | None,
    population: str | None,
    neighbours: Neighbours,
) -> Dataset:
    tables = tuple(
        _table(name, source, engine, facts)
        for name, source in sources.items()
        if not facts.column or any(facts.column.lower() == other.lower() for other, _ in engine.columns(name))
    )
    if not tables:
        raise UnknownName(
            f"there is no column {facts.column!r}.",
            why="It was named as the one that tells people apart.",
            fix=f"Use one of: {', '.join(name for table in sources for name, _ in _visible(engine, table))[:300]}.",
        )
    _check_named({**facts.bounds, **facts.keys}, tables)
    first = tables[0]
    dataset = Dataset(
        name=first.name,
        population=population or first.name,
        unit=f"{first.name}.{first.link.column}" if first.link is not None else "",
        budget=budget,
        tables=tables,
        neighbours=neighbours,
    )
    return _marked(dataset, engine, sources)


def _table(name: str, source: object, engine: DuckDB, facts: _Facts) -> Table:
    bounds = {key.lower(): value for key, value in facts.bounds.items()}
    keys = {key.lower(): value for key, value in facts.keys.items()}
    from_text = isinstance(source, str | Path) and str(source).lower().endswith(CSV)
    columns = tuple(
        _column(column, kind, bounds.get(column.lower()), keys.get(column.lower()), from_text)
        for column, kind in _visible(engine, name)
    )
    unit = facts.column.lower()
    return Table(
        name=name,
        source=source,
        columns=columns,
        link=next((Link(column.name) for column in columns if unit and column.name.lower() == unit), None),
        max_rows_per_unit=None if facts.max_rows is None else whole(facts.max_rows, name="max_rows_per_unit"),
        rows=None if facts.rows is None else whole(facts.rows, name="rows"),
    )


def _column(name: str, kind: Kind, bounds: Sequence[Any] | None, keys: Sequence[Any] | None, from_text: bool) -> Column:
    values = None if keys is None else _values(name, keys)
    if from_text and values is not None:
        kind = kind_of(values[0])
    if bounds is None:
        return Column(name=name, kind=kind, values=values)
    if from_text and kind is Kind.TEXT:
        kind = kind_of(bounds[0]) if isinstance(bounds[0], date) else Kind.NUMBER
    low, high = _ends(name, bounds, kind)
    step = exact(bounds[2], name=f"bounds[{name!r}][2]") if len(bounds) == 3 else None
    return Column(name=name, kind=kind, lower=low, upper=high, step=step, values=values)


def _ends(name: str, bounds: Sequence[Any], kind: Kind) -> tuple[Fraction, Fraction]:
    if len(bounds) not in (2, 3):
        raise OutOfRange(
            f"bounds of {name!r} are (lower, upper) or (lower, upper, step).",
            why="A value is clamped to two bounds and rounded to a grid.",
            fix=f'Write bounds={{"{name}": (0, 100)}}.',
        )
    low, high = (
        place_of(_moment(end, kind, last)) if isinstance(end, date) else exact(end, name=f"bounds[{name!r}]")
        for end, last in zip(bounds[:2], (False, True), strict=True)
    )
    assert low is not None and high is not None
    if low >= high:
        raise ReversedBounds(
            f"the lower bound of {name!r} is not below the upper one.",
            why="Between them lies every value that counts in full.",
            fix="Swap them.",
        )
    return low, high


def _moment(end: date, kind: Kind, last: bool) -> date:
    """A bound as the column counts: days, or moments from the first of a day to its last."""
    if kind is Kind.TIMESTAMP and not isinstance(end, datetime):
        return datetime.combine(end, time.max if last else time.min)
    return end.date() if kind is Kind.DATE and isinstance(end, datetime) else end


def _values(name: str, keys: Sequence[Any]) -> tuple[Value, ...]:
    values = tuple(keys)
    if not values or len(set(values)) != len(values) or len({kind_of(value) for value in values}) != 1:
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


# ---------------------------------------------------------------- the ledger


def _same_people(ledger: Ledger, dataset: Dataset) -> Dataset:
    """Another table of people who have a budget already: the same column tells them apart, by the path they have."""
    known = ledger.populations().get(dataset.population)
    links = [table.link for table in dataset.tables if table.link is not None]
    if known is None or not known.unit or any(link.table for link in links):
        return dataset
    same = known.unit.rpartition(".")[2].lower() == dataset.unit.rpartition(".")[2].lower()
    return replace(dataset, unit=known.unit) if same else dataset


def _open(ledger: Ledger, dataset: Dataset) -> None:
    """Open the population's budget, if nobody has; one that is open already stays as it is."""
    known = ledger.populations().get(dataset.population)
    if known is None and dataset.budget is None:
        raise MissingParameter(
            f"nobody has opened a budget for {dataset.population!r}, and none is given.",
            why="How much may be spent on people is never guessed.",
            fix="Write budget=hb.Budget(3, 1e-6), or open one: `hubbub budget open`.",
        )
    if known is not None and dataset.budget is not None and known.promised != dataset.budget:
        raise BudgetConflict(
            f"the budget of {dataset.population!r} is open already, with other numbers.",
            why="A budget that could be opened twice could be spent twice.",
            fix="Leave the budget out, give the one that is open, or name another population or ledger.",
        )
    if known is None and dataset.budget is not None:
        ledger.open_population(
            dataset.population,
            dataset.budget,
            neighbours=dataset.neighbours,
            unit=dataset.unit,
            by="the connection that first named it",
            why=f"declared for the dataset {dataset.name}",
        )
