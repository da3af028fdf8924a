"""Typed expressions: what a question says about one row, rebuilt from allowed parts, with what is known of its value.

An expression carries ``ValueFacts``: kind, bounds, grid, and a finite list of values where there is one. They are
derived when the expression is built (``value_facts.py``) and lost when they cannot be. Bounds are what the owner
declared would be there; nothing relies on rows keeping to them, since values are clamped where they are summed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

from hubbub.relations import limits
from hubbub.relations.number_types import DOUBLE, INTEGER, NumberType, type_of_literal
from hubbub.schema import Column, Kind, Value


@dataclass(frozen=True, slots=True, kw_only=True)
class ValueFacts:
    """What is publicly known of a value: kind, bounds, grid, finite list, and where it comes from."""

    kind: Kind
    lower: Fraction | None = None
    upper: Fraction | None = None
    step: Fraction | None = None
    values: tuple[Value, ...] | None = None
    max_per_unit: int | None = None
    max_rows_per_unit: int | None = None
    origin: tuple[str, str] | None = None  # the table and column it is taken from unchanged
    unit: bool = False  # it tells people apart
    number: NumberType = DOUBLE  # of a number: the type that SQL gives it
    image: tuple[object, tuple[Fraction | None, ...]] | None = None  # of a column with few values: what each becomes

    @property
    def bounded(self) -> bool:
        """Whether both bounds are known."""
        return self.lower is not None and self.upper is not None


@dataclass(frozen=True, slots=True)
class Expr:
    """One operation on expressions; ``param`` holds what is fixed (a literal, a column's place, a unit of time)."""

    op: str
    args: tuple[Expr, ...] = ()
    param: Any = None
    facts: ValueFacts = field(default=ValueFacts(kind=Kind.OPAQUE), compare=False)
    size: int = field(init=False, compare=False, repr=False)  # operations, each as often as it is named

    def __post_init__(self) -> None:
        size = 1 + sum(part.size for part in self.args)
        if size > limits.PARTS:  # names that stand for expressions of names double it with each step
            raise limits.too_large()
        object.__setattr__(self, "size", size)

    @property
    def kind(self) -> Kind:
        """The kind of its value."""
        return self.facts.kind

    def words(self) -> str:
        """The expression as it reads in fixtures and explanations."""
        if self.op == "column":
            return f"{self.param[0]}.{self.param[1]}" if self.param[0] else str(self.param[1])
        if self.op == "literal":
            return shown(self.param)
        inside = [part.words() for part in self.args]
        if self.param is not None:
            inside.append(_parameter_words(self.param))
        return f"{self.op}({', '.join(inside)})"


def literal(value: Value | None, *, exponent: bool = False) -> Expr:
    """A public value written in the question; ``exponent`` if as 1e3, which SQL takes for a double."""
    kind = kind_of(value)
    if kind.is_number:
        number = Fraction(value)  # type: ignore[arg-type]
        step = (abs(number) or Fraction(1)) if number.denominator <= 10**9 else None
        of_type = type_of_literal(number, exponent=exponent)
        facts = ValueFacts(kind=kind, lower=number, upper=number, step=step, values=(value,), number=of_type)  # type: ignore[arg-type]
    else:
        at = place_of(value)
        facts = ValueFacts(kind=kind, lower=at, upper=at, values=None if value is None else (value,))
    return Expr("literal", param=value, facts=facts)


def column(alias: str, table: str, declared: Column, *, unit: bool) -> Expr:
    """A column of a declared table, with what was declared of it."""
    lower, upper, step = declared.lower, declared.upper, declared.step
    if declared.kind is Kind.INTEGER and step is None:
        step = Fraction(1)
    numbers = [
        at for value in declared.values or () if kind_of(value).is_number and (at := place_of(value)) is not None
    ]
    if numbers and lower is None and upper is None:
        lower, upper = min(numbers), max(numbers)
    values = (False, True) if declared.kind is Kind.BOOLEAN and declared.values is None else declared.values
    facts = ValueFacts(
        kind=declared.kind,
        lower=lower,
        upper=upper,
        step=step,
        values=values,
        max_per_unit=declared.max_per_unit,
        max_rows_per_unit=declared.max_rows_per_unit,
        origin=(table, declared.name),
        unit=unit,
        number=INTEGER if declared.kind is Kind.INTEGER else DOUBLE,
    )
    return Expr("column", param=(alias, declared.name), facts=facts)


def renamed(inner: Expr, alias: str, name: str) -> Expr:
    """A field of a subquery seen from outside: the same facts, another place."""
    return Expr("column", param=(alias, name), facts=replace(inner.facts, image=None))


def without_facts(expression: Expr, kind: Kind) -> Expr:
    """The same expression of which nothing but the kind is known."""
    return replace(expression, facts=ValueFacts(kind=kind))


def kind_of(value: Value | None) -> Kind:
    """The kind of a public value."""
    if value is None:
        return Kind.OPAQUE
    if isinstance(value, bool):
        return Kind.BOOLEAN
    if isinstance(value, int):
        return Kind.INTEGER
    if isinstance(value, float | Fraction):
        return Kind.NUMBER
    if isinstance(value, datetime):
        return Kind.TIMESTAMP
    return Kind.DATE if isinstance(value, date) else Kind.TEXT


def place_of(value: Value | None) -> Fraction | None:
    """Dates in days and timestamps in microseconds since 1970, numbers as they are; None for the others."""
    if isinstance(value, datetime):
        naive = value.replace(tzinfo=None) - datetime(1970, 1, 1)
        return Fraction(naive.days * 86_400_000_000 + naive.seconds * 1_000_000 + naive.microseconds)
    if isinstance(value, date):
        return Fraction((value - date(1970, 1, 1)).days)
    if isinstance(value, int | float | Fraction) and not isinstance(value, bool):
        return Fraction(value)
    return None


_SIGNS = {"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "eq": "=", "ne": "<>", "lt": "<", "le": "<="}
_SIGNS |= {"gt": ">", "ge": ">=", "and": "AND", "or": "OR"}


def readable(value: Expr) -> str:
    """The expression much as its author wrote it, for messages and titles."""
    if value.op == "column":
        return str(value.param[1])
    if value.op == "literal":
        return shown(value.param)
    inside = [readable(arg) for arg in value.args]
    if value.op in _SIGNS and len(inside) == 2:
        return f"{inside[0]} {_SIGNS[value.op]} {inside[1]}"
    if value.op == "case":
        return "CASE ... END"
    simple = isinstance(value.param, str | int)
    return f"{value.op.upper()}({', '.join([*inside, *([shown(value.param)] if simple else [])])})"


def shown(value: object) -> str:
    """A public value as it reads in words."""
    if isinstance(value, Kind):
        return value.value
    if isinstance(value, Fraction):
        return str(value.numerator) if value.denominator == 1 else f"{float(value):g}"
    return repr(value) if isinstance(value, str) else str(value)


def _parameter_words(param: object) -> str:
    if isinstance(param, tuple):
        return ", ".join(shown(part) for part in param)
    return param.words() if hasattr(param, "words") else shown(param)
