"""CAST: which kinds can become which, and what is known of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.relations.column_images import grid_values, half_away
from hubbub.relations.expressions import Expr, ValueFacts
from hubbub.relations.number_types import DOUBLE, INTEGER, decimal_type
from hubbub.schema import Kind

_DAY = 86_400_000_000  # microseconds
_BITS = {"TINYINT": 7, "SMALLINT": 15, "INTEGER": 31}


@dataclass(frozen=True, slots=True)
class CastTarget:
    """What a value is cast to: a kind, and of numbers the engine's own type where that is narrower."""

    kind: Kind
    width: int = 0  # of a decimal, in digits
    digits: int = 0  # of these after the point
    name: str = ""  # TINYINT, SMALLINT, INTEGER; empty for the kind's widest type

    def words(self) -> str:
        """The type in fixtures."""
        return f"decimal({self.width}, {self.digits})" if self.width else self.name.lower() or self.kind.value


TARGETS: dict[str, CastTarget] = {
    "BOOLEAN": CastTarget(Kind.BOOLEAN),
    "TINYINT": CastTarget(Kind.INTEGER, name="TINYINT"),
    "SMALLINT": CastTarget(Kind.INTEGER, name="SMALLINT"),
    "INT": CastTarget(Kind.INTEGER, name="INTEGER"),
    "BIGINT": CastTarget(Kind.INTEGER),
    "DOUBLE": CastTarget(Kind.NUMBER),
    "DECIMAL": CastTarget(Kind.NUMBER, width=18, digits=3),  # unless it says how many
    **dict.fromkeys(("VARCHAR", "TEXT", "CHAR"), CastTarget(Kind.TEXT)),
    "DATE": CastTarget(Kind.DATE),
    **dict.fromkeys(("TIMESTAMP", "DATETIME", "TIMESTAMPNTZ"), CastTarget(Kind.TIMESTAMP)),
}
_FROM = {
    Kind.BOOLEAN: (Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER, Kind.TEXT),
    Kind.INTEGER: (Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER, Kind.TEXT),
    Kind.NUMBER: (Kind.BOOLEAN, Kind.INTEGER, Kind.NUMBER, Kind.TEXT),
    Kind.TEXT: (Kind.BOOLEAN, Kind.INTEGER, Kind.TEXT, Kind.DATE, Kind.TIMESTAMP),
    Kind.DATE: (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP),
    Kind.TIMESTAMP: (Kind.TEXT, Kind.DATE, Kind.TIMESTAMP),
}


def can_cast(value: Expr, target: CastTarget) -> bool:
    """Whether the cast means the same everywhere; how a number that is not whole reads as text does not."""
    if target.kind is Kind.TEXT and value.kind is Kind.INTEGER and not value.facts.number.is_integer:
        return False
    if target.kind is Kind.TEXT and value.kind is Kind.DATE and value.op != "literal":
        return value.facts.origin is not None  # the start of a month is a date here, and a timestamp elsewhere
    return value.kind in _FROM[target.kind]


def cast_facts(parts: Sequence[Expr], param: object) -> ValueFacts:
    """What is known of the value as another kind: numbers are rounded, and what does not fit is missing."""
    assert isinstance(param, CastTarget)
    facts = _cast_facts(parts[0].facts, param)
    if param.name and facts.lower is not None and facts.upper is not None:
        lower, upper = whole_bounds(param)
        facts = replace(facts, lower=max(facts.lower, Fraction(lower)), upper=min(facts.upper, Fraction(upper)))
    return facts


def whole_bounds(target: CastTarget) -> tuple[int, int]:
    """The least and the largest whole number of a narrow type."""
    most = 1 << _BITS[target.name]
    return -most, most - 1


def _cast_facts(a: ValueFacts, target: CastTarget) -> ValueFacts:
    kind = target.kind
    if kind.is_number and a.kind in (Kind.INTEGER, Kind.NUMBER, Kind.BOOLEAN):
        return _number_facts(a, target)
    if kind is a.kind:
        return a
    if kind is Kind.TEXT and a.number.is_integer and a.kind is Kind.INTEGER and a.values is not None:
        return ValueFacts(kind=kind, values=tuple(str(value) for value in a.values))
    if {kind, a.kind} == {Kind.DATE, Kind.TIMESTAMP}:
        return _moment_facts(a, kind)
    number = INTEGER if kind is Kind.INTEGER else DOUBLE
    return ValueFacts(kind=kind, values=(False, True) if kind is Kind.BOOLEAN else None, number=number)


def _moment_facts(a: ValueFacts, kind: Kind) -> ValueFacts:
    """A date as the moment at which it begins, or a moment as its day."""
    ends = (a.lower, a.upper)
    if kind is Kind.TIMESTAMP:
        lower, upper = (None if end is None else end * _DAY for end in ends)
    else:
        lower, upper = (None if end is None else Fraction(math.floor(end / _DAY)) for end in ends)
    return ValueFacts(kind=kind, lower=lower, upper=upper)


def _number_facts(a: ValueFacts, target: CastTarget) -> ValueFacts:
    if a.kind is Kind.BOOLEAN:
        a = ValueFacts(kind=Kind.INTEGER, lower=Fraction(0), upper=Fraction(1), step=Fraction(1), values=(0, 1))
    if target.kind is Kind.NUMBER and not target.width:
        return ValueFacts(kind=Kind.NUMBER, lower=a.lower, upper=a.upper, step=a.step)
    if target == CastTarget(Kind.INTEGER) and a.number.is_integer:
        return a
    step = Fraction(10) ** -target.digits
    number = decimal_type(target.digits) if target.width else INTEGER
    if a.step is not None and (a.step / step).denominator == 1:
        lower, upper, step = a.lower, a.upper, a.step  # there is nothing to round
    else:
        lower, upper = (None if end is None else half_away(end / step) * step for end in (a.lower, a.upper))
    if step.denominator != 1:
        return ValueFacts(kind=Kind.NUMBER, lower=lower, upper=upper, step=step, number=number)
    values = a.values if a.kind is Kind.INTEGER else grid_values(lower, upper, int(step))
    image = a.image if a.kind is Kind.INTEGER else None
    return ValueFacts(kind=Kind.INTEGER, lower=lower, upper=upper, step=step, values=values, number=number, image=image)
