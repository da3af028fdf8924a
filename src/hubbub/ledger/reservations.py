"""Reserve, run, store, show: how a request is charged, and how an answer comes to be seen.

    reserve  in one turn: find the request, or check every budget and write the charge; before any data is read
    run      elsewhere
    store    in one turn: write the answer in a record of the size promised, unless another run was first
    show     after the head is anchored in the second place

A request that died after its charge is run again under it, since nobody saw an answer; each such attempt is an entry,
and after three a new charge is due, once the last of them has had its time. Nothing is refunded.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hubbub.accounting import Amount
from hubbub.ledger.bills import Bill, bill_for
from hubbub.ledger.book import statements
from hubbub.ledger.book.anchors import Totals
from hubbub.ledger.book.database import Batch, Transaction
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.decimals import amount_decimals, basic_decimals, read_charge
from hubbub.ledger.endings import count_failure, show_answer
from hubbub.ledger.open_ledger import Core, LedgerTurn, total_values
from hubbub.ledger.policy import account_key
from hubbub.ledger.requests import ATTEMPTS, Pool, Request, Reservation, Stored
from hubbub.ledger.rules import check_failures, check_rules, total_with
from hubbub.terms import RequestChanged


def reserve_request(core: Core, request: Request) -> Reservation | Stored:
    """Charge a request durably, find it charged already, or find its answer."""
    core.need_key()  # who cannot sign an answer must not charge for it
    while True:
        bill = bill_for(core, request)
        done = _reserve_under(core, bill, request)
        if done is None:
            core.refresh()  # owners changed something meanwhile: look again under what they said
        elif isinstance(done, _UnderWay):
            _wait_for_run(core, done)
        else:
            return done


def preview_costs(core: Core, request: Request) -> Mapping[str, Amount]:
    """What each population would be charged; free, and nothing is written."""
    bill = bill_for(core, request)
    check_rules(bill, request)
    return bill.costs


def has_answer(core: Core, request: Request) -> bool:
    """Whether the book has an answer to this very request, so that asking again is free."""
    bill = bill_for(core, request)
    here = {"fingerprint": bytes.fromhex(request.fingerprint), "project": request.project}
    with core.book.snapshot() as view:
        return _look_back(view, bill, request, here).answered is not None


def is_paid(core: Core, request: Request) -> bool:
    """Whether reserving it charges nothing: its answer is there, or a run under an earlier charge is still due."""
    bill = bill_for(core, request)
    here = {"fingerprint": bytes.fromhex(request.fingerprint), "project": request.project}
    with core.book.snapshot() as view:
        earlier = _look_back(view, bill, request, here)
    due = earlier.open is not None and earlier.attempts < ATTEMPTS
    return due or (earlier.answered is not None and not request.fresh)


# ---------------------------------------------------------------- one turn


@dataclass(frozen=True, slots=True)
class _UnderWay:
    """As many runs of a request as one charge allows are under way, and one may still come back."""

    charge: int
    seconds: float


def _wait_for_run(core: Core, runs: _UnderWay) -> None:
    """Until a run has come back, or none can be expected any more: a crowd does not pay for one question many times."""
    until, pause = time.monotonic() + runs.seconds, 0.01
    while (left := until - time.monotonic()) > 0:
        time.sleep(min(pause, left))
        pause = min(2 * pause, 0.2)
        with core.book.snapshot() as view:
            if view.read((statements.SETTLED, {"charge": runs.charge}))[0]:
                return


def _reserve_under(core: Core, bill: Bill, request: Request) -> Reservation | Stored | _UnderWay | None:
    """The reservation, or None if owners changed the policy since the bill was made."""
    mark = bytes.fromhex(request.fingerprint)
    here = {"fingerprint": mark, "project": request.project}
    anchors = core.read_anchors(bill.populations)
    with core.book.transaction() as transaction:
        head, totals, *heads = transaction.read(
            (statements.HEAD_AND_NEWEST, here),
            (bill.look, bill.keys),
            *((statements.HASH, {"sequence": anchor.sequence}) for anchor in anchors.values()),
        )
        turn = core.begin(transaction, [row[:4] for row in head])
        if turn.policy != bill.policy.sequence:
            return None
        spent = {row[0]: row for row in totals}
        core.check_anchors(anchors, heads, request.pool, spent)
        earlier = _NOTHING
        if head[0][4] is not None or bill.anywhere:
            earlier = _look_back(transaction, bill, request, here)
        held: Reservation | None = None
        if earlier.answered is None or request.fresh:
            if earlier.open is not None and earlier.attempts < ATTEMPTS:
                held = _try_again(turn, bill, request, earlier)
            elif earlier.open is not None and (left := earlier.last + request.patience - turn.now / 1e6) > 0:
                return _UnderWay(earlier.open[0], left)
            else:
                held = _write_charge(core, turn, bill, request, spent, earlier)
            turn.finish()
    if held is None:
        assert earlier.answered is not None
        row = earlier.answered
        resumed = _resume_reservation(bill, request, row, 1)
        core.cover((row[6], row[8]), resumed.totals or {})  # whoever stored it may have died before
        return show_answer(resumed, row[5:], repeated=True)
    core.seen = turn.sequence
    core.known_events.add(bill.event[0])
    return held


def _look_back(transaction: Transaction, bill: Bill, request: Request, here: Mapping[str, Any]) -> _Earlier:
    """What the book has under the request's fingerprint."""
    (attempts,) = transaction.read((statements.FIND, here))
    earlier = _Earlier.read(bill, attempts) if attempts else _NOTHING
    if request.fresh or earlier.answered is not None:
        return earlier
    wanted: Batch = (statements.ANSWERED, here)
    if bill.anywhere:
        wanted = (statements.ANSWERED_ANYWHERE, {"fingerprint": here["fingerprint"]})
    (rows,) = transaction.read(wanted)
    return earlier.with_answer(bill, rows)


