"""A place for released numbers alone: an empty DuckDB in memory, with no row, file or network within its reach.

What stands around private questions runs here. The connection is made for one statement, holds the tables that it is
given, and is locked before the statement is seen. Nothing in it is private, and no engine of a dataset is behind it.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.engines.duckdb import EngineFailed, StatementWatch, is_stopped
from hubbub.relations import limits

_SETTINGS = (
    "SET TimeZone = 'UTC'",
    "SET threads = 1",
    "SET memory_limit = '1GB'",
    "SET temp_directory = ''",
    "SET autoinstall_known_extensions = false",
    "SET autoload_known_extensions = false",
    "SET allow_community_extensions = false",
    "SET python_enable_replacements = false",
    "SET enable_external_access = false",
    "SET lock_configuration = true",
)
_CHANGING = """
SELECT lower(function_name) FROM duckdb_functions() WHERE function_type IN ('scalar', 'aggregate', 'window')
GROUP BY 1 HAVING bool_or(stability <> 'CONSISTENT')
"""
_MACROS = "SELECT lower(function_name), lower(macro_definition) FROM duckdb_functions() WHERE function_type = 'macro'"
# Clocks that the engine calls consistent, or that its macros name, and what tells about the engine itself.
_CLOCKS = frozenset(
    ("current_timestamp", "current_date", "current_time", "current_localtime", "current_localtimestamp", "version")
)


@dataclass(frozen=True, slots=True)
class Repeated:
    """The same values one after the other that many times, kept once."""

    values: Sequence[object]
    times: int

    def __len__(self) -> int:
        return len(self.values) * self.times


@dataclass(frozen=True, slots=True)
class ReleasedTable:
    """A table to work on: its name, the columns with their types, and their values (None where missing)."""

    name: str
    columns: tuple[tuple[str, str], ...]
    values: tuple[Sequence[object] | NDArray[Any] | Repeated, ...]


class Unbindable(EngineFailed):
    """The statement does not fit the tables. ``words`` are the engine's own, of a place where no row ever was."""

    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class ReleasedTables:
    """An engine of its own over released tables; closed after use.

    Guarantee: whatever runs here sees the tables that were added, and nothing else.
    Because: [DR14], post-processing: the tables hold released numbers, and the connection is fresh, has no access to
    files, network or extensions, and its settings are locked before any statement but ours is run.
    Not covered: faults of the engine itself.
    """

    def __init__(self) -> None:
        import duckdb

        self._ends = time.monotonic() + limits.RELEASED_SECONDS_IN_ALL
        self._connection = duckdb.connect(":memory:")
        for setting in _SETTINGS:
            self._connection.execute(setting)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def add(self, table: ReleasedTable) -> None:
        """Another table; ``EngineFailed`` if it does not fit into memory."""
        import duckdb

        try:
            self._create(table)
        except duckdb.Error:
            raise EngineFailed from None

    def _create(self, table: ReleasedTable) -> None:
        import pyarrow as pa

        listed = ", ".join(f"{_quoted_name(name)} {kind}" for name, kind in table.columns)
        self._connection.execute(f"CREATE OR REPLACE TABLE {_quoted_name(table.name)} ({listed})")
        if not len(table.values[0]):
            return
        arrays = [_arrow_array(column, kind) for column, (_, kind) in _typed(table)]
        self._connection.register("_given", pa.Table.from_arrays(arrays, names=[f"c{i}" for i in range(len(arrays))]))
        self._connection.execute(f"INSERT INTO {_quoted_name(table.name)} SELECT * FROM _given")
        self._connection.unregister("_given")

    def describe(self, sql: str) -> tuple[tuple[str, str], ...]:
        """(name, type) of each column that a statement gives; ``Unbindable`` if it is no SELECT over these tables."""
        import duckdb

        watch = StatementWatch(self._connection, self._seconds_left())
        try:
            if not self._is_select(sql):
                raise Unbindable("it is not one SELECT")
            rows = self._connection.execute(f"DESCRIBE {sql}").fetchall()
        except duckdb.Error as error:
            raise Unbindable(_one_line(str(error))) from None
        finally:
            watch.stop()
        return tuple((str(row[0]), str(row[1])) for row in rows)

    def rows(self, sql: str, *, most: int) -> list[tuple[Any, ...]]:
        """The rows of one statement, at most ``most`` and one more."""
        return self._run(sql, lambda cursor: cursor.fetchmany(most + 1))  # type: ignore[no-any-return]

    def arrays(self, sql: str) -> list[NDArray[Any]]:
        """The columns of one statement, NaN (or None) where there is no value."""
        columns = self._run(sql, lambda cursor: cursor.fetchnumpy())
        return [_plain_array(column) for column in columns.values()]

    def _run(self, sql: str, fetch: Any) -> Any:
        """What one SELECT gives, within time and memory."""
        cursor = self._connection.cursor()
        watch = StatementWatch(cursor, self._seconds_left())
        try:
            if not self._is_select(sql):
                raise EngineFailed
            cursor.execute(sql)
            return fetch(cursor)
        except Exception as error:
            if not watch.late and is_stopped(error):
                raise KeyboardInterrupt from None
            raise EngineFailed from None
        finally:
            watch.stop()
            with suppress(Exception):
                cursor.close()

    def _is_select(self, sql: str) -> bool:
        """Whether it is one statement, and reads: nothing else has any business here."""
        import duckdb

        return [each.type for each in self._connection.extract_statements(sql)] == [duckdb.StatementType.SELECT]

    def _seconds_left(self) -> float:
        """What one statement may take: all statements of a place share their time as well."""
        return max(0.0, min(limits.RELEASED_SECONDS, self._ends - time.monotonic()))


