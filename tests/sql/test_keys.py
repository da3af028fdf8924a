"""Keys leave in one form: which of several equal spellings a person used is told to nobody."""

from __future__ import annotations

import math
from datetime import date
from fractions import Fraction
from itertools import permutations
from pathlib import Path

import duckdb
import pyarrow
import pytest

from hubbub.engines import DuckDB, InDatabase
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import connect
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget, OutOfRange, TooLarge
from tests.sql._exact import read_exactly


def answer(engine: DuckDB, question: str) -> dict[str, int]:
    """Keys as they leave, and the first integer of each."""
    natives = engine.natives("t")
    columns = tuple(Column(name=name, kind=Kind(kind), native=natives[name]) for name, kind in engine.columns("t"))
    table = Table(name="t", source="", columns=columns, link=PersonLink("p"), max_rows_per_unit=3)
    dataset = Dataset(name="d", population="d", unit="t.p", budget=Budget(1, 1e-6), tables=(table,))
    [read] = read_exactly(engine, plan_text(question, dataset, gaussian=True))
    return {key: number for key, number in read.measures[0].items() if number}


def _database(folder: Path, kind: str, values: list[str]) -> DuckDB:
    file = folder / "t.duckdb"
    file.unlink(missing_ok=True)
    with duckdb.connect(str(file)) as connection:
        connection.execute(f"CREATE TABLE t (p BIGINT, x {kind})")
        connection.executemany("INSERT INTO t VALUES (?, ?)", list(enumerate(values)))
    return DuckDB({"t": InDatabase(str(file), "t")}, threads=1)


SPELLINGS = {
    "VARCHAR COLLATE NOCASE": (["gout", "Gout", "GOUT"], "gout"),
    "VARCHAR COLLATE NOACCENT": (["naive", "na\u00efve", "n\u00e4ive"], "naive"),
    "VARCHAR COLLATE NOCASE.NOACCENT": (["naive", "NA\u00cfVE", "n\u00e4ive"], "naive"),
    "VARCHAR COLLATE NFC": (["\u00e9", "e\u0301"], "\u00e9"),
}
QUESTIONS = {
    "SELECT x AS k, COUNT(*) AS n FROM t GROUP BY k": "{key}",
    "SELECT x || '!' AS k, COUNT(*) AS n FROM t GROUP BY k": "{key}!",
    "SELECT k, COUNT(*) AS n FROM (SELECT DISTINCT p, x AS k FROM t) GROUP BY k": "{key}",
    "SELECT COALESCE(x, 'none') AS k, COUNT(*) AS n FROM t GROUP BY k": "{key}",
    "SELECT CASE WHEN p >= 0 THEN x ELSE 'none' END AS k, COUNT(*) AS n FROM t GROUP BY k": "{key}",
}


@pytest.mark.parametrize("kind", SPELLINGS)
def test_texts_that_a_collation_calls_equal_leave_in_one_spelling(kind: str, tmp_path: Path) -> None:
    values, key = SPELLINGS[kind]
    for order in permutations(values):
        engine = _database(tmp_path, kind, list(order))
        for question, form in QUESTIONS.items():
            assert answer(engine, question) == {repr((form.format(key=key),)): len(values)}, question
        engine.close()


def test_texts_that_a_collation_calls_equal_are_one_value(tmp_path: Path) -> None:
    engine = _database(tmp_path, "VARCHAR COLLATE NOCASE", ["gout", "Gout", "GOUT", "flu"])
    assert answer(engine, "SELECT COUNT(DISTINCT x) AS n FROM t") == {"()": 2}
    assert answer(engine, "SELECT COUNT(*) AS n FROM t WHERE x = 'gout'") == {"()": 3}
    assert answer(engine, "SELECT COUNT(*) AS n FROM t WHERE x IN ('gout', 'flu')") == {"()": 4}
    assert answer(engine, "SELECT COUNT(*) AS n FROM t WHERE x = 'gOUT'") in (
        {},
        {"()": 0},
    )  # plain text like any other
    engine.close()


def test_a_text_whose_collation_has_no_one_spelling_is_left_out(tmp_path: Path) -> None:
    engine = _database(tmp_path, "VARCHAR COLLATE de", ["a"])
    assert engine.columns("t") == [("p", "integer")]
    engine.close()


def test_zeros_and_what_is_no_number_leave_in_one_form() -> None:
    odd = pyarrow.array([0x7FF8000000000001, 0xFFF8000000000000, 0x7FF8000000000000], pyarrow.uint64())
    values = pyarrow.chunked_array([pyarrow.array([-0.0, 0.0, -0.0]), odd.view(pyarrow.float64())])
    engine = DuckDB({"t": pyarrow.table({"p": range(6), "x": values})}, threads=1)
    for value in ("x", "x * 1", "-x", "x / 3", "CAST(x AS DOUBLE)", "LEAST(x, x)", "CASE WHEN p < 9 THEN x END"):
        keys = answer(engine, f"SELECT {value} AS k, COUNT(*) AS n FROM t GROUP BY k")
        assert keys == {"(0.0,)": 3, "(nan,)": 3}, value
    engine.close()


def test_moments_of_any_zone_leave_in_one_form() -> None:
    ticks = pyarrow.array([0, 0], pyarrow.int64())
    for zone in ("UTC", "America/New_York", "+05:30"):
        table = pyarrow.table({"p": [1, 2], "x": ticks.view(pyarrow.timestamp("us", zone))})
        engine = DuckDB({"t": table}, threads=1)
        assert answer(engine, "SELECT x AS k, COUNT(*) AS n FROM t GROUP BY k") == {
            "(datetime.datetime(1970, 1, 1, 0, 0),)": 2
        }
        engine.close()


