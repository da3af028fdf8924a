"""Endings: a charge ends with an answer of the size promised, or without one; what is shown is anchored first.

Storing is compare-and-set: if another run was first, its answer is the one that is shown.
"""

from __future__ import annotations

from hubbub.durable import canonical_json
from hubbub.ledger.book import statements
from hubbub.ledger.book.chain import answer_body, sha256_hex
from hubbub.ledger.book.database import Batch, Transaction
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.open_ledger import Core, LedgerTurn
from hubbub.ledger.policy import failures_key
from hubbub.ledger.requests import ATTEMPTS, Request, Reservation, Stored
from hubbub.ledger.rules import Failures, failures_of
from hubbub.terms import NoAnswer, RequestChanged, Superseded, WrongShape, plain_text


def store_answer(core: Core, reservation: Reservation, answer: str) -> Stored:
    """Write the answer durably and anchor it; if another run was first, its answer is returned instead."""
    record = _pad_answer(reservation, answer)
    if record is None:
        ending, was_first = _settle_charge(core, reservation, _failure_body(core, reservation, "too large"), None)
    else:
        ending, was_first = _settle_charge(
            core, reservation, answer_body(reservation.sequence, sha256_hex(record)), record
        )
    if record is None and was_first:
        raise _no_answer(reservation)
    return show_answer(reservation, ending, repeated=not was_first)


def store_failure(core: Core, reservation: Reservation, reason: str) -> None:
    """Settle a charge with no answer, for a public reason such as a timeout; asking again is charged again."""
    _settle_charge(core, reservation, _failure_body(core, reservation, reason), None)


def _failure_body(core: Core, reservation: Reservation, reason: str) -> str:
    plain_text(reason, name="reason", longest=1000)
    request = reservation.request
    fields = {"kind": "failure", "charge": reservation.sequence, "reason": reason}
    return canonical_json(fields | {"analyst": request.analyst, "named": list(core.policy.named(request))})


def _settle_charge(core: Core, held: Reservation, body: str, record: str | None) -> tuple[Row, bool]:
    """End a charge, unless it has ended: (how it ended, whether that was now); anchored either way."""
    totals = held.totals or {}
    heads: list[Batch] = [(statements.RECENT, {})] if core.others_write(totals) else []
    with core.book.transaction() as transaction:
        head, charge, *recent = transaction.read(
            (statements.HEAD_AND_ENDING, {"charge": held.sequence}),
            (statements.HASH, {"sequence": held.sequence}),
            *heads,
        )
        turn = core.begin(transaction, [row[:4] for row in head])
        if not charge or charge[0][0] != held.head:
            raise _foreign_reservation()
        settled = head[0][4] is not None
        if not settled and record is None:
            _count_failures(core, transaction, turn, held.request)
        if not settled:
            entry = turn.append(body, key=core.key_if_due())
            turn.add(statements.ADD_ANSWER, charge=held.sequence, sequence=entry.sequence, body=record)
            turn.finish()
    ending: Row = head[0][5:] if settled else (record, entry.sequence, entry.at, entry.hash)
    core.seen = max(core.seen, ending[1])
    core.cover((ending[1], ending[3]), totals, recent=dict(*recent))
    return ending, not settled


def _count_failures(core: Core, transaction: Transaction, turn: LedgerTurn, request: Request) -> None:
    for name in core.policy.named(request):
        key = failures_key(name, request.analyst)
        (rows,) = transaction.read((statements.totals_of(1), {"a0": key}))
        count_failure(turn, key, failures_of(rows[0] if rows else None))


def count_failure(turn: LedgerTurn, key: str, failures: Failures) -> None:
    """One question more that had no answer."""
    values = {"period": failures.since} | dict.fromkeys(statements.TOTAL, "0") | {"loss": str(failures.count + 1)}
    turn.add(statements.ADD_TOTAL, account=key, **values)
    turn.add(statements.SPEND, key=key, **values)


def show_answer(held: Reservation, ending: Row, *, repeated: bool) -> Stored:
    """Hand out an answer that is anchored."""
    answer, sequence, at, mark = ending
    if answer is None:
        raise Superseded(
            "this run came too late: its charge was settled without an answer meanwhile.",
            why=f"After {ATTEMPTS} runs that nobody saw the end of, the request is charged anew.",
            fix="Ask again: if the new charge has its answer, it is returned for free.",
        )
    return Stored(
        held.request,
        sequence,
        mark,
        at,
        held.populations,
        held.costs,
        held.currency,
        answer=answer.rstrip(" "),
        repeated=repeated,
    )


def _pad_answer(held: Reservation, answer: str) -> str | None:
    """The answer, filled up to the size promised, or None if it is larger."""
    try:
        missing = held.request.size - len(answer.encode())
    except (AttributeError, UnicodeEncodeError):
        raise WrongShape(
            "an answer is stored as text.",
            why="What is shown later is the stored record, read from its bytes.",
            fix="Store release.to_json(), or other text of whole characters. The charge stands: store once more.",
        ) from None
    return answer + " " * missing if missing >= 0 else None


def _foreign_reservation() -> RequestChanged:
    return RequestChanged(
        "this reservation is of another ledger.",
        why="An answer is stored under its own charge, in the book in which that stands.",
        fix="Store it with the ledger that reserved it.",
    )


def _no_answer(held: Reservation) -> NoAnswer:
    return NoAnswer(
        f"the answer does not fit into the {held.request.size} bytes that were promised for it.",
        why="What is stored has a size known beforehand, so that no crash can choose among answers. It stays charged.",
        fix="Promise a size that every possible answer fits into, and ask again (a new charge).",
    )
