"""What all folds share: everybody's messages are read, whoever failed is named, and a run may end."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from hubbub.gopa.crypto.batch_verification import Provable, verify_many
from hubbub.gopa.crypto.transcript import Context
from hubbub.gopa.protocol.faults import Fault, Named, Refused
from hubbub.gopa.protocol.public_state import PublicState, end_run
from hubbub.gopa.protocol.wire import Body, Message

Messages = Mapping[int, Message]
Faults = dict[int, Fault]
Said = TypeVar("Said")


def proof_context(state: PublicState, party: int, what: str) -> Context:
    """Where a party's proofs of this run belong."""
    return Context(state.agreement.run, state.agreement.roster[party].name.encode(), what)


def parse_messages(
    messages: Messages, who: Iterable[int], parse: Callable[[int, Body], Said]
) -> tuple[dict[int, Said], Faults]:
    """What these parties said, and who said nothing that can be read."""
    parsed: dict[int, Said] = {}
    faults: Faults = {}
    for party in who:
        if party not in messages:
            faults[party] = Fault.SILENT
            continue
        try:
            parsed[party] = parse(party, messages[party].body)
        except Refused as refused:
            faults[party] = refused.fault
    return parsed, faults


def failing_parties(claims: Mapping[int, list[Provable]], fault: Fault) -> Faults:
    """The parties of whose claims one does not hold."""
    owners = [party for party, mine in claims.items() for _ in mine]
    verdicts = verify_many([claim for mine in claims.values() for claim in mine])
    return {party: fault for party, holds in zip(owners, verdicts, strict=True) if not holds}


def exclude_parties(state: PublicState, messages: Messages, faults: Faults) -> PublicState:
    """The state with these parties named (once each); the evidence is what they sent."""
    known = {one.party for one in state.named if one.phase == state.phase}
    fresh = [
        Named(party, fault, state.phase, (messages[party].line,) if party in messages else ())
        for party, fault in sorted(faults.items())
        if party not in known
    ]
    return replace(state, named=(*state.named, *fresh))


def end_if_too_few(state: PublicState) -> PublicState:
    """The state, or its end if fewer are left than was agreed."""
    return state if len(state.inside) >= state.agreement.plan.survivors else end_run(state, Fault.TOO_FEW)
