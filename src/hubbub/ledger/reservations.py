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
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sqlalchemy import Select

from hubbub.accounting import LOSS_UNIT, Amount, Currency, Limit, cost_in, price_fits
from hubbub.durable import canonical_json
from hubbub.ledger import statements
from hubbub.ledger.anchors import Totals
from hubbub.ledger.chain import answer_body, event_text, sha256_hex
from hubbub.ledger.database import Batch, Transaction
from hubbub.ledger.decimals import amount_decimals, amount_of
from hubbub.ledger.drivers import Row
from hubbub.ledger.open_ledger import Core, LedgerTurn
from hubbub.ledger.policy import Policy, Population, SpendingLimit, account_key, failures_key
from hubbub.ledger.requests import Pool, Request, Reservation, Stored
from hubbub.terms import (
    BelowLeastPrice,
    BudgetConflict,
    BudgetExceeded,
    Event,
    NeedsOwner,
    NoAnswer,
    NoBound,
    RequestChanged,
    Superseded,
    UnknownPopulation,
    WrongShape,
    plain_text,
)

ATTEMPTS = 3  # runs under one charge
_BILLS = 4096  # kept, so that pricing is done once for requests alike


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request would be charged under a policy, from public facts alone; the same for every request like it."""

    policy: Policy
    source: Event  # kept, since bills are found by its identity
    populations: tuple[str, ...]  # the ones named first, then all that may overlap them
    costs: dict[str, Amount]
    prices: dict[str, tuple[str, str]]  # the same as entries say it
    accounts: list[SpendingLimit]
    failures: dict[str, str]  # population -> where its failures by this analyst are counted
    look: Select[Any]  # the statement that reads their totals, and the names it wants
    keys: dict[str, str]
    anywhere: bool
    currency: Currency
    event: tuple[str, str]  # digest and JSON text
    terms: str
    said: dict[str, Any]  # what every charge under this bill says


def reserve_request(core: Core, request: Request) -> Reservation | Stored:
    """Charge a request durably, find it charged already, or find its answer."""
    core.need_key()  # who cannot sign an answer must not charge for it
    while True:
        bill = _bill_afresh(core, request)
        done = _reserve_under(core, bill, request)
        if done is None:
            core.refresh()  # owners changed something meanwhile: look again under what they said
        elif isinstance(done, _UnderWay):
            _wait_for_run(core, done)
        else:
            return done


def preview_costs(core: Core, request: Request) -> Mapping[str, Amount]:
    """What each population would be charged; free, and nothing is written."""
    bill = _bill_afresh(core, request)
    _check_rules(bill, request)
    return bill.costs


def has_answer(core: Core, request: Request) -> bool:
    """Whether the book has an answer to this very request, so that asking again is free."""
    bill = _bill_afresh(core, request)
    here = {"fingerprint": bytes.fromhex(request.fingerprint), "project": request.project}
    with core.book.snapshot() as view:
        return _look_back(view, bill, request, here).answered is not None


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
    return _show_answer(reservation, ending, repeated=not was_first)


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
    with core.book.transaction() as transaction:
        head, charge = transaction.read(
            (statements.HEAD_AND_ENDING, {"charge": held.sequence}), (statements.HASH, {"sequence": held.sequence})
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
    core.cover((ending[1], ending[3]), held.totals or {})
    return ending, not settled


def _count_failures(core: Core, transaction: Transaction, turn: LedgerTurn, request: Request) -> None:
    for name in core.policy.named(request):
        key = failures_key(name, request.analyst)
        (rows,) = transaction.read((statements.totals_of(1), {"a0": key}))
        _count_failure(turn, key, failures_of(rows[0] if rows else None))


# ---------------------------------------------------------------- the bill


def _bill_afresh(core: Core, request: Request) -> Bill:
    try:
        return _find_bill(core.policy, request)
    except UnknownPopulation:
        core.refresh()  # somebody may have opened it in another process
        return _find_bill(core.policy, request)


def _find_bill(policy: Policy, request: Request) -> Bill:
    """The bill; requests that differ in their fingerprint only share one, so that pricing is done once."""
    alike = (id(request.event), request.project, request.analyst, request.pool, request.size, *_request_terms(request))
    bill: Bill | None = policy.bills.get(alike)
    if bill is None or bill.source is not request.event:
        if len(policy.bills) >= _BILLS:
            policy.bills.clear()
        bill = policy.bills[alike] = _work_out(policy, request)
    return bill


def _work_out(policy: Policy, request: Request) -> Bill:
    populations = policy.charged(request)
    whose = [policy.populations[name] for name in populations]
    for who in whose:
        _price_fits(who, request)  # worked out here, before the turn
    accounts = policy.accounts(populations, project=request.project, analyst=request.analyst, pool=request.pool)
    failures = {name: failures_key(name, request.analyst) for name in policy.named(request)}
    event = event_text(request.event)
    terms = sha256_hex(canonical_json([event[0], request.pool, *map(str, _request_terms(request))]))[:32]
    costs = {who.name: _cost_for(who, request) for who in whose}
    return Bill(
        policy=policy,
        source=request.event,
        populations=populations,
        costs=costs,
        prices={name: amount_decimals(cost) for name, cost in costs.items()},
        accounts=accounts,
        failures=failures,
        look=statements.totals_of(len(accounts) + len(failures)),
        keys={f"a{i}": key for i, key in enumerate([*(account.key for account in accounts), *failures.values()])},
        anywhere=all(who.share_answers for who in whose),
        currency=whose[0].currency(request.pool),
        event=event,
        terms=terms,
        said={
            "kind": "charge",
            "analyst": request.analyst,
            "event": event[0],
            "named": list(policy.named(request)),
            "pool": request.pool.value,
            "size": request.size,
            "terms": terms,
        },
    )


def _request_terms(request: Request) -> tuple[object, ...]:
    """What, beside event and pool, makes two requests under one fingerprint the same."""
    return request.delta, request.population, request.dataset, request.version, request.question, request.refines


def _cost_for(who: Population, request: Request) -> Amount:
    try:
        return cost_in(who.currency(request.pool), request.event, who.neighbours, request.delta)
    except NoBound as error:
        apart = ""
        if request.populations and who.name not in request.populations:
            names = " ".join([*request.populations, who.name])
            apart = f" If no person of {who.name!r} is in the other: `hubbub budget disjoint {names} --why ...`."
        raise NoBound(f"the budget of {who.name!r}: {error.what}", why=error.why, fix=error.fix + apart) from None


def _check_rules(bill: Bill, request: Request) -> None:
    """The owners' rules for what is charged; an answer that is stored already is free of them."""
    for name in bill.populations:
        _check_rules_of(bill.policy, bill.policy.populations[name], request)


