"""Reserve, run, store, show: how a request is charged, and how an answer comes to be seen.

    reserve  in one turn: find the request, or check every budget and write the charge; before any data is read
    run      elsewhere
    store    in one turn: write the answer in a record of the size promised, unless another run was first
    show     after the head is anchored in the second place

A request that died after its charge is run again under it, since nobody saw an answer; each such attempt is an entry,
and after three a new charge is due. Nothing is refunded.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from hubbub.accounting.limits import Amount, Currency, cost_in, price_fits
from hubbub.ledger import statements
from hubbub.ledger.anchors import Totals
from hubbub.ledger.book import Row
from hubbub.ledger.chain import canonical, digest, event_text
from hubbub.ledger.core import Core, Turn
from hubbub.ledger.decimals import amount_of, decimals
from hubbub.ledger.policy import Account, Policy, Population, account_key
from hubbub.ledger.requests import Pool, Request, Reservation, Stored
from hubbub.terms import BudgetExceeded, NoAnswer, RequestChanged, Superseded, UnknownPopulation

ATTEMPTS = 3  # runs under one charge


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request would be charged under a policy: worked out before the turn, from public facts alone."""

    policy: Policy
    request: Request
    populations: tuple[str, ...]
    costs: dict[str, Amount]
    accounts: list[Account]
    anywhere: bool
    terms: str

    @property
    def currency(self) -> Currency:
        """In what the first population counts it."""
        return self.policy.populations[self.populations[0]].currency(self.request.pool)


def reserve(core: Core, request: Request) -> Reservation | Stored:
    """Charge a request durably, find it charged already, or find its answer."""
    while True:
        bill = _bill_afresh(core, request)
        if (done := _reserve_under(core, bill)) is not None:
            return done
        core.refresh()  # owners changed something meanwhile: look again under what they said


def preview(core: Core, request: Request) -> Mapping[str, Amount]:
    """What each population would be charged; free, and nothing is written."""
    return _bill_afresh(core, request).costs


def store(core: Core, reservation: Reservation, answer: str) -> Stored:
    """Write the answer durably and anchor it; if another run was first, its answer is returned instead."""
    record = _record(reservation, answer)
    if record is None:
        fail(core, reservation, "too large")
        raise _no_answer(reservation)
    with core.book.transaction() as transaction:
        last, settled = transaction.read((statements.LAST, {}), (statements.SETTLED, {"charge": reservation.sequence}))
        turn = core.begin(transaction, last)
        if not settled:
            said = {"kind": "answer", "charge": reservation.sequence, "digest": digest(record)}
            entry = turn.append(said, key=core.key_if_due())
            turn.add(statements.ADD_ANSWER, charge=reservation.sequence, sequence=entry.sequence, body=record)
            turn.finish()
    if not settled:
        core.seen = entry.sequence
        return _show(core, reservation, (record, entry.sequence, entry.at, entry.hash), repeated=False)
    return _show(core, reservation, settled[0], repeated=True)


def fail(core: Core, reservation: Reservation, reason: str) -> None:
    """Settle a charge with no answer, for a public reason such as a timeout; asking again is charged again."""
    with core.book.transaction() as transaction:
        last, settled = transaction.read((statements.LAST, {}), (statements.SETTLED, {"charge": reservation.sequence}))
        turn = core.begin(transaction, last)
        if not settled:
            entry = turn.append({"kind": "failure", "charge": reservation.sequence, "reason": reason})
            turn.add(statements.ADD_ANSWER, charge=reservation.sequence, sequence=entry.sequence, body=None)
            turn.finish()


def ask(core: Core, request: Request, run: Callable[[Reservation], str]) -> Stored:
    """The whole way: reserve, run, store, show."""
    held = reserve(core, request)
    return held if isinstance(held, Stored) else store(core, held, run(held))


# ---------------------------------------------------------------- the bill


def _bill_afresh(core: Core, request: Request) -> Bill:
    try:
        return _bill(core.policy, request)
    except UnknownPopulation:
        core.refresh()  # somebody may have opened it in another process
        return _bill(core.policy, request)


def _bill(policy: Policy, request: Request) -> Bill:
    populations = policy.charged(request)
    whose = [policy.populations[name] for name in populations]
    costs = {who.name: _cost(who, request) for who in whose}
    place = {"project": request.project, "analyst": request.analyst, "pool": request.pool}
    for who in whose:
        _check_rules(policy, who, request)
    event, _ = event_text(request.event)
    terms = [
        event,
        request.pool,
        request.size,
        str(request.delta),
        request.population,
        request.dataset,
        request.version,
    ]
    return Bill(
        policy,
        request,
        populations,
        costs,
        policy.accounts(populations, **place),  # type: ignore[arg-type]
        all(who.share_answers for who in whose),
        digest(canonical([*terms, request.question, request.refines]))[:32],
    )


