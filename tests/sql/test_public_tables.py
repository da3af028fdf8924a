"""A row or person joined to public tables counts as often as was said, whatever the public rows and spellings are."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest

from hubbub.engines import DuckDB
from hubbub.schema import Column, Dataset, Kind, Table
from hubbub.sql.open_connection import connect
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget, Neighbours, NotAllowed
from tests.sql._databases import Database, dataset_of
from tests.sql._exact import engine_over, read_exactly

COST = Column(name="x", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(5), step=Fraction(1))
VISITS = Table(name="visits", source="", columns=(Column(name="shop", kind=Kind.INTEGER), COST))
SHOPS = Table(name="shops", source="", columns=(Column(name="id", kind=Kind.INTEGER),), key="id", public=True)
BY_ROW = Dataset(name="d", population="d", unit="", budget=Budget(1, 1e-6), tables=(VISITS, SHOPS))


def moved_by_a_row(on: str, ids: range, shop: int) -> tuple[Any, Any]:
    """How far one row moves COUNT(*), and how far the plan says."""
    plan = plan_text(f"SELECT COUNT(*) AS n FROM visits v JOIN shops w ON {on}", BY_ROW, gaussian=True)
    with_row, without = (_by_row(rows, ids) for rows in ([(shop, 5.0)], []))
    counts = [read_exactly(engine, plan)[0].measures[0] for engine in (with_row, without)]
    return abs(sum(counts[0].values()) - sum(counts[1].values())), plan.plans[0].moved[0].l1


def _by_row(rows: list[tuple[int, float]], ids: range) -> DuckDB:
    visits = ({"shop": pyarrow.int64(), "x": pyarrow.float64()}, rows)
    return engine_over({"visits": visits, "shops": ({"id": pyarrow.int64()}, [(number,) for number in ids])})


# ---------------------------------------------------------------- a key that is fixed from outside


@pytest.mark.parametrize(
    "on",
    [
        "w.id = CASE WHEN EXISTS (SELECT 1 FROM shops z WHERE z.id = w.id AND z.id = 2) THEN 2 ELSE v.shop END",
        "w.id = CASE WHEN v.shop IN (SELECT z.id FROM shops z WHERE z.id <> w.id) THEN 3 ELSE v.shop END",
    ],
)
def test_a_subquery_that_asks_about_the_public_row_fixes_no_key(on: str) -> None:
    with pytest.raises(NotAllowed, match="not its key"):
        moved_by_a_row(on, range(20), 1)


@pytest.mark.parametrize("other", ["v.shop + 0", "ABS(v.shop)", "-(-v.shop)", "FLOOR(v.shop)", "GREATEST(v.shop, 0)"])
def test_a_whole_number_that_was_worked_out_fixes_no_key(other: str) -> None:
    """Arithmetic is in doubles, and above 2^53 many whole numbers are one double."""
    with pytest.raises(NotAllowed, match="not its key"):
        moved_by_a_row(f"w.id = {other}", range(2**62, 2**62 + 400), 2**62)


@pytest.mark.parametrize("other", ["v.shop", "CAST(v.shop AS BIGINT)", "COALESCE(v.shop, 1)", "v.shop % 100"])
def test_whole_numbers_that_are_exact_fix_a_key(other: str) -> None:
    for first in (0, 2**62):
        moved, said = moved_by_a_row(f"w.id = {other}", range(first, first + 400), first)
        assert moved <= said == 1


# ---------------------------------------------------------------- a key that repeats


@pytest.mark.parametrize(
    "question",
    [
        "SELECT COUNT(*) AS n, SUM(CLIP(w.beds, 0, 9)) AS c FROM visits v JOIN wards w USING (ward) WHERE w.grp = 'h'",
        "SELECT w.grp AS g, COUNT(*) AS n, SUM(v.cost) AS d FROM visits v JOIN wards w ON v.ward = w.ward GROUP BY 1",
    ],
)
@pytest.mark.parametrize("wards", [[("n", "h", 1), ("n", "g", 5)], [("n", "g", 5), ("n", "h", 1), ("n", "h", 9)]])
def test_the_cap_is_counted_on_the_public_row_that_is_added_up(question: str, wards: list[Any]) -> None:
    """Of rows with one public key each statement must take the same, though it reads other columns of it."""
    dataset = dataset_of("integer", Neighbours.ADD_REMOVE, (1, 2, 2), by_row=False, signed=False)
    visits = [(number, 1, "n", 10.0, 1, None, "a") for number in range(1000)]
    rows = {"people": [(1, 3, "f", "u")], "visits": visits, "items": [], "wards": wards}
    one = Database(dataset, "integer", rows)
    nobody = replace(one, rows={**rows, "people": [], "visits": []})
    plan = plan_text(question, dataset, gaussian=True)
    pairs = zip(plan.plans, read_exactly(one.engine(), plan), read_exactly(nobody.engine(), plan), strict=True)
    for each, here, there in pairs:
        for said, ours, theirs in zip(each.moved, here.measures, there.measures, strict=True):
            assert sum(abs(ours.get(key, 0) - theirs.get(key, 0)) for key in ours.keys() | theirs.keys()) <= said.l1


# ---------------------------------------------------------------- columns with a collation


@pytest.mark.parametrize(
    "key",
    ["w || t", "CONCAT(w, t)", "COALESCE(NULLIF(w, 'x'), t)", "CASE WHEN p < 0 THEN w ELSE t END", "GREATEST(t, w)"],
)
@pytest.mark.parametrize("collation", ["NOCASE", "NOACCENT", "NFC"])
def test_a_columns_collation_does_not_spread_to_others_spellings(key: str, collation: str, tmp_path: Path) -> None:
    """One person's spelling would otherwise decide how a whole group is written, or take a public one away."""
    odd = {"NOCASE": "hIV", "NOACCENT": "hïv", "NFC": "hi\u0308v"}[collation]
    texts = {name: _labels(tmp_path / name, key, collation, rows) for name, rows in {"a": [], "b": [odd]}.items()}
    without, with_odd = texts["a"], texts["b"]
    assert sum(abs(without.get(key, 0) - with_odd.get(key, 0)) for key in without | with_odd) <= 1


def _labels(path: Path, key: str, collation: str, more: list[str]) -> dict[Any, int]:
    path.mkdir()
    with duckdb.connect(str(path / "t.duckdb")) as made:
        made.execute(f"CREATE TABLE t (p BIGINT, w VARCHAR COLLATE {collation}, t VARCHAR)")
        for place, text in enumerate(more):
            made.execute("INSERT INTO t VALUES (?, 'x', ?)", [-1 - place, text])
        made.execute("INSERT INTO t SELECT i, 'x', 'hiv' FROM range(1, 300) r(i)")
    budget = Budget(9, 1e-6)
    with connect(path / "t.duckdb", unit="p", max_rows_per_unit=1, budget=budget, ledger=path / "l.db") as db:
        plan = plan_text(f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY k", db.dataset, gaussian=True)
        return read_exactly(db.engine, plan)[0].measures[0]
