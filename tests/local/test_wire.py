"""The wire: every byte has its meaning, and whatever comes is a report or a refusal with a reason."""

from __future__ import annotations

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import local
from hubbub.local import Collection, Report
from hubbub.local.collection import report_wire
from hubbub.local.collection.report_layout import PROTOCOLS
from hubbub.local.randomizers.base import _PROTOCOLS
from hubbub.terms import BadCollection, BadReport

MARK = "00112233445566778899aabbccddeeff"
BREAD = Collection(
    name="bread", question="?", randomizer=local.KaryResponse(epsilon=0.5, domain=3), epochs=300, id=MARK
)
ID = bytes(range(16))
SENT = report_wire.pack(BREAD, Report(epoch=258, id=ID, payload=b"\x02"))


def reason(data: bytes, collection: Collection = BREAD) -> str:
    with pytest.raises(BadReport) as caught:
        report_wire.parse(collection, data)
    assert caught.value.reason in report_wire.REASONS
    return caught.value.reason


def patched(place: int, new: bytes) -> bytes:
    return SENT[:place] + new + SENT[place + len(new) :]


def test_every_byte_of_a_report_has_its_place() -> None:
    assert (
        b"HBR\x01"
        + bytes([3, 0, 0, 0])
        + struct.pack("<II", 500_000, 258)
        + bytes.fromhex(MARK)
        + BREAD.digest[:16]
        + ID
        + b"\x02"
    ) == SENT
    assert report_wire.parse(BREAD, SENT) == Report(epoch=258, id=ID, payload=b"\x02")


def test_codes_of_protocols_are_different_and_all_have_one() -> None:
    assert len(set(PROTOCOLS.values())) == len(PROTOCOLS)
    assert set(PROTOCOLS) == set(_PROTOCOLS) - {"privunitg"}  # vectors have no fixed form on the wire
    assert {name: PROTOCOLS[name] for name in ("binary", "kary", "projective", "loloha")} == {
        "binary": 1, "kary": 3, "projective": 9, "loloha": 18
    }  # fmt: skip


REFUSED = {
    "empty": (b"", "malformed"),
    "cut": (SENT[:-1], "malformed"),
    "too long": (SENT + b"\0", "malformed"),
    "another mark": (patched(0, b"XYZ"), "malformed"),
    "padding used": (patched(5, b"\1"), "malformed"),
    "a newer format": (patched(3, b"\2"), "version"),
    "a newer and longer format": (patched(3, b"\2") + b"more", "version"),
    "another protocol": (patched(4, b"\4"), "protocol"),
    "another epsilon": (patched(8, struct.pack("<I", 500_001)), "epsilon"),
    "no such epoch": (patched(12, struct.pack("<I", 300)), "epoch"),
    "another collection": (patched(16, b"\1"), "collection"),
    "another digest": (patched(32, bytes(16)), "digest"),
    "outside the domain": (patched(64, b"\3"), "domain"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_taken_is_refused_with_its_reason(name: str) -> None:
    data, expected = REFUSED[name]
    assert reason(data) == expected


def test_a_report_of_other_parameters_is_refused_even_if_its_bytes_would_fit() -> None:
    def other(**more: Any) -> str:
        fields = {"name": "bread", "question": "?", "randomizer": BREAD.randomizer, "epochs": 300, "id": MARK}
        return reason(SENT, Collection(**(fields | more)))  # type: ignore[arg-type]

    assert other(randomizer=local.KaryResponse(epsilon=0.6, domain=3)) == "epsilon"
    assert other(randomizer=local.KaryResponse(epsilon=0.5, domain=4)) == "digest"
    assert other(randomizer=local.BinaryResponse(epsilon=0.5)) == "protocol"
    assert other(version=2) == "digest"
    assert other(id=MARK[::-1]) == "collection"


def test_the_rest_of_a_batch_is_kept() -> None:
    broken = [data for data, _ in REFUSED.values() if len(data) == len(SENT)]
    batch = report_wire.parse_batch(BREAD, report_wire.pack_batch([SENT, *broken, SENT, SENT]))
    assert len(batch) == 3
    assert batch.places.tolist() == [0, len(broken) + 1, len(broken) + 2]
    assert batch.counts() == {
        "malformed": 2, "version": 1, "protocol": 1, "epsilon": 1, "epoch": 1, "collection": 1, "digest": 1, "domain": 1
    }  # fmt: skip
    assert batch.ids[1].tobytes() == ID
    assert batch.epochs.tolist() == [258] * 3


def test_a_frame_of_reports_of_another_length_is_refused_as_a_whole() -> None:
    """However many it says there are: nobody looks at them one by one."""
    wide = Collection(name="wide", question="?", randomizer=local.KaryResponse(epsilon=1, domain=1000))
    data = report_wire.pack(wide, Report(epoch=0, id=ID, payload=b"\1\0"))
    newer = data[:3] + b"\2" + data[4:]
    for frame, reason in (
        (report_wire.pack_batch([data, data]), "malformed"),
        (report_wire.pack_batch([newer, data]), "version"),
        (struct.pack("<3sBII", b"HBB", 1, 1_000_000, 1) + bytes(1_000_000), "malformed"),
    ):
        with pytest.raises(BadReport) as caught:
            report_wire.parse_batch(BREAD, frame)
        assert caught.value.reason == reason


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"HBB\1",
        b"HBR\1" + bytes(8),
        report_wire.pack_batch([SENT])[:-1],
        report_wire.pack_batch([SENT]) + b"\0",
        struct.pack("<3sBII", b"HBB", 1, 1 << 31, 0),
        struct.pack("<3sBII", b"HBB", 1, 5, 0),
    ],
)
def test_a_frame_that_is_not_as_long_as_it_says_is_refused_as_a_whole(frame: bytes) -> None:
    with pytest.raises(BadReport) as caught:
        report_wire.parse_batch(BREAD, frame)
    assert caught.value.reason == "malformed"


