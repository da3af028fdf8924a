"""Shuffler and mixnet: nothing that is passed on says whose it was."""

from __future__ import annotations

import sqlite3
import stat
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import local
from hubbub.local import Collection, Collector, Hop, Report, Rules, Shuffler, permute, seal
from hubbub.local.collection import report_wire, tokens
from hubbub.local.shuffling.mixnet import SIZE
from hubbub.local.shuffling.shuffler_http import Relay
from hubbub.noise.testing import seeded
from hubbub.terms import (
    BadCollection,
    BadReport,
    EmptyInput,
    HubbubError,
    InvalidParameter,
    MissingParameter,
    OutOfRange,
    WrongShape,
)
from tests.ledger._processes import Child
from tests.ledger._processes import Report as Tell
from tests.local._collecting import Desk

BREAD = Collection(
    name="bread", question="?", randomizer=local.KaryResponse(epsilon=1, domain=3), epochs=9, minimum_batch=4
)


def report(number: int, *, epoch: int = 0, value: int | None = None) -> bytes:
    mark = number.to_bytes(16, "big")
    return report_wire.pack(
        BREAD, Report(epoch=epoch, id=mark, payload=bytes([number % 3 if value is None else value]))
    )


class Same:
    """A source that gives equal words once, and then what a seed says."""

    def __init__(self) -> None:
        self.calls, self._later = 0, seeded(1)

    def random_words(self, count: int) -> np.ndarray:
        self.calls += 1
        return np.zeros(count, dtype=np.uint64) if self.calls == 1 else self._later.random_words(count)

    def bits(self, count: int) -> int:
        raise AssertionError(count)


def test_every_order_is_equally_likely() -> None:
    rng, runs = seeded(5), 6000
    seen = Counter(tuple(permute("abc", rng=rng)) for _ in range(runs))
    assert set(seen) == set(permutations("abc"))
    spread = sum((count - runs / 6) ** 2 / (runs / 6) for count in seen.values())
    assert spread < 20.5  # chi-square with 5 degrees of freedom: above this once in a thousand


def test_equal_words_are_drawn_again() -> None:
    source = Same()
    assert sorted(permute([3, 1, 2], rng=source)) == [1, 2, 3]
    assert source.calls == 2


@given(st.lists(st.integers(), max_size=9))
def test_nothing_is_lost_by_permuting(items: list[int]) -> None:
    assert sorted(permute(items)) == sorted(items)


def test_a_batch_waits_until_there_is_a_crowd() -> None:
    shuffler = Shuffler(BREAD)
    for number in range(3):
        assert shuffler.add(report(number)) == "taken"
    assert shuffler.ready() == []
    with pytest.raises(OutOfRange, match="at least 4 reports"):
        shuffler.flush(0)
    shuffler.add(report(3))
    assert shuffler.ready() == [0]
    batch = report_wire.parse_batch(BREAD, shuffler.flush(0))
    assert Counter(batch.payloads[:, 0].tolist()) == Counter(n % 3 for n in range(4))
    assert shuffler.ready() == []


def test_epochs_do_not_mix() -> None:
    """A lone report of another epoch would stand out in the batch."""
    shuffler = Shuffler(BREAD)
    for number in range(6):
        shuffler.add(report(number, epoch=0 if number < 5 else 1))
    assert shuffler.ready() == [0]
    assert set(report_wire.parse_batch(BREAD, shuffler.flush(0)).epochs.tolist()) == {0}


def test_a_smaller_minimum_than_the_signed_one_is_not_possible() -> None:
    assert Shuffler(BREAD, minimum=1).minimum == 4
    assert Shuffler(BREAD, minimum=10).minimum == 10


def test_what_is_passed_on_has_new_ids_and_another_order() -> None:
    shuffler = Shuffler(BREAD)
    sent = [report(number) for number in range(200)]
    for data in sent:
        shuffler.add(data)
    batch = report_wire.parse_batch(BREAD, shuffler.flush(0))
    assert not {data[48:64] for data in sent} & {mark.tobytes() for mark in batch.ids}
    assert batch.payloads[:, 0].tolist() != [number % 3 for number in range(200)]