def _check_rules_of(policy: Policy, who: Population, request: Request) -> None:
    if who.unit and any(s.unit.path != who.unit for s in request.event.steps()):
        shared = "" if who.name in policy.named(request) else ", and its people may be among those asked about"
        raise BudgetConflict(
            f"the budget of {who.name!r} protects {who.unit!r}{shared}, and this event protects another unit.",
            why="A guarantee for one row is none for a person with many.",
            fix=f"Bound what each {who.unit} contributes, and give the mechanism unit=Unit({who.unit!r})."
            + (" Or declare the populations disjoint, if no person is in both." if shared else ""),
        )
    if not policy.may_spend(who, project=request.project, analyst=request.analyst, pool=request.pool):
        raise BudgetExceeded(
            f"neither project {request.project!r} nor analyst {request.analyst!r} has a share of {who.name!r}.",
            why="Its owner lets only those spend who were granted a share.",
            fix=f"Ask for one: `hubbub budget request {who.name} --project {request.project}`.",
        )
    _check_least(who, request, _cost_for(who, request))
    if not _price_fits(who, request):
        assert who.each is not None
        raise BudgetExceeded(
            f"one request to {who.name!r} may cost {who.each.measure().describe()}, and this one costs more.",
            why="The owner caps what a single request may spend.",
            fix="Ask with more noise, or in parts.",
        )


