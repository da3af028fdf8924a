"""A workload from texts to releases: planned from public facts, paid for, counted once, and told."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.engines import Engine
from hubbub.mechanisms import Workload
from hubbub.relations import DIALECTS, Expr
from hubbub.releases import LONGEST, JobFacts, KeyColumn, Release, ReleasedColumn, formulas
from hubbub.schema import Dataset
from hubbub.sql.compiler.compile import PlanOptions, plan_one
from hubbub.sql.compiler.lowering.engine_statements import EngineStatement
from hubbub.sql.compiler.lowering.lower_plan import write_statements
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.compiler.question import Aggregated, Field, Question
from hubbub.sql.measurement import LEVELS
from hubbub.sql.plan_identity import Json, noise_identity, plan_identity, source_identity, value_identity
from hubbub.sql.pricing.noise_allocation import measure_of
from hubbub.sql.pricing.price import Price
from hubbub.sql.workload.cells import CellColumn, attribute
from hubbub.sql.workload.counting_queries import CountingQuery, column_of, counting
from hubbub.terms import EmptyInput, Guarantee, NotAllowed, OutOfRange, Receipt, Unit, WrongShape

if TYPE_CHECKING:
    pass

MOST_CELLS = 1 << 20
_NUMBER = 26  # bytes of one stored number at most
_FIXED = "0"  # the hash key in what is only tried


@dataclass(frozen=True)
class PlannedWorkload:
    """The questions as sums of cells of one table of counts: public, and worked out before anything is charged."""

    dataset: Dataset
    names: tuple[str, ...]
    queries: tuple[CountingQuery, ...]
    attributes: tuple[CellColumn, ...]
    plan: QuestionPlan

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each attribute has; one cell if no question speaks of any."""
        return tuple(len(each.cells) for each in self.attributes) or (1,)

    @cached_property
    def parts(self) -> tuple[dict[int, Any], ...]:
        """The questions in the mechanism's words: cells by axis; each single cell of the columns that they group by."""
        return tuple(self._parts(query) for query in self.queries)

    def _parts(self, query: CountingQuery) -> dict[int, Any]:
        keys = [key.param[1] for key in query.keys]
        parts: dict[int, Any] = {}
        for axis, each in enumerate(self.attributes):
            conditions = _about(query, each.name)
            if each.name in keys:
                parts[axis] = "each"
            elif conditions:
                parts[axis] = each.kept(conditions)
        return parts

    def paid(self, price: Price) -> PaidWorkload:
        """The same with its noise."""
        mechanism = Workload(
            shape=self.shape,
            queries=[parts for parts in self.parts if _possible(parts)] or [{}],
            epsilon=price.epsilon,
            delta=price.tail or None if price.rho is None else None,
            rho=price.rho,
            max_rows=_most_rows(self.plan),
            neighbours=self.dataset.neighbours,
            unit=Unit(self.dataset.unit),
        )
        return PaidWorkload(self, price, mechanism)

    def statement(self, dialect: str, *, secret: str = _FIXED) -> EngineStatement:
        """What the engine is to run."""
        [statement] = write_statements(self.plan, self.dataset, DIALECTS[dialect], secret=secret)
        return statement

    def identity(self) -> dict[str, Json]:
        """What makes it this workload and no other, whatever its noise is."""
        return {
            "kind": "workload",
            **source_identity(self.dataset),
            "plan": plan_identity(self.plan),
            "cells": [[value_identity(cell.value) for cell in each.cells] for each in self.attributes],
            "queries": [_plain(parts) for parts in self.parts],
        }


def plan_workload(
    queries: Sequence[str], dataset: Dataset, *, gaussian: bool, names: Sequence[str] | None = None
) -> PlannedWorkload:
    """Everything that can be said about a workload from public facts."""
    if isinstance(queries, str) or not queries:
        raise EmptyInput(
            "a workload is a list of questions.",
            why="They are answered together, each as a release of its own.",
            fix='Write workload(["SELECT COUNT(*) FROM visits WHERE age < 18", ...], epsilon=1).',
        )
    read = tuple(counting(text, dataset) for text in queries)
    if len({query.table.lower() for query in read}) > 1:
        raise NotAllowed(
            "the questions of a workload are about one table.",
            why="They share one table of counts.",
            fix="Ask one workload for each table.",
        )
    attributes = _attributes(read)
    cells = math.prod(len(each.cells) for each in attributes)
    if cells > MOST_CELLS:
        raise NotAllowed(
            f"the columns of the workload have {cells:,} combinations, and {MOST_CELLS:,} are the most.",
            why="Every combination of public values is measured, whether or not anybody has it.",
            fix="Ask several workloads of fewer columns, or declare narrower bounds.",
        )
    count = Field("n", Expr("aggregate", param=Aggregated("count")))
    question = Question(
        source=read[0].question.source,
        keys=tuple(Field(f"k{i}", each.key) for i, each in enumerate(attributes)),
        outputs=(count,),
        cap=read[0].question.cap,
    )
    told = plan_one(question, dataset, PlanOptions(gaussian=gaussian, choose_keys=False))
    return PlannedWorkload(dataset, _names(names, len(read)), read, attributes, told)


