"""The drivers under a book: how a turn begins and ends on SQLite and on PostgreSQL, and which errors mean what."""

from __future__ import annotations

import re
import sqlite3
import weakref
from abc import ABC, abstractmethod
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Connection
from sqlalchemy.engine import Dialect
from sqlalchemy.exc import DBAPIError
from sqlalchemy.sql import ClauseElement

from hubbub.durable import log_ahead
from hubbub.terms import HubbubError, LedgerDamaged, LedgerUnavailable

Row = tuple[Any, ...]
WAIT = 120  # seconds for a lock; then the ledger says that it is busy
_TAKE_LOCK = f"SELECT pg_advisory_xact_lock({0x48756262})"  # "Hubb": PostgreSQL's writers take turns by it
_EXCLUSIVE = ["BEGIN", "SET LOCAL synchronous_commit = off", _TAKE_LOCK]
_SNAPSHOT = [  # and whether all that it sees is on the disk
    "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
    "SELECT pg_current_wal_insert_lsn() <= pg_current_wal_flush_lsn()"
    " AND current_setting('synchronous_standby_names') = ''",
]
_FORCE = ["BEGIN", "SELECT pg_logical_emit_message(true, 'hubbub', '')", "COMMIT"]


class Driver(ABC):
    """A database driver: how a turn begins and ends, and which of its errors mean what."""

    dialect: Dialect
    placeholder: str

    def __init__(self) -> None:
        self._texts: dict[ClauseElement, str] = {}

    def text(self, statement: ClauseElement) -> str:
        """The statement as the driver wants it."""
        if (text := self._texts.get(statement)) is None:
            compiled = statement.compile(dialect=self.dialect)
            text = str(compiled)
            for name, value in compiled.params.items():
                if isinstance(value, int):  # a LIMIT: written out, since nobody will give it a value
                    text = text.replace(self.placeholder % name, str(value))
            self._texts[statement] = text
        return text

    @abstractmethod
    def prepare(self, connection: Any) -> None:
        """Settings of a new connection."""

    @abstractmethod
    def begin(self, connection: Any, *, exclusive: bool) -> None:
        """Begin a turn; an exclusive one keeps other writers out."""

    @abstractmethod
    def lock(self, connection: Connection) -> None:
        """Keep others out while tables are made, until the commit."""

    @abstractmethod
    def read(self, connection: Any, batch: list[tuple[str, Any]]) -> list[list[Row]]:
        """The rows of each statement."""

    def saw_unforced(self, connection: Any) -> bool:
        """Whether a snapshot that was just begun sees what a crash could still undo; said once."""
        return False

    @abstractmethod
    def write(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        """Run each statement."""

    def finish(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        """Write and commit."""
        self.write(connection, batch)
        self.commit(connection)

    def open_stream(self, connection: Any) -> None:  # noqa: B027
        """Begin the turn now, if it has not yet: rows of a stream come without their batch."""

    @abstractmethod
    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Generator[Row]:
        """Rows one after the other."""

    def sound(self, connection: Any) -> bool:
        """Whether the database finds its own pages and indexes whole, as far as it can tell."""
        return True

    @abstractmethod
    def read_anything(self, connection: Any) -> None:
        """Read what somebody else wrote, also text that is none, until the connection is thrown away."""

    @abstractmethod
    def commit(self, connection: Any) -> None:
        """End a turn well."""

    @abstractmethod
    def rollback(self, connection: Any) -> None:
        """Undo a turn."""

    @abstractmethod
    def meaning(self, error: BaseException | None) -> HubbubError | None:
        """The error in our words, or None if it is not the driver's."""


class SQLite(Driver):
    """One file, write-ahead log, forced to disk at every commit."""

    placeholder = ":%s"

    def __init__(self) -> None:
        from sqlalchemy.dialects import sqlite

        super().__init__()
        self.dialect = sqlite.dialect(paramstyle="named")

    def prepare(self, connection: Any) -> None:
        log_ahead(connection, patience=WAIT)

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

    def read_anything(self, connection: Any) -> None:
        connection.text_factory = lambda text: text.decode(errors="surrogateescape")

    def commit(self, connection: Any) -> None:
        connection.execute("COMMIT")

    def rollback(self, connection: Any) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def meaning(self, error: BaseException | None) -> HubbubError | None:
        code = getattr(_driver_error(error), "sqlite_errorcode", 0) & 0xFF
        if code in {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}:
            return ledger_damaged()
        return ledger_unavailable(_SQLITE_REASONS[code]) if code in _SQLITE_REASONS else None


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
    written into the text by the driver. BEGIN (and a writer's lock) travels with the first batch, before anything is
    looked at, and COMMIT with the last.

    Others need not wait for the disk: a turn commits in memory, which lets the next writer in, and in the same message
    a second, empty transaction is committed durably, so that many writers share one forced write.

    Guarantee: when a turn has ended, or something read in a snapshot is given out, all of it is on the disk, whoever
    wrote it.
    Because: PostgreSQL's log is one sequence, and a commit with ``synchronous_commit = on`` returns after the log up to
    its own record is forced; the empty transaction's record comes after that of everything the turn wrote or saw. A
    snapshot compares the end of the log, read after it was taken, with what is forced, and has the rest forced first.
    Not covered: a server that runs with ``fsync = off``.
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
        self._unforced: weakref.WeakSet[Any] = weakref.WeakSet()
        self._openings: weakref.WeakKeyDictionary[Any, list[str]] = weakref.WeakKeyDictionary()
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
        self._openings[connection] = _EXCLUSIVE if exclusive else _SNAPSHOT

    def lock(self, connection: Connection) -> None:
        connection.exec_driver_sql(_TAKE_LOCK)
        connection.exec_driver_sql("CREATE SCHEMA IF NOT EXISTS hubbub")

    def read(self, connection: Any, batch: list[tuple[str, Any]]) -> list[list[Row]]:
        start = self._start(connection)
        cursor = self._send(connection, start, batch)
        for _ in start[1:]:
            cursor.nextset()
        if start:
            self._note_start(connection, cursor)
            cursor.nextset()
        results = [cursor.fetchall()]
        while cursor.nextset():
            results.append(cursor.fetchall())
        return results

    def write(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        self._send(connection, self._start(connection), batch)

    def finish(self, connection: Any, batch: list[tuple[str, Any]]) -> None:
        self._send(connection, self._start(connection), batch, end=["COMMIT", *_FORCE])

    def saw_unforced(self, connection: Any) -> bool:
        unforced = connection in self._unforced
        self._unforced.discard(connection)
        return unforced

    def _note_start(self, connection: Any, cursor: Any) -> None:
        """Remember what a turn's opening said: a snapshot's last statement tells whether all is on the disk."""
        if cursor.fetchone()[0] is False:
            self._unforced.add(connection)

    def _start(self, connection: Any) -> list[str]:
        """What begins a turn, unless it has begun."""
        return self._openings[connection] if connection.info.transaction_status == self._idle else []

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

    def read_anything(self, connection: Any) -> None:
        """The database itself keeps out text that is none."""

    def open_stream(self, connection: Any) -> None:
        for opening in (start := self._start(connection)):
            cursor = connection.execute(opening)
        if start:
            self._note_start(connection, cursor)

    def stream(self, connection: Any, statement: str, parameters: Mapping[str, Any]) -> Generator[Row]:
        with connection.cursor(name="hubbub") as cursor:
            cursor.itersize = 5000
            cursor.execute(statement, parameters)
            yield from cursor

    def commit(self, connection: Any) -> None:
        begun = connection.info.transaction_status != self._idle
        end = ["COMMIT"] * begun + (_FORCE if self._openings[connection] is _EXCLUSIVE else [])
        if end:
            connection.execute(";".join(end))

    def rollback(self, connection: Any) -> None:
        if not connection.closed and connection.info.transaction_status != self._idle:
            connection.execute("ROLLBACK")

    def meaning(self, error: BaseException | None) -> HubbubError | None:
        import psycopg

        if isinstance(_driver_error(error), psycopg.OperationalError | psycopg.InterfaceError):
            return ledger_unavailable("the database refused or dropped the connection, or others kept it locked")
        return None


# ---------------------------------------------------------------- errors


def _driver_error(error: BaseException | None) -> BaseException | None:
    """The driver's error inside SQLAlchemy's."""
    return error.orig if isinstance(error, DBAPIError) else error


_SQLITE_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_READONLY: "it may only be read",
    sqlite3.SQLITE_BUSY: f"others kept it locked for {WAIT} seconds",
    sqlite3.SQLITE_LOCKED: f"others kept it locked for {WAIT} seconds",
    sqlite3.SQLITE_CANTOPEN: "the file cannot be opened",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write, or is full",
    sqlite3.SQLITE_PERM: "the file may not be used",
}


def ledger_unavailable(reason: str) -> LedgerUnavailable:
    """The refusal when a ledger cannot be read or written."""
    return LedgerUnavailable(
        f"the ledger could not be used: {reason}.",
        why="No answer is computed or shown that is not charged first and stored.",
        fix="Mend that and ask again: what was charged is found again and not charged twice.",
    )


def ledger_damaged() -> LedgerDamaged:
    """The refusal of something that is not a whole ledger."""
    return LedgerDamaged(
        "this is not a whole ledger: the file is cut short, altered, or something else.",
        why="What was spent cannot be read from it, so nothing more may be spent.",
        fix="Restore a backup with `hubbub ledger restore`; the anchor tells what was spent since.",
    )
