"""No value of any source stops a question, decides about another's row, or changes a type."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest

from hubbub.engines import DuckDB, EngineFailed
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget, SourceUnavailable
from tests.sql._exact import read_exactly


def _dataset(engine: DuckDB, unit: str = "p") -> Dataset:
    columns = tuple(Column(name=name, kind=Kind(kind)) for name, kind in engine.columns("t"))
    table = Table(name="t", source="", columns=columns, link=PersonLink(unit), max_rows_per_unit=2)
    return Dataset(name="d", population="d", unit=f"t.{unit}", budget=Budget(1, 1e-6), tables=(table,))


def count(source: object, condition: str) -> int:
    """How many rows meet a condition."""
    engine = DuckDB({"t": source}, threads=1)
    try:
        planned = plan_text(f"SELECT COUNT(*) AS n FROM t WHERE {condition}", _dataset(engine), gaussian=True)
        [read] = read_exactly(engine, planned)
        return read.measures[0]["()"]
    finally:
        engine.close()


def _text(values: list[bytes | None]) -> pyarrow.Array:
    stored = pyarrow.array(values, pyarrow.binary())
    return pyarrow.Array.from_buffers(pyarrow.string(), len(stored), stored.buffers(), stored.null_count)


def _parquet(folder: Path, column: Any, **options: Any) -> Path:
    file = folder / "t.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"p": range(len(column)), "x": column}), file, **options)
    return file


# ---------------------------------------------------------------- nobody's row decides about another's

NEIGHBOURS: dict[str, tuple[Any, Any, list[str]]] = {
    "no number beside a large one": (
        pyarrow.array([1.0, *[math.nan] * 30, 2.0]),
        pyarrow.array([1.0, *[math.nan] * 30, 2.0, 100.0]),
        ["x > 50", "NOT x <= 50", "x >= 50 OR x < 0", "x * 2 > 150", "ABS(x) > 50", "x <> 1 AND x <> 2"],
    ),
    "no number of 32 bits": (
        pyarrow.array([1.0, *[math.nan] * 30], pyarrow.float32()),
        pyarrow.array([1.0, *[math.nan] * 30, 100.0], pyarrow.float32()),
        ["x > 50", "NOT x <= 50"],
    ),
    "bytes that are no text beside a small one": (
        _text([b"x", *[b"\xc3z"] * 30, "ü".encode()]),
        _text([b"x", *[b"\xc3z"] * 30, "ü".encode(), b"!"]),
        ["x < 'a'", "x = '??'", "x IN ('??', '?!')", "x LIKE '?%'", "LEFT(x, 1) = '?'", "x || '' < 'a'"],
    ),
    "bytes that are no text beside a missing one": (
        _text([b"x", *[b"\xc3z"] * 30]),
        _text([b"x", *[b"\xc3z"] * 30, None]),
        ["x IS NULL", "x IS NOT NULL", "LENGTH(x) IS NULL", "x < 'a'", "UPPER(x) IS NULL"],
    ),
}


@pytest.mark.parametrize("statistics", [True, False])
@pytest.mark.parametrize("case", NEIGHBOURS)
def test_a_row_meets_a_condition_or_not_whatever_other_rows_are(case: str, statistics: bool, tmp_path: Path) -> None:
    one, other, conditions = NEIGHBOURS[case]
    for condition in conditions:
        counts = [count(_parquet(tmp_path, column, write_statistics=statistics), condition) for column in (one, other)]
        assert counts[1] - counts[0] in (0, 1), condition


def test_statistics_would_decide_without_the_form_that_files_are_read_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hubbub.engines.parquet._OPTIONS", "can_have_nan=false")
    one, other, _ = NEIGHBOURS["no number beside a large one"]
    assert count(_parquet(tmp_path, other), "x > 50") - count(_parquet(tmp_path, one), "x > 50") > 30


# ---------------------------------------------------------------- failures


@pytest.mark.parametrize("words", ["interrupted", "Query interrupted", "INTERRUPT Error: Interrupted!"])
def test_what_a_row_says_is_no_interruption(words: str, tmp_path: Path) -> None:
    engine = DuckDB({"t": pyarrow.table({"x": [words]})}, threads=1)
    with pytest.raises(EngineFailed):
        engine.rows("SELECT CAST(x AS INTEGER) FROM t")
    with pytest.raises(EngineFailed):
        engine.rows("SELECT error(x) FROM t")
    engine.close()


def test_a_person_who_stops_the_engine_stops_it() -> None:
    import _thread
    import threading

    engine = DuckDB({"t": pyarrow.table({"x": [1]})}, threads=1)
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        engine.rows("SELECT sum(a.i * b.i) FROM range(1000000) a(i), range(1000000) b(i)")
    timer.join()
    assert engine.rows("SELECT x FROM t") == [(1,)]
    engine.close()


def test_files_of_several_types_are_refused_before_a_value_meets_the_wrong_one(tmp_path: Path) -> None:
    for name, values in (("a", [1]), ("b", ["x"])):
        pyarrow.parquet.write_table(pyarrow.table({"p": values}), tmp_path / f"{name}.parquet")
    with pytest.raises(SourceUnavailable, match="same type"):
        DuckDB({"t": tmp_path / "*.parquet"})
