"""What anybody can work out from a run's log: the verifier's fold.

``step(state, lines)`` takes the lines of one phase, the board's close being the last, and returns the next state. It
never raises, whatever the lines are, and copies nothing that a phase does not change. All parties of one host share one
such state: the log is folded once and each proof verified once.

Only what a party signed under this run, this phase and this very log is held against it. Lines that the board should
not have taken are passed over and counted. What the messages of a phase change is said by its module in ``phases``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault, Named, Refused
from hubbub.gopa.protocol.log_chain import Close, chain_hash, first_hash, is_vouched, parse_close
from hubbub.gopa.protocol.phases.rules import rules_of
from hubbub.gopa.protocol.public_state import Inputs, PublicState, end_run
from hubbub.gopa.protocol.wire import Message, is_authentic, last_phase, next_phase, parse_message, previous_phase
from hubbub.terms import MissingParameter, OutOfRange


def start(agreement: Agreement, *, earlier: Inputs | None = None) -> PublicState:
    """The state before anything was said; ``earlier`` are the inputs of the agreement's previous run, and no others."""
    if agreement.previous is not None and earlier is None:
        raise MissingParameter(
            f"the agreement rests on the inputs of run {agreement.previous.hex()[:16]}, and they were not given.",
            why="Every party proves that its input is the one it had then.",
            fix="Verify the log of that run, and give the inputs of its certificate as earlier=.",
        )
    if earlier is not None and earlier.run != agreement.previous:
        named = "none" if agreement.previous is None else f"run {agreement.previous.hex()[:16]}"
        raise OutOfRange(
            f"inputs of run {earlier.run.hex()[:16]} were given, and the agreement rests on those of {named}.",
            why="What was agreed on is the same input as in that very run.",
            fix="Give the log of the run that the agreement names, and none if it names none.",
        )
    return PublicState(agreement, earlier, first_hash(agreement))


# ---------------------------------------------------------------- one phase


def step(state: PublicState, lines: Sequence[bytes]) -> PublicState:
    """The state after a phase: its entries in their order, and the board's close.

    Guarantee: never raises; the same lines give the same state everywhere, but for a chance of 2^-128 per sum.
    Because: docs/proofs/gopa.md, "The protocol"; [BGR98] for the sums.
    """
    if state.over:
        return state
    try:
        close = _read_close(state, lines)
        messages, named, strays = _admit_messages(state, lines[:-1])
    except Refused as refused:
        return end_run(state, refused.fault)
    except _Fork as fork:
        return end_run(state, Fault.FORK, (state.head, fork.head))
    seen = replace(state, named=(*state.named, *named), strays=(*state.strays, *strays), signers=frozenset())
    closed = replace(seen, chain=close.hash, closes=(*state.closes, close))
    folded = rules_of(state.phase).fold(closed, messages)
    if folded.over or state.phase == last_phase(state.agreement):
        return folded if folded.over else end_run(folded, Fault.STUCK)
    return replace(folded, phase=next_phase(state.phase))


def _read_close(state: PublicState, lines: Sequence[bytes]) -> Close:
    if not lines:
        raise Refused(Fault.BAD_LOG)
    try:
        close = parse_close(state.agreement, lines[-1])
    except Refused:
        raise Refused(Fault.BAD_LOG) from None
    value = state.chain
    for line in lines[:-1]:
        if not isinstance(line, bytes):
            raise Refused(Fault.BAD_LOG)
        value = chain_hash(value, line)
    if close.phase != state.phase or close.hash != value:
        raise Refused(Fault.BAD_LOG)
    return close


class _Fork(Exception):
    """A party has seen another log, under the board's signature."""

    def __init__(self, head: bytes) -> None:
        self.head = head


Admitted = tuple[Mapping[int, Message], list[Named], list[Fault]]


def _admit_messages(state: PublicState, lines: Sequence[bytes]) -> Admitted:
    """The one message of each party, who sent two, and why other lines were passed over."""
    by_party: dict[int, list[Message]] = {}
    strays: list[Fault] = []
    for line in lines:
        try:
            message = _admit_message(state, line)
        except Refused as refused:
            strays.append(refused.fault)
            continue
        by_party.setdefault(message.party, []).append(message)
    twice = {party for party, messages in by_party.items() if len({one.line for one in messages}) > 1}
    named = [Named(p, Fault.EQUIVOCATION, state.phase, tuple(m.line for m in by_party[p])) for p in sorted(twice)]
    return {party: messages[0] for party, messages in by_party.items() if party not in twice}, named, strays


def _admit_message(state: PublicState, line: bytes) -> Message:
    message = parse_message(state.agreement, line)
    if message.phase != state.phase:
        raise Refused(Fault.WRONG_PHASE)
    if not is_authentic(state.agreement, message):
        raise Refused(Fault.BAD_SIGNATURE)
    if message.head != state.head:
        seen = previous_phase(state.phase)
        if (
            seen is not None
            and is_vouched(state.agreement, seen, message.head)
            and message.head[:32] != state.head[:32]
        ):
            raise _Fork(message.head)
        raise Refused(Fault.WRONG_HEAD)
    return message
