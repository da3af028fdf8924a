"""A heavy person causes no more work than a public number: the engine counts rows, and texts have a length."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.relations import limits, print_expression
from hubbub.relations.dialects import DIALECTS
from hubbub.relations.expressions import Expr, column, literal
from hubbub.relations.text_work import text_width, width_made
from hubbub.relations.value_facts import build
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.quote import QueryPlan, plan_text
from hubbub.terms import Budget, OverLimit

CAP, HEAVY = 4, 300
_NUMBERS = ("pid", "vid", "k")


def _table(name: str, **facts: Any) -> Table:
    columns = (*(Column(name=each, kind=Kind.INTEGER) for each in _NUMBERS), Column(name="txt", kind=Kind.TEXT))
    return Table(name=name, columns=columns, **facts)


DATASET = Dataset(
    name="d",
    population="d",
    unit="people.pid",
    budget=Budget(1, 1e-6),
    tables=(
        _table("people", link=PersonLink("pid"), key="pid", max_rows_per_unit=1),
        _table("visits", link=PersonLink("pid", "people", "pid"), key="vid", max_rows_per_unit=CAP),
        _table("items", link=PersonLink("vid", "visits", "vid"), max_rows_per_unit=CAP),
        _table("open_ended", link=PersonLink("pid", "people", "pid")),
        _table("wards", public=True, key="k"),
        _table("days", public=True, rows=50),
    ),
)


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[Any, Any]]:
    """The same tables without and with one person of very many rows, who also has every key several times."""
    made_of = []
    for heavy in (False, True):
        connection = duckdb.connect(":memory:")
        for table in DATASET.tables:
            connection.execute(f"CREATE TABLE {table.name} (pid BIGINT, vid BIGINT, k BIGINT, txt VARCHAR)")
            connection.execute(f"INSERT INTO {table.name} SELECT i, i, i, 'a' FROM range(40) r(i)")
            if heavy and not table.public:
                connection.execute(f"INSERT INTO {table.name} SELECT 999, 999 + i % 3, i, 'a' FROM range({HEAVY}) r(i)")
        made_of.append(connection)
    yield made_of[0], made_of[1]
    for each in made_of:
        each.close()


JOINS = {
    "a key": ("people q JOIN visits v ON v.pid = q.pid", HEAVY),
    "a path": ("people q JOIN visits v ON v.pid = q.pid JOIN items i ON i.vid = v.vid", HEAVY),
    "the same key again": ("visits v JOIN people a ON v.pid = a.pid JOIN people b ON v.pid = b.pid", HEAVY),
    "all against all": ("visits v JOIN visits w ON v.pid = w.pid", CAP**2),
    "three times": ("visits v JOIN visits w ON v.pid = w.pid JOIN visits x ON x.pid = w.pid", CAP**3),
    "a star": ("people q JOIN visits v ON v.pid = q.pid JOIN visits w ON w.pid = q.pid", CAP**2),
    "left": ("visits v LEFT JOIN visits w ON v.pid = w.pid AND w.k > v.k", CAP**2),
    "a public key": ("visits v JOIN wards w ON w.k = v.k", HEAVY),
    "public rows": ("people q JOIN days d ON TRUE", 50 * HEAVY),
    "two of a name": ("(SELECT * FROM visits) v JOIN (SELECT * FROM visits) w ON v.pid = w.pid", CAP**2),
    "comparing": ("visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.pid = v.pid AND w.k > v.k)", CAP * HEAVY),
    "looking up": ("visits v WHERE v.pid IN (SELECT w.pid FROM visits w WHERE w.k > 3)", HEAVY),
    "a window": ("(SELECT pid, SUM(k) OVER (PARTITION BY pid ORDER BY k) AS s FROM visits) v WHERE v.s > 3", HEAVY),
}


def planned(source: str) -> QueryPlan:
    whom = next(each for each in ("v", "q") if f" {each} " in f"{source} ")
    return plan_text(f"SELECT COUNT(DISTINCT {whom}.pid) AS n FROM {source}", DATASET, gaussian=True)


def most_rows(connection: Any, told: QueryPlan) -> int:
    """The rows that the busiest operator of the engine gives."""
    [[statement]] = told.statements("duckdb")
    [[_, text]] = connection.execute(f"EXPLAIN (ANALYZE, FORMAT json) {statement.sql}").fetchall()
    found, left = 0, list(json.loads(text)["operator"])
    while left:
        operator = left.pop()
        found = max(found, operator["intermediate_rows"])
        left += operator.get("children", [])
    return found


@pytest.mark.parametrize("name", JOINS)
def test_a_heavy_person_adds_at_most_the_rows_that_are_there_and_the_product_of_caps(
    engines: tuple[Any, Any], name: str
) -> None:
    source, bound = JOINS[name]
    told = planned(source)
    assert most_rows(engines[1], told) - most_rows(engines[0], told) <= max(bound, 2 * HEAVY)


def test_without_caps_the_same_join_explodes(engines: tuple[Any, Any]) -> None:
    told = planned(JOINS["three times"][0])
    loose = tuple(replace(item, at_most=None) for item in told.plans[0].source[:2])
    careless = replace(told, plans=(replace(told.plans[0], source=loose),))
    assert most_rows(engines[1], careless) >= HEAVY**2


REFUSED = {
    "no cap": "open_ended a JOIN open_ended b ON a.pid = b.pid",
    "public rows that nobody counted": "people a JOIN wards w ON TRUE",
    "comparing without a cap": "people a WHERE EXISTS (SELECT 1 FROM open_ended b WHERE b.pid = a.pid AND b.k > a.k)",
    "many public rows": "people a" + "".join(f" JOIN days d{i} ON TRUE" for i in range(4)),
    "a power": "visits a" + "".join(f" JOIN visits v{i} ON v{i}.pid = a.pid" for i in range(11)),
}
DOUBLED = "WITH c0 AS (SELECT * FROM visits)" + "".join(
    f", c{i + 1} AS (SELECT x.pid, x.k FROM c{i} x JOIN c{i} y ON x.pid = y.pid)" for i in range(11)
)
LONG = "x" * 200
TEXTS = {
    "replacing what was replaced": f"REPLACE(REPLACE(REPLACE(CASE WHEN pid = 17 THEN 'x' ELSE '' END, 'x', '{LONG}'), "
    f"'x', '{LONG}'), 'x', '{LONG}') <> ''",
    "doubling": "CONCAT(" * 30 + "txt" + ", txt)" * 30 + " <> ''",
    "many long patterns": " OR ".join(f"txt LIKE '%{i}{'a' * 200}%'" for i in range(9)),
    "a long pattern": f"txt LIKE '{'a%' * 200}'",
    "a long literal": f"txt = '{'a' * 1500}'",
    "a long list": f"k IN ({', '.join(map(str, range(1500)))})",
}


@pytest.mark.parametrize("source", REFUSED.values(), ids=list(REFUSED))
def test_joins_without_a_public_bound_are_refused(source: str) -> None:
    with pytest.raises(OverLimit):
        plan_text(f"SELECT COUNT(DISTINCT a.pid) AS n FROM {source}", DATASET, gaussian=True)


def test_names_that_double_are_refused() -> None:
    with pytest.raises(OverLimit):
        plan_text(f"{DOUBLED} SELECT COUNT(DISTINCT pid) AS n FROM c11", DATASET, gaussian=True)


@pytest.mark.parametrize("condition", TEXTS.values(), ids=list(TEXTS))
def test_texts_that_grow_are_refused(condition: str) -> None:
    with pytest.raises(OverLimit):
        plan_text(f"SELECT COUNT(DISTINCT pid) AS n FROM visits WHERE {condition}", DATASET, gaussian=True)


# ---------------------------------------------------------------- the length of texts

_TXT = column("t0", "visits", Column(name="txt", kind=Kind.TEXT), unit=False)
_words = st.text(alphabet="ab", max_size=6)
_pieces = st.builds(literal, _words)


def _grown(inner: st.SearchStrategy[Expr]) -> st.SearchStrategy[Expr]:
    return st.one_of(
        st.builds(lambda a, b: build("pipe", [a, b]), inner, inner),
        st.builds(lambda a, b: build("concat", [a, b, a]), inner, inner),
        st.builds(lambda a, x, y: build("replace", [a], (x, y)), inner, _words, _words),
        st.builds(lambda a, n: build("left", [a], n), inner, st.integers(-3, 30)),
        st.builds(lambda a, n: build("right", [a], n), inner, st.integers(-3, 30)),
        st.builds(lambda a, n, m: build("substring", [a], (n, m)), inner, st.integers(-9, 9), st.integers(0, 30)),
        st.builds(lambda a: build("upper", [a]), inner),
        st.builds(lambda a, b: build("coalesce", [a, b]), inner, inner),
        st.builds(lambda a, b: build("case", [build("isnull", [a]), a, b]), inner, inner),
    )


@settings(max_examples=150, deadline=None, database=None)
@given(value=st.recursive(st.one_of(_pieces, st.just(_TXT)), _grown, max_leaves=8))
def test_no_text_is_longer_than_what_is_said_of_it(value: Expr) -> None:
    if width_made(value) > 1_000_000:
        return
    text = print_expression(value, DIALECTS["duckdb"])
    rows = "(VALUES ('a'), (repeat('ab', 2048)), (repeat('a', 4096)), (NULL)) AS t0(txt)"
    [[longest]] = duckdb.execute(f"SELECT coalesce(max(length({text})), 0) FROM {rows}").fetchall()
    assert longest <= text_width(value) <= limits.TEXT


def test_texts_are_cut_where_they_are_read() -> None:
    asked = "SELECT COUNT(DISTINCT pid) FILTER (WHERE LENGTH(txt) > 4999) AS n FROM visits"
    told = plan_text(asked, DATASET, gaussian=True)
    connection = duckdb.connect(":memory:")
    connection.execute("CREATE TABLE people AS SELECT 1 AS pid, 1 AS vid, 1 AS k, 'a' AS txt")
    connection.execute("CREATE TABLE visits AS SELECT 1 AS pid, 1 AS vid, 1 AS k, repeat('x', 5000000) AS txt")
    [[statement]] = told.statements("duckdb")
    assert connection.execute(statement.sql).fetchall() == [(0,)]
