"""How far a question has come, and what was charged for one that was interrupted."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hubbub.cli.output import streams as output
from hubbub.cli.output import terminal

if TYPE_CHECKING:
    from hubbub.ledger import Entry
    from hubbub.sql import Connection


@contextmanager
def show_stages(connection: Connection) -> Iterator[None]:
    """Show public stages, which depend on the question and the clock and not on rows, if it takes more than a second.

    A question that is interrupted says what was charged for it.
    """
    last, passed = _last_entry(connection), list[str]()
    with terminal.ProgressLine("planning ...", patience=terminal.PATIENCE) as line:

        def reach(stage: str) -> None:
            passed.extend({stage}.difference(passed))
            line.say(f"{', '.join(passed)} ...")

        connection.watch = reach
        try:
            yield
        except KeyboardInterrupt:
            line.close()
            output.talk(textwrap.fill(_charged_since(connection, last), 80))
            raise


def _last_entry(connection: Connection) -> int:
    return max((entry.sequence for entry in connection.ledger.log(newest=1)), default=0)


def _charged_since(connection: Connection, last: int) -> str:
    """What this analyst was charged after that entry, in words."""
    from hubbub.ledger import Pool, read_charge

    population, ledger = connection.dataset.population, connection.ledger
    charges = [entry for entry in ledger.log(start=last + 1, population=population) if _is_charge_of(entry, connection)]
    if not charges:
        return "Interrupted before anything was charged."
    currency = ledger.populations()[population].currency(Pool.QUESTIONS)
    words = read_charge(charges[-1].fields(), population, currency)[0].measure(currency).describe()
    return (
        f"Interrupted after it was charged: {words}, as #{charges[-1].sequence}. No answer was shown: the same "
        "question again goes on under that charge."
    )


def _is_charge_of(entry: Entry, connection: Connection) -> bool:
    fields = entry.fields()
    return fields["kind"] == "charge" and (entry.project, fields["analyst"]) == (connection.project, connection.analyst)
