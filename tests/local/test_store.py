"""The store: append-only, each report once, on disk when acknowledged, through kills, full disks and other writers."""

from __future__ import annotations

import os
import random
import resource
import shutil
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from hubbub.local.collection.collector import Collector, Rules
from hubbub.local.collection.report_store import PIECE, Fate, Store
from hubbub.local.collection.tokens import issue
from hubbub.terms import BadCollection, HubbubError, NewerFormat, SourceUnavailable
from tests.ledger._processes import Child, Report, run, run_all
from tests.local._collecting import Desk, collection, frame, packed

NOBODY = 65534


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(collection(epochs=3), tmp_path)


def ids(*numbers: int) -> list[bytes]:
    return [number.to_bytes(16, "big") for number in numbers]


# ---------------------------------------------------------------- what is kept


def test_each_id_is_kept_once_in_an_epoch(desk: Desk) -> None:
    with desk.store() as store:
        with store.turn() as turn:
            assert turn.add(0, ids(1, 2, 1, 2), [b"a", b"b", b"a", b"x"]) == [
                Fate.NEW,
                Fate.NEW,
                Fate.SAME,
                Fate.OTHER,
            ]
            assert turn.add(1, ids(1), [b"x"]) == [Fate.NEW]
        with store.turn() as turn:
            assert turn.add(0, ids(2, 3, 4), [b"b", b"c", b"d"], most=1) == [Fate.SAME, Fate.NEW, Fate.OVER]
        assert [row for part in store.reports(0) for row in part] == list(
            zip(ids(1, 2, 3), [b"a", b"b", b"c"], strict=True)
        )


def test_a_turn_that_fails_leaves_nothing(desk: Desk) -> None:
    class Stop(Exception):
        pass

    with desk.store() as store:
        with pytest.raises(Stop), store.turn() as turn:
            turn.add(0, ids(1), [b"a"])
            turn.tally(0, np.ones(4, dtype=np.int64), 1)
            turn.refuse({"domain": 1})
            raise Stop
        assert (store.epochs(), store.refusals(), list(store.reports(0))) == ({}, {}, [])


def test_a_large_state_is_kept_in_pieces_and_adds_up_exactly(desk: Desk) -> None:
    size, chance = 5 * PIECE + 7, np.random.default_rng(1)
    parts = [np.where(chance.random(size) < 0.01, chance.integers(0, 2**40, size), 0) for _ in range(5)]
    with desk.store() as store:
        for part in parts:
            with store.turn() as turn:
                turn.tally(2, part, 3)
        state, count = store.state(2, size=size)
        assert count == 15
        assert (state == sum(parts)).all()
        assert store.state(1, size=size)[1] == 0


def test_reports_cannot_be_changed_or_deleted_even_by_hand(desk: Desk) -> None:
    with desk.store() as store:
        with store.turn() as turn:
            turn.add(0, ids(1), [b"a"])
        with sqlite3.connect(store.path) as connection:
            for statement in ("DELETE FROM reports", "UPDATE reports SET payload = x'00'"):
                with pytest.raises(sqlite3.IntegrityError, match="append-only"):
                    connection.execute(statement)
        connection.close()


def test_a_refused_report_is_counted_and_not_kept(desk: Desk) -> None:
    good, bad = packed(desk.collection, 20), bytes(range(65))
    with desk.collector() as collector:
        collector.take(frame([*good, bad]))
        place = collector.store.path
        collector.store.close()
    with sqlite3.connect(place) as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert bad.hex() not in dump.lower() and bad[48:].hex() not in dump.lower()
    assert "'malformed',1" in dump


def test_every_commit_is_forced_to_disk(desk: Desk) -> None:
    with desk.store() as store:
        assert store._rows("PRAGMA synchronous") == [(2,)]
        assert store._rows("PRAGMA journal_mode") == [("wal",)]


# ---------------------------------------------------------------- opening


def test_a_file_that_is_there_is_never_written_over(desk: Desk) -> None:
    (desk.folder / "reports.db").write_bytes(b"somebody's diary")
    with pytest.raises(BadCollection):
        desk.store()
    assert (desk.folder / "reports.db").read_bytes() == b"somebody's diary"


@pytest.mark.parametrize("content", [b"", b"somebody's diary" * 1000, b"SQLite format 3\x00" + bytes(4000)])
def test_what_is_no_store_is_refused(desk: Desk, content: bytes) -> None:
    place = desk.folder / "other.db"
    place.write_bytes(content)
    with pytest.raises(SourceUnavailable):
        Store(place)


def test_a_store_that_is_not_there_is_not_made_by_looking(desk: Desk) -> None:
    with pytest.raises(SourceUnavailable, match="no store"):
        Store(desk.folder / "nothing.db")
    assert not (desk.folder / "nothing.db").exists()


