"""Bills: what a request costs every population that it is charged to, from public facts alone.

Requests that differ in their fingerprint only share one bill, so that pricing is done once, and before the turn.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from sqlalchemy import Select

from hubbub.accounting import Amount, Currency, cost_both_ways, cost_in, price_fits
from hubbub.durable import canonical_json
from hubbub.ledger.book import statements
from hubbub.ledger.book.chain import event_text, sha256_hex
from hubbub.ledger.decimals import amount_decimals, basic_decimals
from hubbub.ledger.open_ledger import Core
from hubbub.ledger.policy import Policy, Population, SpendingLimit, failures_key
from hubbub.ledger.requests import Request
from hubbub.terms import Event, NoBound, UnknownPopulation

_BILLS = 4096  # kept, so that pricing is done once for requests alike


@dataclass(frozen=True, slots=True)
class Bill:
    """What a request would be charged under a policy, from public facts alone; the same for every request like it."""

    policy: Policy
    source: Event  # kept, since bills are found by its identity
    populations: tuple[str, ...]  # the ones named first, then all that may overlap them
    costs: dict[str, Amount]
    prices: dict[str, tuple[str, str]]  # the same as entries say it
    basic: dict[str, tuple[str, str]]  # and in the basic account, of populations that are counted both ways
    accounts: list[SpendingLimit]
    failures: dict[str, str]  # population -> where its failures by this analyst are counted
    look: Select[Any]  # the statement that reads their totals, and the names it wants
    keys: dict[str, str]
    anywhere: bool
    currency: Currency
    event: tuple[str, str]  # digest and JSON text
    terms: str
    fields: dict[str, Any]  # what every charge under this bill says
    allowed: set[bool] = field(default_factory=set)  # for which ``Request.chosen`` no rule refuses it; see ``rules``


def bill_for(core: Core, request: Request) -> Bill:
    """The bill of a request, under the policy of this moment."""
    try:
        return _find_bill(core.policy, request)
    except UnknownPopulation:
        core.refresh()  # somebody may have opened it in another process
        return _find_bill(core.policy, request)


def _find_bill(policy: Policy, request: Request) -> Bill:
    """The bill; requests that differ in their fingerprint only share one, so that pricing is done once."""
    prices = (request.tail, request.stated)
    who = (request.project, request.analyst, request.pool, request.size)
    alike = (id(request.event), *who, *prices, *_request_terms(request))
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
        within_each(who, request)  # worked out here, before the turn
    accounts = policy.accounts(populations, project=request.project, analyst=request.analyst, pool=request.pool)
    failures = {name: failures_key(name, request.analyst) for name in policy.named(request)}
    event = event_text(request.event)
    terms = sha256_hex(canonical_json([event[0], request.pool, *map(str, _request_terms(request))]))[:32]
    costs = {who.name: cost_for(who, request) for who in whose}
    return Bill(
        policy=policy,
        source=request.event,
        populations=populations,
        costs=costs,
        prices={name: amount_decimals(cost) for name, cost in costs.items()},
        basic={
            who.name: basic_decimals(costs[who.name]) for who in whose if who.currency(request.pool) is Currency.EITHER
        },
        accounts=accounts,
        failures=failures,
        look=statements.totals_of(len(accounts) + len(failures)),
        keys={f"a{i}": key for i, key in enumerate([*(account.key for account in accounts), *failures.values()])},
        anywhere=all(who.share_answers for who in whose),
        currency=whose[0].currency(request.pool),
        event=event,
        terms=terms,
        fields={
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


def cost_for(who: Population, request: Request) -> Amount:
    """What a population is charged, in its own currency."""
    try:
        if who.currency(request.pool) is Currency.EITHER:
            terms = {"tail": request.tail, "stated": request.stated}
            return cost_both_ways(who.first_limit, request.event, who.neighbours, **terms)
        return cost_in(who.currency(request.pool), request.event, who.neighbours, request.delta)
    except NoBound as error:
        apart = ""
        if request.populations and who.name not in request.populations:
            names = " ".join([*request.populations, who.name])
            apart = f" If no person of {who.name!r} is in the other: `hubbub budget disjoint {names} --why ...`."
        raise NoBound(f"the budget of {who.name!r}: {error.what}", why=error.why, fix=error.fix + apart) from None


def within_each(who: Population, request: Request) -> bool:
    """Whether a request costs no more than the owner lets any single one cost."""
    return who.each is None or price_fits(who.each, request.event, who.neighbours)
