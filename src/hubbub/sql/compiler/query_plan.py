"""What a question becomes: integers per key to be read, how far one person moves them, and what is made of them.

A plan is public: it is worked out from the text and the declared facts, and holds nothing from rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from hubbub.relations import Expr
from hubbub.schema import Kind, Value
from hubbub.sql.compiler.question import Item, Ordering


class NoiseKind(StrEnum):
    """The distribution of the noise on an answer's integers."""

    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


class BoundingShape(StrEnum):
    """How one person's contribution is bounded."""

    ROW = "row"  # every row is a unit: nothing to bound
    PEOPLE = "people"  # only people are counted: each once per key, under so many keys
    ROWS = "rows"  # so many rows of one person in all
    KEYS = "keys"  # so many keys of one person, and so many rows in each
    TOTALS = "totals"  # a person's totals over the keys, scaled down to a norm


@dataclass(frozen=True, slots=True)
class GroupKey:
    """A group key: its public values, or None if they are to be chosen privately."""

    name: str
    value: Expr
    domain: tuple[Value, ...] | None
    possible: int = 0  # values that it can have, if they are known but too many to be listed


def number_of_groups(keys: Sequence[GroupKey]) -> int | None:
    """How many groups there are; None if that is not public."""
    if any(key.domain is None for key in keys):
        return None
    return math.prod(len(key.domain or ()) for key in keys)


class SumKind(StrEnum):
    """What a measure adds up."""

    SUM = "sum"  # an integer of each row
    PEOPLE = "people"  # 1 for each person
    DISTINCT = "distinct"  # 1 for each distinct value


@dataclass(frozen=True, slots=True, kw_only=True)
class BoundedSum:
    """One integer per key: the sum of ``value`` on its grid, clamped to [lower, upper] steps, less ``centre``.

    ``value`` None counts rows. ``square`` squares the clamped, centred integer; with ``other`` it is multiplied by
    twice its distance from that end: with both squares that is the square of what lies between the ends.
    """

    name: str
    counted: SumKind = SumKind.SUM
    value: Expr | None = None
    condition: Expr | None = None
    step: Fraction = Fraction(1)
    lower: int = 1
    upper: int = 1
    centre: int = 0
    square: bool = False
    other: int | None = None
    fine: int = 1  # the integers that leave the engine count parts of a step, so many of them to one

    @property
    def unit(self) -> Fraction:
        """What one of the integers that leave the engine stands for."""
        return self.step / self.fine

    @property
    def interval(self) -> tuple[int, int]:
        """The least and the largest integer that one row adds; of a middle part, with the two that it goes with."""
        low, high = self.lower - self.centre, self.upper - self.centre
        if self.square:
            low, high = 0, max(low * low, high * high)
        if self.counted is not SumKind.SUM or self.condition is not None or self.value is not None:
            low, high = min(low, 0), max(high, 0)
        return low, high

    @property
    def largest(self) -> int:
        """The largest size of what one row adds."""
        return max(abs(end) for end in self.interval)

    @property
    def signed(self) -> bool:
        """Whether rows can add numbers of both signs."""
        return self.interval[0] < 0 < self.interval[1]


@dataclass(frozen=True, slots=True, kw_only=True)
class QuantileCurve:
    """The cumulative histogram of a bounded value, per key, from which quantiles are read.

    Values are rounded to the nearest multiple of their step; those from the lower end of a cell up to the next cell's
    are in it: one multiple, or several.
    """

    name: str
    value: Expr
    condition: Expr | None
    lower: Fraction
    width: Fraction
    cells: int

    @property
    def step(self) -> Fraction:
        """How far values lie apart; 0 where that is not known."""
        return grid_step(self.value) or Fraction(0)

    @property
    def start(self) -> Fraction:
        """Where the first cell starts: half a step below the multiple that it has first."""
        return self.lower - self.step / 2

    def lower_end(self, cell: int) -> Fraction:
        """The least value in a cell, on the column's own scale."""
        return self.lower + cell * self.width

    def upper_end(self, cell: int) -> Fraction:
        """The largest value in a cell: the next cell's least where steps are not known."""
        return self.lower_end(cell + 1) - self.step

    def middle(self, low: int, high: int) -> Fraction:
        """The middle of all cells from one to another, as the nearest value there is."""
        middle = (self.lower_end(low) + self.upper_end(high)) / 2
        return self.lower + round((middle - self.lower) / self.step) * self.step if self.step else middle


def grid_step(value: Expr) -> Fraction | None:
    """How far values lie apart at least, where that is known: dates and whole numbers by one."""
    if value.kind is Kind.DATE:
        return Fraction(1)
    return value.facts.step or (Fraction(1) if value.facts.number.is_integer else None)


