"""The collector's store: every accepted report once, on disk before it is acknowledged, and nothing about its sender.

    about      the signed configuration, the key it is checked with, and the ledger's receipt if there is one
    reports    epoch, report id, payload: append-only, in the order of the (random) ids and not of arrival
    tallies    the additive state of each epoch, in pieces; it could be worked out again from the reports
    totals     how many reports an epoch has
    refusals   how many reports were refused, by reason; the reports themselves are not kept
    tokens     how many reports a token has sent in an epoch, so that no token floods it
    published  tallies, totals and refusals as they were when last shown: pages move on in steps of a whole batch

No address, no program's name and no time is written: an epoch is all that is known of when a report came. The log that
SQLite writes ahead is cut off after every turn, because it would show which reports came together, and in which order.
Within a page of the file, the places of rows may still show it; ``tidy`` writes the file anew, in the order of the ids.
"""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from enum import Enum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.local.collection.store_file import (
    FORMAT,
    MARK,
    check_store,
    connect_store,
    damaged_store,
    disk_errors,
    erase_log,
    reserve_name,
)
from hubbub.terms import HubbubError, Receipt, SourceUnavailable, from_json, to_json

PIECE = 512  # counters of the state in one row: a page
_NEW_REPORT = "INSERT INTO reports VALUES (?, ?, ?) ON CONFLICT DO NOTHING"
_KEPT_REPORT = "SELECT payload FROM reports WHERE epoch = ? AND id = ?"
_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID",
    "CREATE TABLE reports (epoch INTEGER, id BLOB CHECK (length(id) = 16), payload BLOB NOT NULL,"
    " PRIMARY KEY (epoch, id)) WITHOUT ROWID",
    "CREATE TABLE tallies (epoch INTEGER, piece INTEGER, counts BLOB NOT NULL, PRIMARY KEY (epoch, piece))"
    " WITHOUT ROWID",
    "CREATE TABLE totals (epoch INTEGER PRIMARY KEY, reports INTEGER NOT NULL)",
    "CREATE TABLE refusals (reason TEXT PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE TABLE tokens (epoch INTEGER, mark BLOB, used INTEGER NOT NULL, PRIMARY KEY (epoch, mark)) WITHOUT ROWID",
    *(
        f"CREATE TRIGGER reports_{verb.lower()} BEFORE {verb} ON reports BEGIN"
        " SELECT RAISE(ABORT, 'the store is append-only'); END"
        for verb in ("UPDATE", "DELETE")
    ),
)


_PUBLISHED = (
    "CREATE TABLE IF NOT EXISTS published_tallies (epoch INTEGER, piece INTEGER, counts BLOB NOT NULL,"
    " PRIMARY KEY (epoch, piece)) WITHOUT ROWID",
    "CREATE TABLE IF NOT EXISTS published_totals (epoch INTEGER PRIMARY KEY, reports INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS published_refusals (reason TEXT PRIMARY KEY, reports INTEGER NOT NULL) WITHOUT ROWID",
)
_DUE = (
    "SELECT totals.epoch FROM totals LEFT JOIN published_totals USING (epoch)"
    " WHERE totals.reports - coalesce(published_totals.reports, 0) >= ?"
)


class Fate(Enum):
    """What became of a report that was well-formed."""

    NEW = "accepted"
    SAME = "duplicate"  # the very same report is there: a retry
    OTHER = "replay"  # another report has this id
    OVER = "limit"  # its token has sent enough


