"""Where tables come from, by name alone: files, globs, folders, tables in a DuckDB file. Nothing is opened here."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeAlias

from hubbub.terms import SourceUnavailable

if TYPE_CHECKING:
    import pyarrow

PARQUET = (".parquet", ".pq")


CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")


DATABASE = (".duckdb", ".ddb", ".db")


@dataclass(frozen=True, slots=True)
class Headless:
    """CSV files without a header: their columns, as the owner names them."""

    path: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class InDatabase:
    """A table inside a database: the file or address of it, and the table's name there."""

    path: str
    table: str


class ArrowStream(Protocol):
    """A table in memory that hands out its columns as Arrow: of pandas, Polars or Arrow itself."""

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """The columns, in the form that Arrow's libraries exchange."""
        ...


class MadeIntoArrow(Protocol):
    """A table in memory, or a release, that makes a table of Arrow of itself."""

    def to_arrow(self) -> pyarrow.Table:
        """The same columns and rows."""
        ...


FrameLike: TypeAlias = ArrowStream | MadeIntoArrow


def files_of(source: str | Path) -> list[str]:
    """The files that a path or glob stands for, as of now; a file that comes later is another version."""
    path = Path(str(source))
    if path.is_dir():
        files = sorted(str(file) for file in path.glob("*.parquet") if file.is_file())
        if not files:
            raise unavailable(str(source), "no .parquet file is in that folder (name others as folder/*.csv)")
        return [str(Path(file).resolve()) for file in files]
    text = str(source)
    if any(sign in text for sign in "*?[") and not path.exists():
        pattern = Path(text)
        root, rest = _split_glob(pattern)
        files = sorted(str(file) for file in root.glob(rest) if file.is_file()) if root.exists() else []
    else:
        files = [str(path)] if path.is_file() else []
    if not files:
        raise unavailable(text, "no file is there")
    return [str(Path(file).resolve()) for file in files]


def one_file(source: str | Path) -> str:
    """The one file that a path or glob stands for."""
    files = files_of(source)
    if len(files) > 1:
        raise unavailable(str(source), "a database is one file, and this stands for several")
    return files[0]


def _split_glob(pattern: Path) -> tuple[Path, str]:
    """The folder without wildcards, and what comes after it."""
    parts = pattern.parts
    first = next(i for i, part in enumerate(parts) if any(sign in part for sign in "*?["))
    return Path(*parts[:first]) if first else Path(), "/".join(parts[first:])


def format_of(file: str) -> str:
    """parquet, csv or duckdb, by the name."""
    name = file.lower()
    for kind, endings in (("parquet", PARQUET), ("csv", CSV), ("duckdb", DATABASE)):
        if name.endswith(endings):
            return kind
    raise unavailable(file, "its ending is none of .parquet, .csv, .tsv, .duckdb")


def is_csv(source: object) -> bool:
    """Whether it is a CSV file, or a glob with one among its files, whose first line says how columns are called."""
    if not isinstance(source, str | Path):
        return False
    try:
        return any(name.lower().endswith(CSV) for name in (str(source), *files_of(source)))
    except SourceUnavailable:
        return str(source).lower().endswith(CSV)


def unavailable(name: str, why: str) -> SourceUnavailable:
    """The refusal to read a source, from public facts."""
    return SourceUnavailable(
        f"{name} cannot be used: {why}.",
        why="A source is a Parquet or CSV file (or a glob of them), a DuckDB file, or a table in memory.",
        fix="Check the path and the ending, or give every column of a table in memory one type.",
    )


def check_distinct(table: str, names: Iterable[str]) -> None:
    """Refuse columns that an engine would call otherwise, since it looks at no case: one would stand for another."""
    lower = [name.lower() for name in names]
    if len(set(lower)) < len(lower):
        raise unavailable(table, "the names of two of its columns differ in case only, or not at all")


def stem_of(source: object) -> str:
    """What a file is called without its ending, and a glob without its signs."""
    path = Path(str(source))
    return re.sub(r"[*?\[\]]", "", path.name.split(".")[0]).strip("_-") or path.parent.name or "table"
