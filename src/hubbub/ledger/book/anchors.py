"""Anchors: the last head seen and what each population had spent by then, kept in a second place.

One small file for each population and one for the owners' entries. A file has two slots, written in turn, each with a
number and a checksum: a write that is torn leaves the other slot whole. A slot is written before an answer is shown,
survives the death of the process at once, and is forced to disk at most once a second (and always when entries come
slower than that). An anchor never goes back, whichever of many processes writes it.
"""

from __future__ import annotations

import hashlib
import os
import struct
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from hubbub.accounting import Amount
from hubbub.durable import PRIVATE, locked, sync_data, sync_folder, write_fully
from hubbub.ledger.book.chain import sha256_hex
from hubbub.ledger.book.second_place import no_place

OWNERS = ""  # the anchor of entries that belong to no population
_SLOT = 1024
_FORM = struct.Struct(">8sQQ32s256sH402s")  # magic, write number, sequence, head, eight numbers of totals, name
_MAGIC = b"hubbub-2"
_FIRST_FORM = struct.Struct(">8sQQ32s128sH402s")  # of version 0.1: four numbers, nothing of the basic account
_FIRST_MAGIC = b"hubbub-1"
_PAUSE = 1.0  # seconds between two forced writes
Totals = tuple[Amount, Amount]  # questions, plans
Check = Callable[["Anchor"], None]


class Anchor(NamedTuple):
    """What one file says: a head, and what its population had spent up to it."""

    name: str
    sequence: int
    head: bytes
    totals: Totals
    number: int = 0
    knows_basic: bool = True  # False for one that 0.1 wrote

    def pack(self) -> bytes:
        """The slot."""
        amounts = b"".join(number.to_bytes(32, "big") for total in self.totals for number in total)
        name = self.name.encode()
        body = _FORM.pack(_MAGIC, self.number, self.sequence, self.head, amounts, len(name), name)
        return (body + hashlib.sha256(body).digest()).ljust(_SLOT, b"\0")

    @classmethod
    def unpack(cls, slot: bytes) -> Anchor | None:
        """The anchor in a slot, or None if it is empty or torn."""
        form, magic = (_FIRST_FORM, _FIRST_MAGIC) if slot.startswith(_FIRST_MAGIC) else (_FORM, _MAGIC)
        body, check = slot[: form.size], slot[form.size : form.size + 32]
        if len(check) < 32 or hashlib.sha256(body).digest() != check or not slot.startswith(magic):
            return None
        _, number, sequence, head, amounts, length, name = form.unpack(body)
        numbers = [int.from_bytes(amounts[i : i + 32], "big") for i in range(0, len(amounts), 32)]
        half = len(numbers) // 2
        totals = (Amount(*numbers[:half]), Amount(*numbers[half:]))
        return cls(name[:length].decode(errors="replace"), sequence, head, totals, number, magic == _MAGIC)


