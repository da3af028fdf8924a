"""What a proof's challenges depend on: the hash of everything said so far, in order, with lengths and labels.

A challenge that forgot a part of the statement could be answered for another statement [BPW12]. Each proof therefore
begins with its ``Context`` (run, party, phase): a proof copied to another party, run or phase is refused.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Self

from hubbub.gopa.crypto.framing import NAME, frame_parts
from hubbub.gopa.crypto.ristretto import ORDER, encode_scalar
from hubbub.gopa.crypto.secret_streams import Stream


@dataclass(frozen=True)
class Context:
    """Where a proof belongs; the same for prover and verifier, and part of every challenge."""

    run: bytes
    party: bytes
    phase: str


class Transcript:
    """A growing hash; ``challenge`` depends on all that was appended, and later challenges on it."""

    def __init__(self, context: Context) -> None:
        self._hash = hashlib.sha512(frame_parts(NAME, b"transcript"))
        self.append("context", frame_parts(context.run, context.party, context.phase.encode()))

    def append(self, label: str, *parts: bytes) -> Self:
        self._hash.update(frame_parts(label.encode(), frame_parts(*parts)))
        return self

    def scalars(self, label: str, *values: int) -> Self:
        """Append scalars."""
        return self.append(label, *map(encode_scalar, values))

    def challenge(self, label: str) -> int:
        """A scalar other than zero: where the hash gives zero, the next one is taken."""
        while True:
            self.append("challenge", label.encode())
            if value := int.from_bytes(self.digest(), "little") % ORDER:
                return value

    def stream(self, label: str, secret: bytes) -> Stream:
        """A prover's secret numbers, fixed by its secret and all that was said so far: none serves two challenges."""
        return Stream(secret, label, self.digest())

    def digest(self) -> bytes:
        """The hash so far."""
        return self._hash.digest()
