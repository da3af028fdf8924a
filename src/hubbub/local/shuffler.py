"""The shuffler: stands between people and collector, and passes reports on stripped, in batches, in random order.

The collector then sees what was reported and not by whom or in which order; the shuffler sees who sent something and is
trusted not to tell the collector. ``mixnet`` does without that trust in any single hop.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import TypeVar

import numpy as np

from hubbub import noise
from hubbub.local import wire
from hubbub.local.collection import Collection
from hubbub.noise._source import SECURE
from hubbub.terms import BadReport, OutOfRange, whole

TAKEN = "taken"
Item = TypeVar("Item")


class Shuffler:
    """Collects reports of one collection, epoch by epoch, until enough are there to hide among.

    Guarantee: a batch is one epoch's reports, at least ``minimum`` of them, in an order that is exactly uniform and
    independent of the order of arrival; nothing else of what came with a report is kept, and ids are replaced.
    Because: ``permute`` ranks by independent random words; what shuffling then adds to the epsilon of each report is
    [FMT21], for as many *honest* reports as are in the batch (``hubbub.local.shuffle``).
    Not covered: a shuffler that talks to the collector; batches that somebody fills with reports of their own.

    An id is replaced by its keyed hash: a report that is sent again gets the same new id, so the collector still counts
    it once, and nobody who saw it on its way to the shuffler can find it behind it. Who restarts a shuffler within an
    epoch gives it the same ``key``.
    """

    def __init__(self, collection: Collection, *, minimum: int | None = None, key: bytes | None = None) -> None:
        self.collection = collection
        wanted = collection.minimum_batch if minimum is None else whole(minimum, name="minimum")
        self.minimum = max(wanted, collection.minimum_batch)
        self._key = secrets.token_bytes(32) if key is None else key
        self._waiting: dict[int, dict[bytes, bytes]] = {}

    def add(self, data: bytes) -> str:
        """Take a packed report: "taken", or the reason why not (one of ``wire.REASONS``)."""
        try:
            report = wire.parse(self.collection, data)
        except BadReport as error:
            return error.reason
        return self._take(report)

    def add_batch(self, data: bytes) -> dict[str, int]:
        """Take a frame of reports: how many were taken, and how many were not for which reason."""
        batch = wire.parse_batch(self.collection, data)
        told = batch.counts()
        for epoch, mark, payload in zip(batch.epochs.tolist(), batch.ids, batch.payloads, strict=True):
            outcome = self._take(wire.Report(epoch=epoch, id=mark.tobytes(), payload=payload.tobytes()))
            told[outcome] = told.get(outcome, 0) + 1
        return told

    def ready(self) -> list[int]:
        """The epochs for which enough reports are waiting."""
        return [epoch for epoch, waiting in sorted(self._waiting.items()) if len(waiting) >= self.minimum]

    def flush(self, epoch: int) -> bytes:
        """The waiting reports of an epoch as one frame, permuted; refused while they are too few."""
        if epoch not in self.ready():
            raise too_few(self.minimum)
        return wire.pack_batch(permute(list(self._waiting.pop(epoch).values())))

    def _take(self, report: wire.Report) -> str:
        mark = hmac.digest(self._key, report.epoch.to_bytes(4, "little") + report.id, hashlib.sha256)[:16]
        data = wire.pack(self.collection, wire.Report(epoch=report.epoch, id=mark, payload=report.payload))
        waiting = self._waiting.setdefault(report.epoch, {})
        if waiting.setdefault(mark, data) != data:
            return "replay"
        return TAKEN


def permute(items: Sequence[Item], *, rng: noise.Source | None = None) -> list[Item]:
    """The items in an order that is uniform among all, from the secure source.

    Each item gets a random word and all are ranked by it; should two words ever be equal, all are drawn again, so that
    every order has exactly the same chance.

    >>> sorted(permute(["a", "b", "c"]))
    ['a', 'b', 'c']
    """
    source = SECURE if rng is None else rng
    while True:
        words = source.words(len(items))
        order = np.argsort(words)
        if len(items) < 2 or (np.diff(words[order]) > 0).all():
            return [items[place] for place in order.tolist()]


def too_few(minimum: int) -> OutOfRange:
    """The refusal to pass on a batch in which people could not hide."""
    return OutOfRange(
        f"a batch needs at least {minimum} reports, and fewer are waiting.",
        why="In a small batch a report is easily told from the others.",
        fix="Wait until ready() says so; what is too late stays where it is.",
    )
