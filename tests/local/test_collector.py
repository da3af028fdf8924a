"""The collector: each report once, whatever comes; bad ones refused with a reason; tallies that add up exactly."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.ledger import Account, Ledger
from hubbub.local import Client, DBitFlip, LocalGaussian
from hubbub.local.collection import collection_cost, report_wire, tokens
from hubbub.local.collection.collector import REASONS, Collector, Rules, Sent, Taken
from hubbub.local.collection.collector_page import _REASONS
from hubbub.local.collection.report_store import Store
from hubbub.local.collection.tally import Tally
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.terms import (
    BadCollection,
    BadReport,
    Budget,
    BudgetExceeded,
    EmptyInput,
    NoBound,
    OutOfRange,
    PureStep,
    Repeat,
    Unreadable,
)
from tests.local._collecting import Desk, collection, frame, packed


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(collection(epochs=3), tmp_path)


def test_a_batch_is_counted_and_estimated(desk: Desk) -> None:
    with desk.collector() as collector:
        taken = collector.take(frame(packed(desk.collection, 5000)))
        assert taken == Taken(5000, 0, {})
        estimate = collector.estimate()
    truth = Counter(np.minimum(np.random.default_rng(1).geometric(0.5, 5000) - 1, 3).tolist())
    for value, (low, high) in enumerate(estimate.intervals(0.9999)):
        assert low <= truth[value] / 5000 <= high


def test_what_a_client_makes_is_what_a_collector_takes(desk: Desk, tmp_path: Path) -> None:
    """Word for word as one would write it first: no frame is needed around one report."""
    sent = Client(desk.collection, state=tmp_path / "memory").report("pear")
    twin = report_wire.to_json(desk.collection, report_wire.parse(desk.collection, sent))
    with desk.collector() as collector:
        assert collector.take(sent) == Taken(1, 0, {})
        assert collector.take_json(json.dumps([twin])) == Taken(0, 1, {})
        with pytest.raises(BadReport, match=r"client\.report\(\)"):
            collector.take(sent[:-1])


def test_a_batch_sent_again_changes_nothing(desk: Desk) -> None:
    reports = packed(desk.collection, 300)
    with desk.collector() as collector:
        collector.take(frame(reports[:200]))
        before = collector.tally().state
        assert collector.take(frame(reports[:200])) == Taken(0, 200, {})
        assert (collector.tally().state == before).all()
        assert collector.take(frame(reports[100:])) == Taken(100, 100, {})
        assert collector.tally().reports == 300


def test_a_report_twice_in_one_batch_is_counted_once(desk: Desk) -> None:
    (report,) = packed(desk.collection, 1)
    with desk.collector() as collector:
        assert collector.take(frame([report] * 5)) == Taken(1, 4, {})


def test_an_id_with_another_content_is_a_replay_and_the_first_one_stays(desk: Desk) -> None:
    report = report_wire.Report(epoch=0, id=bytes(16), payload=b"\x00")
    other = report_wire.Report(epoch=0, id=bytes(16), payload=b"\x03")
    with desk.collector() as collector:
        collector.take(frame([report_wire.pack(desk.collection, report)]))
        assert collector.take(frame([report_wire.pack(desk.collection, other)])) == Taken(0, 0, {"replay": 1})
        assert collector.tally().state.tolist() == [1, 0, 0, 0]
        assert collector.store.refusals() == {"replay": 1}


def test_the_same_id_in_another_epoch_is_another_report(desk: Desk) -> None:
    reports = [
        report_wire.pack(desk.collection, report_wire.Report(epoch=e, id=bytes(16), payload=b"\x01")) for e in range(3)
    ]
    with desk.collector() as collector:
        assert collector.take(frame(reports)).accepted == 3
        assert collector.store.epochs() == {0: 1, 1: 1, 2: 1}


# ---------------------------------------------------------------- bad input


def spoiled(desk: Desk) -> dict[str, bytes]:
    """One report for each reason for which the wire refuses one."""
    good = packed(desk.collection, 1, seed=9)[0]
    other = collection(epochs=3)
    stronger = collection(KaryResponse(epsilon=2, domain=4), epochs=3, id=desk.collection.id)
    return {
        "malformed": b"XYZ" + good[3:],
        "version": good[:3] + b"\x09" + good[4:],
        "collection": packed(other, 1)[0],
        "protocol": good[:4] + bytes([good[4] + 1]) + good[5:],
        "epsilon": packed(stronger, 1)[0],
        "digest": good[:32] + bytes(16) + good[48:],
        "epoch": good[:12] + (3).to_bytes(4, "little") + good[16:],
        "domain": good[:-1] + b"\x04",
    }


def test_each_fault_has_its_reason_and_the_rest_of_the_batch_is_kept(desk: Desk) -> None:
    bad = spoiled(desk)
    assert {*bad, "replay"} == set(report_wire.REASONS)
    for reason, report in bad.items():
        good = packed(desk.collection, 10, seed=len(reason))
        with Desk(desk.collection, desk.folder / reason).collector() as collector:
            batch = [*good[:5], report, *good[5:]]
            assert collector.take(frame(batch)) == Taken(10, 0, {reason: 1}), reason
            assert collector.take(frame(batch)) == Taken(0, 10, {reason: 1}), reason
            assert collector.store.refusals() == {reason: 2}
            assert collector.tally().reports == 10


def test_the_json_twin_is_taken_as_the_binary_form_is(desk: Desk) -> None:
    good = packed(desk.collection, 20)
    twins = [report_wire.to_json(desk.collection, report_wire.parse(desk.collection, report)) for report in good]
    twins[3]["epsilon"] += 1
    document = json.dumps([*twins, {"hubbub": "report/1"}, "nonsense", None])
    with desk.collector() as collector:
        assert collector.take_json(document) == Taken(19, 0, {"epsilon": 1, "malformed": 3})
        assert collector.take(frame(good)) == Taken(1, 19, {})


def test_an_unreadable_batch_is_refused_as_a_whole_and_counted(desk: Desk) -> None:
    with desk.collector() as collector:
        for data in (b"", b"HBB", b"HBB\x01" + b"\xff" * 8, frame(packed(desk.collection, 3))[:-1]):
            with pytest.raises(BadReport):
                collector.take(data)
        for text in ('{"not": "a list"}', "[", b"\xff", "[" * 100_000, ""):
            with pytest.raises(BadReport):
                collector.take_json(text)
        assert collector.store.refusals() == {"malformed": 9}
        assert collector.tally().reports == 0


def test_whatever_bytes_come_reports_are_counted_or_refused_and_nothing_else(tmp_path: Path, soak: int) -> None:
    desk = Desk(collection(epochs=2), tmp_path)
    seen = random.Random(5)
    pool = packed(desk.collection, 40) + packed(desk.collection, 40, epoch=1, seed=2)
    with desk.collector() as collector:
        for _ in range(150 * soak):
            batch = bytearray(frame(seen.sample(pool, seen.randint(0, 20))))
            for _ in range(seen.choice([0, 1, 3, 30])):
                batch[seen.randrange(len(batch))] = seen.randrange(256)
            try:
                taken = collector.take(bytes(batch))
            except BadReport as error:
                assert error.reason in REASONS
                continue
            count = int.from_bytes(batch[4:8], "little")
            assert taken.accepted + taken.duplicates + sum(taken.rejected.values()) == count
            assert set(taken.rejected) <= set(REASONS)
        for epoch in range(2):
            assert collector.recount(epoch).state.tolist() == collector.tally(epoch).state.tolist()


@settings(max_examples=60)
@given(
    document=st.recursive(
        st.none() | st.integers() | st.text() | st.floats(), lambda x: st.lists(x) | st.dictionaries(st.text(), x)
    )
)
def test_whatever_json_comes_it_is_refused_in_our_words(
    document: object, tmp_path_factory: pytest.TempPathFactory
) -> None:
    desk = Desk(collection(), tmp_path_factory.mktemp("json"))
    with desk.collector() as collector:
        try:
            assert collector.take_json(json.dumps(document)).accepted == 0
        except BadReport as error:
            assert error.reason in REASONS


def test_the_page_has_words_for_every_reason() -> None:
    assert set(_REASONS) == set(REASONS)


# ---------------------------------------------------------------- rules


def test_reports_for_epochs_that_are_not_open_are_refused(desk: Desk) -> None:
    with desk.collector(rules=Rules(open_epochs=frozenset({1}))) as collector:
        taken = collector.take(frame(packed(desk.collection, 5) + packed(desk.collection, 7, epoch=1, seed=2)))
        assert taken == Taken(7, 0, {"closed": 5})


def test_behind_a_shuffler_small_batches_are_refused(desk: Desk) -> None:
    with desk.collector(rules=Rules(shuffled=50)) as collector:
        reports = packed(desk.collection, 50)
        assert collector.take(frame(reports[:49])) == Taken(0, 0, {"batch": 49})
        assert collector.take(frame(reports)) == Taken(50, 0, {})


def test_a_token_sends_so_many_new_reports_an_epoch_and_no_more(desk: Desk) -> None:
    with desk.collector(rules=Rules(per_token=3)) as collector:
        ours, reports = tokens.issue(desk.collection, desk.key), packed(desk.collection, 5)
        assert collector.take(frame(reports[:2]), token=ours) == Taken(2, 0, {})
        assert collector.take(frame(reports), token=ours) == Taken(1, 2, {"limit": 2})
        assert collector.take(frame(reports[:3]), token=ours) == Taken(0, 3, {})  # a retry is free
        assert collector.take(frame(reports[3:]), token=tokens.issue(desk.collection, desk.key)) == Taken(2, 0, {})
        later = packed(desk.collection, 4, epoch=1, seed=2)
        assert collector.take(frame(later), token=ours) == Taken(3, 0, {"limit": 1})


@pytest.mark.parametrize("token", [None, "", "x", "é", "A" * 107, "=" * 80])
def test_without_a_token_that_was_issued_nothing_is_taken(desk: Desk, token: str | None) -> None:
    with desk.collector(rules=Rules(per_token=3)) as collector:
        assert collector.take(frame(packed(desk.collection, 2)), token=token) == Taken(0, 0, {"token": 2})


def test_a_token_of_another_collection_or_key_is_none(desk: Desk) -> None:
    other = Desk(collection(), desk.folder / "other")
    for token in (tokens.issue(other.collection, desk.key), tokens.issue(desk.collection, other.key)):
        assert tokens.token_mark(desk.collection, desk.public_key, token) is None
    good = tokens.issue(desk.collection, desk.key)
    assert tokens.token_mark(desk.collection, desk.public_key, good) is not None
    assert tokens.token_mark(desk.collection, desk.public_key, good[:-2] + "AA") is None


def test_what_tokens_sent_in_closed_epochs_is_forgotten(desk: Desk) -> None:
    rules = Rules(per_token=3, open_epochs=frozenset({0}))
    with desk.collector(rules=rules) as collector:
        collector.take(frame(packed(desk.collection, 2)), token=tokens.issue(desk.collection, desk.key))
        assert len(collector.store._rows("SELECT * FROM tokens")) == 1
    with Collector(desk.folder / "reports.db", rules=Rules(per_token=3, open_epochs=frozenset({1}))) as later:
        assert later.store._rows("SELECT * FROM tokens") == []


# ---------------------------------------------------------------- estimates and shards


def test_nothing_is_estimated_below_the_minimum_batch(desk: Desk) -> None:
    with desk.collector() as collector:
        with pytest.raises(EmptyInput):
            collector.estimate()
        collector.take(frame(packed(desk.collection, 99)))
        with pytest.raises(EmptyInput, match="fewer than 100"):
            collector.estimate()
        collector.take(frame(packed(desk.collection, 1, seed=2)))
        assert collector.estimate().count == 100


def test_an_epoch_that_is_not_there_is_refused(desk: Desk) -> None:
    with desk.collector() as collector:
        for epoch in (-1, 3):
            with pytest.raises(OutOfRange):
                collector.tally(epoch)


def test_shards_merge_exactly_in_any_way(desk: Desk) -> None:
    reports = packed(desk.collection, 900)
    with desk.collector("all.db") as whole:
        whole.take(frame(reports))
        parts = []
        for number in range(3):
            shard = desk.collector(f"{number}.db")
            shard.take(frame(reports[number::3]))
            parts.append(shard)
        one, two, three = (part.tally() for part in parts)
        for merged in (one + two + three, three + (one + two)):
            assert (merged.reports, merged.state.tolist()) == (900, whole.tally().state.tolist())
        travelled = Tally.from_json(desk.collection, json.loads(json.dumps(two.to_json())))
        assert (one + travelled + three).estimate().values.tolist() == whole.estimate().values.tolist()
        for part in parts:
            part.store.close()


def test_stores_that_share_reports_merge_by_id(desk: Desk) -> None:
    reports = packed(desk.collection, 300)
    with desk.collector("a.db") as one, desk.collector("b.db") as two:
        one.take(frame(reports[:200]))
        two.take(frame(reports[100:]))
        assert one.absorb(two.store) == Taken(100, 100, {})
        assert one.absorb(desk.folder / "b.db") == Taken(0, 200, {})
        assert one.tally().reports == 300
        assert one.recount().state.tolist() == one.tally().state.tolist()


def test_what_is_of_another_collection_does_not_merge(desk: Desk) -> None:
    other = Desk(collection(), desk.folder / "other")
    with desk.collector() as one, other.collector() as two:
        with pytest.raises(BadCollection):
            one.absorb(two.store)
        with pytest.raises(BadCollection):
            one.tally() + two.tally()
        with pytest.raises(BadCollection):
            one.tally(0) + one.tally(1)
        with pytest.raises(BadCollection):
            Tally.from_json(desk.collection, two.tally().to_json())


@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: d | {"kind": "other"},
        lambda d: d | {"state": [1, 2]},
        lambda d: d | {"state": "x"},
        lambda d: d | {"state": [1, 2, 3, 2**63]},
        lambda d: d | {"reports": -1},
        lambda d: d | {"state": [5, 5, 0, 0], "reports": 3},
        lambda d: d | {"state": [-5, 15, 0, 0], "reports": 10},
        lambda d: d | {"state": [1.5, 8.5, 0, 0], "reports": 10},
        lambda d: d | {"state": [True, 0, 0, 0], "reports": 1},
        lambda d: d | {"state": [1, 0, 0, 0], "reports": True},
        lambda d: d | {"epoch": 0.5},
        lambda d: d | {"epoch": 7},
        lambda d: d | {"digest": "zz"},
        lambda d: [],
        lambda d: None,
    ],
)
def test_a_document_that_is_no_tally_is_refused(desk: Desk, spoil: Callable[[dict[str, object]], object]) -> None:
    with pytest.raises(Unreadable):
        Tally.from_json(desk.collection, spoil(Tally.empty(desk.collection, 0).to_json()))


# ---------------------------------------------------------------- ledger


def test_without_an_account_the_guarantee_says_so(desk: Desk) -> None:
    with desk.collector() as collector:
        assert collector.receipt is None
        assert collector.guarantee.holds.describe() == "epsilon = 3"
        assert "Charged to no ledger." in collector.guarantee.describe()


def test_with_an_account_the_collection_is_charged_once(desk: Desk) -> None:
    with Ledger(desk.folder / "ledger.db", state=desk.folder / "state") as ledger:
        ledger.open_population("people", Budget(5), neighbours="replace", by="board", why="survey")
        for _ in range(3):  # every restart of the collector
            store = desk.folder / "reports.db"
            with Collector(Store(store) if store.exists() else desk.store(), account=ledger) as c:
                assert c.receipt is not None
                assert ledger.check(c.receipt)
                assert "ledger" not in c.guarantee.describe()
        assert ledger.budget("people").spent.parts()[0] == Fraction(3)
        other = Desk(collection(epochs=3), desk.folder / "other")
        with pytest.raises(BudgetExceeded):
            Collector(other.store(), account=Account(ledger=ledger, population="people"))


def test_gaussian_reports_are_charged_with_their_delta(tmp_path: Path) -> None:
    of = collection(LocalGaussian(epsilon=1, delta=1e-6, lower=0, upper=1), epochs=3)
    with Desk(of, tmp_path).collector() as collector:
        assert collector.guarantee.holds.describe() == "epsilon = 3, delta = 3e-06"
    assert collection_cost.event_of(of) == Repeat(of.randomizer.event, 3)


def test_a_collection_that_shows_changes_as_they_happen_cannot_be_charged() -> None:
    with pytest.raises(NoBound):
        collection_cost.event_of(collection(DBitFlip(epsilon=1, domain=8, flips=2), epochs=3))
    assert isinstance(collection_cost.event_of(collection(DBitFlip(epsilon=1, domain=8, flips=2))), PureStep)


# ---------------------------------------------------------------- groups of batches


def test_batches_written_together_are_answered_each_by_itself(desk: Desk) -> None:
    reports = packed(desk.collection, 40)
    with desk.collector() as collector:
        told = collector.take_all(
            [
                Sent(frame(reports[:20])),
                Sent(b"garbage"),
                Sent("[", twins=True),
                Sent(frame(reports[10:])),
                Sent(frame([bytes(65)])),
            ]
        )
        assert [told[0], told[3], told[4]] == [Taken(20), Taken(20, 10), Taken(rejected={"malformed": 1})]
        assert all(isinstance(each, BadReport) for each in told[1:3])
        assert collector.tally().reports == 40
        assert collector.store.refusals() == {"malformed": 3}
