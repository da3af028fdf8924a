"""Certified fixed-point arithmetic: every real number is a pair of integers that surely encloses it.

``(low, high)`` at ``bits`` means ``low <= 2^bits x <= high``. Nothing here is rounded to nearest, so a
comparison against an enclosure is either right or undecided, and then more bits are asked for.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

Enclosure = tuple[int, int]
EnclosedReal = Callable[[int], Enclosure]  # a real number, as the enclosures it gives for more and more bits


def rational(value: Fraction) -> EnclosedReal:
    """A rational number as a real."""

    def enclose(bits: int) -> Enclosure:
        scaled = value.numerator << bits
        low, rest = divmod(scaled, value.denominator)
        return low, low + (rest > 0)

    return enclose


def exp_neg(x: Fraction) -> EnclosedReal:
    """exp(-x) for a rational x >= 0."""
    return lambda bits: enclose_exp_neg(x, bits)


def enclose_exp_neg(x: Fraction, bits: int) -> Enclosure:
    """Enclose 2^bits exp(-x): halve x until it is below 2^-8, sum Taylor's series, square back."""
    if x == 0:
        return 1 << bits, 1 << bits
    if x >= bits + 1:  # exp(-x) < 2^-x
        return 0, 1
    halvings = max(0, (x.numerator // x.denominator).bit_length() + 8)
    precision = bits + 2 * halvings + 16
    value, error = _exp_taylor(x, halvings, precision)
    for _ in range(halvings):
        value = value * value >> precision
        error = 2 * error + 2  # |v^2 - w^2| <= 2 |v - w| for v, w <= 1, and one for the shift
    drop = precision - bits
    return max(0, value - error) >> drop, ((value + error) >> drop) + 1


def _exp_taylor(x: Fraction, halvings: int, precision: int) -> Enclosure:
    """exp(-x / 2^halvings) at ``precision``, and a bound on its error in units of the last place."""
    y = (x.numerator << precision) // (x.denominator << halvings)
    total = term = 1 << precision
    terms = 0
    while term:
        terms += 1
        term = (term * y >> precision) // terms
        total += -term if terms % 2 else term
    return total, 2 * terms + 4  # each term is short by at most two, y by one


def logistic(x: Fraction, weight: Fraction) -> EnclosedReal:
    """1 / (1 + weight exp(-x)) for rational x >= 0 and weight > 0."""

    def enclose(bits: int) -> Enclosure:
        low, high = enclose_exp_neg(x, bits + 4)
        one = 1 << (bits + 4)
        return _enclosed_ratio(one, one + _round_up(high * weight), bits)[0], _enclosed_ratio(
            one, one + _round_down(low * weight), bits
        )[1]

    return enclose


def _enclosed_ratio(numerator: int, denominator: int, bits: int) -> Enclosure:
    low, rest = divmod(numerator << bits, denominator)
    return low, low + (rest > 0)


def _round_up(value: Fraction | int) -> int:
    return -((-value) // 1)


def _round_down(value: Fraction | int) -> int:
    return value // 1
