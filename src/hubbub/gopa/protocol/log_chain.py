"""The log as a chain: each line goes into a hash, and the board ends a phase by signing what the hash is then.

    {"close":"join","hash":"...","run":"...","sig":"..."}

Messages of the next phase carry hash and signature as their head, so whoever was shown another log can prove it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from hubbub.durable import canonical_json
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault, Refused
from hubbub.gopa.protocol.identities import SIGNATURE, Identity, Member
from hubbub.gopa.protocol.wire import has_phase, pack, read_document, unpack


@dataclass(frozen=True, slots=True)
class Close:
    """The board's word that a phase is over and what the log's hash was then."""

    phase: str
    hash: bytes
    signature: bytes

    @property
    def head(self) -> bytes:
        """What messages of the next phase carry."""
        return self.hash + self.signature


def chain_hash(previous: bytes, line: bytes) -> bytes:
    """The log's hash after one more entry."""
    return hashlib.sha256(previous + line).digest()


def first_hash(agreement: Agreement) -> bytes:
    """The log's hash before the first entry."""
    return hashlib.sha256(b"hubbub gopa log 1\n" + agreement.run).digest()


def close_line(agreement: Agreement, board: Identity, phase: str, value: bytes) -> bytes:
    """The board's line that ends a phase."""
    mark = board.sign(_close_statement(agreement, phase, value))
    return canonical_json({"close": phase, "hash": pack(value), "run": pack(agreement.run), "sig": pack(mark)}).encode()


def parse_close(agreement: Agreement, line: object) -> Close:
    """The close that a line is, if the board signed it for this run."""
    document = read_document(line, 1024, {"close", "hash", "run", "sig"})
    phase, value, mark = document["close"], unpack(document["hash"], 32), unpack(document["sig"], SIGNATURE)
    if not has_phase(agreement, phase):
        raise Refused(Fault.MALFORMED)
    if unpack(document["run"], 32) != agreement.run:
        raise Refused(Fault.OTHER_RUN)
    if not is_vouched(agreement, phase, value + mark):
        raise Refused(Fault.BAD_SIGNATURE)
    return Close(phase, value, mark)


def is_vouched(agreement: Agreement, phase: str, head: bytes) -> bool:
    """Whether the board signed that the log had this hash when it closed this phase."""
    return Member("board", agreement.board).signed(_close_statement(agreement, phase, head[:32]), head[32:])


def _close_statement(agreement: Agreement, phase: str, value: bytes) -> bytes:
    return b"close\n" + agreement.run + phase.encode() + b"\n" + value
