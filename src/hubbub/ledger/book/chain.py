"""One entry of the book, and how each is bound to the one before."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, NamedTuple

from hubbub.durable import canonical_json
from hubbub.terms import Event, Unreadable, WrongShape, from_json, to_json

ORIGIN = bytes(32)  # what the first entry follows


class Entry(NamedTuple):
    """A row of ``entries``; every column but the signature is under the hash."""

    sequence: int
    at: int
    policy: int
    fingerprint: bytes | None
    project: str | None
    body: str
    hash: bytes
    signature: bytes | None = None

    def fields(self) -> dict[str, Any]:
        """What the entry says."""
        fields: dict[str, Any] = json.loads(self.body)
        return fields

    def when(self) -> str:
        """The time of the entry, in words that sort."""
        return iso_time(self.at)

    def follows(self, previous: bytes) -> bool:
        """Whether the hash is the right one after ``previous``."""
        return self.hash == entry_hash(
            previous, self.sequence, self.at, self.policy, self.fingerprint, self.project, self.body
        )


def typed_entry(row: Sequence[Any]) -> Entry:
    """An entry whose fields are of the types that were written; anything else was put there by another hand."""
    wanted = (int, int, int, bytes | None, str | None, str, bytes, bytes | None)
    if len(row) != len(wanted) or not all(isinstance(value, kind) for value, kind in zip(row, wanted, strict=True)):
        raise TypeError
    f"{row[4]}{row[5]}".encode()  # text that is none
    return Entry(*row)


def entry_hash(
    previous: bytes, sequence: int, at: int, policy: int, fingerprint: bytes | None, project: str | None, body: str
) -> bytes:
    """The hash of an entry: everything it says and, through ``previous``, everything said before.

    Lines cannot run into each other: numbers and names hold no line break, and the body comes last. What is not there
    is a dash, which is no fingerprint and no name.
    """
    mark = "-" if fingerprint is None else fingerprint.hex()
    text = f"{sequence}\n{at}\n{policy}\n{mark}\n{'-' if project is None else project}\n{body}"
    return hashlib.sha256(previous + text.encode()).digest()


def answer_body(charge: int, record_digest: str) -> str:
    """``canonical_json`` of what an answer's entry says, the most frequent of all.

    >>> from hubbub.durable import canonical_json
    >>> answer_body(7, "ab") == canonical_json({"kind": "answer", "charge": 7, "digest": "ab"})
    True
    """
    return f'{{"charge":{charge},"digest":"{record_digest}","kind":"answer"}}'


def sha256_hex(text: str) -> str:
    """SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


@lru_cache(maxsize=4096)
def event_text(event: Event) -> tuple[str, str]:
    """(digest, JSON text) of an event."""
    try:
        text = canonical_json(to_json(event))
        same = event_of(text) == event
    except (Unreadable, ValueError):  # a number of thousands of digits, say
        same = False
    if not same:
        raise WrongShape(
            "this event cannot be stored: what is read back would be another one.",
            why="Events are kept for ever, and a charge is checked again from what is stored.",
            fix="Make it with a mechanism, from ordinary numbers.",
        )
    return sha256_hex(text), text


@lru_cache(maxsize=4096)
def event_of(text: str) -> Event:
    """The event that a stored text says."""
    event: Event = from_json(json.loads(text))
    return event


def iso_time(at: int) -> str:
    """Microseconds since 1970 as an ISO time in UTC."""
    return datetime.fromtimestamp(at / 1e6, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
