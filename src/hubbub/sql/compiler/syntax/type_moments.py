"""Moments in expressions: intervals that are added, differences, seconds since 1970 and buckets of time.

A difference of two moments is an interval, which is no value of a column here: it is compared with an interval, or its
seconds or days are taken. An interval on a column cannot leave the calendar: what would is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date

from sqlglot import exp

from hubbub.relations import CastTarget, DateShift, Expr, build, literal
from hubbub.schema import Kind
from hubbub.sql.compiler.syntax.literals import read_interval, refuse_kind, shift_date, type_date
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.terms import NotAllowed, WrongType

_MOMENTS = (Kind.DATE, Kind.TIMESTAMP)
_COMPARISONS: dict[type[exp.Expr], str] = {
    exp.EQ: "eq",
    exp.NEQ: "ne",
    exp.LT: "lt",
    exp.LTE: "le",
    exp.GT: "gt",
    exp.GTE: "ge",
}
_MIRRORED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_SECOND, _DAY = 1_000_000, 86_400_000_000
_Build = Callable[[exp.Expr], Expr]


def type_moment(node: exp.Expr, value_of: _Build, text: QueryText) -> Expr | None:
    """What is written with an INTERVAL or about a difference of moments; None if it is neither."""
    if isinstance(node, exp.Add | exp.Sub | exp.DateAdd):
        return _type_shift(node, value_of, text)
    if type(node) in _COMPARISONS:
        return _type_comparison(node, value_of, text)
    if isinstance(node, exp.Extract | exp.TimeToUnix):
        return _type_part(node, value_of, text)
    if isinstance(node, exp.DateBin):
        return _type_bucket(node, value_of, text)
    return _type_last_day(node, value_of, text) if isinstance(node, exp.LastDay) else None


def type_difference(node: exp.Expr, op: str, values: Sequence[Expr], text: QueryText) -> Expr | None:
    """day - day in days, and day + 1; None for numbers."""
    left, right = values
    if op == "add" and right.kind is Kind.DATE:
        left, right = right, left
    if left.kind is Kind.DATE and right.op == "literal" and isinstance(right.param, str):
        right = type_date(node, right.param, text)
    if left.kind is Kind.DATE and right.kind is Kind.DATE and op == "sub":
        return build("date_diff", [right, left], "day")
    if left.kind not in _MOMENTS:
        return None
    if left.kind is Kind.DATE and type(right.param) is int and right.op == "literal":
        return _shift(node, left, DateShift(days=right.param if op == "add" else -right.param, as_date=True), text)
    if right.kind in _MOMENTS and op == "sub":
        both = {left.kind, right.kind}
        raise refuse_kind(
            text,
            WrongType,
            node,
            "a date less a timestamp is an interval." if len(both) > 1 else "a difference of moments is an interval.",
            fix="Write DATE_DIFF('day', x, y)." if len(both) > 1 else "Write DATE_DIFF('minute', y, x) for x - y.",
        )
    return None


# ---------------------------------------------------------------- moment + INTERVAL


def _type_shift(node: exp.Expr, value_of: _Build, text: QueryText) -> Expr | None:
    moment, interval = node.this, node.args["expression"]
    if isinstance(moment, exp.Interval) and not isinstance(node, exp.Sub):
        moment, interval = interval, moment
    if not isinstance(interval, exp.Interval):
        return None
    start = value_of(moment)
    if start.op == "literal" and isinstance(start.param, date):
        return literal(shift_date(start.param, interval, -1 if isinstance(node, exp.Sub) else 1, text))
    if start.kind not in _MOMENTS:
        raise refuse_kind(text, WrongType, node, "an interval is added to a date or timestamp.")
    length = read_interval(interval, text)
    return _shift(node, start, length.reversed() if isinstance(node, exp.Sub) else length, text)


def _shift(node: exp.Expr, start: Expr, length: DateShift, text: QueryText) -> Expr:
    if abs(length.days) > 366_000:
        raise refuse_kind(text, NotAllowed, node, "this leaves the calendar.", fix="Add at most 366,000 days.")
    return build("shift", [start], length)


# ---------------------------------------------------------------- x - y beside an INTERVAL, and its seconds


def _type_comparison(node: exp.Expr, value_of: _Build, text: QueryText) -> Expr | None:
    op = _COMPARISONS[type(node)]
    difference, interval = node.this, node.args["expression"]
    if isinstance(difference, exp.Interval):
        difference, interval, op = interval, difference, _MIRRORED.get(op, op)
    if not isinstance(interval, exp.Interval):
        return None
    length, microseconds = read_interval(interval, text), _difference(difference, value_of)
    if microseconds is None or length.months:
        raise refuse_kind(
            text,
            NotAllowed,
            node,
            "an interval is compared with a difference of two moments, in days or shorter units.",
            "A month has 28 to 31 days.",
            "Write x - y > INTERVAL 30 DAY.",
        )
    return build(op, [microseconds, literal(length.microseconds)])


def _difference(node: exp.Expr, value_of: _Build) -> Expr | None:
    """x - y of moments, one of them with a time of day, in microseconds."""
    inner = node.unnest()
    if not isinstance(inner, exp.Sub) or isinstance(inner.expression, exp.Interval):
        return None
    later, earlier = value_of(inner.this), value_of(inner.expression)
    kinds = {later.kind, earlier.kind}
    if not kinds <= set(_MOMENTS) or kinds == {Kind.DATE}:
        return None
    return build("date_diff", [earlier, later], "microsecond")


def _type_part(node: exp.Expr, value_of: _Build, text: QueryText) -> Expr | None:
    """EXTRACT(EPOCH FROM x), EPOCH(x), and both, or the days, of x - y."""
    part = "EPOCH" if isinstance(node, exp.TimeToUnix) else str(node.this.this).upper()
    value = node.this if isinstance(node, exp.TimeToUnix) else node.args["expression"]
    inner = value.unnest()
    is_difference = isinstance(inner, exp.Sub) and not isinstance(inner.expression, exp.Interval)
    if part != "EPOCH" and not is_difference:
        return None
    microseconds = _difference(value, value_of) if is_difference else _since_epoch(value_of(value))
    if microseconds is None:
        raise refuse_kind(text, WrongType, node, "a timestamp, or a difference of two, is needed here.")
    if part == "EPOCH":
        return build("div", [microseconds, literal(_SECOND)])
    if part == "DAY":
        return build("int_div", [microseconds, literal(_DAY)])
    raise refuse_kind(
        text,
        NotAllowed,
        node,
        "of a difference, days and seconds can be taken.",
        "Other parts are what is left of the next larger one, which is rarely meant.",
        "Write DATE_DIFF('hour', y, x) for the hours of x - y.",
    )


def _since_epoch(moment: Expr) -> Expr | None:
    if moment.kind not in _MOMENTS:
        return None
    return build("date_diff", [literal(date(1970, 1, 1)), moment], "microsecond")


# ---------------------------------------------------------------- buckets


def _type_bucket(node: exp.Expr, value_of: _Build, text: QueryText) -> Expr:
    """TIME_BUCKET of one unit, which is where the unit begins."""
    interval, moment = node.this, value_of(node.args["expression"])
    unit = str(interval.args.get("unit") or "").lower().removesuffix("s") if isinstance(interval, exp.Interval) else ""
    one = unit and str(interval.this.this) == "1"
    if not one or unit not in ("second", "minute", "hour", "day", "week", "month", "quarter", "year"):
        raise refuse_kind(
            text,
            NotAllowed,
            node,
            "buckets of time are one unit wide.",
            fix="Write TIME_BUCKET(INTERVAL 1 WEEK, x), or DATE_TRUNC('week', x).",
        )
    if moment.kind not in _MOMENTS:
        raise refuse_kind(text, WrongType, node, "a date or timestamp is needed here.")
    return build("date_trunc", [moment], unit)


def _type_last_day(node: exp.Expr, value_of: _Build, text: QueryText) -> Expr:
    """The last day of the month: the day before the first of the next one."""
    moment = value_of(node.this)
    if moment.kind not in _MOMENTS:
        raise refuse_kind(text, WrongType, node, "a date or timestamp is needed here.")
    start = build("cast", [build("date_trunc", [moment], "month")], CastTarget(Kind.DATE))
    return build("shift", [start], DateShift(months=1, days=-1, as_date=True))
