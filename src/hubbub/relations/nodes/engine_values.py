"""Expressions that no question contains, and that a plan is made of: integers on a grid, cells, keys, and totals.

They are built here, by lowering, from an analyst's expressions; ``value_printer`` has a template for each. All are
total, like the templates of ``dialects``: a value or NULL for every row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from hubbub.relations.expressions import Expr, ValueFacts
from hubbub.schema import Column, Kind, Value

_FACTS = {kind: ValueFacts(kind=kind) for kind in Kind}
_INTEGER, _BOOLEAN = _FACTS[Kind.INTEGER], _FACTS[Kind.BOOLEAN]


@dataclass(frozen=True, slots=True)
class IntegerGrid:
    """Steps of a grid, clamped to [lower, upper] of them, less ``centre``; squared, if so.

    With ``other`` they are not squared, but multiplied by twice what is missing to that number of steps.
    """

    step: Fraction
    lower: int
    upper: int
    centre: int = 0
    square: bool = False
    other: int | None = None


@dataclass(frozen=True, slots=True)
class CellGrid:
    """So many cells of one width; what lies outside is in the first or last."""

    lower: Fraction
    width: Fraction
    cells: int


@dataclass(frozen=True, slots=True)
class BucketEdges:
    """Rising edges around which values are counted, each closing the cell below it; zero is a cell of its own."""

    edges: tuple[float | int, ...]
    signed: bool


Frame = tuple[int | None, int | None]  # places of its first and last row from this one; None: without end


@dataclass(frozen=True, slots=True)
class WindowSpec:
    """A function over other rows: of its arguments, the first are its own, then come partition, order and ties."""

    function: str
    arguments: int
    partition: int
    descending: tuple[bool, ...]
    nulls_first: tuple[bool, ...]
    frame: Frame | None = None


@dataclass(frozen=True, slots=True)
class NormClip:
    """A person's totals scaled to a norm: those whose size is over the limit."""

    norm: int
    squared: bool

    @property
    def limit(self) -> int:
        """The largest size that is left as it is."""
        return self.norm * self.norm if self.squared else self.norm


@dataclass(frozen=True, slots=True)
class UnaryOperation:
    """An operation on one value: its name, and the kind that it gives (None: that of the value)."""

    op: str
    kind: Kind | None = None

    def __call__(self, value: Expr) -> Expr:
        """The operation on a value."""
        return Expr(self.op, (value,), facts=value.facts if self.kind is None else _FACTS[self.kind])


# ---------------------------------------------------------------- one row

is_known = UnaryOperation("not_null", Kind.BOOLEAN)  # whether there is a value
as_kind = UnaryOperation("typed")  # in the engine's type of its kind: arithmetic is in doubles, integers leave as such
group_key = UnaryOperation("group_key")  # values that are equal look alike; dates outside the calendar are missing
number_of = UnaryOperation("known_number", Kind.NUMBER)  # as a double; NaN is missing


def integer(number: int) -> Expr:
    """A whole number of any size."""
    return Expr("integer", param=number, facts=_INTEGER)


def all_of(conditions: Sequence[Expr]) -> Expr:
    """A condition that holds where all of them do."""
    return Expr("and", tuple(conditions), facts=_BOOLEAN) if len(conditions) != 1 else conditions[0]


def compare_number(op: str, left: Expr, number: int) -> Expr:
    """A comparison with a whole number: ``le``, ``gt``."""
    return Expr(op, (left, integer(number)), facts=_BOOLEAN)


def equal_values(left: Expr, right: Expr) -> Expr:
    """Whether two values are equal."""
    return Expr("eq", (left, right), facts=_BOOLEAN)


def when(condition: Expr | None, value: Expr, otherwise: Expr | None = None) -> Expr:
    """The value where the condition holds, else another one, or NULL."""
    if condition is None:
        return value
    parts = (condition, value) if otherwise is None else (condition, value, otherwise)
    return Expr("when", parts, facts=value.facts)


def is_listed(value: Expr, domain: tuple[Value, ...]) -> Expr:
    """Whether a value is one of some public ones, of which there may be very many."""
    return Expr("listed", (value,), domain, _BOOLEAN)