class Anchors:
    """The anchors of one ledger."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: dict[str, int] = {}
        self._forced: dict[str, float] = {}
        self._written: dict[str, tuple[bytes, Anchor]] = {}
        self._pid, self._lock = os.getpid(), threading.Lock()

    def cover(
        self, name: str, sequence: int, head: bytes, totals: Totals, *, check: Check | None = None, force: bool = False
    ) -> None:
        """Make sure that the anchor is at ``sequence`` or later, with totals of at least these.

        ``check`` is given an anchor that somebody else wrote and refuses one that is of another book: of two copies of
        a ledger, the first to anchor is the one that goes on.
        """
        if self._pid != os.getpid():
            self._renew()
        with self._lock:
            try:
                handle = self._handle(name)
                checked = self._check(self._newest(name, handle), check)  # others need not wait for this
                with locked(handle):
                    self._write(name, handle, Anchor(name, sequence, head, totals, 1), check, checked)
                self._maybe_force(name, handle, force)
            except OSError as error:
                raise no_place() from error

    def _check(self, anchor: Anchor | None, check: Check | None) -> Anchor | None:
        if check is not None and anchor is not None and not self.is_own(anchor):
            check(anchor)
        return anchor

    def _write(self, name: str, handle: int, new: Anchor, check: Check | None, checked: Anchor | None) -> None:
        old = self._newest(name, handle)
        if old != checked:
            self._check(old, check)
        anchor = _merge_anchors(old, new)
        if anchor is not old:
            slot = anchor.pack()
            write_fully(handle, slot, _SLOT * (anchor.number % 2))
            self._written[name] = (slot, anchor)

    def latest(self, name: str) -> Anchor | None:
        """The anchor of one population, as anybody wrote it last."""
        if self._pid != os.getpid():
            self._renew()
        with self._lock:
            try:
                return self._newest(name, self._handle(name))
            except OSError as error:
                raise no_place() from error

    def is_own(self, anchor: Anchor) -> bool:
        """Whether nobody has written another since this process wrote it."""
        return anchor is self._written.get(anchor.name, (b"", None))[1]

    def read(self) -> dict[str, Anchor]:
        """Every anchor there is."""
        anchors: dict[str, Anchor] = {}
        for path in sorted(self._folder.glob("*.anchor")):
            handle = os.open(path, os.O_RDONLY)
            try:
                anchor = newest_anchor(os.pread(handle, 2 * _SLOT, 0))
            finally:
                os.close(handle)
            if anchor is not None:
                anchors[anchor.name] = anchor
        return anchors

    def close(self) -> None:
        """Force what was written to disk, and let the files go."""
        for handle in self._files.values():
            if self._pid == os.getpid():
                sync_data(handle)
            os.close(handle)
        self._files = {}

    def _newest(self, name: str, handle: int) -> Anchor | None:
        """The newer slot; not unpacked again if it is the one this process wrote last, and the other is older."""
        content = os.pread(handle, 2 * _SLOT, 0)
        slot, anchor = self._written.get(name, (b"", None))
        if anchor is not None:
            place = _SLOT * (anchor.number % 2)
            other = content[_SLOT - place : 2 * _SLOT - place]
            if content[place : place + _SLOT] == slot and _write_number(other) < anchor.number:
                return anchor
        return newest_anchor(content)

    def _maybe_force(self, name: str, handle: int, force: bool) -> None:
        now = time.monotonic()
        if force or now - self._forced.get(name, -_PAUSE) >= _PAUSE:
            sync_data(handle)
            self._forced[name] = now

    def _renew(self) -> None:
        """In a child: locks belong to open files, which a fork shares, and a thread of the parent may hold ours."""
        self._lock = threading.Lock()
        self.close()
        self._pid = os.getpid()

    def _handle(self, name: str) -> int:
        handle = self._files.get(name)
        if handle is None:
            handle = self._files[name] = self._open(name)
        return handle

    def _open(self, name: str) -> int:
        path = self._folder / f"{sha256_hex(name)[:32]}.anchor"
        new = not path.exists()
        handle = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE)
        if new:
            sync_folder(self._folder)
        return handle


def newest_anchor(content: bytes) -> Anchor | None:
    """The newer of the two slots that are whole."""
    slots = [Anchor.unpack(content[:_SLOT]), Anchor.unpack(content[_SLOT:])]
    return max((s for s in slots if s is not None), key=lambda s: s.number, default=None)


def _write_number(slot: bytes) -> int:
    return int.from_bytes(slot[8:16], "big")


def _merge_anchors(old: Anchor | None, new: Anchor) -> Anchor:
    """The later head and the larger totals: a process may know either better than the file. ``old`` if it has both."""
    if old is None:
        return new
    pairs = zip(old.totals, new.totals, strict=True)
    questions, plans = (Amount(*map(max, zip(one, other, strict=True))) for one, other in pairs)
    if old.sequence >= new.sequence and old.totals == (questions, plans) and old.knows_basic:
        return old
    later = new if new.sequence > old.sequence else old
    return Anchor(new.name, later.sequence, later.head, (questions, plans), old.number + 1)
