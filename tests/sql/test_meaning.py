"""Accepted SQL means what SQL means: without noise, answers are those of DuckDB running the same text."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
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
from hubbub.sql.price import Price
from hubbub.sql.quote import plan_text, quote_plan
from hubbub.terms import HubbubError
from tests.sql._exact import SECRET, _Exact, _ExactCurve
from tests.sql._meanings import DATASET, MADE, NOISY, ending, question

PRICE = Price(rho=Fraction(1000), delta=Fraction(1, 10**6))


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
    ],
)
def test_public_keys_are_those_that_can_be(key: str, groups: Any) -> None:
    [plan] = plan_text(f"SELECT {key} AS g, COUNT(*) AS n FROM visits GROUP BY 1", DATASET, gaussian=True).plans
    assert list(plan.keys[0].domain or ()) == list(groups)
