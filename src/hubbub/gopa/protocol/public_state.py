"""What anybody can work out from a run's log: the verifier's fold.

``step(state, lines)`` takes the lines of one phase, the board's close being the last, and returns the next state. It
never raises, whatever the lines are, and copies nothing that a phase does not change. All parties of one host share one
such state: the log is folded once and each proof verified once.

Only what a party signed under this run, this phase and this very log is held against it. Lines that the board should
not have taken are passed over and counted.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache

from hubbub.gopa.crypto.ristretto import frame_parts
from hubbub.gopa.privacy import calibration
from hubbub.gopa.privacy.calibration import Achieved, RunPlan
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Abort, Fault, Named, Refused
from hubbub.gopa.protocol.identities import Member
from hubbub.gopa.protocol.masks import MaskContext, Opening
from hubbub.gopa.protocol.message_bodies import Join, Shared
from hubbub.gopa.protocol.topology import Net
from hubbub.gopa.protocol.wire import (
    Close,
    Message,
    chain_hash,
    first_hash,
    is_authentic,
    is_vouched,
    last_phase,
    next_phase,
    parse_close,
    parse_message,
    previous_phase,
)
from hubbub.terms import MissingParameter, OutOfRange

FIRST = "repair-1"


@dataclass(frozen=True)
class Inputs:
    """The commitments to all inputs of a run, by its members: what a later run compares its own with.

    A member is a name with its key: the same name under another key is somebody else, and had no input then.
    """

    run: bytes
    points: Mapping[Member, tuple[bytes, ...]]


@dataclass(frozen=True)
class Mended:
    """What repairs have brought: seeds of self masks, mask keys, and their shares (place -> share) so far.

    ``cheats`` are members that a repair proved to lie; they are out of the sum.
    """

    seeds: Mapping[int, int] = field(default_factory=dict)
    keys: Mapping[int, int] = field(default_factory=dict)
    seed_shares: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    key_shares: Mapping[int, Mapping[int, int]] = field(default_factory=dict)
    cheats: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Wanted:
    """Whose seeds and whose mask keys are not known yet."""

    seeds: frozenset[int]
    keys: frozenset[int]

    def __bool__(self) -> bool:
        return bool(self.seeds or self.keys)


@dataclass(frozen=True)
class Result:
    """The sums of values and noises over all ``parties`` that count, one for each coordinate."""

    totals: tuple[int, ...]
    parties: tuple[int, ...]


@dataclass(frozen=True)
class PublicState:
    """The public state of a run between two phases; ``phase`` is the one that is open.

    ``inside`` are those who have done all that was asked so far: after the complaints it is the set that is cut, and
    it stays that. ``revealed`` are those of them whose reveals opened.
    """

    agreement: Agreement
    earlier: Inputs | None
    chain: bytes
    phase: str = "join"
    closes: tuple[Close, ...] = ()
    named: tuple[Named, ...] = ()
    strays: tuple[Fault, ...] = ()
    abort: Abort | None = None
    inside: tuple[int, ...] = ()
    joins: Mapping[int, Join] = field(default_factory=dict)
    net: Net = Net((), {})  # noqa: RUF009
    seed: bytes = b""
    shares: Mapping[int, Shared] = field(default_factory=dict)
    signers: frozenset[int] = frozenset()
    reveals: Mapping[int, Opening] = field(default_factory=dict)
    revealed: tuple[int, ...] = ()
    mended: Mended = Mended()
    result: Result | None = None

    @property
    def over(self) -> bool:
        """Whether nothing more can happen."""
        return self.abort is not None or self.result is not None

    @property
    def head(self) -> bytes:
        """What messages of the open phase carry: the last close."""
        return self.closes[-1].head if self.closes else b""

    @property
    def view(self) -> MaskContext:
        """What masks depend on; only after the nonces."""
        return MaskContext(self.agreement.run, self.closes[1].hash)

    @property
    def width(self) -> int:
        return self.agreement.quantity.coordinates

    @property
    def holders(self) -> int:
        """How many parties hold shares of one dealer."""
        return min(self.agreement.plan.degree, len(self.net.joined) - 1)

    @property
    def threshold(self) -> int:
        """How many shares give a secret back."""
        return self.agreement.plan.threshold(self.holders)

    @property
    def achieved(self) -> Achieved:
        """What the run protects with those who are left."""
        left = self.revealed or self.inside
        return _achieved_privacy(self.agreement.plan, len(left), len(self.net.joined))

    @cached_property
    def members(self) -> frozenset[int]:
        """``inside`` as a set."""
        return frozenset(self.inside)

    @cached_property
    def opened(self) -> frozenset[int]:
        """``revealed`` as a set."""
        return frozenset(self.revealed)

    @cached_property
    def counted(self) -> frozenset[int]:
        """``revealed`` without those that a repair proved to lie."""
        return self.opened - self.mended.cheats

    @cached_property
    def wanted(self) -> Wanted:
        """What is missing for the sum, once a quorum has signed who revealed."""
        near = self.net.around
        gone = {one for one in self.members - self.counted if not self.counted.isdisjoint(near[one])}
        return Wanted(self.counted - self.mended.seeds.keys(), frozenset(gone) - self.mended.keys.keys())

    @cached_property
    def releasable(self) -> Wanted:
        """Whose shares a holder may give in the open phase: of seeds only after their owners had their turn."""
        return Wanted(frozenset() if self.phase == FIRST else self.wanted.seeds, self.wanted.keys)

    @cached_property
    def mark(self) -> bytes:
        """What a party signs in the open phase: the set that is cut, or the set of those who revealed."""
        return set_digest(self.agreement, self.revealed or self.inside)

    def edge(self, one: int, other: int) -> tuple[bytes, int]:
        """The posted commitment of an edge, and the sign that it has for ``one``."""
        at = self.net.edges.get((one, other))
        if at is not None:
            return self.shares[one].edges[at], 1
        return self.shares[other].edges[self.net.edges[other, one]], -1

    def faulty(self, party: int) -> tuple[Fault, ...]:
        """What a party did wrong so far, silence apart."""
        return tuple(one.fault for one in self.named if one.party == party and one.fault is not Fault.SILENT)

    def coins(self, party: int) -> list[int]:
        """The public coins that sign a party's noise bits."""
        count = self.agreement.shape.coins
        name = frame_parts(b"hubbub gopa coins 1", self.seed, party.to_bytes(4, "little"))
        stream = hashlib.shake_256(name).digest(-(-count // 8))
        return [byte >> place & 1 for byte in stream for place in range(8)][:count]


@lru_cache(maxsize=256)
def _achieved_privacy(plan: RunPlan, survivors: int, joined: int) -> Achieved:
    return calibration.achieved(plan, survivors, joined=joined)


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


def set_digest(agreement: Agreement, members: Sequence[int]) -> bytes:
    """The mark of a set of parties, which a cut or a confirmation signs."""
    return hashlib.sha256(frame_parts(agreement.run, *(place.to_bytes(4, "little") for place in members))).digest()


# ---------------------------------------------------------------- one phase


def step(state: PublicState, lines: Sequence[bytes]) -> PublicState:
    """The state after a phase: its entries in their order, and the board's close.

    Guarantee: never raises; the same lines give the same state everywhere, but for a chance of 2^-128 per sum.
    Because: docs/proofs/gopa.md, "The protocol"; [BGR98] for the sums.
    """
    if state.over:
        return state
    from hubbub.gopa.protocol.phases import FOLDS, fold_repair

    try:
        close = _read_close(state, lines)
        messages, named, strays = _admit_messages(state, lines[:-1])
    except Refused as refused:
        return end_run(state, refused.fault)
    except _Fork as fork:
        return end_run(state, Fault.FORK, (state.head, fork.head))
    seen = replace(state, named=(*state.named, *named), strays=(*state.strays, *strays), signers=frozenset())
    folded = FOLDS.get(state.phase, fold_repair)(
        replace(seen, chain=close.hash, closes=(*state.closes, close)), messages
    )
    if folded.over or state.phase == last_phase(state.agreement):
        return folded if folded.over else end_run(folded, Fault.STUCK)
    return replace(folded, phase=next_phase(state.phase))


def end_run(state: PublicState, fault: Fault, evidence: tuple[bytes, ...] = ()) -> PublicState:
    """The run, without a result."""
    return replace(state, abort=Abort(fault, state.phase, evidence))


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
