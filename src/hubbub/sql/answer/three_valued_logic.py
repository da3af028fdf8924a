"""HAVING and ORDER BY: expressions over the noisy rows of an answer, in SQL's logic of three values."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from hubbub.relations import Expr, half_away

_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}


def evaluate_rows(value: Expr, leaf: Callable[[Expr], list[Any] | None], size: int) -> list[Any]:
    """The value of an expression in each of ``size`` rows, None where it is missing; ``leaf`` knows columns."""
    if value.op == "literal":
        given = float(value.param) if isinstance(value.param, Fraction) else value.param
        return [given] * size
    known = leaf(value)
    if known is not None:
        return known
    inside = [evaluate_rows(arg, leaf, size) for arg in value.args]
    return [_apply_operation(value, list(args)) for args in zip(*inside, strict=True)]


def sort_key(value: Any) -> tuple[bool, Any]:
    """By what values are compared: what is no number stands above all numbers, and equals itself."""
    lost = isinstance(value, float) and math.isnan(value)
    return (True, 0) if lost else (False, value)


def _apply_operation(value: Expr, args: list[Any]) -> Any:
    """One operation on the values of one row, in SQL's logic of three values."""
    logic = _LOGIC.get(value.op)
    if logic is not None:
        return logic(args)
    if any(arg is None for arg in args):
        return None
    if value.op in _COMPARE:
        return _COMPARE[value.op](sort_key(args[0]), sort_key(args[1]))
    return _calculate(value.op, [float(arg) for arg in args], value.param)


def _is_member(args: list[Any]) -> bool | None:
    """Unknown where the value is missing, or is not among the others while one of these is missing."""
    if args[0] is None or (None in args[1:] and args[0] not in args[1:]):
        return None
    return args[0] in args[1:]


def _choose_branch(args: list[Any]) -> Any:
    branches = zip(args[:-1:2], args[1:-1:2], strict=True)
    return next((value for condition, value in branches if condition is True), args[-1])


def _skip_missing(pick: Callable[[list[Any]], Any]) -> Callable[[list[Any]], Any]:
    """LEAST and GREATEST leave out what is missing."""
    return lambda args: pick([arg for arg in args if arg is not None]) if any(a is not None for a in args) else None


_LOGIC: dict[str, Callable[[list[Any]], Any]] = {
    "and": lambda args: False if False in args else None if None in args else True,
    "or": lambda args: True if True in args else None if None in args else False,
    "not": lambda args: None if args[0] is None else not args[0],
    "isnull": lambda args: args[0] is None,
    "same": lambda args: args[0] == args[1],
    "in": _is_member,
    "case": _choose_branch,
    "nullif": lambda args: None if args[0] is not None and args[0] == args[1] else args[0],
    "coalesce": lambda args: next((arg for arg in args if arg is not None), None),
    "least": _skip_missing(min),
    "greatest": _skip_missing(max),
}
_NUMBERS: dict[str, Callable[..., float]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b if b else math.nan if not a or math.isnan(a) else math.copysign(math.inf, a),
    "mod": lambda a, b: math.fmod(a, b) if b else math.nan,
    "neg": lambda a: -a,
    "abs": abs,
    "sign": lambda a: (a > 0) - (a < 0),
    "floor": math.floor,
    "ceil": math.ceil,
    "trunc": math.trunc,
    "sqrt": math.sqrt,
    "ln": math.log,
    "exp": math.exp,
    "cast": lambda a: a,
}


def _calculate(op: str, numbers: list[float], param: Any) -> float | None:
    try:
        return _round_half_away(numbers[0], param) if op == "round" else float(_NUMBERS[op](*numbers))
    except (ZeroDivisionError, ValueError, OverflowError):
        return None


def _round_half_away(number: float, digits: int) -> float:
    """A half goes away from zero, as in SQL."""
    return float(half_away(Fraction(number) * Fraction(10) ** digits) / Fraction(10) ** digits)