def _cost(who: Population, request: Request) -> Amount:
    return cost_in(who.currency(request.pool), request.event, who.neighbours, request.delta)


def _check_rules(policy: Policy, who: Population, request: Request) -> None:
    if not policy.may_spend(who, project=request.project, analyst=request.analyst, pool=request.pool):
        raise BudgetExceeded(
            f"neither project {request.project!r} nor analyst {request.analyst!r} has a share of {who.name!r}.",
            why="Its owner lets only those spend who were granted a share.",
            fix=f"Ask for one: `hubbub budget request {who.name} --project {request.project}`.",
        )
    if who.each is not None and not price_fits(who.each, request.event, who.neighbours):
        raise BudgetExceeded(
            f"one request to {who.name!r} may cost {who.each.measure().words()}, and this one costs more.",
            why="The owner caps what a single request may spend.",
            fix="Ask with more noise, or in parts.",
        )


# ---------------------------------------------------------------- one turn


def _reserve_under(core: Core, bill: Bill) -> Reservation | Stored | None:
    """The reservation, or None if owners changed the policy since the bill was made."""
    request, key = bill.request, bytes.fromhex(bill.request.fingerprint)
    find = statements.FIND_ANYWHERE if bill.anywhere else statements.FIND
    where = {"fingerprint": key} if bill.anywhere else {"fingerprint": key, "project": request.project}
    names = {f"a{i}": account.key for i, account in enumerate(bill.accounts)}
    with core.book.transaction() as transaction:
        last, found, totals = transaction.read(
            (statements.LAST, {}), (find, where), (statements.totals_of(len(names)), names)
        )
        turn = core.begin(transaction, last)
        if turn.policy != bill.policy.sequence:
            return None
        earlier = _Earlier.read(bill, found) if found else _Earlier()
        if earlier.answered is not None and not request.fresh:
            held: Reservation | Stored | None = None
        elif earlier.open is not None and earlier.attempts < ATTEMPTS:
            held = _try_again(turn, bill, earlier)
        else:
            held = _charge(core, turn, bill, {row[0]: row for row in totals}, earlier)
        if held is not None:
            turn.finish()
    if held is None:
        assert earlier.answered is not None
        row = earlier.answered
        return _show(core, _reservation(bill, row, json.loads(row[3]), 1), row[5:], repeated=True)
    core.seen = turn.sequence
    core.known_events.add(event_text(request.event)[0])
    return held


@dataclass(slots=True)
class _Earlier:
    """What the book already has under a fingerprint: the last answer, and the last charge if nobody answered it."""

    answered: Row | None = None
    open: Row | None = None
    attempts: int = 0

    @classmethod
    def read(cls, bill: Bill, rows: Sequence[Row]) -> _Earlier:
        """Rows come newest first; a charge with an ending has one in columns 5 to 8."""
        earlier, newest, attempts = cls(), True, 1
        for row in rows:
            said, own = json.loads(row[3]), row[2] == bill.request.project
            if said["kind"] == "attempt":
                attempts += own and newest
                continue
            if said["terms"] != bill.terms:
                raise _changed()
            if earlier.answered is None and row[5] is not None:
                earlier.answered = row
            if newest and own:
                newest = False
                if row[6] is None:
                    earlier.open, earlier.attempts = row, attempts
        return earlier


def _try_again(turn: Turn, bill: Bill, earlier: _Earlier) -> Reservation:
    assert earlier.open is not None
    said, attempt = json.loads(earlier.open[3]), earlier.attempts + 1
    turn.append(
        {"kind": "attempt", "charge": earlier.open[0], "attempt": attempt, "analyst": bill.request.analyst},
        fingerprint=bytes.fromhex(bill.request.fingerprint),
        project=bill.request.project,
    )
    return _reservation(bill, earlier.open, said, attempt)