def _check_least(who: Population, request: Request, cost: Amount) -> None:
    """A question may not be so cheap that a budget holds millions of them: each may fail, or take long, by design."""
    budget = who.pools.get(request.pool)
    if who.least_share is None or request.pool is not Pool.QUESTIONS or budget is None or not request.chosen:
        return
    whole = Limit(budget, who.currency(request.pool)).left(Amount()).loss
    least = min(whole, LOSS_UNIT) * who.least_share  # of epsilon (or rho) = 1, if the budget is larger than any promise
    if cost.loss < least:
        currency = who.currency(request.pool)
        dearer = least / max(1, cost.loss)
        nearer = math.sqrt(dearer) if currency is Currency.CONCENTRATED else float(dearer)
        raise BelowLeastPrice(
            f"one question to {who.name!r} costs at least {Amount(math.ceil(least)).measure(currency).describe()}, and "
            f"this one costs {cost.measure(currency).describe()}.",
            why="Budgets that hold millions of questions let somebody try millions, so each has a least price.",
            fix=f"Ask for an answer {nearer:.3g} times as accurate: a larger epsilon, or a smaller within.",
        )


def _price_fits(who: Population, request: Request) -> bool:
    return who.each is None or price_fits(who.each, request.event, who.neighbours)


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
    with core.book.transaction() as transaction:
        head, totals = transaction.read((statements.HEAD_AND_NEWEST, here), (bill.look, bill.keys))
        turn = core.begin(transaction, [row[:4] for row in head])
        if turn.policy != bill.policy.sequence:
            return None
        _check_kept(core, transaction, bill, request.pool, {row[0]: row for row in totals})
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
                held = _write_charge(core, turn, bill, request, {row[0]: row for row in totals}, earlier)
            turn.finish()
    if held is None:
        assert earlier.answered is not None
        row = earlier.answered
        resumed = _resume_reservation(bill, request, row, 1)
        core.cover((row[6], row[8]), resumed.totals or {})  # whoever stored it may have died before
        return _show_answer(resumed, row[5:], repeated=True)
    core.seen = turn.sequence
    core.known_events.add(bill.event[0])
    return held


def _check_kept(core: Core, transaction: Transaction, bill: Bill, pool: Pool, totals: Mapping[str, Row]) -> None:
    """Refuse to go on where the second place knows better than the totals beside the book."""
    for name in bill.populations:
        row = totals.get(account_key(name, pool))
        core.check_anchored(transaction, name, pool, Amount() if row is None else Amount(int(row[2]), int(row[3])))


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
    _check_rules(bill, request)
    failures = {name: failures_of(totals.get(key)) for name, key in bill.failures.items()}
    _check_failures(bill, request, failures)
    after = {a.key: _add_to_total(turn, bill, a, totals.get(a.key)) for a in bill.accounts}
    spent = {who: after[account_key(who, request.pool)] for who in bill.populations}
    fields = bill.said | {
        "charged": {who: [*bill.prices[who], *amount_decimals(spent[who])] for who in bill.populations},
        **{name: value for name, value in _optional_fields(request) if value},
    }
    if earlier.open is not None:
        fields |= {"supersedes": earlier.open[0], "counted": True}
        for name, key in bill.failures.items():
            _count_failure(turn, key, failures[name])
    entry = turn.append(fields, fingerprint=bytes.fromhex(request.fingerprint), project=request.project)
    if earlier.open is not None:
        turn.add(statements.ADD_ANSWER, charge=earlier.open[0], sequence=entry.sequence, body=None)
    if bill.event[0] not in core.known_events:
        turn.add(statements.ADD_EVENT, digest=bill.event[0], body=bill.event[1])
    place = (entry.sequence, entry.hash, entry.at)
    return Reservation(request, *place, bill.populations, bill.costs, bill.currency, 1, _by_pool(request.pool, spent))


