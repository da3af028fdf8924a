"""Plan -> relation nodes -> the engine's text: the rows of a question as integers, bounded, and added up by key."""

from __future__ import annotations

import math
from collections.abc import Hashable
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.relations import Dialect, Expr, ValueFacts, print_relation
from hubbub.relations.nodes import (
    NUMBER,
    PERSON,
    RANK,
    Aggregate,
    Alias,
    Cap,
    CapDifference,
    CellGrid,
    ClipTotals,
    Filter,
    IntegerGrid,
    NamedValue,
    PersonAggregate,
    Project,
    Relation,
    StoredCap,
    as_integer,
    cell_of,
    centred_total,
    compare_number,
    count_distinct,
    count_of,
    count_rows,
    group_key,
    integer,
    is_known,
    is_listed,
    largest_of,
    on_grid,
    total_of,
    when,
)
from hubbub.schema import Dataset, Kind
from hubbub.sql.compiler.lower_rows import RowsLowering
from hubbub.sql.compiler.query_plan import BoundedSum, BoundingShape, GroupKey, QuantileCurve, QuestionPlan, SumKind
from hubbub.sql.compiler.question import Scan

_SHAPES_OF_PEOPLE = (BoundingShape.PEOPLE, BoundingShape.TOTALS)


@dataclass(frozen=True, slots=True)
class EngineStatement:
    """A text for the engine: its first ``keys`` columns are keys, the others integers."""

    sql: str
    keys: int
    integers: int


@dataclass(frozen=True, slots=True)
class LoweredStatement:
    """What one statement computes: its first ``keys`` columns are keys, the others integers."""

    relation: Relation
    keys: int
    integers: int


def write_statements(
    plan: QuestionPlan, dataset: Dataset, dialect: Dialect, *, secret: str
) -> tuple[EngineStatement, ...]:
    """The text of each statement of a plan."""
    return tuple(
        EngineStatement(print_relation(each.relation, dialect), each.keys, each.integers)
        for each in lower_plan(plan, dataset, secret=secret)
    )


def lower_plan(plan: QuestionPlan, dataset: Dataset, *, secret: str) -> tuple[LoweredStatement, ...]:
    """One statement for the measures (if there are any), and one for each curve."""
    lowering = _Lowering(plan, dataset, secret)
    first = [lowering.measures()] if plan.measures else []
    return (*first, *(lowering.curve(curve) for curve in plan.curves))


@dataclass(frozen=True, slots=True)
class _Sums:
    """What a statement adds up: keys, columns of each row, totals over rows, conditions, and what all of them use."""

    keys: tuple[str, ...]
    columns: tuple[NamedValue, ...]
    totals: tuple[NamedValue, ...]
    conditions: tuple[Expr, ...]
    used: tuple[Expr | None, ...]
    cells: int = 1  # of a curve, for each key

    @property
    def content(self) -> tuple[str, ...]:
        """Keys and columns, each once: by these rows are ranked."""
        return tuple(dict.fromkeys((*self.keys, *(column.name for column in self.columns))))


