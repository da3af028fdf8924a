"""Noisy integers -> rows of a release: formulas, HAVING, ORDER BY, LIMIT, totals of grouping sets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce
from typing import Any

from hubbub.mechanisms import JointQuantiles
from hubbub.relations import Expr
from hubbub.releases import KeyColumn, Noise, NoisyColumn, NoisyTable, ReleasedColumn, formulas, simultaneous
from hubbub.releases.formulas import Formula
from hubbub.schema import Value
from hubbub.sql.answer.level_rows import level_rows
from hubbub.sql.answer.quantile_intervals import quantile_formula
from hubbub.sql.answer.three_valued_logic import evaluate_rows, sort_key
from hubbub.sql.compiler.query_plan import AggregateReading, How, PlannedColumn, QuestionPlan, readings_in
from hubbub.sql.compiler.question import Ordering
from hubbub.sql.compiler.separate_levels import with_grouping
from hubbub.sql.measurement import LEVELS, NoisyResult, QuantilePairs, Quantiles
from hubbub.sql.pricing.error_prediction import mechanism_words
from hubbub.sql.pricing.noise_allocation import NoiseAllocation

_PAIRS = {"add": formulas.Plus, "sub": formulas.Minus, "mul": formulas.Times, "div": formulas.Over}


@dataclass(frozen=True, slots=True)
class AnswerPart:
    """One plan's rows, ready for the release: keys, measures, quantiles, and a mechanism's name."""

    plan: QuestionPlan
    spent: NoiseAllocation
    keys: tuple[tuple[Value | None, ...], ...]
    measures: tuple[NoisyColumn, ...]
    quantiles: tuple[Quantiles | QuantilePairs, ...]
    left_out: int | None = None  # the largest noisy number of a chosen key that is not told

    @property
    def least_people(self) -> int:
        """The noisy number of people from which on a chosen key is told."""
        assert self.spent.chooser is not None
        threshold = self.spent.chooser.threshold
        return threshold if self.left_out is None else max(threshold, self.left_out)


def part_of(plan: QuestionPlan, spent: NoiseAllocation, measured: NoisyResult) -> AnswerPart:
    """A run as columns with the law of their noise."""
    noises = [spent.noise(index) for index in range(len(measured.measures))]
    sums = plan.measures * max(1, len(plan.measured))
    fine = measured.fine
    measures = tuple(
        NoisyColumn(measure.name, measure.unit / fine, Noise(noise.distribution, noise.scale * fine), values)
        for measure, noise, values in zip(sums, noises, measured.measures, strict=True)
    )
    if plan.selection is not None and not plan.selection.weighted:
        assert spent.chooser is not None
        measures = (
            *measures,
            NoisyColumn("people", Fraction(1), Noise("gaussian", spent.chooser.scale), measured.people),
        )
    return AnswerPart(plan, spent, measured.keys, measures, measured.quantiles, measured.left_out)


@dataclass(frozen=True, slots=True)
class AnswerRows:
    """Rows of a release, after HAVING, ORDER BY and LIMIT."""

    keys: tuple[KeyColumn, ...]
    measures: tuple[NoisyColumn, ...]
    columns: tuple[ReleasedColumn, ...]
    looked_at: int = 1  # rows among which noisy values chose these

    @classmethod
    def of(cls, part: AnswerPart) -> AnswerRows:
        """The rows of one plan after HAVING, ORDER BY and LIMIT."""
        if part.plan.levels:
            plan = part.plan
            order = _by_output(plan)
            whole = cls.stacked([cls.of(level) for level in _level_parts(part)], order, plan.limit, plan.offset)
            return whole.selected(None, order, plan.limit, plan.offset)
        plan = part.plan
        keys = [
            KeyColumn(key.name, tuple(row[i] for row in part.keys), key.value.kind.value)
            for i, key in enumerate(plan.keys)
        ]
        constants: list[KeyColumn] = []
        columns = []
        for output in plan.outputs:
            if _is_constant(output.value):
                kind = output.value.kind.value
                constants.append(KeyColumn(output.name, (output.value.param,) * len(part.keys), kind))
                formula: Formula = formulas.Key(len(keys) + len(constants) - 1)
            else:
                formula = formula_of(output.value, part)
                if output.value.op == "read" and output.value.param.whole:
                    formula = formulas.NearestWhole(formula)
            words, notes = (
                mechanism_words(plan, part.spent, output.value),
                (*output.notes, *_end_notes(output, part.spent)),
            )
            columns.append(ReleasedColumn(output.name, formula, output.about, words, notes))
        rows = cls((*keys, *constants), part.measures, tuple(columns))
        return rows.selected(plan.having, plan.order, plan.limit, plan.offset, part)

    @classmethod
    def stacked(
        cls, tables: Sequence[AnswerRows], order: Sequence[Ordering], limit: int | None, offset: int
    ) -> AnswerRows:
        """UNION ALL: the tables one below the other, each column's measures side by side with nothing in between.

        Their intervals are those that will still hold once the whole is cut.
        """
        first = tables[0]
        noisy = any(_is_noisy(part.value, table) for part in order for table in tables)
        size = sum(table.size for table in tables)
        chosen = any(table.looked_at > 1 for table in tables) or (noisy and _leaves_out(size, limit, offset))
        looked_at = sum(max(table.looked_at, table.size) for table in tables) if chosen else 1
        levels = tuple(simultaneous(level, looked_at) for level in LEVELS)
        keys: list[KeyColumn] = []
        columns: list[ReleasedColumn] = []
        for place, output in enumerate(first.columns):
            values, lows, highs = _column_values(tables, place, levels)
            if all(isinstance(table.columns[place].formula, formulas.Key) for table in tables):
                kinds = {table.kind_at(place) for table in tables}
                keys.append(KeyColumn(output.name, tuple(values), kinds.pop() if len(kinds) == 1 else ""))
                columns.append(
                    ReleasedColumn(
                        output.name, formulas.Key(len(keys) - 1), output.about, output.mechanism, output.notes
                    )
                )
            else:
                given = formulas.GivenIntervals(tuple(values), levels, lows, highs)
                columns.append(ReleasedColumn(output.name, given, output.about, output.mechanism, output.notes))
        return cls(tuple(keys), (), tuple(columns), looked_at)

    @property
    def table(self) -> NoisyTable:
        """The rows as formulas read them."""
        lengths = [len(key.values) for key in self.keys] + [len(measure.values) for measure in self.measures]
        lengths += [
            len(part.values)
            for output in self.columns
            for part in formulas.walk_formula(output.formula)
            if isinstance(part, formulas.GivenIntervals)
        ]
        return NoisyTable(self.keys, self.measures, next(iter(lengths), 1), ())

    @property
    def size(self) -> int:
        """How many rows there are."""
        return self.table.size

    def kind_at(self, place: int) -> str:
        """The kind of a key column."""
        formula = self.columns[place].formula
        return self.keys[formula.index].kind if isinstance(formula, formulas.Key) else ""

    def selected(
        self,
        condition: Expr | None,
        order: Sequence[Ordering],
        limit: int | None,
        offset: int,
        part: AnswerPart | None = None,
    ) -> AnswerRows:
        """The rows for which the condition holds of the noisy values, in order, and of these the first few.

        Both look at all rows as they are: what a quantile's column holds has no other places.
        """
        places, looked_at = list(range(self.size)), self.looked_at
        if condition is not None:
            holds = _evaluate_rows(condition, self, part)
            places = [i for i in places if holds[i] is True]
            looked_at = max(looked_at, self.size) if _is_noisy(condition, self) else looked_at
        if any(_is_noisy(each.value, self) for each in order) and _leaves_out(len(places), limit, offset):
            looked_at = max(looked_at, self.size)
        for ordering in reversed(order):
            values = _evaluate_rows(ordering.value, self, part)
            known = [i for i in places if values[i] is not None]
            missing = [i for i in places if values[i] is None]
            known.sort(key=lambda i: sort_key(values[i]), reverse=ordering.descending)
            places = missing + known if ordering.nulls_first else known + missing
        places = places[offset : None if limit is None else offset + limit]
        chosen = self if places == list(range(self.size)) else self.picked(places)
        return replace(chosen, looked_at=looked_at)

    def picked(self, places: Sequence[int]) -> AnswerRows:
        """Some of the rows, in that order."""
        keys = tuple(KeyColumn(key.name, tuple(key.values[i] for i in places), key.kind) for key in self.keys)
        measures = tuple(
            NoisyColumn(measure.name, measure.step, measure.noise, tuple(measure.values[i] for i in places))
            for measure in self.measures
        )
        columns = tuple(
            ReleasedColumn(o.name, _pick_rows(o.formula, places), o.about, o.mechanism, o.notes) for o in self.columns
        )
        return AnswerRows(keys, measures, columns, self.looked_at)


def _is_constant(value: Expr) -> bool:
    """Whether a column has one public value in all rows, which is no part of a sum."""
    return value.op == "literal" and (value.param is None or isinstance(value.param, int) or not value.kind.is_number)


def _leaves_out(size: int, limit: int | None, offset: int) -> bool:
    """Whether LIMIT and OFFSET leave rows out."""
    return offset > 0 or (limit is not None and limit < size)


def _is_noisy(value: Expr, rows: AnswerRows) -> bool:
    """Whether noise is in an expression over the answer's rows."""
    if value.op == "output":
        return bool(rows.columns[value.param].formula.is_uncertain(rows.table))
    return value.op == "read" or any(_is_noisy(arg, rows) for arg in value.args)


