"""CURRENT_DATE is one public day of the question, and short forms stand for long ones."""

from __future__ import annotations

import json
from contextlib import suppress
from datetime import date
from typing import Any

import duckdb
import pytest

from hubbub.sql.compiler import compile as compiler
from hubbub.sql.compiler.syntax import type_scalars
from hubbub.sql.quote import QueryPlan, plan_text
from hubbub.terms import HubbubError, NotAllowed, WrongType
from tests.sql.passes.datasets import HOSPITAL

RECENT = "SELECT COUNT(*) AS n FROM visits WHERE day >= CURRENT_DATE - INTERVAL 30 DAY AND day < {now}"


def planned(text: str, monkeypatch: pytest.MonkeyPatch, day: date) -> QueryPlan:
    """The plan of a question that is asked on some day."""
    monkeypatch.setattr(compiler, "today", lambda: day)
    return plan_text(text, HOSPITAL, gaussian=True)


def mark(plan: QueryPlan) -> str:
    return json.dumps(plan.identity(), sort_keys=True)


def test_today_is_one_day_that_is_shown_and_makes_another_question_tomorrow(monkeypatch: pytest.MonkeyPatch) -> None:
    for now in ("NOW()", "CURRENT_TIMESTAMP", "LOCALTIMESTAMP", "GET_CURRENT_TIMESTAMP()"):
        text = RECENT.format(now=now)
        first, again, later = (planned(text, monkeypatch, date(2025, 3, day)) for day in (7, 7, 8))
        assert mark(first) == mark(again) != mark(later)
        assert any("CURRENT_DATE is 2025-03-07" in note for note in first.plans[0].notes)
        [[statement]] = first.statements("duckdb")
        assert "2025-02-05" in statement.sql and "2025-03-07 00:00:00" in statement.sql
        assert "current" not in statement.sql.lower() and "now(" not in statement.sql.lower()


def test_a_question_that_does_not_ask_for_today_says_nothing_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = planned("SELECT COUNT(*) AS n FROM visits", monkeypatch, date(2025, 3, 7))
    assert not any("CURRENT_DATE" in note for note in plain.plans[0].notes)