class _Lowering:
    def __init__(self, plan: QuestionPlan, dataset: Dataset, secret: str) -> None:
        self.plan, self.secret = plan, secret
        self.rows = RowsLowering(dataset)
        self.people = bool(dataset.unit)
        self.sums = _sums_by_value(plan.measures)
        self.groups = tuple(f"k{i}" for i in range(len(plan.keys)))
        self.keys = [group_key(self.rows.value(key.value)) for key in plan.keys]
        [first, *others] = plan.source
        self.alone = not others and isinstance(first.rows, Scan)
        self.prepared = self.alone and isinstance(first.rows, Scan) and first.rows.table.prepared

    def measures(self) -> LoweredStatement:
        """The integers of all measures, by key."""
        measures = self.plan.measures
        if self.plan.bounding.shape in _SHAPES_OF_PEOPLE:
            columns = [NamedValue(f"m{i}", self._integer(measure)) for i, measure in enumerate(measures)]
            totals = [NamedValue(each.name, total_of(_own(each.name))) for each in columns]
        else:
            columns, totals = self._shared_columns()
        used = tuple(part for measure in measures for part in (measure.value, measure.condition))
        additive = all(measure.counted is SumKind.SUM for measure in measures)
        relation = self._bounded(_Sums(self.groups, tuple(columns), tuple(totals), (), used), additive=additive)
        return LoweredStatement(relation, len(self.groups), len(totals))

    def _shared_columns(self) -> tuple[list[NamedValue], list[NamedValue]]:
        """One column for all measures of the same value: its sum, its sum around a centre, and its count."""
        columns: dict[Hashable, NamedValue] = {}
        totals = []
        for i, measure in enumerate(self.plan.measures):
            if measure.counted is SumKind.SUM and measure.value is None and measure.condition is None:
                totals.append(NamedValue(f"m{i}", count_rows()))
                continue
            value = self._present(measure)
            column = columns.setdefault(_spelling(value), NamedValue(f"c{len(columns)}", value))
            totals.append(NamedValue(f"m{i}", self._total(column, measure)))
        return list(columns.values()), totals

    def curve(self, curve: QuantileCurve) -> LoweredStatement:
        """How many rows fall into each cell, by key."""
        value = self.rows.value(curve.value)
        present = [Expr("present", (value,), facts=ValueFacts(kind=Kind.BOOLEAN))]
        present += [self.rows.value(curve.condition)] if curve.condition is not None else []
        cell = cell_of(value, CellGrid(curve.lower, curve.width, curve.cells))
        columns = (NamedValue("cell", cell), NamedValue("m0", integer(1)))
        keys, used = (*self.groups, "cell"), (curve.value, curve.condition)
        sums = _Sums(keys, columns, (NamedValue("m0", count_rows()),), tuple(present), used, curve.cells)
        counted = Alias(self._bounded(sums, additive=True), "counted")
        outputs = (
            *(NamedValue(key, counted.column(key)) for key in keys),
            NamedValue("m0", as_integer(counted.column("m0"))),
        )
        return LoweredStatement(Project(counted, outputs), len(keys), 1)

    # ------------------------------------------------------------ one row's integers

    def _integer(self, measure: BoundedSum) -> Expr:
        """What a row adds to a measure (for distinct values: the value itself, or NULL)."""
        condition = None if measure.condition is None else self.rows.value(measure.condition)
        if measure.counted is SumKind.DISTINCT:
            assert measure.value is not None
            return when(condition, self.rows.value(measure.value))
        value = integer(1) if measure.value is None else self._clamped(measure)
        return when(condition, value, integer(0))

    def _present(self, measure: BoundedSum) -> Expr:
        """The column that a measure adds up or counts; missing where the row adds nothing.

        How often a value is there is counted on the column of its sum, if there is one.
        """
        if measure.counted is not SumKind.SUM:
            return self._integer(measure)
        if measure.value is None:
            assert measure.condition is not None
            other = self.sums.get(_counted_value(measure.condition))
            if other is not None:
                return self._present(other)
            return when(self.rows.value(measure.condition), integer(1))
        value = self._clamped(measure if measure.square else replace(measure, centre=0))
        return value if measure.condition is None else when(self.rows.value(measure.condition), value)

    def _clamped(self, measure: BoundedSum) -> Expr:
        """The value on its grid, clamped in integers; NULL and NaN are missing."""
        assert measure.value is not None
        step = _root(measure.step) if measure.square else measure.step
        grid = IntegerGrid(step, measure.lower, measure.upper, measure.centre, measure.square)
        return on_grid(self.rows.value(measure.value), grid)

    def _total(self, column: NamedValue, measure: BoundedSum) -> Expr:
        own = _own(column.name, column.value.kind)
        if measure.counted is SumKind.DISTINCT:
            return count_distinct(own)
        if measure.counted is SumKind.PEOPLE and self.people:
            whom = _own(PERSON)
            return count_distinct(whom if measure.condition is None else when(_is_one(own), whom))
        if measure.counted is SumKind.PEOPLE:
            return total_of(own)
        if measure.value is None:
            return count_of(own)
        return centred_total(own, 0 if measure.square else measure.centre)

    # ------------------------------------------------------------ the scope: rows with person, keys and integers

    def _scope(self, sums: _Sums, stored: tuple[str, ...] = (), *, later: bool = False, most: int = 0) -> Relation:
        """The rows; ``later`` leaves long lists of keys to be looked at once per group.

        ``most`` keeps so many rows of each person, by the ranks of a prepared copy.
        """
        plan = self.plan
        used = [plan.where, *(key.value for key in plan.keys), *sums.used]
        source = self._kept(self.rows.items(plan.source, used, stored), sums, most)
        lists = [
            is_listed(value, key.domain)
            for key, value in zip(plan.keys, self.keys, strict=True)
            if key.domain is not None and not (later and _is_long(key))
        ]
        keys = [NamedValue(f"k{i}", key) for i, key in enumerate(self.keys)]
        columns = [*keys, *sums.columns, *(NamedValue(name, source.column(name)) for name in stored)]
        return Project(Filter(source, tuple(lists)), tuple(columns))

    def _people(self, sums: _Sums) -> Relation:
        """The person of at least each row of the scope: cheaper to read where only persons are wanted."""
        lean = [self.plan.where, *(sums.used if sums.conditions else ())]
        return self._kept(self.rows.items(self.plan.source, lean), sums, 0)

    def _kept(self, source: Relation, sums: _Sums, most: int) -> Relation:
        """The rows that the question is about: those that meet its conditions, and are somebody's."""
        where = [] if self.plan.where is None else [self.rows.value(self.plan.where)]
        kept: Relation = Filter(source, (*where, *sums.conditions))
        if most:
            return StoredCap(kept, most)  # no rank, no person
        return kept if source.person is None else Filter(kept, (is_known(source.person.reference),))

    # ------------------------------------------------------------ bounding

    def _bounded(self, sums: _Sums, *, additive: bool) -> Relation:
        bounding, shape = self.plan.bounding, self.plan.bounding.shape
        if shape is BoundingShape.PEOPLE:
            return self._each_person(sums)
        if shape is BoundingShape.TOTALS:
            names = [column.name for column in sums.columns]
            norms = tuple(zip(names, bounding.totals, bounding.fine, strict=True))
            return ClipTotals(self._scope(sums), sums.keys, norms, bounding.norm == "L2", self.plan.size)
        if shape is BoundingShape.KEYS or (shape is BoundingShape.ROWS and bounding.keys is not None):
            return self._within_keys(sums, each_key=shape is BoundingShape.KEYS)
        ranked = self.prepared and self.plan.where is None
        if shape is BoundingShape.ROWS and not additive and not ranked:
            cap = Cap(self._scope(sums), bounding.rows or 1, sums.content, self.secret)
            return Aggregate(Alias(cap, "kept"), sums.keys, sums.totals)
        return self._known_groups(self._over_rows(sums))

    def _each_person(self, sums: _Sums) -> Relation:
        """Each person once per key, under at most so many keys."""
        scope = Alias(self._scope(sums), "scope")
        keys = tuple(scope.column(key) for key in sums.keys)
        named = [NamedValue(name, key) for name, key in zip(sums.keys, keys, strict=True)]
        named += [
            NamedValue(each.name, largest_of(scope.column(each.name)))
            for each in sums.columns
            if each.name not in sums.keys
        ]
        size = self.plan.size if sums.keys == self.groups else None
        pairs: Relation = PersonAggregate(scope, keys, tuple(named), key_values=size)
        if self.plan.bounding.keys is not None:
            pairs = Cap(pairs, self.plan.bounding.keys, sums.keys, self.secret)
        return Aggregate(Alias(pairs, "pairs"), sums.keys, sums.totals)

    def _within_keys(self, sums: _Sums, *, each_key: bool) -> Relation:
        """At most so many keys of one person, and so many rows in each of them (KEYS) or in all (ROWS)."""
        bounding = self.plan.bounding
        most = (bounding.rows_per_key if each_key else bounding.rows) or 1
        cap = Cap(
            self._scope(sums),
            most,
            sums.content,
            self.secret,
            keys=self.groups,
            most_keys=bounding.keys,
            each_key=each_key,
        )
        return Aggregate(Alias(cap, "kept"), sums.keys, sums.totals)

    def _over_rows(self, sums: _Sums) -> Relation:
        """Sums over rows, with at most so many of one person."""
        bounding = self.plan.bounding
        if bounding.shape is BoundingShape.ROW:
            return self._summed(self._scope(sums, later=self.alone), sums)
        most = bounding.rows or 1
        if self.prepared and self.plan.where is None:
            return self._summed(self._scope(sums, (RANK,), later=self.alone, most=most), sums)
        scope = self._scope(sums, (NUMBER,) if self.prepared else (), later=self.alone)
        return CapDifference(
            scope,
            sums.keys,
            sums.totals,
            self._people(sums),
            most,
            sums.content,
            self.secret,
            inline=len(self.plan.source) == 1,
        )

    def _summed(self, scope: Relation, sums: _Sums) -> Relation:
        return Aggregate(Alias(scope, "scope"), sums.keys, sums.totals)

    def _known_groups(self, summed: Relation) -> Relation:
        """The groups that are public; the cap of a table counts all its rows, also those of other groups."""
        whole_sum = Alias(summed, "summed")
        long = [(f"k{i}", key.domain or ()) for i, key in enumerate(self.plan.keys) if self.alone and _is_long(key)]
        lists = tuple(is_listed(whole_sum.column(name), domain) for name, domain in long)
        return Filter(whole_sum, lists) if lists else summed


