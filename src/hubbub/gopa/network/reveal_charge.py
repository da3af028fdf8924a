"""What a party pays to its own ledger: before its nonce and its reveal leave, and once, whatever crashes.

What a line costs follows from the line and from the log as the party folded it. Nobody else says at which stage a run
is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from hubbub.gopa.network.attempts import Register, graph_failure_chance, joined_count
from hubbub.gopa.network.party_runner import Charge, no_charge
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.identities import Member
from hubbub.gopa.protocol.party import Party
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import message_limit
from hubbub.ledger import Account, AccountLike
from hubbub.releases import JobFacts, Progress, plan_pool, release_job, request_for
from hubbub.terms import ApproximateStep, BudgetExceeded, Receipt, RequestChanged, shown

_NOTHING = Fraction(1, 10**9)  # epsilon of a graph: it tells nothing, and events have a positive one


def require_affordable(account: AccountLike, agreement: Agreement, member: Member) -> None:
    """Refuse a run that the account could not pay for as it is now: before joining, nobody else is held up by that."""
    payer = Account.of(account)
    graph = graph_event(agreement, agreement.plan.parties)
    due = [("reveal", agreement.event), *([("nonce", graph)] if graph is not None else [])]
    costs = [
        payer.ledger.preview(request_for(line_facts(agreement, member, phase, event), payer))[payer.population]
        for phase, event in due
    ]
    pool = plan_pool(payer)
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


def charge_from(
    account: AccountLike, agreement: Agreement, member: Member
) -> Callable[[Party, PublicState, bytes], Receipt | None]:
    """What pays for a member's lines from an account.

    Guarantee: a reveal is charged, and the drawing of a graph before its nonce is shown; both stand in the ledger
    before this returns; the same line again is free, and another one for the same run is refused.
    Because: ``docs/proofs/ledger.md``, with the filters of [WRRW23, Thm. 1] and [RRUV16, Thm. 3.6].
    Not covered: a run that ends before the nonces costs nothing, since nothing was drawn or shown.
    """
    payer = Account.of(account)

    def charge(party: Party, public: PublicState, line: bytes) -> Receipt | None:
        due = line_price(party, public, line)
        if due is None:
            return None
        phase, event = due
        return release_job(RevealJob(line_facts(agreement, member, phase, event), line, member.name, phase), payer)

    return charge


@dataclass(frozen=True)
class RevealJob:
    """A line of a party that must be paid for: it exists already, and leaves after the charge and never differently."""

    facts: JobFacts
    line: bytes
    name: str
    phase: str

    def bind(self) -> None:
        """Nothing to try: the agreement was checked when the party joined."""

    def run(self, progress: Progress) -> str:
        """The line itself."""
        return self.line.decode()

    def show(self, answer: str, receipt: Receipt | None, *, repeated: bool) -> Receipt | None:
        """The receipt, if the line that was paid for is this one."""
        if answer.encode() != self.line:
            raise RequestChanged(
                f"{self.name} has said something else in this run before ({self.phase}).",
                why="Two reveals of one value, or two drawings of one graph, would show more than was paid for.",
                fix="Stay out of this run; compare the board's log with what others have.",
            )
        return receipt


def line_facts(agreement: Agreement, member: Member, phase: str, event: ApproximateStep) -> JobFacts:
    """What a line of a member costs, and what makes it that line of that run."""
    kind = {"reveal": "gopa", "nonce": "gopa graph"}[phase]
    return JobFacts(
        event=event,
        identity={"kind": kind, "run": agreement.run.hex(), "party": member.key.hex()},
        size=message_limit(agreement, phase),
        title=f"GOPA run {agreement.run.hex()[:12]}, {phase}",
        fixed_in_advance=True,
        delta=event.delta,
        seconds=10.0,
        chosen=phase == "reveal",  # what a graph costs is the protocol's
    )


def line_price(party: Party, public: PublicState, line: bytes) -> tuple[str, ApproximateStep] | None:
    """What a line of a party costs, if anything, and in which phase it is said."""
    if line == party.sent.get("reveal"):
        return "reveal", party.agreement.event
    if line != party.sent.get("nonce"):
        return None
    event = graph_event(party.agreement, joined_count(public))
    return None if event is None else ("nonce", event)


def charge_with_consent(consent: Consent, register: Register, charge: Charge = no_charge) -> Charge:
    """A charge with a party's consent and its record of attempts around it: refused, paid, and noted, in this order."""

    def pay(party: Party, public: PublicState, line: bytes) -> None:
        if line not in (party.sent.get("nonce"), party.sent.get("reveal")):
            return
        register.require(consent, party.agreement)
        charge(party, public, line)
        register.note(party, public, line)

    return pay


def graph_event(agreement: Agreement, count: int) -> ApproximateStep | None:
    """The event of a graph that is drawn among so many, if it can fail at all."""
    chance = graph_failure_chance(agreement, count)
    return agreement.step(_NOTHING, chance) if chance else None
