"""DuckDB, embedded and locked: it reads the declared sources and nothing else."""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from hubbub.engines import parquet
from hubbub.engines.frames import readable_table
from hubbub.engines.protocol import DEFAULT_SECONDS, Engine
from hubbub.engines.readable_columns import ReadForm, parquet_form, readable_form
from hubbub.engines.records import Csv
from hubbub.engines.sources import arrow_of, header_of, quoted_list
from hubbub.engines.twin import open_twin
from hubbub.relations import kind_of_type
from hubbub.schema import Headless, InDatabase, check_distinct, files_of, format_of, one_file, unavailable
from hubbub.terms import SourceUnavailable

_TRIED = 256  # statements that are remembered to run on the twin: a preview and then the question try the same ones
_TABLES = "SELECT table_name FROM duckdb_tables() WHERE NOT internal ORDER BY 1"
_ANY_VIEW = "SELECT view_name FROM duckdb_views() WHERE NOT internal ORDER BY 1 LIMIT 1"
_VIEWS = "SELECT lower(view_name) FROM duckdb_views() WHERE NOT internal AND database_name = '{}'"


class EngineFailed(Exception):
    """The engine gave no answer. It says no more: an engine's own words may quote a row."""


class _EngineBroke(EngineFailed):
    """A fault of the engine's own, after which it answers nothing more."""


class StatementWatch:
    """Interrupts a cursor when its time is up, and goes on doing so until it has ended."""

    def __init__(self, cursor: Any, seconds: float) -> None:
        self.late = False
        self._ended = threading.Event()
        self._cursor, self._seconds = cursor, seconds
        threading.Thread(target=self._wait, daemon=True).start()

    def stop(self) -> None:
        """The cursor has ended."""
        self._ended.set()

    def _wait(self) -> None:
        pause = self._seconds
        while not self._ended.wait(max(0.0, pause)):
            self.late, pause = True, 0.05
            self._cursor.interrupt()


