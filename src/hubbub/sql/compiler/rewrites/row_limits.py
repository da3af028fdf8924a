"""How many rows of one person a condition or DISTINCT leaves: ``WHERE rn = 1`` after ROW_NUMBER per person, one.

The numbers lower caps and nothing else. Caps are enforced by ranking, so a number that is too low costs rows, never
privacy (``docs/proofs/sql.md``, "Rows").
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from fractions import Fraction

from hubbub.relations import Expr, count_values, under_condition
from hubbub.sql.compiler.person_links import conjuncts
from hubbub.sql.compiler.question import Field, Item, Scan, Subquery


def rows_left(item: Item, where: Expr | None) -> int | None:
    """How many rows of one person from an item meet the condition, as it compares their numbers; None if unknown."""
    if isinstance(item.rows, Scan) or not item.rows.private:
        return item.rows.cap
    known = [_rows_numbered(item, item.rows, field, where) for field in item.rows.fields]
    return _least([*known, item.rows.cap])


def distinct_rows(fields: Sequence[Field], cap: int | None) -> int | None:
    """How many rows of one person a DISTINCT leaves: combinations of values, a missing one among them."""
    return _least([_combinations(each.value for each in fields), cap])


def _rows_numbered(item: Item, rows: Subquery, field: Field, where: Expr | None) -> int | None:
    parts = _parts_of_numbering(rows, field.value)
    if parts is None:
        return None
    facts = replace(field.value.facts, lower=Fraction(1))
    number = Expr("column", param=(item.alias, field.name), facts=facts)
    left, times = count_values(under_condition(number, conjuncts(where))), _combinations(parts)
    return None if left is None or times is None else max(1, left) * times


def _parts_of_numbering(rows: Subquery, value: Expr) -> tuple[Expr, ...] | None:
    """By what a column numbers rows from 1 on; None if it is no such number of every row."""
    if value.op == "window" and value.param.function == "row_number":
        return value.args[: len(value.args) - len(value.param.descending)]
    if value.op != "column" or len(rows.source) != 1 or rows.keys is not None:
        return None
    [inner] = rows.source
    if isinstance(inner.rows, Scan):
        return None
    name = str(value.param[1]).lower()
    field = next(each for each in inner.rows.fields if each.name.lower() == name)
    return _parts_of_numbering(inner.rows, field.value)


def _combinations(values: Iterable[Expr]) -> int | None:
    """How many combinations of these there are for one person, each perhaps missing; None if that is not public."""
    numbers = [count_values(value.facts) for value in values if not value.facts.unit]
    return None if any(number is None for number in numbers) else math.prod((number or 0) + 1 for number in numbers)


def _least(numbers: Sequence[int | None]) -> int | None:
    return min((number for number in numbers if number is not None), default=None)
