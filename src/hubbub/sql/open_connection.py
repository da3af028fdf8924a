"""``hb.connect``: from a descriptor, a file or a table in memory to a connection."""

from __future__ import annotations

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from hubbub.engines import (
    Engine,
    InDatabase,
    check_header,
    identity_of,
    is_database,
    named_sources,
    open_engine,
    with_header,
)
from hubbub.ledger import Ledger
from hubbub.relations import check_ids
from hubbub.schema import Dataset, Kind, Table, descriptor, is_csv, stem_of
from hubbub.sql.connect_arguments import check_desk, check_facts, check_memory, check_name
from hubbub.sql.connection import SECONDS, Connection
from hubbub.sql.given_source import GivenFacts, dataset_given, visible_in
from hubbub.sql.prepare_copy import is_prepared
from hubbub.terms import Budget, BudgetConflict, MissingParameter, Neighbours, OutOfRange, SourceUnavailable


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
    name: str | None = None,
    version: str | None = None,
    header: bool | Sequence[str] | None = None,
    project: str = "default",
    analyst: str = "owner",
    seconds: float = SECONDS,
    memory: str = "",
) -> Connection:
    """Connect to data about people: a descriptor (``hospital.toml``), a file, or a table in memory.

    Without a descriptor the facts are given here: ``unit`` is the column that tells people apart ("row" if every row is
    protected by itself), ``max_rows_per_unit`` how many rows one of them has at most, ``bounds`` of numbers and dates
    (a third number is the grid), ``keys`` the public values of columns. What is declared of a column decides its type.
    A file's table is named after its stem, or by ``name``; so is a DuckDB file as a whole, whose tables keep their
    names. ``version`` tells data from earlier data in the same place: a question about another version is asked anew.
    What was answered from a table in memory is repeated by a later connection only if ``name`` and ``version`` are
    given, and the same. ``header`` is about CSV files: True if their first line holds names, or the names if no line
    does. ``neighbours`` is "add-remove" if not given: the guarantee compares the data with and without one person.

    >>> import pandas, tempfile, hubbub
    >>> visits = pandas.DataFrame({"patient": [1, 1, 2, 3], "ward": ["n", "s", "n", "n"]})
    >>> folder = tempfile.TemporaryDirectory()
    >>> with connect(visits, unit="patient", max_rows_per_unit=2, keys={"ward": ["n", "s"]},
    ...              budget=hubbub.Budget(1, 1e-6), ledger=f"{folder.name}/ledger.db") as db:
    ...     len(db.sql("SELECT ward, COUNT(*) AS n FROM table GROUP BY ward", epsilon=0.1))
    2
    >>> folder.cleanup()
    """
    check_desk(ledger=ledger, project=project, analyst=analyst, seconds=seconds)
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
        name=name,
        version=version,
        header=header,
        memory=memory,
    )
    book = ledger if isinstance(ledger, Ledger) else Ledger(ledger or ledger_place(source, dataset))
    dataset = _same_people(book, dataset)
    _open_population(book, dataset)
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
    name: str | None = None,
    version: str | None = None,
    header: bool | Sequence[str] | None = None,
    memory: str = "",
) -> tuple[Dataset, Engine]:
    """What is public about a source, and the engine that reads it; no ledger is touched."""
    check_memory(memory)
    if isinstance(source, str | Path) and str(source).lower().endswith(".toml"):
        given = {"unit": unit, "bounds": bounds, "budget": budget, "keys": keys, "population": population}
        also = {"rows": rows, "max_rows_per_unit": max_rows_per_unit, "neighbours": neighbours}
        _refuse_beside_descriptor({**given, **also, "name": name, "version": version, "header": header})
        return _open_described(Path(source), memory)
    check_facts(unit=unit, bounds=bounds, keys=keys, budget=budget, population=population)
    name, version = check_name(name, what="dataset"), check_name(version, what="version")
    sources = named_sources(source, name, header)
    if unit is None:
        raise MissingParameter(
            "connect needs a unit.",
            why="Who is protected is never guessed.",
            fix='Write unit="patient_id" for the column that tells people apart, or unit="row".',
        )
    called = name or (stem_of(source) if is_database(source) else "")
    facts = GivenFacts(unit, bounds or {}, keys or {}, max_rows_per_unit, rows, called, version)
    for each in sources.values():
        _check_first_line(each, facts.names(), said=header is True)
    engine = open_engine("duckdb", sources, memory=memory)
    relation = Neighbours.parse(neighbours or Neighbours.ADD_REMOVE)
    dataset = dataset_given(sources, engine, facts, budget, population, relation)
    return _with_source_facts(dataset, engine, sources, lasting=bool(name and version)), engine


