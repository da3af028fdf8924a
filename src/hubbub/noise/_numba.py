"""The bulk step of drawing, compiled; the same decisions as ``_kernels.numpy_kernel``, draw by draw."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

from hubbub.noise._source import Words

_MARGIN = 2.0**-44


@njit(cache=True, nogil=True)
def fill_draws(
    words: Words,
    thresholds: Words,
    guide: NDArray[np.int32],
    shape: tuple[int, int, int, bool],
    steps: tuple[float, float],
    values: NDArray[np.int64],
    states: NDArray[np.uint8],
) -> None:
    """Write one value and one state (0 rejected, 1 kept, 2 undecided) for each column of ``words``."""
    guide_shift, drop, shift, signed = shape
    linear, quadratic = steps
    unit = 2.0 ** (drop - 64)
    stride = 2.0 ** (shift + 1)
    for i in range(words.shape[1]):
        word = words[0, i] >> np.uint64(drop)
        stratum = guide[word >> np.uint64(guide_shift)]
        while thresholds[stratum] < word:
            stratum += 1
        state = 2 if thresholds[stratum] == word else 1
        body = words[1, i]
        value = np.int64(stratum) << shift
        if shift > 0:
            rest = body >> np.uint64(64 - shift)
            value += np.int64(rest)
            if rest > 0 and state == 1:
                x = float(rest)
                exponent = x * (linear + quadratic * (stratum * stride + x))
                uniform = float(words[2, i] >> np.uint64(drop)) * unit
                if uniform + unit > 1 - exponent - 2 * _MARGIN:  # else exp(-e) >= 1 - e has decided already
                    chance = math.exp(-exponent)
                    if uniform >= chance + _MARGIN:
                        state = 0
                    elif uniform + unit > chance - _MARGIN:
                        state = 2
        if signed and body & np.uint64(1):
            if value == 0 and state == 1:
                state = 0
            value = -value
        values[i] = value
        states[i] = state
