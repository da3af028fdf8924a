"""A family of hash functions from 32-bit codes to a few buckets, one for each public 32-bit seed.

h(x) = multiply-shift of the upper half of a x + b mod 2^64. For uniform a and b this is pairwise independent [DHKP97];
a and b are made from the seed by a fixed mixing function. Privacy does not rest on any of it: a seed has nothing
to do with the value, and a report is private for every single hash function.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.common.exact_words import Codes

SEEDS = 1 << 32
_MASK = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
_HALF = np.uint64(32)


def mix(number: int) -> int:
    """A fixed scrambling of 64 bits (the finaliser of splitmix64)."""
    z = (number + _GOLDEN) & _MASK
    z = ((z ^ (z >> 30)) * _FIRST) & _MASK
    z = ((z ^ (z >> 27)) * _SECOND) & _MASK
    return z ^ (z >> 31)


def mix_many(numbers: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """``mix`` for arrays."""
    z = numbers + np.uint64(_GOLDEN)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(_FIRST)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(_SECOND)
    return z ^ (z >> np.uint64(31))


def bucket(seed: int, code: int, buckets: int) -> int:
    """The bucket of one code under one seed."""
    line = (mix(seed) * code + mix(seed + SEEDS)) & _MASK
    return ((line >> 32) * buckets) >> 32


def lines(seeds: Codes) -> tuple[NDArray[np.uint64], NDArray[np.uint64]]:
    """The numbers a and b of each seed."""
    numbers = seeds.astype(np.uint64)
    return mix_many(numbers), mix_many(numbers + np.uint64(SEEDS))


def bucket_many(seeds: Codes, codes: Codes, buckets: int) -> Codes:
    """The bucket of each code under each seed; the two are broadcast against each other."""
    slope, start = lines(seeds)
    line = slope * codes.astype(np.uint64) + start
    line >>= _HALF
    line *= np.uint64(buckets)
    line >>= _HALF
    return line.view(np.int64)
