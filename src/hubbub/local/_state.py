"""A client's memory on disk: written whole and forced before a report leaves, or not at all.

One JSON file for all collections of one client, replaced atomically, with a lock beside it, so that two processes of
one client cannot make two reports for one epoch. It holds what must never leave the device: answers by value.
"""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any

from hubbub.terms import LedgerUnavailable, NewerFormat, Unreadable

FORMAT = "lifetime/1"


@dataclass
class Record:
    """What is remembered of one collection under one law. Rationals are text; part, memos and report hexadecimal."""

    collection: str
    law: str  # digest of the randomizer's parameters: another law has a record of its own
    name: str
    attribute: str
    price: str
    memoised: bool
    again: str | None
    charges: int = 0
    told: int = 0
    silent: int = 0
    part: str | None = None
    memos: dict[str, str] = field(default_factory=dict)
    epoch: int = -1
    report: str = ""


class State:
    """The file of one client."""

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Nobody else reads or writes in the meantime."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            handle = os.open(self.path.with_name(self.path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise _unavailable() from error
        try:
            fcntl.flock(handle, fcntl.LOCK_EX)
            yield
        finally:
            os.close(handle)

    def read(self) -> list[Record]:
        """The records; none if there is no file yet. A damaged file is never taken for an empty one."""
        try:
            text = self.path.read_text(encoding="utf-8")
        except FileNotFoundError:
            return []
        except OSError as error:
            raise _unavailable() from error
        except ValueError as error:
            raise _damaged() from error
        return _records(text)

    def write(self, records: list[Record]) -> None:
        """Replace the file; when this returns, it is on disk."""
        document = {"hubbub": FORMAT, "records": [asdict(record) for record in records]}
        try:
            _durably(self.path, json.dumps(document, indent=1).encode())
        except OSError as error:
            raise _unavailable() from error


def _records(text: str) -> list[Record]:
    try:
        document = json.loads(text)
        form = str(document["hubbub"])
        if form == FORMAT:
            return [_record(each) for each in document["records"]]
    except (ValueError, TypeError, KeyError, ZeroDivisionError, RecursionError) as error:
        raise _damaged() from error
    if not form.startswith("lifetime/"):
        raise _damaged()
    raise NewerFormat(
        f"this client's memory has the format {form}, and this version reads {FORMAT}.",
        why="A newer format may mean something that an older reader would get wrong.",
        fix="Install a newer Hubbub.",
    )


def _record(fields: dict[str, Any]) -> Record:
    record = Record(**fields)
    Fraction(record.price), Fraction(record.again or "0"), bytes.fromhex(record.report)
    if min(record.charges, record.told, record.silent, record.epoch + 1) < 0:
        raise ValueError(record.collection)
    if record.part is not None:
        [int(number, 16) for number in (record.part, *record.memos.values())]
    return record


def _durably(path: Path, content: bytes) -> None:
    draft = path.with_name(f"{path.name}.new")
    handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    draft.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _damaged() -> Unreadable:
    return Unreadable(
        "this client's memory cannot be read.",
        why="A client that forgets what it has told would tell it all again.",
        fix="Put back the file as it was; it is written by this client alone.",
    )


def _unavailable() -> LedgerUnavailable:
    return LedgerUnavailable(
        "this client's memory could not be read or written.",
        why="What a report costs is on disk before the report leaves.",
        fix="Make the folder of state=... writable, with room on the disk.",
    )
