"""Aggregates -> what is read per key: which integers and curves an answer needs, each once, and how it reads them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction

from hubbub.relations import Expr, build, date_at, limits, readable, shown
from hubbub.schema import Kind
from hubbub.sql.compiler.paired_sums import is_paired, pair_reading
from hubbub.sql.compiler.plan_keys import plan_keys
from hubbub.sql.compiler.query_plan import (
    AggregatePlan,
    AggregateReading,
    BoundedSum,
    Clamped,
    How,
    PlannedColumn,
    QuantileCurve,
    SumKind,
    grid_step,
    number_of_groups,
    price_groups,
    whole_shares,
)
from hubbub.sql.compiler.question import Question, person
from hubbub.sql.compiler.rewrites.split_sums import (
    BY_RANK,
    NOT_SPLIT,
    Split,
    SplitValues,
    aggregates_in,
    counts_present,
    split_filter,
    split_values,
)
from hubbub.terms import Unbounded

MOST_CELLS = 1 << 16  # of one curve
ALL_CELLS = 1 << 22  # of a curve over all keys
FEWEST_CELLS = 64
ENDS = {"min": Fraction(0), "max": Fraction(1)}  # told as the rank next to the end that noise can tell
PEOPLE = BoundedSum(name="people", counted=SumKind.PEOPLE)
_STEPS = 1 << 20  # grid steps between the bounds of a value that has no grid of its own
_SQUARED_STEPS = 1 << 14
_MOST_CURVED = 1 << 24  # steps between the bounds of a value in three parts: squares of a step fit 64 bits
_MOST_STEPS = 1 << 45


def plan_aggregates(
    question: Question, *, gaussian: bool, choose_keys: bool = True, clipping: bool = False, split: bool = False
) -> AggregatePlan:
    """What the answer needs; ``gaussian`` tells the distribution of the noise.

    ``clipping`` adds noisy counts of the values that lie beyond their bounds; ``split`` reads averages, sums and counts
    off parts that share a price, where there are several of one value.
    """
    keys = plan_keys(question, choose_keys=choose_keys)
    number = number_of_groups(keys)
    splits = split_values(question) if split else NOT_SPLIT
    readings = _Readings(person(question.source), number, clipping, splits)
    outputs = tuple(readings.output(each.name, each.value) for each in question.outputs)
    readings.telling = False
    having = readings.read(question.having) if question.having is not None else None
    order = tuple(replace(part, value=readings.read(part.value)) for part in question.order)
    measures = tuple(readings.measures)
    return AggregatePlan(
        keys=keys,
        number=number,
        measures=measures,
        curves=tuple(readings.curves),
        weights=_cost_shares(readings, measures, gaussian),
        outputs=outputs,
        having=having,
        order=order,
        clamped=tuple(dict.fromkeys(readings.clamped)),
        joint=tuple(map(tuple, readings.joint)),
        tells_people=readings.tells_people,
    )


@dataclass(slots=True)
class _Readings:
    """Collects the measures and curves that the outputs need, each once."""

    whom: str  # the alias of the person
    many: int | None
    clipping: bool = False
    splits: SplitValues = NOT_SPLIT
    tells_people: bool = False  # of keys that are chosen, by the noisy number that chose them
    telling: bool = True  # what only HAVING or ORDER BY reads again gets no more of the cost
    clamped: list[Clamped] = field(default_factory=list)
    measures: list[BoundedSum] = field(default_factory=list)
    places: dict[BoundedSum, int] = field(default_factory=dict)  # of the measures
    curves: list[QuantileCurve] = field(default_factory=list)
    importance: dict[object, float] = field(default_factory=dict)
    joint: list[list[int]] = field(default_factory=list)  # measures of which one row moves no more than one

    def output(self, name: str, value: Expr) -> PlannedColumn:
        """A column of the answer."""
        notes: list[str] = []
        about = ", ".join(dict.fromkeys(_describe_aggregate(part) for part in aggregates_in(value)))
        for part in aggregates_in(value):
            if part.param.function in ENDS:
                side = "below" if part.param.function == "min" else "above"
                notes.append(
                    f"{name} has some rows {side} it, as few as noise allows: the exact {part.param.function} is one "
                    "person's value and is never told."
                )
        return PlannedColumn(name, self.read(value), about, tuple(notes))

    def read(self, value: Expr) -> Expr:
        """The expression with each aggregate replaced by how it is read."""
        if value.op in ("aggregate", "aggregate_if"):
            return Expr("read", param=self._reading(value), facts=value.facts)
        return replace(value, args=tuple(self.read(part) for part in value.args))

    def _reading(self, value: Expr) -> AggregateReading:
        if is_paired(value):
            return pair_reading(value, _PairSums(self, value))
        argument, condition = split_filter(value)
        function = value.param.function
        if (reading := self._split_reading(value, argument, condition)) is not None:
            return reading
        if function == "count":
            return self._count_reading(argument, condition, value.param.distinct)
        assert argument is not None
        if function in ("quantile", "min", "max"):
            return self._quantile(value, argument, condition)
        return self._sums_reading(value, argument, condition)

    def _count_reading(self, argument: Expr | None, condition: Expr | None, distinct: bool) -> AggregateReading:
        """A count: a measure of its own, or the number by which its key was chosen."""
        if self._is_choice(argument, condition, distinct):
            self.tells_people = True
            return AggregateReading(how=How.CHOSEN)
        return AggregateReading(how=How.REF, measures=(self._count(argument, condition, distinct),))

    def _sums_reading(self, value: Expr, argument: Expr, condition: Expr | None) -> AggregateReading:
        """A sum, or what is read off sums."""
        function = value.param.function
        low, high = _value_bounds(argument, value)
        if self.clipping:
            self._clamped(argument, condition, low, high)
        if function == "sum":
            step, lower, upper = _choose_grid(argument, low, high, _STEPS, _MOST_STEPS)
            return AggregateReading(how=How.REF, measures=(self._sum(argument, condition, step, lower, upper, 0),))
        squared = function != "avg"
        most = _SQUARED_STEPS if squared else _MOST_STEPS
        step, lower, upper = _choose_grid(argument, low, high, _SQUARED_STEPS if squared else _STEPS, most)
        return self._moments(value, (argument, condition), (step, lower, upper), (low, high))

    def _split_reading(self, value: Expr, argument: Expr | None, condition: Expr | None) -> AggregateReading | None:
        """How an aggregate is read off the parts of a value; None if it is not measured in parts."""
        function = value.param.function
        if function in BY_RANK:
            return None
        split = self.splits.beside(condition) if argument is None else (argument, condition)
        if split not in self.splits.values or (argument is None and function != "count") or value.param.distinct:
            return None
        if function == "count" and argument is not None and not counts_present(argument):
            return None
        assert split is not None
        low, high = _value_bounds(split[0], value)
        curved = split in self.splits.curved
        grid = _choose_grid(split[0], low, high, _STEPS, _MOST_CURVED if curved else _MOST_STEPS)
        parts, lines = self._curved_parts(split, grid) if curved else self._two_parts(split, grid)
        if function == "count":
            parts, line = self._counted_parts(argument, split, parts, lines.count)
            reading = _linear(parts, line, whole=True)
        elif function == "sum":
            start = grid[1] * grid[0]
            line = tuple(t + start * c for t, c in zip(lines.total, lines.count, strict=True))
            reading = _linear(parts, line)
        else:
            reading = _statistic(value, parts, lines, (grid[1] * grid[0], low, high))
        self._join(parts)
        return reading

    def _counted_parts(
        self, argument: Expr | None, split: Split, parts: list[int], line: tuple[Fraction, ...]
    ) -> tuple[list[int], tuple[Fraction, ...]]:
        """What a count is read off: of all rows, a part more that counts those without the value."""
        if argument is not None:
            return parts, line
        missing = build("not", [build("present", [split[0]])])
        missing = missing if split[1] is None else build("and", [split[1], missing])
        place = self._add(BoundedSum(name=f"COUNT({readable(split[0])} IS NULL)", condition=missing), 1.0)
        return [*parts, place], (*line, Fraction(1))

    def _two_parts(self, split: Split, grid: tuple[Fraction, int, int]) -> tuple[list[int], _PartLines]:
        """The sums of a value less either of its ends."""
        step, lower, upper = grid
        each = Fraction(1) / (step * (upper - lower))  # one row, by what the two parts differ
        parts = [self._part(split, grid, end) for end in (lower, upper)]
        return parts, _PartLines(total=(Fraction(1), Fraction(0)), count=(each, -each))

    def _curved_parts(self, split: Split, grid: tuple[Fraction, int, int]) -> tuple[list[int], _PartLines]:
        """The sums of the squares of a value less either of its ends, and of twice the product of both."""
        step, lower, upper = grid
        span, none = step * (upper - lower), Fraction(0)
        ends = ((upper, None), (lower, upper), (lower, None))
        parts = [self._part(split, grid, end, square=True, other=other) for end, other in ends]
        lines = _PartLines(
            total=(none, 1 / (2 * span), 1 / span),
            count=(1 / span**2,) * 3,
            squares=(none, none, Fraction(1)),
        )
        return parts, lines

    def _part(
        self,
        split: Split,
        grid: tuple[Fraction, int, int],
        end: int,
        *,
        square: bool = False,
        other: int | None = None,
    ) -> int:
        """The sum of a value less one of its ends, of its square, or of the product with what is left to the other."""
        (argument, condition), (step, lower, upper) = split, grid
        less = f"{readable(argument)} - {shown(end * step)}"
        name = f"SUM({less})" if not square else f"SUM of squares({less})"
        if other is not None:
            name = f"SUM of products({less}, {shown(other * step)} - {readable(argument)})"
        sums = BoundedSum(
            name=name,
            value=argument,
            condition=condition,
            step=step * step if square else step,
            lower=lower,
            upper=upper,
            centre=end,
            square=square,
            other=other,
        )
        return self._add(sums, 1.0)

    def _join(self, parts: Sequence[int]) -> None:
        """Note that one row moves these measures together by no more than one of them."""
        known = next((group for group in self.joint if group[0] == parts[0]), None)
        if known is None:
            self.joint.append(list(parts))
        else:
            known += [part for part in parts if part not in known]

    def _is_choice(self, argument: Expr | None, condition: Expr | None, distinct: bool) -> bool:
        """Whether a count is that of all people of a key that is chosen, which the choice itself has measured."""
        if argument is None or condition is not None or not distinct or self.many is not None:
            return False
        return argument.facts.unit and argument.param[0] == self.whom

    def _moments(
        self,
        value: Expr,
        what: tuple[Expr, Expr | None],
        grid: tuple[Fraction, int, int],
        ends: tuple[Fraction, Fraction],
    ) -> AggregateReading:
        """A mean or a variance, from the count and sums around the middle of the bounds."""
        (argument, condition), (step, lower, upper) = what, grid
        centre = (lower + upper) // 2
        total = self._sum(argument, condition, step, lower, upper, centre)
        count = self._count(argument, condition, False, weight=0.5, mean=True)
        if value.param.function == "avg":
            return AggregateReading(
                how=How.MEAN, measures=(total, count), centre=centre * step, lower=ends[0], upper=ends[1]
            )
        squares = self._sum(argument, condition, step, lower, upper, centre, square=True)
        return AggregateReading(
            how=How.VARIANCE,
            measures=(total, count, squares),
            centre=centre * step,
            upper=(ends[1] - ends[0]) ** 2 / 4,
            root=value.param.function.startswith("stddev"),
            sample=value.param.function.endswith("samp"),
        )

    def _count(
        self,
        argument: Expr | None,
        condition: Expr | None,
        distinct: bool,
        weight: float = 1.0,
        *,
        mean: bool = False,
    ) -> int:
        """The measure of a count; that of a mean leaves out what is no number, as its sum does."""
        if distinct and argument is not None and argument.facts.unit:
            if argument.param[0] != self.whom:  # a person may be missing on the far side of a LEFT JOIN
                there = build("not_null", [argument])
                condition = there if condition is None else build("and", [condition, there])
            return self._add(replace(PEOPLE, name="COUNT(DISTINCT person)", condition=condition), weight)
        if distinct:
            return self._add(
                BoundedSum(
                    name=_measure_title("COUNT(DISTINCT", argument),
                    counted=SumKind.DISTINCT,
                    value=argument,
                    condition=condition,
                ),
                weight,
            )
        if argument is not None and argument.op != "literal":
            there = build("present" if mean else "not_null", [argument])
            condition = there if condition is None else build("and", [condition, there])
            return self._add(BoundedSum(name=_measure_title("COUNT(", argument), condition=condition), weight)
        return self._add(BoundedSum(name="COUNT(*)", condition=condition), weight)

    def _sum(
        self,
        argument: Expr,
        condition: Expr | None,
        step: Fraction,
        lower: int,
        upper: int,
        centre: int,
        *,
        square: bool = False,
    ) -> int:
        return self._add(
            BoundedSum(
                name=_measure_title("SUM(", argument) if not square else _measure_title("SUM of squares(", argument),
                value=argument,
                condition=condition,
                step=step * step if square else step,
                lower=lower,
                upper=upper,
                centre=centre,
                square=square,
            ),
            1.0,
        )

    def _clamped(self, argument: Expr, condition: Expr | None, low: Fraction, high: Fraction) -> None:
        """Count the values beyond the bounds, for about a third of what a told number gets."""
        ends = [Expr("literal", param=end, facts=argument.facts) for end in (low, high)]
        beyond = build("or", [build("lt", [argument, ends[0]]), build("gt", [argument, ends[1]])])
        both = beyond if condition is None else build("and", [condition, beyond])
        name = readable(argument)
        outside = self._add(BoundedSum(name=f"COUNT({name} beyond its bounds)", condition=both), 0.3)
        self.clamped.append(Clamped(name, outside, self._count(argument, condition, False, 0.3, mean=True)))

    def _quantile(self, value: Expr, argument: Expr, condition: Expr | None) -> AggregateReading:
        low, high = _value_bounds(argument, value)
        level = ENDS.get(value.param.function, value.param.quantile)
        most = MOST_CELLS if self.many is None else max(FEWEST_CELLS, min(MOST_CELLS, ALL_CELLS // max(1, self.many)))
        width = grid_step(argument) or (high - low) / (most - 1)
        width = width or Fraction(1)  # the bounds leave one value
        while (high - low) / width + 1 > most:
            width *= 2
        cells = math.floor((high - low) / width) + 1
        curve = QuantileCurve(
            name=_measure_title("QUANTILE(", argument),
            value=argument,
            condition=condition,
            lower=low,
            width=width,
            cells=cells,
        )
        if curve not in self.curves:
            self.curves.append(curve)
        if self.telling or curve not in self.importance:
            self.importance[curve] = math.hypot(self.importance.get(curve, 0.0), 1.0)
        return AggregateReading(
            how=How.QUANTILE, curve=self.curves.index(curve), quantile=Fraction(level), lower=low, upper=high
        )

    def _add(self, measure: BoundedSum, weight: float) -> int:
        place = self.places.setdefault(measure, len(self.measures))
        known = place < len(self.measures)
        if not known:
            self.measures.append(measure)
        if self.telling or not known:
            self.importance[measure] = math.hypot(self.importance.get(measure, 0.0), weight)
        return place


@dataclass(frozen=True, slots=True)
class _PartLines:
    """How the sum from a value's lower end, its count and the sum of its squares from there are read off its parts."""

    total: tuple[Fraction, ...]
    count: tuple[Fraction, ...]
    squares: tuple[Fraction, ...] = ()


