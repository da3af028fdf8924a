"""SQLite as we open it: logged ahead, forced at every commit, patient."""

from __future__ import annotations

import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from hubbub.durable import log_ahead

SETTINGS = {"journal_mode": "wal", "synchronous": 2, "secure_delete": 1, "cache_size": -65536, "busy_timeout": 7000}


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    with closing(sqlite3.connect(tmp_path / "file.db", check_same_thread=False, timeout=0)) as connection:
        yield connection


def test_every_setting_is_in_force(connection: sqlite3.Connection) -> None:
    log_ahead(connection, patience=7)
    settings = {name: connection.execute(f"PRAGMA {name}").fetchone()[0] for name in SETTINGS}
    assert settings == SETTINGS and connection.isolation_level is None


def test_it_waits_while_another_has_the_file_locked(tmp_path: Path, connection: sqlite3.Connection) -> None:
    with closing(sqlite3.connect(tmp_path / "file.db", isolation_level=None, check_same_thread=False)) as other:
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN EXCLUSIVE")
        thread = threading.Timer(0.2, other.execute, ("COMMIT",))
        thread.start()
        log_ahead(connection, patience=30)
        thread.join()
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_its_patience_ends(tmp_path: Path, connection: sqlite3.Connection, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "sleep", lambda seconds: None)
    with closing(sqlite3.connect(tmp_path / "file.db", isolation_level=None)) as other:
        other.execute("CREATE TABLE t (x)")
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            log_ahead(connection, patience=0)


def test_what_is_no_database_is_not_tried_again(tmp_path: Path) -> None:
    (tmp_path / "file.db").write_bytes(b"not a database, and long enough to be looked at as one" * 100)
    with (
        closing(sqlite3.connect(tmp_path / "file.db")) as connection,
        pytest.raises(sqlite3.DatabaseError, match="not a database"),
    ):
        log_ahead(connection, patience=3600)
