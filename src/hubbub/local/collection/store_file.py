"""The file of a collector's store: made once, opened with care, and its errors in our words."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from hubbub.durable import claim_name, log_ahead
from hubbub.terms import BadCollection, HubbubError, NewerFormat, SourceUnavailable

FORMAT = 1
WAIT = 60  # seconds for another writer's turn to end
MARK = 0x48754C43  # "HuLC": what a file of ours says it is


def reserve_name(path: Path) -> None:
    """Take the name; whoever comes second finds it taken."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        claim_name(path)
    except FileExistsError:
        raise BadCollection(
            f"{path} is there already.",
            why="A store is begun once, and never written over.",
            fix="Name another file, or go on with the store that is there.",
        ) from None


def connect_store(path: Path) -> sqlite3.Connection:
    """A connection that logs ahead and forces every commit to disk."""
    connection = sqlite3.connect(path, timeout=WAIT, check_same_thread=False)
    try:
        log_ahead(connection, patience=WAIT)
    except BaseException:
        connection.close()
        raise
    return connection


def erase_log(connection: sqlite3.Connection) -> None:
    """Move what was written from the log into the file, and cut the log off: it would show what came with what, when.

    Nobody is waited for: where somebody reads just now, the log stays until the next turn.
    """
    connection.execute("PRAGMA busy_timeout = 0")
    try:
        with suppress(sqlite3.OperationalError):
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    finally:
        connection.execute(f"PRAGMA busy_timeout = {1000 * WAIT}")


def check_store(connection: sqlite3.Connection, path: Path, *, mark: int = MARK) -> None:
    """Refuse what is not a store of this kind, or is a newer one."""
    ((row,),) = connection.execute("PRAGMA application_id")
    ((version,),) = connection.execute("PRAGMA user_version")
    if row != mark:
        connection.close()
        raise store_unavailable(path, "it is not a collector's store")
    if version > FORMAT:
        connection.close()
        raise NewerFormat(
            f"{path} is a store of format {version}; this version of Hubbub reads up to {FORMAT}.",
            why="A newer format may mean something that an older reader would get wrong.",
            fix="Install a newer Hubbub.",
        )


_REASONS = {
    sqlite3.SQLITE_FULL: "the disk is full",
    sqlite3.SQLITE_IOERR: "the disk failed to read or write, or is full",
    sqlite3.SQLITE_READONLY: "it may only be read",
    sqlite3.SQLITE_PERM: "it may not be used",
    sqlite3.SQLITE_CANTOPEN: "it cannot be opened",
    sqlite3.SQLITE_BUSY: f"others kept it locked for {WAIT} seconds",
    sqlite3.SQLITE_LOCKED: f"others kept it locked for {WAIT} seconds",
    sqlite3.SQLITE_CORRUPT: "it is damaged",
    sqlite3.SQLITE_NOTADB: "it is not a collector's store",
}


@contextmanager
def disk_errors(path: Path) -> Iterator[None]:
    """Errors of the disk and the database, in our words."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise damaged_store(path) from error
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF
        raise store_unavailable(path, _REASONS.get(code, "it is not a whole store")) from error
    except OSError as error:
        raise store_unavailable(path, os.strerror(error.errno or 0).lower()) from error


def damaged_store(path: Path) -> HubbubError:
    """The refusal of what this store cannot have written."""
    return store_unavailable(path, _REASONS[sqlite3.SQLITE_CORRUPT])


def store_unavailable(path: Path, reason: str) -> HubbubError:
    """The refusal when a store cannot be read or written."""
    return SourceUnavailable(
        f"the store {path} could not be used: {reason}.",
        why="A report is acknowledged only when it is on disk; what was acknowledged before is kept.",
        fix="Mend that and send again: a report that is there already is not counted twice.",
    )
