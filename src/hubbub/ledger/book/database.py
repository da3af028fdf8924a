"""The database under a ledger: connections, exclusive transactions, snapshots; SQLite or PostgreSQL.

A transaction reads a batch, decides, writes a batch and commits. Statements are SQLAlchemy Core, compiled once and run
by the driver itself: charging is the one path where SQLAlchemy's own execution costs more than the disk. On PostgreSQL
a batch is one round trip.
"""

from __future__ import annotations

import os
import weakref
from collections import deque
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from sqlalchemy import Connection, Engine, create_engine, event, insert, inspect, make_url, select, update
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError
from sqlalchemy.pool import NullPool
from sqlalchemy.sql import ClauseElement

from hubbub.durable import claim_name
from hubbub.ledger.book.drivers import Driver, PostgreSQL, Row, SQLite, ledger_damaged, ledger_unavailable
from hubbub.ledger.book.sql_schema import ABOUT, FORMAT, MIGRATIONS
from hubbub.terms import HubbubError, MissingExtra, NewerFormat, OutOfRange, install_command

Batch = tuple[ClauseElement, Mapping[str, Any]]


class Transaction:
    """One turn at the book: read, then write; committed when the block ends without an error, else undone.

    An exclusive turn keeps other writers out. Errors of the driver leave in our words: its own name files and hosts.
    """

    __slots__ = ("_book", "_connection", "_done", "_driver", "_exclusive", "_reads_anything", "_shown", "_streams")

    def __init__(self, book: Book, *, exclusive: bool, shown: bool = True) -> None:
        self._book, self._driver, self._exclusive, self._done = book, book.driver, exclusive, False
        self._shown = shown
        self._streams: list[Generator[Row]] = []
        self._reads_anything = False

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
        rows = self._driver.read(self._connection, [(text(s), p) for s, p in batch])
        self._force_what_is_seen()
        return rows

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
        self._driver.open_stream(self._connection)
        self._force_what_is_seen()
        rows = self._driver.stream(self._connection, self._driver.text(statement), dict(parameters or {}))
        self._streams.append(rows)
        return rows

    def read_anything(self) -> None:
        """From here on, read also what no ledger ever wrote, to say so."""
        self._reads_anything = True
        self._driver.read_anything(self._connection)

    def _force_what_is_seen(self) -> None:
        """Nothing leaves that a crash could undo: an answer that was shown and lost would be drawn anew."""
        if self._driver.saw_unforced(self._connection) and self._shown:
            with self._book.transaction():
                pass  # a turn ends when everything before it is on the disk

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
            (self._book.throw_away if self._reads_anything else self._book.give_back)(self._connection)
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


class Book:
    """A ledger's database, opened: made if it is new, brought up to date if it is old, refused if it is newer."""

    def __init__(self, url: str | Path, *, create: bool) -> None:
        self.url = ledger_url(url)
        self.location = self.url.render_as_string(hide_password=True)
        self.file = Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None  # if embedded
        self.driver: Driver = SQLite() if self.file else PostgreSQL()
        if self.file is not None:
            _look_at(self.file, create)
        self.restart()
        self._engine = self._engine_for()
        if self.location in _TORN:
            raise ledger_unavailable("this process was forked while the ledger was in use")
        try:
            self._migrate(create)
        except Exception as error:
            raise self.driver.meaning(error) or error from error
        self._identity = self._look()
        _BOOKS.add(self)

    def transaction(self) -> Transaction:
        """An exclusive turn: whoever else wants to write waits."""
        if self._look() != self._identity:
            raise ledger_unavailable("its file was moved, removed or replaced since it was opened")
        return Transaction(self, exclusive=True)

    def _look(self) -> tuple[int, int] | None:
        """Which file this is: an open one can be renamed, and a copy be put in its place."""
        if self.file is None:
            return None
        try:
            status = self.file.stat()
        except OSError:
            return 0, 0
        return status.st_dev, status.st_ino

    def snapshot(self, *, shown: bool = True) -> Transaction:
        """A consistent view for long reads, in nobody's way; ``shown`` unless nothing of it leaves the ledger."""
        return Transaction(self, exclusive=False, shown=shown)

    def borrow(self) -> Any:
        """A connection of this process that is free, or a new one."""
        if self.location in _TORN:
            raise ledger_unavailable("this process was forked while the ledger was in use")
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
            if (version := _format_of(connection)) == FORMAT:
                return
            if version == 0 and not create:
                raise ledger_unavailable("there is no ledger in it")
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


def ledger_url(url: str | Path) -> URL:
    """Where a ledger is: a file (made absolute) or a PostgreSQL database."""
    text = str(url)
    try:
        url_parts = make_url(text) if "://" in text else URL.create("sqlite", database=text)
    except ArgumentError:
        raise _no_place(text.partition("://")[0]) from None
    kind = url_parts.get_backend_name()
    if kind == "postgresql":
        _need_psycopg()
        return url_parts.set(drivername="postgresql+psycopg")
    if kind != "sqlite" or url_parts.database in {None, "", ":memory:"}:
        raise _no_place(kind)
    return url_parts.set(drivername="sqlite", database=str(Path(str(url_parts.database)).expanduser().resolve()))


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
            fix=f"Install it: {install_command('postgres')}.",
        ) from None


def _look_at(file: Path, create: bool) -> None:
    """Refuse a missing file or folder; a new file is for its owner alone, and so is what SQLite puts beside it.

    A file that is there is left to SQLite: closing it here would let go of its locks.
    """
    if not file.exists() and not create:
        raise ledger_unavailable("there is no such file")
    if not file.parent.is_dir():
        raise ledger_unavailable("its folder does not exist")
    try:
        claim_name(file)
    except FileExistsError:
        pass
    except OSError:
        raise ledger_unavailable("the file cannot be made") from None


def _format_of(connection: Connection) -> int:
    """The number of the stored format; 0 if nothing is there."""
    tables = set(inspect(connection).get_table_names())
    if ABOUT.name not in tables:
        if tables:
            raise ledger_damaged()
        return 0
    row = connection.execute(select(ABOUT.c.format)).one_or_none()
    if row is None or not isinstance(row[0], int) or row[0] < 1:
        raise ledger_damaged()
    if row[0] > FORMAT:
        raise NewerFormat(
            f"this ledger has format {row[0]}; this version of Hubbub reads up to {FORMAT}.",
            why="A newer format may mean something that an older reader would get wrong.",
            fix="Install a newer Hubbub. The ledger was not touched.",
        )
    return int(row[0])
