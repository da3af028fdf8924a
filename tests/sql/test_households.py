"""Neighbours in every kind of source, with hostile values and ids of different types: nobody is seen in what is read.

Two data sets that differ in one person are accepted or refused in the same words, are planned and printed alike, no
question fails on one of them, and each exact integer moves by at most what the plan says.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import count
from pathlib import Path
from random import Random
from typing import Any

import pytest

from hubbub.engines import DuckDB, EngineFailed
from hubbub.engines.frames import readable_table
from hubbub.engines.sources import arrow_of
from hubbub.relations import Dialect, column_printer
from hubbub.schema.tables import Dataset
from hubbub.sql import quote
from hubbub.sql.compiler.lowering.engine_statements import EngineStatement
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.quote import QueryPlan, plan_text
from hubbub.terms import HubbubError, Neighbours, OutOfRange, QueryError
from tests.sql._exact import Read, common_keys, read_exactly, read_of_keys
from tests.sql._households import ANEW, IN_PLACE, Household, household, neighbours, opened
from tests.sql._moved import distances
from tests.sql._questions import SOURCES, Asked, Source

QUESTIONS = 1  # to each pair, with several aggregates
TABLES = ("people", "visits", "items", "wards")


# ---------------------------------------------------------------- questions


def question(rng: Random) -> Asked:
    """A question with several aggregates, so that one statement tells much."""
    source = rng.choice(SOURCES)
    keys = rng.choice(
        [[], [source.keys[0]], rng.sample(source.keys, 1), rng.sample(source.keys, min(2, len(source.keys)))]
    )
    totals = rng.random() < 0.15
    parts = [_aggregate(rng, source, totals) for _ in range(rng.randint(2, 4))]
    wanted = [f"{key} AS key_{i}" for i, key in enumerate(keys)] + [f"{part} AS p_{i}" for i, part in enumerate(parts)]
    text = f"{source.above}SELECT {', '.join(wanted)} FROM {source.text}"
    if source.conditions and rng.random() < 0.4:
        text += f" WHERE {rng.choice(source.conditions)}"
    text += f" GROUP BY {', '.join(str(i + 1) for i in range(len(keys)))}" if keys else ""
    return Asked(text, rng.random() < 0.7, {"p_0": Fraction(rng.randint(1, 12))} if totals else None)


def _aggregate(rng: Random, source: Source, totals: bool) -> str:
    number, key = rng.choice(source.numbers), rng.choice(source.keys)
    if totals:
        return rng.choice(["COUNT(*)", f"COUNT({number})", f"SUM({number})"])
    kinds = ["COUNT(*)", f"COUNT({key})", f"COUNT(DISTINCT {key})", f"SUM({number})", f"AVG({number})"]
    kinds += [f"VAR_POP({number})", f"MEDIAN({number})", f"MAX({number})"]
    kinds += [f"COUNT(DISTINCT {source.person})"] * 2 if source.person else []
    part = rng.choice(kinds)
    return part + (
        f" FILTER (WHERE {rng.choice(source.conditions)})" if source.conditions and rng.random() < 0.2 else ""
    )


def plans(rng: Random, dataset: Dataset, fixed: str = "") -> list[tuple[Asked, QueryPlan]]:
    """Some questions that are not refused."""
    planned: list[tuple[Asked, QueryPlan]] = []
    for _ in range(8):
        asked = Asked(fixed, gaussian=True) if fixed else question(rng)
        try:
            planned.append((asked, plan_text(asked.text, dataset, gaussian=asked.gaussian, totals=asked.totals)))
        except (QueryError, OutOfRange):
            continue
        if len(planned) == QUESTIONS:
            break
    return planned


# ---------------------------------------------------------------- what one person changes


def read(engine: DuckDB, planned: QueryPlan, keys: list[set[str] | None] | None = None) -> list[Read] | str:
    """The exact integers, of all keys or of these, or the word that the engine failed."""
    try:
        return read_exactly(engine, planned) if keys is None else read_of_keys(engine, planned, keys)
    except EngineFailed:
        return "the engine failed"


def differing_keys(planned: QueryPlan, one: list[Read] | str, other: list[Read] | str) -> list[set[str] | None] | None:
    """The keys that both could choose, where these are not the same: what is told of them is what is compared."""
    return None if isinstance(one, str) or isinstance(other, str) else common_keys(planned, [one, other])


def compare(planned: QueryPlan, one: list[Read] | str, other: list[Read] | str, relation: Neighbours) -> Iterator[str]:
    """Everything that the difference of two neighbours shows."""
    if isinstance(one, str) or isinstance(other, str):
        yield f"the engine failed: {isinstance(one, str)} and {isinstance(other, str)}"
        return
    for plan, before, after in zip(planned.plans, one, other, strict=True):
        yield from distances(plan, before, after, relation)


def in_place(rng: Random, folder: Path, most: int, fixed: str = "") -> Iterator[tuple[int, list[str]]]:
    """(pairs, what is wrong) of one household whose sources are changed under an open engine."""
    one = household(rng)
    kinds = {name: rng.choice(list(IN_PLACE)) for name in TABLES}
    sources = {name: IN_PLACE[kind](one.arrow(name), folder, name) for name, kind in kinds.items()}
    dataset, engine = opened(one, sources)
    try:
        asked = plans(rng, dataset, fixed)
        before = [read(engine, planned) for _, planned in asked]
        for person, other in neighbours(rng, one, most):
            _change(engine, other, kinds, folder, " ".join(text.text for text, _ in asked))
            wrong = []
            for (text, planned), integers in zip(asked, before, strict=True):
                first, second = integers, read(engine, planned)
                if (keys := differing_keys(planned, first, second)) is not None:
                    second = read(engine, planned, keys)
                    _change(engine, one, kinds, folder, text.text)
                    first = read(engine, planned, keys)
                    _change(engine, other, kinds, folder, text.text)
                lines = compare(planned, first, second, dataset.neighbours)
                wrong += [f"{person!r} in {kinds}, {dict(one.ids)}: {text}: {line}" for line in lines]
            yield len(asked) > 0, wrong
    finally:
        engine.close()


def _change(engine: DuckDB, other: Household, kinds: Mapping[str, str], folder: Path, text: str) -> None:
    """Other rows in the tables that are read; the owners of items are found over visits."""
    for name in ("people", "visits", "items"):
        if name not in text and not (name == "visits" and "items" in text):
            continue
        source = IN_PLACE[kinds[name]](other.arrow(name), folder, name)
        if not isinstance(source, Path):
            engine._frames[name] = readable_table(arrow_of(source))


def anew(
    rng: Random, folder: Path, most: int, fixed: str = "", only: str = "", types: tuple[str, ...] = ()
) -> Iterator[tuple[int, list[str]]]:
    """(pairs, what is wrong) of one household whose sources are opened for each neighbour."""
    kind = only or rng.choice([*ANEW, "prepared", "csv", "mixed"])
    kinds = {name: rng.choice(list(ANEW)) if kind == "mixed" else kind for name in TABLES}
    text = "csv" in kinds.values()
    one = household(rng, types=types or (("BIGINT", "DOUBLE") if text else ()))
    first = _opened(one, kinds, folder / "one")
    asked = [] if isinstance(first, str) else plans(rng, first[0], fixed)
    before = [] if isinstance(first, str) else [read(first[1], planned) for _, planned in asked]
    for place, (person, other) in enumerate(neighbours(rng, one, most)):
        second = _opened(other, kinds, folder / str(place))
        wrong = [f"{person!r} in {kinds}, {dict(one.ids)}: {line}" for line in _differ(first, second, asked, before)]
        _close(second)
        yield 1, wrong
    _close(first)


def _opened(one: Household, kinds: Mapping[str, str], folder: Path) -> tuple[Dataset, DuckDB] | str:
    folder.mkdir(exist_ok=True)
    sources = {name: ANEW[kind](one.arrow(name), folder, name) for name, kind in kinds.items()}
    try:
        return opened(one, sources)
    except HubbubError as refusal:
        return str(refusal).replace(str(folder), "")


def _differ(first: Any, second: Any, asked: list[tuple[Asked, QueryPlan]], before: list[Any]) -> Iterator[str]:
    if isinstance(first, str) or isinstance(second, str):
        if first != second:
            yield f"refused otherwise: {first}, {second}"
        return
    if (shown := _shown(first)) != (other := _shown(second)):
        yield f"told otherwise: {shown}, {other}"
    for (text, planned), integers in zip(asked, before, strict=True):
        one, other = integers, read(second[1], planned)
        if (keys := differing_keys(planned, one, other)) is not None:
            one, other = read(first[1], planned, keys), read(second[1], planned, keys)
        for line in compare(planned, one, other, first[0].neighbours):
            yield f"{text}: {line}"


def _shown(opened: tuple[Dataset, DuckDB]) -> str:
    dataset, engine = opened
    return repr([(table.columns, table.prepared, engine.natives(table.name)) for table in dataset.tables])


def _close(opened: Any) -> None:
    if not isinstance(opened, str):
        opened[1].close()


def search(runs: Iterator[Iterator[tuple[int, list[str]]]], pairs: int) -> tuple[int, list[str]]:
    """How many pairs were looked at, and what was wrong with the first that was."""
    seen = 0
    for run in runs:
        for pairs_in_run, wrong in run:
            seen += pairs_in_run
            if wrong:
                return seen, wrong
        if seen >= pairs:
            break
    return seen, []


@pytest.mark.parametrize("part", range(4))
def test_nobody_is_seen_in_what_is_read(part: int, tmp_path: Path, soak: int) -> None:
    runs = (in_place(Random(f"{part}/{seed}"), tmp_path, 8) for seed in count())
    pairs = 2400 if soak > 1 else 80
    seen, wrong = search(runs, pairs)
    assert not wrong, "\n".join(wrong)
    assert seen >= pairs


@pytest.mark.parametrize("kind", ["prepared", "csv", "duckdb", "mixed"])
def test_nobody_is_seen_when_sources_are_opened(kind: str, tmp_path: Path, soak: int) -> None:
    runs = (anew(Random(f"{kind}/{seed}"), tmp_path, 3, only=kind) for seed in count())
    seen, wrong = search(runs, 10 * soak)
    assert not wrong, "\n".join(wrong)
    assert seen >= 10 * soak


def test_tables_that_would_never_meet_are_refused_in_the_same_words(tmp_path: Path) -> None:
    one = replace(household(Random(1)), ids=dict.fromkeys(household(Random(1)).ids, "BIGINT"))
    empty = replace(one, rows={**one.rows, **{name: [] for name in ("people", "visits", "items")}})
    words = set()
    for each in (one.without(one.people()[0]), empty):
        mixed = replace(each, ids={**each.ids, ("people", "pid"): "VARCHAR"}, rows=empty.rows)
        words.add(_opened(mixed, dict.fromkeys(TABLES, "parquet"), tmp_path))
    [refusal] = words
    assert isinstance(refusal, str) and "people.pid is VARCHAR" in refusal


# ---------------------------------------------------------------- the test can fail


def faulty_plan(
    change: Callable[[str], str], widen: Callable[[QuestionPlan], QuestionPlan], patch: pytest.MonkeyPatch
) -> None:
    """Every plan and printed text with a fault in it."""
    real = quote.write_statements

    def print_faulty(plan: QuestionPlan, *given: Any, **named: Any) -> tuple[EngineStatement, ...]:
        return tuple(replace(each, sql=change(each.sql)) for each in real(widen(plan), *given, **named))

    patch.setattr(quote, "write_statements", print_faulty)


def one_row_more(text: str) -> str:
    text = re.sub(r"\b(_hb_[rg]) (<=|>) (\d+)", lambda m: f"{m[1]} {m[2]} {int(m[3]) + 1}", text)
    text = re.sub(r"(_hb_rank) <= (\d+)", lambda m: f"{m[1]} <= {int(m[2]) + 1}", text)
    return re.sub(r"count\(\*\) > (\d+)", lambda m: f"count(*) > {int(m[1]) + 1}", text)


def unclamped(plan: QuestionPlan) -> QuestionPlan:
    wide = [
        replace(each, lower=100 * each.lower, upper=100 * each.upper) if each.value else each for each in plan.measures
    ]
    return replace(plan, measures=tuple(wide))


def rounded(text: str, native: str, form: str, dialect: Dialect) -> str:
    """Ids with fewer digits than they have."""
    return f"CAST(TRY_CAST({text} AS FLOAT) AS VARCHAR)"


def as_written(text: str, native: str, form: str, dialect: Dialect) -> str:
    """Ids by how they are written, in ranks alone."""
    return f"CAST({text} AS VARCHAR)"


def may_fail(text: str) -> str:
    return text.replace("TRY_CAST(", "CAST(")


BY_WARD = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward"
SUMS = "SELECT SUM(cost) AS s, SUM(k) AS t FROM visits"
NUMBERS = "SELECT COUNT(*) AS n FROM visits"
CAST = "SELECT COUNT(*) AS n FROM visits v WHERE CAST(v.txt AS INTEGER) = 1"
Fault = Callable[[pytest.MonkeyPatch], None]
PLANTED: dict[str, tuple[Fault, str, str]] = {
    "a cap that is off by one": (lambda patch: faulty_plan(one_row_more, lambda plan: plan, patch), BY_WARD, ""),
    "a stored rank that is off by one": (
        lambda patch: faulty_plan(one_row_more, lambda plan: plan, patch),
        BY_WARD,
        "prepared",
    ),
    "a clamp that is dropped": (lambda patch: faulty_plan(str, unclamped, patch), SUMS, ""),
    "ids that lose digits": (lambda patch: patch.setattr(column_printer, "id_from", rounded), BY_WARD, ""),
    "ranks of other people than the plan's": (
        lambda patch: patch.setattr("hubbub.relations.value_printer.id_from", as_written),
        NUMBERS,
        "prepared",
    ),
    "a template that can fail": (lambda patch: faulty_plan(may_fail, lambda plan: plan, patch), CAST, ""),
}


@pytest.mark.parametrize("fault", PLANTED)
def test_a_planted_fault_is_found(fault: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plant, text, kind = PLANTED[fault]
    plant(monkeypatch)
    seeds = (Random(f"fault/{seed}") for seed in range(150))
    if kind:
        runs = (anew(rng, tmp_path, 8, text, kind, ("DOUBLE",)) for rng in seeds)
    else:
        runs = (in_place(rng, tmp_path, 8, text) for rng in seeds)
    _, wrong = search(runs, 1000)
    assert wrong
