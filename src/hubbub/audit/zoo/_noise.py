"""Noise for exhibits, from numpy's generator: it protects nobody.

It lies on a grid of 2^-20, so that the only fault of an exhibit is the one it was made for: noise in raw doubles would
give every one of them away by its low bits.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
GRID = 2.0**-20
_STATE = {"generator": np.random.default_rng()}


def seed(value: int | None) -> None:
    """Start the noise of all exhibits anew, so that a demonstration can be repeated."""
    _STATE["generator"] = np.random.default_rng(value)


def generator() -> np.random.Generator:
    """The generator of all exhibits."""
    return _STATE["generator"]


def laplace(scale: float, shape: int | tuple[int, ...]) -> Floats:
    """Discrete Laplace noise on the grid: the difference of two geometric numbers."""
    step = -np.expm1(-GRID / scale)
    rng = generator()
    return np.asarray((rng.geometric(step, shape) - rng.geometric(step, shape)) * GRID, dtype=np.float64)


def gaussian(sigma: float, shape: int | tuple[int, ...]) -> Floats:
    """Gaussian noise, rounded to the grid."""
    return np.asarray(np.rint(generator().normal(0.0, sigma, shape) / GRID) * GRID, dtype=np.float64)