def test_a_newer_format_and_another_database_are_refused(desk: Desk) -> None:
    place = desk.store().path
    with sqlite3.connect(place) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    with pytest.raises(NewerFormat):
        Store(place)
    with sqlite3.connect(desk.folder / "else.db") as connection:
        connection.execute("CREATE TABLE reports (id)")
    connection.close()
    with pytest.raises(SourceUnavailable, match="not a collector's store"):
        Store(desk.folder / "else.db")


def test_a_store_whose_configuration_was_altered_is_refused(desk: Desk) -> None:
    with desk.store() as store:
        place = store.path
    with sqlite3.connect(place) as connection:
        connection.execute("UPDATE about SET value = replace(value, 'epochs', 'epoches')")
    connection.close()
    with pytest.raises(BadCollection):
        Collector(place)


# ---------------------------------------------------------------- many writers, kills


def test_two_writers_at_once_lose_and_double_nothing(desk: Desk, soak: int) -> None:
    """They send the same reports in different orders, in batches of different sizes, to one store."""
    place = desk.store().path
    reports = packed(desk.collection, 600 * soak)

    def writing(seed: int) -> Callable[[Report], None]:
        def work(report: Report) -> None:
            chance, mine = random.Random(seed), list(reports)
            chance.shuffle(mine)
            accepted = 0
            with Collector(place) as collector:
                while mine:
                    size = chance.randint(1, 40)
                    accepted += collector.take(frame(mine[:size])).accepted
                    mine = mine[size:]
            report(accepted=accepted)

        return work

    ended = run_all([writing(seed) for seed in range(3)])
    assert sum(count for each in ended for count in (each.well() and each.of("accepted"))) == len(reports)
    with Collector(place) as collector:
        assert collector.tally().reports == len(reports)
        assert collector.recount().state.tolist() == collector.tally().state.tolist()


def test_killed_at_any_time_what_was_acknowledged_is_there_once(desk: Desk, soak: int) -> None:
    place, chance = desk.store().path, random.Random(4)
    batches = [frame(packed(desk.collection, 20, seed=seed)) for seed in range(400)]
    acknowledged: set[int] = set()

    def work(report: Report) -> None:
        with Collector(place) as collector:
            report(ready=True)
            while True:
                number = random.randrange(len(batches))
                collector.take(batches[number])
                report(kept=number)

    for _ in range(15 * soak):
        child = Child(work)
        child.next()
        time.sleep(chance.random() / 20)
        ended = child.kill()
        assert ended.killed
        acknowledged |= set(ended.of("kept"))
        with Collector(place) as collector:
            tally = collector.tally()
            assert tally.reports >= 20 * len(acknowledged)
            assert tally.reports % 20 == 0  # a batch is there whole or not at all
            assert collector.recount().state.tolist() == tally.state.tolist()
    assert acknowledged
    with Collector(place) as collector:
        for number in acknowledged:
            assert collector.take(batches[number]).duplicates == 20


# ---------------------------------------------------------------- full and read-only disks


def test_a_full_disk_is_a_clear_error_and_nothing_is_lost(desk: Desk) -> None:
    place = desk.store().path
    batches = [frame(packed(desk.collection, 200, seed=seed)) for seed in range(40)]

    def work(report: Report) -> None:
        with Collector(place) as collector:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
            for number, batch in enumerate(batches):
                try:
                    collector.take(batch)
                    report(kept=number)
                except SourceUnavailable as error:
                    report(refused=error.what)

    ended = run(work)
    ended.well()
    assert ended.of("kept") and ended.of("refused")
    assert all("full" in words for words in ended.of("refused"))
    with Collector(place) as collector:
        assert collector.tally().reports == 200 * len(ended.of("kept"))
        assert sum(collector.take(batch).accepted for batch in batches) == 200 * len(ended.of("refused"))


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A folder of an unprivileged user's own."""
    folder = Path(tempfile.mkdtemp(prefix="hubbub-foreign-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def test_a_read_only_store_is_a_clear_error_and_stays_as_it_is(foreign: Path) -> None:
    desk = Desk(collection(), foreign)
    batch, more = frame(packed(desk.collection, 10)), frame(packed(desk.collection, 10, seed=2))
    with desk.collector() as collector:
        collector.take(batch)
    place = foreign / "reports.db"
    for path in (place, foreign):
        if os.getuid() == 0:
            os.chown(path, NOBODY, NOBODY)
    place.chmod(0o444)
    foreign.chmod(0o555)
    before = place.read_bytes()

    def work(report: Report) -> None:
        if os.getuid() == 0:
            os.setgroups([])
            os.setgid(NOBODY)
            os.setuid(NOBODY)
        try:
            with Collector(place) as collector:
                collector.take(more)
            report(kept=True)
        except HubbubError as error:
            report(refused=error.code)

    ended = run(work)
    ended.well()
    assert ended.of("refused") == [SourceUnavailable.code]
    assert place.read_bytes() == before
    foreign.chmod(0o755)
    place.chmod(0o644)
    with Collector(place) as collector:
        assert collector.take(more).accepted == 10


def test_a_tally_that_is_not_that_of_the_reports_is_noticed(desk: Desk) -> None:
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 200)))
        assert collector.recount().state.tolist() == collector.tally().state.tolist()
        with collector.store.turn() as turn:
            turn.tally(0, np.array([0, 1, 0, 0]), 0)
        assert collector.recount().state.tolist() != collector.tally().state.tolist()