@dataclass(frozen=True, slots=True)
class Moved:
    """How far one unit moves the vector of a measure's integers over all keys: in L1, and in L2 (squared)."""

    l1: int
    l2_squared: int

    @property
    def l2(self) -> float:
        """The L2 distance, for comparing."""
        return math.sqrt(self.l2_squared)


@dataclass(frozen=True, slots=True)
class MeasuredLevel:
    """A level of totals with noise of its own: which keys it keeps, its share of the price, how far one unit moves it.

    ``moved`` has one entry per measure.
    """

    kept: tuple[int, ...]
    share: Fraction
    moved: tuple[Moved, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounding:
    """The shape and its numbers."""

    shape: BoundingShape
    rows: int | None = None
    keys: int | None = None
    rows_per_key: int | None = None
    totals: tuple[int, ...] = ()  # TOTALS: one norm per measure, in parts of a step
    fine: tuple[int, ...] = ()  # TOTALS: how many of these parts are a step, so that scaling small totals loses little
    norm: str = "L2"

    def words(self) -> str:
        """The bound as people read it."""
        if self.shape is BoundingShape.ROW:
            return "every row is protected by itself"
        if self.shape is BoundingShape.PEOPLE:
            return "each person counts once per group" + (f", in at most {self.keys} groups" if self.keys else "")
        if self.shape is BoundingShape.KEYS:
            return f"at most {self.keys} groups per person and {self.rows_per_key} rows in each"
        if self.shape is BoundingShape.TOTALS:
            return f"each person's totals over the groups are clipped in {self.norm}"
        keys = f", in at most {self.keys} groups" if self.keys is not None else ""
        return f"at most {self.rows} row{'s' if self.rows != 1 else ''} per person{keys}"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeySelection:
    """How keys that are not public are chosen: a person counts under at most so many of them, whatever measures count.

    ``weighted`` counts a person of few keys for more under each; unweighted, the noisy number of people can be told.
    """

    keys: int
    weighted: bool

    def words(self) -> str:
        """The choice as people read it."""
        weighed = ", and those in fewer count for more in each" if self.weighted else ""
        return f"groups are chosen by people, each in at most {self.keys} of them{weighed}"


class How(StrEnum):
    """How a number of the answer is read off measures or a curve."""

    REF = "ref"  # the measure itself
    LINEAR = "linear"  # a weighted sum of measures
    CHOSEN = "chosen"  # the noisy number of people by which the key was chosen
    MEAN = "mean"  # centred sum over count
    VARIANCE = "variance"  # from count, centred sum and centred squares; of pairs also from their products
    QUANTILE = "quantile"  # from a curve


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateReading:
    """Where an aggregate's value comes from: measures by index (total, count, squares), or a curve and a level.

    ``weights`` make a LINEAR reading of the measures. ``lines`` do so for what a MEAN (total, count) or a VARIANCE
    (total, squares, count) is worked out from; without them, these are measures. ``whole`` says that it counts.
    """

    how: How
    measures: tuple[int, ...] = ()
    weights: tuple[Fraction, ...] = ()
    lines: tuple[tuple[Fraction, ...], ...] = ()
    whole: bool = False
    centre: Fraction = Fraction(0)
    lower: Fraction | None = None
    upper: Fraction | None = None
    root: bool = False
    sample: bool = False
    curve: int = 0
    quantile: Fraction = Fraction(1, 2)
    function: str = ""  # of pairs: corr, covar_pop, covar_samp, regr_slope, regr_intercept or regr_r2
    centres: tuple[Fraction, ...] = ()  # of pairs

    def words(self) -> str:
        """The reading in fixtures."""
        if self.function:
            return f"{self.function} of {', '.join(f'm{index}' for index in self.measures)}"
        if self.how is How.QUANTILE:
            end = {0: "min", 1: "max"}.get(int(self.quantile)) if self.quantile.denominator == 1 else None
            return f"{end or f'quantile {float(self.quantile):g}'} of curve {self.curve}"
        if self.how is How.CHOSEN:
            return "people of the chosen key"
        return f"{self.how.value} of {', '.join(f'm{index}' for index in self.measures)}"


def readings_in(value: Expr) -> list[AggregateReading]:
    """What an expression over the answer's rows reads."""
    return [value.param] if value.op == "read" else [inner for arg in value.args for inner in readings_in(arg)]


@dataclass(frozen=True, slots=True)
class PlannedColumn:
    """A column of the answer: arithmetic over ("read", Reading), ("key", i) and literals, and words about it."""

    name: str
    value: Expr
    about: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Clamped:
    """How much of a value lies beyond its bounds: a count of such rows, and of all rows that have a value."""

    name: str
    beyond: int
    all: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregatePlan:
    """The keys of an answer, the integers and curves that are read for each, and how the answer is read off them."""

    keys: tuple[GroupKey, ...]
    number: int | None  # of groups; None if keys are chosen privately
    measures: tuple[BoundedSum, ...]
    curves: tuple[QuantileCurve, ...]
    weights: tuple[Fraction, ...]  # share of the cost: measures, then curves; the choice of keys comes first
    outputs: tuple[PlannedColumn, ...]
    having: Expr | None  # over the same leaves as the outputs
    order: tuple[Ordering, ...]
    clamped: tuple[Clamped, ...]
    joint: tuple[tuple[int, ...], ...] = ()  # the parts of one value each
    tells_people: bool = False  # the number of people of keys that are chosen

    def row_values(self) -> Iterator[Expr | None]:
        """What is worked out for each row."""
        yield from (key.value for key in self.keys)
        for measure in self.measures:
            yield from (measure.value, measure.condition)
        for curve in self.curves:
            yield from (curve.value, curve.condition)


def price_groups(measures: int, joint: tuple[tuple[int, ...], ...]) -> tuple[tuple[int, ...], ...]:
    """The measures in groups that share a price: those that are joint, and each other one by itself."""
    among = {place for group in joint for place in group}
    return (*joint, *((place,) for place in range(measures) if place not in among))


def whole_shares(parts: Sequence[float]) -> tuple[Fraction, ...]:
    """Shares in these proportions, as exact numbers that add up to 1."""
    whole = [max(1, round(part / sum(parts) * 1_000_000)) for part in parts]
    return tuple(Fraction(part, sum(whole)) for part in whole)


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionPlan:
    """Everything about one question that is decided before data is read.

    ``joint`` measures share a price: one row moves them together by no more than it can move one of them, each in units
    of its own largest row.
    """

    source: tuple[Item, ...]
    where: Expr | None
    keys: tuple[GroupKey, ...]
    measures: tuple[BoundedSum, ...]
    curves: tuple[QuantileCurve, ...]
    bounding: Bounding
    moved: tuple[Moved, ...]  # one per measure
    curve_rows: int  # rows of one unit that a curve counts
    weights: tuple[Fraction, ...]  # share of the cost: measures, then curves; the choice of keys comes first
    outputs: tuple[PlannedColumn, ...]
    having: Expr | None  # over the same leaves as the outputs
    order: tuple[Ordering, ...]
    limit: int | None
    offset: int
    levels: tuple[tuple[int, ...], ...]
    notes: tuple[str, ...]
    clamped: tuple[Clamped, ...] = ()  # asked for, and paid for
    joint: tuple[tuple[int, ...], ...] = ()
    selection: KeySelection | None = None  # None where keys are public
    one_level: bool = False  # of totals that are asked for level by level
    measured: tuple[MeasuredLevel, ...] = ()  # where levels of totals are measured by themselves; else all are sums

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The measures in groups that share a price."""
        return price_groups(len(self.measures), self.joint)

    @property
    def bound_words(self) -> str:
        """The bound of what is told as people read it."""
        chosen = self.selection is not None and (self.measures or self.curves)
        return f"{self.bounding.words()}, of the chosen groups alone" if chosen else self.bounding.words()

    @property
    def public_keys(self) -> bool:
        """Whether the rows of the answer are known beforehand."""
        return self.size is not None

    @property
    def size(self) -> int | None:
        """How many groups there are by all keys; None if keys are chosen privately."""
        return number_of_groups(self.keys)

    @property
    def rows(self) -> int | None:
        """How many rows the answer has, with all levels of totals; None if keys are chosen privately."""
        return self.size if self.size is None or not self.levels else sum(map(self.cells_of, self.levels))

    @property
    def shape(self) -> tuple[int, ...]:
        """How many public values each key has."""
        return tuple(len(key.domain or ()) for key in self.keys)

    def cells_of(self, kept: Sequence[int]) -> int:
        """How many groups a level has that keeps some of the keys."""
        return math.prod(self.shape[place] for place in kept)

    @property
    def quantiles(self) -> tuple[AggregateReading, ...]:
        """The quantiles that outputs, HAVING and ORDER BY read, each once."""
        return quantile_readings(self)

    def levels_of(self, curve: int) -> tuple[Fraction, ...]:
        """The levels that are read of a curve, 0 for MIN and 1 for MAX."""
        return tuple(dict.fromkeys(reading.quantile for reading in self.quantiles if reading.curve == curve))


def quantile_readings(plan: AggregatePlan | QuestionPlan) -> tuple[AggregateReading, ...]:
    """The quantiles that outputs, HAVING and ORDER BY read, each once."""
    values = [output.value for output in plan.outputs] + [part.value for part in plan.order]
    values += [plan.having] if plan.having is not None else []
    readings = [reading for value in values for reading in readings_in(value)]
    return tuple(dict.fromkeys(reading for reading in readings if reading.how is How.QUANTILE))