def _charge(core: Core, turn: Turn, bill: Bill, totals: Mapping[str, Row], earlier: _Earlier) -> Reservation:
    request = bill.request
    after = {a.key: _spend(turn, bill, a, totals.get(a.key)) for a in bill.accounts}
    name, text = event_text(request.event)
    charged = {
        who: [*decimals(bill.costs[who]), *decimals(after[account_key(who, request.pool)])] for who in bill.populations
    }
    said = {
        "kind": "charge",
        "analyst": request.analyst,
        "charged": charged,
        "event": name,
        "named": list(bill.populations),
        "pool": request.pool,
        "size": request.size,
        "terms": bill.terms,
        **{k: v for k, v in _optional(request).items() if v},
    }
    superseded = earlier.open[0] if earlier.open is not None else None
    if superseded is not None:
        said["supersedes"] = superseded
    entry = turn.append(said, fingerprint=bytes.fromhex(request.fingerprint), project=request.project)
    if superseded is not None:
        turn.add(statements.ADD_ANSWER, charge=superseded, sequence=entry.sequence, body=None)
    if name not in core.known_events:
        turn.add(statements.ADD_EVENT, digest=name, body=text)
    row = (entry.sequence, entry.at, entry.project, entry.body, entry.hash)
    return _reservation(bill, row, said, 1)


def _spend(turn: Turn, bill: Bill, account: Account, row: Row | None) -> Amount:
    """The account's total with this charge, or a refusal."""
    period = account.period(turn.now)
    spent = Amount(int(row[2]), int(row[3])) if row is not None and row[1] == period else Amount()
    total = spent + bill.costs[account.population]
    if account.limit is None or not account.limit.fits(total):
        raise _exceeded(bill, account, spent)
    turn.add(statements.SPEND, key=account.key, period=period, loss=str(total.loss), delta=str(total.delta))
    return total


def _optional(request: Request) -> dict[str, Any]:
    return {
        "dataset": request.dataset,
        "version": request.version,
        "delta": str(request.delta) if request.delta else "",
        "question": request.question,
        "refines": request.refines,
        "title": request.title,
        "fresh": request.fresh,
    }


# ---------------------------------------------------------------- what goes back


def _reservation(bill: Bill, row: Row, said: Mapping[str, Any], attempt: int) -> Reservation:
    sequence, at, _, _, mark, *_ = row
    cost = amount_of(*said["charged"][said["named"][0]][:2])
    totals: dict[str, Totals] = {}
    for name in said["named"]:
        spent = amount_of(*said["charged"][name][2:])
        totals[name] = (spent, Amount()) if said["pool"] == Pool.QUESTIONS else (Amount(), spent)
    return Reservation(bill.request, sequence, mark, at, tuple(said["named"]), cost, bill.currency, attempt, totals)


def _show(core: Core, held: Reservation, ending: Row, *, repeated: bool) -> Stored:
    """Anchor the answer, then hand it out."""
    answer, sequence, at, mark = ending
    if answer is None:
        raise Superseded(
            "this run came too late: its charge was settled without an answer meanwhile.",
            why=f"After {ATTEMPTS} runs that nobody saw the end of, the request is charged anew.",
            fix="Ask again: if the new charge has its answer, it is returned for free.",
        )
    core.cover((sequence, mark), held.totals or {})
    return Stored(
        held.request,
        sequence,
        mark,
        at,
        held.populations,
        held.cost,
        held.currency,
        answer=answer.rstrip(" "),
        repeated=repeated,
    )


def _record(held: Reservation, answer: str) -> str | None:
    """The answer, filled up to the size promised, or None if it is larger."""
    missing = held.request.size - len(answer.encode())
    return answer + " " * missing if missing >= 0 else None


def _exceeded(bill: Bill, account: Account, spent: Amount) -> BudgetExceeded:
    currency = bill.policy.populations[account.population].currency(bill.request.pool)
    _, project, analyst, pool = account.key.split("/")
    share = " ".join(f"{kind} {name!r}" for kind, name in (("project", project), ("analyst", analyst)) if name)
    whose = f"population {account.population!r}" + (f", {share}," if share else "")
    left = account.limit.left(spent).measure(currency).words() if account.limit is not None else "nothing"
    pool = "in this window" if pool == "window" else f"for {pool}"
    cost = bill.costs[account.population].measure(currency).words()
    return BudgetExceeded(
        f"this request costs {cost}, and {whose} has {left} left {pool}.",
        why="The budget was fixed in advance and holds for all projects and analysts together; nothing was charged.",
        fix=f"Ask with more noise, or for more budget: `hubbub budget request {account.population}`.",
    )


def _changed() -> RequestChanged:
    return RequestChanged(
        "another request was charged under this fingerprint: its event, size or people differ.",
        why="A stored answer is returned for the same request only; anything else would be a wrong or a free answer.",
        fix="Make the fingerprint from everything that tells the two apart: hubbub.ledger.fingerprint(...).",
    )


def _no_answer(held: Reservation) -> NoAnswer:
    return NoAnswer(
        f"the answer does not fit into the {held.request.size} bytes that were promised for it.",
        why="What is stored has a size known beforehand, so that no crash can choose among answers. It stays charged.",
        fix="Promise a size that every possible answer fits into, and ask again (a new charge).",
    )