class DuckDB:
    """One locked DuckDB over the given sources.

    After the sources are opened, no file outside them can be read, nothing but the ``target`` can be written, no
    extension loaded and no setting changed. Each run is one statement, in a cursor of its own, within a time and a
    memory limit.
    """

    dialect = "duckdb"

    def __init__(
        self,
        sources: Mapping[str, object],
        *,
        memory: str = "",
        threads: int | None = None,
        spill: str | Path = "",
        target: Path | None = None,
    ) -> None:
        import duckdb

        self._connection = duckdb.connect(":memory:")
        self._columns: dict[str, list[tuple[str, str]]] = {}
        self._natives: dict[str, dict[str, str]] = {}
        self._schemas: dict[str, list[tuple[str, str, str]]] = {}
        self._twin: Any = None
        self._tried: dict[str, None] = {}  # by when they were tried first
        self._turn = threading.Lock()
        self._frames: dict[str, Any] = {}
        self._files: list[str] = [] if target is None else [str(target)]
        self._databases: dict[str, str] = {}
        self._steps: list[str] = []  # statements that opened the sources, in order
        self._broken = False
        try:
            for name, source in sources.items():
                self._open(name, source)
            self._lock(memory, threads, spill)
        except _opening_errors():
            raise unavailable("a source", "it cannot be opened as what its name says") from None

    def columns(self, table: str) -> list[tuple[str, str]]:
        """(name, kind) of each column: read from the schema when the source was opened, never from rows."""
        return self._columns[table]

    def natives(self, table: str) -> dict[str, str]:
        """The engine's own type of each column, with its collation, as in ``VARCHAR COLLATE NOCASE``."""
        return self._natives[table]

    def spellings(self, table: str, name: str, texts: Sequence[str]) -> list[str]:
        """Texts as a column's collation has them: the one spelling that all equal texts share."""
        forms = ", ".join(str(readable_form(_quoted_text(text), self._natives[table][name])) for text in texts)
        return [str(form) for [form] in self.rows(f"SELECT unnest([{forms}])")]

    def rows(self, sql: str, *, seconds: float = DEFAULT_SECONDS) -> list[tuple[Any, ...]]:
        """The result of one statement, with integers of any size."""
        with self._run(sql, seconds) as cursor:
            return cursor.fetchall()  # type: ignore[no-any-return]

    def arrays(self, sql: str, *, seconds: float = DEFAULT_SECONDS) -> list[Any]:
        """The result as one array per column; for integers of at most 64 bits."""
        with self._run(sql, seconds) as cursor:
            return list(cursor.fetchnumpy().values())

    def write(self, sql: str, target: Path, *, notes: Mapping[str, str], seconds: float) -> None:
        """The result as a Parquet file, with notes in its footer; ``target`` was named when the engine was opened."""
        told = ", ".join(f"{_quoted_text(name)}: {_quoted_text(note)}" for name, note in notes.items())
        options = f"FORMAT parquet, KV_METADATA {{{told}}}, USE_TMP_FILE false"
        self.rows(f"COPY ({sql}) TO {_quoted_text(str(target))} ({options})", seconds=seconds)

    def bind(self, sql: str, *, seconds: float) -> None:
        """Try a statement on the twin of the sources; ``EngineFailed`` if it cannot run there."""
        with self._turn:
            if sql in self._tried:
                return
            if self._twin is None:
                self._twin = open_twin(self._schemas)
            twin = self._twin
        try:
            with _execute_statement(twin.cursor(), sql, seconds, {}) as cursor:
                cursor.fetchall()
        except _EngineBroke:
            self._twin = None
            raise EngineFailed from None
        with self._turn:
            self._tried[sql] = None
            if len(self._tried) > _TRIED:
                del self._tried[next(iter(self._tried))]

    def close(self) -> None:
        """Let the sources go."""
        self._connection.close()
        if self._twin is not None:
            self._twin.close()
        self._frames.clear()

    @contextmanager
    def _run(self, sql: str, seconds: float) -> Iterator[Any]:
        cursor = self._cursor()
        named = {
            f"_frame_{place}": frame
            for place, (name, frame) in enumerate(self._frames.items(), start=1)
            if name.replace('"', '""') in sql  # a table that is not named is not read
        }
        try:
            with _execute_statement(cursor, sql, seconds, named):
                yield cursor
        except _EngineBroke:
            self._broken = True
            raise EngineFailed from None

    def _cursor(self) -> Any:
        """A cursor; an engine that broke is opened anew first, so that one fault is not everybody's."""
        import duckdb

        with self._turn:
            try:
                if self._broken:
                    self._reopen()
                return self._connection.cursor()
            except duckdb.Error:
                raise EngineFailed from None

    def _reopen(self) -> None:
        import duckdb

        with suppress(duckdb.Error):
            self._connection.close()
        self._connection = duckdb.connect(":memory:")
        for place, frame in enumerate(self._frames.values(), start=1):
            self._connection.register(f"_frame_{place}", _empty_frame(frame))
        for step in self._steps:
            self._connection.execute(step)
        self._broken = False

    def _step(self, sql: str) -> None:
        """One statement that opens the sources, or locks them."""
        self._connection.execute(sql)
        self._steps.append(sql)

    # ------------------------------------------------------------ sources

    def _open(self, name: str, source: object) -> None:
        if isinstance(source, InDatabase):
            self._view(name, self._in_database(source), readable_form)
        elif isinstance(source, Headless):
            self._view(name, self._headless_body(name, source), readable_form)
        elif isinstance(source, str | Path):
            self._view(name, *self._files_body(name, files_of(source)))
        else:
            table = arrow_of(source, objects_as_text=True)
            check_distinct(name, table.column_names)
            table = readable_table(table)
            self._view(name, self._frame_body(name, table), readable_form)

    def _view(self, name: str, body: str, read: ReadForm) -> None:
        """The table as questions see it: each column by an expression that does not fail."""
        quoted = _quoted_name(name)
        raw = self._connection.execute(f"DESCRIBE {body}").fetchall()
        natives = {str(row[0]): str(row[1]) for row in raw}
        collated = self._collations(body, [each for each, native in natives.items() if native == "VARCHAR"])
        natives |= collated
        forms = {each: read(_quoted_name(each), native) for each, native in natives.items()}
        shown = ", ".join(f"{form} AS {_quoted_name(each)}" for each, form in forms.items() if form is not None)
        if not shown:
            raise unavailable(name, "no column of it can be read")
        self._step(f"CREATE VIEW {quoted} AS SELECT {shown} FROM ({body})")
        described = self._connection.execute(f"DESCRIBE {quoted}").fetchall()
        self._columns[name] = [(str(row[0]), kind_of_type(str(row[1]))) for row in described]
        self._natives[name] = {str(row[0]): collated.get(str(row[0]), str(row[1])) for row in described}
        self._schemas[name] = [(str(row[0]), str(row[1]), kind_of_type(str(row[1]))) for row in described]

    def _collations(self, body: str, texts: list[str]) -> dict[str, str]:
        """The types of text columns that have a collation: only the definition of a table tells it."""
        if not texts or not self._databases:  # neither a Parquet file nor a frame has one
            return {}
        named = ", ".join(f"{_quoted_name(each)} AS c{place}" for place, each in enumerate(texts))
        self._connection.execute(f"CREATE TEMP TABLE _empty AS SELECT {named} FROM ({body}) LIMIT 0")
        [[text]] = self._connection.execute("SELECT sql FROM duckdb_tables() WHERE table_name = '_empty'").fetchall()
        self._connection.execute("DROP TABLE _empty")
        collated = re.findall(r"\bc(\d+) VARCHAR COLLATE ([\w.]+)", text)
        return {texts[int(place)]: f"VARCHAR COLLATE {rule}" for place, rule in collated}

    def _frame_body(self, name: str, frame: Any) -> str:
        """A table in memory, or one that will be when it is first asked for."""
        self._frames[name] = frame
        place = f"_frame_{len(self._frames)}"
        self._connection.register(place, _empty_frame(frame))
        return f"SELECT * FROM {place}"

    def _parquet_body(self, name: str, files: list[str]) -> tuple[str, ReadForm]:
        fields = parquet.fields_of(self._connection, files, name)
        if not any(parquet.in_milliseconds(field) for field in fields.values()):
            return parquet.scan_of(files), parquet_form
        dataset, read = parquet.by_arrow(files)
        return self._frame_body(name, dataset), read

    def _files_body(self, name: str, files: list[str]) -> tuple[str, ReadForm]:
        formats = {format_of(file) for file in files}
        if formats == {"duckdb"}:
            return self._in_database(InDatabase(files[0], name)), readable_form
        if len(formats) > 1:
            raise unavailable(name, "its files are of several kinds")
        if formats == {"csv"}:
            return self._frame_body(name, Csv(tuple(files), tuple(header_of(*files)))), readable_form
        self._files += files
        return self._parquet_body(name, files)

    def _headless_body(self, name: str, source: Headless) -> str:
        files = files_of(source.path)
        if {format_of(file) for file in files} != {"csv"}:
            raise unavailable(name, "its files are of several kinds")
        return self._frame_body(name, Csv(tuple(files), source.names, header=False))

    def _in_database(self, source: InDatabase) -> str:
        path = one_file(source.path)
        if path not in self._databases:
            self._databases[path] = f"_file_{len(self._databases)}"
            escaped = path.replace("'", "''")
            self._step(f"ATTACH '{escaped}' AS {self._databases[path]} (READ_ONLY)")
        views = self._connection.execute(_VIEWS.format(self._databases[path])).fetchall()
        if (source.table.lower(),) in views:
            raise is_view(source.table)
        return f"SELECT * FROM {self._databases[path]}.{_quoted_name(source.table)}"

    def _lock(self, memory: str, threads: int | None, spill: str | Path) -> None:
        settings = [
            "SET TimeZone = 'UTC'",
            f"SET allowed_paths = {quoted_list(self._files)}",
            "SET autoinstall_known_extensions = false",
            "SET autoload_known_extensions = false",
            "SET allow_community_extensions = false",
            "SET python_enable_replacements = false",
            "SET preserve_insertion_order = false",
        ]
        if memory:
            settings.append(f"SET memory_limit = '{memory}'")
        if threads is not None:
            settings.append(f"SET threads = {int(threads)}")
        folder = str(spill).replace("'", "''")
        settings.append(f"SET temp_directory = '{folder}'")  # nothing of the data is written outside a folder given
        for setting in (*settings, "SET enable_external_access = false", "SET lock_configuration = true"):
            self._step(setting)