def add_all(shuffler: Shuffler, numbers: Iterable[int], **more: Any) -> Counter[str]:
    return Counter(shuffler.add(report(number), **more) for number in numbers)


def test_copies_do_not_count_towards_a_batch() -> None:
    shuffler = Shuffler(BREAD)
    assert add_all(shuffler, [1, 2, 3, 3, 3, 1]) == {"taken": 3, "duplicates": 3}
    assert shuffler.ready() == []
    assert add_all(shuffler, [4]) == {"taken": 1}
    assert len(report_wire.parse_batch(BREAD, shuffler.flush(0))) == 4


def test_what_was_passed_on_does_not_count_again() -> None:
    """Four copies of reports that went before were a batch, in which one new report stood alone."""
    shuffler = Shuffler(BREAD)
    add_all(shuffler, range(5))
    shuffler.flush(0)
    assert add_all(shuffler, [*range(5), 7]) == {"duplicates": 5, "taken": 1}
    assert shuffler.ready() == []
    assert shuffler.add(report(2, value=0)) == "replay"


def test_what_waits_survives_a_stop_and_is_counted_once(tmp_path: Path) -> None:
    first = Shuffler(BREAD, queue=tmp_path / "queue.db")
    add_all(first, range(3))
    first.close()
    second = Shuffler(BREAD, queue=tmp_path / "queue.db")
    assert add_all(second, range(3)) == {"duplicates": 3}
    assert second.ready() == []
    add_all(second, [3])
    ((number, frame),) = second.batches()
    second.close()
    third = Shuffler(BREAD, queue=tmp_path / "queue.db")
    assert third.batches() == [(number, frame)]  # not acknowledged: the very same bytes again
    third.arrived(number)
    assert add_all(third, range(4)) == {"duplicates": 4}
    third.close()
    fourth = Shuffler(BREAD, queue=tmp_path / "queue.db")
    assert fourth.batches() == []
    assert add_all(fourth, range(4)) == {"duplicates": 4}
    assert len(report_wire.parse_batch(BREAD, frame)) == 4


def test_a_killed_shuffler_has_lost_nothing_that_it_took(tmp_path: Path) -> None:
    """Killed at any moment: what it said it took is there, and the batch it was sending is the same one."""

    def work(tell: Tell) -> None:
        shuffler = Shuffler(BREAD, queue=tmp_path / "queue.db")
        for number in range(10_000):
            shuffler.add(report(number))
            batches = [frame.hex() for _, frame in shuffler.batches()]
            tell(number=number, batches=batches)

    child = Child(work)
    told = [child.next() for _ in range(30)]
    child.kill()
    shuffler = Shuffler(BREAD, queue=tmp_path / "queue.db")
    frames = {frame.hex() for _, frame in shuffler.batches()}
    assert set(told[-1]["batches"]) <= frames
    assert add_all(shuffler, range(30)) == {"duplicates": 30}
    ids = [name.tobytes() for frame in frames for name in report_wire.parse_batch(BREAD, bytes.fromhex(frame)).ids]
    assert len(ids) == len(set(ids)) >= 28


def test_the_file_of_a_queue_is_private_and_does_not_tell_the_order(tmp_path: Path) -> None:
    path = tmp_path / "queue.db"
    shuffler = Shuffler(BREAD, queue=path)
    for number in range(50):
        shuffler.add(report(number, epoch=1))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.stat().st_size for file in tmp_path.glob("queue.db-wal")] in ([], [0])
    with closing(sqlite3.connect(path)) as file:
        rows = file.execute("SELECT id, report FROM waiting").fetchall()
    assert rows == sorted(rows)
    assert [row[1][-1] for row in rows] != [number % 3 for number in range(50)]
    sent = report_wire.pack(BREAD, Report(epoch=1, id=b"an id of its own", payload=b"\1"))
    assert shuffler.add(sent) == "taken"
    assert b"an id of its own" not in path.read_bytes()


