"""Nothing that is printed over private values can fail, with or without the conditions around it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from hubbub.engines import DuckDB, EngineFailed
from hubbub.relations import column_printer
from hubbub.relations.dialects import DIALECTS
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql.bounds.suggest import plan_suggestion
from hubbub.sql.prepare_copy import prepare
from hubbub.sql.quote import QueryPlan, plan_text
from hubbub.terms import Budget, HubbubError
from tests.sql import _hostile
from tests.sql._unguarded import Plodding, faults, unguarded
from tests.sql.passes.fixtures import every
from tests.sql.passes.used import USED, asked

DUCKDB = DIALECTS["duckdb"]


def statements(planned: QueryPlan) -> Iterator[str]:
    """What the engine is asked."""
    for part in planned.statements("duckdb", secret="5ec"):
        yield from (statement.sql for statement in part)


def printed() -> Iterator[str]:
    """The statements of every question that the fixtures and the page of functions know."""
    for fixture in every():
        try:
            planned = plan_text(fixture.sql, fixture.dataset, gaussian=fixture.gaussian, totals=fixture.totals)
        except HubbubError:
            continue
        yield from statements(planned)
    for about in USED:
        yield from statements(asked(about))


# ---------------------------------------------------------------- the list of what may stand there is closed


def test_whatever_is_printed_is_made_of_functions_that_cannot_fail() -> None:
    everything = list(printed())
    assert len(everything) > 150
    for sql in everything:
        assert not faults(sql), sql


def test_what_suggests_is_made_of_functions_that_cannot_fail() -> None:
    dataset = _dataset([("p", "integer"), ("x", "number")], "p", {})
    assert not faults(plan_suggestion(dataset, "t", None).statement(DUCKDB))


def test_a_cast_over_a_column_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    casts = {kind: text.replace("TRY_CAST", "CAST") for kind, text in DUCKDB.casts.items()}
    monkeypatch.setitem(DIALECTS, "duckdb", replace(DUCKDB, casts=casts))
    assert sum(bool(faults(sql)) for sql in printed()) > 50


def test_a_date_that_is_not_held_to_the_calendar_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(column_printer, "in_calendar", lambda text, kind, dialect: text)
    assert any(faults(sql) for sql in printed())


@pytest.mark.parametrize(
    "text", ["decode(x)", "CAST(x AS BIGINT)", "strptime(x, '%Y')", "sqrt(x)", "x::DATE", "error(x)"]
)
def test_functions_that_can_fail_are_not_on_the_list(text: str) -> None:
    assert faults(f"SELECT sum(CASE WHEN x > 0 THEN {text} END) FROM t AS s")


# ---------------------------------------------------------------- hostile values, guards or not

ANY = ["COUNT({c})", "COUNT(DISTINCT {c})"]
NUMBERS = [
    *(
        "SUM(CLIP({c}, 0, 5))",
        "AVG(CLIP({c} * {c} * {c}, -1, 1))",
        "SUM(CLIP({c} / {c}, 0, 1))",
        "SUM(CLIP(-{c}, 0, 5))",
    ),
    *("SUM(CLIP({c} % {c}, 0, 1))", "SUM(CLIP(ABS({c}) + EXP({c}), 0, 1))"),
    *(
        "SUM(CLIP(LN({c}) + SQRT({c}) + LOG({c}) + LOG(2, {c}), 0, 1))",
        "SUM(CLIP(POWER({c}, {c}), 0, 1))",
        "SUM(CLIP(ROUND({c}, 15), 0, 1))",
    ),
    *("SUM(CLIP(FLOOR({c}) + CEIL({c}) + TRUNC({c}), 0, 1))", "SUM(SIGN({c}))"),
    *("SUM(CLIP(CAST({c} AS INTEGER), 0, 9))", "COUNT(CAST({c} AS BOOLEAN))", "MEDIAN(CLIP({c}, 0, 5))"),
    *(
        "COUNT(*) FILTER (WHERE {c} > 1.5 OR NULLIF({c}, 0) IN (1, 2.5))",
        "VAR_POP(CLIP({c}, 0, 5))",
        "COUNT(DISTINCT ({c}, p))",
    ),
    *("CORR({c}, p)", "REGR_SLOPE(CLIP({c}, 0, 5), {c}) FILTER (WHERE p > 1)", "COUNT(DISTINCT p, {c})"),
    *("SUM(CLIP(COALESCE(LEAST({c}, 3), GREATEST({c}, 1)), 0, 9))", "SUM(CLIP(CAST({c} AS DOUBLE), -9, 9))"),
]
TEXTS = [
    *("SUM(CLIP(LENGTH({c}), 0, 9))", "COUNT(UPPER(LOWER(TRIM({c}))))", "COUNT(LEFT({c}, -3) || RIGHT({c}, 10000))"),
    *("COUNT(SUBSTRING({c}, -10000, 10000))", "COUNT(CONCAT({c}, 'x'))", "COUNT(REPLACE({c}, 'a', 'bc'))"),
    *("SUM(CLIP(CAST({c} AS INTEGER), 0, 9))", "SUM(CLIP(CAST({c} AS DOUBLE), 0, 9))", "COUNT(CAST({c} AS DATE))"),
    *("COUNT(CAST({c} AS TIMESTAMP))", "COUNT(CAST({c} AS BOOLEAN))", "COUNT(CAST(CAST({c} AS TIMESTAMP) AS VARCHAR))"),
    *(
        "COUNT(*) FILTER (WHERE {c} LIKE '%_' OR {c} ILIKE 'A%' OR {c} < 'b')",
        "COUNT(*) FILTER (WHERE {c} IN ('a', ''))",
    ),
    *("COUNT(*) FILTER (WHERE STARTS_WITH({c}, 'a') OR CONTAINS({c}, 'b'))", "COUNT(DISTINCT ({c}, p))"),
    *(
        "COUNT(*) FILTER (WHERE REGEXP_MATCHES({c}, '^(a|\\w+.[^a-c]){{2,20}}$'))",
        "COUNT(REGEXP_EXTRACT({c}, '(.)b*', 1))",
    ),
]
MOMENTS = [
    *(
        "SUM(MONTH({c}))",
        "SUM(CLIP(YEAR({c}), 1900, 2100))",
        "SUM(EXTRACT(dow FROM {c}))",
        "COUNT(CAST({c} AS VARCHAR))",
    ),
    *("COUNT(DISTINCT ({c}, p))",),
    *("COUNT({c} + INTERVAL 40 DAY)", "COUNT({c} - INTERVAL '3 months')", "COUNT({c} + INTERVAL '1000 years')"),
    *("COUNT(LAST_DAY({c}))", "COUNT(CAST({c} AS DATE) + 1)", "COUNT(STRFTIME({c}, '%Y-%m-%d %H %j %A %B'))"),
    *("SUM(CLIP(EPOCH({c}), 0, 9))", "COUNT(*) FILTER (WHERE {c} - TIMESTAMP '2020-01-01 00:00:00' > INTERVAL 3 DAY)"),
    *(
        f"SUM(CLIP(DATE_DIFF('{unit}', {{c}}, TIMESTAMP '2020-01-01 00:00:00'), 0, 9))"
        for unit in ("hour", "minute", "second", "millisecond", "microsecond")
    ),
    *("COUNT(DATE_TRUNC('week', {c}))", "COUNT(DATE_TRUNC('hour', {c}))", "COUNT(CAST({c} AS DATE))"),
    *("SUM(CLIP(DATE_DIFF('day', {c}, DATE '2020-01-01'), 0, 9))", "SUM(CLIP(DATE_DIFF('month', {c}, {c}), 0, 9))"),
    *("COUNT(CAST({c} AS TIMESTAMP))", "COUNT(*) FILTER (WHERE {c} > '2020-01-01')"),
]
OF_KIND = {
    Kind.INTEGER: [*NUMBERS, "SUM(CLIP({c} // 3 + 3 // {c}, 0, 1))", "COUNT(CAST({c} AS VARCHAR))"],
    Kind.NUMBER: NUMBERS,
    Kind.TEXT: TEXTS,
    Kind.DATE: MOMENTS,
    Kind.TIMESTAMP: MOMENTS,
    Kind.BOOLEAN: [
        "SUM(CAST({c} AS INTEGER))",
        "COUNT(*) FILTER (WHERE {c} OR NOT {c})",
        "COUNT(CAST({c} AS VARCHAR))",
    ],
    Kind.OPAQUE: [],
}
OF_PEOPLE = [
    "SELECT COUNT(*) AS n, COUNT(DISTINCT {c}) AS people FROM t",
    "SELECT AVG(n) AS a FROM (SELECT {c}, COUNT(*) AS n FROM t GROUP BY {c})",
    "SELECT COUNT(*) AS n FROM t a JOIN t b ON a.{c} = b.{c}",
]


def _dataset(columns: list[tuple[str, str]], unit: str, natives: Mapping[str, str]) -> Dataset:
    bounds: dict[str, Any] = {"lower": Fraction(-(10**6)), "upper": Fraction(10**6)}
    declared = tuple(
        Column(
            name=name,
            kind=Kind(kind),
            native=natives.get(name, ""),
            **(bounds if kind in ("integer", "number") else {}),
        )
        for name, kind in columns
    )
    table = Table(name="t", source="", columns=declared, link=PersonLink(unit), max_rows_per_unit=2)
    return Dataset(name="d", population="d", unit=f"t.{unit}", budget=Budget(1, 1e-6), tables=(table,))


def questions(columns: list[tuple[str, str]]) -> Iterator[tuple[str, str]]:
    """(unit, question): every operation over every column, its groups, and people told apart by it."""
    for name, kind in columns[1:]:
        quoted = f'"{name}"'
        parts = [part.format(c=quoted) for part in [*ANY, *OF_KIND[Kind(kind)]]]
        yield "p", f"SELECT {', '.join(f'{part} AS c{place}' for place, part in enumerate(parts))} FROM t"
        if kind != "opaque":
            yield "p", f"SELECT {quoted} AS k, COUNT(*) AS n FROM t GROUP BY k"
            yield "p", f"SELECT COUNT(*) AS n FROM (SELECT DISTINCT {quoted} AS k, p FROM t)"
        yield from ((name, text.format(c=quoted)) for text in OF_PEOPLE if kind != "opaque" or text is OF_PEOPLE[0])


def run(engine: DuckDB, columns: list[tuple[str, str]], *, without_guards: bool) -> list[str]:
    """The questions that the engine cannot answer."""
    failed = []
    for unit, text in questions(columns):
        planned = plan_text(text, _dataset(columns, unit, engine.natives("t")), gaussian=True)
        for sql in statements(planned):
            try:
                engine.rows(unguarded(sql) if without_guards else sql)
            except EngineFailed:
                failed.append(f"by {unit}: {text}")
    return failed


@pytest.fixture(scope="module")
def hostile() -> Any:
    """The worst values of every type."""
    return _hostile.hostile()


def _sample(columns: list[tuple[str, str]], soak: int, turn: int) -> list[tuple[str, str]]:
    """All columns in the long run, else a part that differs from source to source; people are always there."""
    others = [column for column in columns if column[0] != "p"]
    return [("p", "integer"), *(others if soak > 1 else others[turn % 8 :: 8])]


@pytest.mark.parametrize("kind", _hostile.SOURCES)
def test_no_value_of_any_source_stops_a_question(kind: str, hostile: Any, soak: int, tmp_path: Path) -> None:
    source = _hostile.SOURCES[kind](hostile, tmp_path)
    turn = list(_hostile.SOURCES).index(kind)
    for engine in (DuckDB({"t": source}, threads=1), Plodding({"t": source}, threads=1)):
        columns = _sample(engine.columns("t"), soak, turn)
        assert not run(engine, columns, without_guards=isinstance(engine, Plodding))
        engine.close()


@pytest.mark.parametrize("kind", _hostile.SOURCES)
def test_no_text_is_too_long_for_a_question(kind: str, soak: int, tmp_path: Path) -> None:
    """50 MB of it in the long run."""
    table = _hostile.hostile(text_bytes=50_000_000 if soak > 1 else 100_000).select(["p", "string"])
    for engine in (DuckDB({"t": _hostile.SOURCES[kind](table, tmp_path)}), Plodding({"t": table}, threads=1)):
        assert not run(engine, engine.columns("t"), without_guards=isinstance(engine, Plodding))
        engine.close()


@pytest.mark.parametrize("kind", ["parquet", "duckdb", "csv", "arrow"])
def test_no_value_stops_a_copy_from_being_prepared(kind: str, hostile: Any, tmp_path: Path) -> None:
    source = _hostile.SOURCES[kind](hostile, tmp_path)
    assert prepare(source, unit="p", out=tmp_path / "copy.parquet").is_file()


def test_types_do_not_depend_on_values(hostile: Any, tmp_path: Path) -> None:
    calm = _hostile.calm()
    for place, make in enumerate(_hostile.SOURCES.values()):
        kinds = []
        for table in (hostile, calm):
            folder = tmp_path / f"{place}-{len(kinds)}"
            folder.mkdir()
            engine = DuckDB({"t": make(table, folder)})
            kinds.append(dict(engine.columns("t")))
            engine.close()
        shared = kinds[0].keys() & kinds[1].keys()
        assert len(shared) >= 6
        assert {name: kinds[0][name] for name in shared} == {name: kinds[1][name] for name in shared}


def test_a_guard_that_alone_keeps_a_cast_from_failing_is_noticed(
    hostile: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    guarded = "CASE WHEN {0} BETWEEN -1000 AND 1000 THEN CAST({0} AS {type}) END"
    monkeypatch.setitem(DIALECTS, "duckdb", replace(DUCKDB, narrow=guarded))
    engine = Plodding({"t": hostile.select(["p", "float64"])}, threads=1)
    columns = engine.columns("t")
    assert not run(DuckDB({"t": hostile.select(["p", "float64"])}), columns, without_guards=False)
    assert run(engine, columns, without_guards=True)
    engine.close()
