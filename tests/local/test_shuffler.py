"""Shuffler and mixnet: nothing that is passed on says whose it was."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub import local
from hubbub.local import Collection, Hop, Report, Shuffler, permute, seal, wire
from hubbub.local.mixnet import SIZE
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport, EmptyInput, InvalidParameter, OutOfRange, WrongShape

BREAD = Collection(
    name="bread", question="?", randomizer=local.KaryResponse(epsilon=1, domain=3), epochs=9, minimum_batch=4
)


def report(number: int, *, epoch: int = 0, value: int | None = None) -> bytes:
    mark = number.to_bytes(16, "big")
    return wire.pack(BREAD, Report(epoch=epoch, id=mark, payload=bytes([number % 3 if value is None else value])))


class Same:
    """A source that gives equal words once, and then what a seed says."""

    def __init__(self) -> None:
        self.calls, self._later = 0, seeded(1)

    def words(self, count: int) -> np.ndarray:
        self.calls += 1
        return np.zeros(count, dtype=np.uint64) if self.calls == 1 else self._later.words(count)

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
    batch = wire.parse_batch(BREAD, shuffler.flush(0))
    assert Counter(batch.payloads[:, 0].tolist()) == Counter(n % 3 for n in range(4))
    assert shuffler.ready() == []


def test_epochs_do_not_mix() -> None:
    """A lone report of another epoch would stand out in the batch."""
    shuffler = Shuffler(BREAD)
    for number in range(6):
        shuffler.add(report(number, epoch=0 if number < 5 else 1))
    assert shuffler.ready() == [0]
    assert set(wire.parse_batch(BREAD, shuffler.flush(0)).epochs.tolist()) == {0}


def test_a_smaller_minimum_than_the_signed_one_is_not_possible() -> None:
    assert Shuffler(BREAD, minimum=1).minimum == 4
    assert Shuffler(BREAD, minimum=10).minimum == 10


def test_what_is_passed_on_has_new_ids_and_another_order() -> None:
    shuffler = Shuffler(BREAD)
    sent = [report(number) for number in range(200)]
    for data in sent:
        shuffler.add(data)
    batch = wire.parse_batch(BREAD, shuffler.flush(0))
    assert not {data[48:64] for data in sent} & {mark.tobytes() for mark in batch.ids}
    assert batch.payloads[:, 0].tolist() != [number % 3 for number in range(200)]


def test_a_report_that_is_sent_again_is_counted_once() -> None:
    shuffler = Shuffler(BREAD, key=bytes(32))
    for _ in range(3):
        for number in range(5):
            assert shuffler.add(report(number)) == "taken"
    first = wire.parse_batch(BREAD, shuffler.flush(0))
    assert len(first) == 5
    restarted = Shuffler(BREAD, key=bytes(32))
    for number in range(5):
        restarted.add(report(number))
    again = wire.parse_batch(BREAD, restarted.flush(0))
    assert {m.tobytes() for m in first.ids} == {m.tobytes() for m in again.ids}  # the collector knows them


def test_another_content_under_the_same_id_is_a_replay() -> None:
    shuffler = Shuffler(BREAD)
    assert shuffler.add(report(1, value=0)) == "taken"
    assert shuffler.add(report(1, value=1)) == "replay"


def test_what_is_broken_is_counted_and_the_rest_is_kept() -> None:
    shuffler = Shuffler(BREAD)
    good, cut, outside = report(1), report(2)[:-1], report(3, value=7)
    assert [shuffler.add(data) for data in (good, cut, outside)] == ["taken", "malformed", "domain"]
    told = shuffler.add_batch(wire.pack_batch([report(4), outside, report(1, value=0)]))
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
    assert len(wire.parse_batch(BREAD, wire.pack_batch(out))) == 50


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
    from hubbub.local.mixnet import _sealed

    hop = Hop(minimum=1)
    for content in (b"\1\0\0\0" + b"x" + bytes(SIZE - 2) + b"y", b"\xff\xff\0\0" + bytes(SIZE)):
        assert hop.add(_sealed(content, hop.public_key)) == "malformed"


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