def ledger_place(source: object, dataset: Dataset) -> str | Path:
    """Where the ledger is if nobody says: as declared, or beside the data, one for each population."""
    folder = Path(str(source)).parent if isinstance(source, str | Path) else Path()
    return dataset.ledger or folder / f"{dataset.population}.ledger.db"


# ---------------------------------------------------------------- with a descriptor


def _open_described(path: Path, memory: str) -> tuple[Dataset, Engine]:
    declared = descriptor.read(path)
    if declared.engine != "duckdb":
        raise SourceUnavailable(
            f"the engine {declared.engine!r} is not there.",
            why="Data are read by DuckDB, which is embedded.",
            fix='Write engine = "duckdb".',
        )
    sources = {table.name: _table_source(table, path.parent) for table in declared.tables}
    for table in declared.tables:
        if not table.public:
            _check_first_line(sources[table.name], table.names(), said=table.header is True)
    engine = open_engine("duckdb", sources, memory=memory)
    return complete_dataset(declared, engine, sources), engine


def complete_dataset(declared: descriptor.Declared, engine: Engine, sources: Mapping[str, object]) -> Dataset:
    """What a descriptor declares, with the names and types that its sources have."""
    schemas = {name: visible_in(engine, name) for name in sources}
    return _with_source_facts(descriptor.complete(declared, schemas), engine, sources)


def _table_source(table: descriptor.DeclaredTable, folder: Path) -> object:
    if isinstance(table.source, InDatabase):
        folder_or_file = Path(table.source.path)
        if folder_or_file.is_dir():
            return _in_folder(table, folder_or_file)
        return InDatabase(str(folder_or_file), table.source.table)
    return with_header(table.source, table.header) if table.source else _in_folder(table, folder)


def _in_folder(table: descriptor.DeclaredTable, folder: Path) -> object:
    """The file that is named after a table."""
    for ending in (".parquet", ".csv"):
        if (folder / f"{table.name}{ending}").is_file():
            return with_header(folder / f"{table.name}{ending}", table.header)
    raise SourceUnavailable(
        f"the table {table.name!r} has no source.",
        why=f"There is neither {table.name}.parquet nor {table.name}.csv in its folder.",
        fix=f'Write source = "..." in [tables.{table.name}].',
    )


def _check_first_line(source: object, named: Sequence[str], *, said: bool) -> None:
    if isinstance(source, str | Path) and is_csv(source):
        check_header(source, named, said=said)


def _with_source_facts(
    dataset: Dataset, engine: Engine, sources: Mapping[str, object], *, lasting: bool = True
) -> Dataset:
    """The dataset with what the sources themselves tell; ids that would never meet are refused.

    A table in memory is told from others by a name and version that its owner gives it; else it is never the same.
    """
    dataset = replace(dataset, tables=tuple(_told_by_source(table, engine) for table in dataset.tables))
    for table in dataset.tables:
        _check_spellings(table, engine)
    check_ids(dataset)
    unknown = "" if lasting else secrets.token_hex(16)
    tables = (
        replace(
            table,
            prepared=is_prepared(sources[table.name], table, dataset, engine.columns(table.name)),
            identity=identity_of(sources[table.name], [name for name, _ in engine.columns(table.name)]) or unknown,
        )
        for table in dataset.tables
    )
    return replace(dataset, tables=tuple(tables))


def _told_by_source(table: Table, engine: Engine) -> Table:
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


def _check_spellings(table: Table, engine: Engine) -> None:
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


def _refuse_beside_descriptor(given: Mapping[str, object]) -> None:
    for name, value in given.items():
        if value is not None:
            raise MissingParameter(
                f"{name} stands in the descriptor and is not given to connect.",
                why="What is public about a dataset is declared in one place.",
                fix=f"Leave {name} out, or change the descriptor.",
            )


# ---------------------------------------------------------------- without one


# ---------------------------------------------------------------- the ledger


def _same_people(ledger: Ledger, dataset: Dataset) -> Dataset:
    """Another table of people who have a budget already: the same column tells them apart, by the path they have."""
    known = ledger.populations().get(dataset.population)
    links = [table.link for table in dataset.tables if table.link is not None]
    if known is None or not known.unit or any(link.table for link in links):
        return dataset
    same = known.unit.rpartition(".")[2].lower() == dataset.unit.rpartition(".")[2].lower()
    return replace(dataset, unit=known.unit) if same else dataset


def _open_population(ledger: Ledger, dataset: Dataset) -> None:
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