def _attributes(queries: Sequence[CountingQuery]) -> tuple[CellColumn, ...]:
    """Every column that a question speaks of, once, with all conditions on it."""
    columns: dict[str, Expr] = {}
    conditions: dict[str, list[Expr]] = {}
    for query in queries:
        for column in query.columns():
            columns.setdefault(column.param[1], column)
        for condition in query.conditions:
            conditions.setdefault(column_of(condition).param[1], []).append(condition)
    return tuple(attribute(column, conditions.get(name, [])) for name, column in columns.items())


def _about(query: CountingQuery, name: str) -> list[Expr]:
    return [condition for condition in query.conditions if column_of(condition).param[1] == name]


def _possible(parts: dict[int, Any]) -> bool:
    """Whether any cell meets the conditions; if none does the answer is 0 and needs no data."""
    return all(len(part) > 0 for part in parts.values())


def _most_rows(planned: QuestionPlan) -> int:
    """How many rows of one unit the table of counts holds at most: what one unit moves it by, in L1."""
    bounding = planned.bounding
    return bounding.keys * bounding.rows_per_key if bounding.keys and bounding.rows_per_key else bounding.rows or 1


def _names(names: Sequence[str] | None, count: int) -> tuple[str, ...]:
    told = tuple(names) if names is not None else tuple(f"q{i + 1}" for i in range(count))
    if len(told) != count:
        raise WrongShape(
            f"there are {len(told)} names for {count} questions.", why="Each question has one.", fix="Give one each."
        )
    if len(set(told)) != count:
        raise OutOfRange("a name is given twice.", why="Answers are found by name.", fix="Give each question its own.")
    return told


# ---------------------------------------------------------------- charge, run, tell


