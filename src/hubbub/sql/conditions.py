"""HAVING and ORDER BY: expressions over the noisy rows of an answer, in SQL's logic of three values."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hubbub.sql.expressions import Expr

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def evaluate(value: Expr, leaf: Callable[[Expr], list[Any] | None], size: int) -> list[Any]:
    """The value of an expression in each of ``size`` rows, None where it is missing; ``leaf`` knows columns."""
    if value.op == "literal":
        given = float(value.param) if isinstance(value.param, Fraction) else value.param
        return [given] * size
    known = leaf(value)
    if known is not None:
        return known
    inside = [evaluate(arg, leaf, size) for arg in value.args]
    return [_apply(value, list(args)) for args in zip(*inside, strict=True)]


def _apply(value: Expr, args: list[Any]) -> Any:
    """One operation on the values of one row, in SQL's logic of three values."""
    logic = _LOGIC.get(value.op)
    if logic is not None:
        return logic(args)
    if any(arg is None for arg in args):
        return None
    if value.op in _COMPARE:
        return _COMPARE[value.op](args[0], args[1])
    return _arithmetic(value.op, [float(arg) for arg in args], value.param)


_LOGIC: dict[str, Callable[[list[Any]], Any]] = {
    "and": lambda args: False if False in args else None if None in args else True,
    "or": lambda args: True if True in args else None if None in args else False,
    "not": lambda args: None if args[0] is None else not args[0],
    "isnull": lambda args: args[0] is None,
    "same": lambda args: args[0] == args[1],
    "in": lambda args: None if args[0] is None else args[0] in args[1:],
    "coalesce": lambda args: next((arg for arg in args if arg is not None), None),
}
_NUMBERS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "mod": math.fmod,
    "neg": lambda a: -a,
    "abs": abs,
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "ln": math.log,
    "exp": math.exp,
    "least": min,
    "greatest": max,
    "cast": lambda a: a,
}


def _arithmetic(op: str, numbers: list[float], param: Any) -> float | None:
    try:
        return round(numbers[0], param) if op == "round" else float(_NUMBERS[op](*numbers))
    except (ZeroDivisionError, ValueError, OverflowError):
        return None
