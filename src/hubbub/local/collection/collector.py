"""The collector: takes batches of reports, keeps each once, counts them, and says what they tell together.

It trusts no report: what is malformed, made for other parameters or sent twice is refused with a reason and counted,
and the rest of the batch is kept. Estimates come from the tally, which is a sum of whole numbers.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.local.collection import collection_cost, report_wire, tokens
from hubbub.local.collection.configuration_forms import without_doubles
from hubbub.local.collection.report_layout import bad_report
from hubbub.local.collection.report_store import Fate, Store, WriteBatch
from hubbub.local.collection.signed_configuration import open_signed
from hubbub.local.collection.store_file import damaged_store
from hubbub.local.collection.tally import Tally
from hubbub.terms import (
    BadCollection,
    BadReport,
    Guarantee,
    Neighbours,
    OutOfRange,
    Unit,
    fraction_of,
    whole,
)

if TYPE_CHECKING:
    from types import TracebackType

    from hubbub.ledger import AccountLike
    from hubbub.local.estimates import Estimate

REASONS = (*report_wire.REASONS, "closed", "token", "limit", "batch")
_SHUFFLER = b"shuffler"  # what batches of a shuffler with a token count under
_WAY = "way"  # the note in the store of how its reports came
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

    batch: report_wire.Batch
    keep: NDArray[np.bool_]
    refused: Counter[str]
    mark: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What this collector asks of senders beyond the collection's own configuration.

    ``open_epochs`` are the epochs that reports may be for now (all that the collection has, if None). ``per_token``
    lets each token (see ``tokens``) send so many reports in an epoch, and nobody without one any. ``shuffled`` says
    that reports come through a shuffler, in batches that bring at least so many new valid reports of an epoch: smaller
    ones are refused. With both, the shuffler counts what clients' tokens send and shows a token of its own.
    ``honest`` is the share of the reports of a batch whose senders are taken for honest: only among those can anybody
    hide, so a smaller epsilon is claimed for that many and no more.
    """

    open_epochs: frozenset[int] | None = None
    per_token: int | None = None
    shuffled: int | None = None
    honest: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        if self.open_epochs is not None:
            object.__setattr__(self, "open_epochs", frozenset(map(int, self.open_epochs)))
        for name in ("per_token", "shuffled"):
            if getattr(self, name) is not None:
                whole(getattr(self, name), name=name)
        object.__setattr__(self, "honest", fraction_of(self.honest, name="honest", one=True))