def _statistic(
    value: Expr, parts: Sequence[int], lines: _PartLines, place: tuple[Fraction, Fraction, Fraction]
) -> AggregateReading:
    """An average or a variance, read off the parts of a value."""
    function, (start, low, high) = value.param.function, place
    if function == "avg":
        return AggregateReading(
            how=How.MEAN,
            measures=tuple(parts),
            lines=(lines.total, lines.count),
            centre=start,
            lower=low,
            upper=high,
        )
    return AggregateReading(
        how=How.VARIANCE,
        measures=tuple(parts),
        lines=(lines.total, lines.squares, lines.count),
        centre=start,
        upper=(high - low) ** 2 / 4,
        root=function.startswith("stddev"),
        sample=function.endswith("samp"),
    )


def _linear(measures: Sequence[int], weights: Sequence[Fraction], *, whole: bool = False) -> AggregateReading:
    """A weighted sum of measures; one that is a measure is that measure."""
    pairs = tuple((place, weight) for place, weight in zip(measures, weights, strict=True) if weight)
    if len(pairs) == 1 and pairs[0][1] == 1:
        return AggregateReading(how=How.REF, measures=(pairs[0][0],))
    numbers, shares = (tuple(part) for part in zip(*pairs, strict=True))
    return AggregateReading(how=How.LINEAR, measures=numbers, weights=shares, whole=whole)


