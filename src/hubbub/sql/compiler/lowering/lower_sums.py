"""Measures and curves -> what is added up: the keys and integers of one row, and totals of them over rows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.relations import DOUBLE, Expr, ValueFacts
from hubbub.relations.nodes import (
    PERSON,
    CellGrid,
    IntegerGrid,
    NamedValue,
    cell_of,
    centred_total,
    compare_number,
    count_distinct,
    count_missing,
    count_of,
    count_rows,
    group_key,
    integer,
    on_grid,
    total_of,
    when,
)
from hubbub.schema import Kind
from hubbub.sql.compiler.lowering.lower_rows import RowsLowering
from hubbub.sql.compiler.query_plan import BoundedSum, BoundingShape, QuantileCurve, QuestionPlan, SumKind

_SHAPES_OF_PEOPLE = (BoundingShape.PEOPLE, BoundingShape.TOTALS)


@dataclass(frozen=True, slots=True)
class KeyedSums:
    """What a statement adds up: keys, columns of each row, totals over rows, conditions, and what all of them use."""

    keys: tuple[str, ...]
    columns: tuple[NamedValue, ...]
    totals: tuple[NamedValue, ...]
    conditions: tuple[Expr, ...]
    used: tuple[Expr | None, ...]

    @property
    def content(self) -> tuple[str, ...]:
        """Keys and columns, each once: by these rows are ranked."""
        return tuple(dict.fromkeys((*self.keys, *(column.name for column in self.columns))))


def key_columns(plan: QuestionPlan, rows: RowsLowering) -> tuple[NamedValue, ...]:
    """The keys of each row."""
    return tuple(NamedValue(f"k{i}", group_key(rows.value(key.value))) for i, key in enumerate(plan.keys))


def curve_sums(curve: QuantileCurve, groups: tuple[str, ...], rows: RowsLowering) -> KeyedSums:
    """How many rows fall into each cell of a curve, by key."""
    value = rows.value(curve.value)
    present = [Expr("present", (value,), facts=ValueFacts(kind=Kind.BOOLEAN))]
    present += [rows.value(curve.condition)] if curve.condition is not None else []
    cell = cell_of(value, CellGrid(curve.start, curve.width, curve.cells))
    columns = (NamedValue("cell", cell), NamedValue("m0", integer(1)))
    totals = (NamedValue("m0", count_rows()),)
    return KeyedSums((*groups, "cell"), columns, totals, tuple(present), (curve.value, curve.condition))


class MeasureSums:
    """The integers of all measures of a plan, by key."""

    def __init__(self, plan: QuestionPlan, rows: RowsLowering) -> None:
        self.plan, self.rows = plan, rows
        self.sums = _sums_by_value(plan.measures)

    def lower(self, groups: tuple[str, ...]) -> KeyedSums:
        """What is added up for all measures."""
        measures = self.plan.measures
        if self.plan.bounding.shape in _SHAPES_OF_PEOPLE:
            columns = [NamedValue(f"m{i}", self._integer(measure)) for i, measure in enumerate(measures)]
            totals = [NamedValue(each.name, total_of(_own(each.name))) for each in columns]
        else:
            columns, totals = self._shared_columns()
        used = tuple(part for measure in measures for part in (measure.value, measure.condition))
        return KeyedSums(groups, tuple(columns), tuple(totals), (), used)

    def _shared_columns(self) -> tuple[list[NamedValue], list[NamedValue]]:
        """One column for all measures of the same value: its sum, its sum around a centre, and its count."""
        columns: dict[Hashable, NamedValue] = {}
        totals = []
        for i, measure in enumerate(self.plan.measures):
            if measure.counted is SumKind.SUM and measure.value is None and measure.condition is None:
                totals.append(NamedValue(f"m{i}", count_rows()))
                continue
            if (missing := self._missing(measure, columns)) is not None:
                totals.append(NamedValue(f"m{i}", missing))
                continue
            value = self._present(measure)
            column = columns.setdefault(_spelling(value), NamedValue(f"c{len(columns)}", value))
            totals.append(NamedValue(f"m{i}", self._total(column, measure)))
        return list(columns.values()), totals

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

    def _missing(self, measure: BoundedSum, columns: Mapping[Hashable, NamedValue]) -> Expr | None:
        """How many rows are without the value of a sum, where that is what is counted and its column is there."""
        condition = measure.condition
        if measure.counted is not SumKind.SUM or measure.value is not None or condition is None:
            return None
        there = condition.args[0] if condition.op == "not" else None
        other = self.sums.get(_counted_value(there)) if there is not None else None
        column = columns.get(_spelling(self._present(other))) if other is not None else None
        return None if column is None else count_missing(_own(column.name, column.value.kind))

    def _clamped(self, measure: BoundedSum) -> Expr:
        """The value on its grid, clamped in integers; NULL and NaN are missing."""
        assert measure.value is not None
        step = _root(measure.step) if measure.square else measure.step
        grid = IntegerGrid(step, measure.lower, measure.upper, measure.centre, measure.square, measure.other)
        return on_grid(self.rows.value(measure.value), grid)

    def _total(self, column: NamedValue, measure: BoundedSum) -> Expr:
        own = _own(column.name, column.value.kind)
        if measure.counted is SumKind.DISTINCT:
            return count_distinct(own)
        if measure.counted is SumKind.PEOPLE and self.rows.dataset.unit:
            whom = _own(PERSON)
            return count_distinct(whom if measure.condition is None else when(_is_one(own), whom))
        if measure.counted is SumKind.PEOPLE:
            return total_of(own)
        if measure.value is None:
            return count_of(own)
        return centred_total(own, 0 if measure.square else measure.centre)


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


def _sums_by_value(measures: tuple[BoundedSum, ...]) -> dict[Hashable, BoundedSum]:
    """The sums of a plan by their condition and value as they are spelled; of two that are alike the first.

    Because: measures share a price by the conditions of their own (``exclusive_conditions``), and a count that is read
    off the column of a condition that is only equal, x - 0.9 and x - 9e-1, would meet others.
    """
    sums = [each for each in measures if each.counted is SumKind.SUM and each.value is not None and not each.square]
    return {_spelled(each.condition, each.value): each for each in reversed(sums)}


def _counted_value(condition: Expr) -> Hashable:
    """The condition and value of the sum that has a value just where a row meets the condition, if there is one."""
    given, there = (condition.args[0], condition.args[-1]) if condition.op == "and" else (None, condition)
    return _spelled(given, there.args[0] if there.op == "present" else None)


def _spelled(*values: Expr | None) -> tuple[Hashable, ...]:
    """What conditions and values have in common if they are the same for each row: decimals are rounded."""
    return tuple(None if value is None else _spelled_operation(value) for value in values)


def _spelled_operation(value: Expr) -> Hashable:
    number = value.facts.number
    digits = number.digits if number.is_decimal or (value.op == "mod" and number != DOUBLE) else None
    return value.op, type(value.param), value.param, value.kind, digits, _spelled(*value.args)


def _root(step: Fraction) -> Fraction:
    """The grid whose square this is."""
    return Fraction(math.isqrt(step.numerator), math.isqrt(step.denominator))
