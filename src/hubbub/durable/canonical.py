"""Canonical JSON: one text for one value, so that hashes, signatures and comparisons of it mean something.

Keys sorted, no spaces, ASCII alone, no NaN and no infinities. The ledger's chain, GOPA's agreements and messages, local
collections, fingerprints of requests and the keys of permanent noise are made of this text: what it writes is for ever.
"""

from __future__ import annotations

import json

_encode = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False).encode


def canonical_json(value: object) -> str:
    """The one JSON text of a value; ``ValueError`` for NaN and infinities, ``TypeError`` for what JSON has no form for.

    >>> canonical_json({"b": [1, 2.5, None], "a": "é"})
    '{"a":"\\\\u00e9","b":[1,2.5,null]}'
    """
    return _encode(value)
