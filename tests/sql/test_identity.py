"""Who a person is: the same in every table whatever the type of its ids, or refused from the types alone."""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import hubbub as hb
from hubbub.engines import DuckDB, InDatabase
from hubbub.relations import DIALECTS
from hubbub.relations.column_printer import id_from
from hubbub.relations.native_types import form_of
from hubbub.sql.open_connection import declare
from hubbub.terms import SourceUnavailable

DUCKDB = DIALECTS["duckdb"]
WHOLE = ("TINYINT", "INTEGER", "BIGINT", "UINTEGER", "UBIGINT", "HUGEINT", "UHUGEINT")
EXACT = (*WHOLE, "DECIMAL(9,0)", "DECIMAL(18,3)", "DECIMAL(38,0)", "DECIMAL(38,20)")
NUMBERS = (*EXACT, "FLOAT", "DOUBLE")
IDS = [
    *("0", "1", "-1", "7", "1.5", "-0.25", "0.001", "127", "128", "16777217", "-16777217", "4294967296"),
    *(str(sign * (2**53 + more)) for sign in (1, -1) for more in range(4)),
    *("9223372036854775807", "-9223372036854775808", "9223372036854775808", "18446744073709551615"),
    *("18446744073709551616", "99999999999999999999999999999999999999", "340282366920938463463374607431768211455"),
]


@pytest.fixture(autouse=True)
def _second_place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledgers' second place is a temporary folder."""
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path_factory.mktemp("state")))


@pytest.fixture(scope="module")
def engine() -> Any:
    with duckdb.connect() as connection:
        yield connection


def ids(engine: Any, native: str, form: str) -> dict[str, Any]:
    """For each number that a type holds exactly, the id that it is."""
    values = ", ".join(f"('{text}')" for text in IDS)
    held = f"SELECT t, TRY_CAST(t AS {native}) AS x FROM (VALUES {values}) AS v(t)"
    rows = engine.execute(f"SELECT t, x, {id_from('x', native, form, DUCKDB)} FROM ({held})").fetchall()
    return {text: found for text, x, found in rows if x is not None and _holds(x, text)}


def _holds(value: Any, text: str) -> bool:
    return math.isfinite(value) and Fraction(value) == Fraction(text)


@pytest.mark.parametrize(("one", "other"), list(combinations(NUMBERS, 2)))
def test_a_number_is_the_same_person_in_columns_of_all_types(one: str, other: str, engine: Any) -> None:
    form = form_of([one, other])
    assert form is not None and form_of([other, one]) == form
    first, second = ids(engine, one, form), ids(engine, other, form)
    both = first.keys() & second.keys()
    assert {"0", "1", "7"} <= both
    assert all(first[text] == second[text] and first[text] is not None for text in both), (form, first, second)


@pytest.mark.parametrize(("one", "other"), [(one, other) for one in EXACT for other in EXACT])
def test_types_without_rounding_keep_all_people_apart(one: str, other: str, engine: Any) -> None:
    form = form_of([one, other])
    if form != "DOUBLE":  # of which no decimal holds all digits
        told = ids(engine, one, str(form))
        assert len(set(told.values())) == len(told)


def test_a_person_is_no_two_because_one_table_rounds(engine: Any) -> None:
    """Whoever a double cannot tell apart is one person where a double is among the types, also in exact columns."""
    form = form_of(["BIGINT", "DOUBLE"])
    assert form == "DOUBLE"
    exact = ids(engine, "BIGINT", form)
    assert exact[str(2**53)] == exact[str(2**53 + 1)] != exact[str(2**53 + 2)]


def test_what_is_no_number_is_nobody(engine: Any) -> None:
    values = "('nan'), ('-nan'), ('inf'), ('-inf'), ('0'), ('-0'), ('1.5')"
    query = f"SELECT {{}} FROM (SELECT CAST(t AS DOUBLE) AS x FROM (VALUES {values}) AS v(t))"
    rows = engine.execute(query.format(id_from("x", "DOUBLE", "DOUBLE", DUCKDB))).fetchall()
    assert [row[0] for row in rows] == [None, None, None, None, 0.0, 0.0, 1.5]
    assert [math.copysign(1, row[0]) for row in rows[4:6]] == [1, 1]
    rows = engine.execute(query.format(id_from("x", "DOUBLE", "BIGINT", DUCKDB))).fetchall()
    assert [row[0] for row in rows] == [None, None, None, None, 0, 0, None]