@dataclass(frozen=True, slots=True)
class BatchWay:
    """How the reports of a store came: in batches of at least ``batch`` new ones, of which ``honest`` are honest."""

    batch: int
    honest: Fraction

    @property
    def crowd(self) -> int:
        """Among how many honest reports each one hides, itself included."""
        return int(self.batch * self.honest)


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

    def __init__(
        self, store: Store | str | Path, *, rules: Rules | None = None, account: AccountLike | None = None
    ) -> None:
        self.store = store if isinstance(store, Store) else Store(store)
        self.configuration = self.store.configuration
        self.collection = open_signed(self.configuration, self.store.public_key)
        self.rules = rules or Rules()
        if account is not None:
            self.store.keep_receipt(collection_cost.charge_collection(self.collection, account))
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
        holds = collection_cost.lifetime_bound(self.collection)
        kept = "It holds for clients that keep to the collection's configuration, whatever the collector does."
        charged = () if self.receipt is not None else ("Charged to no ledger.",)
        return Guarantee(holds, Unit(), Neighbours.REPLACE, (kept, *charged))

    # ------------------------------------------------------------ taking

    def take(self, data: bytes, *, token: str | None = None) -> Taken:
        """Keep what is good of a batch, or of one report by itself; on disk when this returns. Else BadReport."""
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

    def _parsed(self, sent: Sent) -> report_wire.Batch:
        if sent.twins:
            return report_wire.parse_json_batch(self.collection, _parse_json(sent.data))
        assert isinstance(sent.data, bytes)
        return report_wire.parse_batch(self.collection, sent.data)

    def _breaches(self, batch: report_wire.Batch, mark: bytes | None) -> Iterator[tuple[str, Any]]:
        """Which reports break which of this collector's rules."""
        rules = self.rules
        if rules.open_epochs is not None:
            yield "closed", ~np.isin(batch.epochs, list(rules.open_epochs))
        if rules.per_token is not None and mark is None:
            yield "token", np.ones(len(batch), dtype=bool)

    def _mark(self, token: str | None) -> bytes | None:
        """What a token counts under, or None if it is none: behind a shuffler it must be the shuffler's."""
        key = self.store.public_key
        if self.rules.shuffled is None:
            return tokens.token_mark(self.collection, key, token)
        return _SHUFFLER if tokens.is_shuffler(self.collection, key, token) else None

    def _settled(self, turn: WriteBatch, read: _Read | BadReport) -> Taken | BadReport:
        if isinstance(read, BadReport):
            turn.refuse({read.reason: 1})
            return read
        taken = self._keep(turn, read) + Taken(rejected=+read.refused)
        turn.refuse(taken.rejected)
        return taken

    def _keep(self, turn: WriteBatch, read: _Read) -> Taken:
        """Add the reports epoch by epoch; a token is charged for those that are new."""
        total, batch = Taken(), read.batch
        for epoch in np.unique(batch.epochs[read.keep]).tolist():
            rows = np.flatnonzero(read.keep & (batch.epochs == epoch))
            total = total + self._keep_epoch(turn, epoch, batch.ids[rows], batch.payloads[rows], read.mark)
        return total

    def _keep_epoch(self, turn: WriteBatch, epoch: int, ids: Any, payloads: Any, mark: bytes | None) -> Taken:
        if self.rules.shuffled is not None:
            return self._crowd(turn, epoch, ids, payloads, self.rules.shuffled)
        self._note_way(turn, BatchWay(0, self.rules.honest))
        most = None if mark is None else max(0, (self.rules.per_token or 0) - turn.used(epoch, mark))
        taken = self._add(turn, epoch, ids, payloads, most)
        if mark is not None and taken.accepted:
            turn.use(epoch, mark, taken.accepted)
        return taken

    def _crowd(self, turn: WriteBatch, epoch: int, ids: Any, payloads: Any, least: int) -> Taken:
        """Add a shuffler's batch if it brings enough that is new: junk and copies hide nobody."""
        self._note_way(turn, BatchWay(least, self.rules.honest))
        taken = Taken()
        with turn.unless(lambda: 0 < taken.accepted < least):
            taken = self._add(turn, epoch, ids, payloads)
        if 0 < taken.accepted < least:
            return Taken(0, taken.duplicates, {**taken.rejected, "batch": taken.accepted})
        return taken

    def _note_way(self, turn: WriteBatch, came: BatchWay) -> None:
        """Keep for ever by which way the least protected of the reports came."""
        known, least = turn.about(_WAY), came
        if known or turn.has_reports():
            before = _parse_way(known)
            least = BatchWay(min(before.batch, came.batch), min(before.honest, came.honest))
        if (note := f"{least.batch} {least.honest}") != known:
            turn.note(_WAY, note)

    @property
    def way(self) -> BatchWay | None:
        """How the reports came, if all of them came through a shuffler in large enough batches."""
        known = self.store.about(_WAY)
        if not known and not self.store.epochs():
            return None if self.rules.shuffled is None else BatchWay(self.rules.shuffled, self.rules.honest)
        way = _parse_way(known)
        return way if way.batch > 0 else None

    def _add(self, turn: WriteBatch, epoch: int, ids: Any, payloads: Any, most: int | None = None) -> Taken:
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
                    self._note_way(turn, _parse_way(source.about(_WAY)))
                    total = total + self._add(turn, epoch, ids, _payload_rows(payloads))
        return total

    # ------------------------------------------------------------ reading

    def tally(self, epoch: int = 0) -> Tally:
        """What an epoch's reports add up to, to the last one that came."""
        self._check(epoch)
        state, count = self.store.state(epoch, size=self.collection.randomizer.state_size)
        return Tally(self.collection, epoch, state, count)

    def published(self, epoch: int | None = None) -> Tally:
        """What is shown of an epoch (the last one if None): it moves on by at least the minimum batch at a time."""
        self.store.publish(step=self.collection.minimum_batch)
        number = max(self.store.published_epochs(), default=0) if epoch is None else epoch
        self._check(number)
        state, count = self.store.published_state(number, size=self.collection.randomizer.state_size)
        return Tally(self.collection, number, state, count)

    def estimate(self, epoch: int = 0) -> Estimate:
        """What an epoch's reports say together, to the last that came; nothing below the collection's minimum batch."""
        return self.tally(epoch).estimate()

    def recount(self, epoch: int = 0) -> Tally:
        """The tally worked out again from the stored reports; it must be the one that ``tally`` gives."""
        total, randomizer = Tally.empty(self.collection, epoch), self.collection.randomizer
        for part in self.store.reports(epoch):
            payloads = [payload for _, payload in part]
            if any(len(payload) != randomizer.payload_bytes for payload in payloads):
                raise damaged_store(self.store.path)
            state = randomizer.accumulate(randomizer.unpack(_payload_rows(payloads)))
            total = total + replace(total, state=state, reports=len(part))
        return total

    def _check(self, epoch: int) -> None:
        if not 0 <= epoch < self.collection.epochs:
            raise OutOfRange(
                f"this collection has the epochs 0 to {self.collection.epochs - 1}, and epoch {epoch} was asked for.",
                why="Epochs are numbered from 0 in the collection's configuration.",
                fix="Ask for one of those.",
            )


def _parse_way(note: str) -> BatchWay:
    """What a note says; without one, nothing is known of a shuffler."""
    batch, _, honest = (note or "0 1").partition(" ")
    return BatchWay(int(batch), Fraction(honest))


def _or_raise(outcome: Taken | BadReport) -> Taken:
    if isinstance(outcome, BadReport):
        raise outcome
    return outcome


def _parse_json(data: bytes | str) -> object:
    try:
        return json.loads(data, object_pairs_hook=without_doubles)
    except (ValueError, RecursionError):
        raise bad_report("malformed") from None


def _payload_rows(payloads: Iterable[bytes]) -> Any:
    """Payloads of one length as rows of bytes."""
    parts = list(payloads)
    return np.frombuffer(b"".join(parts), dtype=np.uint8).reshape(len(parts), -1)
