"""Ed25519 keys and signatures: the ledger's heads, collections and tokens, the members of a GOPA run.

What is signed begins with a mark of its own in every room, so that a signature over one thing is a signature over
nothing else. Keys are 32 bytes, or 64 hexadecimal digits in files and configurations.
"""

from __future__ import annotations

from functools import lru_cache

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

SigningKey = Ed25519PrivateKey
VerifyingKey = Ed25519PublicKey


def new_signing_key() -> SigningKey:
    """A new private key, from the operating system's randomness."""
    return SigningKey.generate()


def signing_key(secret: bytes) -> SigningKey:
    """The private key of 32 bytes; ``ValueError`` if there are more or fewer."""
    return SigningKey.from_private_bytes(secret)


def signing_key_hex(key: SigningKey) -> str:
    """The private key as 64 hexadecimal digits; keep it as a secret."""
    return key.private_bytes_raw().hex()


def public_key_hex(key: SigningKey) -> str:
    """The public half as 64 hexadecimal digits."""
    return key.public_key().public_bytes_raw().hex()


@lru_cache(maxsize=16384)
def verifying_key(public: bytes) -> VerifyingKey | None:
    """The public key of 32 bytes, or None if they are none."""
    try:
        return VerifyingKey.from_public_bytes(public)
    except ValueError:
        return None


def verifying_key_from_hex(text: str) -> VerifyingKey | None:
    """The public key of 64 hexadecimal digits, or None if they are none."""
    try:
        return verifying_key(bytes.fromhex(text))
    except ValueError:
        return None


def signature_holds(key: VerifyingKey | None, message: bytes, signature: bytes) -> bool:
    """Whether this key signed the message; no key signed nothing."""
    if key is None:
        return False
    try:
        key.verify(signature, message)
    except InvalidSignature:
        return False
    return True