def test_declared_keys_are_written_as_the_collation_has_them(tmp_path: Path) -> None:
    _database(tmp_path, "VARCHAR COLLATE NOCASE", ["gout", "Gout"]).close()
    facts = {"unit": "p", "max_rows_per_unit": 1, "budget": Budget(9, 1e-6)}
    with pytest.raises(OutOfRange, match="gout"):
        connect(tmp_path / "t.duckdb", keys={"x": ["Gout"]}, ledger=tmp_path / "l", **facts)  # type: ignore[arg-type]
    with connect(tmp_path / "t.duckdb", keys={"x": ["gout"]}, ledger=tmp_path / "l", **facts) as db:  # type: ignore[arg-type]
        [number] = db.sql("SELECT x, COUNT(*) AS n FROM t GROUP BY x", epsilon=8)["n"].values
        assert math.isclose(number, 2, abs_tol=4)


# ---------------------------------------------------------------- bounds that make keys public


def _bounded_years(folder: Path, *, lower: int, upper: int) -> tuple[DuckDB, Dataset]:
    file = folder / "t.duckdb"
    with duckdb.connect(str(file)) as connection:
        connection.execute("CREATE TABLE t (p BIGINT, x BIGINT)")
        connection.executemany("INSERT INTO t VALUES (?, ?)", enumerate([1899, 1900, 1902, 1902, 1903, None]))
    years = Column(name="x", kind=Kind.INTEGER, lower=Fraction(lower), upper=Fraction(upper))
    columns = (Column(name="p", kind=Kind.INTEGER), years)
    table = Table(name="t", source="", columns=columns, link=PersonLink("p"), max_rows_per_unit=3)
    dataset = Dataset(name="d", population="d", unit="t.p", budget=Budget(1, 1e-6), tables=(table,))
    return DuckDB({"t": InDatabase(str(file), "t")}, threads=1), dataset


def test_whole_numbers_between_bounds_are_keys_and_others_are_left_out(tmp_path: Path) -> None:
    engine, dataset = _bounded_years(tmp_path, lower=1900, upper=1902)
    planned = plan_text("SELECT x, COUNT(*) AS n FROM t GROUP BY x", dataset, gaussian=False)
    [read], [plan] = read_exactly(engine, planned), planned.plans
    assert plan.keys[0].domain == (1900, 1901, 1902)
    assert {key: n for key, n in read.measures[0].items() if n} == {"(1900,)": 1, "(1902,)": 2}
    assert "Rows with no x, or one outside the public values, are left out." in plan.notes
    engine.close()


def test_keys_of_long_grids_are_chosen_where_that_is_possible(tmp_path: Path) -> None:
    engine, dataset = _bounded_years(tmp_path, lower=0, upper=20_000)
    engine.close()
    text = "SELECT x, COUNT(*) AS n FROM t GROUP BY x"
    [chosen] = plan_text(text, dataset, gaussian=True).plans
    assert chosen.keys[0].domain is None
    assert any("The 20,001 values that x can have" in note for note in chosen.notes)
    [listed] = plan_text(text, dataset, gaussian=False).plans
    assert len(listed.keys[0].domain or ()) == 20_001
    [narrow] = plan_text(
        f"{text.replace('GROUP', 'WHERE x BETWEEN 1900 AND 1950 GROUP')}", dataset, gaussian=True
    ).plans
    assert len(narrow.keys[0].domain or ()) == 51


def _days(day: date) -> Fraction:
    return Fraction((day - date(1970, 1, 1)).days)


@pytest.mark.parametrize(
    ("unit", "fewest", "most"), [("day", 0, 425), ("month", 0, 14), ("quarter", 0, 5), ("year", 0, 2), ("week", -1, 62)]
)
def test_boundaries_between_days_are_keys_that_can_occur(unit: str, fewest: int, most: int) -> None:
    """From the last day of a year to 14 months later; weeks have one to spare."""
    days = Column(name="x", kind=Kind.DATE, lower=_days(date(2023, 12, 31)), upper=_days(date(2025, 2, 28)))
    table = Table(name="t", source="", columns=(Column(name="p", kind=Kind.INTEGER), days), link=PersonLink("p"))
    dataset = Dataset(name="d", population="d", unit="t.p", budget=Budget(1, 1e-6), tables=(table,))
    text = f"SELECT DATE_DIFF('{unit}', DATE '2023-12-31', x) AS k, COUNT(DISTINCT p) AS n FROM t GROUP BY k"
    [plan] = plan_text(text, dataset, gaussian=False).plans
    assert plan.keys[0].domain == tuple(range(fewest, most + 1))


def test_keys_of_two_grids_are_chosen_where_their_pairs_are_too_many(tmp_path: Path) -> None:
    engine, dataset = _bounded_years(tmp_path, lower=0, upper=5_000)
    engine.close()
    text = "SELECT x, z, COUNT(*) AS n FROM (SELECT a.p, a.x, b.x AS z FROM t a JOIN t b ON a.p = b.p) GROUP BY x, z"
    [plan] = plan_text(text, dataset, gaussian=True).plans
    assert [key.domain for key in plan.keys] == [None, None]
    with pytest.raises(TooLarge, match="25,010,001 rows"):
        plan_text(text, dataset, gaussian=False)
