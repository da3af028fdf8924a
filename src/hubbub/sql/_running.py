"""Run under a charge: whatever the engine fails with, the same public words leave."""

from __future__ import annotations

from collections.abc import Callable

from hubbub.engines import EngineFailed
from hubbub.ledger import Ledger, Reservation
from hubbub.terms import NoAnswer


def guarded(ledger: Ledger, reservation: Reservation, run: Callable[[], str]) -> str:
    """What ``run`` gives; if the engine gives no answer, the charge is settled without one."""
    try:
        return run()
    except EngineFailed:
        ledger.fail(reservation, "the engine gave no answer")
        raise NoAnswer(
            "the engine gave no answer in time, and the question is charged.",
            why="Whether it ends in time may depend on the data, so a refund would tell something about them.",
            fix="Ask for less at once, or let the owner allow more time or memory.",
        ) from None
