"""A twin of the sources: tables of the same names and types, with a few rows of ours and nobody's.

A statement is tried here before anything is charged. What fails on these rows, or cannot even be bound, is refused from
public facts alone; the sources themselves are not looked at, not even their statistics.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

_INTEGERS = ("0", "1", "-1", "9223372036854775807", "-9223372036854775808", str(2**127 - 1), str(-(2**127)))
_NUMBERS = ("0", "1.5", "nan", "inf", "-inf", "1.7e308", "-1.7e308", "5e-324", "9999999999999999999999999999")
_TEXTS = ("", "a", "9" * 5000, "2020-02-30", "%_\\'", "1e999", "\U0001f469\u200d\U0001f467")
_DATES = ("2020-01-01", "infinity", "-infinity", "0001-01-01", "9999-12-31", "5874897-12-31", "200000-01-01 (BC)")
_VALUES = {
    "boolean": ("true", "false"),
    "integer": _INTEGERS,
    "number": _NUMBERS,
    "text": _TEXTS,
    "date": _DATES,
    "timestamp": _DATES,
    "opaque": ("",),
}
_ROWS = 10
_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET threads = 1",
    "SET memory_limit = '500MB'",
    "SET temp_directory = ''",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)

Columns = Sequence[tuple[str, str, str]]  # name, the engine's type, our kind


def open_twin(tables: Mapping[str, Columns]) -> Any:
    """A DuckDB with a twin of each table."""
    import duckdb

    connection = duckdb.connect(":memory:")
    for name, columns in tables.items():
        _create_table(connection, name, columns)
    for setting in _SETTINGS:
        connection.execute(setting)
    return connection


def _create_table(connection: Any, name: str, columns: Columns) -> None:
    typed = [(_quoted_name(column), _known_type(connection, native), kind) for column, native, kind in columns]
    listed = ", ".join(f"{column} {native}" for column, native, _ in typed)
    connection.execute(f"CREATE TABLE {_quoted_name(name)} ({listed})")
    rows = [[_twin_value(native, kind, place) for _, native, kind in typed] for place in range(_ROWS)]
    values = ", ".join(f"({', '.join(row)})" for row in [*rows, ["NULL"] * len(typed)])
    connection.execute(f"INSERT INTO {_quoted_name(name)} VALUES {values}")


def _known_type(connection: Any, native: str) -> str:
    """The type itself, or text where it has a name that only the source knows."""
    import duckdb

    try:
        connection.execute(f"SELECT NULL::{native}")
    except duckdb.Error:
        return "VARCHAR"
    return native


def _twin_value(native: str, kind: str, place: int) -> str:
    values = _VALUES[kind]
    text = values[place % len(values)].replace("'", "''")
    return f"TRY_CAST('{text}' AS {native})"


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
