"""Whether all that is asked for can be paid, found out before anything is charged."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hubbub.ledger import Account
from hubbub.releases import JobFacts, plan_pool, request_for
from hubbub.studies.publication.request import PublicationRequest
from hubbub.terms import BudgetExceeded, Event, exact


def check_affordable(events: Sequence[Event], account: Account | None, request: PublicationRequest) -> None:
    """Refuse now what all methods together cannot pay; what is named with --dataset may be free."""
    if account is None or request.dataset is not None or not events:
        return
    due = sum(event_price(event, account, request) for event in events)
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


def event_price(event: Event, account: Account, request: PublicationRequest) -> Fraction:
    """What the ledger would charge for one event, in its own currency."""
    facts = JobFacts(
        event=event,
        identity=None,
        size=1,
        title="publication",
        fixed_in_advance=True,
        delta=exact(request.delta, name="delta"),
    )
    charge = request_for(facts, account)
    return Fraction(account.ledger.preview(charge)[account.population].parts()[0])
