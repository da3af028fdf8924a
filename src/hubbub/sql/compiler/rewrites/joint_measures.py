"""Measures that share a price: one row moves them together no further than it could move one of them.

The parts of one value are such measures (``split_sums``), and those of FILTERs that exclude each other. Under a cap on
rows the rows of one person are shared out among them: each in units of its own largest row, they move together no
further than one of them may alone (``docs/proofs/sql.md``, "Measures that share a price").
"""

from __future__ import annotations

from collections.abc import Sequence

from hubbub.relations import Expr, build
from hubbub.sql.compiler.query_plan import BoundedSum, Bounding, BoundingShape, SumKind, price_groups
from hubbub.sql.compiler.rewrites.exclusive_conditions import case_condition, exclude_each_other

_SHAPES_OF_ROWS = (BoundingShape.ROW, BoundingShape.ROWS, BoundingShape.KEYS)
_MOST_MEASURES = 256  # of one question that are compared with each other


def find_joint(
    measures: Sequence[BoundedSum], bounding: Bounding, split: tuple[tuple[int, ...], ...]
) -> tuple[tuple[int, ...], ...]:
    """The groups of measures that share a price; each measure is in one group at most.

    ``split`` are the parts of values, which are joint whatever their conditions are.
    """
    if bounding.shape not in _SHAPES_OF_ROWS or len(measures) > _MOST_MEASURES:
        return split
    conditions = [_condition_of_rows(measure) for measure in measures]
    groups: list[list[int]] = []
    for unit in price_groups(len(measures), split):
        apart = (group for group in groups if _exclude(group, unit, conditions))
        if (group := next(apart, None)) is not None:
            group += unit
        elif all(measures[i].counted is not SumKind.PEOPLE for i in unit):
            groups.append([*unit])
    return tuple(tuple(group) for group in groups if len(group) > 1)


def _exclude(group: Sequence[int], unit: Sequence[int], conditions: Sequence[Expr | None]) -> bool:
    """Whether no row counts both in the group and in the unit."""
    return all(exclude_each_other(conditions[i], conditions[j]) for i in group for j in unit)


def _condition_of_rows(measure: BoundedSum) -> Expr | None:
    """A condition without which a row adds nothing; None if every row may add something.

    A person that is counted may have rows under both of two conditions.
    """
    if measure.counted is SumKind.PEOPLE:
        return None
    needs = None if measure.value is None else _condition_of_value(measure.value, measure)
    both = [condition for condition in (measure.condition, needs) if condition is not None]
    return build("and", both) if len(both) == 2 else both[0] if both else None


def _condition_of_value(value: Expr, measure: BoundedSum) -> Expr | None:
    """The condition of CASE WHEN c THEN x END, or of one whose ELSE adds 0."""
    otherwise = value.args[-1] if value.op == "case" and len(value.args) == 3 else None
    is_zero = otherwise is not None and otherwise.op == "literal" and otherwise.param == 0 and otherwise.kind.is_number
    if is_zero and measure.counted is SumKind.SUM and measure.centre == 0 and measure.lower <= 0 <= measure.upper:
        return value.args[0]
    return case_condition(value)
