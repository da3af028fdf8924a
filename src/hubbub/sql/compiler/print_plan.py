"""Plan -> the engine's text: the rows of the scope as integers, and the bounding around them (``contribution.py``)."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.relations import Dialect, Expr
from hubbub.schema import Dataset, Kind, Value
from hubbub.sql.compiler import print_contribution
from hubbub.sql.compiler.print_contribution import Contribution, select
from hubbub.sql.compiler.print_rows import NUMBER, PERSON, RANK, RowsPrinter
from hubbub.sql.compiler.query_plan import (
    BoundedSum,
    Bounding,
    BoundingShape,
    GroupKey,
    QuantileCurve,
    QuestionPlan,
    SumKind,
)
from hubbub.sql.compiler.question import Scan, person


@dataclass(frozen=True, slots=True)
class EngineStatement:
    """A text for the engine: its first ``keys`` columns are keys, the others integers."""

    sql: str
    keys: int
    integers: int


def print_plan(plan: QuestionPlan, dataset: Dataset, dialect: Dialect, *, secret: str) -> tuple[EngineStatement, ...]:
    """One statement for the measures (if there are any), and one for each curve."""
    printer = _Printer(plan, dataset, dialect, secret)
    texts = [printer.measures()] if plan.measures else []
    return (*texts, *(printer.curve(curve) for curve in plan.curves))


class _Printer:
    def __init__(self, plan: QuestionPlan, dataset: Dataset, dialect: Dialect, secret: str) -> None:
        self.plan, self.dataset, self.dialect, self.secret = plan, dataset, dialect, secret
        self.rows = RowsPrinter(dataset, dialect)
        self.people = bool(dataset.unit)
        self.sums = _sums(plan.measures)
        self.groups = tuple(f"k{i}" for i in range(len(plan.keys)))
        only = plan.source[0].rows
        alone = len(plan.source) == 1 and isinstance(only, Scan)
        self.prepared = isinstance(only, Scan) and alone and only.table.prepared
        self.late = alone  # the cap of a table counts all its rows, also those of groups that are not public

    def measures(self) -> EngineStatement:
        """The integers of all measures, by key."""
        measures = self.plan.measures
        additive = all(measure.counted is SumKind.SUM for measure in measures)
        if self.plan.bounding.shape in (BoundingShape.PEOPLE, BoundingShape.TOTALS):
            columns = {f"m{i}": self._integer(measure) for i, measure in enumerate(measures)}
            totals = {f"m{i}": self._total(f"m{i}", measure) for i, measure in enumerate(measures)}
        else:
            columns, totals = self._shared()
        used = [part for measure in measures for part in (measure.value, measure.condition)]
        text = self._bounded(_Wanted(self.groups, columns, totals, [], used), additive=additive)
        return EngineStatement(text, len(self.groups), len(totals))

    def _shared(self) -> tuple[dict[str, str], dict[str, str]]:
        """One column for all measures of the same value: its sum, its sum around a centre, and its count."""
        texts: dict[str, str] = {}  # text -> name of its column
        totals = {}
        for i, measure in enumerate(self.plan.measures):
            if measure.counted is SumKind.SUM and measure.value is None and measure.condition is None:
                totals[f"m{i}"] = "count(*)"
                continue
            text = self._present(measure)
            name = texts.setdefault(text, f"c{len(texts)}")
            totals[f"m{i}"] = self._total(name, measure)
        return {name: text for text, name in texts.items()}, totals

    def _present(self, measure: BoundedSum) -> str:
        """The column that a measure adds up or counts; missing where the row adds nothing.

        How often a value is there is counted on the column of its sum, if there is one.
        """
        if measure.counted is not SumKind.SUM:
            return self._integer(measure)
        if measure.value is None:
            assert measure.condition is not None
            other = self.sums.get(_counted(measure.condition))
            if other is not None:
                return self._present(other)
            return f"CASE WHEN {self.rows.expr(measure.condition)} THEN 1 END"
        value = self._clamped(measure if measure.square else replace(measure, centre=0))
        return value if measure.condition is None else f"CASE WHEN {self.rows.expr(measure.condition)} THEN {value} END"

    def curve(self, curve: QuantileCurve) -> EngineStatement:
        """How many rows fall into each cell, by key."""
        value = self.rows.expr(curve.value)
        present = [f"{value} IS NOT NULL", *([self.rows.expr(curve.condition)] if curve.condition is not None else [])]
        if curve.value.kind is Kind.NUMBER:
            present.append(f"NOT {self.dialect.is_nan(self.dialect.number(curve.value, value))}")
        columns = {"cell": self._cell(curve, value), "m0": "1"}
        keys = (*self.groups, "cell")
        wanted = _Wanted(keys, columns, {"m0": "count(*)"}, present, [curve.value, curve.condition])
        inner = self._bounded(wanted, additive=True)
        counted = select([*keys, f"{self.dialect.try_cast('m0', Kind.INTEGER)} AS m0"], f"({inner}) AS counted")
        return EngineStatement(counted, len(keys), 1)

    # ------------------------------------------------------------ one row's integers

    def _integer(self, measure: BoundedSum) -> str:
        """What a row adds to a measure (for distinct values: the value itself, or NULL)."""
        value = "1" if measure.value is None else self._clamped(measure)
        if measure.counted is SumKind.DISTINCT:
            assert measure.value is not None
            value = self.rows.expr(measure.value)
            if measure.condition is None:
                return value
            return f"CASE WHEN {self.rows.expr(measure.condition)} THEN {value} END"
        if measure.condition is not None:
            return f"CASE WHEN {self.rows.expr(measure.condition)} THEN {value} ELSE 0 END"
        return value

    def _clamped(self, measure: BoundedSum) -> str:
        """The value on its grid, clamped in integers; NULL and NaN are missing."""
        assert measure.value is not None
        text = self.rows.expr(measure.value)
        step = measure.step
        if measure.square:
            step = _root(step)
        low, high = measure.lower, measure.upper
        if measure.value.kind is Kind.INTEGER and step == 1 and measure.value.op == "column":
            # least and greatest skip what is missing
            held = f"CASE WHEN {text} IS NOT NULL THEN least(greatest({text}, {low}), {high}) END"
        else:
            steps = self._divided(self.dialect.number(measure.value, text), step)
            ends = self.dialect.double(float(low)), self.dialect.double(float(high))
            # between two integers a number is rounded to one between them; what is no number is above every number
            inside = self.dialect.try_cast(f"least(greatest({steps}, {ends[0]}), {ends[1]})", Kind.INTEGER)
            held = f"CASE WHEN NOT {self.dialect.is_nan(steps)} THEN {inside} END"
        centred = held if not measure.centre else f"({held} - {measure.centre})"
        return f"(({centred}) * ({centred}))" if measure.square else centred

    def _divided(self, number: str, step: Fraction) -> str:
        if step == 1:
            return number
        if step.numerator == 1:
            return f"({number} * {self.dialect.double(float(step.denominator))})"
        return f"({number} / {self.dialect.double(float(step))})"

    def _cell(self, curve: QuantileCurve, value: str) -> str:
        number = self._place(curve.value, value)
        shifted = f"({number} - {self.dialect.double(float(curve.lower))}) / {self.dialect.double(float(curve.width))}"
        ends = self.dialect.double(0.0), self.dialect.double(float(curve.cells - 1))
        held = f"least(greatest(floor({shifted} + {self.dialect.double(1e-9)}), {ends[0]}), {ends[1]})"
        return self.dialect.whole(held)

    def _place(self, value: Expr, text: str) -> str:
        """A number, or a date in days since 1970."""
        if value.kind is Kind.DATE:
            return self.dialect.try_cast(f"{self.dialect.in_calendar(value, text)} - DATE '1970-01-01'", Kind.NUMBER)
        return self.dialect.number(value, text)

    def _total(self, name: str, measure: BoundedSum) -> str:
        if measure.counted is SumKind.DISTINCT:
            return f"count(DISTINCT {name})"
        if measure.counted is SumKind.PEOPLE and self.people:
            return (
                f"count(DISTINCT {PERSON if measure.condition is None else f'CASE WHEN {name} = 1 THEN {PERSON} END'})"
            )
        total = f"coalesce(sum({name}), 0)"
        if measure.counted is SumKind.PEOPLE or self.plan.bounding.shape in (
            BoundingShape.PEOPLE,
            BoundingShape.TOTALS,
        ):
            return total
        if measure.value is None:
            return f"count({name})"
        if not measure.centre or measure.square:
            return total
        # The analyst chooses the centre: in 64 bits the product would fail from a chosen number of rows on.
        return f"({total} - {self.dialect.huge_of(str(measure.centre))} * count({name}))"

    # ------------------------------------------------------------ the scope: rows with person, keys and integers

    def _scope(self, wanted: _Wanted, stored: tuple[str, ...] = (), *, later: bool = False) -> Contribution:
        """The scope; ``later`` leaves long lists of keys to be looked at once per group."""
        plan, whom = self.plan, person(self.plan.source)
        used = [plan.where, *(key.value for key in plan.keys), *wanted.used]
        told = [f"{whom}.{PERSON} AS {PERSON}"] if self.people else []
        told += [f"{self._key(key)} AS k{i}" for i, key in enumerate(plan.keys)]
        told += [f"{text} AS {name}" for name, text in wanted.columns.items()]
        told += [f"{whom}.{name}" for name in stored]
        where = [*([self.rows.expr(plan.where)] if plan.where is not None else []), *wanted.conditions]
        where += [f"{whom}.{PERSON} IS NOT NULL"] if self.people and RANK not in stored else []  # no rank, no person
        lean = [*used[:1], *wanted.used] if wanted.conditions else used[:1]
        people = select([f"{whom}.{PERSON} AS {PERSON}"], self.rows.items(plan.source, lean), where=" AND ".join(where))
        where += [self._listed(key) for key in plan.keys if key.domain is not None and not (later and _is_long(key))]
        text = select(told or ["1 AS one"], self.rows.items(plan.source, used, stored), where=" AND ".join(where))
        return Contribution(text, people, wanted.keys, self.groups, tuple(wanted.columns), wanted.totals)

    def _key(self, key: GroupKey) -> str:
        return self.rows.key(key.value)

    def _listed(self, key: GroupKey, text: str = "") -> str:
        """Whether the key is one of its public values."""
        text, domain = text or self._key(key), key.domain or ()
        run = _run(domain)
        if run is not None:
            return f"{text} BETWEEN {run[0]} AND {run[1]}"
        return f"{text} IN ({', '.join(self.dialect.literal(value) for value in domain)})"

    # ------------------------------------------------------------ bounding

    def _bounded(self, wanted: _Wanted, *, additive: bool) -> str:
        bounding, dialect, secret = self.plan.bounding, self.dialect, self.secret
        if bounding.shape is BoundingShape.PEOPLE:
            return print_contribution.people(self._scope(wanted), bounding.keys, dialect, secret)
        if bounding.shape is BoundingShape.TOTALS:
            return print_contribution.clipped(self._scope(wanted), bounding, dialect)
        if bounding.shape is BoundingShape.KEYS or (bounding.shape is BoundingShape.ROWS and bounding.keys is not None):
            return print_contribution.by_keys(self._scope(wanted), bounding, dialect, secret)
        ranked = self.prepared and self.plan.where is None
        if bounding.shape is BoundingShape.ROWS and not additive and not ranked:
            return print_contribution.kept(self._scope(wanted), bounding.rows or 1, dialect, secret)
        return self._rows(wanted, bounding)

    def _rows(self, wanted: _Wanted, bounding: Bounding) -> str:
        """Sums over rows, with at most so many of one person; groups that are not public are left out at the end."""
        told = self._summed(wanted, bounding)
        late = [self._listed(key, f"k{i}") for i, key in enumerate(self.plan.keys) if self.late and _is_long(key)]
        return select(["*"], f"({told}) AS told", where=" AND ".join(late)) if late else told

    def _summed(self, wanted: _Wanted, bounding: Bounding) -> str:
        if bounding.shape is BoundingShape.ROW:
            return print_contribution.plain(self._scope(wanted, later=self.late))
        rows = bounding.rows or 1
        if self.prepared and self.plan.where is None:
            ranks = f"{person(self.plan.source)}.{RANK} <= {rows}"
            return print_contribution.plain(self._scope(wanted.also(ranks), (RANK,), later=self.late))
        scope = self._scope(wanted, (NUMBER,) if self.prepared else (), later=self.late)
        stored = f"{NUMBER} > {rows}" if self.prepared else ""
        cheap = len(self.plan.source) == 1
        return print_contribution.difference(scope, rows, self.dialect, self.secret, cheap=cheap, stored=stored)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What a statement adds up: keys, columns as text, totals, conditions, and the expressions they use."""

    keys: tuple[str, ...]
    columns: dict[str, str]
    totals: dict[str, str]
    conditions: list[str]
    used: list[Expr | None]

    def also(self, condition: str) -> _Wanted:
        """The same under one more condition."""
        return _Wanted(self.keys, self.columns, self.totals, [*self.conditions, condition], self.used)


