"""Numbers as people read them: percentages, "N out of 100", "one in a million"."""

from __future__ import annotations

from fractions import Fraction

LARGEST = 700  # e to this power is the largest round number that fits a float; beyond it nothing changes


def as_float(value: Fraction) -> float:
    """The nearest float, held within what the pictures can show."""
    return float(max(Fraction(-(10**300)), min(value, Fraction(10**300))))


def short(value: Fraction | float) -> str:
    """A number as people write it: what they gave in full, what was worked out to three digits.

    >>> short(Fraction(1201, 2)), short(Fraction(1, 10**6)), short(2.71828)
    ('600.5', '1e-6', '2.72')
    """
    digits = f"{as_float(value):.8g}" if isinstance(value, Fraction) else f"{value:.3g}"
    return digits.replace("e-0", "e-").replace("e+0", "e").replace("e+", "e")


def percent(chance: float, *, digits: int = 1) -> str:
    """A chance in percent; never "100%" or "0%" by rounding alone.

    >>> percent(0.7311), percent(0.99999), percent(0.0001), percent(0.0)
    ('73.1%', '>99.9%', '<0.1%', '0%')
    """
    least = 10.0**-digits
    if chance <= 0:
        return "0%"
    if 100 * chance < least / 2:
        return f"<{least:.{digits}f}%"
    if 100 * (1 - chance) < least / 2:
        return f">{100 - least:.{digits}f}%"
    return f"{100 * chance:.{digits}f}%"


def hundredths(chance: float) -> int:
    """The nearest N out of 100, where neither 0 nor 100 may appear by rounding."""
    if chance <= 0:
        return 0
    return min(99, max(1, round(100 * chance)))


def out_of_100(chance: float) -> str:
    """A chance as a frequency.

    >>> out_of_100(0.7311), out_of_100(0.9999)
    ('about 73 out of 100', 'more than 99 out of 100')
    """
    if chance > 0.995:
        return "more than 99 out of 100"
    if 0 < chance < 0.005:
        return "fewer than 1 out of 100"
    return f"about {hundredths(chance)} out of 100"


def at_most(frequency: str) -> str:
    """A bound in words; a bound so near to certainty that it says nothing is no "at most".

    >>> at_most("about 73 out of 100"), at_most("more than 99 out of 100"), at_most(">99.9%")
    ('at most about 73 out of 100', 'perhaps more than 99 out of 100', 'perhaps >99.9%')
    """
    return f"perhaps {frequency}" if frequency.startswith(("more than", ">")) else f"at most {frequency}"


def one_in(chance: Fraction) -> str:
    """A small probability as "one in N".

    >>> one_in(Fraction(1, 10**6))
    'one in 1,000,000'
    """
    return f"one in {round(1 / chance):,}" if chance >= Fraction(1, 10**12) else f"one in {short(1 / chance)}"
