"""Without noise, and where nobody exceeds a bound, answers are the exact ones; what is summed is always integers."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import date
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from itertools import combinations
from pathlib import Path
from typing import Any

import duckdb
import pyarrow
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from hubbub import Budget
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import Connection, connect
from hubbub.sql.quote import plan_text
from tests.sql._exact import engine_over, read_exactly

# ---------------------------------------------------------------- the same as the engine by itself

MADE = """
CREATE TABLE visits AS SELECT
  i // 3 AS pid, ['n', 's'][1 + a % 2] AS ward, (b % 21) * 0.5::DOUBLE AS cost, c % 6 AS k,
  DATE '2020-01-01' + CAST(a % 366 AS INTEGER) AS day, TIMESTAMP '2020-01-01' + INTERVAL (i * 13) HOUR AS ts,
  ['Ab', ' b ', NULL, '12'][1 + b % 4] AS txt, CASE WHEN c % 7 > 0 THEN (a % 9) * 0.5::DOUBLE END AS gap,
  b % 3 = 0 AS ok
FROM (SELECT i, CAST(hash(i) % 100003 AS BIGINT) AS a, CAST(hash(-i) % 100019 AS BIGINT) AS b,
  CAST(hash(i + 1000) % 100043 AS BIGINT) AS c FROM range(3, 453) r(i));
