"""Literals: numbers, texts, dates and intervals as they are written in a question, and what they are."""

from __future__ import annotations

import re
from contextlib import suppress
from datetime import date, datetime, timedelta
from decimal import Decimal, InvalidOperation
from fractions import Fraction

from sqlglot import exp

from hubbub.relations import DateShift, Expr, is_short, limits, literal, shifted
from hubbub.sql.compiler.syntax.source_text import QueryText
from hubbub.terms import NotAllowed, OverLimit, QueryError, WrongType

WORK_IS_BOUNDED = "How much work one row can cause is bounded beforehand."
_DAY_TEXT = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TIME_TEXT = re.compile(r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\d(\.\d{1,6})?)?", re.ASCII)
_MONTHS = {"MONTH": 1, "QUARTER": 3, "YEAR": 12}
_DAYS = {"DAY": 1, "WEEK": 7}
_SECONDS = {"HOUR": 3_600, "MINUTE": 60, "SECOND": 1}
_DIGITS = 30  # of a number before or after the point


def type_literal(node: exp.Literal, text: QueryText) -> Expr:
    """The value of a literal."""
    if node.is_string:
        return literal(check_length(node, str(node.this), limits.LITERAL, text))
    number = exact_number(str(node.this))
    if number is None:
        raise refuse_kind(
            text,
            WrongType,
            node,
            f"a number has at most {limits.DIGITS} digits and lies between 10^-30 and 10^30 here.",
        )
    plain = int(number) if number.denominator == 1 else number
    return literal(plain, exponent=has_exponent(node))  # type: ignore[arg-type]


def exact_number(written: str) -> Fraction | None:
    """The number that a literal shows, if it has few digits and is neither huge nor tiny."""
    if len(written) > limits.DIGITS or not written.isascii():
        return None
    try:
        decimal = Decimal(written)
    except InvalidOperation:
        return None
    if not decimal.is_finite() or not decimal:
        return Fraction(0) if decimal.is_finite() else None
    if abs(decimal.adjusted()) > _DIGITS:  # 1e99999999 is not worked out
        return None
    number = Fraction(decimal)
    return number if Fraction(1, limits.LARGEST) <= abs(number) <= limits.LARGEST else None


def whole_number(node: exp.Expr | None) -> int | None:
    """The whole number that a literal is, if it is one of at most 15 digits."""
    written = str(node.this) if isinstance(node, exp.Literal) and not node.is_string else ""
    return int(written) if written.isascii() and written.isdigit() and len(written) <= 15 else None


def has_exponent(node: exp.Expr) -> bool:
    """Whether a number is written as 1e3, which SQL takes for a double."""
    return "e" in str(node.this).lower()


def check_length(node: exp.Expr, written: str, most: int, text: QueryText) -> str:
    """The text itself, if it is not too long."""
    if len(written) > most:
        what = f"a text here has at most {most:,} characters."
        raise refuse_kind(text, OverLimit, node, what, WORK_IS_BOUNDED, "Shorten it.")
    return written


def type_date(node: exp.Expr, written: str, text: QueryText) -> Expr:
    """The date or timestamp that a text shows."""
    with suppress(ValueError):
        if _DAY_TEXT.fullmatch(written):
            return literal(date.fromisoformat(written))
        if _TIME_TEXT.fullmatch(written):
            return literal(datetime.fromisoformat(written))
    raise refuse_kind(
        text,
        WrongType,
        node,
        "this text is no date.",
        "Other forms, and offsets from UTC, mean different things in different engines.",
        "Write '2025-12-31' or '2025-12-31 18:30:00'.",
    )


def shift_date(start: date, interval: exp.Interval, sign: int, text: QueryText) -> date:
    """The date so much later (or, with sign -1, earlier)."""
    unit = str(interval.args.get("unit") or "").upper().removesuffix("S")
    try:
        amount = sign * int(str(interval.this.this))
        if unit in _MONTHS:
            return shifted(start, amount * _MONTHS[unit])
        if unit in _DAYS:
            return start + timedelta(days=amount * _DAYS[unit])
        if isinstance(start, datetime) and unit in ("HOUR", "MINUTE", "SECOND"):
            return start + timedelta(**{f"{unit.lower()}s": amount})
    except (ValueError, OverflowError, AttributeError):
        pass
    raise refuse_kind(
        text, NotAllowed, interval, "this interval cannot be read.", fix="Write INTERVAL 3 MONTH, for example."
    )


def read_interval(interval: exp.Interval, text: QueryText) -> DateShift:
    """The interval that is written; it is no longer than some centuries."""
    unit = str(interval.args.get("unit") or "").upper().removesuffix("S")
    written = str(getattr(interval.this, "this", ""))
    if re.fullmatch(r"-?\d{1,12}", written, re.ASCII) and unit in {*_MONTHS, *_DAYS, *_SECONDS}:
        months, days, seconds = (int(written) * units.get(unit, 0) for units in (_MONTHS, _DAYS, _SECONDS))
        shift = DateShift(months, days, seconds)
        if is_short(shift):
            return shift
    raise refuse_kind(
        text,
        NotAllowed,
        interval,
        "this interval cannot be read.",
        "It is a whole number of one unit, from seconds to years, and at most 1,000 years.",
        "Write INTERVAL 3 MONTH, or INTERVAL '36 hours'.",
    )


def refuse_kind(
    text: QueryText,
    error: type[QueryError],
    node: exp.Expr,
    what: str,
    why: str = "The kinds of values must be clear before data is read.",
    fix: str = "docs/sql-coverage.md lists what can be written.",
) -> QueryError:
    """The refusal of a value of the wrong kind."""
    return text.refusal(error, node, what, why, fix)
