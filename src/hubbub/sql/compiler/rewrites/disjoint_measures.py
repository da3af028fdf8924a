"""Measures of which one row moves one alone, as those of FILTERs that exclude each other; how far they move together.

Under a cap on rows the rows of one person are shared out among such measures: with each measure in units of a scale of
its own, they move together no further than the one that moves furthest (``docs/proofs/sql.md``, "Disjoint measures").
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from hubbub.relations import Expr, build
from hubbub.sql.compiler.query_plan import (
    BoundedSum,
    Bounding,
    BoundingShape,
    DisjointMeasures,
    Moved,
    SumKind,
)
from hubbub.sql.compiler.rewrites.exclusive_conditions import case_condition, exclude_each_other
from hubbub.terms import Neighbours

_SHAPES_OF_ROWS = (BoundingShape.ROW, BoundingShape.ROWS, BoundingShape.KEYS)
_MOST_MEASURES = 256  # of one question that are compared with each other


def find_disjoint(
    measures: Sequence[BoundedSum], bounding: Bounding, *, many: int | None, neighbours: Neighbours
) -> tuple[DisjointMeasures, ...]:
    """The groups of measures of which one row moves one alone; each measure is in one group at most."""
    if bounding.shape not in _SHAPES_OF_ROWS or len(measures) > _MOST_MEASURES:
        return ()
    conditions = [_condition_of_rows(measure) for measure in measures]
    kinds = [measure.signed if neighbours is Neighbours.REPLACE else None for measure in measures]
    groups: list[list[int]] = []
    for index, measure in enumerate(measures):
        if measure.counted is SumKind.PEOPLE or conditions[index] is None:
            continue
        for group in groups:
            if kinds[group[0]] is kinds[index] and all(
                exclude_each_other(conditions[other], conditions[index]) for other in group
            ):
                group.append(index)
                break
        else:
            groups.append([index])
    doubled = neighbours is Neighbours.REPLACE and many == 1
    return tuple(
        DisjointMeasures(tuple(group), 2 if doubled and not measures[group[0]].signed else 1)
        for group in groups
        if len(group) > 1
    )


def joint_movement(
    moved: Sequence[Moved], disjoint: Sequence[DisjointMeasures], scales: Sequence[Fraction]
) -> tuple[Fraction, Fraction]:
    """How far one unit moves all measures together, each divided by its scale: in L1, and in L2 (squared).

    Guarantee: no neighbour moves the vector of all measures over all keys further.
    Because: docs/proofs/sql.md, "Disjoint measures".
    """
    l1 = [each.l1 / scale for each, scale in zip(moved, scales, strict=True)]
    l2_squared = [each.l2_squared / scale**2 for each, scale in zip(moved, scales, strict=True)]
    alone = {*range(len(moved))} - {index for group in disjoint for index in group.measures}
    total_l1 = sum((l1[index] for index in alone), Fraction(0))
    total_l2 = sum((l2_squared[index] for index in alone), Fraction(0))
    for group in disjoint:
        total_l1 += _together([l1[index] for index in group.measures], group.spread)
        total_l2 += _together([l2_squared[index] for index in group.measures], group.spread)
    return total_l1, total_l2


def _together(parts: Sequence[Fraction], spread: int) -> Fraction:
    return min(sum(parts, Fraction(0)), spread * max(parts))


def _condition_of_rows(measure: BoundedSum) -> Expr | None:
    """A condition without which a row adds nothing; None if every row may add something."""
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