def _own(name: str, kind: Kind = Kind.INTEGER) -> Expr:
    """A column of the rows that are added up."""
    return Expr("column", param=("", name), facts=ValueFacts(kind=kind))


def _is_one(flag: Expr) -> Expr:
    return compare_number("eq", flag, 1)


def _spelling(value: Expr) -> Hashable:
    """What two expressions have in common if their text is the same: equal values of other types are told apart."""
    facts = value.facts
    parts = tuple(_spelling(part) for part in value.args)
    return value.op, type(value.param), value.param, facts.kind, facts.number, facts.step, parts


def _sums_by_value(measures: tuple[BoundedSum, ...]) -> dict[tuple[Expr | None, Expr | None], BoundedSum]:
    """The sums of a plan by their condition and value; of two that are alike the first."""
    sums = [each for each in measures if each.counted is SumKind.SUM and each.value is not None and not each.square]
    return {(each.condition, each.value): each for each in reversed(sums)}


def _counted_value(condition: Expr) -> tuple[Expr | None, Expr | None]:
    """The condition and value of the sum that has a value just where a row meets the condition, if there is one."""
    given, there = (condition.args[0], condition.args[-1]) if condition.op == "and" else (None, condition)
    return given, there.args[0] if there.op == "present" else None


def _is_long(key: GroupKey) -> bool:
    """Whether a key is looked up in a list of texts, which takes longer than adding up."""
    return key.domain is not None and key.value.kind is Kind.TEXT


def _root(step: Fraction) -> Fraction:
    """The grid whose square this is."""
    return Fraction(math.isqrt(step.numerator), math.isqrt(step.denominator))
