"""A party: its secrets, all that it has said, and what it says next. It trusts nobody, and the board least.

``step(party, public)`` takes the newest public state and returns the party and the messages it has to post. There is no
randomness inside: everything follows from the run's 32-byte secret, which is drawn at ``start`` and written down before
the first message. What a party has said it says again in the same bytes, and it never says anything else for that
phase: a log in which its own messages have another past is a fork, and it stops.

Whoever runs it writes ``records`` (in order) to disk before a message leaves, and gives them to ``resume`` after a
crash.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.consent import Consent
from hubbub.gopa.protocol.faults import Abort, Fault, Refused
from hubbub.gopa.protocol.identities import Identity
from hubbub.gopa.protocol.party_secrets import PartyLeaves, Secrets, Work
from hubbub.gopa.protocol.phases.input_proofs import prove_inputs
from hubbub.gopa.protocol.phases.rules import rules_of
from hubbub.gopa.protocol.public_state import PublicState
from hubbub.gopa.protocol.wire import ORDER, Message, pack, parse_message, sign_message, unpack
from hubbub.terms import LedgerDamaged, OutOfRange, RequestChanged, WrongShape

_WHOLE = Consent()


@dataclass(frozen=True)
class Party:
    """A party's state: its secrets, all that it has said, and why it stopped if it did."""

    agreement: Agreement
    identity: Identity
    secrets: Secrets = field(repr=False)
    sent: Mapping[str, bytes] = field(default_factory=dict, repr=False)
    stopped: Abort | None = None
    work: Work | None = field(default=None, repr=False, compare=False)

    @property
    def place(self) -> int:
        """Its place on the roster."""
        return self.secrets.place

    @property
    def records(self) -> tuple[bytes, ...]:
        """What must be on disk before the newest message leaves: the start, and every message in its order."""
        return self.secrets.record(self.agreement), *self.sent.values()


def start(
    agreement: Agreement,
    identity: Identity,
    values: Sequence[int],
    *,
    earlier: Sequence[int] | None = None,
    consent: Consent = _WHOLE,
) -> Party:
    """A party with a fresh secret and its value for each coordinate, in steps.

    ``earlier`` are the blinders of its inputs in the agreement's previous run (``input_blinders`` of that run).
    ``consent`` is what it takes part in; without one it protects all that it has, and nothing less.
    """
    consent.require(agreement)
    agreement.shape.require_values(values)
    if agreement.quantity.one_hot and sum(values) != 1:
        raise OutOfRange(
            "a one-hot vector has exactly one 1.", why="Nothing else can be proved.", fix="Encode one choice."
        )
    if (agreement.previous is None) != (earlier is None):
        raise WrongShape(
            "earlier inputs are named by the agreement and not given, or given and not named.",
            why="A party proves that its input is the one of the previous run with that run's blinders.",
            fix="Give earlier= exactly if the agreement has a previous run.",
        )
    place, fresh = agreement.place(identity.member), secrets.token_bytes(32)
    given = None if earlier is None else tuple(earlier)
    return Party(agreement, identity, Secrets(place, fresh, tuple(values), given))


def resume(
    agreement: Agreement, identity: Identity, records: Sequence[bytes], *, values: Sequence[int] | None = None
) -> Party:
    """A party after a crash, from what it wrote; it goes on with the same secret and the same value.

    Another value for the same run is refused: two values under one set of masks would show their difference.
    """
    kept = _read_secrets(agreement, identity, records)
    if values is not None and tuple(values) != kept.values:
        raise RequestChanged(
            "this party has begun this run with another value.",
            why="A value is bound before the coins; a second one under the same masks would show the difference.",
            fix="Resume without a value, or take part in a new run.",
        )
    sent: dict[str, bytes] = {}
    for line in records[1:]:
        message = _own_message(agreement, kept.place, line)
        if message.phase in sent and sent[message.phase] != line:
            raise _damaged_records()
        sent[message.phase] = line
    return Party(agreement, identity, kept, sent)


