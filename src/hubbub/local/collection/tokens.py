"""Tokens: a right to send so many reports that does not say whose it is.

Whoever holds the collection's private key makes them (``hubbub collect tokens``) and hands one to each client, for
instance after a login, without noting who got which. The collector checks a token with the public key alone, and
counts what each has sent in an epoch; which report came with which token is not kept.

Behind a shuffler it is the shuffler that checks clients' tokens and counts: it passes none of them on, because a token
beside a report would link the reports of one client again. It shows the collector a token of its own kind instead.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from typing import TYPE_CHECKING

from hubbub.durable import SigningKey, signature_holds, verifying_key_from_hex

if TYPE_CHECKING:
    from hubbub.local.collection.collection import Collection

_NONCE, _SIGNATURE = 16, 64
_CLIENT, _SHUFFLER = b"hubbub token 1\n", b"hubbub shuffler token 1\n"


def issue(collection: Collection, key: SigningKey) -> str:
    """A new token for a client of this collection."""
    return _issue_for(collection, key, _CLIENT)


def issue_shuffler(collection: Collection, key: SigningKey) -> str:
    """A new token for a shuffler before this collection's collector: no client's token is one."""
    return _issue_for(collection, key, _SHUFFLER)


def token_mark(collection: Collection, public_key: str, token: str | None) -> bytes | None:
    """What a client's token is counted under, or None if it was not issued for this collection."""
    return _check_token(collection, public_key, token, _CLIENT)


def is_shuffler(collection: Collection, public_key: str, token: str | None) -> bool:
    """Whether this is a token for a shuffler."""
    return _check_token(collection, public_key, token, _SHUFFLER) is not None


def _issue_for(collection: Collection, key: SigningKey, role: bytes) -> str:
    nonce = secrets.token_bytes(_NONCE)
    return base64.urlsafe_b64encode(nonce + key.sign(_signed_bytes(collection, nonce, role))).decode().rstrip("=")


def _check_token(collection: Collection, public_key: str, token: str | None, role: bytes) -> bytes | None:
    text = token or ""
    try:
        raw = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        return None
    if len(raw) != _NONCE + _SIGNATURE:
        return None
    nonce, signature = raw[:_NONCE], raw[_NONCE:]
    if not signature_holds(verifying_key_from_hex(public_key), _signed_bytes(collection, nonce, role), signature):
        return None
    return hashlib.sha256(nonce).digest()[:_NONCE]


def _signed_bytes(collection: Collection, nonce: bytes, role: bytes) -> bytes:
    return role + collection.id.encode() + b"\n" + nonce