ALIKE = [
    ("SELECT ward, COUNT(*) AS n FROM visits GROUP BY ALL", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"),
    ("SELECT APPROX_COUNT_DISTINCT(diagnosis) AS n FROM visits", "SELECT COUNT(DISTINCT diagnosis) AS n FROM visits"),
    (
        "SELECT COUNT_IF(cost > 5) AS n, COUNTIF(cost > 9) FILTER (WHERE ward = 'north') AS m FROM visits",
        "SELECT COUNT(*) FILTER (WHERE cost > 5) AS n, "
        "COUNT(*) FILTER (WHERE ward = 'north' AND cost > 9) AS m FROM visits",
    ),
    (
        "SELECT AVG(k) AS k FROM (SELECT patient_id, COUNT_IF(cost > 5) AS k FROM visits GROUP BY patient_id)",
        "SELECT AVG(k) AS k FROM (SELECT patient_id, COUNT(CASE WHEN cost > 5 THEN 1 END) AS k FROM visits "
        "GROUP BY patient_id)",
    ),
    (
        "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, s / n AS mean, mean * 2 AS twice FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) AS n, SUM(cost) AS s, SUM(cost) / COUNT(*) AS mean, SUM(cost) / COUNT(*) * 2 AS twice "
        "FROM visits GROUP BY ward",
    ),
    (
        "SELECT YEAR(day) AS y, COUNT(*) AS n FROM visits WHERE y = 2025 GROUP BY ALL",
        "SELECT YEAR(day) AS y, COUNT(*) AS n FROM visits WHERE YEAR(day) = 2025 GROUP BY YEAR(day)",
    ),
    (
        "SELECT COUNT(*) AS n FROM (SELECT cost * 2 AS twice FROM visits WHERE twice > 5)",
        "SELECT COUNT(*) AS n FROM (SELECT cost * 2 AS twice FROM visits WHERE cost * 2 > 5)",
    ),
    (
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n FETCH FIRST 2 ROWS ONLY",
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward ORDER BY n LIMIT 2",
    ),
    (
        "SELECT AVG(cost) AS m FROM (SELECT DISTINCT ON (patient_id) cost FROM visits ORDER BY patient_id, day DESC)",
        "SELECT AVG(cost) AS m FROM (SELECT cost FROM visits "
        "QUALIFY ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY day DESC) = 1)",
    ),
    (
        "SELECT COUNT(*) AS n FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day RANGE BETWEEN "
        "UNBOUNDED PRECEDING AND CURRENT ROW) AS c FROM visits) WHERE c > 5",
        "SELECT COUNT(*) AS n FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY day) AS c FROM visits) "
        "WHERE c > 5",
    ),
    (
        "SELECT ward, SUM(cost > 5) AS n FROM visits GROUP BY ward",
        "SELECT ward, COUNT(*) FILTER (WHERE cost > 5) AS n FROM visits GROUP BY ward",
    ),
    (
        "SELECT COUNT(*) AS n FROM (SELECT cost FROM visits "
        "QUALIFY RANK() OVER (PARTITION BY patient_id ORDER BY day) = 1)",
        "SELECT COUNT(*) AS n FROM (SELECT cost FROM (SELECT cost, RANK() OVER (PARTITION BY patient_id ORDER BY day) "
        "AS qualified_1 FROM visits) WHERE qualified_1 = 1)",
    ),
    (
        "SELECT COUNT(*) AS n FROM visits v "
        "WHERE cost > (SELECT MAX(w.cost) FROM visits w WHERE w.patient_id = v.patient_id)",
        "SELECT COUNT(*) AS n FROM visits v LEFT JOIN (SELECT w.patient_id AS person_1, MAX(w.cost) AS value_1 "
        "FROM visits w GROUP BY w.patient_id) AS per_1 ON per_1.person_1 = v.patient_id WHERE cost > per_1.value_1",
    ),
]


@pytest.mark.parametrize(("short", "long"), ALIKE)
def test_a_short_form_runs_what_the_long_one_runs(short: str, long: str) -> None:
    one, other = (plan_text(text, HOSPITAL, gaussian=True).statements("duckdb") for text in (short, long))
    assert [[s.sql for s in part] for part in one] == [[s.sql for s in part] for part in other]


NESTED = [
    "EPOCH(" * 30 + "day" + " - DATE '2025-01-01')" * 30,
    "(" * 30 + "day" + " + INTERVAL 1 DAY)" * 30,
    "EXTRACT(DAY FROM " * 30 + "day" + " - day)" * 30,
    "(" * 35 + "day" + " - 1)" * 35,
]


@pytest.mark.parametrize("value", NESTED)
def test_each_part_of_moments_inside_one_another_is_typed_once(value: str, monkeypatch: pytest.MonkeyPatch) -> None:
    typed, build = [], type_scalars._Scalars.build

    def count(own: Any, node: Any) -> Any:
        typed.append(node)
        return build(own, node)

    monkeypatch.setattr(type_scalars._Scalars, "build", count)
    with suppress(HubbubError):
        plan_text(f"SELECT COUNT(*) AS n FROM visits WHERE {value} > 1", HOSPITAL, gaussian=True)
    assert 3 <= len(typed) < 300  # and not two to the thirtieth


def test_a_name_of_select_means_a_column_of_the_table_first() -> None:
    with pytest.raises(NotAllowed, match="neither aggregated nor a key"):
        plan_text("SELECT SUM(cost) AS cost, cost / 2 AS half FROM visits", HOSPITAL, gaussian=True)


@pytest.mark.parametrize(
    "rows",
    [
        "SELECT DISTINCT ON (patient_id) cost FROM visits",
        "SELECT DISTINCT ON (patient_id) cost FROM visits ORDER BY patient_id",
        "SELECT DISTINCT ON (patient_id) cost FROM visits ORDER BY patient_id, day LIMIT 5",
    ],
)
def test_distinct_on_says_which_row_is_first(rows: str) -> None:
    with pytest.raises(NotAllowed, match="first row of each person by ORDER BY"):
        plan_text(f"SELECT AVG(cost) AS m FROM ({rows})", HOSPITAL, gaussian=True)


def test_an_average_of_a_condition_says_how() -> None:
    with pytest.raises(WrongType, match="CAST"):
        plan_text("SELECT AVG(cost > 5) AS share FROM visits", HOSPITAL, gaussian=True)


def test_where_on_an_aggregate_of_select_says_having() -> None:
    with pytest.raises(NotAllowed, match="Write this condition in HAVING"):
        plan_text("SELECT ward, COUNT(*) AS n FROM visits WHERE n > 5 GROUP BY ward", HOSPITAL, gaussian=True)


PARTS = (
    "COUNT(*)",
    "SUM(cost)",
    "COUNT(DISTINCT patient_id)",
    "AVG(v.cost)",
    "SUM(cost) / COUNT(*)",
    "sum(cost * 2)",
    "100.0 * COUNT(*) FILTER (WHERE urgent) / COUNT(*)",
    "COUNT(*) FILTER (WHERE cost > 5 AND ward <> 'north' AND NOT urgent)",
    "COUNT(*) FILTER (WHERE ward IN ('north', 'it''s') OR cost BETWEEN 1 AND 3)",
    "COUNT(cost) FILTER (WHERE ward IS NULL OR diagnosis IS NOT NULL)",
    "PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY cost)",
    "PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY cost DESC)",
    "QUANTILE_CONT(cost, 0.9)",
    "ROUND(AVG(cost), 2)",
    "STDDEV(cost)",
    "SUM(-cost)",
    "MIN(cost * (1 - 0.5))",
    "1 + COUNT(*)",
)


def test_unnamed_aggregates_have_the_names_of_the_engine() -> None:
    names = plan_text(f"SELECT {', '.join(PARTS)} FROM visits v", HOSPITAL, gaussian=True).plans[0].outputs
    with duckdb.connect() as engine:
        engine.execute("CREATE TABLE visits (patient_id INT, cost DOUBLE, ward TEXT, diagnosis TEXT, urgent BOOLEAN)")
        engine.execute(f"SELECT {', '.join(PARTS)} FROM visits v")
        engines = [column[0].replace('"', "") for column in engine.description or ()]  # cost is one of its words
    assert [output.name for output in names] == engines


def test_other_names_are_places() -> None:
    parts = "COUNT(*), SUM(CASE WHEN urgent THEN cost ELSE 0 END), COUNT(*)"
    names = plan_text(f"SELECT {parts} FROM visits", HOSPITAL, gaussian=True).plans[0].outputs
    assert [output.name for output in names] == ["count_star()", "column_2", "column_3"]
