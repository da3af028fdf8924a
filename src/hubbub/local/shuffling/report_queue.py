"""What waits in a shuffler, on disk: every report once, until the collector has acknowledged the batch it went in.

    about     the secret under which ids and contents are hashed, and the collection it all belongs to
    waiting   epoch, new id, report: in the order of the new ids, which are hashes under the secret, and not of arrival
    batches   permuted batches on their way to the collector
    passed    epoch, new id, hash of the content of what went into a batch: a copy that comes later is known by it
    tokens    how many new reports a token has sent in an epoch

A turn is one transaction, forced to disk: a report that was taken is not lost by a crash or a stop, and none goes into
two batches. As in the collector's store nothing tells when a report came: what is deleted is overwritten, and the log
that SQLite writes ahead is cut off after every turn.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hubbub.local.collection.store_file import check_store, connect_store, disk_errors, erase_log, reserve_name
from hubbub.terms import BadCollection

_MARK = 0x4875536D  # "HuSm": what a shuffler's file says it is
_TABLES = (
    "CREATE TABLE about (name TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE waiting (epoch INTEGER, id BLOB, report BLOB NOT NULL, PRIMARY KEY (epoch, id)) WITHOUT ROWID",
    "CREATE TABLE batches (number BLOB PRIMARY KEY, frame BLOB NOT NULL) WITHOUT ROWID",
    "CREATE TABLE passed (epoch INTEGER, id BLOB, content BLOB NOT NULL, PRIMARY KEY (epoch, id)) WITHOUT ROWID",
    "CREATE TABLE tokens (epoch INTEGER, mark BLOB, used INTEGER NOT NULL, PRIMARY KEY (epoch, mark)) WITHOUT ROWID",
)
NEW, SAME, OTHER = "new", "same", "other"


class Queue:
    """The queue of one collection: in a file that a restarted shuffler goes on with, or in memory alone."""

    def __init__(self, path: str | Path | None, *, digest: bytes) -> None:
        self.path = Path(":memory:" if path is None else path)
        self._lock = threading.RLock()
        fresh = path is None or not self.path.exists()
        with disk_errors(self.path):
            if path is not None and fresh:
                reserve_name(self.path)
            self._connection = connect_store(self.path)
            if fresh:
                self._begin(digest)
            check_store(self._connection, self.path, mark=_MARK)
        self._secret, known = self._about("secret"), self._about("digest")
        if known != digest:
            self.close()
            raise BadCollection(
                f"{self.path} holds what waits for another collection.",
                why="Reports mean something only under the parameters under which they were made.",
                fix="Name another file for this collection.",
            )

    def _begin(self, digest: bytes) -> None:
        with self.turn():
            for statement in _TABLES:
                self._connection.execute(statement)
            about = (("secret", secrets.token_bytes(32)), ("digest", digest))
            self._connection.executemany("INSERT INTO about VALUES (?, ?)", about)
            self._connection.execute(f"PRAGMA application_id = {_MARK}")

    def _about(self, name: str) -> bytes:
        return b"".join(value for (value,) in self._rows("SELECT value FROM about WHERE name = ?", name))

    def close(self) -> None:
        """Let the file go; everything was on disk already."""
        with self._lock:
            self._connection.close()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """One transaction, and the only way to write."""
        with self._lock, disk_errors(self.path):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._connection.execute("COMMIT")
            except BaseException:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
            erase_log(self._connection)

    def hashed(self, *parts: bytes) -> bytes:
        """16 bytes that stand for the parts, to nobody without the secret."""
        return hmac.digest(self._secret, b"".join(parts), hashlib.sha256)[:16]

    # ------------------------------------------------------------ within a turn

    def add(self, epoch: int, name: bytes, report: bytes) -> str:
        """Let a report wait unless it is there or went before: NEW, SAME, or OTHER if its id has another content."""
        content = self.hashed(report)
        gone = self._rows("SELECT content FROM passed WHERE epoch = ? AND id = ?", epoch, name)
        if gone:
            return SAME if gone[0][0] == content else OTHER
        there = self._rows("SELECT report FROM waiting WHERE epoch = ? AND id = ?", epoch, name)
        if there:
            return SAME if there[0][0] == report else OTHER
        self._connection.execute("INSERT INTO waiting VALUES (?, ?, ?)", (epoch, name, report))
        return NEW

    def remove(self, epoch: int, name: bytes) -> None:
        """Take a report back that may not wait."""
        self._connection.execute("DELETE FROM waiting WHERE epoch = ? AND id = ?", (epoch, name))

    def take(self, epoch: int) -> list[bytes]:
        """All that waits of an epoch, which from now on has passed."""
        rows = self._rows("SELECT id, report FROM waiting WHERE epoch = ?", epoch)
        gone = [(epoch, name, self.hashed(report)) for name, report in rows]
        self._connection.executemany("INSERT INTO passed VALUES (?, ?, ?)", gone)
        self._connection.execute("DELETE FROM waiting WHERE epoch = ?", (epoch,))
        return [report for _, report in rows]

    def post(self, frame: bytes) -> None:
        """Keep a batch until the collector has it."""
        self._connection.execute("INSERT INTO batches VALUES (?, ?)", (secrets.token_bytes(16), frame))

    def used(self, epoch: int, token: bytes) -> int:
        """How many new reports a token has sent in this epoch."""
        return sum(used for (used,) in self._rows("SELECT used FROM tokens WHERE epoch = ? AND mark = ?", epoch, token))

    def use(self, epoch: int, token: bytes) -> None:
        """Note that a token has sent one more."""
        self._connection.execute(
            "INSERT INTO tokens VALUES (?, ?, 1) ON CONFLICT DO UPDATE SET used = used + 1", (epoch, token)
        )

    # ------------------------------------------------------------ between turns

    def waiting(self) -> dict[int, int]:
        """How many reports of each epoch wait."""
        return dict(self._rows("SELECT epoch, count(*) FROM waiting GROUP BY epoch ORDER BY epoch"))

    def batches(self) -> list[tuple[bytes, bytes]]:
        """The batches on their way, with their numbers."""
        return self._rows("SELECT number, frame FROM batches")

    def arrived(self, number: bytes) -> None:
        """Forget a batch that the collector has."""
        with self.turn():
            self._connection.execute("DELETE FROM batches WHERE number = ?", (number,))

    def _rows(self, statement: str, *values: object) -> list[Any]:
        with self._lock, disk_errors(self.path):
            return self._connection.execute(statement, values).fetchall()
