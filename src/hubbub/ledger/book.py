"""The database under a ledger: connections, exclusive transactions, snapshots; SQLite or PostgreSQL.

A transaction reads a batch, decides, writes a batch and commits. Statements are SQLAlchemy Core, compiled once and run
by the driver itself: charging is the one path where SQLAlchemy's own execution costs more than the disk. On PostgreSQL
a batch is one round trip.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, create_engine, event, insert, inspect, make_url, select, update
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import ClauseElement

from hubbub.ledger.schema import ABOUT, FORMAT, MIGRATIONS
from hubbub.terms import HubbubError, LedgerDamaged, LedgerUnavailable, MissingExtra, NewerFormat, OutOfRange

Row = tuple[Any, ...]
Batch = tuple[ClauseElement, Mapping[str, Any]]
WAIT = 120  # seconds for a lock; then the ledger says that it is busy
_LOCK = 0x48756262  # "Hubb": the advisory lock that makes PostgreSQL's writers take turns


class Transaction:
    """One exclusive turn at the book: read, then write; committed when the block ends without an error."""

    def __init__(self, driver: Driver, connection: Any) -> None:
        self._driver, self._connection = driver, connection

    def read(self, *batch: Batch) -> list[list[Row]]:
        """The rows of each statement, in order."""
        return self._driver.read(self._connection, [(self._driver.text(s), p) for s, p in batch])

    def write(self, *batch: Batch) -> None:
        """Run each statement; nothing of it stays if the transaction does not end well."""
        self._driver.write(self._connection, [(self._driver.text(s), p) for s, p in batch])

    def stream(self, statement: ClauseElement, parameters: Mapping[str, Any] | None = None) -> Iterator[Row]:
        """Rows one after the other, without holding them all."""
        yield from self._driver.stream(self._connection, self._driver.text(statement), dict(parameters or {}))


class Driver:
    """A database driver: how a turn begins and ends, and which of its errors mean what."""

    dialect: Dialect
    placeholder: str

    def __init__(self) -> None:
        self._texts: dict[ClauseElement, str] = {}

    def text(self, statement: ClauseElement) -> str:
        """The statement as the driver wants it."""
        if (found := self._texts.get(statement)) is None:
            compiled = statement.compile(dialect=self.dialect)
            found = str(compiled)
            for name, value in compiled.params.items():
                if isinstance(value, int):  # a LIMIT: written out, since nobody will give it a value
                    found = found.replace(self.placeholder % name, str(value))
            self._texts[statement] = found
        return found

    def prepare(self, connection: Any) -> None:
        """Settings of a new connection."""
        raise NotImplementedError  # pragma: no cover

    def begin(self, connection: Any, *, exclusive: bool) -> None:
        raise NotImplementedError  # pragma: no cover

    def lock(self, connection: Connection) -> None:
        """Keep others out while tables are made, until the commit."""
        raise NotImplementedError  # pragma: no cover

    def read(self, connection: Any, batch: list[tuple[str, Any]]) -> list[list[Row]]:
        raise NotImplementedError  # pragma: no cover

    def write(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        raise NotImplementedError  # pragma: no cover

    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Iterator[Row]:
        raise NotImplementedError  # pragma: no cover

    def commit(self, connection: Any) -> None:
        raise NotImplementedError  # pragma: no cover

    def rollback(self, connection: Any) -> None:
        raise NotImplementedError  # pragma: no cover

    def meaning(self, error: BaseException | None) -> HubbubError | None:
        """The error in our words, or None if it is not the driver's."""
        raise NotImplementedError  # pragma: no cover


