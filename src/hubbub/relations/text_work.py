"""What one value can cost: how long each text can be, how many characters are looked at, and how many are made.

Every number here follows from the question alone, whatever the row holds: a text that is read has at most
``limits.TEXT`` characters, and so has every text that a function makes, since the rest is cut off.
"""

from __future__ import annotations

from collections.abc import Callable

from hubbub.relations import limits
from hubbub.relations.expressions import Expr
from hubbub.schema import Kind

_BYTES_OF_A_CHARACTER = 4  # in UTF-8, at most
_BYTES_OF_A_NUMBER = 16  # a huge integer; others take half of it
_SHOWN_AS = {"pipe": "||", "spelled": "DISTINCT"}
_SHOWN = 64  # characters of a number, date or truth value as text
_MAKERS = ("concat", "pipe", "replace", "spelled")
_FINDERS = ("like", "ilike", "contains", "starts_with")
_MATCHERS = ("matches", "match_part")  # the last of their parameters is the steps that one character can take
FUNCTIONS = (*_MAKERS, *_FINDERS, *_MATCHERS, "lower", "upper", "trim", "length", "substring", "left", "right")


def text_width(value: Expr) -> int:
    """How many characters the text has at most."""
    whole = value.op == "spelled" or any(part.op == "spelled" for part in value.args)  # which is never cut
    return min(width_made(value), limits.MADE if whole else limits.TEXT)


def width_made(value: Expr) -> int:
    """How many characters the operation makes at most, before they are cut."""
    if value.op == "literal":
        return len(value.param) if isinstance(value.param, str) else 0
    if value.kind is not Kind.TEXT or value.op == "column":
        return limits.TEXT if value.kind in (Kind.TEXT, Kind.OPAQUE) else _SHOWN
    rule = _MADE.get(value.op)
    return rule(value, [text_width(part) for part in value.args]) if rule else limits.TEXT


def _width_of_replace(value: Expr, widths: list[int]) -> int:
    length, sought, given = widths[0], *map(len, value.param)
    if sought == 0 or given <= sought:
        return length
    return length // sought * given + length % sought


def _width_of_left(value: Expr, widths: list[int]) -> int:
    """LEFT and RIGHT: so many characters, or all but so many."""
    return widths[0] if value.param < 0 else min(value.param, widths[0])


def _width_of_substring(value: Expr, widths: list[int]) -> int:
    length = value.param[1]
    return widths[0] if length is None else min(abs(length), widths[0])


_MADE: dict[str, Callable[[Expr, list[int]], int]] = {
    **dict.fromkeys(("concat", "pipe"), lambda _, widths: sum(widths)),
    **dict.fromkeys(("lower", "upper", "trim", "nullif", "window", "match_part"), lambda _, widths: widths[0]),
    **dict.fromkeys(("coalesce", "least", "greatest", "cast"), lambda _, widths: max(widths)),
    **dict.fromkeys(("left", "right"), _width_of_left),
    "substring": _width_of_substring,
    "spelled": lambda _, widths: sum(widths) + 8 * len(widths),
    "strftime": lambda value, _: 10 * len(value.param),  # a sign is two letters, and September nine
    "replace": _width_of_replace,
    "case": lambda _, widths: max(*widths[1:-1:2], widths[-1]),
}


def is_cut(value: Expr) -> bool:
    """Whether the operation may make more than is kept of a text."""
    return value.op in _MAKERS and value.op != "spelled" and width_made(value) > limits.TEXT


def check_made(value: Expr) -> None:
    """Refuse an operation that may make a very long text."""
    if value.op in _MAKERS and width_made(value) > limits.MADE:
        raise limits.over(
            f"{_SHOWN_AS.get(value.op, value.op.upper())} can make a text of {width_made(value):,} characters here, "
            f"and {limits.MADE:,} are the most.",
            "One person's row could take as much memory and time as all others together.",
            "Cut the text first: LEFT(s, 100).",
        )


def characters_looked_at(value: Expr) -> int:
    """Characters that are looked at to compute the operation from its parts."""
    length = sum(text_width(part) for part in value.args if part.kind is Kind.TEXT)
    if value.op in _MATCHERS:
        return length * int(value.param[-1])
    return length * max(1, len(value.param)) if value.op in _FINDERS else length


def characters_made(value: Expr) -> int:
    """Characters that the operation makes out of several texts."""
    return width_made(value) if value.op in _MAKERS else 0


def works_on_text(value: Expr) -> bool:
    """Whether the operation looks into a text."""
    return value.op in FUNCTIONS


def largest_bytes(value: Expr) -> int:
    """How many bytes the value takes at most, whatever the row holds."""
    if value.kind in (Kind.TEXT, Kind.OPAQUE):
        return _BYTES_OF_A_CHARACTER * text_width(value)
    return 1 if value.kind is Kind.BOOLEAN else _BYTES_OF_A_NUMBER
