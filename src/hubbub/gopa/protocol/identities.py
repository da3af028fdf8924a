"""Who is who: names with Ed25519 keys. A registered list of them is what keeps one person from being many.

>>> from hubbub.gopa.protocol.identities import Identity
>>> ann = Identity.new("ann")
>>> ann.member.signed(b"hello", ann.sign(b"hello")), ann.member.signed(b"hullo", ann.sign(b"hello"))
(True, False)
"""

from __future__ import annotations

import hashlib
import re
import secrets
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Self

from hubbub.durable import signature_holds, signing_key, verifying_key
from hubbub.terms import WrongShape

SIGNATURE = 64
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,63}")
_private_key = lru_cache(maxsize=4096)(signing_key)
_MARK = b"hubbub gopa 1\n"  # a signature over one of our messages is a signature over nothing else


@dataclass(frozen=True, slots=True)
class Member:
    """A name on the roster and the key that its messages are signed with."""

    name: str
    key: bytes

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not _NAME.fullmatch(self.name):
            raise WrongShape(
                "a member's name is not 1 to 64 letters, digits or any of . _ @ -.",
                why="Names stand in logs and on certificates, where they must not be mistaken for anything else.",
                fix="Choose a plain name.",
            )
        if not isinstance(self.key, bytes) or len(self.key) != 32 or verifying_key(self.key) is None:
            raise WrongShape(
                f"the key of {self.name} is not an Ed25519 public key.",
                why="Without it nobody could tell who said what.",
                fix="Take the 32 bytes that Identity.member shows.",
            )

    def signed(self, text: bytes, signature: bytes) -> bool:
        """Whether this member signed it."""
        return signature_holds(verifying_key(self.key), _MARK + text, signature)


@dataclass(frozen=True, slots=True)
class Identity:
    """A member with its private key."""

    name: str
    secret: bytes = field(repr=False)

    @classmethod
    def new(cls, name: str) -> Self:
        """A new identity, from the operating system's randomness."""
        return cls(name, secrets.token_bytes(32))

    @property
    def member(self) -> Member:
        """What others may know of it."""
        return Member(self.name, _private_key(self.secret).public_key().public_bytes_raw())

    def sign(self, text: bytes) -> bytes:
        """The one signature of this key over ``text``."""
        return _private_key(self.secret).sign(_MARK + text)


def fingerprint(*keys: bytes) -> str:
    """What people compare instead of a key, or of many at once: 128 bits, in groups of four digits.

    >>> fingerprint(bytes(32))
    '3028-5334-ee92-7b84-0ed5-7fdd-86bf-19fc'
    """
    digits = hashlib.sha256(b"hubbub gopa keys 1\n" + b"".join(sorted(keys))).hexdigest()[:32]
    return "-".join(digits[place : place + 4] for place in range(0, 32, 4))