CREATE TABLE people AS SELECT i AS pid, 20 + i % 50 AS age, CASE i % 3 WHEN 0 THEN 'f' ELSE 'm' END AS sex
FROM range(0, 140) r(i)
"""
EXACT = """
SELECT COUNT(*) AS n FROM visits
SELECT COUNT(gap) AS n, COUNT(*) - COUNT(gap) AS missing FROM visits
SELECT COUNT(DISTINCT pid) AS n FROM visits
SELECT COUNT(DISTINCT k) AS n FROM visits
SELECT COUNT(DISTINCT txt) AS n FROM visits WHERE k < 3
SELECT COUNT(DISTINCT pid) FILTER (WHERE cost > 5) AS n FROM visits
SELECT SUM(cost) AS s FROM visits
SELECT SUM(gap) AS s FROM visits
SELECT SUM(k) AS s, SUM(k * k) AS q, SUM(k + 1) AS p, SUM(-k) AS m FROM visits
SELECT SUM(cost * 2) AS s, SUM(cost - gap) AS d FROM visits
SELECT SUM(CASE WHEN ward = 'n' THEN cost ELSE 0 END) AS s FROM visits
SELECT SUM(cost) FILTER (WHERE ok) AS s, COUNT(*) FILTER (WHERE NOT ok) AS n FROM visits
SELECT SUM(ABS(k - 3)) AS s FROM visits
SELECT SUM(k % 4) AS s, SUM(FLOOR(cost)) AS f, SUM(CEIL(cost)) AS c FROM visits
SELECT SUM(GREATEST(cost, k)) AS g, SUM(LEAST(cost, k)) AS l FROM visits
SELECT SUM(COALESCE(gap, 1)) AS s FROM visits
SELECT SUM(SIGN(k - 2)) AS s FROM visits
SELECT SUM(CAST(ok AS INTEGER)) AS s FROM visits
SELECT SUM(MONTH(day)) AS m, SUM(EXTRACT(dow FROM day)) AS d, SUM(EXTRACT(hour FROM ts)) AS h FROM visits
SELECT AVG(cost) AS a FROM visits
SELECT AVG(gap) AS a, AVG(k) AS b FROM visits
SELECT AVG(cost) FILTER (WHERE k = 1) AS a FROM visits
SELECT VAR_POP(cost) AS v, VAR_SAMP(k) AS w FROM visits
SELECT STDDEV_POP(cost) AS v, STDDEV(k) AS w FROM visits
SELECT SUM(cost) / COUNT(*) AS a FROM visits
SELECT 2 * COUNT(*) + 1 AS n, ROUND(AVG(cost)) AS r FROM visits
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward
SELECT ward, SUM(cost) AS s, AVG(cost) AS a, COUNT(DISTINCT pid) AS p FROM visits GROUP BY ward
SELECT ward AS w, ok, COUNT(*) AS n FROM visits GROUP BY w, ok
SELECT ok, COUNT(*) AS n FROM visits GROUP BY ok
SELECT LOWER(ward) AS w, COUNT(*) AS n FROM visits GROUP BY w
SELECT k % 3 AS r, COUNT(*) AS n FROM visits GROUP BY r
SELECT k + 1 AS r, COUNT(*) AS n, SUM(k) AS s FROM visits GROUP BY r
SELECT MONTH(day) AS m, COUNT(*) AS n FROM visits GROUP BY m
SELECT DATE_TRUNC('month', day) AS m, SUM(cost) AS s FROM visits GROUP BY m
SELECT DATE_TRUNC('quarter', day) AS m, COUNT(*) AS n FROM visits GROUP BY 1
SELECT CASE WHEN cost > 5 THEN 'high' WHEN cost > 2 THEN 'mid' ELSE 'low' END AS c, COUNT(*) AS n FROM visits GROUP BY c
SELECT FLOOR(cost) AS f, COUNT(*) AS n FROM visits GROUP BY f
SELECT CAST(cost AS INTEGER) AS f, COUNT(*) AS n FROM visits WHERE FLOOR(cost) = cost GROUP BY f
SELECT COUNT(*) AS n FROM visits WHERE txt LIKE '%b%' OR txt ILIKE 'a_'
SELECT COUNT(*) AS n FROM visits WHERE TRIM(txt) = 'b' AND LENGTH(txt) = 3
SELECT COUNT(*) AS n FROM visits WHERE UPPER(txt) || 'x' = 'ABx' OR SUBSTRING(txt, 2, 1) = '2'
SELECT COUNT(*) AS n FROM visits WHERE txt IS NULL OR txt IN ('12', 'Ab')
SELECT COUNT(*) AS n FROM visits WHERE TRY_CAST(txt AS INTEGER) = 12
SELECT COUNT(*) AS n FROM visits WHERE day BETWEEN DATE '2020-02-01' AND DATE '2020-05-31'
SELECT COUNT(*) AS n FROM visits WHERE day >= DATE '2020-01-31' + INTERVAL 1 MONTH
SELECT COUNT(*) AS n FROM visits WHERE ts > TIMESTAMP '2020-02-01 12:00:00'
SELECT COUNT(*) AS n FROM visits WHERE DATE_DIFF('day', day, DATE '2020-12-31') > 99
SELECT COUNT(*) AS n FROM visits WHERE YEAR(ts) = 2020 AND EXTRACT(week FROM ts) < 20
SELECT COUNT(*) AS n FROM visits WHERE NULLIF(k, 2) IS NULL OR gap IS NOT DISTINCT FROM 1.5
SELECT COUNT(*) AS n FROM visits WHERE cost / k > 1 AND k <> 0
SELECT COUNT(*) AS n FROM visits WHERE SQRT(cost) > 2 OR LN(k) > 1 OR POWER(k, 2) = 25 OR EXP(k) < 2
SELECT COUNT(*) AS n FROM visits WHERE NOT (ok AND k > 2) AND (k <> 5 OR cost <= 3)
SELECT COUNT(*) AS n FROM visits v JOIN people p ON v.pid = p.pid
SELECT sex, COUNT(*) AS n, SUM(cost) AS s FROM visits v JOIN people p ON v.pid = p.pid GROUP BY sex
SELECT COUNT(*) AS n, SUM(age) AS s FROM visits v LEFT JOIN people p ON v.pid = p.pid
SELECT COUNT(DISTINCT v.pid) AS n FROM people p LEFT JOIN visits v ON v.pid = p.pid
SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.pid = p.pid AND v.k > 3
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.pid = b.pid WHERE a.cost > b.cost
SELECT COUNT(*) AS n FROM people p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid AND v.cost > 9)
SELECT COUNT(*) AS n FROM people p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.pid = p.pid)
SELECT COUNT(*) AS n FROM visits WHERE pid IN (SELECT pid FROM people WHERE sex = 'f')
SELECT COUNT(*) AS n FROM visits WHERE pid NOT IN (SELECT pid FROM people WHERE sex = 'f')
SELECT AVG(n) AS a FROM (SELECT pid, COUNT(*) AS n FROM visits GROUP BY pid)
SELECT SUM(s) AS t, COUNT(*) AS n FROM (SELECT pid, SUM(cost) AS s FROM visits GROUP BY pid)
SELECT n, COUNT(*) AS c FROM (SELECT pid, COUNT(*) AS n FROM visits WHERE k > 1 GROUP BY pid) GROUP BY n HAVING n > 0
SELECT SUM(m) AS t FROM (SELECT pid, MAX(k) AS m, MIN(k) AS l FROM visits GROUP BY pid HAVING COUNT(*) > 2) WHERE l < 2
SELECT ward, SUM(n) AS n FROM (SELECT pid, ward, COUNT(*) AS n FROM visits GROUP BY pid, ward) GROUP BY ward
WITH a AS (SELECT * FROM visits WHERE ok), b AS (SELECT pid, SUM(k) AS s FROM a GROUP BY pid) SELECT SUM(s) AS s FROM b
SELECT COUNT(*) AS n FROM (SELECT DISTINCT pid, ward FROM visits)
SELECT SUM(k) AS s FROM (SELECT pid, k, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts) AS r FROM visits) WHERE r = 1
SELECT SUM(l) AS s FROM (SELECT pid, LAG(k) OVER (PARTITION BY pid ORDER BY ts) AS l FROM visits)
SELECT SUM(f) AS s FROM (SELECT pid, FIRST_VALUE(k) OVER (PARTITION BY pid ORDER BY ts DESC) AS f FROM visits)
SELECT COUNT(*) AS n FROM (SELECT cost, AVG(cost) OVER (PARTITION BY pid) AS a FROM visits) WHERE cost > a
SELECT COUNT(*) AS n FROM (SELECT SUM(k) OVER (PARTITION BY pid ORDER BY ts) AS t FROM visits) WHERE t > 4
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward HAVING COUNT(*) > 200 ORDER BY n DESC LIMIT 1
SELECT ward, ok, SUM(cost) AS s FROM visits GROUP BY ROLLUP (ward, ok)
SELECT ward, ok, COUNT(*) AS n FROM visits GROUP BY CUBE (ward, ok)
SELECT ward, COUNT(DISTINCT pid) AS n, SUM(cost) AS s FROM visits GROUP BY ROLLUP (ward)
SELECT ward, ok, COUNT(*) AS n, AVG(cost) AS a FROM visits GROUP BY GROUPING SETS ((ward), (ok), ())
SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward UNION ALL SELECT 'all', COUNT(*) FROM visits
SELECT w, n FROM (SELECT ward AS w, COUNT(*) AS n FROM visits GROUP BY ward) WHERE n > 1 ORDER BY n
""".strip().splitlines()
QUANTILES = [
    ("MEDIAN(cost)", "cost", 0.5, 0.5),
    ("QUANTILE_CONT(k, 0.9)", "k", 0.9, 1),
    ("MEDIAN(gap) FILTER (WHERE ok)", "gap", 0.5, 0.5),
    ("MIN(cost)", "cost", 0.01, 0.5),
    ("MAX(k)", "k", 0.99, 1),
]


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Connection, Any]]:
    """A private connection and a plain one, to the same tables."""
    folder = tmp_path_factory.mktemp("exact")
    with duckdb.connect(str(folder / "h.duckdb")) as made:
        made.execute(MADE)
    connection = connect(
        folder / "h.duckdb",
        unit="pid",
        max_rows_per_unit=3,
        bounds={
            "cost": (0, 10, 0.5),
            "gap": (0, 5, 0.5),
            "k": (0, 5),
            "age": (0, 99),
            "day": (date(2020, 1, 1), date(2020, 12, 31)),
        },
        keys={"ward": ["n", "s"], "sex": ["f", "m"]},
        budget=Budget(10**6, 1e-3),
        ledger=folder / "l.db",
    )
    plain = duckdb.connect()
    plain.execute(MADE)
    yield connection, plain
    connection.close()
    plain.close()


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize("text", EXACT)
def test_answers_without_noise_are_the_exact_ones(text: str, hospital: tuple[Connection, Any]) -> None:
    connection, plain = hospital
    answer = connection.sql(text, rho=1000)
    told, exact = [_row(row) for row in answer], [_row(row) for row in plain.execute(text).fetchall()]
    keys = [place for place in range(len(answer.columns)) if not answer.is_noisy(place)]
    there = {tuple(row[place] for place in keys) for row in exact}
    empty = [row for row in told if tuple(row[place] for place in keys) not in there]  # public keys that nobody has
    assert all(row[place] in (0.0, "None") for row in empty for place in range(len(row)) if place not in keys)
    assert _same([row for row in told if row not in empty], exact), (told, exact)


def _row(row: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_plain(value) for value in row)


def _plain(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return str(value)
    if isinstance(value, int | float | Decimal | Fraction):
        return float(value)
    return str(value)[:10]


def _same(told: list[tuple[Any, ...]], exact: list[tuple[Any, ...]]) -> bool:
    """Equal as sets of rows, numbers up to what the last scaling to a float may do."""

    def order(row: tuple[Any, ...]) -> str:
        return repr([round(part, 6) + 0.0 if isinstance(part, float) else part for part in row])

    return len(told) == len(exact) and all(
        (math.isclose(a, b, rel_tol=1e-9) if isinstance(a, float) and isinstance(b, float) else a == b)
        for one, other in zip(sorted(told, key=order), sorted(exact, key=order), strict=True)
        for a, b in zip(one, other, strict=True)
    )


@pytest.mark.usefixtures("silence")
@pytest.mark.parametrize(("function", "column", "level", "cell"), QUANTILES)
def test_quantiles_without_noise_are_exact_up_to_a_cell(
    function: str, column: str, level: float, cell: float, hospital: tuple[Connection, Any]
) -> None:
    connection, plain = hospital
    where = " WHERE ok" if "FILTER" in function else ""
    [told] = connection.sql(f"SELECT {function} AS q FROM visits", rho=1000)["q"].values
    around = f"[{level - 0.005}, {level + 0.005}]"
    [low, high] = plain.execute(f"SELECT quantile_disc({column}, {around}) FROM visits{where}").fetchone()[0]
    assert low - cell <= told <= high + cell


# ---------------------------------------------------------------- integers, by hand

_values = st.one_of(
    st.none(), st.integers(-90, 90).map(lambda x: x / 3), st.sampled_from([math.nan, math.inf, -math.inf, 1e300, -0.0])
)  # none lies half-way between two steps


def declared(cap: int, step: str = "0.5") -> Dataset:
    columns = (
        Column(name="pid", kind=Kind.INTEGER),
        Column(name="x", kind=Kind.NUMBER, lower=Fraction(-5), upper=Fraction(10), step=Fraction(step)),
        Column(name="w", kind=Kind.TEXT, values=("a", "b")),
    )
    table = Table(name="t", source="", columns=columns, link=PersonLink("pid"), max_rows_per_unit=cap)
    return Dataset(name="d", population="d", unit="t.pid", budget=Budget(1, 1e-6), tables=(table,))


TYPES = {"pid": pyarrow.int64(), "x": pyarrow.float64(), "w": pyarrow.string()}


def steps(value: float | None, step: Decimal) -> int:
    """The value on its grid, clamped to [-5, 10], worked out in decimals; what is no number counts 0."""
    if value is None or math.isnan(value):
        return 0
    held = Decimal(min(max(value, -5.0), 10.0))
    return int((held / step).quantize(Decimal(1), rounding=ROUND_HALF_UP))


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 3), _values, st.sampled_from(["a", "b", "c"])), max_size=20))
def test_sums_are_those_of_the_grid_where_nobody_exceeds_the_cap(rows: list[Any]) -> None:
    engine = engine_over({"t": (TYPES, rows)})
    planned = plan_text("SELECT w, SUM(x) AS s, COUNT(*) AS n FROM t GROUP BY w", declared(99), gaussian=True)
    [read] = read_exactly(engine, planned)
    for key in "ab":
        mine = [row for row in rows if row[2] == key]
        assert read.measures[0][f"('{key}',)"] == sum(steps(x, Decimal("0.5")) for _, x, _ in mine)
        assert read.measures[1][f"('{key}',)"] == len(mine)
    engine.close()


@settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.lists(st.tuples(st.integers(0, 1), _values), min_size=1, max_size=7), st.integers(1, 3))
def test_with_a_cap_the_sum_is_that_of_some_rows_of_each_person(rows: list[Any], cap: int) -> None:
    engine = engine_over({"t": (TYPES, [(pid, x, "a") for pid, x in rows])})
    [read] = read_exactly(engine, plan_text("SELECT SUM(x) AS s, COUNT(*) AS n FROM t", declared(cap), gaussian=True))
    possible, counted = {0}, 0
    for pid in {pid for pid, _ in rows}:
        own = [steps(x, Decimal("0.5")) for other, x in rows if other == pid]
        kept = min(cap, len(own))
        sums = {sum(some) for some in combinations(own, kept)}
        possible, counted = {a + b for a in possible for b in sums}, counted + kept
    assert read.measures[0]["()"] in possible
    assert read.measures[1]["()"] == counted
    engine.close()


def test_a_large_sum_is_exact_to_the_last_step() -> None:
    rows = [(i, 9.999999, "a") for i in range(1000)] + [(i, 1e-6, "b") for i in range(1000)]
    engine = engine_over({"t": (TYPES, rows)})
    planned = plan_text("SELECT SUM(x) AS s FROM t", declared(2, "0.000001"), gaussian=True)
    [read] = read_exactly(engine, planned)
    assert read.measures[0]["()"] == 1000 * 9_999_999 + 1000
    engine.close()


def test_the_engine_gives_back_integers_and_nothing_else(hospital: tuple[Connection, Any]) -> None:
    connection, _ = hospital
    quantiles = [f"SELECT {function} AS q FROM visits" for function, *_ in QUANTILES]
    for text in [*EXACT, *quantiles]:
        planned = plan_text(text, connection.dataset, gaussian=True)
        for part in planned.statements("duckdb", secret="s"):
            numbers: list[int] = []  # of keys, where the first statement gives them: all are chosen
            for statement in part:
                rows = connection.engine.rows(statement.of_keys(numbers))
                assert {type(value) for row in rows for value in row[statement.keys :]} == {int}, text
                numbers = numbers or [row[-1] for row in rows]


def test_the_grid_of_a_release_is_the_declared_one(tmp_path: Path) -> None:
    table = pyarrow.table({"pid": [1, 2], "x": [0.1, 0.25]})
    with connect(
        table,
        unit="pid",
        max_rows_per_unit=1,
        bounds={"x": (0, 1, 0.05)},
        budget=Budget(9, 1e-3),
        ledger=tmp_path / "l",
    ) as db:
        [told] = db.sql("SELECT SUM(x) AS s FROM table", rho=0.1)["s"].values
        assert math.isclose(told * 20, round(told * 20), abs_tol=1e-6)
