"""What a party pays to its own ledger: before its nonce and its reveal leave, and once, whatever crashes.

What a line costs follows from the line and from the log as the party folded it. Nobody else says at which stage a run
is.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hubbub.gopa.network.attempts import Register, drawn, joined
from hubbub.gopa.network.party_runner import Charge, nothing
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.identities import Member
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import Public
from hubbub.gopa.protocol.wire import limit
from hubbub.ledger import Account, Pool, fingerprint
from hubbub.terms import ApproximateStep, BudgetExceeded, Receipt, RequestChanged, shown

_NOTHING = Fraction(1, 10**9)  # epsilon of a graph: it tells nothing, and events have a positive one


def affordable(account: object, agreement: Agreement, member: Member) -> None:
    """Refuse a run that the account could not pay for as it is now: before joining, nobody else is held up by that."""
    payer = Account.of(account)
    due = [("reveal", agreement.event), ("nonce", drawing(agreement, agreement.plan.parties))]
    told = {phase: _told(payer, agreement, member, phase, event) for phase, event in due if event is not None}
    costs = [
        payer.ledger.preview(payer.request(event, **told[phase]))[payer.population]
        for phase, event in due
        if event is not None
    ]
    pool = told["reveal"]["pool"]
    left = next(line.left for line in payer.ledger.budget(payer.population).accounts if line.pool == pool)
    if any(sum(costs[1:], costs[0]) - left):
        raise BudgetExceeded(
            f"population {payer.population!r} has too little left for {pool} to pay for this run.",
            why=f"It costs epsilon {shown(agreement.plan.epsilon)} and delta {shown(agreement.plan.delta)}, and "
            "the drawing of its graph a part of that delta more; as a question it is counted in rho, which is dearer "
            "than as a plan.",
            fix=f"Set a part aside for plans (hubbub budget open --plans), or `hubbub budget request "
            f"{payer.population}`.",
        )


def charging(account: object, agreement: Agreement, member: Member) -> Callable[[Party, Public, bytes], Receipt | None]:
    """What pays for a member's lines from an account.

    Guarantee: a reveal is charged, and the drawing of a graph before its nonce is shown; both stand in the ledger
    before this returns; the same line again is free, and another one for the same run is refused.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6].
    Not covered: a run that ends before the nonces costs nothing, since nothing was drawn or shown.
    """
    payer = Account.of(account)

    def charge(party: Party, public: Public, line: bytes) -> Receipt | None:
        due = price(party, public, line)
        if due is None:
            return None
        phase, event = due
        stored = payer.ask(event, lambda _: line.decode(), **_told(payer, agreement, member, phase, event))
        if stored.answer.encode() != line:
            raise RequestChanged(
                f"{member.name} has said something else in this run before ({phase}).",
                why="Two reveals of one value, or two drawings of one graph, would show more than was paid for.",
                fix="Stay out of this run; compare the board's log with what others have.",
            )
        return stored.receipt

    return charge


def price(party: Party, public: Public, line: bytes) -> tuple[str, ApproximateStep] | None:
    """What a line of a party costs, if anything, and in which phase it is said."""
    if line == party.sent.get("reveal"):
        return "reveal", party.agreement.event
    if line != party.sent.get("nonce"):
        return None
    event = drawing(party.agreement, joined(public))
    return None if event is None else ("nonce", event)


def paying(consent: Consent, register: Register, charge: Charge = nothing) -> Charge:
    """A charge with a party's consent and its record of attempts around it: refused, paid, and noted, in this order."""

    def pay(party: Party, public: Public, line: bytes) -> None:
        if line not in (party.sent.get("nonce"), party.sent.get("reveal")):
            return
        register.require(consent, party.agreement)
        charge(party, public, line)
        register.note(party, public, line)

    return pay


def drawing(agreement: Agreement, count: int) -> ApproximateStep | None:
    """The event of a graph that is drawn among so many, if it can fail at all."""
    chance = drawn(agreement, count)
    return agreement.step(_NOTHING, chance) if chance else None


def _told(payer: Account, agreement: Agreement, member: Member, phase: str, event: ApproximateStep) -> dict[str, Any]:
    who = payer.ledger.populations().get(payer.population)
    pool = Pool.PLANS if who is not None and who.pools.get(Pool.PLANS) else Pool.QUESTIONS
    kind = {"reveal": "gopa", "nonce": "gopa graph"}[phase]
    return {
        "chosen": phase == "reveal",  # what a graph costs is the protocol's
        "fingerprint": fingerprint(kind=kind, run=agreement.run.hex(), party=member.key.hex()),
        "pool": pool,
        "delta": event.delta if pool is Pool.PLANS else Fraction(0),
        "size": limit(agreement, phase),
        "title": f"GOPA run {agreement.run.hex()[:12]}, {phase}",
    }
