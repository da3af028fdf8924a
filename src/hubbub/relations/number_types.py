"""The types of numbers: whole numbers, decimals with so many digits, and doubles, as DuckDB's arithmetic has them.

Every number is computed as a double, which never fails. Where SQL would have an exact decimal, the double is set to the
one that is nearest to a number with so many digits after each step, so that equal decimals are equal doubles; and what
depends on the type (``//``, ROUND, casts) follows the type that SQL gives the expression.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

MOST_DIGITS = 12  # of a decimal that a double tells apart from its neighbours, up to about 1,000


@dataclass(frozen=True, slots=True)
class NumberType:
    """A type of numbers; ``digits`` after the point of a decimal."""

    name: str  # integer | decimal | double
    digits: int = 0

    @property
    def is_integer(self) -> bool:
        """Whether SQL has a whole number here."""
        return self.name == "integer"

    @property
    def is_decimal(self) -> bool:
        """Whether SQL has an exact decimal here."""
        return self.name == "decimal"


INTEGER, DOUBLE = NumberType("integer"), NumberType("double")


def decimal_type(digits: int) -> NumberType:
    """A decimal of so many digits, or a double where these are too many."""
    return NumberType("decimal", max(0, digits)) if digits <= MOST_DIGITS else DOUBLE


def type_of_literal(number: Fraction, *, exponent: bool) -> NumberType:
    """The type of a number in the text: ``1`` is whole, ``1.5`` a decimal, ``1e3`` a double."""
    if exponent:
        return DOUBLE
    digits = next((d for d in range(MOST_DIGITS + 1) if 10**d % number.denominator == 0), MOST_DIGITS + 1)
    return INTEGER if digits == 0 else decimal_type(digits)


def type_of(op: str, args: Sequence[NumberType], param: object) -> NumberType:
    """The type of an operation's result, from those of its numbers."""
    if op in _DOUBLES:
        return DOUBLE
    if op in _WHOLE or not args:
        return INTEGER
    if op in _ROUNDING:
        return _rounded_type(op, args[0], param)
    if op == "mul" and any(each.is_decimal for each in args) and all(each.name != "double" for each in args):
        return decimal_type(sum(each.digits for each in args))
    return _common_type(args[:1] if op == "nullif" else args)


def _rounded_type(op: str, before: NumberType, param: object) -> NumberType:
    """FLOOR and CEIL of a whole number are doubles; of a decimal, each leaves a decimal with fewer digits."""
    if before.is_decimal:
        return decimal_type(min(before.digits, max(0, param)) if isinstance(param, int) else 0)
    return DOUBLE if op in ("floor", "ceil") else before


def _common_type(args: Sequence[NumberType]) -> NumberType:
    """The type that holds them all."""
    if any(each.name == "double" for each in args):
        return DOUBLE
    return INTEGER if all(each.is_integer for each in args) else decimal_type(max(each.digits for each in args))


_DOUBLES = {"div", "sqrt", "ln", "log10", "exp", "power"}
_ROUNDING = {"floor", "ceil", "trunc", "round"}
_WHOLE = {"sign", "length", "extract", "date_diff", "int_div"}
