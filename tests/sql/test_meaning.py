"""Accepted SQL means what SQL means: without noise, answers are those of DuckDB running the same text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from datetime import date, timedelta
from decimal import Decimal
from fractions import Fraction
from random import Random
from types import SimpleNamespace
from typing import Any

import duckdb
import pytest

from hubbub.engines import DuckDB
from hubbub.releases import Release
from hubbub.sql import answer, measurement
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import plan_text, quote_plan
from hubbub.terms import HubbubError
from tests.sql._exact import SECRET, _Exact, _ExactCurve
from tests.sql._meanings import DATASET, MADE, NOISY, ending, question

PRICE = Price(rho=Fraction(1000), own=Fraction(1, 10**6))


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[DuckDB, Any]]:
    """The same tables, for our way and for the engine by itself."""
    plain = duckdb.connect()
    plain.execute(MADE)
    frames = {table.name: plain.sql(f"SELECT * FROM {table.name}").to_arrow_table() for table in DATASET.tables}
    ours = DuckDB(frames, threads=1)
    yield ours, plain
    ours.close()
    plain.close()


def told(engine: DuckDB, text: str) -> Release:
    """The answer by the real way, with nothing where the noise would be and every key."""
    planned = plan_text(text, DATASET, gaussian=True)
    known = quote_plan(planned, PRICE)
    results = []
    statements = planned.statements("duckdb", secret=SECRET)
    for plan, texts in zip(planned.plans, statements, strict=True):
        exact = SimpleNamespace(
            measures=[_Exact()] * len(plan.measures),
            curves=[_ExactCurve(plan.size or 1) for _ in plan.curves],
            chooser=_Exact(),
        )
        results.append(measurement.run(engine, plan, exact, texts, seconds=60))  # type: ignore[arg-type]  # it has the same parts
    return answer.release(known, results, None, "", repeated=False)


def difference(release: Release, rows: list[tuple[Any, ...]]) -> str:
    """What is not the same; empty if nothing is. Groups without a public key are not told, empty ones are."""
    keys = [place for place in range(len(release.columns)) if not release.is_noisy(place)]
    ours = {tuple(_key(row[place]) for place in keys): row for row in release}
    theirs = {tuple(_key(row[place]) for place in keys): row for row in rows}
    if len(ours) != len(list(release)):
        return "a key stands twice"
    for key, row in theirs.items():
        if key not in ours:
            if None not in key:
                return f"the group {key} is missing"
        else:
            for place in range(len(row)):
                if place not in keys and not _same(ours[key][place], row[place]):
                    return f"{key}: {ours[key][place]!r} and not {row[place]!r}"
    extra = [row for key, row in ours.items() if key not in theirs]
    some = [row for row in extra for place in range(len(row)) if place not in keys and row[place]]
    return f"there is no such group: {some[0]}" if some else ""


def _key(value: Any) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal | Fraction):
        return round(float(value), 9) + 0.0
    return str(value)[:10] if hasattr(value, "year") else value


def _same(ours: Any, theirs: Any) -> bool:
    """A sum over nobody is 0 here; an average of too few is not told."""
    if theirs is None or (isinstance(theirs, float) and not math.isfinite(theirs)):
        return ours in (0, None)
    if ours is None:
        return isinstance(theirs, float)
    if isinstance(theirs, int) and not isinstance(ours, int):
        return False
    return math.isclose(float(ours), float(theirs), rel_tol=1e-9, abs_tol=1e-9)


def compared(engines: tuple[DuckDB, Any], text: str) -> str:
    """ "refused", "fails", "same", or the difference."""
    ours, plain = engines
    try:
        release = told(ours, text)
    except HubbubError:
        return "refused"
    try:
        rows = plain.execute(text).fetchall()
    except duckdb.Error:
        return "fails"
    return difference(release, rows) or "same"


def test_random_questions_mean_what_they_mean_to_duckdb(engines: tuple[DuckDB, Any], soak: int) -> None:
    random = Random(16)
    found: dict[str, int] = {"refused": 0, "fails": 0, "same": 0}
    for _ in range(400 * soak):
        text = question(random)
        result = compared(engines, text)
        assert result in found, f"{text}\n{result}"
        found[result] += 1
    assert found["same"] > 200 * soak, found


# ---------------------------------------------------------------- after the noise


def test_what_is_done_with_noisy_rows_is_what_duckdb_does_with_them(engines: tuple[DuckDB, Any], soak: int) -> None:
    ours, plain = engines
    plain.execute("CREATE OR REPLACE TABLE told (w VARCHAR, g BIGINT, n BIGINT, s BIGINT, a DOUBLE)")
    plain.executemany("INSERT INTO told VALUES (?, ?, ?, ?, ?)", list(told(ours, NOISY)))
    random, same = Random(16), 0
    for number in range(200 * soak):
        condition, end = ending(random)
        inner = number % 2 == 0
        text = f"SELECT * FROM ({NOISY}) AS q WHERE {condition} {end}" if inner else f"{NOISY} HAVING {condition} {end}"
        try:
            rows = plain.execute(f"SELECT * FROM told WHERE {condition} {end}").fetchall()
        except duckdb.Error:
            continue
        try:
            release = told(ours, text)
        except HubbubError:
            continue
        assert [tuple(map(_key, row)) for row in release] == [tuple(map(_key, row)) for row in rows], text
        same += 1
    assert same > 120 * soak


# ---------------------------------------------------------------- what once differed in silence

CASES = """
SELECT COUNT(*) AS n FROM (SELECT pid, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY k NULLS FIRST) AS r, k FROM visits) s WHERE r = 1 AND k IS NULL
SELECT COUNT(*) AS n FROM (SELECT pid, RANK() OVER (PARTITION BY pid ORDER BY ts DESC NULLS FIRST) AS r FROM visits) s WHERE r = 1
SELECT COUNT(*) AS n FROM visits v WHERE v.ward NOT IN (SELECT w.ward FROM wards w)
SELECT COUNT(*) AS n FROM visits v WHERE v.ward NOT IN (SELECT w.ward FROM wards w WHERE w.beds > 100)
SELECT COUNT(*) AS n FROM visits v WHERE v.k NOT IN (SELECT z.k FROM visits z WHERE z.pid = v.pid AND z.vid <> v.vid)
SELECT COUNT(*) AS n FROM visits v WHERE (v.k IN (SELECT z.k FROM visits z WHERE z.pid = v.pid AND z.vid <> v.vid)) IS NULL
SELECT COUNT(*) AS n FROM visits v WHERE v.k NOT IN (1, NULL)
SELECT CAST(k + 1 AS VARCHAR) AS t, COUNT(*) AS n FROM visits GROUP BY 1
SELECT SUM(CAST(cost AS DECIMAL(10,0))) AS s FROM visits
SELECT SUM(CAST(x * 0.5 AS INTEGER)) AS s, SUM(CAST(cost AS INTEGER)) AS t FROM visits
SELECT COUNT(*) AS n FROM visits WHERE x * 0.1 = 0.3 OR k + 0.1 = 3.1 OR x * 1.1 = 5.5
SELECT COUNT(*) AS n FROM visits WHERE ROUND(x * 0.005, 2) = 0.03
SELECT k // 5 AS g, COUNT(*) AS n FROM visits GROUP BY 1
SELECT SUM(k // 4) AS s, SUM(k % 4) AS t FROM visits
SELECT price, COUNT(*) AS n FROM visits WHERE price = 0.1 GROUP BY price
SELECT price, COUNT(*) AS n FROM visits WHERE price IN (0.1, 0.5) GROUP BY price
SELECT COUNT(*) AS n FROM visits WHERE cost / (x - 5) > 1
SELECT COUNT(*) AS n FROM visits WHERE 1 / (k - k) > 5 OR cost % 0.0e0 > 1
SELECT COUNT(*) AS n FROM visits WHERE TRY_CAST(x * 5 AS TINYINT) IS NULL
SELECT COUNT(*) AS n FROM visits WHERE ts >= DATE '2020-03-01 23:00'
SELECT -x AS x, COUNT(*) AS n FROM visits v GROUP BY v.x HAVING x > 70 ORDER BY x + 0
SELECT CORR(k, x) AS r, COVAR_POP(x, k) AS c, REGR_COUNT(k, x) AS n, REGR_AVGX(k, x) AS a, REGR_AVGY(k, x) AS b FROM visits
SELECT ward, COVAR_SAMP(k, x) AS c, REGR_SLOPE(k, x) AS s, REGR_INTERCEPT(k, x) AS i, REGR_R2(k, x) AS r FROM visits WHERE k BETWEEN -5 AND 9 GROUP BY ward
SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.vid = b.vid WHERE a.k = b.k
SELECT COUNT(*) AS n, SUM(b.n) AS s FROM items a JOIN items b ON a.vid = b.vid AND a.n < b.n
SELECT AVG(k - (SELECT MIN(z.k) FROM visits z WHERE z.pid = v.pid)) AS a FROM visits v
SELECT ward, COUNT(DISTINCT pid) AS n, 3 AS three FROM visits GROUP BY ALL
SELECT x % 3 AS j, COUNT(*) AS k FROM visits GROUP BY 1 HAVING k > 3 ORDER BY k
SELECT x, COUNT(*) AS n FROM visits GROUP BY x
SELECT k, ward, COUNT(*) AS n, AVG(cost) AS a FROM visits WHERE k >= -3 AND 7.5 > k GROUP BY k, ward
SELECT x, COUNT(*) AS n FROM visits WHERE x IN (5, 7.0, 200) GROUP BY x
SELECT age, COUNT(*) AS n FROM people p JOIN visits v ON v.pid = p.pid WHERE age < 30 GROUP BY age
SELECT day, COUNT(*) AS n, SUM(x) AS s FROM visits GROUP BY day
SELECT CAST(ts AS DATE) AS d, COUNT(*) AS n FROM visits WHERE ts < TIMESTAMP '2020-03-09 12:00:00' GROUP BY 1
SELECT CAST(ts AS DATE) AS d, COUNT(*) AS n FROM visits WHERE CAST(ts AS DATE) <> '2020-03-01' GROUP BY 1
SELECT DATE_TRUNC('week', day) AS d, COUNT(*) AS n FROM visits WHERE day > '2020-04-01' AND day <= '2020-05-10' GROUP BY 1
SELECT DATE_TRUNC('month', ts) AS d, COUNT(*) AS n FROM visits GROUP BY 1
SELECT EXTRACT(year FROM day) AS y, EXTRACT(month FROM day) AS m, COUNT(*) AS n FROM visits WHERE day < '2020-05-01' GROUP BY 1, 2
SELECT WIDTH_BUCKET(x, 10, 60, 5) AS b, COUNT(*) AS n FROM visits GROUP BY 1
SELECT WIDTH_BUCKET(cost, -2, 2.5, 9) AS b, COUNT(*) AS n FROM visits WHERE cost > 0 GROUP BY 1
SELECT ROUND(x, -1) AS r, COUNT(*) AS n FROM visits WHERE x BETWEEN 12 AND 33 GROUP BY 1
SELECT FLOOR(x / 10) * 10 AS f, COUNT(*) AS n FROM visits WHERE x >= 30 GROUP BY 1
SELECT x % 10 AS m, COUNT(*) AS n FROM visits WHERE x % 10 >= 4 GROUP BY 1
SELECT x % 10 + 1 AS m, COUNT(*) AS n FROM visits WHERE x % 10 = 4 AND x > 70 GROUP BY 1
SELECT UPPER(ward) AS w, COUNT(*) AS n FROM visits WHERE ward IN ('n', 's') GROUP BY 1
SELECT COUNT(DISTINCT CASE WHEN ok THEN pid END) AS n, COUNT(DISTINCT pid) FILTER (WHERE ok) AS m FROM visits
SELECT ward, COUNT(DISTINCT IF(k > 0, pid, NULL)) AS n FROM visits GROUP BY ward
SELECT COUNT(DISTINCT CASE WHEN ok THEN NULL ELSE pid END) AS n, COUNT(DISTINCT CASE WHEN ok THEN k END) AS m FROM visits
SELECT COUNT(DISTINCT CASE WHEN ok THEN pid END) FILTER (WHERE k > 2) AS n FROM visits
SELECT COUNT(CASE WHEN ok THEN 1 END) AS n, COUNT(CASE WHEN ok THEN NULL ELSE 1 END) AS m, COUNT(CASE WHEN ok THEN k END) AS o FROM visits
SELECT SUM(CASE WHEN ok THEN 1 ELSE 0 END) AS n, SUM(CASE WHEN k > 3 THEN 1 END) AS m, SUM(IF(NOT ok, 1, 0)) AS o FROM visits
SELECT COUNT(CASE WHEN ok THEN 1 ELSE 0 END) AS n, SUM(CASE WHEN ok THEN k ELSE 0 END) AS m, SUM(CASE WHEN ok THEN 1.0 END) AS o FROM visits
SELECT SUM(s) AS n FROM (SELECT pid, SUM(CASE WHEN ok AND k > 11 THEN 1 END) AS s FROM visits GROUP BY pid) t WHERE s IS NOT NULL
SELECT COUNT(DISTINCT CASE WHEN v.k > 3 THEN q.pid END) AS n FROM visits v LEFT JOIN people q ON q.pid = v.pid AND q.age > 30
SELECT SUM(x) AS n FROM (SELECT pid, x, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY x, vid) AS r FROM visits) s WHERE r BETWEEN 2 AND 3
SELECT COUNT(*) AS n FROM (SELECT pid, x, ROW_NUMBER() OVER (PARTITION BY pid, ward ORDER BY x) AS r FROM visits) s WHERE r = 1
SELECT SUM(x) AS n FROM (SELECT * FROM (SELECT pid, x, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY x, vid) AS r FROM visits) s) t WHERE 3 > r
SELECT SUM(CLIP(s, -100, 1000)) AS n, SUM(CLIP(c, 0, 2)) AS m FROM (SELECT pid, SUM(k) OVER (PARTITION BY pid ORDER BY x, vid ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS s, COUNT(k) OVER (PARTITION BY pid ORDER BY x, vid ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS c FROM visits) t
SELECT SUM(h) AS n, SUM(l) AS m FROM (SELECT pid, MAX(k) OVER (PARTITION BY pid ORDER BY x, vid ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS h, MIN(k) OVER (PARTITION BY pid ORDER BY x, vid ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS l FROM visits) t
SELECT SUM(f) AS n FROM (SELECT pid, FIRST_VALUE(k) OVER (PARTITION BY pid ORDER BY x, vid ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) AS f FROM visits) t
SELECT SUM(t) AS n, COUNT(*) FILTER (WHERE t = 3) AS m FROM (SELECT pid, NTILE(3) OVER (PARTITION BY pid ORDER BY x, vid) AS t FROM visits) t
SELECT SUM(q.age) AS n FROM (SELECT pid, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts) AS r FROM visits) s JOIN people q ON q.pid = s.pid WHERE s.r IN (1, 4)
SELECT COUNT(*) AS n FROM (SELECT v.pid, w.r FROM visits v JOIN (SELECT pid, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts) AS r FROM visits) w ON w.pid = v.pid) s WHERE r = 1
SELECT COUNT(*) AS n FROM (SELECT DISTINCT pid FROM visits) s
SELECT ok, COUNT(*) AS n FROM (SELECT DISTINCT pid, ward, ok FROM visits) s GROUP BY ok
SELECT SUM(n) AS n FROM (SELECT pid, SUM(x) AS n FROM (SELECT pid, x, ROW_NUMBER() OVER (PARTITION BY pid ORDER BY x DESC, vid) AS r FROM visits) s WHERE r <= 2 GROUP BY pid) t
SELECT COUNT(*) AS n, SUM(v.x) AS s FROM visits v LEFT JOIN items i ON i.vid = v.vid AND i.n > 4 WHERE i.vid IS NULL
SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.pid = p.pid AND v.k > p.age - 20 WHERE v.pid IS NULL AND p.age < 60
SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.pid = p.pid AND v.k = 3 WHERE v.k IS NULL
SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.pid = p.pid AND v.x > 30 WHERE v.k IS NULL
SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v USING (pid) WHERE v.pid IS NULL
SELECT COUNT(*) AS n FROM people p LEFT JOIN (SELECT pid FROM visits WHERE k > 8) s ON s.pid = p.pid WHERE (s.pid IS NULL)
SELECT v.ward, COUNT(*) AS n FROM visits v LEFT JOIN wards w ON w.ward = v.ward AND w.beds > 4 WHERE w.ward IS NULL GROUP BY v.ward
SELECT COUNT(*) AS n FROM visits v LEFT JOIN items i ON i.vid = v.vid AND i.n = 6 JOIN people p ON p.pid = v.pid WHERE i.vid IS NULL AND p.sex IS NULL
SELECT COUNT(*) AS n FROM people p LEFT JOIN visits v ON v.pid = p.pid AND v.k > 9 LEFT JOIN visits w ON w.pid = p.pid AND w.k < -9 WHERE v.pid IS NULL AND w.pid IS NULL
SELECT SUM(n) AS s FROM (SELECT v.pid, COUNT(*) AS n FROM visits v LEFT JOIN items i ON i.vid = v.vid AND i.n > 2 WHERE i.vid IS NULL GROUP BY v.pid) t
SELECT COUNT(i.n) AS n, COUNT(*) AS m FROM visits v LEFT JOIN items i ON i.vid = v.vid WHERE i.vid IS NULL
SELECT COUNT(*) AS n FROM people p WHERE p.pid NOT IN (SELECT v.pid FROM visits v WHERE v.k > 9)
SELECT COUNT(*) AS n FROM visits v WHERE v.k NOT IN (SELECT z.k FROM visits z WHERE z.pid = v.pid AND z.x > 40)
SELECT COUNT(*) AS n FROM visits v WHERE v.k NOT IN (SELECT z.k FROM visits z WHERE z.pid = v.pid AND z.k IS NOT NULL AND z.vid < v.vid)
SELECT COUNT(*) FILTER (WHERE b) AS n, COUNT(*) FILTER (WHERE NOT b) AS m, COUNT(b) AS o FROM (SELECT pid, BOOL_OR(k > 3) AS b FROM visits GROUP BY pid) t
SELECT COUNT(*) FILTER (WHERE b) AS n, COUNT(*) FILTER (WHERE NOT b) AS m, COUNT(b) AS o FROM (SELECT pid, BOOL_AND(k > 3) FILTER (WHERE ok) AS b FROM visits GROUP BY pid) t
SELECT COUNT(*) FILTER (WHERE b) AS n, COUNT(*) FILTER (WHERE NOT c) AS m FROM (SELECT pid, MAX(ok) AS b, MIN(ward = 'north') AS c FROM visits GROUP BY pid) t
SELECT b, COUNT(*) AS n FROM (SELECT pid, BOOL_AND(k IS NOT NULL) AS b FROM visits GROUP BY pid) t GROUP BY b
SELECT SUM(CAST(b AS INTEGER)) AS n FROM (SELECT pid, BOOL_OR(CAST(ok AS BOOLEAN)) AS b FROM visits GROUP BY pid) t
SELECT COUNT(*) AS n FROM (SELECT pid FROM visits GROUP BY pid HAVING BOOL_OR(ok) AND NOT BOOL_AND(k > 0)) t
SELECT COUNT(*) AS n FROM people p WHERE (SELECT BOOL_OR(v.k > 9) FROM visits v WHERE v.pid = p.pid)
SELECT MAX_K AS m, COUNT(*) AS n FROM (SELECT pid, MAX(k) AS MAX_K FROM visits GROUP BY pid) s GROUP BY 1
"""  # noqa: E501


@pytest.mark.parametrize("text", CASES.strip().split("\n"))
def test_this_means_what_it_means_to_duckdb(text: str, engines: tuple[DuckDB, Any]) -> None:
    assert compared(engines, text) == "same"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM items i WHERE i.vid = v.vid OFFSET 1)", "OFFSET"),
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM items i WHERE i.vid = v.vid LIMIT 0)", "LIMIT"),
        ("SELECT COUNT(*) FROM visits v WHERE v.pid IN (SELECT p.pid FROM people p OFFSET 3)", "OFFSET"),
        ("SELECT COUNT(*) FROM visits v WHERE v.vid NOT IN (SELECT i.vid FROM items i)", "unknown"),
        ("SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT i.none FROM items i WHERE i.vid = v.vid)", "none"),
        ("SELECT CAST(cost AS VARCHAR) AS t, COUNT(*) FROM visits GROUP BY 1", "cannot be cast"),
        ("SELECT CAST(FLOOR(cost) AS VARCHAR) AS t, COUNT(*) FROM visits GROUP BY 1", "cannot be cast"),
        ("SELECT SUM(cost // 2) FROM visits", "// divides whole numbers"),
        ("SELECT COUNT(*) FROM visits WHERE CAST(cost AS FLOAT) = 0.1", "cast to this type"),
        ("SELECT COUNT(*) FROM visits WHERE day = '2020-03-01 10:00'", "time of day"),
        ("SELECT COUNT(*) FROM visits WHERE ts > '2020-03-01T10:00:00+02:00'", "no date"),
        ("SELECT COUNT(*) FROM visits WHERE CAST(k AS DATE) > DATE '2020-01-01'", "cannot be cast"),
        ("SELECT COUNT(*) FROM visits WHERE SUBSTRING(txt, 3, -2) = 'a'", "below 0"),
        ("SELECT CAST(AVG(cost) AS INTEGER) AS a FROM visits", "more with its aggregates"),
        ("SELECT COUNT(*) + NULL AS a FROM visits", "more with its aggregates"),
        ("SELECT COALESCE(ward, 'x') AS w, COUNT(*) FROM visits GROUP BY ward", "more with its aggregates"),
        ("SELECT ward, COUNT(*) FROM visits GROUP BY ward HAVING ward LIKE 'n%'", "HAVING or ORDER BY does more"),
        ("SELECT COUNT(*) FROM (visits v JOIN people p ON p.pid = v.pid)", "JOINS"),
        ("SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost, k) FROM visits", "one column"),
        (
            "SELECT SUM(l) FROM (SELECT LAST_VALUE(k) OVER (PARTITION BY pid ORDER BY x) AS l FROM visits) s",
            "LAST_VALUE",
        ),
    ],
)
def test_what_would_mean_something_else_is_refused(text: str, words: str, engines: tuple[DuckDB, Any]) -> None:
    with pytest.raises(HubbubError, match=re.escape(words)):
        told(engines[0], text)


@pytest.mark.parametrize(
    ("key", "groups"),
    [
        ("FLOOR(x / 10) * 10", range(0, 80, 10)),
        ("x % 10", range(10)),
        ("k % 10", range(-9, 10)),
        ("k * k", [i * i for i in range(13)]),
        ("FLOOR(cost / 5) * 5", range(-10, 11, 5)),
        ("ABS(k) // 5", range(3)),
        ("x - x % 20", range(0, 80, 20)),
        ("MONTH(day)", range(2, 10)),
        ("CASE WHEN ok THEN 50 ELSE 0 END", [50, 0]),
        ("k", range(-12, 13)),
        ("day", [date(2020, 2, 26) + timedelta(days=i) for i in range(200)]),
        ("CAST(ts AS DATE)", [date(2020, 2, 28) + timedelta(days=i) for i in range(18)]),
        ("DATE_TRUNC('month', CAST(ts AS DATE))", [date(2020, 2, 1), date(2020, 3, 1)]),
        ("EXTRACT(year FROM day)", [2020]),
        ("ROUND(x, -1)", range(0, 90, 10)),
        ("WIDTH_BUCKET(x, 0, 80, 8)", range(1, 9)),
        ("WIDTH_BUCKET(x, 10, 60, 5)", range(7)),
        ("WIDTH_BUCKET(cost / k, 0, 1, 2)", range(4)),
    ],
)
def test_public_keys_are_those_that_can_be(key: str, groups: Any) -> None:
    [plan] = plan_text(f"SELECT {key} AS g, COUNT(*) AS n FROM visits GROUP BY 1", DATASET, gaussian=True).plans
    assert list(plan.keys[0].domain or ()) == list(groups)


@pytest.mark.parametrize(
    ("number", "where", "most"),
    [
        ("ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts)", "r = 1", 1),
        ("ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts)", "r <= 3", 3),
        ("ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts)", "r < 3 AND r > 1", 1),
        ("ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts)", "r IN (1, 2, 7)", 3),
        ("ROW_NUMBER() OVER (PARTITION BY pid, ok ORDER BY ts)", "r = 1", 3),
        ("ROW_NUMBER() OVER (PARTITION BY pid, txt || ward ORDER BY ts)", "r = 1", 1000),
        ("ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts)", "r > 1", 1000),
        ("ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts)", "r = 1 OR r = 2", 1000),
        ("ROW_NUMBER() OVER (PARTITION BY pid ORDER BY ts)", "r < 1", 1),
        ("RANK() OVER (PARTITION BY pid ORDER BY ts)", "r = 1", 1000),
    ],
)
def test_a_condition_on_row_numbers_lowers_the_cap(number: str, where: str, most: int) -> None:
    text = f"SELECT COUNT(*) AS n FROM (SELECT pid, {number} AS r FROM visits) s WHERE {where}"
    [plan] = plan_text(text, DATASET, gaussian=True).plans
    assert plan.bounding.rows == most == plan.moved[0].l1


@pytest.mark.parametrize(
    ("rows", "most"),
    [
        ("people p LEFT JOIN visits v ON v.pid = p.pid WHERE v.pid IS NULL", 1),
        ("people p LEFT JOIN visits v USING (pid) WHERE p.sex = 'f' AND v.pid IS NULL", 1),
        ("people p WHERE p.pid NOT IN (SELECT v.pid FROM visits v)", 1),
        ("people p LEFT JOIN visits v ON v.pid = p.pid WHERE v.k IS NULL", 1000),
        ("people p LEFT JOIN visits v ON v.pid = p.pid WHERE v.pid IS NULL OR p.sex = 'f'", 1000),
        ("people p LEFT JOIN visits v ON v.pid = p.pid WHERE v.pid IS NULL AND v.x > 3", 1000),
        ("people p LEFT JOIN visits v ON v.pid = p.pid WHERE v.pid IS NULL GROUP BY v.ward", 1000),
        ("people p JOIN visits v ON v.pid = p.pid WHERE v.pid IS NULL", 1000),
    ],
)
def test_rows_without_a_partner_have_the_cap_of_their_own_table(rows: str, most: int) -> None:
    [plan] = plan_text(f"SELECT COUNT(*) AS n FROM {rows}", DATASET, gaussian=True).plans
    assert plan.bounding.rows == most == plan.moved[0].l1


@pytest.mark.parametrize(("columns", "most"), [("pid", 1), ("pid, ward", 4), ("ward, ok", 12), ("pid, cost", 1000)])
def test_distinct_rows_of_few_values_lower_the_cap(columns: str, most: int) -> None:
    text = f"SELECT COUNT(*) AS n FROM (SELECT DISTINCT {columns} FROM visits) s"
    [plan] = plan_text(text, DATASET, gaussian=True).plans
    assert plan.bounding.rows == most == plan.moved[0].l1


@pytest.mark.parametrize(
    ("key", "where", "groups"),
    [
        ("x", "x BETWEEN 10 AND 14", range(10, 15)),
        ("x", "x > 75.5 AND 79 > x", range(76, 79)),
        ("x", "x IN (3, 5.0, 5.5, 80)", [3, 5]),
        ("FLOOR(x / 10)", "x >= 30 AND x < 51", range(3, 6)),
        ("x % 10", "x < 4", range(4)),
        ("x % 10", "x % 10 > 7", [8, 9]),
        ("day", "day >= DATE '2020-09-11'", [date(2020, 9, 11), date(2020, 9, 12)]),
        ("MONTH(day)", "day < DATE '2020-04-01'", [2, 3]),
        ("CAST(ts AS DATE)", "ts < TIMESTAMP '2020-03-01 00:00:00'", [date(2020, 2, 28), date(2020, 2, 29)]),
        ("UPPER(ward)", "ward = 'n'", ["N"]),
        ("WIDTH_BUCKET(x, 10, 60, 5)", "x = 30", [0, 3, 6]),
        ("x", "x > 75 OR k = 1", range(80)),
        ("x", "NOT x > 75", range(80)),
    ],
)
def test_a_condition_leaves_the_keys_that_meet_it(key: str, where: str, groups: Any) -> None:
    text = f"SELECT {key} AS g, COUNT(*) AS n FROM visits WHERE {where} GROUP BY 1"
    [plan] = plan_text(text, DATASET, gaussian=True).plans
    assert list(plan.keys[0].domain or ()) == list(groups)