def _opening_errors() -> tuple[type[Exception], ...]:
    """What a source raises that cannot be opened; Arrow's errors where a source needed Arrow, which is slow to load."""
    import duckdb

    arrow = sys.modules.get("pyarrow")
    return (duckdb.Error,) if arrow is None else (duckdb.Error, arrow.ArrowException)


@contextmanager
def _execute_statement(cursor: Any, sql: str, seconds: float, frames: Mapping[str, Any]) -> Iterator[Any]:
    """The cursor after one statement that only reads, within its time; whatever fails says no more than that."""
    import duckdb

    watch = StatementWatch(cursor, seconds)
    try:
        for name, frame in frames.items():
            cursor.register(name, _rows_of(frame))  # it is seen by one cursor alone
        cursor.execute("BEGIN TRANSACTION READ ONLY")
        cursor.execute(sql)
        yield cursor
    except Exception as error:  # its class is looked at, never its words: they may quote a row
        if not watch.late and is_stopped(error):
            raise KeyboardInterrupt from None
        raise (_EngineBroke if _is_broken(error) else EngineFailed) from None
    finally:
        watch.stop()
        with suppress(duckdb.Error):
            cursor.close()


def _empty_frame(frame: Any) -> Any:
    """What stands for a table before a cursor reads it."""
    return frame.empty() if isinstance(frame, Csv) else frame


