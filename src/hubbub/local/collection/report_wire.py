"""Reports on the wire, format 1: fixed binary, with a JSON twin and a frame for many.

    a report                                              a batch
    offset  bytes  field                                  offset  bytes  field
    0       3      "HBR"                                  0       3      "HBB"
    3       1      format: 1                              3       1      format: 1
    4       1      protocol's code                        4       4      number of reports
    5       3      zero                                   8       4      bytes of each report
    8       4      epsilon of a report, in millionths     12             the reports, all of one length
    12      4      epoch
    16      16     collection's id
    32      16     first half of the parameter digest
    48      16     report's id
    64      ...    payload: what the randomizer made

Whole numbers are little-endian. All reports of a collection have one length, whatever they say, so a damaged report
does not shift the next. Nothing here trusts its input: whatever comes, the answer is a report or ``BadReport`` with
the reason.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.local.collection.collection import Collection
from hubbub.local.collection.report_json import from_twin, to_twin
from hubbub.local.collection.report_layout import (
    BATCH,
    FORMAT,
    FRAME,
    HEAD,
    HEADER,
    MARK,
    MOST_REPORTS,
    PROTOCOLS,
    REASONS,
    REPORT,
    bad_report,
)
from hubbub.terms import BadReport

__all__ = [
    "REASONS",
    "Batch",
    "Report",
    "collection_of",
    "from_json",
    "pack",
    "pack_batch",
    "parse",
    "parse_batch",
    "parse_json_batch",
    "to_json",
]

_MICRO = 10**6


@dataclass(frozen=True, slots=True)
class Report:
    """One report: which epoch it is for, its 128-bit id (drawn at random, to notice it twice), and its payload."""

    epoch: int
    id: bytes
    payload: bytes


@dataclass(frozen=True, slots=True, eq=False)
class Batch:
    """The reports of a batch that can be taken, column by column, and why the others cannot."""

    epochs: NDArray[np.uint32]
    ids: NDArray[np.uint8]
    payloads: NDArray[np.uint8]
    places: NDArray[np.int64]  # where in the batch each of them stood
    rejected: dict[int, str]  # place -> reason

    def __len__(self) -> int:
        return len(self.places)

    def counts(self) -> dict[str, int]:
        """How many were rejected for each reason."""
        return dict(Counter(self.rejected.values()))


def pack(collection: Collection, report: Report) -> bytes:
    """A report in bytes."""
    return _report_header(collection, report.epoch, report.id) + report.payload


def parse(collection: Collection, data: bytes) -> Report:
    """The report that these bytes say, if this collection can take it.

    >>> from hubbub.local import Collection, KaryResponse
    >>> bread = Collection(name="bread", question="Bread today?", randomizer=KaryResponse(epsilon=1, domain=2))
    >>> sent = Report(epoch=0, id=bytes(16), payload=bytes([1]))
    >>> parse(bread, pack(bread, sent)) == sent
    True
    """
    if len(data) != HEADER + collection.randomizer.payload_bytes:
        raise bad_report(_reason_of_length(data))
    batch = _check_rows(collection, np.frombuffer(data, dtype=np.uint8).reshape(1, -1))
    if batch.rejected:
        raise bad_report(batch.rejected[0])
    return Report(epoch=int(batch.epochs[0]), id=batch.ids[0].tobytes(), payload=batch.payloads[0].tobytes())


def to_json(collection: Collection, report: Report) -> dict[str, Any]:
    """The JSON twin: the same fields, with marks as hexadecimal digits and the payload as base64."""
    return to_twin(pack(collection, report))


def from_json(collection: Collection, document: object) -> Report:
    """The report that a JSON twin says, if this collection can take it."""
    return parse(collection, from_twin(document))


def pack_batch(reports: Sequence[bytes]) -> bytes:
    """Many reports, all packed for one collection, in one frame."""
    size = len(reports[0]) if reports else 0
    if any(len(report) != size for report in reports):
        raise bad_report("malformed")
    return FRAME.pack(BATCH, FORMAT, len(reports), size) + b"".join(reports)


def parse_batch(collection: Collection, data: bytes) -> Batch:
    """The reports of a frame, or one report by itself: those that can be taken, and the reasons of the others.

    A frame whose length is not what it says, or whose reports have another length than the collection's, is refused as
    a whole.
    """
    rows = _frame_rows(data)
    size = HEADER + collection.randomizer.payload_bytes
    if len(rows) and rows.shape[1] != size:
        raise bad_report(_reason_of_length(rows[0].tobytes()))
    return _check_rows(collection, rows.reshape(-1, size))


def parse_json_batch(collection: Collection, document: object) -> Batch:
    """The reports of a JSON batch, a list of twins."""
    if not isinstance(document, list) or len(document) > MOST_REPORTS:
        raise bad_report("malformed")
    size = HEADER + collection.randomizer.payload_bytes
    rejected: dict[int, str] = {}
    rows: dict[int, bytes] = {}
    for place, twin in enumerate(document):
        try:
            data = from_twin(twin)
        except BadReport as error:
            rejected[place] = error.reason
            continue
        if len(data) == size:
            rows[place] = data
        else:
            rejected[place] = _reason_of_length(data)
    batch = _check_rows(collection, np.frombuffer(b"".join(rows.values()), dtype=np.uint8).reshape(-1, size))
    return _within_batch(batch, np.fromiter(rows, dtype=np.int64, count=len(rows)), rejected)


def collection_of(data: bytes) -> str | None:
    """The id of the collection for which a report, or the first report of a batch, claims to be."""
    start = FRAME.size if data[:3] == BATCH else 0
    if data[start : start + 3] != REPORT or len(data) < start + HEADER:
        return None
    return bytes(data[start + 16 : start + 32]).hex()


def _epsilon_millionths(collection: Collection) -> int:
    """The epsilon of one report in millionths, rounded up."""
    return -int(-collection.randomizer.epsilon * _MICRO // 1)


@lru_cache(maxsize=256)
def _fixed_header(collection: Collection) -> bytes:
    """The header of every report of a collection, with epoch and id left at zero."""
    code = PROTOCOLS[collection.randomizer.protocol]
    mark = bytes.fromhex(collection.id)
    return HEAD.pack(
        REPORT, FORMAT, code, _epsilon_millionths(collection), 0, mark, collection.digest[:MARK], bytes(MARK)
    )


def _report_header(collection: Collection, epoch: int, mark: bytes) -> bytes:
    fixed = _fixed_header(collection)
    return fixed[:12] + epoch.to_bytes(4, "little") + fixed[16:48] + mark


def _frame_rows(data: bytes) -> NDArray[np.uint8]:
    """The reports of a frame as rows of bytes; a report by itself, which begins otherwise, is one row."""
    if len(data) >= HEADER and data[:3] == REPORT:
        return np.frombuffer(data, dtype=np.uint8).reshape(1, -1)
    if len(data) < FRAME.size or data[:3] != BATCH:
        raise bad_report("malformed")
    _, version, count, size = FRAME.unpack_from(data)
    if version != FORMAT:
        raise bad_report("version")
    if count > MOST_REPORTS or len(data) != FRAME.size + count * size or (count and not size):
        raise bad_report("malformed")
    return np.frombuffer(data, dtype=np.uint8, offset=FRAME.size).reshape(count, size)


def _check_rows(collection: Collection, rows: NDArray[np.uint8]) -> Batch:
    """Rows of the right length, checked field by field; the first reason that applies is the one that is told."""
    fixed = np.frombuffer(_fixed_header(collection), dtype=np.uint8)
    epochs = np.ascontiguousarray(rows[:, 12:16]).view("<u4")[:, 0].astype(np.uint32)
    tests: list[tuple[str, Callable[[], NDArray[np.bool_]]]] = [
        ("malformed", lambda: _same_bytes(rows, fixed, 0, 3) & _same_bytes(rows, fixed, 5, 8)),
        ("version", lambda: _same_bytes(rows, fixed, 3, 4)),
        ("collection", lambda: _same_bytes(rows, fixed, 16, 32)),
        ("protocol", lambda: _same_bytes(rows, fixed, 4, 5)),
        ("epsilon", lambda: _same_bytes(rows, fixed, 8, 12)),
        ("digest", lambda: _same_bytes(rows, fixed, 32, 48)),
        ("epoch", lambda: epochs < collection.epochs),
        ("domain", lambda: collection.randomizer.valid(np.ascontiguousarray(rows[:, HEADER:]))),
    ]
    failed = np.full(len(rows), len(tests), dtype=np.uint8)  # the number of the first test that is not passed
    for number, (_, passed) in reversed(list(enumerate(tests))):
        failed[~passed()] = number
    places, bad = np.flatnonzero(failed == len(tests)), np.flatnonzero(failed < len(tests))
    return Batch(
        epochs=epochs[places],
        ids=rows[places, 48:HEADER],
        payloads=rows[places, HEADER:],
        places=places,
        rejected={place: tests[number][0] for place, number in zip(bad.tolist(), failed[bad].tolist(), strict=True)},
    )


def _same_bytes(rows: NDArray[np.uint8], fixed: NDArray[np.uint8], start: int, stop: int) -> NDArray[np.bool_]:
    equal: NDArray[np.bool_] = (rows[:, start:stop] == fixed[start:stop]).all(axis=1)
    return equal


def _within_batch(batch: Batch, places: NDArray[np.int64], rejected: dict[int, str]) -> Batch:
    """A batch of some rows, seen as part of a larger one: ``places`` says where each row stood there."""
    reasons = {int(places[place]): reason for place, reason in batch.rejected.items()}
    return Batch(
        batch.epochs, batch.ids, batch.payloads, places[batch.places], dict(sorted((reasons | rejected).items()))
    )


def _reason_of_length(data: bytes) -> str:
    """Why bytes of another length than the collection's are refused: mostly damage, or a report of another kind."""
    if len(data) < HEADER or data[:3] != REPORT:
        return "malformed"
    return "version" if data[3] != FORMAT else "malformed"
