"""Which values an expression can have: those of its finite list, or of its grid between bounds, under a condition.

Bounds are those that the owner declared: rows beyond them have values that are not listed here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from fractions import Fraction

from hubbub.relations.expressions import Expr, ValueFacts, kind_of, place_of
from hubbub.relations.value_facts import build, date_at
from hubbub.schema import Kind, Value

_WHOLE = (Kind.INTEGER, Kind.DATE, Kind.TIMESTAMP)  # kinds of which a range is known exactly
_LARGEST = 10**15  # beyond, doubles and whole numbers part
_RANGES = ("lt", "le", "gt", "ge")
_TURNED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq"}
_KEPT_WHOLE = ("exists", "window", "aggregate", "aggregate_if")  # facts that do not follow from their parts alone


@dataclass(frozen=True, slots=True)
class _Comparison:
    """A comparison of something with literals that must hold."""

    of: Expr
    op: str
    options: tuple[Value, ...]


def under_condition(value: Expr, parts: Sequence[Expr]) -> ValueFacts:
    """What is known of a value in rows for which all these parts of a condition hold."""
    comparisons = [each for part in parts for each in _comparisons(part)]
    return _narrow(value, comparisons).facts if comparisons else value.facts


def count_values(facts: ValueFacts) -> int | None:
    """How many values there can be; None if there is no finite list."""
    if facts.values is not None:
        return len(facts.values)
    grid = _grid(facts)
    return None if grid is None else max(0, -((grid.start - grid.stop) // grid.step))


def list_values(facts: ValueFacts) -> tuple[Value, ...]:
    """The values that there can be, of which there is a finite list."""
    grid = _grid(facts)
    if facts.values is not None or grid is None:
        return facts.values or ()
    return tuple(date_at(Fraction(place)) for place in grid) if facts.kind is Kind.DATE else tuple(grid)


def _grid(facts: ValueFacts) -> range | None:
    """The whole numbers or days between the bounds."""
    step = Fraction(1) if facts.kind is Kind.DATE else facts.step
    if facts.kind not in (Kind.INTEGER, Kind.DATE) or step is None or step.denominator != 1:
        return None
    if facts.lower is None or facts.upper is None:
        return None
    if facts.kind is Kind.DATE and not _within_calendar(facts.lower, facts.upper):
        return None
    return range(math.ceil(facts.lower / step) * int(step), math.floor(facts.upper) + 1, int(step))


def _within_calendar(lower: Fraction, upper: Fraction) -> bool:
    first, last = place_of(date.min), place_of(date.max)
    assert first is not None and last is not None
    return first <= lower and upper <= last


# ---------------------------------------------------------------- conditions


def _comparisons(part: Expr) -> list[_Comparison]:
    if part.op not in (*_TURNED, "in") or not part.args:
        return []
    first, *others = part.args
    if first.op == "literal" and len(others) == 1 and part.op in _TURNED:
        return [_Comparison(others[0], _TURNED[part.op], (first.param,))]
    if first.op == "literal" or any(other.op != "literal" for other in others):
        return []
    return [_Comparison(first, part.op, tuple(other.param for other in others))]


def _narrow(value: Expr, comparisons: Sequence[_Comparison]) -> Expr:
    """The same expression, with what follows about its value."""
    if value.op == "literal" or value.op in _KEPT_WHOLE:
        return value
    args = tuple(_narrow(arg, comparisons) for arg in value.args)
    if any(new is not old for new, old in zip(args, value.args, strict=True)):
        value = replace(value, facts=_both(value.facts, build(value.op, args, value.param, kind=value.kind).facts))
    for each in comparisons:
        if each.of == value:
            value = replace(value, facts=_restrict(value.facts, each))
    return value


def _both(before: ValueFacts, after: ValueFacts) -> ValueFacts:
    """What follows from the parts as they are now, and what was known before."""
    if after.kind is not before.kind or (after.values is None and before.values is not None):
        return before
    if before.values is None or after.values is None:
        return after
    still = set(after.values)
    return replace(after, values=tuple(each for each in before.values if each in still))


def _restrict(facts: ValueFacts, comparison: _Comparison) -> ValueFacts:
    places = [_place_beside(option, facts.kind) for option in comparison.options]
    known = [place for place in places if place is not None]
    if comparison.op in _RANGES:
        return _restrict_range(facts, comparison.op, known[0]) if known else facts
    if facts.values is not None:
        wanted = {_comparable(option) for option in comparison.options}
        facts = replace(facts, values=tuple(each for each in facts.values if _comparable(each) in wanted))
    if not known or len(known) != len(places):
        return facts
    facts = _restrict_range(_restrict_range(facts, "ge", min(known)), "le", max(known))
    if facts.values is None and (grid := _grid(facts)) is not None:
        listed = sorted({int(place) for place in known if place.denominator == 1 and int(place) in grid})
        as_date = facts.kind is Kind.DATE
        facts = replace(facts, values=tuple(date_at(Fraction(each)) if as_date else each for each in listed))
    return facts


def _place_beside(option: Value, kind: Kind) -> Fraction | None:
    """Where a literal lies among values of a kind; None if it is none of them."""
    alike = kind_of(option) is kind or (kind.is_number and kind_of(option).is_number)
    return place_of(option) if alike else None


def _restrict_range(facts: ValueFacts, op: str, end: Fraction) -> ValueFacts:
    """What is known of a value on one side of an end."""
    if facts.kind not in _WHOLE or (facts.kind is Kind.INTEGER and abs(end) > _LARGEST):
        return facts
    lower, upper = facts.lower, facts.upper
    if op in ("ge", "gt"):
        least = Fraction(math.floor(end) + 1 if op == "gt" else math.ceil(end))
        lower = least if lower is None else max(lower, least)
    else:
        most = Fraction(math.ceil(end) - 1 if op == "lt" else math.floor(end))
        upper = most if upper is None else min(upper, most)
    values = facts.values
    if values is not None:
        values = tuple(each for each in values if _lies_between(each, lower, upper))
    return replace(facts, lower=lower, upper=upper, values=values)


def _lies_between(value: Value, lower: Fraction | None, upper: Fraction | None) -> bool:
    place = place_of(value)
    if place is None:
        return True
    return (lower is None or lower <= place) and (upper is None or place <= upper)


def _comparable(value: Value | Fraction | None) -> Value | None:
    """The value as the engine compares it: as a double, where the text has the decimal 0.1."""
    return float(value) if isinstance(value, int | float | Fraction) and not isinstance(value, bool) else value
