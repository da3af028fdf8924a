"""Tokens: a right to send so many reports that does not say whose it is.

Whoever holds the collection's private key makes them (``hubbub collect tokens``) and hands one to each client, for
instance after a login, without noting who got which. The collector checks a token with the public key alone, and
counts what each has sent in an epoch; which report came with which token is not kept.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    from hubbub.local.collection import Collection

_NONCE, _SIGNATURE = 16, 64


def issue(collection: Collection, key: Ed25519PrivateKey) -> str:
    """A new token for this collection."""
    nonce = secrets.token_bytes(_NONCE)
    return base64.urlsafe_b64encode(nonce + key.sign(_said(collection, nonce))).decode().rstrip("=")


def mark(collection: Collection, public_key: str, token: str | None) -> bytes | None:
    """What a token is counted under, or None if it was not issued for this collection."""
    text = token or ""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(raw) != _NONCE + _SIGNATURE:
        return None
    nonce, signature = raw[:_NONCE], raw[_NONCE:]
    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(public_key)).verify(signature, _said(collection, nonce))
    except InvalidSignature:
        return None
    return hashlib.sha256(nonce).digest()[:_NONCE]


def _said(collection: Collection, nonce: bytes) -> bytes:
    return b"hubbub token 1\n" + collection.id.encode() + b"\n" + nonce
