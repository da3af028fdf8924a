"""A mixnet of two hops or more: no single one of them can link a report to its sender.

The client seals its report for the last hop, that for the one before, and so on. A hop removes one layer from a whole
batch, drops what came before or cannot be opened, and passes the rest on in random order. The first hop sees who sent
something and cannot read it; the last one reads reports and does not see who sent them. Only all hops together can.

    an envelope: 32 bytes of a key made for it alone, then the sealed content (ChaCha20-Poly1305, a tag of 16 bytes)
    the key:     HKDF-SHA256 of the X25519 secret, salted with both public keys, for "hubbub mix/1"
    innermost:   4 bytes of length, the report, zeros up to the size that the last hop announces

All envelopes at one place have the same length. A key seals one content, so the nonce is zero.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from hubbub.local.shuffling.shuffler import TAKEN, permute, too_few
from hubbub.terms import EmptyInput, OutOfRange, WrongShape, whole

SIZE = 1024  # bytes of a report with its padding, unless agreed otherwise
_LABEL = b"hubbub mix/1"
_NONCE = bytes(12)
_KEY, _TAG, _LENGTH = 32, 16, 4


def seal(report: bytes, hops: Sequence[str], *, size: int = SIZE) -> bytes:
    """A report sealed for the hops with these public keys, the first hop's first.

    >>> first, last = Hop(minimum=1, layers=2), Hop(minimum=1, layers=1)
    >>> first.add(seal(b"a report", [first.public_key, last.public_key]))
    'taken'
    >>> [last.add(envelope) for envelope in first.flush()], last.flush()
    (['taken'], [b'a report'])
    """
    if not hops:
        raise EmptyInput(
            "there is no hop to seal a report for.",
            why="What is sealed for nobody can be read by everybody.",
            fix="Give the public keys of the hops, the first hop's first.",
        )
    content = _pad_report(report, whole(size, name="size"))
    for public in reversed(hops):
        content = _seal_layer(content, public)
    return content


class Hop:
    """One hop: takes envelopes, opens them, and passes on what was inside when enough is there.

    ``layers`` is how many hops there are from this one on; the last has 1 and passes on reports. Its key is made with
    it and dies with it, so that what was recorded on the way cannot be opened later.

    Guarantee: what a hop passes on is independent of who sent what, given the contents and how many there were; what
    it takes in tells nothing of the contents to anybody without its key.
    Because: contents are in an exactly uniform order (``permute``), of one length, and sealed by an authenticated
    cipher under a key agreed with X25519 [RFC7748], [RFC8439]; equal envelopes are passed on once [Cha81].
    Not covered: hops that all work together; a batch that somebody filled with envelopes of their own but for one;
    who takes part, and when.
    """

    def __init__(self, *, minimum: int, layers: int = 1, size: int = SIZE) -> None:
        self.minimum = whole(minimum, name="minimum")
        self.layers = whole(layers, name="layers")
        self._key = X25519PrivateKey.generate()
        self._length = whole(size, name="size") + _LENGTH + self.layers * (_KEY + _TAG)
        self._seen: set[bytes] = set()
        self._waiting: list[bytes] = []

    @property
    def public_key(self) -> str:
        """What clients seal for: 64 hexadecimal digits."""
        return self._key.public_key().public_bytes_raw().hex()

    def add(self, envelope: bytes) -> str:
        """Take an envelope: "taken", or why not: "malformed", "replay"."""
        content = self._opened(envelope)
        if content is None:
            return "malformed"
        mark = hashlib.sha256(content).digest()[:16]  # the content: an envelope can be changed, what it opens to cannot
        if mark in self._seen:
            return "replay"
        self._seen.add(mark)
        self._waiting.append(content)
        return TAKEN

    def add_all(self, envelopes: Iterable[bytes]) -> dict[str, int]:
        """Take many: how many were taken, and how many were not for which reason."""
        return dict(Counter(self.add(envelope) for envelope in envelopes))

    def ready(self) -> bool:
        """Whether enough is waiting."""
        return len(self._waiting) >= self.minimum

    def flush(self) -> list[bytes]:
        """What was inside, in random order: envelopes for the next hop, or reports if this is the last."""
        if not self.ready():
            raise too_few(self.minimum)
        waiting, self._waiting = self._waiting, []
        return permute(waiting)

    def _opened(self, envelope: bytes) -> bytes | None:
        if len(envelope) != self._length:
            return None
        sender = envelope[:_KEY]
        try:
            secret = self._key.exchange(X25519PublicKey.from_public_bytes(sender))
            cipher = _layer_cipher(secret, sender, self._key.public_key().public_bytes_raw())
            content = cipher.decrypt(_NONCE, envelope[_KEY:], _LABEL)
        except (InvalidTag, ValueError):
            return None
        return _unpad_report(content) if self.layers == 1 else content


def _seal_layer(content: bytes, hop: str) -> bytes:
    mine = X25519PrivateKey.generate()
    sender = mine.public_key().public_bytes_raw()
    try:
        receiver = bytes.fromhex(hop)
        secret = mine.exchange(X25519PublicKey.from_public_bytes(receiver))  # refuses keys with one secret for all
    except ValueError as error:
        raise WrongShape(
            "the public key of a hop is 64 hexadecimal digits, as X25519 makes them.",
            why="A report sealed for another key could be opened by nobody, or by everybody.",
            fix="Give the hop's public_key as it is announced.",
        ) from error
    return sender + _layer_cipher(secret, sender, receiver).encrypt(_NONCE, content, _LABEL)


def _layer_cipher(secret: bytes, sender: bytes, receiver: bytes) -> ChaCha20Poly1305:
    derived = HKDF(algorithm=hashes.SHA256(), length=32, salt=sender + receiver, info=_LABEL).derive(secret)
    return ChaCha20Poly1305(derived)


def _pad_report(report: bytes, size: int) -> bytes:
    if len(report) > size:
        raise OutOfRange(
            f"a report of this collection has more than the {size} bytes that are passed on.",
            why="All envelopes have one length, so that none stands out.",
            fix="Agree on a larger size with the hops.",
        )
    return len(report).to_bytes(_LENGTH, "little") + report.ljust(size, b"\0")


def _unpad_report(content: bytes) -> bytes | None:
    length = int.from_bytes(content[:_LENGTH], "little")
    rest = content[_LENGTH:]
    return rest[:length] if length <= len(rest) and not any(rest[length:]) else None
