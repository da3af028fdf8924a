"""What each value of a column with few values becomes under exact arithmetic: the public keys of ``k % 10``."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction

from hubbub.relations.expressions import Expr
from hubbub.schema import Kind, Value

MOST_VALUES = 100_000  # longest list of derived keys
MOST = 2_000  # values of a column that are followed
_LARGEST = 10**15  # beyond, doubles and whole numbers part
Image = tuple[object, tuple[Fraction | None, ...]]


def image_of(op: str, parts: Sequence[Expr], param: object) -> Image | None:
    """The column that all parts are about, and the operation's value for each of the column's values."""
    exact = _EXACT.get(op)
    images = [_of_part(part) for part in parts]
    columns = {image[0] for image in images if isinstance(image, tuple)}
    if exact is None or len(columns) != 1 or any(image is None for image in images):
        return None
    size = max(len(image[1]) for image in images if isinstance(image, tuple))
    rows = zip(*(image[1] if isinstance(image, tuple) else (image,) * size for image in images), strict=True)
    values = tuple(_value_at(exact, row, param) for row in rows)
    return None if any(value is not None and abs(value) > _LARGEST for value in values) else (columns.pop(), values)


def _of_part(part: Expr) -> Image | Fraction | None:
    if part.op == "literal":
        return Fraction(part.param) if part.kind.is_number else None
    if part.op == "column" and part.kind is Kind.INTEGER:
        values = _column_values(part)
        return None if values is None else (part.param, values)
    return part.facts.image


def _column_values(column: Expr) -> tuple[Fraction, ...] | None:
    facts = column.facts
    if facts.values is not None:
        whole = [Fraction(value) for value in facts.values if isinstance(value, int)]
        return tuple(whole) if len(whole) == len(facts.values) <= MOST else None
    if facts.lower is None or facts.upper is None or not 0 <= facts.upper - facts.lower < MOST:
        return None
    step = facts.step or Fraction(1)
    first, last = math.ceil(facts.lower / step), math.floor(facts.upper / step)
    return tuple(place * step for place in range(first, last + 1)) or None


def _value_at(exact: Callable[..., Fraction | int], row: Sequence[Fraction | None], param: object) -> Fraction | None:
    if any(value is None for value in row):
        return None
    try:
        return Fraction(exact(*row) if param is None else exact(*row, param))
    except ZeroDivisionError:
        return None


def grid_values(lower: Fraction | None, upper: Fraction | None, step: int) -> tuple[Value, ...] | None:
    """The whole numbers of a grid between bounds, unless they are too many."""
    if lower is None or upper is None or (upper - lower) / step >= MOST_VALUES:
        return None
    return tuple(range(math.ceil(lower / step) * step, math.floor(upper / step) * step + 1, step))


def half_away(value: Fraction) -> int:
    """The nearest whole number, of two the one away from zero."""
    return math.floor(abs(value) + Fraction(1, 2)) * (-1 if value < 0 else 1)


def _round_exact(value: Fraction, digits: int) -> Fraction:
    step = Fraction(10) ** -digits
    return half_away(value / step) * step


_EXACT: dict[str, Callable[..., Fraction | int]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "int_div": lambda a, b: math.trunc(a / b),
    "mod": lambda a, b: a - b * math.trunc(a / b),
    "neg": lambda a: -a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "round": _round_exact,
}
