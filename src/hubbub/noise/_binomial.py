"""Binomial numbers: fair coins are counted as bits, others drawn by table inversion, many trials as a sum of fewer."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from itertools import accumulate
from math import comb

import numpy as np
from numpy.typing import NDArray

from hubbub.noise._inversion_table import InversionTable
from hubbub.noise._source import RandomSource
from hubbub.noise.fixed_point import EnclosedReal, rational

_CHUNK = 256  # trials per table
_BITS = 1 << 16  # coins of each draw at a time


def binomial_many(trials: int, probability: Fraction, count: int, source: RandomSource) -> NDArray[np.int64]:
    """``count`` draws: a binomial of n + m trials is the sum of one of n and one of m."""
    if probability == Fraction(1, 2):
        return _fair_coins(trials, count, source)
    whole, rest = divmod(trials, _CHUNK)
    total = np.zeros(count, dtype=np.int64)
    for _ in range(whole):
        total += _invert_table(binomial_table(_CHUNK, probability), count, source)
    if rest:
        total += _invert_table(binomial_table(rest, probability), count, source)
    return total


def _fair_coins(trials: int, count: int, source: RandomSource) -> NDArray[np.int64]:
    """Each bit of a word is one coin."""
    total = np.zeros(count, dtype=np.int64)
    for start in range(0, trials, _BITS):
        coins = min(_BITS, trials - start)
        words = source.random_words(count * -(-coins // 64)).reshape(count, -1).copy()
        words[:, -1] >>= np.uint64(-coins % 64)
        total += np.bitwise_count(words).sum(axis=1, dtype=np.int64)
    return total


@lru_cache(maxsize=256)
def binomial_table(trials: int, probability: Fraction, word_bits: int = 64) -> InversionTable:
    """Cells 0, ..., trials of exactly the binomial masses."""
    hit, of = probability.numerator, probability.denominator
    masses = (comb(trials, k) * hit**k * (of - hit) ** (trials - k) for k in range(trials + 1))
    ends = [rational(Fraction(s, of**trials)) for s in accumulate(masses)]

    def end(cell: int) -> EnclosedReal:
        return ends[min(cell, trials)]

    return InversionTable.build(end, word_bits=word_bits)


def _invert_table(table: InversionTable, count: int, source: RandomSource) -> NDArray[np.int64]:
    words = source.random_words(count) >> np.uint64(64 - table.word_bits)
    cells = np.searchsorted(table.array, words).astype(np.int64)
    for i in np.flatnonzero(table.array[cells] == words):
        cells[i] = table.refine(int(words[i]), source)
    return cells
