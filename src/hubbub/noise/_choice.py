"""Choosing among candidates with weights exp(-x), exactly.

The cumulative weights are summed in doubles with a known error; a uniform number that falls well inside one
cell decides at once. Where it falls within the error of a boundary the decision is made in certified
arithmetic with the same uniform number, continued by further bits.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from hubbub.noise._fixed import Enclosure, Real, enclose_exp_neg
from hubbub.noise._lazy import LazyUniform
from hubbub.noise._source import Source


def choose(exponents: Sequence[Fraction | int], source: Source, *, word_bits: int = 64) -> int:
    """Index i with probability proportional to exp(-exponents[i])."""
    least = min(exponents)
    gaps = [x - least for x in exponents]
    word = source.bits(word_bits)
    guess = _quickly(gaps, word, word_bits)
    return _exactly(gaps, LazyUniform(word, word_bits, source)) if guess is None else guess


def _quickly(gaps: Sequence[Fraction | int], word: int, word_bits: int) -> int | None:
    """The cell of the word if doubles decide it with certainty."""
    weights = np.exp(-np.minimum(np.array([float(g) for g in gaps]), 700.0))
    ends = np.cumsum(weights)
    # each weight: exponent rounded (700 * 2^-53), exp a few ulp; cumsum: one rounding per term
    error = ends[-1] * (len(gaps) + 4) * 2.0**-50 + len(gaps) * 2.0**-1000
    low = np.ldexp(float(word), -word_bits) * ends[-1]
    high = np.ldexp(float(word + 1), -word_bits) * ends[-1]
    first = int(np.searchsorted(ends, low - 4 * error))
    last = int(np.searchsorted(ends, high + 4 * error))
    return first if first == last and first < len(gaps) else None


def _exactly(gaps: Sequence[Fraction | int], uniform: LazyUniform) -> int:
    known: dict[int, list[Enclosure]] = {}

    def end(cell: int) -> Real:
        def enclose(bits: int) -> Enclosure:
            if bits not in known:
                known[bits] = _sums(gaps, bits + 32)
            (part_low, part_high), (low, high) = known[bits][cell], known[bits][-1]
            return (part_low << bits) // high, -(-(part_high << bits) // low)

        return enclose

    return next(cell for cell in range(len(gaps)) if cell == len(gaps) - 1 or uniform.less_than(end(cell)))


def _sums(gaps: Sequence[Fraction | int], precision: int) -> list[Enclosure]:
    low = high = 0
    sums: list[Enclosure] = []
    for gap in gaps:
        weight = enclose_exp_neg(Fraction(gap), precision)
        low, high = low + weight[0], high + weight[1]
        sums.append((low, high))
    return sums
