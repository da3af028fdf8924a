"""Reports as Parquet, counted by one GROUP BY: the same tally as the store's, whoever counts."""

from __future__ import annotations

import resource
from pathlib import Path

import duckdb
import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hubbub import local
from hubbub.local.collection.aggregate import aggregate, export
from hubbub.local.collection.collector import Collector
from hubbub.local.randomizers.base import Randomizer
from hubbub.terms import BadCollection, BadReport, SourceUnavailable
from tests.ledger._processes import Report, run
from tests.local._collecting import Desk, collection, frame, packed

RANDOMIZERS: dict[str, Randomizer] = {
    "kary": local.KaryResponse(epsilon=1, domain=4),
    "hadamard": local.HadamardResponse(epsilon=1, domain=50),
    "projective": local.ProjectiveGeometry(epsilon=1, domain=700),
    "unary": local.UnaryEncoding(epsilon=1, domain=20),
    "subset": local.SubsetSelection(epsilon=1, domain=12),
    "hashing": local.LocalHashing(epsilon=1, domain=30),
    "loloha": local.Loloha(epsilon=1, forever=2, domain=10),
}


def filled(desk: Desk, name: str = "reports.db", *, seeds: int = 2) -> Collector:
    """A collector with reports in two epochs."""
    collector = desk.collector(name)
    for seed in range(seeds):
        for epoch in range(2):
            collector.take(frame(packed(desk.collection, 300, epoch=epoch, seed=10 * seed + epoch)))
    return collector


@pytest.mark.parametrize("name", RANDOMIZERS)
def test_the_files_give_the_tally_of_the_store(name: str, tmp_path: Path) -> None:
    desk = Desk(collection(RANDOMIZERS[name], epochs=2), tmp_path)
    with filled(desk) as collector:
        assert export(collector, tmp_path / "all.parquet") == 1200
        for epoch in range(2):
            found = aggregate(tmp_path / "all.parquet", desk.collection, epoch=epoch)
            assert found.reports == 600
            assert found.state.tolist() == collector.tally(epoch).state.tolist()
            assert found.state.tolist() == collector.recount(epoch).state.tolist()
        assert found.estimate().values.tolist() == collector.estimate(1).values.tolist()


def test_one_group_by_in_plain_sql_gives_the_same_counts(tmp_path: Path) -> None:
    desk = Desk(collection(RANDOMIZERS["projective"], epochs=2), tmp_path)
    with filled(desk) as collector:
        export(collector, tmp_path / "one.parquet", epoch=1)
        file = tmp_path / "one.parquet"
        rows = duckdb.sql(f"SELECT symbol, count(*) FROM '{file}' GROUP BY symbol").fetchall()
        state = np.zeros(desk.collection.randomizer.state_size, dtype=np.int64)
        for symbol, count in rows:
            state[symbol] = count
        assert state.tolist() == collector.tally(1).state.tolist()


def test_neither_ids_nor_arrival_are_exported(tmp_path: Path) -> None:
    desk = Desk(collection(epochs=2), tmp_path)
    with filled(desk) as collector:
        export(collector, tmp_path / "all.parquet")
    assert parquet.read_schema(tmp_path / "all.parquet").names == ["epoch", "symbol"]


@pytest.mark.parametrize("name", ["kary", "unary"])
def test_shards_add_up_whether_merged_before_or_after(name: str, tmp_path: Path) -> None:
    desk = Desk(collection(RANDOMIZERS[name], epochs=2), tmp_path)
    reports = packed(desk.collection, 900)
    files = []
    with desk.collector("whole.db") as whole:
        whole.take(frame(reports))
        for number in range(3):
            with desk.collector(f"{number}.db") as shard:
                shard.take(frame(reports[number::3]))
                files.append(tmp_path / f"{number}.parquet")
                export(shard, files[-1])
        together = aggregate(files, desk.collection)
        one, two, three = (aggregate(file, desk.collection) for file in files)
        assert together.state.tolist() == (one + two + three).state.tolist() == whole.tally().state.tolist()
        assert aggregate(str(tmp_path / "*.parquet"), desk.collection).reports == 900