@dataclass(frozen=True)
class PaidWorkload:
    """A planned workload with its noise: everything that is known before it is charged."""

    planned: PlannedWorkload
    price: Price
    mechanism: Workload

    @cached_property
    def guarantee(self) -> Guarantee:
        """What holds for all answers together."""
        dataset = self.planned.dataset
        holds = measure_of(self.price, self.mechanism.event, dataset.neighbours)
        return Guarantee(holds, Unit(dataset.unit), dataset.neighbours)

    @property
    def typical_error(self) -> float:
        """The mean error of the answers, for comparing noises."""
        return float(np.mean(self.mechanism._errors.widths(0.95)))

    def facts(self, *, seconds: float) -> JobFacts:
        """What is charged and stored."""
        planned = self.planned
        question, noise = planned.identity(), noise_identity([self.mechanism.event])
        return JobFacts(
            event=self.mechanism.event,
            identity={**question, "noise": noise, "strategy": self.mechanism.strategy},
            question=question,
            size=512 + _NUMBER * self.mechanism.std_dev.size,
            title=f"workload of {len(planned.queries)} counting questions about {planned.queries[0].table}",
            tail=self.price.tail,
            stated=self.price.epsilon,
            guarantee=self.guarantee,
            seconds=min(LONGEST, seconds),
        )

    def measure(self, engine: Engine, *, secret: str, seconds: float) -> str:
        """Count, add noise, and give what is stored."""
        rows = engine.rows(self.planned.statement(engine.dialect, secret=secret).sql, seconds=seconds)
        answers = self.mechanism.release(self._counts(rows))
        return json.dumps({"format": 1, "values": answers.values.tolist()}, separators=(",", ":"))

    def _counts(self, rows: Sequence[tuple[Any, ...]]) -> Any:
        counts = np.zeros(self.planned.shape, dtype=np.int64)
        places = [
            {value: place for place, value in enumerate(each.key.facts.values or ())}
            for each in self.planned.attributes
        ]
        for *key, count in rows:
            cell = tuple(known.get(value) for known, value in zip(places, key, strict=True)) or (0,)
            if None not in cell:
                counts[cell] = count
        return counts

    def told(self, values: Sequence[float], receipt: Receipt | None, *, repeated: bool) -> tuple[Release, ...]:
        """The releases, from what is stored."""
        widths = [self.mechanism._errors.widths(level) for level in LEVELS]
        releases, start = [], 0
        for name, query, parts in zip(self.planned.names, self.planned.queries, self.planned.parts, strict=True):
            places = self._places(query, start if _possible(parts) else None)
            each = [size for axis, size in enumerate(self.planned.shape) if parts.get(axis) == "each"]
            start += math.prod(each) if _possible(parts) else 0
            releases.append(self._release(name, query, values, widths, places, receipt, repeated))
        return tuple(releases)

    def _places(self, query: CountingQuery, start: int | None) -> list[int]:
        """Where among all answers those of a question are, in the order of its groups; -1 for a known 0."""
        groups = self._groups(query)
        if start is None:
            return [-1] * math.prod(len(cells) for _, cells in groups)
        sizes = {axis: self.planned.shape[axis] for axis, _ in groups}
        steps = {axis: math.prod(size for other, size in sizes.items() if other > axis) for axis in sizes}
        return [
            start + sum(steps[axis] * cell for (axis, _), cell in zip(groups, cells, strict=True))
            for cells in product(*(cells for _, cells in groups))
        ]

    def _groups(self, query: CountingQuery) -> list[tuple[int, list[int]]]:
        """For each key of a question: its axis, and the cells that are groups."""
        axes = {each.name: axis for axis, each in enumerate(self.planned.attributes)}
        names = [key.param[1] for key in query.keys]
        return [(axes[name], self.planned.attributes[axes[name]].groups(_about(query, name))) for name in names]

    def _release(
        self,
        name: str,
        query: CountingQuery,
        values: Sequence[float],
        widths: Sequence[Any],
        places: list[int],
        receipt: Receipt | None,
        repeated: bool,
    ) -> Release:
        told = [values[place] if place >= 0 else 0.0 for place in places]
        half = [[float(level[place]) if place >= 0 else 0.0 for place in places] for level in widths]
        lows = tuple(tuple(v - w for v, w in zip(told, level, strict=True)) for level in half)
        highs = tuple(tuple(v + w for v, w in zip(told, level, strict=True)) for level in half)
        count = formulas.GivenIntervals(tuple(told), LEVELS, lows, highs)
        return Release(
            keys=self._key_columns(query),
            measures=(),
            columns=tuple(
                ReleasedColumn(field.name, formulas.Key(field.value.param))
                if field.value.op == "key"
                else ReleasedColumn(field.name, count, "COUNT(*)", f"part of a workload ({self.mechanism.strategy})")
                for field in query.question.outputs
            ),
            guarantee=self.guarantee,
            receipt=receipt,
            question=query.text,
            repeated=repeated,
            notes=self._notes(name, query),
            parameters={"bounding": self.planned.plan.bounding.words(), "strategy": self.mechanism.strategy},
        )

    def _key_columns(self, query: CountingQuery) -> tuple[KeyColumn, ...]:
        groups = self._groups(query)
        rows = list(product(*(cells for _, cells in groups)))
        columns = []
        for place, ((axis, _), field) in enumerate(zip(groups, query.question.keys, strict=True)):
            cells = self.planned.attributes[axis].cells
            columns.append(
                KeyColumn(field.name, tuple(cells[row[place]].value for row in rows), field.value.kind.value)
            )
        return tuple(columns)

    def _notes(self, name: str, query: CountingQuery) -> tuple[str, ...]:
        others = len(self.planned.queries) - 1
        together = f"{name} was answered together with {others} other question{'s' * (others != 1)}, for one price"
        asked = {column.param[1] for column in query.columns()}
        listed = [each.name for each in self.planned.attributes if each.name in asked and each.cells[-1].is_other]
        left_out = f"rows with no {' or '.join(listed)}, or one outside the declared values, are left out"
        return (together, *([left_out] if listed else []))


def _plain(parts: dict[int, Any]) -> list[list[Any]]:
    return [[axis, part if isinstance(part, str) else list(part)] for axis, part in sorted(parts.items())]