def test_a_frame_of_a_newer_format_is_refused() -> None:
    with pytest.raises(BadReport) as caught:
        report_wire.parse_batch(BREAD, b"HBB\2" + bytes(8))
    assert caught.value.reason == "version"


def test_a_report_by_itself_is_a_batch_of_one() -> None:
    """With the same reasons, whatever is wrong with it; nothing of another length is taken for one."""
    for data, why in ((SENT, None), *((data, why) for data, why in REFUSED.values() if len(data) == len(SENT))):
        framed = report_wire.parse_batch(BREAD, report_wire.pack_batch([data]))
        assert list(framed.counts()) == ([] if why is None else [why])
        if data[:3] == SENT[:3]:
            alone = report_wire.parse_batch(BREAD, data)
            assert (alone.counts(), alone.ids.tolist()) == (framed.counts(), framed.ids.tolist())
    for data in (SENT[:-1], SENT + b"\0", SENT + SENT, SENT[:64]):
        with pytest.raises(BadReport) as caught:
            report_wire.parse_batch(BREAD, data)
        assert caught.value.reason == "malformed"


def test_an_empty_frame_is_empty() -> None:
    assert len(report_wire.parse_batch(BREAD, report_wire.pack_batch([]))) == 0


def test_reports_of_different_length_do_not_go_into_one_frame() -> None:
    with pytest.raises(BadReport):
        report_wire.pack_batch([SENT, SENT + b"\0"])


def test_a_large_batch_is_what_its_reports_are_one_by_one() -> None:
    rng = np.random.default_rng(5)
    rows = np.frombuffer(SENT, dtype=np.uint8) + np.zeros((2000, 1), dtype=np.uint8)
    rows[:, 48:64] = rng.integers(0, 256, size=(2000, 16))
    rows[:, 64] = rng.integers(0, 5, size=2000)
    damaged = rng.random(2000) < 0.3
    rows[damaged, rng.integers(0, 48, size=2000)[damaged]] ^= 1
    batch = report_wire.parse_batch(BREAD, report_wire.pack_batch([row.tobytes() for row in rows]))
    for place, row in enumerate(rows):
        if place in batch.rejected:
            assert reason(row.tobytes()) == batch.rejected[place]
        else:
            at = int(np.flatnonzero(batch.places == place)[0])
            found = report_wire.parse(BREAD, row.tobytes())
            assert found == Report(int(batch.epochs[at]), batch.ids[at].tobytes(), batch.payloads[at].tobytes())
    assert 400 < len(batch) < 1600


def test_the_twin_says_the_same() -> None:
    twin = report_wire.to_json(BREAD, report_wire.parse(BREAD, SENT))
    assert twin == {
        "hubbub": "report/1",
        "protocol": "kary",
        "epsilon": 500_000,
        "epoch": 258,
        "collection": MARK,
        "digest": BREAD.digest[:16].hex(),
        "id": ID.hex(),
        "payload": "Ag==",
    }
    assert report_wire.from_json(BREAD, json.loads(json.dumps(twin))) == report_wire.parse(BREAD, SENT)


