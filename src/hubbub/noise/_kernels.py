"""The bulk step of drawing, twice: in numpy, and, where numba is installed, compiled.

A kernel takes a distribution and three rows of words and gives values and states. It decides only what doubles
decide with certainty. Error budget of the keep test: the steps are nearest doubles, ``stratum`` is exact
and ``rest`` is rounded once, so the exponent (below 4 for every stratum in a table) has a relative error
below 6 * 2^-53 and the exponential an absolute error below 2^-49; the margin of 2^-44 is 32 times that.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
from numpy.typing import NDArray

from hubbub.noise._distributions import NoiseDistribution
from hubbub.noise._source import Words

REJECTED, KEPT, UNDECIDED = 0, 1, 2
MARGIN = 2.0**-44

_BULK = 20_000  # draws in one request from which a kernel matters
_COMPILE_AFTER = 500_000  # such draws in this process after which loading the compiler pays

_drawn = [0]  # how many there were: nothing but a measure of work

Result = tuple[NDArray[np.int64], NDArray[np.uint8]]
Kernel = Callable[[NoiseDistribution, Words], Result]


def kernel_for(count: int) -> Kernel:
    """The quickest kernel for that many draws; loading the compiler takes a second, so only much work calls for it."""
    if count < _BULK:
        return numpy_kernel
    _drawn[0] += count
    return (_compiled_kernel() if _drawn[0] >= _COMPILE_AFTER else None) or numpy_kernel


def numpy_kernel(distribution: NoiseDistribution, words: Words) -> Result:
    """The bulk step in numpy."""
    drop = np.uint64(64 - distribution.table.word_bits)
    word = words[0] >> drop
    stratum = np.searchsorted(distribution.table.array, word)
    undecided = distribution.table.array[stratum] == word
    values = stratum.astype(np.int64) << distribution.shift
    states = np.full(word.size, KEPT, dtype=np.uint8)
    if distribution.shift:
        rest = words[1] >> np.uint64(64 - distribution.shift)
        unsure, rejected = _keep_test(distribution, stratum, rest, words[2] >> drop)
        states[rejected] = REJECTED
        undecided |= unsure
        values += rest.astype(np.int64)
    if distribution.signed:
        negative = (words[1] & np.uint64(1)).astype(bool)
        states[negative & (values == 0)] = REJECTED
        values = np.where(negative, -values, values)
    states[undecided] = UNDECIDED
    return values, states


def _keep_test(
    distribution: NoiseDistribution, stratum: NDArray[np.intp], rest: Words, coin: Words
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    linear, quadratic = distribution.steps
    start = np.ldexp(stratum.astype(np.float64), distribution.shift + 1)
    rest_float = rest.astype(np.float64)
    chance = np.exp(-rest_float * (linear + quadratic * (start + rest_float)))
    uniform = np.ldexp(coin.astype(np.float64), -distribution.table.word_bits)
    rejected = uniform >= chance + MARGIN
    sure = uniform + 2.0**-distribution.table.word_bits <= chance - MARGIN
    return ~(rejected | sure) & (rest > 0), rejected & (rest > 0)


@cache
def _compiled_kernel() -> Kernel | None:
    """The bulk step compiled by numba, or None where numba is missing or finds no place for its compiled code."""
    try:
        from hubbub.noise._numba import fill_draws
    except (ImportError, RuntimeError):
        return None

    def kernel(distribution: NoiseDistribution, words: Words) -> Result:
        values = np.empty(words.shape[1], dtype=np.int64)
        states = np.empty(words.shape[1], dtype=np.uint8)
        fill_draws(
            words,
            distribution.table.array,
            distribution.table.guide,
            _kernel_shape(distribution),
            distribution.steps,
            values,
            states,
        )
        return values, states

    return kernel


def _kernel_shape(distribution: NoiseDistribution) -> tuple[int, int, int, bool]:
    return distribution.table.guide_shift, 64 - distribution.table.word_bits, distribution.shift, distribution.signed
