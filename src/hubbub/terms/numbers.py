"""Numbers as people type them, read exactly, or refused with a reason.

A privacy parameter is a rational number. ``0.1`` means one tenth, the decimal its author sees, and not
the nearest binary fraction: so ten questions at 0.1 fit a budget of 1 exactly.
"""

from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Rational
from numbers import Real as AnyReal
from typing import TypeAlias

from hubbub.terms.errors import NotANumber, OutOfRange, TooLarge, Unreadable

Real: TypeAlias = int | float | Decimal | Fraction  # a number as people type it; text is refused, as are truth values

_MOST_DIGITS = 5000


def exact(value: object, *, name: str) -> Fraction:
    """The rational number that ``value`` shows; NaN, infinities, booleans and strings are refused.

    >>> exact(0.1, name="epsilon")
    Fraction(1, 10)
    """
    if isinstance(value, bool) or not isinstance(value, AnyReal | Decimal):
        raise NotANumber(
            f"{name} must be a number and got {_kind_name(value)}.",
            why="A privacy parameter is never guessed from another type.",
            fix="Pass a plain number: an int, a float, a Decimal or a Fraction.",
        )
    if isinstance(value, Integral):
        return Fraction(int(value))
    if isinstance(value, Rational):
        return Fraction(value)
    decimal = Decimal(str(value))
    if not decimal.is_finite():
        raise OutOfRange(
            f"{name} must be finite and is {value}.",
            why="NaN and infinities have no meaning as a privacy parameter.",
            fix=f"Give {name} as an ordinary number.",
        )
    if abs(decimal.adjusted()) > _MOST_DIGITS:
        raise TooLarge(
            f"{name} has more than {_MOST_DIGITS} digits before or after the point.",
            why="No privacy parameter is that large or that small, and exact arithmetic with it would not end.",
            fix=f"Give {name} as an ordinary number.",
        )
    return Fraction(decimal)


def positive(value: object, *, name: str) -> Fraction:
    """``value`` exactly, refused unless it is above zero."""
    number = exact(value, name=name)
    if number <= 0:
        raise OutOfRange(
            f"{name} must be above 0 and is {shown(number)}.",
            why=_why_positive(name),
            fix=f"Give a positive {name}; there is no default.",
        )
    return number


def fraction_of(value: object, *, name: str, zero: bool = False, one: bool = False) -> Fraction:
    """``value`` exactly, refused unless it is strictly between 0 and 1 (ends allowed where said)."""
    number = exact(value, name=name)
    above = number >= 0 if zero else number > 0
    below = number <= 1 if one else number < 1
    if not (above and below):
        low, high = "[" if zero else "(", "]" if one else ")"
        raise OutOfRange(
            f"{name} must lie in {low}0, 1{high} and is {shown(number)}.",
            why=f"{name} is a probability or a share.",
            fix=f"Give a {name} in that interval.",
        )
    return number


def sensitivity_of(value: object, *, name: str = "sensitivity") -> Fraction:
    """A sensitivity: how far one unit can move the answer. Zero is refused, since it would mean no noise."""
    return positive(value, name=name)


def whole(value: object, *, name: str, least: int = 1, most: int | None = None) -> int:
    """``value`` as an int of at least ``least`` and, where it is said, at most ``most``."""
    number = exact(value, name=name)
    if most is not None and number > most:
        raise OutOfRange(
            f"{name} must be at most {most:,} and is {shown(number)}.",
            why=f"{name} counts something that a person has or a caller does.",
            fix=f"Give a smaller {name}.",
        )
    if number.denominator != 1 or number < least:
        raise OutOfRange(
            f"{name} must be a whole number of at least {least} and is {shown(number)}.",
            why=f"{name} counts something.",
            fix=f"Give {name} as an int.",
        )
    return int(number)


def round_up(value: float, *, steps: int = 1) -> Fraction:
    """``value`` as an exact rational, ``steps`` representable doubles higher (the one place that rounds against us)."""
    for _ in range(steps):
        value = math.nextafter(value, math.inf)
    return Fraction(value)


def shown(number: Fraction) -> str:
    """A number as a message shows it; one that no double can hold, by its size."""
    try:
        return f"{float(number):g}"
    except OverflowError:
        return "beyond 10^308" if number > 0 else "below -10^308"


def root_of(value: int | Fraction) -> Fraction:
    """The square root, rounded up to a multiple of 2^-10."""
    number = Fraction(value)
    scaled = -((-number.numerator << 20) // number.denominator)  # ceil(value * 2^20)
    root = math.isqrt(scaled)
    return Fraction(root + (root * root < scaled), 1 << 10)


def parse(text: str) -> Fraction:
    """A rational from its stored form: ``"1/3"``, ``"0.1"`` or ``"5"``."""
    try:
        if abs(int(text.lower().partition("e")[2] or 0)) > _MOST_DIGITS:
            raise ValueError  # 1e30000000 would be worked out digit by digit
        return Fraction(text)
    except (ValueError, ZeroDivisionError, TypeError, AttributeError):
        raise Unreadable(
            "a stored number could not be read.",
            why="Numbers are stored as decimals or as numerator/denominator.",
            fix="Check that the file was not edited by hand.",
        ) from None


def _kind_name(value: object) -> str:
    return f"a {type(value).__name__}" if value is not None else "nothing"


def _why_positive(name: str) -> str:
    if name.startswith("sensitivity"):
        return "A sensitivity of 0 would mean that no noise is needed, which holds for constants only."
    if name in {"epsilon", "rho", "mu"}:
        return f"{name} bounds what may be learned about one unit; at 0 nothing at all could be told."
    return f"At 0 or below, {name} would mean no noise."
