"""The collector: takes batches of reports, keeps each once, counts them, and says what they tell together.

It trusts no report: what is malformed, made for other parameters or sent twice is refused with a reason and counted,
and the rest of the batch is kept. Estimates come from the tally, which is a sum of whole numbers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.local import cost, tokens, wire
from hubbub.local._format import bad_report
from hubbub.local._forms import without_doubles
from hubbub.local._store_file import damaged
from hubbub.local.signing import open_signed
from hubbub.local.store import Fate, Store, Turn
from hubbub.local.tally import Tally
from hubbub.terms import (
    BadCollection,
    BadReport,
    Guarantee,
    Neighbours,
    OutOfRange,
    Unit,
    whole,
)

if TYPE_CHECKING:
    from types import TracebackType

    from hubbub.local._estimates import Estimate

REASONS = (*wire.REASONS, "closed", "token", "limit", "batch")
_AT_ONCE = 20_000  # reports of another store taken over in one transaction


@dataclass(frozen=True, slots=True)
class Taken:
    """What became of a batch: every report in it was accepted, was there already, or was refused for a reason."""

    accepted: int = 0
    duplicates: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, Any]:
        """The answer to the sender."""
        return {"accepted": self.accepted, "duplicates": self.duplicates, "rejected": dict(self.rejected)}

    def __add__(self, other: Taken) -> Taken:
        return Taken(
            self.accepted + other.accepted,
            self.duplicates + other.duplicates,
            dict(Counter(self.rejected) + Counter(other.rejected)),
        )


@dataclass(frozen=True, slots=True)
class Sent:
    """A batch as it came: its bytes, whether they are JSON twins, and the sender's token."""

    data: bytes | str
    twins: bool = False
    token: str | None = None


