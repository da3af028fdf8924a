"""Whether two conditions on a row can never both be true: x = 1 and x = 2, x < 5 and x >= 5, c and NOT c.

"No" is the answer wherever it is not certain. Sensitivities rest on "yes", so it must hold however an engine compares:
numbers count as different if they are so in single precision, texts if neither case nor space at their ends makes the
difference, moments if they are in different seconds; and what has an order of its own in each engine is not compared.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from datetime import date, datetime
from fractions import Fraction

from hubbub.relations import Expr, literal

_MOST_PAIRS = 10_000  # of operations that are compared
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_OPPOSITE = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}
_UPPER, _LOWER = ("lt", "le"), ("gt", "ge")
_OPEN = ("lt", "gt")
_TRUE, _FALSE = literal(True), literal(False)


@dataclass(frozen=True, slots=True)
class _Demand:
    """What a true condition says of a value: how it compares with literals, or that it is missing or there."""

    of: Expr
    op: str  # in | ne | lt | le | gt | ge | missing | there
    literals: tuple[Expr, ...] = ()


def exclude_each_other(one: Expr | None, other: Expr | None) -> bool:
    """Whether no row can meet both conditions."""
    if one is None or other is None or one.size * other.size > _MOST_PAIRS:
        return False
    return _exclude(one, other)


def _exclude(one: Expr, other: Expr) -> bool:
    if one.op == "or":
        return all(_exclude(part, other) for part in one.args)
    if other.op == "or":
        return all(_exclude(one, part) for part in other.args)
    return any(_parts_exclude(part, against) for part in _parts(one) for against in _parts(other))


def _parts_exclude(one: Expr, other: Expr) -> bool:
    if "or" in (one.op, other.op):
        return _exclude(one, other)
    return any(_conflict(first, second) for first in _demands(one) for second in _demands(other))


def _parts(condition: Expr) -> list[Expr]:
    """The parts that must all hold; a CASE that is there has met its condition."""
    if condition.op == "and":
        return [part for arg in condition.args for part in _parts(arg)]
    needs = case_condition(condition.args[0]) if condition.op in ("not_null", "present") else None
    return [condition] if needs is None else [*_parts(needs), condition]


def case_condition(value: Expr) -> Expr | None:
    """The condition without which CASE WHEN c THEN x END has no value; None for anything else."""
    if value.op != "case" or len(value.args) != 3 or not _is_null(value.args[2]):
        return None
    return value.args[0]


# ---------------------------------------------------------------- what a condition demands


def _demands(part: Expr) -> list[_Demand]:
    if part.op == "not":
        [inner] = part.args
        return [_is(inner, _FALSE), *_opposite(inner)]
    is_true = Expr("same", (part, _TRUE), facts=part.facts)
    return [_is(part, _TRUE), _is(is_true, _TRUE), *_comparison(part, part.op), *_state(part)]


def _is(part: Expr, truth: Expr) -> _Demand:
    return _Demand(part, "in", (truth,))


def _comparison(part: Expr, op: str) -> list[_Demand]:
    if op == "in" and all(option.op == "literal" for option in part.args[1:]):
        return [_Demand(part.args[0], "in", tuple(option for option in part.args[1:] if not _is_null(option)))]
    if op not in _TURNED or len(part.args) != 2:
        return []
    first, second = part.args
    if first.op == "literal":
        first, second, op = second, first, _TURNED[op]
    if second.op != "literal" or _is_null(second):
        return []
    return [_Demand(first, "in" if op == "eq" else op, (second,))]


def _state(part: Expr) -> list[_Demand]:
    if part.op == "isnull":
        return [_Demand(part.args[0], "missing")]
    if part.op in ("not_null", "present"):
        return [_Demand(part.args[0], "there")]
    if part.op == "same" and part.args[1].op == "literal" and isinstance(part.args[1].param, bool):
        return [_is(part.args[0], part.args[1])]
    return []


def _opposite(inner: Expr) -> list[_Demand]:
    """What follows of a comparison that is false (and not unknown)."""
    if inner.op == "isnull":
        return [_Demand(inner.args[0], "there")]
    return _comparison(inner, _OPPOSITE[inner.op]) if inner.op in _OPPOSITE else []


# ---------------------------------------------------------------- demands on one value


def _conflict(one: _Demand, other: _Demand) -> bool:
    if not _is_one_value(one.of, other.of):
        return False
    if "missing" in (one.op, other.op):
        return one.op != other.op
    for first, second in ((one, other), (other, one)):
        if first.op == "in" and second.literals:
            return all(_rules_out(second, literal) for literal in first.literals)
    for first, second in ((one, other), (other, one)):
        if first.op in _UPPER and second.op in _LOWER:
            return _lies_below(first.literals[0], second.literals[0], is_open=bool({first.op, second.op} & {*_OPEN}))
    return False


def _is_one_value(one: Expr, other: Expr) -> bool:
    """Whether two expressions are printed alike: x - 1 and x - 1.0 are equal, and rounded in other ways."""
    if one.op == "exists" or one.op != other.op or one.kind is not other.kind or len(one.args) != len(other.args):
        return False
    if not _is_same(one, other):
        return False
    return all(_is_one_value(part, against) for part, against in zip(one.args, other.args, strict=True))


def _rules_out(demand: _Demand, value: Expr) -> bool:
    """Whether what is demanded cannot be this value."""
    if demand.op == "in":
        return all(_differ(value, option) for option in demand.literals)
    [end] = demand.literals
    if demand.op == "ne":
        return _is_same(value, end)
    ends = (end, value) if demand.op in _UPPER else (value, end)
    return _lies_below(*ends, is_open=demand.op in _OPEN)


def _lies_below(upper: Expr, lower: Expr, *, is_open: bool) -> bool:
    """Whether what is at most ``upper`` is never at least ``lower``; open if one of the ends itself is left out."""
    if _is_same(upper, lower):
        return is_open
    one, other = _rough(upper.param), _rough(lower.param)
    if isinstance(one, float) and isinstance(other, float):
        return one < other
    if isinstance(one, datetime) and isinstance(other, datetime):
        return one < other
    return type(one) is date and type(other) is date and one < other


def _differ(one: Expr, other: Expr) -> bool:
    first, second = _rough(one.param), _rough(other.param)
    return first is not None and type(first) is type(second) and first != second


def _is_same(one: Expr, other: Expr) -> bool:
    """Whether two literals, or operations but for their parts, are printed alike."""
    same_type = type(one.param) is type(other.param) and one.facts.number == other.facts.number
    return same_type and one.param == other.param


def _rough(value: object) -> bool | float | str | date | None:
    """A literal as roughly as any engine compares it; None if that is not known."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float | Fraction):
        return _single(value)
    if isinstance(value, datetime):
        return value.replace(microsecond=0, tzinfo=None) if value.tzinfo is None else None
    if isinstance(value, str):
        return value.strip().casefold()
    return value if isinstance(value, date) else None


def _single(value: float | Fraction) -> float | None:
    try:
        [single] = struct.unpack("f", struct.pack("f", float(value)))
    except OverflowError:
        return None
    return float(single)


def _is_null(value: Expr) -> bool:
    return value.op == "literal" and value.param is None