def test_a_queue_belongs_to_one_collection(tmp_path: Path) -> None:
    Shuffler(BREAD, queue=tmp_path / "queue.db").close()
    other = replace(BREAD, version=2)
    with pytest.raises(BadCollection, match="another collection"):
        Shuffler(other, queue=tmp_path / "queue.db")
    (tmp_path / "text").write_text("not a queue, but long enough to be taken for one")
    with pytest.raises(HubbubError):
        Shuffler(BREAD, queue=tmp_path / "text")


def test_a_long_queue_is_passed_on_in_batches_that_a_collector_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.local.shuffling.shuffler._LARGEST", 10 * 65)
    shuffler = Shuffler(BREAD)
    add_all(shuffler, range(43))
    sizes = [len(report_wire.parse_batch(BREAD, frame)) for _, frame in shuffler.batches()]
    assert sorted(sizes) == [8, 8, 9, 9, 9]


# Tokens


def test_a_token_may_send_so_many_new_reports(tmp_path: Path) -> None:
    key = local.new_key()
    rules: dict[str, Any] = {"per_token": 2, "public_key": local.public_text(key), "queue": tmp_path / "queue.db"}
    one, other = tokens.issue(BREAD, key), tokens.issue(BREAD, key)
    shuffler = Shuffler(BREAD, **rules)
    assert add_all(shuffler, [1, 1, 2, 3], token=one) == {"taken": 2, "duplicates": 1, "limit": 1}
    assert add_all(shuffler, [3, 4], token=other) == {"taken": 2}
    assert add_all(shuffler, [5]) == {"token": 1}
    assert add_all(shuffler, [5], token=tokens.issue(BREAD, local.new_key())) == {"token": 1}
    shuffler.close()
    again = Shuffler(BREAD, **rules)
    assert add_all(again, [6, 1], token=one) == {"limit": 1, "duplicates": 1}  # also after a restart
    assert len(report_wire.parse_batch(BREAD, again.flush(0))) == 4
    with pytest.raises(MissingParameter):
        Shuffler(BREAD, per_token=1)


def test_a_collector_with_tokens_takes_a_shufflers_batches(tmp_path: Path) -> None:
    """The shuffler dropped tokens, and the collector then refused every report."""
    desk = Desk(BREAD, tmp_path)
    client, mixer = tokens.issue(BREAD, desk.key), tokens.issue_shuffler(BREAD, desk.key)
    with desk.collector(rules=Rules(per_token=1, shuffled=4)) as collector:
        shuffler = Shuffler(BREAD, per_token=9, public_key=desk.public_key)
        relayed = Relay(shuffler, lambda batch: collector.take(batch, token=mixer).to_json())
        relayed.take(report_wire.pack_batch([report(number) for number in range(6)]), token=client)
        assert relayed.pass_on() == 1
        assert collector.tally().reports == 6
        more = report_wire.pack_batch([report(number) for number in range(10, 20)])
        for token in (client, None, tokens.issue_shuffler(BREAD, local.new_key())):
            assert collector.take(more, token=token).rejected == {"token": 10}


def test_a_batch_that_the_collector_refuses_is_kept_and_told_once(tmp_path: Path) -> None:
    desk, complaints = Desk(BREAD, tmp_path), list[str]()
    with desk.collector(rules=Rules(open_epochs=frozenset({1}))) as collector:
        relayed = Relay(Shuffler(BREAD), lambda batch: collector.take(batch).to_json(), complain=complaints.append)
        relayed.take(report_wire.pack_batch([report(number) for number in range(5)]))
        relayed.take(report_wire.pack_batch([report(number, epoch=1) for number in range(5)]))
        assert [relayed.pass_on(), relayed.pass_on()] == [1, 0]
        assert len(complaints) == 1
        assert "closed" in complaints[0]
        assert len(relayed.shuffler.batches()) == 1
    with Collector(tmp_path / "reports.db") as opened:
        relayed._send = lambda batch: opened.take(batch).to_json()
        assert relayed.pass_on() == 1
        assert opened.tally(0).reports == opened.tally(1).reports == 5


