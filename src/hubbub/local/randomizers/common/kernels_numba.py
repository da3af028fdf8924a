"""The loop of ``kernels``, compiled."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Words = NDArray[np.uint64]


@njit(cache=True, nogil=True)
def count_hits_compiled(slope: Words, start: Words, answers: Words, codes: Words, buckets: np.uint64) -> Counts:
    """For each code, how many reports name its bucket."""
    total = np.zeros(codes.size, dtype=np.int64)
    half = np.uint64(32)
    for i in range(slope.size):
        a, b, y = slope[i], start[i], answers[i]
        for v in range(codes.size):
            if (((a * codes[v] + b) >> half) * buckets) >> half == y:
                total[v] += 1
    return total