def _pick_rows(formula: Formula, places: Sequence[int]) -> Formula:
    from hubbub.releases import rebuilt

    return rebuilt(formula, lambda part: part.picked(places) if isinstance(part, formulas.GivenIntervals) else part)


def _column_values(tables: Sequence[AnswerRows], place: int, levels: Sequence[float]) -> tuple[list[Any], Any, Any]:
    """The values and intervals of a column over several tables."""
    values: list[Any] = []
    lows: list[list[Any]] = [[] for _ in levels]
    highs: list[list[Any]] = [[] for _ in levels]
    for table in tables:
        formula = table.columns[place].formula
        values += formula.evaluate(table.table)
        for i, level in enumerate(levels):
            low, high = formula.interval(table.table, level)
            lows[i] += list(low)
            highs[i] += list(high)
    return values, tuple(map(tuple, lows)), tuple(map(tuple, highs))


def _by_output(plan: QuestionPlan) -> list[Ordering]:
    """ORDER BY in terms of the answer's own columns, which is all that is left after stacking."""
    values = [output.value for output in plan.outputs]
    return [replace(part, value=Expr("output", param=values.index(part.value))) for part in plan.order]


def _end_notes(output: PlannedColumn, spent: NoiseAllocation) -> list[str]:
    """How many rows lie beyond a MIN or MAX, as noise of that price has it."""
    ends = [each for each in readings_in(output.value) if each.how is How.QUANTILE and each.quantile in (0, 1)]
    noises = [(each, spent.curves[each.curve]) for each in ends]
    return [
        f"About {noise.from_end(each.quantile):,} rows lie {'above' if each.quantile else 'below'} {output.name}."
        for each, noise in noises
        if isinstance(noise, JointQuantiles)
    ]


