"""Messages as they travel: one line of JSON in its one spelling, signed, and short enough for its phase.

    {"body":{...},"head":"...","party":3,"phase":"join","run":"...","sig":"..."}

``run`` is the hash of the agreement, ``party`` a place on the roster, ``head`` the last close that its author saw (the
log's hash and the board's signature over it, so that a message from a forked log carries its own proof), and ``body``
what the phase asks for. Bytes are base64url without padding; there are no fractions. A phase has one message per party,
so that phase and party are its number. The board's own lines are in ``log_chain``.

Nothing here trusts its input: whatever comes, the answer is a message or ``Refused`` with a ``Fault``.
"""

from __future__ import annotations

import base64
import binascii
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from hubbub.durable import canonical_json
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.identities import SIGNATURE, Identity

PHASES = ("join", "nonce", "share", "complain", "cut", "reveal", "confirm")
REPAIRS = 1 << 14  # names of rounds of repair; how many of them a run has, follows from its plan (``last_phase``)
SPARE = 8  # rounds beyond one for each corrupted party: two for silence, the others for holders who come back late
ORDER = {name: place for place, name in enumerate((*PHASES, *(f"repair-{r}" for r in range(1, REPAIRS + 1))))}
_NAMES = tuple(ORDER)
Body = Mapping[str, Any]
_FIELDS = {"body", "head", "party", "phase", "run", "sig"}
_TAIL = len(b',"sig":"') + 86 + len(b'"}')  # the signature is the last field
_SIZES = {"join": 2048, "nonce": 1024, "cut": 1024, "confirm": 1024}


@dataclass(frozen=True, slots=True)
class Message:
    """A message whose form is right; whether its signature is must be asked for (``is_authentic``)."""

    phase: str
    party: int
    head: bytes
    body: Body
    line: bytes


# ---------------------------------------------------------------- phases


def last_phase(agreement: Agreement) -> str:
    """The last phase that a run may have.

    The first round of repair brings what those who are there know, the second what the silent ones' holders know. Each
    further one is there because the one before found a new liar, whose mask key is wanted: see ``dropout_recovery``.
    """
    return f"repair-{min(agreement.plan.corrupted + SPARE, REPAIRS - 1)}"


def next_phase(phase: str) -> str:
    """The phase that follows; after the last one of a run it is one that nobody has a message for."""
    return _NAMES[ORDER[phase] + 1]


def previous_phase(phase: str) -> str | None:
    """The phase whose close a message of this phase has seen; none for the first."""
    return _NAMES[ORDER[phase] - 1] if ORDER[phase] else None


def has_phase(agreement: Agreement, phase: object) -> bool:
    """Whether a run has a phase of this name."""
    return isinstance(phase, str) and ORDER.get(phase, len(ORDER)) <= ORDER[last_phase(agreement)]


def message_limit(agreement: Agreement, phase: str) -> int:
    """The most bytes that a message of this phase may have."""
    if phase in _SIZES:
        return _SIZES[phase]
    width, parties = agreement.quantity.coordinates, agreement.plan.parties
    near = min(agreement.plan.degree, parties)
    sizes = {"share": 65536 + 256 * width + 512 * near, "reveal": 1024 + 64 * width, "complain": 2048 + 512 * parties}
    return sizes.get(phase, 2048 + 256 * parties)


# ---------------------------------------------------------------- bytes as text


def pack(data: bytes) -> str:
    """Bytes as base64url without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def unpack(text: object, length: int | None = None) -> bytes:
    """The bytes; refused unless the text is the one spelling of (so many) bytes."""
    if not isinstance(text, str) or (length is not None and len(text) != -(-length * 4 // 3)):
        raise Refused(Fault.MALFORMED)
    try:
        data = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Refused(Fault.MALFORMED) from None
    if pack(data) != text:
        raise Refused(Fault.MALFORMED)
    return data


def read_fields(body: Body, *names: str) -> list[Any]:
    """The fields of a body; refused unless it has these and no others."""
    if body.keys() != set(names):
        raise Refused(Fault.MALFORMED)
    return [body[name] for name in names]


# ---------------------------------------------------------------- messages


def sign_message(agreement: Agreement, identity: Identity, phase: str, head: bytes, body: Body) -> bytes:
    """The line that says ``body`` in a phase, under a party's name."""
    party = agreement.place(identity.member)
    document = {"body": body, "head": pack(head), "party": party, "phase": phase, "run": pack(agreement.run)}
    statement = canonical_json(document)
    return statement[:-1].encode() + b',"sig":"' + pack(identity.sign(statement.encode())).encode() + b'"}'


def parse_message(agreement: Agreement, line: object) -> Message:
    """The message that a line is, if its form is right."""
    document = read_document(
        line, max(message_limit(agreement, "share"), message_limit(agreement, "repair-1")), _FIELDS
    )
    assert isinstance(line, bytes)
    party, phase, body = document["party"], document["phase"], document["body"]
    if type(party) is not int or not has_phase(agreement, phase) or not isinstance(body, dict):
        raise Refused(Fault.MALFORMED)
    if not 0 <= party < len(agreement.roster):
        raise Refused(Fault.UNKNOWN_PARTY)
    if unpack(document["run"], 32) != agreement.run:
        raise Refused(Fault.OTHER_RUN, party)
    if len(line) > message_limit(agreement, phase):
        raise Refused(Fault.OVERSIZED, party)
    head = unpack(document["head"], 32 + SIGNATURE if previous_phase(phase) else 0)
    unpack(document["sig"], SIGNATURE)
    return Message(phase, party, head, body, line)


def is_authentic(agreement: Agreement, message: Message) -> bool:
    """Whether the party that a message names has signed it."""
    statement, tail = message.line[:-_TAIL] + b"}", message.line[-_TAIL:]
    return agreement.roster[message.party].signed(statement, unpack(tail[8:-2].decode(), SIGNATURE))


def read_document(line: object, most: int, fields: set[str]) -> dict[str, Any]:
    """The fields of a line; refused unless it has these and no others, in their one spelling."""
    if not isinstance(line, bytes):
        raise Refused(Fault.MALFORMED)
    if len(line) > most:
        raise Refused(Fault.OVERSIZED)
    try:
        document = json.loads(line.decode("ascii"), parse_float=_no_number, parse_constant=_no_number)
        if not isinstance(document, dict) or document.keys() != fields or canonical_json(document).encode() != line:
            raise Refused(Fault.MALFORMED)
    except (ValueError, RecursionError):
        raise Refused(Fault.MALFORMED) from None
    return document


def _no_number(text: str) -> NoReturn:
    raise Refused(Fault.MALFORMED)