def test_text_that_is_declared_to_be_a_number_is_that_number_or_nobody(engine: Any) -> None:
    texts = ["1", " 1 ", "1.0", "1e0", "01", "1.5", "x", "", "1" * 30, "-9007199254740994", "inf", "nan"]
    table = pyarrow.table({"x": texts})
    engine.register("texts", table)
    whole = engine.execute(f"SELECT {id_from('x', 'VARCHAR', 'BIGINT', DUCKDB)} FROM texts").fetchall()
    assert [row[0] for row in whole] == [1, 1, 1, 1, 1, None, None, None, None, -9007199254740994, None, None]
    double = engine.execute(f"SELECT {id_from('x', 'VARCHAR', 'DOUBLE', DUCKDB)} FROM texts").fetchall()
    assert [row[0] for row in double][5:9] == [1.5, None, None, float("1" * 30)]


@pytest.mark.parametrize(
    "natives",
    [
        ["BIGINT", "VARCHAR"],
        ["DOUBLE", "VARCHAR"],
        ["BIGINT", "TIMESTAMP"],
        ["BIGINT", "BOOLEAN"],
        ["DATE", "TIMESTAMP"],
        ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"],
        ["TIMESTAMP", "TIMESTAMP_NS"],
        ["UUID", "VARCHAR"],
        ["BLOB", "VARCHAR"],
        ["INTEGER[]", "BIGINT[]"],
        ["VARCHAR COLLATE NOCASE", "VARCHAR COLLATE NOACCENT"],
        ["VARCHAR COLLATE de"],
    ],
)
def test_other_mixtures_have_no_form(natives: list[str]) -> None:
    assert form_of(natives) is None and form_of(natives[::-1]) is None


# ---------------------------------------------------------------- with tables

TOML = """
dataset = { name = "clinic" }
privacy = { unit = "people.pid", budget = { epsilon = 100 } }
[tables.people]
key = "pid"
columns.age = { type = "integer", lower = 0, upper = 99 }
[tables.visits]
unit = { pid = "people.pid" }
key = "vid"
max_rows_per_unit = 3
[tables.items]
unit = { vid = "visits.vid" }
max_rows_per_unit = 3
"""
QUESTIONS = {
    "SELECT COUNT(*) FROM visits v JOIN people p ON v.pid = p.pid": 6,
    "SELECT COUNT(*) FROM people p JOIN visits v ON v.pid = p.pid": 6,
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM people p WHERE p.pid = v.pid)": 6,
    "SELECT COUNT(DISTINCT v.pid) FROM visits v JOIN people p ON v.pid = p.pid": 3,
    "SELECT COUNT(*) FROM items": 6,
    "SELECT COUNT(*) FROM visits v JOIN items i ON i.vid = v.vid": 6,
    "SELECT COUNT(*) FROM people p JOIN visits v ON v.pid = p.pid JOIN items i ON i.vid = v.vid": 6,
}
COLUMNS: dict[str, Any] = {
    "BIGINT": lambda ids: pyarrow.array(ids, pyarrow.int64()),
    "UBIGINT": lambda ids: pyarrow.array(ids, pyarrow.uint64()),
    "DOUBLE": lambda ids: pyarrow.array([*map(float, ids)], pyarrow.float64()),
    "FLOAT": lambda ids: pyarrow.array(np.array(ids, np.float32), pyarrow.float32()),
    "DECIMAL": lambda ids: pyarrow.array([Decimal(i) for i in ids], pyarrow.decimal128(30, 4)),
    "VARCHAR": lambda ids: pyarrow.array([*map(str, ids)], pyarrow.string()),
    "TIMESTAMP": lambda ids: pyarrow.array(ids, pyarrow.timestamp("us")),
    "BLOB": lambda ids: pyarrow.array([str(i).encode() for i in ids], pyarrow.binary()),
}


def clinic(folder: Path, kinds: tuple[str, str], people: list[int], *, csv: bool = False) -> Path:
    """Three people with two visits each, and one item of each visit; the types of ids differ between tables."""
    one, other = (COLUMNS[kind] for kind in kinds)
    visits = list(range(2 * len(people)))
    tables = {
        "people": {"pid": one(people), "age": [30] * len(people)},
        "visits": {"vid": one(visits), "pid": other([pid for pid in people for _ in range(2)])},
        "items": {"vid": other(visits)},
    }
    for name, columns in tables.items():
        table = pyarrow.table(columns)
        if csv:
            table.to_pandas().to_csv(folder / f"{name}.csv", index=False)
        else:
            pyarrow.parquet.write_table(table, folder / f"{name}.parquet")
    types = '\ncolumns.pid = { type = "integer" }\ncolumns.vid = { type = "number" }\n'
    text = TOML
    if csv:
        text = text.replace("[tables.visits]", 'columns.pid = { type = "integer" }\n[tables.visits]')
        text = text.replace("max_rows_per_unit = 3\n[tables.items]", f"max_rows_per_unit = 3{types}[tables.items]")
        text += 'columns.vid = { type = "integer" }\n'
    (folder / "clinic.toml").write_text(text)
    return folder / "clinic.toml"


