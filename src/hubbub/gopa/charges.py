"""A party's charge to its own ledger: before its reveal leaves, and once, whatever crashes."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hubbub.gopa.agreement import Agreement
from hubbub.gopa.identities import Member
from hubbub.gopa.party import Party
from hubbub.gopa.wire import limit
from hubbub.ledger import Account, Pool, fingerprint
from hubbub.terms import BudgetExceeded, Receipt, RequestChanged


def affordable(account: object, agreement: Agreement, member: Member) -> None:
    """Refuse a run that the account could not pay for as it is now: before joining, nobody else is held up by that."""
    payer = Account.of(account)
    told = _told(payer, agreement, member)
    cost = payer.ledger.preview(payer.request(agreement.event, **told))[payer.population]
    left = next(line.left for line in payer.ledger.budget(payer.population).accounts if line.pool == told["pool"])
    if any(cost - left):
        raise BudgetExceeded(
            f"population {payer.population!r} has too little left for {told['pool']} to pay for this run.",
            why=f"It costs epsilon {float(agreement.plan.epsilon):g} and delta {float(agreement.plan.delta):g}; as a "
            "question it is counted in rho, which is dearer than as a plan.",
            fix=f"Set a part aside for plans (hubbub budget open --plans), or `hubbub budget request "
            f"{payer.population}`.",
        )


def charging(account: object, agreement: Agreement, member: Member) -> Callable[[Party, bytes], Receipt]:
    """What pays for a member's reveal from an account.

    Guarantee: the reveal is charged, and stands in the ledger, before this returns; the same reveal again is free, and
    another one for the same run is refused.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6].
    Not covered: a run that ends before the reveal costs nothing, since masks hide everything until then.
    """
    payer = Account.of(account)
    told = _told(payer, agreement, member)

    def charge(party: Party, line: bytes) -> Receipt:
        stored = payer.ask(agreement.event, lambda _: line.decode(), **told)
        if stored.answer.encode() != line:
            raise RequestChanged(
                f"{member.name} has revealed something else in this run before.",
                why="Two reveals of one value would show more than was paid for.",
                fix="Stay out of this run; compare the board's log with what others have.",
            )
        return stored.receipt

    return charge


def _told(payer: Account, agreement: Agreement, member: Member) -> dict[str, Any]:
    who = payer.ledger.populations().get(payer.population)
    pool = Pool.PLANS if who is not None and who.pools.get(Pool.PLANS) else Pool.QUESTIONS
    return {
        "fingerprint": fingerprint(kind="gopa", run=agreement.run.hex(), party=member.key.hex()),
        "pool": pool,
        "delta": agreement.plan.delta if pool is Pool.PLANS else Fraction(0),
        "size": limit(agreement, "reveal"),
        "title": f"GOPA run {agreement.run.hex()[:12]}",
    }
