"""The distributions we sample from, each as strata: magnitude = 2^shift * stratum + rest.

The stratum is drawn from a table, the rest uniformly, and the pair is kept with probability
exp(-rest * (linear + quadratic * (2^(shift+1) * stratum + rest))), which is the ratio of the distribution at the
point to the distribution at the stratum's start. With 16 to 32 strata per scale about one draw in thirty is
rejected, whatever the scale, and the tables stay small enough for the processor's cache.

    geometric and Laplace   mass ~ exp(-m / t)              linear = 1/t
    Gaussian                mass ~ exp(-m^2 / (2 sigma^2))  quadratic = 1/(2 sigma^2)
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache

from hubbub.noise._inversion_table import InversionTable
from hubbub.noise.fixed_point import EnclosedReal, Enclosure, enclose_exp_neg

_STRATA_BITS = 4  # at least 2^4 strata per scale


@dataclass(frozen=True, slots=True)
class NoiseDistribution:
    """A distribution on the magnitudes 0, 1, 2, ...; ``signed`` mirrors it to the negative integers."""

    table: InversionTable
    shift: int
    linear: Fraction
    quadratic: Fraction
    signed: bool
    steps: tuple[float, float] = field(init=False)  # linear and quadratic as nearest doubles

    def __post_init__(self) -> None:
        object.__setattr__(self, "steps", (float(self.linear), float(self.quadratic)))

    def exponent(self, stratum: int, rest: int) -> Fraction:
        """Minus the logarithm of the chance to keep (stratum, rest)."""
        return rest * (self.linear + self.quadratic * ((stratum << (self.shift + 1)) + rest))


@lru_cache(maxsize=256)
def laplace_distribution(scale: Fraction, *, signed: bool = True, word_bits: int = 64) -> NoiseDistribution:
    """Mass proportional to exp(-|x| / scale); unsigned, the geometric distribution."""
    shift = _scale_shift(scale)
    powers = _Powers((1 << shift) / scale)
    table = InversionTable.build(lambda cell: powers.end(cell + 1), word_bits=word_bits)
    return NoiseDistribution(table, shift, 1 / scale, Fraction(0), signed)


@lru_cache(maxsize=256)
def gaussian_distribution(sigma: Fraction, *, word_bits: int = 64) -> NoiseDistribution:
    """Mass proportional to exp(-x^2 / (2 sigma^2))."""
    shift = _scale_shift(sigma)
    step = 1 / (2 * sigma * sigma)
    sums = _Sums(step * (1 << 2 * shift))
    return NoiseDistribution(InversionTable.build(sums.end, word_bits=word_bits), shift, Fraction(0), step, signed=True)


def _scale_shift(scale: Fraction) -> int:
    return max(0, int(scale).bit_length() - 1 - _STRATA_BITS)


class _Powers:
    """1 - exp(-n x): where n strata of the geometric distribution end."""

    def __init__(self, x: Fraction) -> None:
        self._x = x
        self._known: dict[int, list[int]] = {}  # precision -> powers of exp(-x), rounded down

    def end(self, count: int) -> EnclosedReal:
        return lambda bits: self._enclose(count, bits)

    def _enclose(self, count: int, bits: int) -> Enclosure:
        if count > 4096:
            low, high = enclose_exp_neg(self._x * count, bits)
            return (1 << bits) - high, (1 << bits) - low
        precision = bits + 32
        power = self._power(count, precision)
        error = 4 * count + 4  # each product adds the error of exp(-x), at most two, and one for its shift
        low, high = max(0, power - error) >> 32, ((power + error) >> 32) + 1
        return (1 << bits) - high, (1 << bits) - low

    def _power(self, count: int, precision: int) -> int:
        if precision not in self._known:
            self._known[precision] = [1 << precision, enclose_exp_neg(self._x, precision)[0]]
        powers = self._known[precision]
        while len(powers) <= count:
            powers.append(powers[-1] * powers[1] >> precision)
        return powers[count]


class _Sums:
    """sum_{j <= n} exp(-a j^2) / sum_j exp(-a j^2): where n + 1 strata of the Gaussian distribution end."""

    def __init__(self, a: Fraction) -> None:
        self._a = a
        self._known: dict[int, tuple[list[int], int]] = {}  # precision -> partial sums, error of each

    def end(self, cell: int) -> EnclosedReal:
        return lambda bits: self._enclose(cell, bits)

    def _enclose(self, cell: int, bits: int) -> Enclosure:
        sums, error = self._sums(bits + 64)
        part, total = sums[min(cell, len(sums) - 1)], sums[-1]
        low = ((part - error) << bits) // (total + error)
        high = ((part + error) << bits) // (total - error) + 1
        return low, min(high, 1 << bits)

    def _sums(self, precision: int) -> tuple[list[int], int]:
        if precision not in self._known:
            self._known[precision] = self._add_up(precision)
        return self._known[precision]

    def _add_up(self, precision: int) -> tuple[list[int], int]:
        """Partial sums at ``precision``, and one bound for the error of every one of them and of the rest.

        exp(-a) is off by at most 2 units, the ratio of neighbouring weights after j steps by 2 + 6 j, the
        weight by 3 (j+1)^2, a sum of them by (j+2)^3; what follows the last weight is a geometric series.
        """
        first = enclose_exp_neg(self._a, precision)[0]
        square = first * first >> precision
        weight, ratio, total = 1 << precision, first, 0
        sums: list[int] = []
        while weight:
            total += weight
            sums.append(total)
            weight = weight * ratio >> precision
            ratio = ratio * square >> precision
        count = len(sums)
        largest = ((3 * (count + 1) ** 2 + 1) << precision) // ((1 << precision) - ratio - 6 * count - 8)
        return sums, (count + 2) ** 3 + largest + 1