@dataclass(frozen=True, slots=True)
class _Read:
    """A batch taken apart: which of its reports may be kept, why others may not, and what its token counts under."""

    batch: wire.Batch
    keep: NDArray[np.bool_]
    refused: Counter[str]
    mark: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What this collector asks of senders beyond the collection's own configuration.

    ``open_epochs`` are the epochs that reports may be for now (all that the collection has, if None). ``per_token``
    lets each token (see ``tokens``) send so many reports in an epoch, and nobody without one any. ``shuffled`` says
    that reports come through a shuffler, in batches of at least so many: smaller ones are refused.
    """

    open_epochs: frozenset[int] | None = None
    per_token: int | None = None
    shuffled: int | None = None

    def __post_init__(self) -> None:
        if self.open_epochs is not None:
            object.__setattr__(self, "open_epochs", frozenset(map(int, self.open_epochs)))
        for name in ("per_token", "shuffled"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name=name)


class Collector:
    """One collection's reports, taken in and counted.

    Guarantee: what is kept, shown and estimated is a function of the reports alone, so each person keeps the epsilon
    of the collection's randomizer for each report, and its ``lifetime`` for all of them, against the collector too.
    Because: post-processing [DR14, Prop. 2.1]; the randomizers' own guarantees [KLNRS11].
    Error: estimates are unbiased for those who reported, and their intervals hold the noise alone.
    Not covered: that somebody reported at all; clients that are not ours and randomize less; people who lie (see the
    influence beside each estimate).

    ``account`` (see ``hubbub.ledger.Account``) is charged for the whole collection before anything is taken.
    """

    def __init__(self, store: Store | str | Path, *, rules: Rules | None = None, account: object = None) -> None:
        self.store = store if isinstance(store, Store) else Store(store)
        self.configuration = self.store.configuration
        self.collection = open_signed(self.configuration, self.store.public_key)
        self.rules = rules or Rules()
        if account is not None:
            self.store.keep_receipt(cost.charge(self.collection, account))
        self.receipt = self.store.receipt
        if self.rules.open_epochs is not None:
            with self.store.turn() as turn:
                forgotten = turn.forget_tokens(but=self.rules.open_epochs)
            if forgotten:
                self.store.tidy()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.store.close()

    @property
    def guarantee(self) -> Guarantee:
        """What holds for each person who reports to the end, about what their values were."""
        holds = cost.promise(self.collection)
        kept = "It holds for clients that keep to the collection's configuration, whatever the collector does."
        charged = () if self.receipt is not None else ("Charged to no ledger.",)
        return Guarantee(holds, Unit(), Neighbours.REPLACE, (kept, *charged))

    # ------------------------------------------------------------ taking

    def take(self, data: bytes, *, token: str | None = None) -> Taken:
        """Keep what is good of a batch in binary form; on disk when this returns. An unreadable frame is BadReport."""
        return _or_raise(*self.take_all([Sent(data, token=token)]))

    def take_json(self, data: bytes | str, *, token: str | None = None) -> Taken:
        """The same for a batch in JSON: a list of the reports' twins."""
        return _or_raise(*self.take_all([Sent(data, twins=True, token=token)]))

    def take_all(self, sent: Sequence[Sent]) -> list[Taken | BadReport]:
        """Several batches, each by itself, in one transaction: on disk together when this returns."""
        read = [self._read(each) for each in sent]
        with self.store.turn() as turn:
            return [self._settled(turn, each) for each in read]

    def _read(self, sent: Sent) -> _Read | BadReport:
        """A batch taken apart; nothing is written yet."""
        try:
            batch = self._parsed(sent)
        except BadReport as error:
            return error
        mark = None if self.rules.per_token is None else self._mark(sent.token)
        refused, keep = Counter(batch.counts()), np.ones(len(batch), dtype=bool)
        for reason, bad in self._breaches(batch, mark):
            refused[reason] += int((keep & bad).sum())
            keep &= ~bad
        return _Read(batch, keep, refused, mark)

    def _parsed(self, sent: Sent) -> wire.Batch:
        if sent.twins:
            return wire.parse_json_batch(self.collection, _document(sent.data))
        assert isinstance(sent.data, bytes)
        return wire.parse_batch(self.collection, sent.data)

    def _breaches(self, batch: wire.Batch, mark: bytes | None) -> Iterator[tuple[str, Any]]:
        """Which reports break which of this collector's rules."""
        rules, size = self.rules, len(batch) + len(batch.rejected)
        if rules.shuffled is not None and size < rules.shuffled:
            yield "batch", np.ones(len(batch), dtype=bool)
        if rules.open_epochs is not None:
            yield "closed", ~np.isin(batch.epochs, list(rules.open_epochs))
        if rules.per_token is not None and mark is None:
            yield "token", np.ones(len(batch), dtype=bool)

    def _mark(self, token: str | None) -> bytes | None:
        return tokens.mark(self.collection, self.store.public_key, token)

    def _settled(self, turn: Turn, read: _Read | BadReport) -> Taken | BadReport:
        if isinstance(read, BadReport):
            turn.refuse({read.reason: 1})
            return read
        taken = self._keep(turn, read) + Taken(rejected=+read.refused)
        turn.refuse(taken.rejected)
        return taken

    def _keep(self, turn: Turn, read: _Read) -> Taken:
        """Add the reports epoch by epoch; a token is charged for those that are new."""
        total, batch = Taken(), read.batch
        for epoch in np.unique(batch.epochs[read.keep]).tolist():
            rows = np.flatnonzero(read.keep & (batch.epochs == epoch))
            most = None if read.mark is None else max(0, (self.rules.per_token or 0) - turn.used(epoch, read.mark))
            taken = self._add(turn, epoch, batch.ids[rows], batch.payloads[rows], most)
            if read.mark is not None and taken.accepted:
                turn.use(epoch, read.mark, taken.accepted)
            total = total + taken
        return total

    def _add(self, turn: Turn, epoch: int, ids: Any, payloads: Any, most: int | None = None) -> Taken:
        """Store what is new of one epoch, and count it."""
        fates = turn.add(epoch, list(map(bytes, ids)), list(map(bytes, payloads)), most=most)
        new = np.fromiter((fate is Fate.NEW for fate in fates), dtype=bool, count=len(fates))
        if new.any():
            randomizer = self.collection.randomizer
            turn.tally(epoch, randomizer.accumulate(randomizer.unpack(payloads[new])), int(new.sum()))
        came = Counter(fates)
        rejected = {fate.value: came[fate] for fate in (Fate.OTHER, Fate.OVER) if came[fate]}
        return Taken(came[Fate.NEW], came[Fate.SAME], rejected)

    def absorb(self, other: Store | str | Path) -> Taken:
        """Take over every report of another store of the same collection; what is here already is not counted again."""
        source = other if isinstance(other, Store) else Store(other)
        if open_signed(source.configuration, source.public_key).digest != self.collection.digest:
            raise BadCollection(
                "the other store is of another collection.",
                why="Reports mean something only under the parameters under which they were made.",
                fix="Merge stores that were made with one configuration.",
            )
        total = Taken()
        for epoch in source.epochs():
            for part in source.reports(epoch, at_once=_AT_ONCE):
                ids, payloads = zip(*part, strict=True)
                with self.store.turn() as turn:
                    total = total + self._add(turn, epoch, ids, _rows(payloads))
        return total

    # ------------------------------------------------------------ reading

    def tally(self, epoch: int = 0) -> Tally:
        """What an epoch's reports add up to."""
        if not 0 <= epoch < self.collection.epochs:
            raise OutOfRange(
                f"this collection has the epochs 0 to {self.collection.epochs - 1}, and epoch {epoch} was asked for.",
                why="Epochs are numbered from 0 in the collection's configuration.",
                fix="Ask for one of those.",
            )
        state, count = self.store.state(epoch, size=self.collection.randomizer.state_size)
        return Tally(self.collection, epoch, state, count)

    def estimate(self, epoch: int = 0) -> Estimate:
        """What an epoch's reports say together; nothing below the collection's minimum batch."""
        return self.tally(epoch).estimate()

    def recount(self, epoch: int = 0) -> Tally:
        """The tally worked out again from the stored reports; it must be the one that ``tally`` gives."""
        total, randomizer = Tally.empty(self.collection, epoch), self.collection.randomizer
        for part in self.store.reports(epoch):
            payloads = [payload for _, payload in part]
            if any(len(payload) != randomizer.payload_bytes for payload in payloads):
                raise damaged(self.store.path)
            state = randomizer.accumulate(randomizer.unpack(_rows(payloads)))
            total = total + replace(total, state=state, reports=len(part))
        return total

    def latest(self) -> int:
        """The last epoch that has reports, or 0."""
        return max(self.store.epochs(), default=0)


def _or_raise(found: Taken | BadReport) -> Taken:
    if isinstance(found, BadReport):
        raise found
    return found


def _document(data: bytes | str) -> object:
    try:
        return json.loads(data, object_pairs_hook=without_doubles)
    except (ValueError, RecursionError):
        raise bad_report("malformed") from None


def _rows(payloads: Iterable[bytes]) -> Any:
    """Payloads of one length as rows of bytes."""
    parts = list(payloads)
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), -1)
