"""Before a charge a statement is tried on rows of nobody's; under it, whatever fails, the same public words leave."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from hubbub.engines import EngineFailed
from hubbub.ledger import Ledger, Reservation
from hubbub.relations import limits
from hubbub.sql.measurement import Engine
from hubbub.terms import NoAnswer, NotAllowed

T = TypeVar("T")


def check_runs(engine: Engine, statements: Iterable[str]) -> None:
    """Refuse statements that fail on the twin of the declared tables: no data could make them succeed."""
    for sql in statements:
        if len(sql) > limits.STATEMENT:
            raise limits.too_large()
        try:
            engine.bind(sql, seconds=limits.TWIN_SECONDS)
        except EngineFailed:
            raise NotAllowed(
                "the engine cannot run this question, whatever the data are.",
                why="It was tried on a few rows of nobody's, of the declared types, and nothing was charged.",
                fix="Write it more simply: fewer levels of functions, smaller numbers, fewer columns.",
            ) from None


def guarded(ledger: Ledger, reservation: Reservation, run: Callable[[], T]) -> T:
    """What ``run`` gives; if it fails, the charge is settled without an answer.

    Every failure under a charge comes here and nowhere else, of whatever kind: the kind may depend on the data.
    """
    try:
        return run()
    except Exception:  # the edge between private rows and what is told: a message may quote a row
        ledger.fail(reservation, "the engine gave no answer")
        raise NoAnswer(
            "the engine gave no answer within its time and memory, and the question is charged.",
            why="Whether it ends may depend on the data, so a refund would tell something about them.",
            fix="Ask for less at once, or let the owner allow more time or memory.",
        ) from None