class Store:
    """One collection's reports in one file, shared by any number of processes.

    A turn (``with store.turn() as turn``) is one transaction: it is on disk, forced, when the block ends, or nothing of
    it is. A report is known by its id within its epoch: sent again, it is found and not counted again.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self._lock = threading.RLock()
        if not self.path.exists():
            raise SourceUnavailable(
                f"there is no store at {self.path}.",
                why="A store is a file that is made once, for one collection.",
                fix="Check the name, or make one: hubbub.local.Store.create, or `hubbub collect init`.",
            )
        with disk_errors(self.path):
            self._connection = connect_store(self.path)
            check_store(self._connection, self.path)
            for statement in _PUBLISHED:
                self._connection.execute(statement)
            erase_log(self._connection)

    @classmethod
    def create(cls, path: str | Path, *, configuration: str, public_key: str) -> Store:
        """A new store for the collection with this signed configuration; a file that is there is never touched."""
        place = Path(path)
        with disk_errors(place):
            reserve_name(place)
            connection = connect_store(place)
            try:
                connection.execute("BEGIN IMMEDIATE")
                for statement in _TABLES:
                    connection.execute(statement)
                about = (("configuration", configuration), ("public key", public_key))
                connection.executemany("INSERT INTO about VALUES (?, ?)", about)
                connection.execute(f"PRAGMA application_id = {MARK}")
                connection.execute(f"PRAGMA user_version = {FORMAT}")
                connection.execute("COMMIT")
            finally:
                connection.close()
        return cls(place)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Let the file go; everything was on disk already."""
        with self._lock:
            self._connection.close()

    @property
    def configuration(self) -> str:
        """The signed configuration of the collection, as it was when the store was made."""
        return self.about("configuration")

    @property
    def public_key(self) -> str:
        """The key (Ed25519, hexadecimal) with which the configuration is checked."""
        return self.about("public key")

    @property
    def receipt(self) -> Receipt | None:
        """The ledger's receipt for the whole collection, if it was charged."""
        text = self.about("receipt")
        try:
            return from_json(json.loads(text)) if text else None
        except (ValueError, KeyError, TypeError, AttributeError, HubbubError):
            raise damaged_store(self.path) from None

    def keep_receipt(self, receipt: Receipt) -> None:
        """Keep the ledger's receipt beside what was collected under it."""
        with self.turn() as turn:
            turn.note("receipt", json.dumps(to_json(receipt)))

    def about(self, name: str) -> str:
        """A fact about the collection; empty if it was never written."""
        return "".join(value for (value,) in self._rows("SELECT value FROM about WHERE name = ?", name))

    # ------------------------------------------------------------ writing

    @contextmanager
    def turn(self) -> Iterator[WriteBatch]:
        """One transaction, and the only way to write; other writers wait until it ends."""
        with self._lock, disk_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield WriteBatch(self._connection.cursor())
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            erase_log(self._connection)

    def tidy(self) -> None:
        """Write the file anew, so that not even its layout shows in which order reports came."""
        with self._lock, disk_errors(self.path):
            self._connection.execute("VACUUM")
            erase_log(self._connection)

    # ------------------------------------------------------------ reading

    def epochs(self) -> dict[int, int]:
        """How many reports each epoch has."""
        return self._totals("totals")

    def refusals(self) -> dict[str, int]:
        """How many reports were refused, by reason."""
        return self._refusals("refusals")

    def state(self, epoch: int, *, size: int) -> tuple[NDArray[np.int64], int]:
        """The additive state of an epoch, of ``size`` counters, and the number of reports in it, as of one moment."""
        return self._state("", epoch, size)

    # ------------------------------------------------------------ what is shown

    def publish(self, *, step: int) -> None:
        """Move what is shown on to the present, for every epoch that has at least ``step`` reports more than shown.

        Who looks again and again, and knows when somebody reports, would otherwise read that one report off the
        difference of two looks. A look shows at least ``step`` new reports at once, or nothing new.
        """
        if not self._rows(_DUE, step):
            return
        with self.turn() as turn:
            turn.publish([epoch for (epoch,) in self._rows(_DUE, step)])

    def published_epochs(self) -> dict[int, int]:
        """How many reports of each epoch are shown."""
        return self._totals("published_totals")

    def published_refusals(self) -> dict[str, int]:
        """How many reports had been refused when something was last published, by reason."""
        return self._refusals("published_refusals")

    def published_state(self, epoch: int, *, size: int) -> tuple[NDArray[np.int64], int]:
        """``state`` as it was when it was last published."""
        return self._state("published_", epoch, size)

    def _totals(self, table: str) -> dict[int, int]:
        rows = self._rows(f"SELECT * FROM {table} ORDER BY epoch")  # noqa: S608 - ours
        return {int(epoch): int(reports) for epoch, reports in rows}

    def _refusals(self, table: str) -> dict[str, int]:
        rows = self._rows(f"SELECT * FROM {table} ORDER BY reason")  # noqa: S608 - ours
        return {str(reason): int(count) for reason, count in rows}

    def _state(self, prefix: str, epoch: int, size: int) -> tuple[NDArray[np.int64], int]:
        state = np.zeros(size, dtype=np.int64)
        totals = f"SELECT * FROM {prefix}totals WHERE epoch = ?"  # noqa: S608 - ours
        tallies = f"SELECT piece, counts FROM {prefix}tallies WHERE epoch = ?"  # noqa: S608 - ours
        with self._lock, disk_errors(self.path):
            self._connection.execute("BEGIN")
            try:
                count = sum(reports for _, reports in self._rows(totals, epoch))
                for piece, counts in self._rows(tallies, epoch):
                    place = state[piece * PIECE : (piece + 1) * PIECE]
                    if piece < 0 or len(counts) != place.nbytes:
                        raise damaged_store(self.path)
                    place[:] = np.frombuffer(counts, dtype="<i8")
            finally:
                self._connection.execute("COMMIT")
        return state, count

    def reports(self, epoch: int, *, at_once: int = 65_536) -> Iterator[list[tuple[bytes, bytes]]]:
        """(id, payload) of every report of an epoch as of one moment, in lists, in the order of the ids."""
        with disk_errors(self.path):
            connection = connect_store(self.path)
            try:
                rows = connection.execute("SELECT id, payload FROM reports WHERE epoch = ? ORDER BY id", (epoch,))
                while rows_read := rows.fetchmany(at_once):
                    yield rows_read
            finally:
                connection.close()

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with self._lock, disk_errors(self.path):
            return self._connection.execute(statement, values).fetchall()