def _level_parts(part: AnswerPart) -> list[AnswerPart]:
    """One part per level of totals."""
    levels = level_rows(part.plan, part.spent, part.keys, part.measures)
    return [
        AnswerPart(_level_plan(part.plan, kept), level.noise, level.keys, level.measures, ())
        for kept, level in zip(part.plan.levels, levels, strict=True)
    ]


def _level_plan(plan: QuestionPlan, kept: Sequence[int]) -> QuestionPlan:
    """The plan of one level of totals, in which GROUPING is a number."""
    outputs = tuple(replace(output, value=with_grouping(output.value, kept)) for output in plan.outputs)
    having = None if plan.having is None else with_grouping(plan.having, kept)
    return replace(plan, outputs=outputs, having=having, levels=(), measured=(), order=(), limit=None, offset=0)


# ---------------------------------------------------------------- formulas


def formula_of(value: Expr, part: AnswerPart) -> Formula:
    """The formula of an output."""
    leaf = _LEAVES.get(value.op)
    if leaf is not None:
        return leaf(value, part)
    inside = [formula_of(arg, part) for arg in value.args]
    if value.op in _PAIRS:
        return _PAIRS[value.op](*inside)
    if value.op == "neg":
        return formulas.Negate(inside[0])
    if value.op == "round":
        inside.append(formulas.Number(Fraction(value.param)))
    if value.op in ("abs", "greatest", "least"):
        return formulas.Bent(value.op, tuple(inside))
    return inside[0] if value.op == "cast" else formulas.Function(value.op, tuple(inside))


