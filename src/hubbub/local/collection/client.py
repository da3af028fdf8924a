"""The client: one person's side of a collection. It remembers, keeps the caps, and never falls silent."""

from __future__ import annotations

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

from hubbub import noise
from hubbub.durable import canonical_json
from hubbub.local.collection import report_wire
from hubbub.local.collection.client_state import ClientStateFile, Memory, Record, SeenConfiguration
from hubbub.local.collection.collection import Collection, bad_collection, one_form
from hubbub.local.collection.randomizer_config import distribution_parameters
from hubbub.local.collection.signed_configuration import open_signed
from hubbub.local.longitudinal.lifetime import Caps, CollectionSpending, Lifetime, price_of
from hubbub.local.longitudinal.memoizing import Memoizing
from hubbub.local.longitudinal.memories import memory_of
from hubbub.local.randomizers.base import FrequencyRandomizer, Randomizer
from hubbub.local.randomizers.binary import SignResponse
from hubbub.local.randomizers.common.exact_words import integer_below
from hubbub.noise import SECURE
from hubbub.terms import MissingParameter, OutOfRange, exact, whole


class Client:
    """Makes one person's reports for a collection, one in each epoch.

    Guarantee: each report is epsilon-LDP for the value it is made from, or (epsilon, delta)-LDP with ``LocalGaussian``.
    Over time, for all collections that share the file ``state``: what is charged never exceeds the caps, nor the
    collection's ``lifetime``; past them, reports say nothing of new values. ``lifetime()`` tells what all reports
    together protect: a value that never changes, values that change at known times, and the worst case. A configuration
    older than one that was followed is refused, and so is one about another attribute than before.
    Because: ``docs/proofs/lifetime.md``, after [EPK14] and [APPG23]; charges are on disk before a report leaves.
    Not covered: that a person takes part; the state file itself, which holds remembered values and stays at home.

    The same epoch gives the same bytes again, so sending may be repeated. A value outside the domain counts as the
    randomizer's ``missing``: whether a client reports must not depend on its value.

    >>> import tempfile
    >>> from hubbub.local import Collection, KaryResponse
    >>> bread = Collection(name="bread", question="Bread?", randomizer=KaryResponse(epsilon=1, domain=2), epochs=30)
    >>> with tempfile.TemporaryDirectory() as home:
    ...     alice = Client(bread, state=f"{home}/memory.json", caps=Caps(attribute=3, total=10))
    ...     reports = [alice.report(1, epoch=day) for day in range(30)]
    ...     alice.lifetime().worst_case, alice.report(1, epoch=29) == reports[29]
    (Fraction(3, 1), True)
    """

    def __init__(
        self, config: str | Collection, public_key: str | None = None, *, state: str | Path, caps: Caps | None = None
    ) -> None:
        self.collection = _open_collection(config, public_key)
        self.caps = Caps() if caps is None else caps
        self._state = ClientStateFile(state)
        self._law = _distribution_digest(self.collection.randomizer)

    def report(self, value: object, *, epoch: int = 0, rng: noise.RandomSource | None = None) -> bytes:
        """The packed report for an epoch; what it costs is on disk when this returns."""
        number = self._epoch(epoch)
        with self._state.locked():
            memory = self._state.read()
            _note_version(memory, self.collection)
            data = self._report(memory.records, value, number, SECURE if rng is None else rng)
            self._state.write(memory)
        return data

    def lifetime(self) -> Lifetime:
        """What this client has given away, over all collections that share its state."""
        with self._state.locked():
            return _sum_lifetime(self._state.read().records, self.caps)

    def _report(self, records: list[Record], value: object, epoch: int, source: noise.RandomSource) -> bytes:
        last = max((r for r in records if r.collection == self.collection.id), key=_epoch_of, default=None)
        if last is not None and epoch <= last.epoch:
            return _last_report(last, epoch)
        maker = _Maker(self.collection, self._record(records), source)
        return maker.make(value, epoch, room=self._room(records))

    def _epoch(self, epoch: object) -> int:
        number = whole(epoch, name="epoch", least=0)
        if number >= self.collection.epochs:
            raise OutOfRange(
                f"epoch must be below {self.collection.epochs} and is {number}.",
                why="The collection says how many epochs it has.",
                fix="Give an epoch of the collection; they start at 0.",
            )
        return number

    def _record(self, records: list[Record]) -> Record:
        """The record of this collection under its distribution; room for memos is reserved when the client joins."""
        mine = (r for r in records if r.collection == self.collection.id and r.law == self._law)
        record = next(mine, None)
        if record is None:
            record = _new_record(self.collection, self._law)
            if memory := memory_of(self.collection.randomizer):
                record.charges = min(self._room(records) // Fraction(record.price), memory.kinds)
            records.append(record)
        return record

    def _room(self, records: list[Record]) -> Fraction:
        """What may still be charged, under the client's caps and the collection's own."""
        own = sum((r.charges * Fraction(r.price) for r in records if r.collection == self.collection.id), Fraction(0))
        room = _sum_lifetime(records, self.caps).room(self.collection.attribute)
        return max(Fraction(0), min(room, self.collection.cap - own))


class _Maker:
    """One report: random words are taken in the order id, part, memo, step, or id, report."""

    def __init__(self, collection: Collection, record: Record, source: noise.RandomSource) -> None:
        self._collection, self._record, self._source = collection, record, source

    def make(self, value: object, epoch: int, *, room: Fraction) -> bytes:
        randomizer, record = self._collection.randomizer, self._record
        mark = self._source.random_words(2).tobytes()
        shown = _value_or_missing(self._collection, value)
        if memory := memory_of(randomizer):
            report = self._remembered(memory, int(randomizer.codes([shown])[0]))
        else:
            report = self._fresh(randomizer, shown, informative=room >= Fraction(record.price))
        payload = randomizer.pack([report])[0].tobytes()
        data = report_wire.pack(self._collection, report_wire.Report(epoch=epoch, id=mark, payload=payload))
        record.epoch, record.report = epoch, data.hex()
        return data

    def _fresh(self, randomizer: Randomizer, value: Any, *, informative: bool) -> Any:
        """A report of its own; past a cap, the report of a random value."""
        self._count(informative)
        self._record.charges += informative
        shown = value if informative else self._any_value(randomizer)
        return randomizer.randomize(shown, rng=self._source)

    def _remembered(self, memory: Memoizing, code: int) -> Any:
        """A fresh step on the memo of the value's kind; past a cap, on a memo of a random kind, kept by nobody."""
        record = self._record
        if record.part is None:
            record.part = f"{memory.part(self._words(memory.part_words)):x}"
        part = int(record.part, 16)
        kind = memory.kind(part, code)
        informative = str(kind) in record.memos or len(record.memos) < record.charges
        self._count(informative)
        if not informative:
            kind = integer_below(self._words(1)[0], memory.kinds)
            return self._step(memory, part, memory.memo(part, kind, self._words(memory.memo_words)))
        if str(kind) not in record.memos:
            record.memos[str(kind)] = f"{memory.memo(part, kind, self._words(memory.memo_words)):x}"
        return self._step(memory, part, int(record.memos[str(kind)], 16))

    def _step(self, memory: Memoizing, part: int, memo: int) -> Any:
        return memory.step(part, memo, self._words(memory.step_words))

    def _any_value(self, randomizer: Randomizer) -> Any:
        if isinstance(randomizer, FrequencyRandomizer):
            return integer_below(self._words(1)[0], randomizer.domain)
        return _missing_value(randomizer)

    def _count(self, informative: bool) -> None:
        self._record.informative += informative
        self._record.silent += not informative

    def _words(self, count: int) -> list[int]:
        words: list[int] = self._source.random_words(count).tolist()
        return words


def _value_or_missing(collection: Collection, value: object) -> Any:
    """The value as the randomizer takes it. Whatever it does not know counts as missing: nothing here may fail."""
    if isinstance(value, str) and one_form(value) in collection.answers:
        return collection.answers.index(one_form(value))
    if not isinstance(value, int | float | np.integer | np.floating):
        return _missing_value(collection.randomizer)
    counts = isinstance(collection.randomizer, FrequencyRandomizer | SignResponse)
    if counts and isinstance(value, float | np.floating):
        return int(value) if float(value).is_integer() else _missing_value(collection.randomizer)
    return value


def _missing_value(randomizer: Randomizer) -> Any:
    """The public value that stands for any other."""
    missing = exact(getattr(randomizer, "missing", 0), name="missing")
    return int(missing) if missing.denominator == 1 else float(missing)


def _open_collection(config: str | Collection, public_key: str | None) -> Collection:
    if isinstance(config, Collection):
        return config
    if public_key is None:
        raise MissingParameter(
            "a signed configuration needs the public key that it is checked with.",
            why="Whoever can change a configuration on its way could ask for less noise.",
            fix="Give public_key=..., as the collection's owner published it; never take it from the configuration.",
        )
    return open_signed(config, public_key)


def _note_version(memory: Memory, collection: Collection) -> None:
    """Note the newest configuration. An old signature stays valid for ever, and must not bring back what was replaced.

    A new version may have another distribution: that has a record and a price of its own, under the same caps. What it
    is about stays, or the caps of the old and of the new attribute would each hold half of what was told.
    """
    mine = SeenConfiguration(collection.version, collection.digest.hex(), collection.attribute)
    known = memory.seen.get(collection.id, mine)
    if mine.attribute != known.attribute:
        raise bad_collection("it was about another attribute before, under which this client has counted its reports")
    if mine != known and mine.version <= known.version:
        raise bad_collection(f"this client has followed version {known.version}, and this is not a newer one")
    memory.seen[collection.id] = mine


def _new_record(collection: Collection, law: str) -> Record:
    memory = memory_of(collection.randomizer)
    again, delta = memory.again if memory else None, getattr(collection.randomizer, "delta", None)
    return Record(
        collection=collection.id,
        law=law,
        name=collection.name,
        attribute=collection.attribute,
        price=str(price_of(collection.randomizer)),
        memoised=memory is not None,
        again=None if again is None else str(again),
        delta=None if delta is None else str(delta),
    )


def _distribution_digest(randomizer: Randomizer) -> str:
    return hashlib.sha256(canonical_json(distribution_parameters(randomizer)).encode()).hexdigest()


def _sum_lifetime(records: list[Record], caps: Caps) -> Lifetime:
    return Lifetime(spent=tuple(_record_spending(record) for record in records), caps=caps)


def _record_spending(record: Record) -> CollectionSpending:
    return CollectionSpending(
        collection=record.name,
        attribute=record.attribute,
        epsilon=Fraction(record.price),
        charges=record.charges,
        informative=record.informative,
        silent=record.silent,
        memoized=record.memoised,
        memos=len(record.memos),
        again=None if record.again is None else Fraction(record.again),
        delta=Fraction(record.delta or 0),
    )


def _epoch_of(record: Record) -> int:
    return record.epoch


def _last_report(last: Record, epoch: int) -> bytes:
    """The report that was made for this epoch, if it is the last one."""
    if epoch < last.epoch:
        raise OutOfRange(
            f"epoch must not go back: the last one was {last.epoch}, and {epoch} came.",
            why="One report is made in each epoch, in order.",
            fix="Report for the present epoch; what was missed stays missing.",
        )
    return bytes.fromhex(last.report)