class WriteBatch:
    """What can be written in one transaction."""

    def __init__(self, cursor: sqlite3.Cursor) -> None:
        self._cursor = cursor

    def add(
        self, epoch: int, ids: Sequence[bytes], payloads: Sequence[bytes], *, most: int | None = None
    ) -> list[Fate]:
        """Keep the reports that are new, at most so many of them; what became of each."""
        fates: list[Fate] = []
        new = 0
        for name, payload in zip(ids, payloads, strict=True):
            fate = self._add(epoch, name, payload, full=most is not None and new >= most)
            new += fate is Fate.NEW
            fates.append(fate)
        return fates

    def _add(self, epoch: int, name: bytes, payload: bytes, *, full: bool) -> Fate:
        if not full and self._cursor.execute(_NEW_REPORT, (epoch, name, payload)).rowcount:
            return Fate.NEW
        kept = self._cursor.execute(_KEPT_REPORT, (epoch, name)).fetchone()
        if kept is None:
            return Fate.OVER
        return Fate.SAME if kept[0] == payload else Fate.OTHER

    def tally(self, epoch: int, state: NDArray[np.int64], count: int) -> None:
        """Add the state of ``count`` new reports to that of their epoch; only the pieces that change are written."""
        self._cursor.execute(
            "INSERT INTO totals VALUES (?, ?) ON CONFLICT DO UPDATE SET reports = reports + excluded.reports",
            (epoch, count),
        )
        for piece in np.unique(np.flatnonzero(state) // PIECE).tolist():
            added = state[piece * PIECE : (piece + 1) * PIECE].astype("<i8")
            row = self._cursor.execute(
                "SELECT counts FROM tallies WHERE epoch = ? AND piece = ?", (epoch, piece)
            ).fetchone()
            if row is not None:
                added = added + np.frombuffer(row[0], dtype="<i8")
            self._cursor.execute("INSERT OR REPLACE INTO tallies VALUES (?, ?, ?)", (epoch, piece, added.tobytes()))

    def publish(self, epochs: Iterable[int]) -> None:
        """Show these epochs, and what was refused, as they are now."""
        for epoch in epochs:
            self._cursor.execute(
                "INSERT OR REPLACE INTO published_totals SELECT * FROM totals WHERE epoch = ?", (epoch,)
            )
            self._cursor.execute(
                "INSERT OR REPLACE INTO published_tallies SELECT * FROM tallies WHERE epoch = ?", (epoch,)
            )
        self._cursor.execute("INSERT OR REPLACE INTO published_refusals SELECT * FROM refusals")

    @contextmanager
    def unless(self, refused: Callable[[], bool]) -> Iterator[None]:
        """What is written within is taken back if it turns out to be refused."""
        self._cursor.execute("SAVEPOINT part")
        yield
        if refused():
            self._cursor.execute("ROLLBACK TO part")
        self._cursor.execute("RELEASE part")

    def about(self, name: str) -> str:
        """A fact about the collection, as it stands in this turn."""
        rows = self._cursor.execute("SELECT value FROM about WHERE name = ?", (name,)).fetchall()
        return "".join(value for (value,) in rows)

    def has_reports(self) -> bool:
        """Whether anything was ever accepted."""
        return bool(self._cursor.execute("SELECT 1 FROM totals LIMIT 1").fetchall())

    def refuse(self, reasons: Mapping[str, int]) -> None:
        """Count refused reports."""
        self._cursor.executemany(
            "INSERT INTO refusals VALUES (?, ?) ON CONFLICT DO UPDATE SET reports = reports + excluded.reports",
            list(reasons.items()),
        )

    def used(self, epoch: int, token: bytes) -> int:
        """How many reports a token has sent in this epoch."""
        row = self._cursor.execute("SELECT used FROM tokens WHERE epoch = ? AND mark = ?", (epoch, token)).fetchone()
        return int(row[0]) if row else 0

    def use(self, epoch: int, token: bytes, count: int) -> None:
        """Note that a token has sent so many more."""
        self._cursor.execute(
            "INSERT INTO tokens VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET used = used + excluded.used",
            (epoch, token, count),
        )

    def note(self, name: str, value: str) -> None:
        """Write a fact about the collection."""
        self._cursor.execute("INSERT OR REPLACE INTO about VALUES (?, ?)", (name, value))

    def forget_tokens(self, *, but: Iterable[int]) -> int:
        """Delete what is known of tokens in all epochs but these: how many rows that were."""
        kept = ",".join(str(int(epoch)) for epoch in but)
        return self._cursor.execute(f"DELETE FROM tokens WHERE epoch NOT IN ({kept})").rowcount  # noqa: S608 - numbers