# ---------------------------------------------------------------- what must not be there


def one_by_one(desk: Desk, count: int) -> Collector:
    """Batches of one report, each with a token of its own."""
    collector = desk.collector(rules=Rules(per_token=1))
    for report in packed(desk.collection, count):
        assert collector.take(frame([report]), token=issue(desk.collection, desk.key)).accepted == 1
    return collector


def test_no_log_is_left_that_shows_what_came_with_what_and_in_which_order(desk: Desk) -> None:
    with one_by_one(desk, 5) as collector:
        assert (desk.folder / "reports.db-wal").stat().st_size == 0
        reading = collector.store.reports(0, at_once=2)
        next(reading)  # while somebody reads, the log stays
        collector.take(frame(packed(desk.collection, 1, seed=9)), token=issue(desk.collection, desk.key))
        assert (desk.folder / "reports.db-wal").stat().st_size > 0
        reading.close()  # type: ignore[attr-defined]
        collector.take(frame(packed(desk.collection, 1, seed=8)), token=issue(desk.collection, desk.key))
        assert (desk.folder / "reports.db-wal").stat().st_size == 0


def test_a_log_that_a_killed_collector_left_is_cut_off(desk: Desk) -> None:
    with one_by_one(desk, 5) as collector:
        reading = collector.store.reports(0, at_once=2)
        next(reading)
        collector.take(frame(packed(desk.collection, 1, seed=9)), token=issue(desk.collection, desk.key))
        for name in ("reports.db", "reports.db-wal"):
            shutil.copy(desk.folder / name, desk.folder / f"left-{name}")
        reading.close()  # type: ignore[attr-defined]
    with Store(desk.folder / "left-reports.db") as store:
        assert store.epochs() == {0: 6}
        assert (desk.folder / "left-reports.db-wal").stat().st_size == 0


def places(path: Path) -> list[int]:
    """Where in the file the ids of the reports lie, in the order of the ids."""
    with Store(path) as store:
        names = [name for part in store.reports(0) for name, _ in part]
    content = path.read_bytes()
    return [content.find(name) for name in names]


def test_when_an_epoch_closes_not_even_the_layout_shows_an_order(desk: Desk) -> None:
    one_by_one(desk, 30).store.close()
    before = places(desk.folder / "reports.db")
    assert before not in (sorted(before), sorted(before, reverse=True))
    with Collector(desk.folder / "reports.db", rules=Rules(open_epochs=frozenset({1}))):
        pass
    after = places(desk.folder / "reports.db")
    assert after in (sorted(after), sorted(after, reverse=True))


# ---------------------------------------------------------------- what is damaged


def changed(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute("DROP TRIGGER IF EXISTS reports_update")
        connection.execute(statement, values)
    connection.close()


@pytest.mark.parametrize(
    ("statement", "value"),
    [
        ("UPDATE tallies SET counts = ?", b"abc"),
        ("UPDATE tallies SET counts = ?", bytes(8 * (PIECE + 1))),
        ("UPDATE tallies SET piece = ?", 7),
        ("UPDATE tallies SET piece = ?", -1),
        ("UPDATE about SET value = CAST(? AS TEXT)", b"\xff\xfe"),
        ("INSERT INTO about VALUES ('receipt', ?)", "{oops"),
        ("INSERT INTO about VALUES ('receipt', ?)", "[]"),
        ("UPDATE reports SET payload = ?", b"abcdef"),
    ],
)
def test_a_damaged_store_is_refused_in_our_words(desk: Desk, statement: str, value: object) -> None:
    with desk.collector() as collector:
        collector.take(frame(packed(desk.collection, 200)))
    changed(desk.folder / "reports.db", statement, value)
    with pytest.raises(SourceUnavailable, match="damaged"), Collector(desk.folder / "reports.db") as collector:
        collector.tally(0)
        collector.recount(0)