@dataclass(frozen=True, slots=True)
class _PairSums:
    """What one statistic of pairs adds up."""

    readings: _Readings
    value: Expr

    def bounds(self, value: Expr) -> tuple[Fraction, Fraction]:
        return _value_bounds(value, self.value)

    def add_sum(self, value: Expr, condition: Expr, *, square: bool = False) -> tuple[int, Fraction]:
        step, lower, upper = _choose_grid(value, *self.bounds(value), _SQUARED_STEPS, _SQUARED_STEPS)
        centre = (lower + upper) // 2
        return self.readings._sum(value, condition, step, lower, upper, centre, square=square), centre * step

    def add_product(self, value: Expr, condition: Expr) -> int:
        step, lower, upper = _choose_grid(value, *self.bounds(value), _STEPS, _STEPS)
        return self.readings._sum(value, condition, step, lower, upper, 0)

    def add_count(self, condition: Expr) -> int:
        return self.readings._add(BoundedSum(name="COUNT(pairs)", condition=condition), 0.5)


def _measure_title(function: str, argument: Expr | None) -> str:
    words = "" if argument is None else readable(argument)
    return f"{function}{' ' if function.endswith('DISTINCT') else ''}{words})"


def _describe_aggregate(value: Expr) -> str:
    if is_paired(value):
        return f"{value.param.function.upper()}({readable(value.args[0])}, {readable(value.args[1])})"
    argument, condition = split_filter(value)
    function = value.param.function.upper()
    if function == "QUANTILE":
        function = f"{float(100 * value.param.quantile):g}% QUANTILE"
    inside = "*" if argument is None else ("DISTINCT " if value.param.distinct else "") + readable(argument)
    description = f"{function}({inside})" + (" with FILTER" if condition is not None else "")
    if argument is None or not argument.facts.bounded or value.param.function == "count":
        return description
    return (
        f"{description}, {readable(argument)} in [{_shown_bound(argument, 'lower')}, {_shown_bound(argument, 'upper')}]"
    )