@pytest.mark.parametrize(
    "kinds", [("BIGINT", "DOUBLE"), ("DOUBLE", "BIGINT"), ("DECIMAL", "BIGINT"), ("FLOAT", "UBIGINT")]
)
@pytest.mark.usefixtures("silence")
def test_ids_of_two_kinds_meet(kinds: tuple[str, str], tmp_path: Path) -> None:
    with hb.connect(clinic(tmp_path, kinds, [1, 2, 3]), ledger=tmp_path / "ledger.db") as db:
        assert {text: db.sql(text, epsilon=1).value for text in QUESTIONS} == QUESTIONS


@pytest.mark.usefixtures("silence")
def test_ids_in_csv_files_meet_as_the_numbers_they_are_declared_to_be(tmp_path: Path) -> None:
    with hb.connect(clinic(tmp_path, ("BIGINT", "DOUBLE"), [1, 2, 3], csv=True), ledger=tmp_path / "ledger.db") as db:
        assert {text: db.sql(text, epsilon=1).value for text in QUESTIONS} == QUESTIONS


@pytest.mark.usefixtures("silence")
def test_people_beyond_64_bits_meet(tmp_path: Path) -> None:
    people = [2**63, 2**63 + 1, 2**64 - 1]
    with hb.connect(clinic(tmp_path, ("UBIGINT", "UBIGINT"), people), ledger=tmp_path / "ledger.db") as db:
        assert {text: db.sql(text, epsilon=1).value for text in QUESTIONS} == QUESTIONS


@pytest.mark.parametrize("kinds", [("BIGINT", "VARCHAR"), ("VARCHAR", "DOUBLE"), ("TIMESTAMP", "BIGINT")])
def test_mixtures_that_never_meet_are_refused_from_types_alone(kinds: tuple[str, str], tmp_path: Path) -> None:
    words = set()
    for people in ([1, 2, 3], [5], []):
        with pytest.raises(SourceUnavailable, match=r"people\.pid is ") as refusal:
            declare(clinic(tmp_path, kinds, people))
        words.add(str(refusal.value))
    assert len(words) == 1


def test_a_link_whose_types_never_meet_is_refused_too(tmp_path: Path) -> None:
    path = clinic(tmp_path, ("BIGINT", "BIGINT"), [1, 2])
    pyarrow.parquet.write_table(pyarrow.table({"vid": ["0", "1"]}), tmp_path / "items.parquet")
    with pytest.raises(SourceUnavailable, match=r"items\.vid is VARCHAR, visits\.vid is BIGINT"):
        declare(path)


@pytest.mark.usefixtures("silence")
def test_a_column_that_takes_letters_of_both_cases_for_one_has_one_person(tmp_path: Path) -> None:
    file = str(tmp_path / "clinic.duckdb")
    with duckdb.connect(file) as database:
        database.execute("CREATE TABLE visits (pid VARCHAR COLLATE NOCASE, k INTEGER)")
        database.execute(
            "INSERT INTO visits SELECT CASE WHEN i % 2 = 0 THEN 'ann' ELSE 'ANN' END, i FROM range(9) t(i)"
        )
    engine = DuckDB({"visits": InDatabase(file, "visits")})
    assert engine.natives("visits")["pid"] == "VARCHAR COLLATE NOCASE"
    engine.close()
    with hb.connect(
        file, unit="pid", max_rows_per_unit=3, budget=hb.Budget(9, 1e-6), ledger=tmp_path / "ledger.db"
    ) as db:
        assert db.sql("SELECT COUNT(*) FROM visits", epsilon=1).value == 3
        assert db.sql("SELECT COUNT(DISTINCT pid) FROM visits", epsilon=1).value == 1
        assert db.sql("SELECT COUNT(*) FROM (SELECT pid, MAX(k) AS m FROM visits GROUP BY pid)", epsilon=1).value == 1
