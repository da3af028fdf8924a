"""The shuffler: stands between people and collector, and passes reports on stripped, in batches, in random order.

The collector then sees what was reported and not by whom or in which order; the shuffler sees who sent something and is
trusted not to tell the collector. ``mixnet`` does without that trust in any single hop.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TypeVar

import numpy as np

from hubbub import noise
from hubbub.local.collection import report_wire, tokens
from hubbub.local.collection.collection import Collection
from hubbub.local.shuffling.report_queue import NEW, SAME, Queue
from hubbub.noise import SECURE
from hubbub.terms import BadReport, MissingParameter, OutOfRange, whole

TAKEN, KNOWN = "taken", "duplicates"
_LARGEST = 4 * 2**20  # bytes of a batch, half of what a collector takes at once
Item = TypeVar("Item")


class Shuffler:
    """Collects reports of one collection, epoch by epoch, until enough are there to hide among.

    Guarantee: a batch is one epoch's reports, at least ``minimum`` of them, each valid and none of them in another
    batch, in an order that is exactly uniform and independent of the order of arrival; nothing else of what came with a
    report is kept, and ids are replaced.
    Because: ``permute`` ranks by independent random words; ids are known under a secret for as long as ``queue`` lives;
    what shuffling then adds to the epsilon of each report is [FMT21], for as many *honest* reports as are in the batch
    (``local.amplification.shuffle_bounds``): whoever claims it says which share of the reports is taken for honest.
    Not covered: a shuffler that talks to the collector; batches that somebody fills with reports of their own, which
    look like any others. ``per_token`` limits how many one sender can have in an epoch.

    ``queue`` is a file in which reports wait: with it nothing that was taken is lost when the shuffler stops, and
    nothing is counted again when it goes on. Without it they wait in memory. An id is replaced by its keyed hash:
    nobody who saw a report on its way to the shuffler can find it behind it.
    """

    def __init__(
        self,
        collection: Collection,
        *,
        minimum: int | None = None,
        queue: str | Path | None = None,
        per_token: int | None = None,
        public_key: str | None = None,
    ) -> None:
        self.collection = collection
        wanted = collection.minimum_batch if minimum is None else whole(minimum, name="minimum")
        self.minimum = max(wanted, collection.minimum_batch)
        self.per_token = None if per_token is None else whole(per_token, name="per_token")
        self._public_key = _key_for_tokens(public_key) if per_token is not None else ""
        self._queue = Queue(queue, digest=collection.digest)

    def close(self) -> None:
        """Let the queue go; what waits in a file waits on."""
        self._queue.close()

    def add(self, data: bytes, *, token: str | None = None) -> str:
        """Take a packed report: "taken", "duplicates" if it came before, or the reason why not."""
        try:
            report = report_wire.parse(self.collection, data)
        except BadReport as error:
            return error.reason
        mark = self._mark(token)
        with self._queue.turn():
            return self._take(report, mark)

    def add_batch(self, data: bytes, *, token: str | None = None) -> dict[str, int]:
        """Take a frame of reports, all of them or none: how many were taken, and how many were not for which reason."""
        batch = report_wire.parse_batch(self.collection, data)
        counts, mark = Counter(batch.counts()), self._mark(token)
        with self._queue.turn():
            for epoch, name, payload in zip(batch.epochs.tolist(), batch.ids, batch.payloads, strict=True):
                counts[
                    self._take(report_wire.Report(epoch=epoch, id=name.tobytes(), payload=payload.tobytes()), mark)
                ] += 1
        return dict(counts)

    def ready(self) -> list[int]:
        """The epochs for which enough reports are waiting: new ones, each valid and counted once."""
        return [epoch for epoch, count in self._queue.waiting().items() if count >= self.minimum]

    def flush(self, epoch: int) -> bytes:
        """The waiting reports of an epoch as one frame, permuted; refused while they are too few."""
        with self._queue.turn():
            if epoch not in self.ready():
                raise too_few(self.minimum)
            return report_wire.pack_batch(permute(self._queue.take(epoch)))

    def batches(self) -> list[tuple[bytes, bytes]]:
        """Batches to send, with a number each: those that wait for an acknowledgement, and all that are ready now."""
        for epoch in self.ready():
            with self._queue.turn():
                for part in self._parts(permute(self._queue.take(epoch))):
                    self._queue.post(report_wire.pack_batch(part))
        return self._queue.batches()

    def arrived(self, number: bytes) -> None:
        """Forget a batch: the collector has acknowledged it."""
        self._queue.arrived(number)

    def _parts(self, reports: list[bytes]) -> list[list[bytes]]:
        """Reports in as few batches as a collector takes at once, each of them large enough to hide in."""
        wanted = -(-len(reports) * len(reports[0]) // _LARGEST)
        count = max(1, min(wanted, len(reports) // self.minimum))
        ends = [len(reports) * part // count for part in range(count + 1)]
        return [reports[low:high] for low, high in pairwise(ends)]

    def _mark(self, token: str | None) -> bytes | None:
        return None if self.per_token is None else tokens.token_mark(self.collection, self._public_key, token)

    def _take(self, report: report_wire.Report, token: bytes | None) -> str:
        if self.per_token is not None and token is None:
            return "token"
        name = self._queue.hashed(report.epoch.to_bytes(4, "little"), report.id)
        data = report_wire.pack(
            self.collection, report_wire.Report(epoch=report.epoch, id=name, payload=report.payload)
        )
        fate = self._queue.add(report.epoch, name, data)
        if fate != NEW:
            return KNOWN if fate == SAME else "replay"
        if self.per_token is not None and token is not None:
            if self._queue.used(report.epoch, token) >= self.per_token:
                self._queue.remove(report.epoch, name)
                return "limit"
            self._queue.use(report.epoch, token)
        return TAKEN


def _key_for_tokens(public_key: str | None) -> str:
    if public_key is None:
        raise MissingParameter(
            "tokens are checked with the collection's public key, and none was given.",
            why="Whoever holds its private key has issued them.",
            fix="Give public_key=..., as the collection's owner published it.",
        )
    return public_key


def permute(items: Sequence[Item], *, rng: noise.RandomSource | None = None) -> list[Item]:
    """The items in an order that is uniform among all, from the secure source.

    Each item gets a random word and all are ranked by it; should two words ever be equal, all are drawn again, so that
    every order has exactly the same chance.

    >>> sorted(permute(["a", "b", "c"]))
    ['a', 'b', 'c']
    """
    source = SECURE if rng is None else rng
    while True:
        words = source.random_words(len(items))
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
