"""Values that stop engines: extreme, invalid and odd ones of every type, in every kind of source.

    hostile()   a table with a column per type, whose values are as bad as the type allows
    calm()      a table of the same types with ordinary values
    SOURCES     how a table becomes a source: SOURCES[name](table, folder) -> what `connect` and `DuckDB` take

A kind of source keeps the columns that it can hold. The first column, ``p``, is an ordinary person.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pyarrow.parquet

ROWS = 24
_MOST = 2**63 - 1
_TICKS = [0, _MOST, -_MOST - 1, -_MOST, 10**15, -(10**15), 86_400, -62_135_596_801, None]
_DAYS = [0, 2**31 - 1, -(2**31), 2**31 - 2, -719_163, 2_932_897, None]
_DOUBLES = [
    math.nan,
    -math.nan,
    math.inf,
    -math.inf,
    -0.0,
    0.0,
    5e-324,
    -5e-324,
    1.7976931348623157e308,
    2.0**63,
    -1e19,
]
_TEXTS = [
    *(b"", b"a", b"A", b"\x00", b"a\x00b", b"\xff\xfe", b"\xed\xa0\x80", b"\xc3z", b"interrupted \xff", b"%_\\"),
    *("ß\u0130\u0131".encode(), "e\u0301 \u00e9".encode(), "\U0001f469\u200d\U0001f467".encode(), b"\xf4\x90\x80\x80"),
    *(b"1e999", b"nan", b"-0", b"2020-02-30", b"infinity", b"9" * 400, b"true", b"290309-12-22 (BC) 00:00:00"),
]
_CALM_TEXT = [b"n", b"s", b"e", b"2020-01-01", b"17", b"true", None]


def _ints(kind: pyarrow.DataType) -> list[int | None]:
    bits, signed = kind.bit_width, str(kind).startswith("int")
    ends = [-(2 ** (bits - 1)), 2 ** (bits - 1) - 1] if signed else [0, 2**bits - 1]
    return [*ends, 0, 1, *([-1] if signed else []), None]


def _viewed(values: list[Any], kind: pyarrow.DataType) -> pyarrow.Array:
    """Integers as another type of the same width."""
    stored = pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64()
    return pyarrow.array(_cycled(values), stored).view(kind)


def _cycled(values: list[Any]) -> list[Any]:
    return [values[place % len(values)] for place in range(ROWS)]


def _bytes_as_text(values: list[bytes | None], kind: pyarrow.DataType) -> pyarrow.Array:
    """Text of any bytes."""
    large = kind == pyarrow.large_string()
    stored = pyarrow.array(_cycled(values), pyarrow.large_binary() if large else pyarrow.binary())
    return pyarrow.Array.from_buffers(kind, ROWS, stored.buffers(), stored.null_count)


def _columns(text: list[bytes | None], ticks: list[Any], days: list[Any], *, bad: bool) -> dict[str, pyarrow.Array]:
    columns: dict[str, pyarrow.Array] = {"p": pyarrow.array(range(ROWS), pyarrow.int64())}
    for kind in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"):
        made = getattr(pyarrow, kind)()
        columns[kind] = pyarrow.array(_cycled(_ints(made) if bad else [1, 2, 3, None]), made)
    for kind in ("float16", "float32", "float64"):
        columns[kind] = pyarrow.array(_cycled([*_DOUBLES, None] if bad else [1.0, 2.5, None]), pyarrow.float64()).cast(
            getattr(pyarrow, kind)(), safe=False
        )
    columns["bool"] = pyarrow.array(_cycled([True, False, None]))
    columns |= _decimals(bad=bad)
    for kind in (pyarrow.string(), pyarrow.large_string()):
        columns[str(kind)] = _bytes_as_text(text, kind)
    places = pyarrow.array(_cycled([0, 1, 2, 5, None]), pyarrow.int32())
    columns["category"] = pyarrow.DictionaryArray.from_arrays(places, _bytes_as_text(text[:-1], pyarrow.string()))
    columns["binary"] = pyarrow.array(_cycled(list(text)), pyarrow.binary())
    for unit in ("s", "ms", "us", "ns"):
        for zone in (None, "UTC", "America/New_York", "+05:30"):
            columns[f"ts_{unit}_{zone}"] = _viewed(ticks, pyarrow.timestamp(unit, zone))
        columns[f"span_{unit}"] = _viewed(ticks, pyarrow.duration(unit))
    columns["date32"], columns["date64"] = _viewed(days, pyarrow.date32()), _viewed(ticks, pyarrow.date64())
    columns["time_ms"] = _viewed(days, pyarrow.time32("ms"))
    columns["time_us"] = _viewed(ticks, pyarrow.time64("us"))
    columns["none"] = pyarrow.nulls(ROWS)
    columns["list"] = pyarrow.array(_cycled([[1], [], None, [1, 2]]), pyarrow.list_(pyarrow.int64()))
    columns["texts"] = pyarrow.ListArray.from_arrays(range(ROWS + 1), columns["string"])
    columns["moments"] = pyarrow.ListArray.from_arrays(range(ROWS + 1), columns["ts_ms_None"])
    columns["view"] = pyarrow.Array.from_buffers(
        pyarrow.string_view(), ROWS, pyarrow.array(_cycled(list(text)), pyarrow.binary_view()).buffers()
    )
    columns["json"] = pyarrow.ExtensionArray.from_storage(pyarrow.json_(), columns["string"])
    twice = [(1, 2), (1, 3)] if bad else [(1, 2)]
    columns["pairs"] = pyarrow.array(_cycled([[(1, 2)], None, twice]), pyarrow.map_(pyarrow.int64(), pyarrow.int64()))
    columns["inside"] = pyarrow.StructArray.from_arrays([columns["ts_s_None"], columns["pairs"]], names=["a", "b"])
    columns["months"] = pyarrow.array(_cycled([(1, 2, 3), None]), pyarrow.month_day_nano_interval())
    columns["struct"] = pyarrow.StructArray.from_arrays([columns["int64"], columns["float64"]], names=["a", "b"])
    return columns


def _decimals(*, bad: bool) -> dict[str, pyarrow.Array]:
    big = [decimal.Decimal(10) ** 37, -(decimal.Decimal(10) ** 37), decimal.Decimal(0), None]
    calm = [decimal.Decimal(1), decimal.Decimal(2), None]
    wide = pyarrow.array(_cycled(big if bad else calm), pyarrow.decimal128(38, 0))
    return {
        "decimal": wide,
        "too_wide": pyarrow.Array.from_buffers(pyarrow.decimal128(18, 2), ROWS, wide.buffers(), wide.null_count),
        "widest": pyarrow.array(_cycled(big if bad else calm), pyarrow.decimal256(76, 2)),
    }


def hostile(*, text_bytes: int = 20_000) -> pyarrow.Table:
    """Every type with the worst values it can hold; one text has so many bytes."""
    long = [b"x" * text_bytes, ("ü" * (text_bytes // 2)).encode()]
    return pyarrow.table(_columns([*_TEXTS, *long, None], _TICKS, _DAYS, bad=True))


def calm() -> pyarrow.Table:
    """The same types with ordinary values."""
    return pyarrow.table(_columns(list(_CALM_TEXT), [0, 86_399_000, None], [0, 18_262, None], bad=False))


# ---------------------------------------------------------------- kinds of sources


def _held(table: pyarrow.Table, write: Callable[[pyarrow.Table], object]) -> pyarrow.Table:
    """The columns that a writer takes, whatever their values are."""
    names = []
    for name in table.column_names:
        try:
            write(table.select([name]))
        except Exception:  # each library has its own
            continue
        names.append(name)
    return table.select(names)


def parquet(table: pyarrow.Table, folder: Path, **options: Any) -> Path:
    """A Parquet file."""
    file = folder / "t.parquet"
    held = _held(table, lambda part: pyarrow.parquet.write_table(part, file, **options))
    pyarrow.parquet.write_table(held, file, **options)
    return file


def database(table: pyarrow.Table, folder: Path) -> Path:
    """A DuckDB file."""
    file = folder / "t.duckdb"
    with duckdb.connect(str(file)) as connection:

        def write(part: pyarrow.Table, name: str = "tried") -> None:
            connection.register("_given", part)
            connection.execute(f"CREATE OR REPLACE TABLE {name} AS SELECT * FROM _given")

        write(_held(table, write), "t")
        connection.execute("DROP TABLE IF EXISTS tried")
    return file


def csv(table: pyarrow.Table, folder: Path) -> Path:
    """A CSV file of whatever has a text."""
    names = [name for name in table.column_names if name in ("p", "int64", "float64", "bool", "string", "date32")]
    file = folder / "t.csv"
    with file.open("wb") as out:
        out.write(",".join(names).encode() + b"\n")
        for row in range(table.num_rows):
            cells = [_cell(table.column(name), row) for name in names]
            out.write(b",".join(cells) + b"\n")
    return file


def _cell(column: pyarrow.ChunkedArray, row: int) -> bytes:
    kind = column.type
    stored = {pyarrow.string(): pyarrow.binary(), pyarrow.date32(): pyarrow.int32()}.get(kind)
    value = (column if stored is None else column.chunk(0).view(stored))[row].as_py()
    if value is None:
        return b""
    return b'"' + value.replace(b'"', b'""') + b'"' if isinstance(value, bytes) else str(value).encode()


def pandas(table: pyarrow.Table, folder: Path) -> Any:
    """A pandas table."""
    return _held(table, lambda part: part.to_pandas()).to_pandas()


def pandas_of_arrow(table: pyarrow.Table, folder: Path) -> Any:
    """A pandas table whose columns Arrow keeps."""
    import pandas as pd

    named = zip(table.column_names, table.columns, strict=True)
    return pd.DataFrame({name: pd.Series(pd.arrays.ArrowExtensionArray(column)) for name, column in named})


def polars(table: pyarrow.Table, folder: Path) -> Any:
    """A Polars table."""
    import polars as pl

    # Polars does not check bytes, and reads beyond its memory; nor has it such types
    bad = ("string", "large_string", "category", "texts", "view", "json", "pairs", "inside", "months")
    kept = table.drop([name for name in table.column_names if name in (*bad, "widest")])
    return pl.from_arrow(_held(kept, lambda part: pl.from_arrow(part).to_arrow()))  # type: ignore[union-attr]


SOURCES: dict[str, Callable[[pyarrow.Table, Path], Any]] = {
    "parquet": parquet,
    "parquet without statistics": lambda table, folder: parquet(table, folder, write_statistics=False),
    "parquet in small pieces": lambda table, folder: parquet(table, folder, row_group_size=3, use_dictionary=False),
    "parquet with a page index": lambda table, folder: parquet(table, folder, write_page_index=True, version="2.4"),
    "parquet of 96 bits": lambda table, folder: parquet(table, folder, use_deprecated_int96_timestamps=True),
    "duckdb": database,
    "csv": csv,
    "arrow": lambda table, folder: table,
    "pandas": pandas,
    "pandas of Arrow": pandas_of_arrow,
    "polars": polars,
}
