"""Thresholds that noise alone passes with at most a given probability, rounded up.

The mass *at* the threshold counts: what is released is what is at least the threshold.
"""

from __future__ import annotations

import math
from fractions import Fraction

from hubbub.noise import enclose_exp_neg
from hubbub.terms import OutOfRange

_SMALLEST = Fraction(1, 10**290)


def laplace_threshold(scale: Fraction, *, tries: int, chance: Fraction) -> int:
    """The least m >= 1 with 1 - (1 - P(X >= m))^tries <= chance for discrete Laplace X, certified.

    P(X >= m) = p^m / (1 + p) with p = exp(-1/scale).
    """
    high = 1
    while not _laplace_passes(scale, high, tries, chance):
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if _laplace_passes(scale, middle, tries, chance) else (middle, high)
    return high


def _laplace_passes(scale: Fraction, m: int, tries: int, chance: Fraction) -> bool:
    bits = 128 + 2 * chance.denominator.bit_length() + 2 * tries.bit_length()
    one = 1 << bits
    least_p = enclose_exp_neg(1 / scale, bits)[0]
    tail = -(-(enclose_exp_neg(m / scale, bits)[1] << bits) // (one + least_p))  # rounded up
    return power_down(max(0, one - tail), tries, bits) * chance.denominator >= one * (
        chance.denominator - chance.numerator
    )


def gaussian_threshold(sigma: Fraction, *, tries: int, chance: Fraction) -> int:
    """An m >= 1 with 1 - (1 - P(X >= m))^tries <= chance for discrete Gaussian X, at most one above the least.

    By P(X >= m) <= P(N >= m - 1) for a continuous Gaussian N of the same sigma [CKS20].
    """
    from scipy.special import log_ndtr, ndtri

    if chance < _SMALLEST:
        raise OutOfRange(
            "delta is below 1e-290.",
            why="The tail of the Gaussian distribution is computed in doubles.",
            fix="Use a larger delta, or Laplace noise.",
        )
    each = -math.expm1(math.log1p(-float(chance)) / tries) * (1 - 1e-9)  # pays for the arithmetic below
    s = float(sigma)
    m = max(0, math.floor(-float(ndtri(each)) * s)) + 1
    while float(log_ndtr(-(m - 1) / s)) > math.log(each):
        m += 1
    return m


def power_down(value: int, exponent: int, bits: int) -> int:
    """(value / 2^bits)^exponent * 2^bits, rounded down, for a value of at most 2^bits."""
    result = 1 << bits
    while exponent:
        if exponent & 1:
            result = result * value >> bits
        value = value * value >> bits
        exponent >>= 1
    return result


def share_of(chance: Fraction, tries: int) -> Fraction:
    """The largest multiple of 2^-bits with 1 - (1 - share)^tries <= chance: what one of ``tries`` may cost."""
    bits = 128 + chance.denominator.bit_length() + tries.bit_length()
    one = 1 << bits
    low, high = 0, one
    while high - low > 1:
        middle = (low + high) // 2
        kept = power_down(one - middle, tries, bits) * chance.denominator
        low, high = (middle, high) if kept >= one * (chance.denominator - chance.numerator) else (low, middle)
    return Fraction(low, one)
