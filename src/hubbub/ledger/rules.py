"""The owners' rules: what refuses a charge. Whose unit, whose share, least and largest price, failures, budgets.

Every refusal is made of public facts (the policy, the totals) and comes before anything is written.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction

from hubbub.accounting import LOSS_UNIT, Amount, Currency, Limit
from hubbub.ledger.bills import Bill, within_each
from hubbub.ledger.book.drivers import Row
from hubbub.ledger.open_ledger import total_of
from hubbub.ledger.policy import Policy, Population, SpendingLimit
from hubbub.ledger.requests import Pool, Request
from hubbub.terms import BelowLeastPrice, BudgetConflict, BudgetExceeded, NeedsOwner


def check_rules(bill: Bill, request: Request) -> None:
    """The owners' rules for what is charged; an answer that is stored already is free of them.

    They say the same of every request under one bill, as long as somebody chose the price of either or of neither.
    """
    if request.chosen in bill.allowed:
        return
    for name in bill.populations:
        _check_rules_of(bill.policy, bill.policy.populations[name], request, bill.costs[name])
    bill.allowed.add(request.chosen)


def _check_rules_of(policy: Policy, who: Population, request: Request, cost: Amount) -> None:
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
    _check_least(who, request, cost)
    if not within_each(who, request):
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
    limit = who.limit(budget, request.pool)
    assert limit is not None
    share, nearer = _share_of_budget(cost, limit, who.least_share)
    if share < who.least_share:
        raise BelowLeastPrice(
            f"one question to {who.name!r} costs at least {float(who.least_share):g} of its budget, and this one costs "
            f"{float(share):.3g} of it: {cost.measure(limit.currency).describe()}.",
            why="Budgets that hold millions of questions let somebody try millions, so each has a least price.",
            fix=f"Ask for an answer {nearer:.3g} times as accurate: a larger epsilon, or a smaller within.",
        )


def _share_of_budget(cost: Amount, limit: Limit, least: Fraction) -> tuple[Fraction, float]:
    """The share of the budget that a question costs, and how many times as accurate one of the least share is.

    Of a budget that is larger than any promise, the share of an epsilon or rho of 1; of one that is counted both ways,
    the smaller share: in neither account may millions fit.
    """
    whole, pairs = limit.whole, []
    squared = limit.currency in (Currency.CONCENTRATED, Currency.EITHER)  # rho goes with the square of the accuracy
    pairs.append((Fraction(cost.loss, min(whole.loss, LOSS_UNIT) or 1), squared))
    if limit.currency is Currency.EITHER:
        pairs.append((Fraction(cost.epsilon, min(whole.epsilon, LOSS_UNIT) or 1), False))
    dearer = [(float(least / share) if share else math.inf, root) for share, root in pairs]
    return min(share for share, _ in pairs), max(math.sqrt(times) if root else times for times, root in dearer)


@dataclass(frozen=True, slots=True)
class Failures:
    """How many questions of an analyst had no answer since an owner last looked, and when that was."""

    count: int = 0
    since: str = "0"


def failures_of(row: Row | None) -> Failures:
    """The failures that a row of the totals counts."""
    return Failures() if row is None else Failures(int(row[2]), row[1])


def check_failures(bill: Bill, request: Request, totals: Mapping[str, Row]) -> dict[str, Failures]:
    """The failures that are counted so far; an analyst whose questions failed too often waits for an owner."""
    failures = {name: failures_of(totals.get(key)) for name, key in bill.failures.items()}
    for name, caused in failures.items():
        most = bill.policy.populations[name].most_failures
        if most is not None and caused.count >= most:
            raise NeedsOwner(
                f"{caused.count} questions of analyst {request.analyst!r} to {name!r} had no answer.",
                why="Whether a question fails could be made to depend on a person: so many, and an owner looks first.",
                fix="Let an owner look at the log and go on: "
                f"`hubbub budget look {name} --analyst {request.analyst} --why ...`.",
            )
    return failures


def total_with(bill: Bill, account: SpendingLimit, row: Row | None, now: int) -> Amount:
    """The account's total with this charge, or a refusal."""
    spent, cost = spent_of(account, row, now), bill.costs[account.population]
    if account.limit is None or not account.limit.fits(spent + cost):
        raise budget_exceeded(bill.policy, account, spent, cost)
    return spent + cost


def spent_of(account: SpendingLimit, row: Row | None, now: int) -> Amount:
    """What counts as spent on an account at a time."""
    return Amount() if row is None or account.starts_again(row[1], now) else total_of(row)


def budget_exceeded(
    policy: Policy, account: SpendingLimit, spent: Amount, cost: Amount, *, words: str = "this request costs"
) -> BudgetExceeded:
    """The refusal of a cost that an account does not hold; ``words`` say what costs it."""
    _, project, analyst, pool = account.key.split("/")
    counted = Pool.QUESTIONS if pool == "window" else Pool(pool)
    named = [(kind, name) for kind, name in (("project", project), ("analyst", analyst)) if name]
    share, options = (
        " ".join(f"{kind} {name!r}" for kind, name in named),
        "".join(f" --{kind} {shlex.quote(name)}" for kind, name in named),
    )
    whose = f"population {account.population!r}" + (f", {share}," if share else "")
    currency = policy.populations[account.population].currency(counted)
    price, left = cost.measure(currency).describe(), "nothing"
    if account.limit is not None:
        price, left = account.limit.refusal_words(spent, cost)
    used_up = pool != "window" and (account.limit is None or account.limit.is_used_up(spent))
    way = "What was answered is repeated for free; for more, ask" if used_up else "Ask with more noise, or"
    why = "The budget was fixed in advance and holds for all projects and analysts together; nothing was charged."
    if account.limit is not None and account.limit.counts_in_rho(spent):
        why = (
            "Epsilons have added up to more than the budget, so rho alone decides what still fits; nothing was charged."
        )
    if account.limit is not None and (split := account.limit.delta_words(spent, cost)) is not None:
        why, way = split
    more = "--epsilon 1"
    if account.limit is not None and account.limit.budget.rho is not None:
        more = "--rho 0.01"
    elif account.limit is not None and account.limit.budget.delta:
        more = "--epsilon 1 --delta 1e-7"
    pool = "in this window" if pool == "window" else f"for {pool}"
    return BudgetExceeded(
        f"{words} {price}, and {whose} has {left} left {pool}.",
        why=why,
        fix=f"{way} for more budget: "
        f"`hubbub budget request {shlex.quote(account.population)} {more} --why ...{options}`.",
    )
