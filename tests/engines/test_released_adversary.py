"""Whoever writes what stands around private questions reaches the released numbers, and nothing else."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from hubbub.engines import EngineFailed, ReleasedTable, ReleasedTables

TABLE = ReleasedTable("_hb_inner_0", (("k", "BIGINT"), ("x", "DOUBLE")), ([1, 2], [1.0, 2.0]))
secret_of_this_module = __import__("pandas").DataFrame({"secret": [1, 2, 3]})

FILES = [
    "SELECT * FROM read_csv('/etc/passwd')",
    "SELECT * FROM read_text('/etc/hostname')",
    "SELECT * FROM read_blob('/etc/hostname')",
    "SELECT * FROM read_ndjson_objects('/etc/hostname')",
    "SELECT * FROM read_parquet('/etc/*')",
    "SELECT * FROM parquet_metadata('/etc/hostname')",
    "SELECT * FROM sniff_csv('/etc/passwd')",
    "SELECT * FROM glob('/*')",
    "SELECT * FROM '/etc/passwd'",
    "SELECT * FROM 'https://example.com/x.parquet'",
    "SELECT * FROM query('SELECT * FROM read_text(''/etc/hostname'')')",
    "SELECT * FROM json_execute_serialized_sql(json_serialize_sql('SELECT * FROM read_text(''/etc/hostname'')'))",
    "SELECT getenv('HOME')",
    "SELECT * FROM duckdb_secrets()",
    "SELECT * FROM secret_of_this_module",
    "SELECT * FROM arrow_scan(94000000000, 94000000000, 94000000000)",
    "SELECT * FROM pandas_scan(94000000000)",
]
CHANGES = [
    "COPY (SELECT 1) TO '{folder}/out.csv'",
    "COPY _hb_inner_0 FROM '/etc/passwd'",
    "EXPORT DATABASE '{folder}/out'",
    "ATTACH '{folder}/out.db'",
    "INSTALL httpfs",
    "LOAD httpfs",
    "SET memory_limit = '10GB'",
    "RESET memory_limit",
    "PRAGMA threads = 8",
    "SET enable_external_access = true",
    "CREATE TABLE t AS SELECT 1",
    "CREATE MACRO f() AS 1",
    "CREATE SECRET (TYPE S3)",
    "DROP TABLE _hb_inner_0",
    "UPDATE _hb_inner_0 SET x = 0",
    "INSERT INTO _hb_inner_0 VALUES (3, 3)",
    "DELETE FROM _hb_inner_0",
    "CALL pragma_version()",
    "CHECKPOINT",
    "PREPARE p AS SELECT 1",
    "EXPLAIN ANALYZE SELECT 1",
    "SELECT 1; DROP TABLE _hb_inner_0",
    "",
]
ENDLESS = [
    "WITH RECURSIVE r AS (SELECT 1 AS i UNION ALL SELECT i + 1 FROM r) SELECT COUNT(*) FROM r",
    "SELECT SUM(i) FROM generate_series(1, 100000000000) AS t(i)",
    "SELECT COUNT(*) FROM range(1000000) AS a, range(1000000) AS b",
]


@pytest.mark.parametrize("sql", FILES)
def test_no_file_network_secret_or_variable_is_read(sql: str) -> None:
    with ReleasedTables() as place:
        place.add(TABLE)
        with pytest.raises(EngineFailed):
            if not place.rows(sql, most=10):
                raise EngineFailed  # there are no secrets


@pytest.mark.parametrize("sql", CHANGES)
def test_nothing_but_one_select_runs(sql: str, tmp_path: Path) -> None:
    with ReleasedTables() as place:
        place.add(TABLE)
        for run in (place.describe, place.arrays, lambda text: place.rows(text, most=10)):
            with pytest.raises(EngineFailed):
                run(sql.format(folder=tmp_path))
        assert place.rows("SELECT * FROM _hb_inner_0 ORDER BY k", most=10) == [(1, 1.0), (2, 2.0)]
    assert not list(tmp_path.iterdir())


def test_two_places_know_nothing_of_each_other() -> None:
    with ReleasedTables() as one, ReleasedTables() as other:
        one.add(TABLE)
        for sql in ("SELECT * FROM _hb_inner_0", "SELECT * FROM query_table('_hb_inner_0')"):
            with pytest.raises(EngineFailed):
                other.rows(sql, most=10)
        listed = other.rows("SELECT table_name FROM information_schema.tables", most=10)
        assert listed == [], "and a catalogue lists what was added, alone"


@pytest.mark.parametrize("sql", ENDLESS)
def test_what_does_not_end_is_stopped(sql: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.relations.limits.RELEASED_SECONDS", 0.5)
    with ReleasedTables() as place:
        start = time.monotonic()
        with pytest.raises(EngineFailed):
            place.rows(sql, most=10)
        assert time.monotonic() - start < 10


def test_all_statements_of_a_place_share_their_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.relations.limits.RELEASED_SECONDS_IN_ALL", 0.5)
    with ReleasedTables() as place:
        for _ in range(2):
            with pytest.raises(EngineFailed):
                place.rows(ENDLESS[0], most=10)
        start = time.monotonic()
        with pytest.raises(EngineFailed):
            place.rows(ENDLESS[0], most=10)
        assert time.monotonic() - start < 5


@pytest.mark.parametrize("sql", ["SELECT array_agg(i) FROM range(1000000000) AS t(i)", "SELECT range(10000000000)"])
def test_what_needs_more_memory_than_there_is_fails(sql: str) -> None:
    with ReleasedTables() as place, pytest.raises(EngineFailed):
        place.rows(sql, most=10)
