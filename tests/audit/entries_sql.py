"""Plans of private SQL: one question, two tables that differ in one person, and the real way from engine to noise.

The engine runs each statement once, since nothing there is random; what is drawn again and again is the noise, by the
same function that answers questions (`sql.measure.run`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pyarrow

from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import measurement
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import QueryQuote, plan_text, quote_plan
from hubbub.terms import Budget, Neighbours
from tests.sql._exact import engine_over

from ._entries import Entry

TYPES = {"pid": pyarrow.int64(), "x": pyarrow.float64(), "w": pyarrow.string(), "city": pyarrow.string()}
CROWD = [(i, float(i % 5), "ab"[i % 2], "paris") for i in range(12)]
LAST = [(99, 10.0, "a", "rome"), (99, 10.0, "a", "rome")]  # one person, with as much as is allowed
PURE, APPROXIMATE = Price(epsilon=Fraction(1)), Price(epsilon=Fraction(1), tail=Fraction(1, 100))
CHOOSING = replace(APPROXIMATE, tail=Fraction(1, 200), own=Fraction(1, 200))

QUESTIONS: dict[str, tuple[str, Price]] = {
    "count": ("SELECT COUNT(*) AS n FROM t", PURE),
    "count, gaussian": ("SELECT COUNT(*) AS n FROM t", APPROXIMATE),
    "sum": ("SELECT SUM(x) AS s FROM t", PURE),
    "average": ("SELECT AVG(x) AS a FROM t", PURE),
    "count distinct": ("SELECT COUNT(DISTINCT pid) AS people FROM t", PURE),
    "public keys": ("SELECT w, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY w", PURE),
    "public keys, gaussian": ("SELECT w, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY w", APPROXIMATE),
    "unknown keys": ("SELECT city, COUNT(*) AS n FROM t GROUP BY city", CHOOSING),
    "unknown keys, people": ("SELECT city, COUNT(DISTINCT pid) AS people FROM t GROUP BY city", CHOOSING),
    "median": ("SELECT MEDIAN(x) AS m FROM t", PURE),
    "quantiles by public keys": ("SELECT w, QUANTILE_CONT(x, [0.5, 0.9]) AS q FROM t GROUP BY w", PURE),
    "median by unknown keys": ("SELECT city, MEDIAN(x) AS m FROM t GROUP BY city", CHOOSING),
    "filtered": ("SELECT COUNT(*) AS n FROM t WHERE x > 3 AND w = 'a'", PURE),
}


def dataset(neighbours: Neighbours) -> Dataset:
    number = {"lower": Fraction(0), "upper": Fraction(10), "step": Fraction(1)}
    columns = (
        Column(name="pid", kind=Kind.INTEGER),
        Column(name="x", kind=Kind.NUMBER, **number),  # type: ignore[arg-type]
        Column(name="w", kind=Kind.TEXT, values=("a", "b")),
        Column(name="city", kind=Kind.TEXT),
    )
    table = Table(name="t", source="", columns=columns, link=PersonLink("pid"), max_rows_per_unit=2)
    return Dataset(
        name="d", population="d", unit="t.pid", budget=Budget(9, 1e-2), tables=(table,), neighbours=neighbours
    )


def entry(name: str, neighbours: Neighbours, *, claim: float = 1.0, price: Price | None = None) -> Entry:
    text, usual = QUESTIONS[name]
    paid = price or usual
    told = quote_plan(plan_text(text, dataset(neighbours), gaussian=paid.delta > 0), paid)
    other = CROWD if neighbours is Neighbours.ADD_REMOVE else [*CROWD, (99, 0.0, "b", "oslo")]
    return Entry(
        name=f"sql {name}, {neighbours.value}",
        covers=name,
        draw=_draw(told),
        a=tuple(other),
        b=(*CROWD, *LAST),
        epsilon=claim,
        delta=float(usual.delta),
        trials=200 if name == "median" else 600,
        neighbours=neighbours.value,
    )


def _draw(told: QueryQuote) -> Callable[[Any, int], Any]:
    statements = told.planned.statements("duckdb", secret="s")

    def draw(rows: Any, size: int) -> Any:
        engine = engine_over({"t": (TYPES, list(rows))})
        once = _Once(engine)
        try:
            return [_outcome(told, statements, once) for _ in range(size)]
        finally:
            engine.close()

    return draw


def _outcome(told: QueryQuote, statements: Any, engine: Any) -> Any:
    """Everything that one run would store: keys, noisy integers, quantiles."""
    parts = zip(told.planned.plans, told.spent, statements, strict=True)
    runs = [measurement.run(engine, plan, spent, texts, seconds=60) for plan, spent, texts in parts]
    return [_told(run) for run in runs]


def _columns(quantile: measurement.Quantiles | measurement.QuantilePairs) -> tuple[tuple[Any, ...], ...]:
    pairs = isinstance(quantile, measurement.QuantilePairs)
    return (quantile.lows, quantile.highs) if pairs else (quantile.values,)  # type: ignore[union-attr, return-value]


def _told(run: measurement.NoisyResult) -> dict[str, tuple[Any, ...]]:
    read = [column for quantile in run.quantiles for column in _columns(quantile)]
    columns = [*run.measures, *read, *([run.people] if run.people else [])]
    return {repr(key): tuple(column[i] for column in columns) for i, key in enumerate(run.keys)}


class _Once:
    """An engine that runs each statement once."""

    dialect = "duckdb"

    def __init__(self, engine: Any) -> None:
        self._engine, self._known = engine, dict[str, Any]()

    def rows(self, sql: str, *, seconds: float) -> Any:
        return self._known.setdefault(sql, None) or self._keep(sql, self._engine.rows(sql))

    def arrays(self, sql: str, *, seconds: float) -> Any:
        return self._known.setdefault(sql, None) or self._keep(sql, self._engine.arrays(sql))

    def _keep(self, sql: str, told: Any) -> Any:
        self._known[sql] = told
        return told


REPLACED = {"count", "sum", "public keys, gaussian", "unknown keys"}  # under replacement too
ENTRIES = [
    *(entry(name, Neighbours.ADD_REMOVE) for name in QUESTIONS),
    *(entry(name, Neighbours.REPLACE) for name in QUESTIONS if name in REPLACED),
]