@dataclass(frozen=True, slots=True)
class _Earlier:
    """What the book already has under a fingerprint: the last answer, and the last charge if nobody answered it."""

    answered: Row | None = None
    open: Row | None = None
    attempts: int = 0
    last: float = 0.0  # when the last run began

    @classmethod
    def read(cls, bill: Bill, rows: Sequence[Row]) -> _Earlier:
        """From the newest rows of one project; a charge that was settled has its ending in columns 5 to 8."""
        newest = next(row for row in rows if json.loads(row[3])["kind"] == "charge")
        _check_terms(bill, newest)
        if newest[6] is not None:
            return cls(None if newest[5] is None else newest)
        runs = [row for row in rows if row[0] >= newest[0]]
        return cls(None, newest, attempts=len(runs), last=runs[0][1] / 1e6)

    def with_answer(self, bill: Bill, rows: Sequence[Row]) -> _Earlier:
        """The same, with an answer that was found further back or in another project."""
        for row in rows:
            _check_terms(bill, row)
        return replace(self, answered=rows[0]) if rows else self


def _check_terms(bill: Bill, row: Row) -> None:
    if json.loads(row[3])["terms"] != bill.terms:
        raise _request_changed()


_NOTHING = _Earlier()


def _try_again(turn: LedgerTurn, bill: Bill, request: Request, earlier: _Earlier) -> Reservation:
    assert earlier.open is not None
    attempt = earlier.attempts + 1
    turn.append(
        {"kind": "attempt", "charge": earlier.open[0], "attempt": attempt, "analyst": request.analyst},
        fingerprint=bytes.fromhex(request.fingerprint),
        project=request.project,
    )
    return _resume_reservation(bill, request, earlier.open, attempt)


def _write_charge(
    core: Core, turn: LedgerTurn, bill: Bill, request: Request, totals: Mapping[str, Row], earlier: _Earlier
) -> Reservation:
    check_rules(bill, request)
    failures = check_failures(bill, request, totals)
    after = {each.key: total_with(bill, each, totals.get(each.key), turn.now) for each in bill.accounts}
    for each in bill.accounts:
        turn.add(statements.SPEND, key=each.key, period=each.period(turn.now), **total_values(after[each.key]))
    spent = {who: after[account_key(who, request.pool)] for who in bill.populations}
    fields = bill.fields | {
        "charged": {who: [*bill.prices[who], *amount_decimals(spent[who])] for who in bill.populations},
        **({"basic": basic} if (basic := _basic_fields(bill, spent)) else {}),
        **{name: value for name, value in _optional_fields(request) if value},
    }
    if earlier.open is not None:
        fields |= {"supersedes": earlier.open[0], "counted": True}
        for name, key in bill.failures.items():
            count_failure(turn, key, failures[name])
    entry = turn.append(fields, fingerprint=bytes.fromhex(request.fingerprint), project=request.project)
    if earlier.open is not None:
        turn.add(statements.ADD_ANSWER, charge=earlier.open[0], sequence=entry.sequence, body=None)
    if bill.event[0] not in core.known_events:
        turn.add(statements.ADD_EVENT, digest=bill.event[0], body=bill.event[1])
    place = (entry.sequence, entry.hash, entry.at)
    return Reservation(request, *place, bill.populations, bill.costs, bill.currency, 1, _by_pool(request.pool, spent))


def _basic_fields(bill: Bill, spent: Mapping[str, Amount]) -> dict[str, list[str]]:
    """Cost and total in the basic account of each population that is counted both ways."""
    return {who: [*price, *basic_decimals(spent[who])] for who, price in bill.basic.items()}


def _optional_fields(request: Request) -> tuple[tuple[str, Any], ...]:
    return (
        ("dataset", request.dataset),
        ("version", request.version),
        ("delta", str(request.delta) if request.delta else ""),
        ("question", request.question),
        ("refines", request.refines),
        ("title", request.title),
        ("fresh", request.fresh),
    )


# ---------------------------------------------------------------- what goes back


def _by_pool(pool: str, spent: Mapping[str, Amount]) -> dict[str, Totals]:
    nothing = Amount()
    return {name: (total, nothing) if pool == Pool.QUESTIONS else (nothing, total) for name, total in spent.items()}


def _resume_reservation(bill: Bill, request: Request, row: Row, attempt: int) -> Reservation:
    """The reservation that an earlier charge stands for."""
    sequence, at, _, body, mark, *_ = row
    fields = json.loads(body)
    currencies = {name: bill.policy.population(name).currency(Pool(fields["pool"])) for name in fields["charged"]}
    amounts = {name: read_charge(fields, name, currency) for name, currency in currencies.items()}
    costs = {name: cost for name, (cost, _) in amounts.items()}
    spent = {name: total for name, (_, total) in amounts.items()}
    populations = (*fields["named"], *(name for name in amounts if name not in fields["named"]))
    promised = replace(request, size=fields["size"])  # the record has the size that was promised first
    return Reservation(
        promised, sequence, mark, at, populations, costs, bill.currency, attempt, _by_pool(fields["pool"], spent)
    )


def _request_changed() -> RequestChanged:
    return RequestChanged(
        "another request was charged under this fingerprint: its event, size or people differ.",
        why="A stored answer is returned for the same request only; anything else would be a wrong or a free answer.",
        fix="Make the fingerprint from everything that tells the two apart: hubbub.ledger.fingerprint(...).",
    )
