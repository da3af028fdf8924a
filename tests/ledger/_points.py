"""Every point at which a ledger reads or writes something, made a place to die at.

``arm`` is called inside a forked child only: it replaces functions for good.
"""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import psycopg
from sqlalchemy import Engine, event

from hubbub.ledger.book.drivers import PostgreSQL, SQLite

_STEPS = ("begin", "read", "write", "finish", "commit")


class Points:
    """Counts points; at number ``deadly`` the process gets SIGKILL and goes no further."""

    def __init__(self, deadly: int | None = None) -> None:
        self.count, self._deadly = 0, deadly

    def hit(self, *_: object, **__: object) -> None:
        self.count += 1
        if self.count == self._deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    def around(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function with a point before and a point after it."""

        @wraps(function)
        def pointed(*args: Any, **named: Any) -> Any:
            self.hit()
            result = function(*args, **named)
            self.hit()
            return result

        return pointed

    def halved(self, function: Callable[..., int]) -> Callable[..., int]:
        """A write at a place in a file, with a point where half of it is there: a torn write."""

        def torn(handle: int, content: bytes, offset: int) -> int:
            self.hit()
            function(handle, content[: len(content) // 2], offset)
            self.hit()
            done = function(handle, content, offset)
            self.hit()
            return done

        return torn

    def arm(self) -> None:
        """Put points around and inside everything that a ledger does to disk or database."""
        for driver in (SQLite, PostgreSQL):
            for name in _STEPS:
                setattr(driver, name, self.around(getattr(driver, name)))
        self._arm_statements()
        for name in ("write", "fsync", "fdatasync"):
            setattr(os, name, self.around(getattr(os, name)))
        os.pwrite = self.halved(os.pwrite)
        fcntl.flock = self.around(fcntl.flock)
        Path.replace = self.around(Path.replace)  # type: ignore[method-assign]

    def _arm_statements(self) -> None:
        """A point at each statement inside a batch, those that make tables too."""
        prepare = SQLite.prepare

        def traced(driver: SQLite, connection: Any) -> None:
            prepare(driver, connection)
            connection.set_trace_callback(self.hit)

        SQLite.prepare = traced  # type: ignore[method-assign]
        for owner, name in (
            (psycopg.Connection, "execute"),
            (psycopg.Connection, "commit"),
            (psycopg.Cursor, "execute"),
        ):
            setattr(owner, name, self.around(getattr(owner, name)))
        event.listen(Engine, "after_cursor_execute", self.hit)
        event.listen(Engine, "commit", self.hit)
