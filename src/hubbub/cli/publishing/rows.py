"""Reading tables: every cell of a CSV file as text first, and then as its column was declared. No value can fail."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hubbub.cli.publishing.domain import Column, is_whole
from hubbub.engines.sources import files_of, format_of, header_of, unavailable
from hubbub.publish import Date, Numeric
from hubbub.publish.synthetic.coding import numbers_of
from hubbub.terms import OutOfRange

if TYPE_CHECKING:
    import pyarrow

_EXACT = float(1 << 53)  # up to here doubles hold every whole number


def read(source: str, domain: Mapping[str, Column] | None) -> pyarrow.Table:
    """A CSV or Parquet file. Columns of a CSV file have the type that was declared; without a domain, a guessed one."""
    import pyarrow
    from pyarrow import csv, parquet

    files = files_of(source)
    path = files[0]
    if len(files) > 1 or format_of(path) == "duckdb":
        raise unavailable(source, "one CSV or Parquet file is published at a time")
    try:
        if format_of(path) == "parquet":
            return parquet.read_table(path)
        names, mark = header_of(path)
        types = None if domain is None else dict.fromkeys(names, pyarrow.string())
        kept = csv.ConvertOptions(column_types=types, strings_can_be_null=True, null_values=[""])
        table = csv.read_csv(path, parse_options=csv.ParseOptions(delimiter=mark), convert_options=kept)
    except (OSError, pyarrow.ArrowException):
        raise unavailable(
            Path(path).name, "it is not what its name says, or its rows have different numbers of cells"
        ) from None
    return table if domain is None else _typed(table, domain)


def chosen(table: pyarrow.Table, names: Sequence[str]) -> pyarrow.Table:
    """Some of the columns; all if none are named."""
    unknown = [name for name in names if name not in table.column_names]
    if unknown:
        raise OutOfRange(
            f"the table has no column {unknown[0]!r}.",
            why="Only columns of the table can be published.",
            fix=f"The columns are {', '.join(table.column_names)}.",
        )
    return table.select(list(names)) if names else table


def _typed(table: pyarrow.Table, domain: Mapping[str, Column]) -> pyarrow.Table:
    for place, name in enumerate(table.column_names):
        column = domain.get(name)
        if isinstance(column, Numeric | Date):
            table = table.set_column(place, name, _numbers(table[name], column))
    return table


def _numbers(column: pyarrow.ChunkedArray, declared: Numeric | Date) -> pyarrow.Array:
    import pyarrow

    days = isinstance(declared, Date)
    values = numbers_of(column, dates=days)
    absent = ~np.isfinite(values)
    if not days and not is_whole(declared):
        return pyarrow.array(values, mask=absent)
    whole = np.clip(np.where(absent, 0.0, np.floor(values)), -_EXACT, _EXACT).astype(np.int64)
    if not days:
        return pyarrow.array(whole, mask=absent)
    return pyarrow.array(np.clip(whole, -700_000, 2_900_000).astype(np.int32), mask=absent).cast(pyarrow.date32())