_LEAVES: dict[str, Callable[[Expr, AnswerPart], Formula]] = {
    "key": lambda value, part: formulas.Key(value.param),
    "literal": lambda value, part: formulas.Number(Fraction(value.param or 0)),
    "read": lambda value, part: _reading_formula(value.param, part),
}


def _reading_formula(reading: AggregateReading, part: AnswerPart) -> Formula:
    if reading.how is How.CHOSEN:
        return formulas.Thresholded(len(part.plan.measures), part.least_people)
    if reading.how is How.QUANTILE:
        given = dict(zip(part.plan.quantiles, part.quantiles, strict=True))
        together = [each for other, each in given.items() if other.curve == reading.curve]
        return quantile_formula(given[reading], together, reading, part.plan.curves[reading.curve])
    return _sums_formula(reading, [formulas.Ref(index) for index in reading.measures])


def _sums_formula(reading: AggregateReading, refs: Sequence[formulas.Ref]) -> Formula:
    """A number that is read off noisy sums."""
    if reading.how is How.MEAN:
        total, count = _lines(refs, reading)
        return formulas.Mean(total, count, reading.centre, reading.lower, reading.upper)
    if reading.function:
        assert reading.upper is not None
        count, y, x, y_squares, x_squares, products = refs
        y_centre, x_centre = reading.centres
        return formulas.PairStatistic(
            reading.function, count, y, x, y_squares, x_squares, products, y_centre, x_centre, reading.upper
        )
    if reading.how is How.VARIANCE:
        assert reading.upper is not None
        total, squares, count = _lines(refs, reading) if reading.lines else (refs[0], refs[2], refs[1])
        return formulas.Variance(total, squares, count, reading.centre, reading.upper, reading.root, reading.sample)
    return _weighted(refs, reading.weights) if reading.how is How.LINEAR else refs[0]


def _lines(refs: Sequence[formulas.Ref], reading: AggregateReading) -> Sequence[Formula]:
    """What a statistic is worked out from: weighted sums, or the measures themselves."""
    return [_weighted(refs, weights) for weights in reading.lines] or refs


def _weighted(refs: Sequence[Formula], weights: Sequence[Fraction]) -> Formula:
    """A weighted sum; one that is a measure is that measure."""
    known = [(weight, ref) for weight, ref in zip(weights, refs, strict=True) if weight]
    terms: list[Formula] = [
        ref if weight == 1 else formulas.Times(formulas.Number(weight), ref) for weight, ref in known
    ]
    return reduce(formulas.Plus, terms)


# ---------------------------------------------------------------- HAVING and ORDER BY on noisy values


def _evaluate_rows(value: Expr, rows: AnswerRows, part: AnswerPart | None) -> list[Any]:
    """The value of an expression in each row of the noisy result; None where it is missing."""

    def leaf(each: Expr) -> list[Any] | None:
        if each.op == "output":
            return list(rows.columns[each.param].formula.evaluate(rows.table))
        if each.op == "key":
            return list(rows.keys[each.param].values)
        if each.op == "read":
            assert part is not None
            return list(_reading_formula(each.param, part).evaluate(rows.table))
        return None

    return evaluate_rows(value, leaf, rows.size)
