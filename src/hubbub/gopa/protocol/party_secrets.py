"""What a party keeps to itself: the run's secret with its values, and the numbers that it has worked out from them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field

from hubbub.gopa.crypto.bit_proof import BitInputs
from hubbub.gopa.crypto.secret_streams import Stream
from hubbub.gopa.protocol.agreement import Agreement
from hubbub.gopa.protocol.faults import Fault
from hubbub.gopa.protocol.masks import Opening
from hubbub.gopa.protocol.sealed_shares import Share
from hubbub.gopa.protocol.wire import Body, pack

_NOTHING = Opening((), 0)


@dataclass(frozen=True, slots=True)
class Secrets:
    """What a party must keep to itself: the run's secret, and its value for each coordinate."""

    place: int
    secret: bytes = field(repr=False)
    values: tuple[int, ...] = field(repr=False)
    earlier: tuple[int, ...] | None = field(default=None, repr=False)

    def record(self, agreement: Agreement) -> bytes:
        """The first line of a party's own record."""
        fields = {
            "run": pack(agreement.run),
            "secret": pack(self.secret),
            "values": self.values,
            "earlier": self.earlier and [str(blinder) for blinder in self.earlier],
        }
        return json.dumps(fields, sort_keys=True).encode()  # not canonical_json: records on disk have these spaces

    def stream(self, label: str, *parts: bytes) -> Stream:
        """Secret numbers of this run, by name."""
        return Stream(self.secret, label, *parts)

    def key(self, run: bytes, kind: str) -> int:
        """The secret of a run key: ``mask`` or ``seal``."""
        return self.stream(f"{kind} key", run).scalar()


@dataclass(frozen=True, slots=True, repr=False)
class Work:
    """What a party has worked out in a run and needs again; it follows from secrets and log, so it is never stored."""

    bound: BitInputs
    input: Opening = _NOTHING
    own: Opening = _NOTHING
    edges: Mapping[int, Opening] = field(default_factory=dict)
    shares: Mapping[int, Share] = field(default_factory=dict)


Speech = tuple[
    Body | None, Work | None
]  # what a party says in a phase, if anything, and what it has worked out by then


class PartyLeaves(Exception):
    """Inside the room only: the party says nothing more in this run."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
