"""One person moves what a plan reads by at most what the plan says: on a real engine, for random neighbours."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hubbub.engines import DuckDB, InDatabase
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import quote
from hubbub.sql.compiler.lowering.engine_statements import EngineStatement
from hubbub.sql.compiler.query_plan import NoiseKind, QuestionPlan
from hubbub.sql.compiler.rewrites import joint_measures
from hubbub.sql.quote import QueryPlan, plan_kinds, plan_text
from hubbub.terms import Budget, Neighbours, OutOfRange, QueryError
from tests.sql._databases import Database, Pair, dataset_of, pairs
from tests.sql._exact import read_exactly, read_neighbours
from tests.sql._moved import distances
from tests.sql._questions import Asked, asked

QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None, "phases": [Phase.generate]}
PER_PAIR = 6  # questions to each pair of neighbours


def planned(question: Asked, pair: Pair) -> list[QueryPlan]:
    """The plans of a question (one more if it is better read in parts), or none if it is refused."""
    kind = NoiseKind.GAUSSIAN if question.gaussian else NoiseKind.LAPLACE
    try:
        return plan_kinds(question.text, pair.one.dataset, [kind], totals=question.totals or {}, clipping=False)
    except (QueryError, OutOfRange):
        return []


def moved_too_far(pair: Pair, questions: list[Asked]) -> list[str]:
    """Every way in which the two databases differ by more than was said."""
    one, other = pair.one.engine(), pair.other.engine()
    try:
        return [f"{question}: {told}" for question in questions for told in _moved(pair, question, (one, other))]
    finally:
        one.close()
        other.close()


def _moved(pair: Pair, question: Asked, engines: tuple[DuckDB, DuckDB]) -> list[str]:
    relation = pair.one.dataset.neighbours
    return [
        line
        for told in planned(question, pair)
        for plan, (before, after) in zip(told.plans, read_neighbours(engines, told), strict=True)
        for line in distances(plan, before, after, relation)
    ]


def fuzz(examples: int, *, by_row: bool) -> None:
    """Fail on the first pair of neighbours and question that moves too far."""

    @settings(max_examples=examples, **QUIET)
    @given(
        st.one_of(pairs(by_row=by_row), pairs(by_row=by_row, shared=True)),
        st.lists(asked(by_row=by_row), min_size=PER_PAIR, max_size=PER_PAIR),
    )
    def check(pair: Pair, questions: list[Asked]) -> None:
        assert not (found := moved_too_far(pair, questions)), "\n".join(found)

    check()


def test_one_person_moves_every_measure_by_at_most_what_is_said(soak: int) -> None:
    fuzz(12 * soak, by_row=False)


def test_one_row_moves_every_measure_by_at_most_what_is_said(soak: int) -> None:
    fuzz(10 * soak, by_row=True)


# ---------------------------------------------------------------- what was found once

ONE_ROW = {"people": [], "visits": [(0, 1, "n", 1.0, 1, None, "a")], "items": []}
WIDE = [
    "SELECT COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = LOWER(w.ward)",
    "SELECT COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = COALESCE(w.ward, v.ward)",
    "SELECT COUNT(*) AS n FROM wards w JOIN visits v ON w.ward = v.ward",
    "SELECT COUNT(*) AS n FROM (SELECT v.k FROM wards w JOIN visits v ON w.ward = v.ward)",
    "SELECT COUNT(*) AS n FROM visits v JOIN wards w ON w.ward = v.ward",
]


@pytest.mark.parametrize("text", WIDE)
def test_a_public_table_never_makes_several_of_a_row_that_is_a_unit(text: str) -> None:
    dataset = dataset_of("integer", Neighbours.ADD_REMOVE, (1, 1, 1), by_row=True, signed=False)
    one = Database(dataset, "integer", {**ONE_ROW, "wards": [("n", "g", 1), ("n", "h", 2), ("s", "h", 2)]})
    other = replace(one, rows={**one.rows, "visits": []})
    assert moved_too_far(Pair(one, other), [Asked(text, gaussian=True)]) == []


def test_keys_that_look_alike_outside_the_engine_are_one_key_inside_it(tmp_path: Path) -> None:
    path = str(tmp_path / "t.duckdb")
    with duckdb.connect(path) as made:
        made.execute("CREATE TABLE t (pid BIGINT, d DATE, s TIMESTAMP, x DOUBLE)")
        for end in ("9999-12-31", "infinity", "0001-01-01", "-infinity", "20000-01-01"):
            made.execute(f"INSERT INTO t VALUES (1, '{end}', '{end}', 0.25), (1, '{end}', '{end}', 0)")
    kinds = {"pid": Kind.INTEGER, "d": Kind.DATE, "s": Kind.TIMESTAMP}
    columns = [Column(name=name, kind=kind) for name, kind in kinds.items()]
    columns.append(Column(name="x", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(4), step=Fraction(1)))
    table = Table(name="t", source="", columns=tuple(columns), link=PersonLink("pid"), max_rows_per_unit=9)
    dataset = Dataset(name="t", population="t", unit="t.pid", budget=Budget(1, 1e-6), tables=(table,))
    engine = DuckDB({"t": InDatabase(path, "t")})
    for key in ("d", "s", "x", "x + 0"):
        inner = f"SELECT pid, {key} AS key FROM t"
        text = f"SELECT key, COUNT(DISTINCT pid) AS n FROM ({inner}) GROUP BY key"
        [read] = read_exactly(engine, plan_text(text, dataset, gaussian=True))
        assert set(read.people.values()) <= {0, 1}, (key, read)
    engine.close()


MISSING = [(i, 1, "n", None, 1, None, "a") for i in range(3)]


def exactly(text: str, totals: dict[str, Fraction] | None = None) -> int:
    """What is read of one person whose costs are all missing."""
    dataset = dataset_of("integer", Neighbours.REPLACE, (1, 4, 1), by_row=False, signed=False)
    rows = {"people": [], "visits": MISSING, "items": [], "wards": []}
    engine = Database(dataset, "integer", rows).engine()
    try:
        [read] = read_exactly(engine, plan_text(text, dataset, gaussian=True, totals=totals))
    finally:
        engine.close()
    return sum(read.measures[0].values())


def test_whoever_has_no_value_adds_nothing_where_totals_are_bounded() -> None:
    """Such a person once counted with minus the whole bound, also where no value is negative."""
    assert exactly("SELECT ward, SUM(cost) AS s FROM visits GROUP BY ward", {"s": Fraction(7)}) == 0


def test_the_sum_of_no_values_is_missing_and_not_the_bound() -> None:
    per_person = "SELECT pid, SUM(cost) AS c FROM visits GROUP BY pid"
    assert exactly(f"SELECT SUM(c) AS s FROM ({per_person})") == 0
    assert exactly(f"SELECT COUNT(*) AS n FROM ({per_person}) WHERE c IS NULL") == 1


# ---------------------------------------------------------------- the test can fail


def off_by_one(statement: EngineStatement) -> EngineStatement:
    """Every cap lets one row (or key) more through."""
    text = re.sub(r"\b(_hb_[rg]) (<=|>) (\d+)", lambda m: f"{m[1]} {m[2]} {int(m[3]) + 1}", statement.sql)
    text = re.sub(r"count\(\*\) > (\d+)", lambda m: f"count(*) > {int(m[1]) + 1}", text)
    return replace(statement, sql=text)


def without_person(statement: EngineStatement) -> EngineStatement:
    """No join compares the persons."""
    return replace(statement, sql=re.sub(r" AND \(t\d+\._hb_u = t\d+\._hb_u\)", "", statement.sql))


def unclamped(plan: QuestionPlan) -> QuestionPlan:
    """Values are clamped to bounds far beyond the declared ones."""
    wide = [replace(m, lower=100 * m.lower, upper=100 * m.upper) if m.value else m for m in plan.measures]
    return replace(plan, measures=tuple(wide))


def same(given: Any) -> Any:
    return given


PLANTED = {
    "a cap that is off by one": (off_by_one, same, "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
    "a cap on keys that is off by one": (
        off_by_one,
        same,
        "SELECT txt, COUNT(DISTINCT pid) AS n FROM visits GROUP BY 1",
    ),
    "a cap on a curve that is off by one": (off_by_one, same, "SELECT MEDIAN(k) AS m FROM visits"),
    "a clamp that is not applied": (same, unclamped, "SELECT SUM(cost) AS s, SUM(k) AS t FROM visits"),
    "a join that forgets the person": (
        without_person,
        same,
        "SELECT COUNT(*) AS n FROM visits v JOIN items i ON i.vid = v.vid",
    ),
    "a condition that forgets the person": (
        without_person,
        same,
        "SELECT COUNT(*) AS n FROM visits v WHERE EXISTS (SELECT 1 FROM items i WHERE i.vid = v.vid)",
    ),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, monkeypatch: pytest.MonkeyPatch) -> None:
    change, widen, text = PLANTED[fault]
    real = quote.write_statements

    def faulty(plan: QuestionPlan, *given: Any, **named: Any) -> tuple[EngineStatement, ...]:
        return tuple(map(change, real(widen(plan), *given, **named)))

    monkeypatch.setattr(quote, "write_statements", faulty)

    @settings(max_examples=300, derandomize=True, **QUIET)
    @given(pairs(shared=True))
    def check(pair: Pair) -> None:
        assert not (found := moved_too_far(pair, [Asked(text, gaussian=True)])), "\n".join(found)

    with pytest.raises(AssertionError, match="was said"):
        check()


def test_measures_that_are_wrongly_said_to_exclude_each_other_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joint_measures, "exclude_each_other", lambda one, other: True)
    text = "SELECT COUNT(*) FILTER (WHERE k > 0) AS a, COUNT(*) FILTER (WHERE k > 1) AS b FROM visits"

    @settings(max_examples=300, derandomize=True, **QUIET)
    @given(pairs(shared=True))
    def check(pair: Pair) -> None:
        assert not (found := moved_too_far(pair, [Asked(text, gaussian=True)])), "\n".join(found)

    with pytest.raises(AssertionError, match="together"):
        check()