def test_it_fits_into_little_memory(tmp_path: Path) -> None:
    """Twenty million rows are counted by a child whose memory could not hold them."""
    desk = Desk(collection(RANDOMIZERS["projective"]), tmp_path)
    symbols, file = desk.collection.randomizer.symbols, tmp_path / "many.parquet"
    duckdb.sql(
        f"COPY (SELECT 0::BIGINT AS epoch, ((i * 7919) % {symbols})::INTEGER AS symbol FROM range(20000000) t(i)) "
        f"TO '{file}' (FORMAT parquet)"
    )

    def work(report: Report) -> None:
        room = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        found = aggregate(file, desk.collection, memory="100MB", threads=1)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - room
        report(reports=found.reports, least=int(found.state.min()), most=int(found.state.max()), grown=grown)

    ended = run(work)
    (told,) = ended.well()
    assert told["reports"] == 20_000_000
    assert told["most"] - told["least"] <= 1  # the symbols take turns
    assert told["grown"] < 160_000  # kilobytes; the rows alone would be 240,000


@pytest.mark.parametrize(
    "table",
    [
        {"epoch": [0], "symbol": [4]},
        {"epoch": [0], "symbol": [-1]},
        {"epoch": [0], "symbol": pyarrow.array([None], pyarrow.int32())},
    ],
)
def test_what_is_no_report_of_the_collection_is_refused(table: dict[str, object], tmp_path: Path) -> None:
    parquet.write_table(pyarrow.table(table), tmp_path / "bad.parquet")
    with pytest.raises(BadReport) as refused:
        aggregate(tmp_path / "bad.parquet", collection())
    assert refused.value.reason == "domain"


@pytest.mark.parametrize("payload", [b"", b"\xff" * 3, b"\x00" * 4, None])
def test_what_is_no_payload_of_the_collection_is_refused(payload: bytes | None, tmp_path: Path) -> None:
    of = collection(local.UnaryEncoding(epsilon=1, domain=20))
    column = pyarrow.array([payload], pyarrow.binary())
    parquet.write_table(pyarrow.table({"epoch": [0], "payload": column}), tmp_path / "bad.parquet")
    with pytest.raises(BadReport):
        aggregate(tmp_path / "bad.parquet", of)


def test_files_that_are_not_there_or_not_parquet_are_a_clear_error(tmp_path: Path) -> None:
    (tmp_path / "text.parquet").write_text("no parquet")
    parquet.write_table(pyarrow.table({"other": [1]}), tmp_path / "columns.parquet")
    for name in ("none.parquet", "text.parquet", "columns.parquet"):
        with pytest.raises(SourceUnavailable, match="could not be read"):
            aggregate(tmp_path / name, collection())


def test_an_export_that_cannot_be_written_leaves_nothing(tmp_path: Path) -> None:
    desk = Desk(collection(epochs=2), tmp_path)
    with filled(desk) as collector, pytest.raises(SourceUnavailable):
        export(collector, tmp_path / "no" / "folder" / "all.parquet")
    assert list(tmp_path.glob("*.part")) == []


def test_the_files_of_another_collection_are_refused(tmp_path: Path) -> None:
    """Also where it has as many symbols: its reports were made by another law."""
    one, other = Desk(collection(epochs=2), tmp_path), collection(local.KaryResponse(epsilon=3, domain=4), epochs=2)
    with filled(one) as collector:
        export(collector, tmp_path / "one.parquet")
    assert aggregate(tmp_path / "one.parquet", one.collection).reports > 0
    with pytest.raises(BadCollection, match="another collection"):
        aggregate(tmp_path / "one.parquet", other)
    bare = parquet.read_table(tmp_path / "one.parquet").replace_schema_metadata(None)
    parquet.write_table(bare, tmp_path / "bare.parquet")
    assert aggregate(tmp_path / "bare.parquet", one.collection).reports > 0
