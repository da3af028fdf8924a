"""The database under a ledger: connections, exclusive transactions, snapshots; SQLite or PostgreSQL.

A transaction reads a batch, decides, writes a batch and commits. Statements are SQLAlchemy Core, compiled once and run
by the driver itself: charging is the one path where SQLAlchemy's own execution costs more than the disk. On PostgreSQL
a batch is one round trip.
"""

from __future__ import annotations

import os
import re
import sqlite3
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, make_url, select, update
from sqlalchemy.engine import URL, Dialect
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import ClauseElement

from hubbub.ledger.schema import ABOUT, FORMAT, MIGRATIONS
from hubbub.terms import HubbubError, LedgerDamaged, LedgerUnavailable, MissingExtra, NewerFormat, OutOfRange

Row = tuple[Any, ...]
Batch = tuple[ClauseElement, Mapping[str, Any]]
WAIT = 120  # seconds for a lock; then the ledger says that it is busy
_TAKE_LOCK = f"SELECT pg_advisory_xact_lock({0x48756262})"  # "Hubb": PostgreSQL's writers take turns by it


class Transaction:
    """One turn at the book: read, then write; committed when the block ends without an error, else undone.

    An exclusive turn keeps other writers out. Errors of the driver leave in our words: its own name files and hosts.
    """

    __slots__ = ("_book", "_connection", "_done", "_driver", "_exclusive", "_streams")

    def __init__(self, book: Book, *, exclusive: bool) -> None:
        self._book, self._driver, self._exclusive, self._done = book, book.driver, exclusive, False
        self._streams: list[Generator[Row]] = []

    def __enter__(self) -> Self:
        try:
            self._connection = self._book.borrow()
        except Exception as error:
            raise self._driver.meaning(error) or error from error
        try:
            self._driver.begin(self._connection, exclusive=self._exclusive)
        except Exception as error:
            self._undo(error)
            raise self._driver.meaning(error) or error from error
        return self

    def read(self, *batch: Batch) -> list[list[Row]]:
        """The rows of each statement, in order."""
        text = self._driver.text
        return self._driver.read(self._connection, [(text(s), p) for s, p in batch])

    def write(self, *batch: Batch) -> None:
        """Run each statement; nothing of it stays if the transaction does not end well."""
        text = self._driver.text
        self._driver.write(self._connection, [(text(s), p) for s, p in batch])

    def finish(self, batch: Sequence[Batch]) -> None:
        """Run each statement and commit: the last thing a turn does."""
        text = self._driver.text
        self._driver.finish(self._connection, [(text(s), p) for s, p in batch])
        self._done = True

    def stream(self, statement: ClauseElement, parameters: Mapping[str, Any] | None = None) -> Iterator[Row]:
        """Rows one after the other, without holding them all; the stream ends with the turn."""
        rows = self._driver.stream(self._connection, self._driver.text(statement), dict(parameters or {}))
        self._streams.append(rows)
        return rows

    def sound(self) -> bool:
        """Whether the database finds itself whole."""
        return self._driver.sound(self._connection)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for rows in self._streams:
            rows.close()
        if error is None and not self._done:
            try:
                self._driver.commit(self._connection)
            except Exception as failed:
                self._undo(failed)
                raise self._driver.meaning(failed) or failed from failed
        if error is None:
            self._book.give_back(self._connection)
            return
        self._undo(error)
        if (meaning := self._driver.meaning(error)) is not None:
            raise meaning from error

    def _undo(self, error: BaseException) -> None:
        """Roll back; a connection that failed is thrown away."""
        try:
            self._driver.rollback(self._connection)
        except Exception:
            self._book.throw_away(self._connection)  # the database undoes what a lost connection left
            return
        if isinstance(error, HubbubError):
            self._book.give_back(self._connection)
        else:
            self._book.throw_away(self._connection)


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

    def finish(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        """Write and commit."""
        self.write(connection, batch)
        self.commit(connection)

    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Generator[Row]:
        raise NotImplementedError  # pragma: no cover

    def sound(self, connection: Any) -> bool:
        """Whether the database finds its own pages and indexes whole, as far as it can tell."""
        return True

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
        execute("PRAGMA secure_delete = ON")  # what is erased is overwritten
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

    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Generator[Row]:
        yield from connection.execute(statement, parameters)

    def sound(self, connection: Any) -> bool:
        return bool(connection.execute("PRAGMA integrity_check(1)").fetchall() == [("ok",)])

    def commit(self, connection: Any) -> None:
        connection.execute("COMMIT")

    def rollback(self, connection: Any) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def meaning(self, error: BaseException | None) -> HubbubError | None:
        code = getattr(_own(error), "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return _damaged()
        return _unavailable(_SQLITE_REASONS[code]) if code in _SQLITE_REASONS else None


@dataclass(frozen=True, slots=True)
class _Form:
    """A statement as PostgreSQL prepares it, and how it is run."""

    name: str
    text: str  # with $1, $2, ...
    names: tuple[str, ...]  # the parameters in that order
    run: str

    @classmethod
    def of(cls, text: str, number: int) -> _Form:
        names = tuple(dict.fromkeys(re.findall(r"%\((\w+)\)s", text)))
        places = {name: f"${place}" for place, name in enumerate(names, start=1)}
        called = f"hubbub_{number}"
        arguments = f"({', '.join(['%s'] * len(names))})" if names else ""
        prepared = re.sub(r"%\((\w+)\)s(::\w+)?", lambda m: places[m[1]] + (m[2] or ""), text)
        return cls(called, prepared, names, f"EXECUTE {called}{arguments}")


class PostgreSQL(Driver):
    """A shared database; writers take turns by an advisory lock that ends with their transaction.

    A batch is one message and one round trip: EXECUTE of statements that the connection has prepared, with the values
    written into the text by the driver. BEGIN and the lock travel with the first batch, before anything is looked at,
    and COMMIT with the last, so that others wait for two round trips and one forced write.
    """

    placeholder = "%%(%s)s"

    def __init__(self) -> None:
        from psycopg import ClientCursor
        from psycopg.pq import TransactionStatus
        from sqlalchemy.dialects.postgresql import psycopg

        super().__init__()
        self.dialect = psycopg.dialect()  # type: ignore[no-untyped-call]
        self._cursor, self._idle = ClientCursor, TransactionStatus.IDLE
        self._forms: dict[str, _Form] = {}
        self._prepared: weakref.WeakKeyDictionary[Any, set[str]] = weakref.WeakKeyDictionary()

    def prepare(self, connection: Any) -> None:
        connection.prepare_threshold = None  # the driver would forget our statements with its own after a ROLLBACK
        for setting in (
            "search_path = hubbub",
            "synchronous_commit = on",
            f"lock_timeout = '{WAIT}s'",
            "plan_cache_mode = force_generic_plan",  # every statement finds its rows by an index:
            "enable_seqscan = off",  # a plan made while the tables were empty must stay good
        ):
            connection.execute(f"SET {setting}")
        connection.commit()

    def begin(self, connection: Any, *, exclusive: bool) -> None:
        connection.autocommit = True  # transactions are begun and ended here, by hand
        if not exclusive:
            connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")

    def lock(self, connection: Connection) -> None:
        connection.exec_driver_sql(_TAKE_LOCK)
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS hubbub")

    def read(self, connection: Any, batch: list[tuple[str, Any]]) -> list[list[Row]]:
        start = self._start(connection)
        cursor = self._send(connection, start, batch)
        for _ in start:
            cursor.nextset()
        found = [cursor.fetchall()]
        while cursor.nextset():
            found.append(cursor.fetchall())
        return found

    def write(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        self._send(connection, self._start(connection), batch)

    def finish(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        self._send(connection, self._start(connection), batch, end=["COMMIT"])

    def _start(self, connection: Any) -> list[str]:
        return ["BEGIN", _TAKE_LOCK] if connection.info.transaction_status == self._idle else []

    def _send(self, connection: Any, start: list[str], batch: list[tuple[str, Any]], end: Sequence[str] = ()) -> Any:
        """Run all statements in one message."""
        cursor = self._cursor(connection)
        runs = [self._run_of(connection, cursor, text, values) for text, values in batch]
        cursor.execute(";".join([*start, *runs, *end]))
        return cursor

    def _run_of(self, connection: Any, cursor: Any, text: str, values: Mapping[str, Any]) -> str:
        """The text that runs a statement, which is prepared on this connection if it was not yet."""
        if (form := self._forms.get(text)) is None:
            form = self._forms[text] = _Form.of(text, len(self._forms))
        known = self._prepared.setdefault(connection, set())
        if form.name not in known:
            connection.execute(f"PREPARE {form.name} AS {form.text}")
            known.add(form.name)
        run: str = cursor.mogrify(form.run, [values[name] for name in form.names]) if form.names else form.run
        return run

    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Generator[Row]:
        with connection.cursor(name="hubbub") as cursor:
            cursor.itersize = 5000
            cursor.execute(statement, parameters)
            yield from cursor

    def commit(self, connection: Any) -> None:
        connection.execute("COMMIT")

    def rollback(self, connection: Any) -> None:
        if not connection.closed:
            connection.execute("ROLLBACK")

    def meaning(self, error: BaseException | None) -> HubbubError | None:
        import psycopg

        if isinstance(_own(error), psycopg.OperationalError | psycopg.InterfaceError):
            return _unavailable("the database refused or dropped the connection, or others kept it locked")
        return None


class Book:
    """A ledger's database, opened: made if it is new, brought up to date if it is old, refused if it is newer."""

    def __init__(self, url: str | Path, *, create: bool) -> None:
        self.url = locate(url)
        self.location = self.url.render_as_string(hide_password=True)
        self.driver: Driver = SQLite() if self.file else PostgreSQL()
        if self.file is not None:
            _look_at(self.file, create)
        self.restart()
        self._engine = self._engine_for()
        if self.location in _TORN:
            raise _unavailable("this process was forked while the ledger was in use")
        try:
            self._migrate(create)
        except Exception as error:
            raise self.driver.meaning(error) or error from error
        _BOOKS.add(self)

    @property
    def file(self) -> Path | None:
        """The file of an embedded ledger; None on PostgreSQL."""
        return Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None

    def transaction(self) -> Transaction:
        """An exclusive turn: whoever else wants to write waits."""
        return Transaction(self, exclusive=True)

    def snapshot(self) -> Transaction:
        """A consistent view for long reads, in nobody's way."""
        return Transaction(self, exclusive=False)

    def borrow(self) -> Any:
        """A connection of this process that is free, or a new one."""
        if self.location in _TORN:
            raise _unavailable("this process was forked while the ledger was in use")
        try:
            connection = self._idle.pop()
        except IndexError:
            lent = self._engine.raw_connection()
            connection = lent.dbapi_connection
            lent.detach()
        self._lent.add(id(connection))
        return connection

    def give_back(self, connection: Any) -> None:
        """Keep a connection for the next turn."""
        self._lent.discard(id(connection))
        self._idle.append(connection)

    def throw_away(self, connection: Any) -> None:
        """Close a connection that failed."""
        self._lent.discard(id(connection))
        connection.close()

    def close(self) -> None:
        """Close every connection that is free."""
        while self._idle:
            self._idle.pop().close()

    @property
    def in_use(self) -> bool:
        """Whether somebody in this process is reading or writing now."""
        return bool(self._lent)

    def restart(self) -> None:
        """Begin without a connection: in a child, the parent's are neither ours to use nor ours to close."""
        self._idle, self._lent = deque[Any](), set[int]()

    def _engine_for(self) -> Engine:
        arguments = {"check_same_thread": False} if self.file else {}
        engine = create_engine(self.url, poolclass=NullPool, connect_args=arguments)
        event.listen(engine, "connect", lambda connection, _: self.driver.prepare(connection))
        return engine

    def _migrate(self, create: bool) -> None:
        with self._engine.connect() as connection:
            if (found := _format_of(connection)) == FORMAT:
                return
            if found == 0 and not create:
                raise _unavailable("there is no ledger in it")
            self.driver.lock(connection)
            for number, step in enumerate(MIGRATIONS[_format_of(connection) :], start=_format_of(connection) + 1):
                step(connection)
                connection.execute(insert(ABOUT) if number == 1 else update(ABOUT), {"format": number})
            connection.commit()


# ---------------------------------------------------------------- forks

_BOOKS: weakref.WeakSet[Book] = weakref.WeakSet()
_TORN: set[str] = set()  # where ledgers are that were in use when this process was forked


def _before_fork() -> None:
    """Close what is not in use. A child inherits SQLite's notes about its locks but not the locks: it would believe
    that it holds them, and whoever closes next would put the log away under its feet."""
    for book in list(_BOOKS):
        book.close()


def _in_child() -> None:
    for book in list(_BOOKS):
        if book.in_use and book.file is not None:
            _TORN.add(book.location)
        book.restart()


os.register_at_fork(before=_before_fork, after_in_child=_in_child)


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
            fix="Install it: pip install 'hubbub[postgres]'.",
        ) from None


def _look_at(file: Path, create: bool) -> None:
    """Refuse a missing file or folder. The file itself is left to SQLite: closing it here would let go of its locks."""
    if not file.exists() and not create:
        raise _unavailable("there is no such file")
    if not file.parent.is_dir():
        raise _unavailable("its folder does not exist")


def _format_of(connection: Connection) -> int:
    """The number of the stored format; 0 if nothing is there."""
    tables = set(inspect(connection).get_table_names())
    if ABOUT.name not in tables:
        if tables:
            raise _damaged()
        return 0
    row = connection.execute(select(ABOUT.c.format)).one_or_none()
    if row is None or not isinstance(row[0], int) or row[0] < 1:
        raise _damaged()
    if row[0] > FORMAT:
        raise NewerFormat(
            f"this ledger has format {row[0]}; this version of Hubbub reads up to {FORMAT}.",
            why="A newer format may mean something that an older reader would get wrong.",
            fix="Install a newer Hubbub. The ledger was not touched.",
        )
    return int(row[0])


def _own(error: BaseException | None) -> BaseException | None:
    """The driver's error inside SQLAlchemy's."""
    return error.orig if isinstance(error, DBAPIError) else error


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
