"""The ledger beside bare durable commits: throughput, many clients, and a book of a million entries."""

from __future__ import annotations

import multiprocessing
import os
import shutil
import sqlite3
import statistics
import tempfile
import time
from pathlib import Path

from tests.postgres import Server

from bench.rows import Row
from hubbub.ledger import Ledger, Request, bills, fingerprint, reservations
from hubbub.ledger.book import statements
from hubbub.ledger.book.chain import sha256_hex
from hubbub.ledger.open_ledger import LedgerTurn
from hubbub.mechanisms import DiscreteGaussian
from hubbub.terms import Budget, GaussianNoise

SIZE = 300  # bytes of an answer, and of the row of a bare commit
EVENT = DiscreteGaussian(sensitivity=1, sigma=100_000).event
ANSWER = '{"value": 42}'


def rows(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # on the disk of the project, not in memory
        place = Path(folder)
        found = []
        for part in (_embedded, _shared, _long):
            os.sync()  # what the part before left to be written is not this one's
            found += part(place, quick)
        return found


def request(number: object, event: GaussianNoise = EVENT) -> Request:
    return Request(event=event, fingerprint=fingerprint(plan=str(number)), population="patients", size=SIZE)


def new_ledger(url: object, place: Path) -> Ledger:
    ledger = Ledger(str(url), state=place / "state")
    ledger.open_population("patients", Budget(3, 1e-6), by="bench", why="bench", least_share=1e-12)
    return ledger


# ---------------------------------------------------------------- one process, one file


def _embedded(place: Path, quick: bool) -> list[Row]:
    """Two bare durable commits against reserve + store, in turns so short that a busy disk hits both alike."""
    turns, each = (40, 25) if quick else (300, 25)
    ledger, bare = new_ledger(place / "embedded.db", place), _bare(place / "bare.db")
    for number in range(400):  # until both logs have their size, and are written over from then on
        ledger.store(ledger.reserve(request(f"warm/{number}")), ANSWER)
    _commits(bare, 2000)
    ratios, ours, theirs, repeats = [], [], [], []
    for turn in range(turns):
        wanted = [request(f"{turn}/{i}") for i in range(each)]
        theirs.append(_seconds(lambda: _commits(bare, 2 * each)) / each)
        ours.append(_seconds(lambda wanted=wanted: [ledger.store(ledger.reserve(r), ANSWER) for r in wanted]) / each)
        repeats.append(_seconds(lambda wanted=wanted: [ledger.reserve(r) for r in wanted]) / each)
        ratios.append(theirs[-1] / ours[-1])
    ledger.close()
    bare.close()
    note = f"{statistics.median(ours) * 1e6:.0f} us against {statistics.median(theirs) * 1e6:.0f} us"
    return [
        Row(
            "reserve + store on SQLite over two bare durable commits",
            statistics.median(ratios),
            "x",
            0.6,
            "higher",
            note,
        ),
        Row("a repeat that is free", statistics.median(repeats) * 1e6, "us", 500, "lower"),
    ]


def _bare(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = FULL")
    connection.execute("CREATE TABLE t (i INTEGER PRIMARY KEY, body TEXT)")
    return connection


def _commits(connection: sqlite3.Connection, count: int) -> None:
    body = "x" * SIZE
    for _ in range(count):
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO t (body) VALUES (?)", (body,))
        connection.execute("COMMIT")


# ---------------------------------------------------------------- many clients, PostgreSQL


def _shared(place: Path, quick: bool) -> list[Row]:
    clients, seconds = 16, 3 if quick else 10
    server = Server(shutil.which("postgres") or "postgres")
    try:
        server.make()
        url = server.new_database()
        new_ledger(url, place).close()
        context = multiprocessing.get_context("spawn")
        with context.Pool(clients) as pool:
            work = [(url, str(place / "state"), n, seconds) for n in range(clients)]
            done = pool.starmap(_client, work)
        with Ledger(url, state=place / "state") as ledger:
            checked = ledger.verify()
    finally:
        server.remove()
    rate = sum(count / taken for count, taken in done)
    note = f"{sum(count for count, _ in done)} charges, verified: {checked.ok}"
    return [Row("charges on PostgreSQL with 16 clients", rate, "/s", 600, "higher", note)]


def _client(url: str, state: str, number: int, seconds: float) -> tuple[int, float]:
    with Ledger(url, state=state) as ledger:
        ledger.store(ledger.reserve(request(f"{number}/warm")), ANSWER)
        time.sleep(1)  # until the others have started too
        start, count = time.perf_counter(), 0
        while (taken := time.perf_counter() - start) < seconds:
            ledger.store(ledger.reserve(request(f"{number}/{count}")), ANSWER)
            count += 1
        return count, taken


# ---------------------------------------------------------------- a million entries


def _long(place: Path, quick: bool) -> list[Row]:
    entries, sample = (50_000, 200) if quick else (1_000_000, 1000)
    short, long = new_ledger(place / "short.db", place), new_ledger(place / "long.db", place)
    grow(long, entries)
    ratios = []
    for turn in range(5):
        wanted = [request(f"flat/{turn}/{i}") for i in range(sample)]
        at_start = _seconds(lambda wanted=wanted: [short.store(short.reserve(r), ANSWER) for r in wanted])
        at_end = _seconds(lambda wanted=wanted: [long.store(long.reserve(r), ANSWER) for r in wanted])
        ratios.append(at_end / at_start)
    short.close()
    long.close()
    opening = min(_seconds(lambda: Ledger(place / "long.db", state=place / "state").close()) for _ in range(3))
    with Ledger(place / "long.db", state=place / "state") as ledger:
        start = time.perf_counter()
        checked = ledger.verify()
        rate = checked.entries / (time.perf_counter() - start)
        looking = _seconds(lambda: ledger.budget("patients").html())
    assert checked.ok, checked.problems
    different = _different(place, 5_000 if quick else 50_000)
    size = f"{entries:,} entries"
    return [
        Row(f"cost of a charge at {size} over one at the start", statistics.median(ratios), "x", 1.2, "lower"),
        Row(f"opening a ledger of {size}", opening, "s", 1, "lower"),
        Row(f"verifying {size}", rate, "entries/s", 50_000, "higher"),
        Row("verifying entries whose events are all different", different, "entries/s", 10_000, "higher"),
        Row(f"looking at a budget after {size}", looking, "s", 2, "lower"),
    ]


def grow(ledger: Ledger, entries: int, *, different: bool = False) -> None:
    """Fill a book as ``reserve`` and ``store`` would, but thousands of charges to a commit."""
    core = ledger._core
    for first in range(0, entries // 2, 5000):
        with core.book.transaction() as transaction:
            last, kept = transaction.read((statements.LAST, {}), (statements.ALL_TOTALS, {}))
            turn = LedgerTurn(transaction, last[0], time.time_ns() // 1000)
            totals = {row[0]: row for row in kept}
            for number in range(first, min(first + 5000, entries // 2)):
                event = DiscreteGaussian(sensitivity=1, sigma=100_000 + number).event if different else EVENT
                _one(core, turn, totals, request(f"grown/{number}", event))
            turn.finish()
    with core.book.transaction() as transaction:
        (last,) = transaction.read((statements.LAST, {}))
    core.seen = last[0][0]


def _one(core: object, turn: LedgerTurn, totals: dict[str, tuple[str, ...]], wanted: Request) -> None:
    bill = bills.bill_for(core, wanted)
    held = reservations._write_charge(core, turn, bill, wanted, totals, reservations._NOTHING)
    spent = held.totals["patients"][0]
    totals["patients///questions"] = ("patients///questions", "", *map(str, spent))
    record = ANSWER.ljust(SIZE)
    entry = turn.append({"kind": "answer", "charge": held.sequence, "digest": sha256_hex(record)})
    turn.add(statements.ADD_ANSWER, charge=held.sequence, sequence=entry.sequence, body=record)
    core.known_events.add(bill.event[0])


def _different(place: Path, entries: int) -> float:
    with new_ledger(place / "different.db", place) as ledger:
        grow(ledger, entries, different=True)
        start = time.perf_counter()
        checked = ledger.verify()
        assert checked.ok, checked.problems
        return checked.entries / (time.perf_counter() - start)


def _seconds(work: object) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start
