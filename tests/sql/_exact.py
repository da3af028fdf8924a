"""Questions run on a real DuckDB by the real way of measuring, with every noise replaced by nothing."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np

from hubbub.engines import DuckDB
from hubbub.sql import measurement
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.quote import QueryPlan

SECRET = "6d0e"


@dataclass(frozen=True, slots=True)
class Read:
    """What one plan read: an integer per key for each measure, a count per key and cell for each curve.

    Where levels of totals are measured: for each level and measure.
    """

    measures: tuple[dict[Any, int], ...]
    curves: tuple[dict[Any, int], ...]
    people: dict[Any, int]  # weighted, by the keys that are to be chosen


class _Exact:
    """Stands where a mechanism stands, and adds nothing."""

    def release(self, given: Any) -> Any:
        return given


class _ExactChoice:
    """Names every key, or those it is told, and notes the sums by which keys would be chosen."""

    def __init__(self, named: Collection[str] | None) -> None:
        self.named = named
        self.sums: dict[Any, int] = {}

    def release(self, sums: dict[Any, int]) -> dict[Any, int]:
        self.sums = {repr(key): number for key, number in sums.items()}
        return {key: number for key, number in sums.items() if self.named is None or repr(key) in self.named}


class _ExactCurve:
    """Notes the leaves of a curve; what is read off it is of no interest."""

    def __init__(self, keys: int) -> None:
        self.keys = keys
        self.leaves: dict[Any, int] = {}

    def release_sparse(self, cells: Any, counts: Any, *, keys: Any = None) -> _ExactCurve:
        at = np.zeros(len(cells), dtype=int) if keys is None else keys
        for key, cell, count in zip(at.tolist(), cells.tolist(), counts.tolist(), strict=True):
            if key >= 0:
                self.leaves[key, cell] = self.leaves.get((key, cell), 0) + count
        return self

    def quantile(self, level: object) -> list[int]:
        return [0] * self.keys

    def interval(self, level: object, confidence: object) -> Any:
        return np.zeros((self.keys, 2), dtype=int)


def read_plan(engine: DuckDB, plan: QuestionPlan, statements: Any, named: Collection[str] | None = None) -> Read:
    """The plan's integers by the real way of measuring, without noise and with every key (or those that are named)."""
    curves = [_ExactCurve(plan.size or 1) for _ in plan.curves]
    chooser = _ExactChoice(named)
    places = len(plan.measures) * max(1, len(plan.measured))
    spent = SimpleNamespace(measures=[_Exact()] * places, curves=curves, chooser=chooser)
    told = measurement.run(engine, plan, spent, statements, seconds=60)  # type: ignore[arg-type]  # it has the same parts
    names = list(map(repr, told.keys))  # where a key stands in the answer depends on the others that were chosen
    columns = tuple(
        dict(enumerate(column)) if plan.measured else dict(zip(names, column, strict=True)) for column in told.measures
    )
    leaves = [{(names[place], cell): rows for (place, cell), rows in curve.leaves.items()} for curve in curves]
    return Read(columns, tuple(leaves), chooser.sums)


def read_exactly(engine: DuckDB, planned: QueryPlan, named: Collection[str] | None = None) -> list[Read]:
    """Every plan's integers."""
    statements = planned.statements(engine.dialect, secret=SECRET)
    return [read_plan(engine, plan, texts, named) for plan, texts in zip(planned.plans, statements, strict=True)]


def common_keys(planned: QueryPlan, reads: Sequence[Sequence[Read]]) -> list[set[str] | None] | None:
    """By plan the keys that all databases can choose, if they differ anywhere; None for a plan that chooses none."""
    common: list[set[str] | None] = []
    differ = False
    for plan, each in zip(planned.plans, zip(*reads, strict=True), strict=True):
        keys = [set(read.people) for read in each]
        differ |= plan.selection is not None and any(other != keys[0] for other in keys)
        common.append(None if plan.selection is None else set.intersection(*keys))
    return common if differ else None


def read_of_keys(engine: DuckDB, planned: QueryPlan, named: Sequence[Collection[str] | None]) -> list[Read]:
    """Every plan's integers, each of its own keys."""
    statements = planned.statements(engine.dialect, secret=SECRET)
    return [read_plan(engine, *each) for each in zip(planned.plans, statements, named, strict=True)]


def read_neighbours(
    engines: Sequence[DuckDB], planned: QueryPlan, named: Collection[str] | None = None
) -> list[list[Read]]:
    """Every plan's integers in each database; of one set of chosen keys, which are keys that all of them can choose.

    A key that one person brings into the choice changes which rows of others count, as another choice does: that it is
    chosen at all is what the choice's own delta is for.
    """
    read = []
    for plan, texts in zip(planned.plans, planned.statements("duckdb", secret=SECRET), strict=True):
        both = [read_plan(engine, plan, texts, named) for engine in engines]
        if plan.selection is not None:
            common = set.intersection(*(set(each.people) for each in both))
            kept = common if named is None else common & set(named)
            both = [read_plan(engine, plan, texts, kept) for engine in engines]
        read.append(both)
    return read


def engine_over(tables: Mapping[str, tuple[Mapping[str, Any], list[tuple[Any, ...]]]]) -> DuckDB:
    """An engine over tables in memory, each given as (column types, rows)."""
    import pyarrow

    def table(types: Mapping[str, Any], rows: list[tuple[Any, ...]]) -> Any:
        columns = zip(*rows, strict=True) if rows else [()] * len(types)
        return pyarrow.table(
            {name: pyarrow.array(column, kind) for (name, kind), column in zip(types.items(), columns, strict=True)}
        )

    return DuckDB({name: table(types, rows) for name, (types, rows) in tables.items()}, threads=1)
