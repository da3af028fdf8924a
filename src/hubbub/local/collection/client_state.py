"""A client's memory on disk: written whole and forced before a report leaves, or not at all.

One JSON file for all collections of one client, replaced atomically, with a lock beside it, so that two processes of
one client cannot make two reports for one epoch. It holds what must never leave the device: answers by value.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hubbub.durable import lock_file, replace_file
from hubbub.terms import LedgerUnavailable, NewerFormat, Unreadable, stored_keys

FORMAT = "lifetime/1"
_NAME, _RATIONAL, _NUMBER = "[a-z0-9][a-z0-9-]*", "0*[1-9][0-9]*(/0*[1-9][0-9]*)?", "[0-9a-f]+"
_ID, _SHA256, _REPORT = "[0-9a-f]{32}", "[0-9a-f]{64}", "([0-9a-f]{2}){64,}"
_TEXTS = {
    "collection": _ID,
    "law": _SHA256,
    "name": _NAME,
    "attribute": _NAME,
    "price": _RATIONAL,
    "again": _RATIONAL,
    "delta": _RATIONAL,
    "part": _NUMBER,
    "report": _REPORT,
    "digest": _SHA256,
}
_MAYBE_NONE = {"again", "delta", "part"}
_COUNTS = {"charges", "told", "silent", "epoch"}


@dataclass
class Record:
    """What is remembered of one collection under one distribution. Rationals are text; part, memos, report are hex."""

    collection: str
    law: str  # digest of the randomizer's parameters: another distribution has a record of its own
    name: str
    attribute: str
    price: str
    memoised: bool
    again: str | None
    delta: str | None
    charges: int = 0
    informative: int = 0
    silent: int = 0
    part: str | None = None
    memos: dict[str, str] = field(default_factory=dict)
    epoch: int = -1
    report: str = ""


@dataclass(frozen=True)
class SeenConfiguration:
    """The newest configuration of a collection that this client has followed, and what it is about for ever."""

    version: int
    digest: str
    attribute: str


@dataclass
class Memory:
    """All that one client remembers: its records, and by a collection's id the newest configuration of it."""

    records: list[Record] = field(default_factory=list)
    seen: dict[str, SeenConfiguration] = field(default_factory=dict)


_KEYS: dict[type, dict[str, str]] = {  # as they stand on people's devices, whatever the fields are called
    Record: stored_keys(
        "collection law name attribute price memoised again delta charges told silent part memos epoch report",
        told="informative",
    ),
    SeenConfiguration: stored_keys("version digest attribute"),
}


class ClientStateFile:
    """The file of one client."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else reads or writes in the meantime."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = lock_file(self.path.with_name(self.path.name + ".lock"))
        except OSError as error:
            raise _memory_unavailable() from error
        try:
            yield
        finally:
            os.close(handle)

    def read(self) -> Memory:
        """What is remembered; nothing if there is no file yet. A damaged file is never taken for an empty one."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return Memory()
        except OSError as error:
            raise _memory_unavailable() from error
        except ValueError as error:
            raise _damaged_memory() from error
        return _parse_memory(text)

    def write(self, memory: Memory) -> None:
        """Replace the file; when this returns, it is on disk."""
        try:
            replace_file(self.path, json.dumps(_to_document(memory), indent=1).encode())
        except OSError as error:
            raise _memory_unavailable() from error


def _to_document(memory: Memory) -> dict[str, Any]:
    seen = {key: _record_fields(each) for key, each in memory.seen.items()}
    return {"hubbub": FORMAT, "records": [_record_fields(record) for record in memory.records], "seen": seen}


def _record_fields(value: Record | SeenConfiguration) -> dict[str, Any]:
    return {key: getattr(value, attribute) for key, attribute in _KEYS[type(value)].items()}


def _parse_memory(text: str) -> Memory:
    try:
        document = json.loads(text)
        form = str(document["hubbub"])
        if form == FORMAT:
            return _read_document(document)
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise _damaged_memory() from error
    if not form.startswith("lifetime/"):
        raise _damaged_memory()
    raise NewerFormat(
        f"this client's memory has the format {form}, and this version reads {FORMAT}.",
        why="A newer format may mean something that an older reader would get wrong.",
        fix="Install a newer Hubbub.",
    )


def _read_document(document: dict[str, Any]) -> Memory:
    """Field by field: a field that is missing or of another form means that something was lost."""
    if document.keys() != {"hubbub", "records", "seen"} or not isinstance(document["records"], list):
        raise ValueError(document.keys())
    records = [Record(**_check_fields(Record, each)) for each in document["records"]]
    seen = {key: SeenConfiguration(**_check_fields(SeenConfiguration, each)) for key, each in document["seen"].items()}
    if any(record.collection not in seen for record in records):
        raise ValueError(seen.keys())
    return Memory(records, seen)


def _check_fields(kind: type, fields: dict[str, Any]) -> dict[str, Any]:
    keys = _KEYS[kind]
    if fields.keys() != keys.keys() or not all(_well_formed(key, fields[key]) for key in keys):
        raise ValueError(fields.keys())
    return {keys[key]: value for key, value in fields.items()}


def _well_formed(key: str, value: Any) -> bool:
    """Whether a key holds what this client writes there."""
    if key in _TEXTS:
        return (value is None and key in _MAYBE_NONE) or _is_text(value, _TEXTS[key])
    if key in _COUNTS or key == "version":
        return type(value) is int and value >= (key == "version")
    if key == "memoised":
        return isinstance(value, bool)
    return all(_is_text(kind, "[0-9]+") and _is_text(memo, _NUMBER) for kind, memo in value.items())


def _is_text(value: Any, pattern: str) -> bool:
    return isinstance(value, str) and re.fullmatch(pattern, value) is not None


def _damaged_memory() -> Unreadable:
    return Unreadable(
        "this client's memory cannot be read.",
        why="A client that forgets what it has told would tell it all again.",
        fix="Put back the file as it was; it is written by this client alone.",
    )


def _memory_unavailable() -> LedgerUnavailable:
    return LedgerUnavailable(
        "this client's memory could not be read or written.",
        why="What a report costs is on disk before the report leaves.",
        fix="Make the folder of state=... writable, with room on the disk.",
    )
