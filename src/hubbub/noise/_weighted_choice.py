"""Choosing among candidates with weights (integer) * exp(-rate * exponent), exactly: of a list, or of tuples by their
largest loss.

The cumulative weights are summed in doubles with a known error; a uniform number that falls well inside one
cell decides at once. Where it falls within the error of a boundary the decision is made in certified
arithmetic with the same uniform number, continued by further bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import accumulate
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.noise._lazy_uniform import LazyUniform
from hubbub.noise._source import RandomSource
from hubbub.noise.fixed_point import EnclosedReal, Enclosure, enclose_exp_neg

Exponents: TypeAlias = Sequence[Fraction | int] | NDArray[np.int64]
Weights: TypeAlias = NDArray[Any]  # integers

_FARTHEST = Fraction(700)  # beyond, exp(-x) is nothing beside the largest weight
MOST_BITS = 1000  # of the number of tuples, whose logarithm then is below 700
_FARTHEST_OF_TUPLES = 2000.0  # beyond, exp(700 - x) is nothing


def choose_weighted(
    exponents: Exponents, weights: Weights, rate: Fraction, source: RandomSource, *, word_bits: int = 64
) -> int:
    """Index i with probability proportional to weights[i] * exp(-rate * exponents[i]); weights are at least 1."""
    gaps = _exponent_gaps(exponents)
    word = source.bits(word_bits)
    guess = _choose_in_doubles(gaps, weights, rate, word, word_bits)
    return _choose_exactly(gaps, weights, rate, LazyUniform(word, word_bits, source)) if guess is None else guess


def choose_largest_loss(
    counts: NDArray[np.int64], losses: NDArray[np.int64], rate: Fraction, source: RandomSource, *, word_bits: int = 64
) -> int:
    """Index k with probability proportional to (M[k] - M[k - 1]) * exp(-rate * losses[k]), M[k] = prod counts[:, k].

    Losses rise, and ``counts`` never fall along them and are at least 1; the last product has at most ``MOST_BITS``.
    """
    word = source.bits(word_bits)
    guess = _choose_loss_in_doubles(counts, losses, rate, word, word_bits)
    if guess is not None:
        return guess
    products = [math.prod(column) for column in counts.T.tolist()]
    weights = np.array([a - b for a, b in zip(products, [0, *products], strict=False)], dtype=object)
    return _choose_exactly(_exponent_gaps(losses), weights, rate, LazyUniform(word, word_bits, source))


def _choose_loss_in_doubles(
    counts: NDArray[np.int64], losses: NDArray[np.int64], rate: Fraction, word: int, word_bits: int
) -> int | None:
    """The loss of the word if doubles decide it with certainty.

    Differences of products would lose digits, so the sum is taken by parts: all its terms are positive.
    """
    scaled = np.minimum((losses - losses[0]) * float(min(rate, Fraction(2000))), _FARTHEST_OF_TUPLES)
    heights = np.log(counts.astype(np.float64)).sum(axis=0) - scaled
    masses = np.exp(heights - heights.max())  # M[k] exp(-rate loss[k])
    before = masses[:-1] * -np.expm1(-np.diff(scaled))  # M[k] (exp(-rate loss[k]) - exp(-rate loss[k + 1]))
    ends = np.maximum.accumulate(masses + np.concatenate([[0.0], np.cumsum(before)]))
    total = float(ends[-1])
    # relative error of a mass: 2^-52 times a few thousand from its exponent; of the sum: one unit per term
    margin = total * (len(losses) + 16384) * 2.0**-50
    low = float(np.ldexp(float(word), -word_bits)) * total - margin
    high = float(np.ldexp(float(word + 1), -word_bits)) * total + margin
    first, last = (int(i) for i in np.searchsorted(ends, [low, high], side="right"))
    return first if first == last and first < len(losses) else None


def _exponent_gaps(exponents: Exponents) -> Exponents:
    if isinstance(exponents, np.ndarray):
        if int(exponents.max()) - int(exponents.min()) < 1 << 63:  # else the difference would wrap around
            return np.asarray(exponents - exponents.min(), dtype=np.int64)
        exponents = exponents.tolist()
    least = min(exponents)
    return [x - least for x in exponents]


def _choose_in_doubles(gaps: Exponents, weights: Weights, rate: Fraction, word: int, word_bits: int) -> int | None:
    """The cell of the word if doubles decide it with certainty."""
    ends = np.cumsum(weights * np.exp(-_scaled_gaps(gaps, rate)))
    total = float(ends[-1])
    # relative error of a mass: 700 * 2^-52 from its exponent and a few units more; of the sum: one unit per term
    margin = total * (len(gaps) + 4096) * 2.0**-50
    low = float(np.ldexp(float(word), -word_bits)) * total - margin
    high = float(np.ldexp(float(word + 1), -word_bits)) * total + margin
    first, last = (int(i) for i in np.searchsorted(ends, [low, high], side="right"))
    return first if first == last and first < len(gaps) else None


def _scaled_gaps(gaps: Exponents, rate: Fraction) -> NDArray[np.float64]:
    if isinstance(gaps, np.ndarray):
        steepest = float(min(rate, _FARTHEST))  # a gap is a whole number: beyond, 1 is as far as anything
        return np.asarray(np.minimum(gaps * steepest, float(_FARTHEST)), dtype=np.float64)
    return np.array([float(min(rate * gap, _FARTHEST)) for gap in gaps])


def _choose_exactly(gaps: Exponents, weights: Weights, rate: Fraction, uniform: LazyUniform) -> int:
    """Bisect for the first cell whose end lies above the uniform number."""
    end = _cell_ends(gaps, weights, rate)
    low, high = 0, len(gaps) - 1
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if uniform.less_than(end(middle)) else (middle + 1, high)
    return low


def _cell_ends(gaps: Exponents, weights: Weights, rate: Fraction) -> Callable[[int], EnclosedReal]:
    known: dict[int, list[Enclosure]] = {}
    spare = 64 + int(weights.max()).bit_length()

    def end(cell: int) -> EnclosedReal:
        def enclose(bits: int) -> Enclosure:
            if bits not in known:
                known[bits] = _weight_sums(gaps, weights, rate, bits + spare)
            (part_low, part_high), (low, high) = known[bits][cell], known[bits][-1]
            return (part_low << bits) // high, -(-(part_high << bits) // low)

        return enclose

    return end


def _weight_sums(gaps: Exponents, weights: Weights, rate: Fraction, precision: int) -> list[Enclosure]:
    listed: Sequence[Fraction | int] = gaps.tolist() if isinstance(gaps, np.ndarray) else gaps
    masses = {gap: enclose_exp_neg(rate * gap, precision) for gap in set(listed)}
    pairs = list(zip(listed, weights.tolist(), strict=True))
    lows = accumulate(weight * masses[gap][0] for gap, weight in pairs)
    highs = accumulate(weight * masses[gap][1] for gap, weight in pairs)
    return list(zip(lows, highs, strict=True))