def _sums(measures: tuple[BoundedSum, ...]) -> dict[tuple[Expr | None, Expr | None], BoundedSum]:
    """The sums of a plan by their condition and value; of two that are alike the first."""
    sums = [each for each in measures if each.counted is SumKind.SUM and each.value is not None and not each.square]
    return {(each.condition, each.value): each for each in reversed(sums)}


def _counted(condition: Expr) -> tuple[Expr | None, Expr | None]:
    """The condition and value of the sum that has a value just where a row meets the condition, if there is one."""
    given, there = (condition.args[0], condition.args[-1]) if condition.op == "and" else (None, condition)
    return given, there.args[0] if there.op == "present" else None


def _is_long(key: GroupKey) -> bool:
    """Whether a key is looked up in a list of texts, which takes longer than adding up."""
    return key.domain is not None and key.value.kind is Kind.TEXT


def _run(domain: tuple[Value, ...]) -> tuple[int, int] | None:
    """(first, last) of a list of consecutive integers."""
    if len(domain) < 2 or not all(isinstance(value, int) and not isinstance(value, bool) for value in domain):
        return None
    numbers = sorted(int(value) for value in domain)  # type: ignore[arg-type]
    return (numbers[0], numbers[-1]) if numbers[-1] - numbers[0] == len(set(numbers)) - 1 else None


def _root(step: Fraction) -> Fraction:
    """The grid whose square this is."""
    return Fraction(math.isqrt(step.numerator), math.isqrt(step.denominator))