def _read_secrets(agreement: Agreement, identity: Identity, records: Sequence[bytes]) -> Secrets:
    try:
        document = json.loads(records[0])
        earlier = document["earlier"]
        if unpack(document["run"], 32) != agreement.run:
            raise _damaged_records()
        return Secrets(
            agreement.place(identity.member),
            unpack(document["secret"], 32),
            tuple(int(value) for value in document["values"]),
            None if earlier is None else tuple(int(blinder) for blinder in earlier),
        )
    except (Refused, ValueError, LookupError, TypeError):
        raise _damaged_records() from None


def _own_message(agreement: Agreement, place: int, line: bytes) -> Message:
    try:
        message = parse_message(agreement, line)
    except Refused:
        raise _damaged_records() from None
    if message.party != place:
        raise _damaged_records()
    return message


def _damaged_records() -> LedgerDamaged:
    return LedgerDamaged(
        "this is not the record of this party in this run.",
        why="A party that went on from a wrong record could say two different things.",
        fix="Find the file that this party wrote for this run; without it, it must stay out of the run.",
    )


def input_blinders(party: Party, public: PublicState) -> tuple[int, ...]:
    """The secret blinders of this run's inputs, which a later run on the same inputs needs; known after the nonces."""
    return prove_inputs(party.secrets, public, party.work).openings.value_blinders


# ---------------------------------------------------------------- one step


def step(party: Party, public: PublicState) -> tuple[Party, tuple[bytes, ...]]:
    """The party after it has seen the newest public state, and what it has to post for the phase that is open.

    Guarantee: it never raises; it posts at most one line per phase, and the same one whenever it is asked again; it
    reveals only into a set that a quorum signed, that is large enough and as private as agreed by its own reckoning.
    Because: docs/proofs/gopa.md, "The protocol" [BIK17].
    """
    now = _look_at_run(party, public)
    if (
        now.stopped is not None
        or public.over
        or ORDER[public.phase] < max(map(ORDER.__getitem__, party.sent), default=0)
    ):
        return now, ()
    if public.phase in party.sent:
        return now, (party.sent[public.phase],)
    return _speak_in_phase(now, public)


def _look_at_run(party: Party, public: PublicState) -> Party:
    """The party, stopped if this is another run, if the run has ended, or if the log is not the one it spoke to."""
    if party.stopped is not None:
        return party
    if public.agreement.run != party.agreement.run:
        return _stop_party(party, Fault.OTHER_RUN, public)
    if public.abort is not None:
        return replace(party, stopped=public.abort)
    if "join" not in party.sent and public.phase != "join":
        return _stop_party(party, Fault.NOT_INVITED, public)  # it has not joined; or it has, and its record is lost
    return party if _same_past(party, public) else _stop_party(party, Fault.FORK, public)


def _speak_in_phase(party: Party, public: PublicState) -> tuple[Party, tuple[bytes, ...]]:
    try:
        body, work = rules_of(public.phase).say(party.secrets, public, party.work)
    except PartyLeaves as stop:
        return _stop_party(party, stop.fault, public), ()
    now = replace(party, work=work)
    if body is None:
        return now, ()
    line = sign_message(party.agreement, party.identity, public.phase, public.head, body)
    return replace(now, sent={**party.sent, public.phase: line}), (line,)


def _stop_party(party: Party, fault: Fault, public: PublicState) -> Party:
    return replace(party, stopped=Abort(fault, public.phase))


def _same_past(party: Party, public: PublicState) -> bool:
    """Whether the party's last message belongs to this log."""
    if not party.sent:
        return True
    phase = max(party.sent, key=ORDER.__getitem__)
    place, line = ORDER[phase], party.sent[phase]
    if place > len(public.closes):
        return True  # an older state of the log; nothing is said to it
    head = public.closes[place - 1].head if place else b""
    return b'"head":"' + pack(head).encode() + b'"' in line
