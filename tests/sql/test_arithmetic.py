"""Whole numbers that are added up never become too large for their type, however many rows there are.

A failure from a number of rows on tells that number exactly: an analyst chooses constants, and so the number.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import duckdb
import pyarrow
import pytest
import sqlglot
from sqlglot import exp

from hubbub.relations.dialects import DIALECTS
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.bounds.suggest import plan_suggestion
from hubbub.sql.compiler import bound_contribution, plan_keys
from hubbub.sql.quote import plan_text
from hubbub.terms import Budget, OutOfRange
from tests.sql._exact import engine_over, read_exactly
from tests.sql.test_total import printed, statements

_ROWS = 2**63 - 1  # no engine counts further
_LARGEST = 2**62  # of one row, in any sum that is printed
_ARITHMETIC = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.IntDiv, exp.Mod, exp.Neg, exp.Abs)
_CENTRE = 2**44
_QUESTIONS = [
    *("SELECT AVG(x + {c}) AS a FROM t", "SELECT g, AVG(x - {c}) AS a, COUNT(*) AS n FROM t GROUP BY g"),
    *("SELECT VAR_POP(x + {c}) AS a, SUM(x + {c}) AS s FROM t", "SELECT MEDIAN(x + {c}) AS a FROM t"),
    *("SELECT AVG(x + {c}) FILTER (WHERE x > 1) AS a FROM t", "SELECT AVG(x * {c}) AS a FROM t WHERE g = 1"),
    "SELECT AVG(v.x + {c}) AS a FROM t v JOIN t u ON v.p = u.p",
    "SELECT SUM(n) AS s, AVG(m) AS a FROM (SELECT p, COUNT(*) + {c} AS n, SUM(x) * {c} AS m FROM t GROUP BY p)",
    "SELECT SUM(CLIP(n, -5, 5)) AS s FROM (SELECT p, SUM(x + {c}) OVER (PARTITION BY p) * {c} AS n FROM t)",
    "SELECT SUM(CLIP(n, -5, 5)) AS s FROM (SELECT p, -COUNT(*) OVER (PARTITION BY p) - {c} AS n FROM t)",
]


def _dataset(**declared: Any) -> Dataset:
    bounds: dict[str, Any] = {"lower": Fraction(0), "upper": Fraction(100), "step": Fraction(1)}
    columns = (
        Column(name="p", kind=Kind.INTEGER),
        Column(name="g", kind=Kind.INTEGER, values=(0, 1, 2, 3)),
        Column(name="x", kind=Kind.INTEGER, **bounds),
    )
    given: dict[str, Any] = {"max_rows_per_unit": 600} | declared
    table = Table(name="t", source="", columns=columns, link=PersonLink("p"), **given)
    return Dataset(name="d", population="d", unit="t.p", budget=Budget(1, 1e-6), tables=(table,))


def _everything() -> Iterator[str]:
    yield from printed()
    yield plan_suggestion(_dataset(), "t", None).statement(DIALECTS["duckdb"])
    for text, prepared, gaussian in product(_QUESTIONS, (False, True), (False, True)):
        asked = text.format(c=_CENTRE)
        yield from statements(plan_text(asked, _dataset(prepared=prepared), gaussian=gaussian))
    totals = {"n": Fraction(1 << 50), "s": Fraction(1 << 50)}
    for gaussian in (False, True):
        text = "SELECT g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY g"
        yield from statements(plan_text(text, _dataset(), gaussian=gaussian, totals=totals))


def _aggregates(node: exp.Expression) -> list[exp.Expression]:
    """The outermost aggregates and windows below a node; a subquery has its own."""
    if isinstance(node, exp.AggFunc | exp.Window | exp.Filter):
        return [node]
    if isinstance(node, exp.Select):
        return []
    return [found for part in node.iter_expressions() for found in _aggregates(part)]


def _ends(node: exp.Expression) -> list[str]:
    """The least and the largest that an aggregate may give, in its type."""
    inner = node if isinstance(node, exp.AggFunc) else node.this
    if isinstance(inner, exp.Filter):
        inner = inner.this
    if isinstance(inner, exp.Sum):
        return [f"CAST({sign * _ROWS * _LARGEST} AS HUGEINT)" for sign in (-1, 1)]
    return [f"CAST({end} AS BIGINT)" for end in (0, _ROWS)]


def _computed(sql: str) -> set[str]:
    """The arithmetic on aggregates of a statement, with numbers in their place."""
    texts = set()
    for node in sqlglot.parse_one(sql, dialect="duckdb").find_all(*_ARITHMETIC):
        found = _aggregates(node)
        for ends in product(*(_ends(each) for each in found)) if found else ():
            copy = node.copy()
            for each, end in zip(_aggregates(copy), ends, strict=True):
                each.replace(sqlglot.parse_one(end, dialect="duckdb"))
            assert not copy.find(exp.Column), copy
            texts.add(copy.sql(dialect="duckdb"))
    return texts


def _failures(texts: Iterator[str]) -> tuple[int, list[str]]:
    computed = set().union(*(_computed(sql) for sql in texts))
    failed = []
    for text in computed:
        try:
            duckdb.execute(f"SELECT {text}").fetchall()
        except duckdb.Error:
            failed.append(text)
    return len(computed), failed


def test_arithmetic_on_aggregates_holds_the_most_that_they_can_be() -> None:
    many, failed = _failures(_everything())
    assert many > 50
    assert not failed


def test_a_product_in_64_bits_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIALECTS, "duckdb", replace(DIALECTS["duckdb"], huge="{0}"))
    assert _failures(_everything())[1]


# ---------------------------------------------------------------- a person's totals


def test_squares_of_the_largest_totals_are_huge_integers() -> None:
    assert bound_contribution.LARGEST_TOTAL**2 * plan_keys.MOST_ROWS < 2**127
    assert bound_contribution.LARGEST_TOTAL * _ROWS < 2**127  # over all people


@pytest.mark.parametrize("gaussian", [False, True])
def test_every_measure_of_a_question_with_totals_has_a_ceiling(gaussian: bool) -> None:
    text = f"SELECT g, COUNT(*) AS n, SUM(x + {2**44}) AS s FROM t GROUP BY g"
    with pytest.raises(OutOfRange, match="total of SUM"):
        plan_text(text, _dataset(), gaussian=gaussian, totals={"n": Fraction(10)})
    told = plan_text(text, _dataset(max_rows_per_unit=60), gaussian=gaussian, totals={"n": Fraction(10)})
    assert max(told.plans[0].bounding.totals) <= bound_contribution.LARGEST_TOTAL


@pytest.mark.parametrize("gaussian", [False, True])
def test_a_person_far_beyond_the_largest_totals_is_scaled_down(gaussian: bool) -> None:
    types = dict.fromkeys(("p", "g", "x"), pyarrow.int64())
    rows = [(1, place % 4, 100) for place in range(4000)]
    engine = engine_over({"t": (types, rows)})
    text = f"SELECT g, COUNT(*) AS n, SUM(x + {2**44}) AS s FROM t GROUP BY g"
    totals = {"n": Fraction(10), "s": Fraction(bound_contribution.LARGEST_TOTAL)}
    told = read_exactly(engine, plan_text(text, _dataset(), gaussian=gaussian, totals=totals))[0].measures[1]
    engine.close()
    size = sum(value**2 for value in told.values()) if gaussian else sum(told.values()) ** 2
    assert 0 < size <= bound_contribution.LARGEST_TOTAL**2
