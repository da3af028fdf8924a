"""Signed configurations: a client follows only those whose key it was given beforehand.

    {"hubbub": "signed-collection/1", "collection": "<canonical text>", "key": "<hex>", "signature": "<hex>"}

The canonical text travels as text, so that nobody has to write the same JSON twice: what is verified is what is read.
"""

from __future__ import annotations

import json
from typing import Any

from hubbub.durable import (
    SigningKey,
    new_signing_key,
    public_key_hex,
    signature_holds,
    signing_key,
    signing_key_hex,
    verifying_key_from_hex,
)
from hubbub.local.collection.collection import Collection, bad_collection, read_canonical
from hubbub.local.collection.configuration_forms import find_misfit, without_doubles

FORMAT = "signed-collection/1"
_CONTEXT = b"hubbub signed-collection/1\n"  # a signature over a collection is a signature over nothing else
_LONGEST = 1 << 20  # characters of a configuration


def new_key() -> SigningKey:
    """A key to sign collections with."""
    return new_signing_key()


def key_text(key: SigningKey) -> str:
    """The private key as 64 hexadecimal digits; keep it as a secret."""
    return signing_key_hex(key)


def read_key(text: str) -> SigningKey:
    """The private key that ``key_text`` wrote."""
    try:
        return signing_key(bytes.fromhex(text.strip()))
    except ValueError as error:
        raise bad_collection("the key that should sign it is not 64 hexadecimal digits") from error


def public_text(key: SigningKey) -> str:
    """The public key as 64 hexadecimal digits: what clients are given beforehand."""
    return public_key_hex(key)


def sign(collection: Collection, key: SigningKey) -> str:
    """The signed configuration, one JSON text; refused if nobody could estimate anything from the reports.

    >>> from hubbub.local import KaryResponse
    >>> key = new_key()
    >>> bread = Collection(name="bread", question="Bread today?", randomizer=KaryResponse(epsilon=1, domain=2))
    >>> open_signed(sign(bread, key), public_text(key)) == bread
    True
    """
    collection.randomizer.check()
    text = collection.canonical()
    signature = key.sign(_CONTEXT + text.encode())
    document = {"hubbub": FORMAT, "collection": text, "key": public_text(key), "signature": signature.hex()}
    return json.dumps(document, indent=1) + "\n"


def open_signed(text: str, public_key: str) -> Collection:
    """The collection of a signed configuration, checked with the pinned ``public_key``.

    An old signature stays valid for ever: ``Client`` remembers which version it has followed, and goes back to none.
    """
    document = _parse_signed(text)
    pinned, signed = public_key.strip().lower(), document["collection"]
    if document["key"] != pinned or not _signature_holds(pinned, document["signature"], signed):
        raise bad_collection("its signature was not made with the key that this client was given")
    return read_canonical(signed)


def _parse_signed(text: str) -> dict[str, Any]:
    try:
        short = isinstance(text, str) and len(text) <= _LONGEST
        document = json.loads(text, object_pairs_hook=without_doubles) if short else None
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("hubbub") != FORMAT:
        raise bad_collection(f'it is not JSON of the form "hubbub": "{FORMAT}"')
    if field := find_misfit("signed", document):
        raise bad_collection(f'its field "{field}" is missing, unknown or of another kind')
    return document


def _signature_holds(public_key: str, signature: str, text: str) -> bool:
    try:
        message, signature_bytes = _CONTEXT + text.encode(), bytes.fromhex(signature)
    except ValueError:  # also of text that is none
        return False
    return signature_holds(verifying_key_from_hex(public_key), message, signature_bytes)