class SQLite(Driver):
    """One file, write-ahead log, forced to disk at every commit."""

    placeholder = ":%s"

    def __init__(self) -> None:
        from sqlalchemy.dialects import sqlite

        super().__init__()
        self.dialect = sqlite.dialect(paramstyle="named")

    def prepare(self, connection: Any) -> None:
        connection.isolation_level = None  # transactions are begun and ended here, by hand
        execute = connection.execute
        execute(f"PRAGMA busy_timeout = {WAIT * 1000}")
        _patiently(lambda: execute("PRAGMA journal_mode = WAL"))
        execute("PRAGMA synchronous = FULL")
        execute("PRAGMA cache_size = -65536")  # 64 MiB: the index of a million requests stays in memory

    def begin(self, connection: Any, *, exclusive: bool) -> None:
        connection.execute("BEGIN IMMEDIATE" if exclusive else "BEGIN")

    def lock(self, connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    def read(self, connection: Any, batch: list[tuple[str, Any]]) -> list[list[Row]]:
        return [connection.execute(statement, parameters).fetchall() for statement, parameters in batch]

    def write(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        for statement, parameters in batch:
            connection.execute(statement, parameters)

    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Iterator[Row]:
        yield from connection.execute(statement, parameters)

    def commit(self, connection: Any) -> None:
        connection.execute("COMMIT")

    def rollback(self, connection: Any) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def meaning(self, error: BaseException | None) -> HubbubError | None:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return _damaged()
        return _unavailable(_SQLITE_REASONS[code]) if code in _SQLITE_REASONS else None


class PostgreSQL(Driver):
    """A shared database; writers take turns by an advisory lock that ends with their transaction."""

    placeholder = "%%(%s)s"

    def __init__(self) -> None:
        from sqlalchemy.dialects.postgresql import psycopg

        super().__init__()
        self.dialect = psycopg.dialect()  # type: ignore[no-untyped-call]

    def prepare(self, connection: Any) -> None:
        connection.execute("SET search_path = hubbub")
        connection.execute("SET synchronous_commit = on")
        connection.execute(f"SET lock_timeout = '{WAIT}s'")
        connection.commit()

    def begin(self, connection: Any, *, exclusive: bool) -> None:
        if exclusive:
            connection.execute(f"SELECT pg_advisory_xact_lock({_LOCK})")  # taken before anything is looked at
        else:
            connection.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")

    def lock(self, connection: Connection) -> None:
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS hubbub")

    def read(self, connection: Any, batch: list[tuple[str, Any]]) -> list[list[Row]]:
        with connection.pipeline():
            cursors = [connection.execute(statement, parameters) for statement, parameters in batch]
        return [cursor.fetchall() for cursor in cursors]

    def write(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        with connection.pipeline():
            for statement, parameters in batch:
                connection.execute(statement, parameters)

    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Iterator[Row]:
        with connection.cursor(name="hubbub") as cursor:
            cursor.itersize = 5000
            cursor.execute(statement, parameters)
            yield from cursor

    def commit(self, connection: Any) -> None:
        connection.commit()

    def rollback(self, connection: Any) -> None:
        if not connection.closed:
            connection.rollback()

    def meaning(self, error: BaseException | None) -> HubbubError | None:
        import psycopg

        return (
            _unavailable("the database refused or dropped the connection") if isinstance(error, psycopg.Error) else None
        )


class Book:
    """A ledger's database, opened: made if it is new, brought up to date if it is old, refused if it is newer."""

    def __init__(self, url: str | Path, *, create: bool) -> None:
        self.url = locate(url)
        self.location = self.url.render_as_string(hide_password=True)
        self._driver: Driver = SQLite() if self.file else PostgreSQL()
        if self.file is not None:
            _look_at(self.file, create)
        self._start()
        with self._told():
            self._migrate()

    @property
    def file(self) -> Path | None:
        """The file of an embedded ledger; None on PostgreSQL."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """An exclusive turn: whoever else wants to write waits."""
        with self._told(), self._borrowed() as connection, self._turn(connection, exclusive=True) as turn:
            yield turn

    @contextmanager
    def snapshot(self) -> Iterator[Transaction]:
        """A consistent view for long reads, in nobody's way."""
        with self._told(), self._borrowed() as connection, self._turn(connection, exclusive=False) as turn:
            yield turn

    def close(self) -> None:
        """Give every connection back."""
        if self._pid == os.getpid():
            while self._idle:
                self._idle.pop().close()
            self._engine.dispose()

    def _start(self) -> None:
        """No connection yet; after a fork the parent's are neither ours to use nor ours to close."""
        self._pid, self._idle = os.getpid(), deque[Any]()
        arguments = {"check_same_thread": False} if self.file else {}
        self._engine = create_engine(self.url, poolclass=NullPool, connect_args=arguments)
        event.listen(self._engine, "connect", lambda connection, _: self._driver.prepare(connection))

    @contextmanager
    def _turn(self, connection: Any, *, exclusive: bool) -> Iterator[Transaction]:
        try:
            self._driver.begin(connection, exclusive=exclusive)
            yield Transaction(self._driver, connection)
            self._driver.commit(connection)
        except BaseException:
            self._driver.rollback(connection)
            raise

    @contextmanager
    def _borrowed(self) -> Iterator[Any]:
        """A connection of this process, kept for the next turn unless it failed."""
        if self._pid != os.getpid():
            self._start()
        try:
            connection = self._idle.pop()
        except IndexError:
            connection = self._connect()
        try:
            yield connection
        except HubbubError:
            self._idle.append(connection)
            raise
        except BaseException:
            connection.close()
            raise
        self._idle.append(connection)

    def _connect(self) -> Any:
        lent = self._engine.raw_connection()
        connection = lent.dbapi_connection
        lent.detach()
        return connection

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Errors of the driver, in our words; its own text may name files and hosts, and stays inside."""
        try:
            yield
        except DBAPIError as error:
            raise self._driver.meaning(error.orig) or error from error
        except Exception as error:
            if (meaning := self._driver.meaning(error)) is None:
                raise
            raise meaning from error

    def _migrate(self) -> None:
        with self._engine.connect() as connection:
            if _format_of(connection) == FORMAT:
                return
            self._driver.lock(connection)
            for number, step in enumerate(MIGRATIONS[_format_of(connection) :], start=_format_of(connection) + 1):
                step(connection)
                connection.execute(insert(ABOUT) if number == 1 else update(ABOUT), {"format": number})
            connection.commit()


def locate(url: str | Path) -> URL:
    """Where a ledger is: a file (made absolute) or a PostgreSQL database."""
    text = str(url)
    try:
        found = make_url(text) if "://" in text else URL.create("sqlite", database=text)
    except ArgumentError:
        raise _no_place(text.partition("://")[0]) from None
    kind = found.get_backend_name()
    if kind == "postgresql":
        _need_psycopg()
        return found.set(drivername="postgresql+psycopg")
    if kind != "sqlite" or found.database in {None, "", ":memory:"}:
        raise _no_place(kind)
    return found.set(drivername="sqlite", database=str(Path(str(found.database)).expanduser().resolve()))


def _no_place(kind: str) -> OutOfRange:
    return OutOfRange(
        f"a ledger cannot live in {kind!r}.",
        why="It must outlive the program: a file (SQLite) or a PostgreSQL database.",
        fix='Give a path such as "ledger.db", or "postgresql://user@host/database".',
    )


def _need_psycopg() -> None:
    try:
        import psycopg  # noqa: F401
    except ImportError:
        raise MissingExtra(
            "a ledger in PostgreSQL needs the package psycopg.",
            why="It is an extra, since an embedded ledger does without.",
            fix="pip install 'hubbub[postgres]'",
        ) from None


def _look_at(file: Path, create: bool) -> None:
    """Refuse a missing file, and one that is shorter than its own first page says (the log would mend a crash)."""
    if not file.exists():
        if not create:
            raise _unavailable("there is no such file")
        if not file.parent.is_dir():
            raise _unavailable("its folder does not exist")
        return
    log = file.with_name(file.name + "-wal")
    if (log.exists() and log.stat().st_size) or file.stat().st_size == 0:
        return
    try:
        head = file.read_bytes()[:100] if file.stat().st_size < 100 else _first(file, 100)
    except OSError:
        raise _unavailable("it may not be read") from None
    page = int.from_bytes(head[16:18], "big")
    pages = int.from_bytes(head[28:32], "big")
    if not head.startswith(b"SQLite format 3\0") or file.stat().st_size < pages * (65536 if page == 1 else page):
        raise _damaged()


def _first(file: Path, count: int) -> bytes:
    with file.open("rb") as opened:
        return opened.read(count)


def _format_of(connection: Connection) -> int:
    """The number of the stored format; 0 if nothing is there."""
    tables = set(inspect(connection).get_table_names())
    if ABOUT.name not in tables:
        if tables:
            raise _damaged()
        return 0
    row = connection.execute(select(ABOUT.c.format)).one_or_none()
    if row is None:
        raise _damaged()
    if row[0] > FORMAT:
        raise NewerFormat(
            f"this ledger has format {row[0]}; this version of Hubbub reads up to {FORMAT}.",
            why="A newer format may mean something that an older reader would get wrong.",
            fix="Install a newer Hubbub. The ledger was not touched.",
        )
    return int(row[0])


def _patiently(attempt: Callable[[], object]) -> None:
    """SQLite does not wait by itself while another process switches the log on."""
    until = time.monotonic() + WAIT
    while True:
        try:
            attempt()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


_SQLITE_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may only be read",
    sqlite3.SQLITE_BUSY: f"others kept it locked for {WAIT} seconds",
    sqlite3.SQLITE_LOCKED: f"others kept it locked for {WAIT} seconds",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write, or is full",
    sqlite3.SQLITE_PERM: "the file may not be used",
}


def _unavailable(reason: str) -> LedgerUnavailable:
    return LedgerUnavailable(
        f"the ledger could not be used: {reason}.",
        why="No answer is computed or shown that is not charged first and stored.",
        fix="Mend that and ask again: what was charged is found again and not charged twice.",
    )


def _damaged() -> LedgerDamaged:
    return LedgerDamaged(
        "this is not a whole ledger: the file is cut short, altered, or something else.",
        why="What was spent cannot be read from it, so nothing more may be spent.",
        fix="Restore a backup with `hubbub ledger restore`; the anchor tells what was spent since.",
    )
