"""SQLite as the ledger and the collector's stores open it: a write-ahead log, forced to disk at every commit."""

from __future__ import annotations

import sqlite3
import time

_SETTINGS = (
    "synchronous = FULL",
    "secure_delete = ON",  # what is erased is overwritten
    "cache_size = -65536",  # 64 MiB: the index of a million requests stays in memory
)


def log_ahead(connection: sqlite3.Connection, *, patience: int) -> None:
    """Prepare a new connection: transactions by hand, other writers waited for at most ``patience`` seconds.

    Guarantee: what was committed on it is there after a crash of the process or the machine.
    Because: in WAL mode with ``synchronous = FULL``, SQLite syncs the log before a commit returns, as it documents.
    """
    connection.isolation_level = None  # transactions are begun and ended by the caller
    connection.execute(f"PRAGMA busy_timeout = {1000 * patience}")
    _switch_log_on(connection, time.monotonic() + patience)
    for setting in _SETTINGS:
        connection.execute(f"PRAGMA {setting}")


def _switch_log_on(connection: sqlite3.Connection, until: float) -> None:
    """SQLite does not wait by itself while another process switches the log on."""
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return