def test_junk_and_copies_do_not_make_a_crowd_at_the_collector(tmp_path: Path) -> None:
    desk = Desk(BREAD, tmp_path)
    with desk.collector(rules=Rules(shuffled=4)) as collector:
        five = [report(number) for number in range(5)]
        assert collector.take(report_wire.pack_batch(five)).accepted == 5
        junk = [report(number, value=9) for number in range(10, 14)]
        alone = collector.take(report_wire.pack_batch([*five, *junk, report(99), report(99)]))
        assert (alone.accepted, alone.duplicates) == (0, 6)
        assert alone.rejected == {"domain": 4, "batch": 1}
        epochs = [report(number, epoch=1 + number % 2) for number in range(20, 26)]
        assert collector.take(report_wire.pack_batch(epochs)).rejected == {"batch": 6}  # three of each epoch
        assert collector.take(report_wire.pack_batch(five)).duplicates == 5  # sent again: not refused
        assert collector.tally().reports == 5
        assert collector.recount().reports == 5
        assert collector.take(report_wire.pack_batch([report(99), *(report(n) for n in range(30, 33))])).accepted == 4


def test_another_content_under_the_same_id_is_a_replay() -> None:
    shuffler = Shuffler(BREAD)
    assert shuffler.add(report(1, value=0)) == "taken"
    assert shuffler.add(report(1, value=1)) == "replay"


def test_what_is_broken_is_counted_and_the_rest_is_kept() -> None:
    shuffler = Shuffler(BREAD)
    good, cut, outside = report(1), report(2)[:-1], report(3, value=7)
    assert [shuffler.add(data) for data in (good, cut, outside)] == ["taken", "malformed", "domain"]
    told = shuffler.add_batch(report_wire.pack_batch([report(4), outside, report(1, value=0)]))
    assert told == {"taken": 1, "domain": 1, "replay": 1}
    with pytest.raises(BadReport):
        shuffler.add_batch(b"nonsense")


# The mixnet


def hops(minimum: int = 2) -> tuple[Hop, Hop]:
    return Hop(minimum=minimum, layers=2), Hop(minimum=minimum, layers=1)


def keys(*chain: Hop) -> list[str]:
    return [hop.public_key for hop in chain]


def test_reports_come_out_of_two_hops_as_they_went_in() -> None:
    first, last = hops()
    sent = [report(number) for number in range(50)]
    assert first.add_all(seal(data, keys(first, last)) for data in sent) == {"taken": 50}
    assert last.add_all(first.flush()) == {"taken": 50}
    out = last.flush()
    assert sorted(out) == sorted(sent)
    assert out != sent
    assert len(report_wire.parse_batch(BREAD, report_wire.pack_batch(out))) == 50


def test_the_first_hop_never_sees_a_report() -> None:
    first, last = hops()
    sent = [report(number) for number in range(2)]
    envelopes = [seal(data, keys(first, last)) for data in sent]
    first.add_all(envelopes)
    inside = first.flush()
    for seen in (*envelopes, *inside):
        for data in sent:
            assert data not in seen
            assert data[48:] not in seen  # neither id nor payload
    stranger = Hop(minimum=1, layers=1)
    assert stranger.add_all(inside) == {"malformed": 2}  # without the last hop's key there is nothing to read


def test_the_last_hop_never_sees_who_sent_what() -> None:
    """What it gets is independent of who sent what: the same contents, whoever sent them, in a uniform order."""
    orders = Counter()
    for _ in range(120):
        first, last = hops()
        for sender in ("alice", "bob", "carol"):
            first.add(seal(sender.encode(), keys(first, last)))
        inner = first.flush()
        last.add_all(inner)
        assert {len(envelope) for envelope in inner} == {SIZE + 4 + 48}
        orders[tuple(last._waiting)] += 1  # in the order in which they came from the first hop
    assert len(orders) == 6
    assert max(orders.values()) < 50  # each is expected 20 times


