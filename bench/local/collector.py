"""The collector: reports per second over loopback HTTP, and a thousand million reports counted out of core."""

from __future__ import annotations

import http.client
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

import duckdb
import numpy as np

from bench.rows import Row
from hubbub.local import Collection, Collector, ProjectiveGeometry, Store, aggregate
from hubbub.local.collection import report_wire
from hubbub.local.collection.signed_configuration import new_key, public_text, sign

BATCH = 1000  # reports
MEMORY = "1GB"  # what DuckDB may hold
ROW_BYTES = 2  # of the generated files, rounded up


def rows(quick: bool) -> list[Row]:
    with tempfile.TemporaryDirectory(dir=Path.cwd()) as folder:  # on the disk of the project, not in memory
        return [*_over_http(Path(folder), quick), *_out_of_core(Path(folder), quick)]


def _collection(domain: int) -> Collection:
    randomizer = ProjectiveGeometry(epsilon=1, domain=domain)
    return Collection(name="bench", question="Which?", randomizer=randomizer)


# ---------------------------------------------------------------- over HTTP


def _over_http(folder: Path, quick: bool) -> list[Row]:
    """Batches of new reports from two connections to one process; each is on disk when it is answered."""
    count, rounds = (20_000, 3) if quick else (100_000, 7)
    collection, key = _collection(100_000), new_key()
    Store.create(folder / "reports.db", configuration=sign(collection, key), public_key=public_text(key)).close()
    log = folder / "log"
    with log.open("w") as out:
        command = [sys.executable, "-m", "hubbub.cli", "collect", "serve", str(folder), "--port", "0"]
        server = subprocess.Popen(command, stdout=out, stderr=out)
        try:
            address = _address(log)
            _send(address, _batches(collection, 2 * BATCH, seed=0))
            rates = [_rate(address, _batches(collection, count, seed=1 + turn)) for turn in range(rounds)]
            alone = _rate(address, _batches(collection, count // 20, seed=99, size=1), many=16)
        finally:
            server.terminate()
            server.wait()
    with Collector(folder / "reports.db") as collector:
        kept = collector.tally().reports
    assert kept == 2 * BATCH + rounds * count + count // 20, kept
    note = f"{count:,} reports in batches of {BATCH:,}, {rounds} rounds; all {kept:,} are in the store"
    return [
        Row("reports over HTTP, in batches", statistics.median(rates), "/s", 5000, "higher", note),
        Row(
            "reports over HTTP, one at a time",
            alone,
            "/s",
            100,
            "higher",
            "16 connections; each is on disk when it is answered",
        ),
    ]


def _batches(collection: Collection, count: int, *, seed: int, size: int = BATCH) -> list[bytes]:
    people, randomizer = np.random.default_rng(seed), collection.randomizer
    payloads = randomizer.pack(randomizer.randomize(people.integers(0, 100_000, count)))
    reports = [
        report_wire.pack(collection, report_wire.Report(epoch=0, id=people.bytes(16), payload=payload.tobytes()))
        for payload in payloads
    ]
    return [report_wire.pack_batch(reports[start : start + size]) for start in range(0, count, size)]


def _rate(address: str, batches: list[bytes], *, many: int = 2) -> float:
    reports = sum(int.from_bytes(batch[4:8], "little") for batch in batches)
    clients = [threading.Thread(target=_send, args=(address, batches[part::many])) for part in range(many)]
    start = time.perf_counter()
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    return reports / (time.perf_counter() - start)


def _send(address: str, batches: list[bytes]) -> None:
    connection = http.client.HTTPConnection(urlsplit(address).netloc)
    for batch in batches:
        connection.request("POST", "/v1/reports", body=batch)
        answer = connection.getresponse()
        answer.read()
        assert answer.status == 200, answer.status
    connection.close()


def _address(log: Path) -> str:
    for _ in range(600):
        if found := re.search(r"listening on (http://\S+)", log.read_text()):
            return found[1]
        time.sleep(0.05)
    raise RuntimeError(log.read_text())


# ---------------------------------------------------------------- out of core


def _out_of_core(folder: Path, quick: bool) -> list[Row]:
    """Parquet files of generated reports, counted by one GROUP BY: a quarter of them, and all."""
    collection = _collection(1000)
    asked = 40_000_000 if quick else 1_000_000_000
    room = shutil.disk_usage(folder).free // (2 * ROW_BYTES)
    parts = 10 if not quick else 4
    total = min(asked, room) // parts * parts
    files = [_generate(folder / f"{part}.parquet", collection, total // parts, part) for part in range(parts)]
    some = files[: max(1, parts // 4)]
    seconds = {len(chosen): _seconds(chosen, collection, total // parts) for chosen in (some, files)}
    each = {count: taken / count for count, taken in seconds.items()}
    size = sum(file.stat().st_size for file in files) / 2**30
    scaled = "" if total == asked else f"; scaled down from {asked:,} for want of disk"
    note = f"{total:,} reports, {size:.2f} GiB of Parquet, memory limit {MEMORY}, {seconds[parts]:.1f} s{scaled}"
    ratio = each[parts] / each[len(some)]
    return [
        Row("reports aggregated by DuckDB out of core", total / seconds[parts], "/s", 20e6, "higher", note),
        Row(
            f"time per report at {total:,} over at {total // parts * len(some):,}",
            ratio,
            "x",
            1.2,
            "lower",
            "linear in n",
        ),
    ]


def _generate(file: Path, collection: Collection, count: int, part: int) -> Path:
    symbols = collection.randomizer.symbols
    with duckdb.connect(config={"preserve_insertion_order": False, "memory_limit": "4GB"}) as connection:
        connection.execute(
            f"COPY (SELECT 0::BIGINT AS epoch, (hash(i + {part * count}) % {symbols})::INTEGER AS symbol"
            f" FROM range({count}) t(i)) TO '{file}' (FORMAT parquet, ROW_GROUP_SIZE 1048576)"
        )
    return file


def _seconds(files: list[Path], collection: Collection, each: int) -> float:
    taken = []
    for _ in range(3):
        start = time.perf_counter()
        tally = aggregate(files, collection, memory=MEMORY)
        taken.append(time.perf_counter() - start)
        assert tally.reports == each * len(files)
    return statistics.median(taken)
