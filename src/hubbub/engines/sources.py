"""Where tables come from: files, globs, tables in a DuckDB file, and frames in memory."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hubbub.terms import SourceUnavailable

if TYPE_CHECKING:
    import pyarrow

PARQUET = (".parquet", ".pq")
CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
DATABASE = (".duckdb", ".ddb", ".db")


@dataclass(frozen=True, slots=True)
class InDatabase:
    """A table inside a DuckDB file."""

    path: str
    table: str


def files_of(source: str | Path) -> list[str]:
    """The files that a path or glob stands for, as of now; a file that comes later is another version."""
    text = str(source)
    path = Path(text)
    if path.is_dir():
        text = str(path / "*.parquet")
    if any(sign in text for sign in "*?[") and not path.exists():
        pattern = Path(text)
        root, rest = _split(pattern)
        found = sorted(str(file) for file in root.glob(rest) if file.is_file()) if root.exists() else []
    else:
        found = [str(path)] if path.is_file() else []
    if not found:
        raise unavailable(text, "no file is there")
    return [str(Path(file).resolve()) for file in found]


def _split(pattern: Path) -> tuple[Path, str]:
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


def header_of(file: str) -> tuple[list[str], str]:
    """The column names of a CSV file, which are public, and what separates them."""
    import gzip

    mark = "\t" if ".tsv" in Path(file).name.lower() else ","
    opened = gzip.open if file.lower().endswith(".gz") else open
    try:
        with opened(file, "rt", encoding="utf-8", errors="replace", newline="") as lines:
            names = next(csv.reader(lines, delimiter=mark), [])
    except (OSError, csv.Error, EOFError):
        raise unavailable(file, "it cannot be read") from None
    if not names or len({name.lower() for name in names}) != len(names) or not all(name.strip() for name in names):
        raise unavailable(file, "its first line is no list of different column names")
    return names, mark


def arrow_of(frame: Any) -> pyarrow.Table:
    """A pandas, Polars or Arrow table, as Arrow."""
    import pyarrow

    if isinstance(frame, pyarrow.Table):
        return frame
    try:
        if hasattr(frame, "to_arrow"):
            return frame.to_arrow()
        if type(frame).__module__.split(".")[0] == "pandas":
            return pyarrow.Table.from_pandas(frame, preserve_index=False)
        if hasattr(frame, "__arrow_c_stream__"):
            return pyarrow.table(frame)
    except (pyarrow.ArrowException, TypeError, ValueError):
        raise unavailable("the table in memory", "a column holds values of several types") from None
    raise unavailable(f"a {type(frame).__name__}", "it is no path and no pandas, Polars or Arrow table")


def unavailable(name: str, why: str) -> SourceUnavailable:
    """The refusal to read a source, from public facts."""
    return SourceUnavailable(
        f"{name} cannot be used: {why}.",
        why="A source is a Parquet or CSV file (or a glob of them), a DuckDB file, or a table in memory.",
        fix="Check the path and the ending, or give every column of a table in memory one type.",
    )


def quoted_list(files: Sequence[str]) -> str:
    """Paths as a list of the engine's strings."""
    return "[" + ", ".join("'" + file.replace("'", "''") + "'" for file in files) + "]"
