"""Measures whose rows exclude each other: which they are, and how far one person moves them together."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from random import Random

import duckdb
import pytest

from hubbub.engines import DuckDB
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.quote import plan_text
from hubbub.terms import HubbubError, Neighbours
from tests.sql._databases import Database, dataset_of
from tests.sql._exact import read_exactly
from tests.sql._meanings import DATASET, MADE, Writer
from tests.sql._moved import jointly_moved


def planned(*aggregates: str, neighbours: Neighbours = Neighbours.ADD_REMOVE, group: str = "") -> QuestionPlan:
    columns = ", ".join(f"{aggregate} AS c{i}" for i, aggregate in enumerate(aggregates))
    text = f"SELECT {group + ', ' if group else ''}{columns} FROM visits v {'GROUP BY ' + group if group else ''}"
    [plan] = plan_text(text, replace(DATASET, neighbours=neighbours), gaussian=True).plans
    return plan


def are_apart(one: str, other: str) -> bool:
    return bool(planned(f"COUNT(*) FILTER (WHERE {one})", f"COUNT(*) FILTER (WHERE {other})").joint)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v.ward = 'n'", "v.ward = 's'"),
        ("v.ward = 'n'", "v.ward IN ('s', 'e')"),
        ("v.ward IN ('n', 'x')", "v.ward IN ('s', NULL)"),
        ("v.ward = 'n'", "v.ward <> 'n'"),
        ("v.ward = 'n'", "v.ward IS NULL"),
        ("v.k < 3", "v.k >= 3"),
        ("v.k <= 3", "v.k > 3"),
        ("v.k < 3", "v.k > 5"),
        ("3 > v.k", "v.k BETWEEN 4 AND 5"),
        ("v.k = 3", "v.k > 3"),
        ("v.k = 3", "v.k < 2.5"),
        ("v.ok", "NOT v.ok"),
        ("v.ok", "v.ok IS FALSE"),
        ("v.ok", "v.ok IS NOT TRUE"),
        ("v.ok = TRUE", "NOT v.ok"),
        ("v.k > 3", "NOT v.k > 3"),
        ("v.k > 3", "(v.k > 3) IS NOT TRUE"),
        ("v.k > 3", "NOT v.k > 3 AND v.x = 1"),
        ("v.k = 1 OR v.k = 2", "v.k = 3 OR v.k > 5"),
        ("v.x > 1 AND (v.k = 1 OR v.k = 2)", "v.k = 4 AND v.x < 9"),
        ("v.day < DATE '2020-03-01'", "v.day >= DATE '2020-03-01'"),
        ("v.day = DATE '2020-03-01'", "v.day = DATE '2020-03-02'"),
        ("v.ts < TIMESTAMP '2020-03-01 10:00:00'", "v.ts > TIMESTAMP '2020-03-01 11:00:00'"),
        ("MONTH(v.day) = 3", "MONTH(v.day) = 4"),
        ("v.cost + v.k > 4", "v.cost + v.k <= 4"),
        ("v.txt LIKE 'a%'", "NOT v.txt LIKE 'a%'"),
        ("CASE WHEN v.k > 3 THEN 'a' ELSE 'b' END = 'a'", "CASE WHEN v.k > 3 THEN 'a' ELSE 'b' END = 'b'"),
    ],
)  # fmt: skip
def test_conditions_that_exclude_each_other_are_seen(one: str, other: str) -> None:
    assert are_apart(one, other) and are_apart(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("v.ward = 'n'", "v.txt = 's'"),
        ("v.ward = 'n'", "v.ward <> 's'"),
        ("v.ward IN ('n', 's')", "v.ward IN ('s', 'e')"),
        ("v.k <= 3", "v.k >= 3"),
        ("v.k < 5", "v.k > 3"),
        ("v.k = 3", "v.k IS NOT NULL"),
        ("v.k > 3", "v.k <> 3"),
        ("v.k = 3 OR v.x = 1", "v.k = 4"),
        ("v.ward < 'n'", "v.ward > 's'"),
        ("v.ward = 'n'", "v.ward = 'N'"),
        ("v.ward = 'n'", "v.ward = ' n'"),
        ("v.cost = 0.1", "v.cost = 0.1000000001"),
        ("v.x = 16777216", "v.x = 16777217"),
        ("v.x - 0.5 = 16", "v.x - 5e-1 = 17"),
        ("v.cost < 0.1", "v.cost >= 1e-1"),
        ("v.ts < TIMESTAMP '2020-03-01 10:00:00.2'", "v.ts > TIMESTAMP '2020-03-01 10:00:00.5'"),
        ("v.ok", "v.k > 3"),
        ("v.ok OR v.k > 3", "NOT v.ok"),
    ],
)
def test_conditions_that_may_both_hold_are_not_taken_for_others(one: str, other: str) -> None:
    assert not are_apart(one, other) and not are_apart(other, one)


def test_no_row_meets_two_conditions_that_are_said_to_exclude_each_other(soak: int) -> None:
    random = Random(19)
    plain = duckdb.connect()
    plain.execute(MADE)
    engine = DuckDB({table.name: plain.sql(f"SELECT * FROM {table.name}").to_arrow_table() for table in DATASET.tables})
    apart = 0
    for _ in range(300 * soak):
        one, other = _pair(Writer(random, deep=1), random)
        try:
            if not are_apart(one, other):
                continue
        except HubbubError:
            continue
        text = f"SELECT COUNT(*) FILTER (WHERE ({one}) AND ({other})) AS n FROM visits v"
        [read] = read_exactly(engine, plan_text(text, DATASET, gaussian=True))
        assert sum(read.measures[0].values()) == 0, (one, other)
        apart += 1
    engine.close()
    plain.close()
    assert apart > 100 * soak, apart


def _pair(writer: Writer, random: Random) -> tuple[str, str]:
    """Two conditions on one value, which often exclude each other."""
    condition, more, value = writer.condition(), writer.condition(0), writer.number()
    signs = ("<", "<=", ">", ">=", "=", "<>")
    compared = [f"{value} {random.choice(signs)} {random.choice(('0', '1', '2', '0.5', '1e0'))}" for _ in range(2)]
    listed = f"{value} IN ({random.choice(('0', '3'))}, {random.choice(('1', '2.5'))})"
    return random.choice(
        [
            (condition, f"NOT {condition}"),
            (f"{condition} AND {more}", f"({condition}) IS NOT TRUE"),
            (compared[0], compared[1]),
            (compared[0], f"{listed} AND {more}"),
            (f"({compared[0]} OR {listed})", f"NOT {compared[0]} AND {value} > 4"),
        ]
    )


# ---------------------------------------------------------------- groups of measures


def test_a_case_whose_else_adds_nothing_is_a_condition() -> None:
    north, south = (f"SUM(CASE WHEN v.ward = '{ward}' THEN v.x ELSE 0 END)" for ward in "ns")
    assert planned(north, south).joint == ((0, 1),)
    north, south = (f"SUM(CASE WHEN v.ward = '{ward}' THEN v.x ELSE 1 END)" for ward in "ns")
    assert planned(north, south).joint == ()
    north, south = (f"COUNT(DISTINCT CASE WHEN v.ward = '{ward}' THEN v.x END)" for ward in "ns")
    assert planned(north, south).joint == ((0, 1),)


def test_a_case_that_is_there_is_compared_once() -> None:
    """Two means of CASE were compared without end."""
    high, cheap = ("AVG(CASE WHEN v.k > 3 THEN v.x END)", "AVG(CASE WHEN v.cost < 1 OR v.ok THEN v.x END)")
    assert planned(high, cheap).joint == ()
    assert planned(high, "AVG(CASE WHEN v.k < 3 OR v.k = 3 THEN v.x END)").joint == ((0, 2), (1, 3))


def test_each_part_of_a_mean_is_shared_with_its_like() -> None:
    north, south = (f"AVG(v.cost) FILTER (WHERE v.ward = '{ward}')" for ward in "ns")
    plan = planned("COUNT(*)", north, south)
    assert [measure.name for measure in plan.measures] == ["COUNT(*)", *["SUM(cost)", "COUNT(cost)"] * 2]
    assert plan.joint == ((1, 3), (2, 4))


def test_people_are_never_shared_out() -> None:
    """One person may have rows under both conditions."""
    north, south = (f"COUNT(DISTINCT v.pid) FILTER (WHERE v.ward = '{ward}')" for ward in "ns")
    assert planned(north, south).joint == ()
    assert planned(north, south, "COUNT(*)").joint == ()


def test_totals_that_are_clipped_each_by_itself_are_never_shared_out() -> None:
    young, old = "SUM(age) FILTER (WHERE age < 30)", "SUM(age) FILTER (WHERE age >= 30)"
    text = f"SELECT sex, {young} AS a, {old} AS b FROM people GROUP BY sex"
    [plain] = plan_text(text, DATASET, gaussian=True).plans
    [clipped] = plan_text(text, DATASET, gaussian=True, totals={"a": Fraction(9), "b": Fraction(9)}).plans
    assert plain.joint == ((0, 1),) and clipped.joint == ()


def test_where_a_person_is_replaced_two_move_two_parts_of_one_key() -> None:
    """The old person's rows may all meet one condition, the new one's another: each counts as moved twice as far."""
    parts = [f"COUNT(*) FILTER (WHERE v.ward = '{ward}')" for ward in "nse"]
    alone, together = (planned(*parts[:n], neighbours=Neighbours.REPLACE) for n in (1, 3))
    assert (alone.joint, together.joint) == ((), ((0, 1, 2),))
    assert together.moved[0].l1 == 2 * alone.moved[0].l1
    signed = planned(*parts, "SUM(v.k) FILTER (WHERE v.ward = 'x')", neighbours=Neighbours.REPLACE)
    assert signed.joint == ((0, 1, 2, 3),)


def test_a_count_beside_a_sum_is_of_the_rows_of_its_own_condition() -> None:
    """1 - 0.9 is 0.1 as a decimal, and less as a double: conditions that are equal but for that are not one another."""
    text = """SELECT SUM(v.cost) FILTER (WHERE v.k - 0.9 >= 0.1) AS s,
        AVG(v.cost) FILTER (WHERE v.k - 9e-1 >= 0.1) AS a,
        AVG(v.cost) FILTER (WHERE v.k - 9e-1 < 0.1) AS b FROM visits v"""
    declared = dataset_of("integer", Neighbours.ADD_REMOVE, (1, 1, 1), by_row=False, signed=False)
    rows = {"people": [(1, 30, "f", "")], "visits": [(1, 1, "n", 1.0, 1, None, "a")], "items": [], "wards": []}
    plan = plan_text(text, declared, gaussian=True)
    engines = [Database(declared, "integer", each).engine() for each in (rows, {**rows, "visits": []})]
    [[one], [other]] = ([*read_exactly(engine, plan)] for engine in engines)
    assert plan.plans[0].joint and jointly_moved(plan.plans[0], one, other) == []
