"""Who pays, and whether all that is asked for can be paid."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from fractions import Fraction

from hubbub.cli.options.ledgers import LEDGER, decider, opened
from hubbub.cli.output import streams as output
from hubbub.ledger import Account
from hubbub.releases import JobFacts, plan_pool, request_for
from hubbub.studies.publication import PublicationRequest
from hubbub.terms import BudgetExceeded, Event, exact


@contextmanager
def account_for(
    order: PublicationRequest,
    measure: str | None,
    at: str | None,
    population: str | None,
    project: str,
    analyst: str | None,
) -> Iterator[Account | None]:
    """The account that pays, if a ledger is named and something costs."""
    where = at or os.environ.get(LEDGER)
    if not any(method.is_private for method in order.methods) and measure is None:
        yield None
        return
    if where is None:
        output.talk(f"No --ledger and no {LEDGER}: charged to no ledger.")
        yield None
        return
    with opened(where, None) as ledger:
        named = population or Account.of(ledger).population
        yield Account(ledger=ledger, population=named, project=project, analyst=analyst or decider(None))


def check_affordable(events: Sequence[Event], account: Account | None, order: PublicationRequest) -> None:
    """Refuse now what all methods together cannot pay; what is named with --dataset may be free."""
    if account is None or order.dataset is not None or not events:
        return
    due = sum(price_of(event, account, order) for event in events)
    view = account.ledger.budget(account.population)
    left = next(line.left for line in view.accounts if line.pool == plan_pool(account)).parts()[0]
    if due > left:
        raise BudgetExceeded(
            f"all of this costs {float(due):.4g} together, and population {account.population!r} has {float(left):.4g} "
            f"left for {plan_pool(account)}.",
            why="Each private method is charged by itself, and so is comparing with private rows; nothing was charged.",
            fix="Ask for fewer methods or a smaller --epsilon, compare with public rows (--holdout), or ask for more: "
            f"`hubbub budget request {account.population}`.",
        )


def price_of(event: Event, account: Account, order: PublicationRequest) -> Fraction:
    """What the ledger would charge for one event, in its own currency."""
    facts = JobFacts(
        event=event,
        identity=None,
        size=1,
        title="publication",
        fixed_in_advance=True,
        delta=exact(order.delta, name="delta"),
    )
    request = request_for(facts, account)
    return Fraction(account.ledger.preview(request)[account.population].parts()[0])
