"""Whether several requests fit together, before the first of them is charged.

It is looked at in one snapshot and nothing is held: what somebody else spends between this and the charges may still
refuse one of them, and what was charged until then is stored, and free to ask again.
"""

from __future__ import annotations

import time
from collections.abc import Sequence

from hubbub.accounting import Amount
from hubbub.ledger.bills import Bill, bill_for
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.open_ledger import Core
from hubbub.ledger.policy import SpendingLimit
from hubbub.ledger.requests import Request
from hubbub.ledger.reservations import is_paid
from hubbub.ledger.rules import budget_exceeded, check_failures, check_rules, spent_of


def check_together(core: Core, requests: Sequence[Request]) -> None:
    """Refuse if any rule refuses one of these requests, or an account does not hold the cost of all of them.

    Those that are answered, or were charged before and had no answer yet, cost nothing and are left out. Accounts are
    populations, shares of projects and analysts, and windows. A sum that fits a limit fits it after each part as well,
    since costs are never negative.
    """
    core.refresh()
    requests = [request for request in requests if not is_paid(core, request)]
    bills = [bill_for(core, request) for request in requests]
    accounts: dict[str, SpendingLimit] = {}
    costs: dict[str, list[Amount]] = {}
    spent: dict[str, Amount] = {}
    for bill, request in zip(bills, requests, strict=True):
        check_rules(bill, request)
        totals, now = _read_totals(core, bill), time.time_ns() // 1000
        check_failures(bill, request, totals)
        for each in bill.accounts:
            accounts[each.key] = each
            spent[each.key] = spent_of(each, totals.get(each.key), now)
            costs.setdefault(each.key, []).append(bill.costs[each.population])
    for key, each in accounts.items():
        cost = sum(costs[key], Amount())
        if each.limit is None or not each.limit.fits(spent[key] + cost):
            words = "this request costs" if len(costs[key]) == 1 else f"these {len(costs[key])} requests together cost"
            raise budget_exceeded(bills[0].policy, each, spent[key], cost, words=words)


def _read_totals(core: Core, bill: Bill) -> dict[str, Row]:
    with core.book.snapshot() as view:
        (rows,) = view.read((bill.look, bill.keys))
    return {row[0]: row for row in rows}
