"""The columns that a workload speaks of, cut into public cells, so that every row of the table lies in one.

Of a whole number or a date, each value within its bounds is a cell, and so are all values below, all above, and none at
all; bounds are moved out to the values that questions compare with, so that each condition holds for all values of a
cell or for none. Of a column with declared values, each value is a cell, and one holds everything else.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from fractions import Fraction
from typing import Any

from hubbub.relations import Expr, ValueFacts, build, date_at, literal, place_of
from hubbub.schema import Kind, Value
from hubbub.sql.workload.counting_queries import constant, constants
from hubbub.terms import NotAllowed

MOST_CELLS = 4096  # of one column
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


@dataclass(frozen=True, slots=True)
class Cell:
    """One cell: a value it stands for, and whether it is that value (and can be a group) or something around them."""

    value: Value | None
    is_group: bool = True
    is_other: bool = False  # outside a declared list: no condition on the column holds for it


@dataclass(frozen=True, slots=True)
class CellColumn:
    """A column and its cells; ``key`` tells a row's cell in the engine: one of ``key.facts.values``, in this order."""

    name: str
    cells: tuple[Cell, ...]
    key: Expr

    def kept(self, conditions: Sequence[Expr]) -> list[int]:
        """The cells for which all these conditions hold."""
        return [
            place
            for place, cell in enumerate(self.cells)
            if not (cell.is_other and conditions) and all(_truth(part, cell.value) is True for part in conditions)
        ]

    def groups(self, conditions: Sequence[Expr]) -> list[int]:
        """The cells that are groups of their own, under these conditions."""
        return [place for place in self.kept(conditions) if self.cells[place].is_group]


def attribute(column: Expr, conditions: Sequence[Expr]) -> CellColumn:
    """The cells of a column that these conditions (and GROUP BY) speak of."""
    if column.facts.values is not None:
        return _listed(column, column.facts.values, conditions)
    if column.kind in (Kind.INTEGER, Kind.DATE) and column.facts.bounded:
        return _grid(column, conditions)
    name = column.param[1]
    raise NotAllowed(
        f"the column {name!r} cannot be cut into public cells.",
        why="A workload is measured over every combination of public values, whether or not anybody has it.",
        fix=f"Declare the values of {name}, or bounds if it is a whole number or a date.",
    )


# ---------------------------------------------------------------- whole numbers and dates


def _grid(column: Expr, conditions: Sequence[Expr]) -> CellColumn:
    facts = column.facts
    assert facts.lower is not None and facts.upper is not None
    first, last = math.ceil(facts.lower), math.floor(facts.upper)
    named = [place_of(value) for part in conditions for value in constants(part)]  # type: ignore[arg-type]
    places = [place for place in named if place is not None]
    low = min([first, *(math.floor(place) for place in places)])
    high = max([last, *(math.ceil(place) for place in places)])
    if high - low >= MOST_CELLS:
        raise _too_many(column, high - low + 1)
    shown: Callable[[int], Value] = (lambda at: date_at(Fraction(at))) if column.kind is Kind.DATE else int
    cells = [
        Cell(shown(low - 1), is_group=False),
        *(Cell(shown(at), is_group=first <= at <= last) for at in range(low, high + 1)),
        Cell(shown(high + 1), is_group=False),
        Cell(None, is_group=False),
    ]
    return CellColumn(column.param[1], tuple(cells), _grid_key(column, low, high))


def _grid_key(column: Expr, low: int, high: int) -> Expr:
    """0 below, 1 to n on the grid, n + 1 above, n + 2 where there is no value."""
    if column.kind is Kind.DATE:
        place = build("date_diff", [literal(date_at(Fraction(low)) - timedelta(days=1)), column], "day")
    else:
        place = build("sub", [column, literal(low - 1)])
    size = high - low + 1
    held = build("least", [build("greatest", [place, literal(0)]), literal(size + 1)])
    return _key(build("case", [build("isnull", [place]), literal(size + 2), held]), tuple(range(size + 3)))


# ---------------------------------------------------------------- declared values


def _listed(column: Expr, values: tuple[Value, ...], conditions: Sequence[Expr]) -> CellColumn:
    if len(values) > MOST_CELLS:
        raise _too_many(column, len(values))
    if any(_asks_for_missing(part) for part in conditions):
        raise NotAllowed(
            f"IS NULL of {column.param[1]!r} cannot be part of a workload.",
            why="Rows without a value lie in one cell with those whose value is not a declared one.",
            fix="Ask for it by sql(...).",
        )
    cells = (*(Cell(value) for value in values), Cell(None, is_group=False, is_other=True))
    if column.kind is Kind.BOOLEAN:
        steps = [
            part
            for place, value in enumerate(values)
            for part in (column if value else build("not", [column]), literal(place))
        ]
        return CellColumn(
            column.param[1],
            cells,
            _key(build("case", [*steps, literal(len(values))]), tuple(range(len(values) + 1))),
        )
    other = _beside(values)
    known = build("in", [column, *(literal(value) for value in values)])
    key = build("case", [known, column, literal(other)])
    return CellColumn(column.param[1], cells, replace(key, facts=ValueFacts(kind=column.kind, values=(*values, other))))


def _beside(values: tuple[Value, ...]) -> Value:
    """A value of the same kind that is none of these."""
    if isinstance(values[0], str):
        return "_" * (1 + max(len(str(value)) for value in values))
    days = [value for value in values if isinstance(value, date)]
    if days:
        return min(days) - timedelta(days=1) if max(days).year == date.max.year else max(days) + timedelta(days=1)
    numbers = [value for value in values if isinstance(value, int | float)]
    largest = math.floor(max(numbers)) + 1
    return largest if isinstance(values[0], int) else float(largest)


def _asks_for_missing(condition: Expr) -> bool:
    return condition.op == "isnull" or any(_asks_for_missing(part) for part in condition.args)


def _key(value: Expr, domain: tuple[int, ...]) -> Expr:
    ends = Fraction(domain[0]), Fraction(domain[-1])
    facts = ValueFacts(kind=Kind.INTEGER, lower=ends[0], upper=ends[1], step=Fraction(1), values=domain)
    return replace(value, facts=facts)


def _too_many(column: Expr, cells: int) -> NotAllowed:
    return NotAllowed(
        f"the column {column.param[1]!r} has {cells:,} public values here, and {MOST_CELLS:,} are the most.",
        why="Every combination of public values is measured, whether or not anybody has it.",
        fix="Declare narrower bounds or fewer values, or ask by sql(...).",
    )


# ---------------------------------------------------------------- conditions


def _truth(condition: Expr, value: Value | None) -> Any:
    """A condition for one value of its column, as SQL has it: None where that is unknown."""
    op = condition.op
    if op in ("column", "literal", "neg"):
        return value if op == "column" else constant(condition)
    args = [_truth(part, value) for part in condition.args]
    if op in ("and", "or"):
        return _joined(args, decided_by=op == "or")
    if op == "isnull":
        return args[0] is None
    if op == "in":
        return _joined(
            [None if None in (args[0], option) else args[0] == option for option in args[1:]], decided_by=True
        )
    if None in args:
        return None
    return not args[0] if op == "not" else _COMPARE[op](args[0], args[1])


def _joined(args: Sequence[bool | None], *, decided_by: bool) -> bool | None:
    """OR is decided by one that is true, AND by one that is false; without such, what is unknown stays so."""
    return decided_by if decided_by in args else None if None in args else not decided_by