@lru_cache(maxsize=1)
def changing_functions() -> frozenset[str]:
    """The functions that may give another value when they are called again, by the engine's own list.

    A macro is one if it stands for one: ``pg_sleep`` for ``sleep_ms``, ``ago`` for the clock.
    """
    import duckdb

    with duckdb.connect(":memory:") as connection:
        names = _CLOCKS | {str(row[0]) for row in connection.execute(_CHANGING).fetchall()}
        macros = {
            str(name): frozenset(re.findall(r"\w+", text)) for name, text in connection.execute(_MACROS).fetchall()
        }
    while more := {name for name, words in macros.items() if name not in names and words & names}:
        names |= more
    return names


def _typed(table: ReleasedTable) -> list[tuple[Any, tuple[str, str]]]:
    return list(zip(table.values, table.columns, strict=True))


def _arrow_array(values: Sequence[object] | NDArray[Any] | Repeated, kind: str) -> Any:
    import pyarrow as pa

    if isinstance(values, Repeated):
        return pa.chunked_array([_arrow_array(values.values, kind)] * values.times, type=_arrow_type(kind))
    return pa.array(values, from_pandas=True, type=_arrow_type(kind))


def _arrow_type(kind: str) -> Any:
    import pyarrow as pa

    known: Mapping[str, Any] = {
        "BOOLEAN": pa.bool_(),
        "BIGINT": pa.int64(),
        "DOUBLE": pa.float64(),
        "VARCHAR": pa.string(),
        "DATE": pa.date32(),
        "TIMESTAMP": pa.timestamp("us"),
    }
    return known[kind]


def _plain_array(column: Any) -> NDArray[Any]:
    """An array without a mask: NaN for missing numbers, None for anything else."""
    if not isinstance(column, np.ma.MaskedArray):
        return np.asarray(column)
    missing: Any = np.nan if column.dtype.kind in "fiub" else None
    return np.asarray(np.where(np.ma.getmaskarray(column), missing, np.ma.getdata(column)))


def _one_line(words: str) -> str:
    """The first line of the engine's words, printable."""
    line = words.split("\n", maxsplit=1)[0]
    return "".join(sign if sign.isprintable() else " " for sign in line)[:300].strip()


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
