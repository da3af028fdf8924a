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
from hubbub.terms import Receipt, RequestChanged


def charging(account: object, agreement: Agreement, member: Member) -> Callable[[Party, bytes], Receipt]:
    """What pays for a member's reveal from an account; that it could be paid for at all is checked at once.

    Guarantee: the reveal is charged, and stands in the ledger, before this returns; the same reveal again is free, and
    another one for the same run is refused.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6].
    Not covered: a run that ends before the reveal costs nothing, since masks hide everything until then.
    """
    payer = Account.of(account)
    told = _told(payer, agreement, member)
    payer.ledger.preview(payer.request(agreement.event, **told))

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
