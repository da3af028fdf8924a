"""What a private answer costs beside DuckDB's exact one and the hand-written bounded plan; how quick a small one is."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

from bench.rows import Row, side_by_side
from bench.sql import children, ours, table
from bench.sql.exact import Exact

NAMES = {
    "regions": "COUNT, SUM and AVG by 50 keys",
    "products": "COUNT by 5,000 unknown keys",
    "quantiles": "2 quantiles",
}
LIMITS = [  # question, ours, DuckDB's plan, times its processor time at most
    ("regions", "prepared", "plain", 1.5),
    ("regions", "unprepared", "plain", 8),
    ("products", "prepared", "bounded", 5),
    ("products", "unprepared", "bounded", 5),
    ("quantiles", "prepared", "plain", 5),
    ("quantiles", "prepared", "bounded", 5),
    ("quantiles", "unprepared", "bounded", 5),
]
PLANS = {"plain": "the exact one", "bounded": "the hand-written bounded one"}
MEMORY = [("regions", "plain"), ("products", "bounded"), ("quantiles", "bounded")]


def rows(quick: bool, prepared: Path) -> list[Row]:
    """``prepared`` is the prepared table of the size that is measured."""
    return [*_processor(quick, prepared), *_memory(quick, prepared), *_small(quick)]


def size(quick: bool) -> int:
    return table.FEWER if quick else table.ROWS


# ---------------------------------------------------------------- processor time, in one process


def _processor(quick: bool, prepared: Path) -> list[Row]:
    times = {question: _times(question, quick, prepared) for question in NAMES}
    found = []
    for question, mine, plan, limit in LIMITS:
        took = times[question]
        note = f"{took[mine]:.3f} s of processor time against {took[plan]:.3f}; {size(quick):,} rows"
        name = f"{NAMES[question]}, {mine}, over {PLANS[plan]}"
        found.append(Row(name, took[mine] / took[plan], "x", limit, "lower", note))
    return found


def _times(question: str, quick: bool, prepared: Path) -> dict[str, float]:
    source, asked = table.path(size(quick)), ours.QUESTIONS[question]
    bounds = {"max_rows_per_unit": asked.max_rows_per_unit, "amount": asked.amount}
    exact = Exact(source)
    works: dict[str, Callable[[], object]] = {
        plan: lambda plan=plan: exact.ask(plan, question) for plan in ("plain", "bounded")
    }
    with ExitStack() as stack:
        for name, path in (("prepared", prepared), ("unprepared", source)):
            connection = stack.enter_context(ours.connected(path, **bounds))
            works[name] = lambda connection=connection: ours.ask(connection, asked.sql)
        return side_by_side(works, rounds=5 if quick else 3)


# ---------------------------------------------------------------- memory, each in a process of its own


def _memory(quick: bool, prepared: Path) -> list[Row]:
    found = []
    for question, plan in MEMORY:
        theirs = children.here(f"duckdb:{plan}", question, size(quick))
        mine = children.here("hubbub", question, size(quick), path=prepared)
        note = f"{mine.peak_mb:.0f} MB ({mine.idle_mb:.0f} before the question) against {theirs.peak_mb:.0f} MB"
        note += f" ({theirs.idle_mb:.0f} before)"
        name = f"peak memory of {NAMES[question]}, prepared, over {PLANS[plan]}"
        found.append(Row(name, mine.peak_mb / theirs.peak_mb, "x", 1.3, "lower", note))
    return found


# ---------------------------------------------------------------- a small table


def _small(quick: bool) -> list[Row]:
    text, times = ours.QUESTIONS["regions"].sql, 20 if quick else 100
    with ours.connected(table.path(table.SMALL), max_rows_per_unit=120) as connection:
        whole = _median_ms(lambda: ours.ask(connection, text), times)
        planning = _median_ms(lambda: ours.preview(connection, text), times)
    return [
        Row(f"a question to {table.SMALL:,} rows, end to end", whole, "ms", 20, "lower"),
        Row("of that, to parse and plan (a preview)", planning, "ms", 5, "lower"),
    ]


def _median_ms(work: Callable[[], object], times: int) -> float:
    work()
    taken = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken) * 1000