def test_a_hop_cannot_tell_envelopes_of_one_sender_by_their_bytes() -> None:
    first, last = hops()
    one, two = (seal(report(1), keys(first, last)) for _ in range(2))
    assert len(one) == len(two)
    assert one[:32] != two[:32]
    assert one[32:] != two[32:]


def test_both_hops_together_can() -> None:
    """Which is what a mixnet cannot help: whoever has all keys opens everything."""
    first, last = Hop(minimum=1, layers=2), Hop(minimum=1, layers=1)
    for sender in ("alice", "bob"):
        first.add(seal(sender.encode(), keys(first, last)))
        last.add_all(first.flush())
        assert last.flush() == [sender.encode()]


def test_an_envelope_goes_through_once() -> None:
    first, last = hops()
    envelope = seal(report(1), keys(first, last))
    assert [first.add(envelope) for _ in range(3)] == ["taken", "replay", "replay"]
    first.add(seal(report(2), keys(first, last)))
    inner = first.flush()
    assert first.add(envelope) == "replay"  # also in a later batch
    assert last.add_all([*inner, *inner]) == {"taken": 2, "replay": 2}


def test_a_report_sealed_twice_is_passed_on_once_by_the_last_hop() -> None:
    first, last = hops()
    first.add_all(seal(report(1), keys(first, last)) for _ in range(2))
    assert last.add_all(first.flush()) == {"taken": 1, "replay": 1}


@pytest.mark.parametrize("place", [0, 31, 32, 500, -1])
def test_a_changed_envelope_is_not_opened(place: int) -> None:
    first, last = hops()
    envelope = bytearray(seal(report(1), keys(first, last)))
    envelope[place] ^= 1
    assert first.add(bytes(envelope)) == "malformed"


@given(st.binary(max_size=60) | st.binary(min_size=SIZE + 100, max_size=SIZE + 100))
def test_any_bytes_are_malformed(data: bytes) -> None:
    assert Hop(minimum=1, layers=2).add(data) == "malformed"


def test_a_key_of_low_order_is_malformed() -> None:
    assert Hop(minimum=1).add(bytes(SIZE + 4 + 48)) == "malformed"


def test_nothing_is_sealed_for_nobody_or_for_everybody() -> None:
    with pytest.raises(EmptyInput, match="no hop"):
        seal(report(1), [])
    for key in ("00" * 32, "01" + "00" * 31, "zz", "00" * 31):  # of low order: everybody knows the secret
        with pytest.raises(WrongShape):
            seal(report(1), [Hop(minimum=1).public_key, key])
    for size in (-5, 0, 1.5):
        with pytest.raises(InvalidParameter):
            Hop(minimum=1, size=size)  # type: ignore[arg-type]


def test_padding_that_says_something_is_malformed() -> None:
    from hubbub.local.shuffling.mixnet import _seal_layer

    hop = Hop(minimum=1)
    for content in (b"\1\0\0\0" + b"x" + bytes(SIZE - 2) + b"y", b"\xff\xff\0\0" + bytes(SIZE)):
        assert hop.add(_seal_layer(content, hop.public_key)) == "malformed"


def test_a_small_batch_is_not_passed_on() -> None:
    first, last = hops(minimum=3)
    first.add_all(seal(report(n), keys(first, last)) for n in range(2))
    assert not first.ready()
    with pytest.raises(OutOfRange, match="at least 3"):
        first.flush()


def test_what_does_not_fit_is_refused_before_it_is_sealed() -> None:
    first, last = hops()
    with pytest.raises(OutOfRange, match="more than the 1024 bytes"):
        seal(bytes(SIZE + 1), keys(first, last))
    with pytest.raises(WrongShape, match="64 hexadecimal digits"):
        seal(b"x", ["abc"])


def test_three_hops_work_as_well() -> None:
    chain = [Hop(minimum=2, layers=layers) for layers in (3, 2, 1)]
    passed = [seal(data, keys(*chain)) for data in (b"a", b"b")]
    for hop in chain:
        assert hop.add_all(passed) == {"taken": 2}
        passed = hop.flush()
    assert sorted(passed) == [b"a", b"b"]