@dataclass(frozen=True, slots=True)
class Failures:
    """How many questions of an analyst had no answer since an owner last looked, and when that was."""

    count: int = 0
    since: str = "0"


def failures_of(row: Row | None) -> Failures:
    """The failures that a row of the totals counts."""
    return Failures() if row is None else Failures(int(row[2]), row[1])


def _count_failure(turn: LedgerTurn, key: str, failures: Failures) -> None:
    values = {"period": failures.since, "loss": str(failures.count + 1), "delta": "0"}
    turn.add(statements.ADD_TOTAL, account=key, **values)
    turn.add(statements.SPEND, key=key, **values)


def _check_failures(bill: Bill, request: Request, failures: Mapping[str, Failures]) -> None:
    for name, caused in failures.items():
        most = bill.policy.populations[name].most_failures
        if most is not None and caused.count >= most:
            raise NeedsOwner(
                f"{caused.count} questions of analyst {request.analyst!r} to {name!r} had no answer.",
                why="Whether a question fails could be made to depend on a person: so many, and an owner looks first.",
                fix="Let an owner look at the log and go on: "
                f"`hubbub budget look {name} --analyst {request.analyst} --why ...`.",
            )


def _add_to_total(turn: LedgerTurn, bill: Bill, account: SpendingLimit, row: Row | None) -> Amount:
    """The account's total with this charge, or a refusal."""
    period = account.period(turn.now)
    spent = Amount() if row is None or account.starts_again(row[1], turn.now) else Amount(int(row[2]), int(row[3]))
    total = spent + bill.costs[account.population]
    if account.limit is None or not account.limit.fits(total):
        raise _budget_exceeded(bill, account, spent)
    turn.add(statements.SPEND, key=account.key, period=period, loss=str(total.loss), delta=str(total.delta))
    return total


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
    charged: dict[str, list[str]] = fields["charged"]
    costs = {name: amount_of(*amounts[:2]) for name, amounts in charged.items()}
    spent = {name: amount_of(*amounts[2:]) for name, amounts in charged.items()}
    populations = (*fields["named"], *(name for name in charged if name not in fields["named"]))
    promised = replace(request, size=fields["size"])  # the record has the size that was promised first
    return Reservation(
        promised, sequence, mark, at, populations, costs, bill.currency, attempt, _by_pool(fields["pool"], spent)
    )


def _show_answer(held: Reservation, ending: Row, *, repeated: bool) -> Stored:
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


def _budget_exceeded(bill: Bill, account: SpendingLimit, spent: Amount) -> BudgetExceeded:
    _, project, analyst, pool = account.key.split("/")
    counted = Pool.QUESTIONS if pool == "window" else Pool(pool)
    currency = bill.policy.populations[account.population].currency(counted)
    share = " ".join(f"{kind} {name!r}" for kind, name in (("project", project), ("analyst", analyst)) if name)
    whose = f"population {account.population!r}" + (f", {share}," if share else "")
    left = account.limit.left(spent).measure(currency).describe() if account.limit is not None else "nothing"
    pool = "in this window" if pool == "window" else f"for {pool}"
    cost = bill.costs[account.population].measure(currency).describe()
    return BudgetExceeded(
        f"this request costs {cost}, and {whose} has {left} left {pool}.",
        why="The budget was fixed in advance and holds for all projects and analysts together; nothing was charged.",
        fix=f"Ask with more noise, or for more budget: `hubbub budget request {account.population}`.",
    )


def _foreign_reservation() -> RequestChanged:
    return RequestChanged(
        "this reservation is of another ledger.",
        why="An answer is stored under its own charge, in the book in which that stands.",
        fix="Store it with the ledger that reserved it.",
    )


def _request_changed() -> RequestChanged:
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
