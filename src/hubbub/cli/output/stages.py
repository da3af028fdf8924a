"""How far a question has come, on stderr: only on a terminal, and only if it takes more than a second."""

from __future__ import annotations

import sys
import textwrap
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hubbub.cli.output import streams as output

if TYPE_CHECKING:
    from hubbub.ledger import Entry
    from hubbub.sql import Connection

PATIENCE = 1.0  # seconds before anything is said


class Stages:
    """Public stages, told on one line that is rewritten; they depend on the question and the clock, not on rows."""

    def __init__(self, *, shown: bool) -> None:
        self._passed: list[str] = []
        self._speaking, self._lock = False, threading.Lock()
        self._timer = threading.Timer(PATIENCE, self._begin)
        self._timer.daemon = True
        if shown:
            self._timer.start()

    def reached(self, stage: str) -> None:
        """Note a stage."""
        with self._lock:
            if stage not in self._passed:
                self._passed.append(stage)
                self._tell()

    def close(self) -> None:
        """Take the line away."""
        self._timer.cancel()
        with self._lock:
            if self._speaking:
                sys.stderr.write("\r\x1b[K")
                sys.stderr.flush()
            self._speaking = False

    def _begin(self) -> None:
        with self._lock:
            self._speaking = True
            self._tell()

    def _tell(self) -> None:
        if self._speaking:
            sys.stderr.write(f"\r\x1b[K{', '.join(self._passed) or 'planning'} ...")
            sys.stderr.flush()


@contextmanager
def watched(connection: Connection) -> Iterator[None]:
    """Tell how far a question has come; one that is interrupted says what was charged for it."""
    stages, last = Stages(shown=sys.stderr.isatty()), _newest(connection)
    connection.watch = stages.reached
    try:
        yield
    except KeyboardInterrupt:
        stages.close()
        output.talk(textwrap.fill(_charged_since(connection, last), 80))
        raise
    finally:
        stages.close()


def _newest(connection: Connection) -> int:
    return max((entry.sequence for entry in connection.ledger.log(newest=1)), default=0)


def _charged_since(connection: Connection, last: int) -> str:
    """What this analyst was charged after that entry, in words."""
    from hubbub.ledger import Pool, amount_of

    population, ledger = connection.dataset.population, connection.ledger
    ours = [entry for entry in ledger.log(start=last + 1, population=population) if _asked_by(entry, connection)]
    if not ours:
        return "Interrupted before anything was charged."
    cost = amount_of(*ours[-1].fields()["charged"][population][:2])
    words = cost.measure(ledger.populations()[population].currency(Pool.QUESTIONS)).describe()
    return (
        f"Interrupted after it was charged: {words}, as #{ours[-1].sequence}. No answer was shown: the same question "
        "again goes on under that charge."
    )


def _asked_by(entry: Entry, connection: Connection) -> bool:
    said = entry.fields()
    return said["kind"] == "charge" and (entry.project, said["analyst"]) == (connection.project, connection.analyst)