def _shown_bound(value: Expr, side: str) -> str:
    number = getattr(value.facts, side)
    return str(date_at(number)) if value.kind is Kind.DATE else shown(number)


def _value_bounds(argument: Expr, value: Expr) -> tuple[Fraction, Fraction]:
    facts = argument.facts
    if facts.lower is None or facts.upper is None or facts.lower > facts.upper:
        name = readable(argument)
        clipped = f"rite {_as_typed(value, f'CLIP({name}, 0, 100)')}."
        declared = (
            f"Declare them: bounds={{{name!r}: (0, 100)}}, --bound {name}=0:100, or in a descriptor "
            f"{name} = {{ lower = 0, upper = 100 }}; or w"
        )
        raise Unbounded(
            f"{_as_typed(value, name)} needs bounds of {name}.",
            why="One person's value could move the answer without limit.",
            fix=f"{declared if argument.op == 'column' else 'W'}{clipped}",  # only columns can be declared
        )
    return facts.lower, facts.upper


def _as_typed(value: Expr, argument: str) -> str:
    """An aggregate as somebody can type it."""
    function, level = value.param.function, value.param.quantile
    if is_paired(value):
        parts = [argument if readable(part) in argument else readable(part) for part in value.args[:2]]
        return f"{function.upper()}({', '.join(parts)})"
    if function != "quantile":
        return f"{function.upper()}({argument})"
    return f"MEDIAN({argument})" if level == Fraction(1, 2) else f"QUANTILE({argument}, {float(level):g})"


