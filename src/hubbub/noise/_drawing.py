"""Drawing from a distribution: the quick cases in bulk, the undecided ones exactly, the rejected ones again.

A draw takes three words: one for the stratum, one for the sign and the rest, one for the decision to keep.
The bulk kernel works in doubles and marks what it cannot decide with certainty; those draws are finished
in exact arithmetic *with the same words*, continued by further bits. Nothing is redrawn because it was
undecided: that would bend the distribution.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from hubbub.noise._distributions import NoiseDistribution
from hubbub.noise._kernels import KEPT, MARGIN, REJECTED, UNDECIDED, Kernel, kernel_for
from hubbub.noise._lazy_uniform import LazyUniform
from hubbub.noise._source import RandomSource, Words
from hubbub.noise.fixed_point import exp_neg

_BATCH = 1 << 15  # draws at a time: their words stay in the cache


def draw_many(distribution: NoiseDistribution, count: int, source: RandomSource) -> NDArray[np.int64]:
    """``count`` independent draws from ``distribution``."""
    out = np.empty(count, dtype=np.int64)
    kernel = kernel_for(count)
    for start in range(0, count, _BATCH):
        _fill_array(out[start : start + _BATCH], distribution, source, kernel)
    return out


def _fill_array(out: NDArray[np.int64], distribution: NoiseDistribution, source: RandomSource, kernel: Kernel) -> None:
    """Fill ``out``, drawing again for rejected places until none is left."""
    out[:], rejected = _draw_batch(distribution, out.size, source, kernel)
    places = np.flatnonzero(rejected)
    while places.size:
        out[places], rejected = _draw_batch(distribution, places.size, source, kernel)
        places = places[rejected]


def _draw_batch(
    distribution: NoiseDistribution, count: int, source: RandomSource, kernel: Kernel
) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """So many draws, and which of them are rejected: their values mean nothing."""
    words = source.random_words(3 * count).reshape(3, count)
    values, states = kernel(distribution, words)
    for i in np.flatnonzero(states == UNDECIDED):
        value = _decide_draw(distribution, words[:, i], source)
        values[i], states[i] = (0, REJECTED) if value is None else (value, KEPT)
    return values, states == REJECTED


def _decide_draw(distribution: NoiseDistribution, words: Words, source: RandomSource) -> int | None:
    """The value of a draw that the kernel left undecided, or None if it is rejected."""
    word, body, coin = (int(w) for w in words)
    drop = 64 - distribution.table.word_bits
    rest = body >> (64 - distribution.shift) if distribution.shift else 0
    return _draw_value(distribution, (word >> drop, coin >> drop), rest, bool(body & 1), source)


def draw_one(distribution: NoiseDistribution, source: RandomSource) -> int:
    """One draw from ``distribution``, for scales of any size."""
    bits = distribution.table.word_bits
    mask = (1 << bits) - 1
    while True:
        random = source.bits(2 * bits + 1 + distribution.shift)
        rest, negative = random >> (2 * bits + 1), bool(random >> (2 * bits) & 1)
        value = _draw_value(distribution, (random & mask, random >> bits & mask), rest, negative, source)
        if value is not None:
            return value


def _draw_value(
    distribution: NoiseDistribution, words: tuple[int, int], rest: int, negative: bool, source: RandomSource
) -> int | None:
    """The draw that these words stand for (stratum, coin; rest and sign), or None if it is rejected."""
    word, coin = words
    stratum = bisect_left(distribution.table.thresholds, word)
    if distribution.table.thresholds[stratum] == word:
        stratum = distribution.table.refine(word, source)
    if rest and not _keeps_draw(distribution, stratum, rest, coin, source):
        return None
    magnitude = (stratum << distribution.shift) + rest
    if not (distribution.signed and negative):
        return magnitude
    return -magnitude or None  # minus zero is rejected, so that zero is not counted twice


def _keeps_draw(distribution: NoiseDistribution, stratum: int, rest: int, coin: int, source: RandomSource) -> bool:
    """True with probability exactly exp(-exponent): in doubles where they decide, else by refinement."""
    linear, quadratic = distribution.steps
    bits = distribution.table.word_bits
    chance = math.exp(-rest * (linear + quadratic * ((stratum << (distribution.shift + 1)) + rest)))
    if math.ldexp(coin, -bits) >= chance + MARGIN:
        return False
    if math.ldexp(coin + 1, -bits) <= chance - MARGIN:
        return True
    return LazyUniform(coin, bits, source).less_than(exp_neg(distribution.exponent(stratum, rest)))