def on_grid(value: Expr, grid: IntegerGrid) -> Expr:
    """A number as an integer of the grid; NULL and NaN are missing."""
    return Expr("on_grid", (value,), grid, _INTEGER)


def cell_of(value: Expr, grid: CellGrid) -> Expr:
    """The cell that a number or date falls into."""
    return Expr("cell", (value,), grid, _INTEGER)


def bucket_of(value: Expr, edges: BucketEdges) -> Expr:
    """The bucket that a number falls into."""
    return Expr("bucket", (value,), edges, _INTEGER)


def step_of(value: Expr, steps: tuple[tuple[int, int], ...]) -> Expr:
    """What stands beside the first number that is not below the value; beside the last, where all are."""
    return Expr("step", (value,), steps, _INTEGER)


def size_of(value: Expr, largest: float, parts: int) -> Expr:
    """A number's size, as an integer of so many parts, at most the largest."""
    return Expr("size", (value,), (largest, parts), _INTEGER)


# ---------------------------------------------------------------- a source's own columns

as_text = UnaryOperation("as_text", Kind.TEXT)  # of a column of any type
sign_of = UnaryOperation("sign_of", Kind.BOOLEAN)  # whether a double is negative, which tells its two zeros apart


def person_id(value: Expr, native: str, form: str) -> Expr:
    """The id that a column of one of the engine's types holds, in the form in which ids are compared."""
    return Expr("person_id", (value,), (native, form), value.facts)


def declared_id(value: Expr, column: Column, form: str) -> Expr:
    """The same for a column of a declared table."""
    return Expr("declared_id", (value,), (column, form), value.facts)


def read_as(value: Expr, native: str, kind: Kind) -> Expr:
    """A column of one of the engine's types as a kind; what is no such value is missing."""
    return Expr("read_as", (value,), (native, kind), ValueFacts(kind=kind))


def as_type(value: Expr, native: str) -> Expr:
    """A column as another of the engine's types; what does not fit is missing."""
    return Expr("as_type", (value,), native, value.facts)


def keyed_hash(values: Sequence[Expr], secret: str | None) -> Expr:
    """A number that only depends on these values, and on a secret."""
    return Expr("hashed", tuple(values), secret, _INTEGER)


def over_person(function: str, person: Expr, order: Sequence[Expr] = ()) -> Expr:
    """A function over the rows of one person, in an order."""
    return Expr("over", (person, *order), WindowSpec(function, 0, 1, (), ()), _INTEGER)


# ---------------------------------------------------------------- many rows

count_of = UnaryOperation("count_of", Kind.INTEGER)  # how many rows have a value
count_missing = UnaryOperation("count_missing", Kind.INTEGER)  # how many rows have none
count_distinct = UnaryOperation("count_distinct", Kind.INTEGER)  # how many different values there are
largest_of = UnaryOperation("max_of")
smallest_of = UnaryOperation("min_of")
sum_of = UnaryOperation("sum_of", Kind.INTEGER)  # of integers; NULL if there are none
total_of = UnaryOperation("total", Kind.INTEGER)  # of integers; 0 if there are none
negative_total = UnaryOperation("negated", Kind.INTEGER)  # what is taken away of a total
as_integer = UnaryOperation("whole", Kind.INTEGER)  # a huge integer that fits 64 bits, as such


def count_rows() -> Expr:
    """How many rows there are."""
    return Expr("count_rows", facts=_INTEGER)


def centred_total(value: Expr, centre: int) -> Expr:
    """The sum of integers, each less a centre."""
    return Expr("centred_total", (value,), centre, _INTEGER) if centre else total_of(value)


def clamped_total(value: Expr, most: int, parts: int) -> Expr:
    """A person's total within [-most, most], counted in parts of a step."""
    return Expr("clamped_total", (value,), (most, parts), _INTEGER)


def size_of_totals(value: Expr, clip: NormClip) -> Expr:
    """The size of a person's totals over the keys: the sum of their squares, or of their absolute values."""
    return Expr("norm", (value,), clip, _INTEGER)


def clipped_total(total: Expr, size: Expr, clip: NormClip) -> Expr:
    """The sum over people of their totals, each scaled to the norm and rounded toward zero."""
    return Expr("clipped_total", (total, size), clip, _INTEGER)