def _rows_of(frame: Any) -> Any:
    """What a cursor reads."""
    try:
        return frame.read() if isinstance(frame, Csv) else frame
    except Exception:  # the file is gone or cut short, or memory is: the words may quote a row
        raise EngineFailed from None


def tables_in(path: str) -> list[str]:
    """The names of the tables in a DuckDB file."""
    import duckdb

    file = one_file(path)
    try:
        with duckdb.connect(file, read_only=True) as connection:
            tables, views = (connection.execute(sql).fetchall() for sql in (_TABLES, _ANY_VIEW))
    except duckdb.Error:
        raise unavailable(path, "it cannot be opened as a DuckDB file") from None
    if views and not tables:
        raise is_view(str(views[0][0]))
    return [str(row[0]) for row in tables]


def is_view(name: str) -> SourceUnavailable:
    """The refusal of a view: its own text would run over the rows, and one of them may make it fail."""
    return SourceUnavailable(
        f"{name!r} is a view, and views are not read.",
        why="A view runs as it was written: a cast in it may fail at one person's row, and whether it does would tell.",
        fix=f"Make a table of it in the database, CREATE TABLE t AS SELECT * FROM {_quoted_name(name)}, and name that.",
    )


def open_engine(name: str, sources: Mapping[str, object], **limits: Any) -> Engine:
    """An engine over the given sources, by its name in a descriptor."""
    return _ENGINES[name](sources, **limits)


def _quoted_text(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _quoted_name(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def is_stopped(error: Exception) -> bool:
    """Whether a person stopped the engine: it then raises this class, or a bare RuntimeError in the main thread."""
    import duckdb

    main = threading.current_thread() is threading.main_thread()
    return isinstance(error, duckdb.InterruptException) or (main and type(error) is RuntimeError)


def _is_broken(error: Exception) -> bool:
    """Whether the engine stopped over a fault of its own, by the class alone."""
    import duckdb

    return isinstance(error, duckdb.InternalException | duckdb.FatalException)


_ENGINES: dict[str, Callable[..., Engine]] = {"duckdb": DuckDB}