TWIN = report_wire.to_json(BREAD, report_wire.parse(BREAD, SENT))


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"hubbub": "report/2"}, "version"),
        ({"hubbub": "batch"}, "malformed"),
        ({"protocol": "unheard-of"}, "protocol"),
        ({"epsilon": 1}, "epsilon"),
        ({"epsilon": 0.5}, "malformed"),
        ({"epoch": 4_000_000_000}, "epoch"),
        ({"epoch": -1}, "malformed"),
        ({"epoch": True}, "malformed"),
        ({"collection": "00" * 16}, "collection"),
        ({"digest": "00" * 16}, "digest"),
        ({"id": "00" * 15}, "malformed"),
        ({"id": "é" * 32}, "malformed"),
        ({"payload": "Aw=="}, "domain"),
        ({"payload": "AgAA"}, "malformed"),
        ({"payload": "%%"}, "malformed"),
        ({"payload": "Ah=="}, "malformed"),
        ({"payload": None}, "malformed"),
        ({"digest": None}, "malformed"),
        ({"digest": BREAD.digest[:16].hex().upper()}, "malformed"),
        ({"sender": "Alice"}, "malformed"),
    ],
    ids=str,
)
def test_a_twin_is_refused_for_the_same_reasons(change: dict[str, Any], expected: str) -> None:
    with pytest.raises(BadReport) as caught:
        report_wire.from_json(BREAD, TWIN | change)
    assert caught.value.reason == expected
    batch = report_wire.parse_json_batch(BREAD, [TWIN, TWIN | change, TWIN])
    assert (len(batch), batch.rejected, batch.places.tolist()) == (2, {1: expected}, [0, 2])


def test_a_batch_of_twins_is_a_list() -> None:
    with pytest.raises(BadReport):
        report_wire.parse_json_batch(BREAD, {"reports": []})
    assert len(report_wire.parse_json_batch(BREAD, [])) == 0


def test_the_collection_can_be_looked_up_before_a_report_is_read() -> None:
    assert report_wire.collection_of(SENT) == MARK
    assert report_wire.collection_of(report_wire.pack_batch([SENT])) == MARK
    assert report_wire.collection_of(b"HBR") is None
    assert report_wire.collection_of(b"") is None


def test_a_randomizer_without_a_form_on_the_wire_makes_no_collection() -> None:
    with pytest.raises(BadCollection, match="wire"):
        Collection(name="v", question="?", randomizer=local.PrivUnitG(epsilon=4, dimension=5))


@given(st.binary(max_size=200))
def test_any_bytes_are_refused_in_our_words(data: bytes) -> None:
    with pytest.raises(BadReport):
        report_wire.parse(BREAD, data)
    with pytest.raises(BadReport):
        report_wire.parse_batch(BREAD, data)
    report_wire.collection_of(data)


@given(st.lists(st.tuples(st.integers(0, len(SENT) - 1), st.integers(0, 255)), max_size=4), st.integers(0, 3))
def test_a_damaged_report_is_a_report_or_a_refusal(damage: list[tuple[int, int]], cut: int) -> None:
    data = bytearray(SENT)
    for place, byte in damage:
        data[place] = byte
    sent = bytes(data[: len(data) - cut])
    try:
        found = report_wire.parse(BREAD, sent)
    except BadReport as error:
        assert error.reason in report_wire.REASONS
    else:
        assert report_wire.pack(BREAD, found) == sent


@given(st.binary(max_size=300), st.integers(0, 3), st.integers(0, 80))
def test_a_damaged_frame_is_a_batch_or_a_refusal(tail: bytes, count: int, size: int) -> None:
    frame = struct.pack("<3sBII", b"HBB", 1, count, size) + tail
    try:
        batch = report_wire.parse_batch(BREAD, frame)
    except BadReport as error:
        assert error.reason == "malformed"
    else:
        assert len(batch) + len(batch.rejected) == count


anything = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=40) | st.floats(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=9), inner, max_size=3),
    max_leaves=6,
)


@given(st.dictionaries(st.sampled_from(sorted(TWIN)), anything) | anything)
def test_any_json_is_a_report_or_a_refusal(change: Any) -> None:
    document = TWIN | change if isinstance(change, dict) else change
    try:
        found = report_wire.from_json(BREAD, document)
    except BadReport as error:
        assert error.reason in report_wire.REASONS
    else:
        assert report_wire.to_json(BREAD, found) == document