def _choose_grid(argument: Expr, low: Fraction, high: Fraction, wanted: int, most: int) -> tuple[Fraction, int, int]:
    """The grid on which a value is summed: its own, if that is not too fine; else a power of ten of the span."""
    step = argument.facts.step
    if low == high and step is None:
        step = Fraction(1)
    if step is None or (high - low) / step > most or max(abs(low), abs(high)) / step > _MOST_STEPS:
        span = high - low or max(abs(low), abs(high))
        finest = max(span / wanted, Fraction(1, limits.LARGEST))  # a double of it is not 0
        step = Fraction(10) ** math.floor(math.log10(float(finest)))
        while (high - low) / step > most or max(abs(low), abs(high)) / step > _MOST_STEPS:
            step *= 10
    return step, math.floor(low / step), math.ceil(high / step)


def _cost_shares(readings: _Readings, measures: tuple[BoundedSum, ...], gaussian: bool) -> tuple[Fraction, ...]:
    """Shares of the cost that minimize the sum of predicted squared errors, each relative to its own scale.

    With noise variance proportional to 1/share (rho) the best shares are as the importances; with 1/share^2 (epsilon),
    as their powers 2/3.
    """
    power = 1.0 if gaussian else 2 / 3
    groups = price_groups(len(measures), tuple(map(tuple, readings.joint)))
    parts = [math.hypot(*(readings.importance[measures[i]] for i in group)) ** power for group in groups]
    parts += [(2 * readings.importance[curve]) ** power for curve in readings.curves]
    shares = whole_shares(parts)
    place = {i: shares[number] for number, group in enumerate(groups) for i in group}
    return (*(place[i] for i in range(len(measures))), *shares[len(groups) :])
