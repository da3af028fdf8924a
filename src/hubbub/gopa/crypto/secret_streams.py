"""Secret random numbers that follow from a 32-byte secret: the same secret and names give the same numbers for ever.

A party draws everything from its run's secret, so that after a crash it says again what it said before, and never
uses a mask, a blinder or a nonce for two different messages.
"""

from __future__ import annotations

import hmac

from cryptography.hazmat.primitives.ciphers import Cipher, algorithms

from hubbub.gopa.crypto.framing import NAME, frame_parts
from hubbub.gopa.crypto.ristretto import ORDER
from hubbub.terms import WrongShape


class Stream:
    """ChaCha20 (RFC 8439) under a key that HKDF (RFC 5869) derives from a secret and public names."""

    def __init__(self, secret: bytes, label: str, *parts: bytes) -> None:
        if len(secret) != 32:
            raise WrongShape(
                "a secret of another length than 32 bytes.",
                why="Masks and noise are as secret as what they are drawn from.",
                fix="Draw it with secrets.token_bytes(32).",
            )
        info = frame_parts(NAME, label.encode(), *parts)
        key = derive_key(secret, info)
        self._keystream = Cipher(algorithms.ChaCha20(key, bytes(16)), mode=None).encryptor()

    def take(self, count: int) -> bytes:
        """The next bytes."""
        return self._keystream.update(bytes(count))

    def scalar(self) -> int:
        """A scalar within 2^-259 of uniform."""
        return int.from_bytes(self.take(64), "little") % ORDER

    def scalars(self, count: int) -> list[int]:
        return [self.scalar() for _ in range(count)]

    def bits(self, count: int) -> list[int]:
        """Exactly uniform bits, if the keystream is."""
        return [byte >> place & 1 for byte in self.take(-(-count // 8)) for place in range(8)][:count]


def derive_key(secret: bytes, info: bytes) -> bytes:
    """HKDF with SHA-512, no salt and one block: a key of 32 bytes. A party derives hundreds, so it is written out."""
    extracted = hmac.digest(bytes(64), secret, "sha512")
    return hmac.digest(extracted, info + b"\x01", "sha512")[:32]
