"""Drawing from a law: the quick cases in bulk, the undecided ones exactly, the rejected ones again.

A draw takes three words: one for the stratum, one for the sign and the rest, one for the decision to keep.
The bulk kernel works in doubles and marks what it cannot decide with certainty; those draws are finished
in exact arithmetic *with the same words*, continued by further bits. Nothing is redrawn because it was
undecided: that would bend the law.
"""

from __future__ import annotations

import math
from bisect import bisect_left

import numpy as np
from numpy.typing import NDArray

from hubbub.noise._distributions import Law
from hubbub.noise._kernels import KEPT, MARGIN, REJECTED, UNDECIDED, Kernel, kernel_for
from hubbub.noise._lazy_uniform import LazyUniform
from hubbub.noise._source import RandomSource, Words
from hubbub.noise.fixed_point import exp_neg

_BATCH = 1 << 15  # draws at a time: their words stay in the cache


def draw_many(law: Law, count: int, source: RandomSource) -> NDArray[np.int64]:
    """``count`` independent draws from ``law``."""
    out = np.empty(count, dtype=np.int64)
    kernel = kernel_for(count)
    for start in range(0, count, _BATCH):
        _fill(out[start : start + _BATCH], law, source, kernel)
    return out


def _fill(out: NDArray[np.int64], law: Law, source: RandomSource, kernel: Kernel) -> None:
    """Fill ``out``, drawing again for rejected places until none is left."""
    out[:], rejected = _draw(law, out.size, source, kernel)
    places = np.flatnonzero(rejected)
    while places.size:
        out[places], rejected = _draw(law, places.size, source, kernel)
        places = places[rejected]


def _draw(law: Law, count: int, source: RandomSource, kernel: Kernel) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """So many draws, and which of them are rejected: their values mean nothing."""
    words = source.words(3 * count).reshape(3, count)
    values, states = kernel(law, words)
    for i in np.flatnonzero(states == UNDECIDED):
        value = _decide(law, words[:, i], source)
        values[i], states[i] = (0, REJECTED) if value is None else (value, KEPT)
    return values, states == REJECTED


def _decide(law: Law, words: Words, source: RandomSource) -> int | None:
    """The value of a draw that the kernel left undecided, or None if it is rejected."""
    word, body, coin = (int(w) for w in words)
    drop = 64 - law.table.word_bits
    rest = body >> (64 - law.shift) if law.shift else 0
    return _value(law, (word >> drop, coin >> drop), rest, bool(body & 1), source)


def draw_one(law: Law, source: RandomSource) -> int:
    """One draw from ``law``, for scales of any size."""
    bits = law.table.word_bits
    mask = (1 << bits) - 1
    while True:
        random = source.bits(2 * bits + 1 + law.shift)
        rest, negative = random >> (2 * bits + 1), bool(random >> (2 * bits) & 1)
        value = _value(law, (random & mask, random >> bits & mask), rest, negative, source)
        if value is not None:
            return value


def _value(law: Law, words: tuple[int, int], rest: int, negative: bool, source: RandomSource) -> int | None:
    """The draw that these words stand for (stratum, coin; rest and sign), or None if it is rejected."""
    word, coin = words
    stratum = bisect_left(law.table.thresholds, word)
    if law.table.thresholds[stratum] == word:
        stratum = law.table.refine(word, source)
    if rest and not _keep(law, stratum, rest, coin, source):
        return None
    magnitude = (stratum << law.shift) + rest
    if not (law.signed and negative):
        return magnitude
    return -magnitude or None  # minus zero is rejected, so that zero is not counted twice


def _keep(law: Law, stratum: int, rest: int, coin: int, source: RandomSource) -> bool:
    """True with probability exactly exp(-exponent): in doubles where they decide, else by refinement."""
    linear, quadratic = law.steps
    bits = law.table.word_bits
    chance = math.exp(-rest * (linear + quadratic * ((stratum << (law.shift + 1)) + rest)))
    if math.ldexp(coin, -bits) >= chance + MARGIN:
        return False
    if math.ldexp(coin + 1, -bits) <= chance - MARGIN:
        return True
    return LazyUniform(coin, bits, source).less_than(exp_neg(law.exponent(stratum, rest)))
