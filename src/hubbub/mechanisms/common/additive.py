"""What the mechanisms that add noise share: a number in, the same number with noise out."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.error_quantiles import gaussian_error, laplace_error
from hubbub.mechanisms.common.grid_values import (
    Number,
    Numbers,
    Steps,
    add_exactly,
    integers_of,
    pack_integers,
    scale_steps,
    shape_of,
    steps_of,
)
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.terms import GaussianNoise, LaplaceNoise, Real

AdditiveNoise = LaplaceNoise | GaussianNoise


@overload
def draw_noise(event: AdditiveNoise, shape: None, *, rng: noise.RandomSource | None) -> int: ...
@overload
def draw_noise(
    event: AdditiveNoise, shape: tuple[int, ...], *, rng: noise.RandomSource | None
) -> NDArray[np.int64]: ...
@overload
def draw_noise(
    event: AdditiveNoise, shape: tuple[int, ...] | None, *, rng: noise.RandomSource | None
) -> int | NDArray[np.int64]: ...
def draw_noise(
    event: AdditiveNoise, shape: tuple[int, ...] | None, *, rng: noise.RandomSource | None
) -> int | NDArray[np.int64]:
    """The noise that the event speaks of, in grid steps."""
    laplace = isinstance(event, LaplaceNoise)
    draw = noise.discrete_laplace if laplace else noise.discrete_gaussian
    scale = (event.scale if isinstance(event, LaplaceNoise) else event.sigma) / event.grid
    if shape is None or scale <= noise.LARGEST_SCALE_IN_ARRAYS:
        return draw(scale, shape, rng=rng)
    return pack_integers([draw(scale, rng=rng) for _ in range(math.prod(shape))], shape)  # beyond 64-bit integers


def noise_radius(event: AdditiveNoise, confidence: Real) -> int:
    """The distance in grid steps that this noise stays within, with that confidence."""
    if isinstance(event, LaplaceNoise):
        return laplace_error(event.scale / event.grid, confidence)
    return gaussian_error(event.sigma / event.grid, confidence)


class RealMechanism(Mechanism):
    """Adds the event's noise to reals, rounded to the event's grid."""

    event: AdditiveNoise
    _missing: Fraction

    @overload
    def release(self, x: Number, *, rng: noise.RandomSource | None = None) -> float: ...
    @overload
    def release(self, x: Numbers, *, rng: noise.RandomSource | None = None) -> float | NDArray[np.float64]: ...
    def release(self, x: Numbers, *, rng: noise.RandomSource | None = None) -> float | NDArray[np.float64]:
        """``x`` with fresh noise: a float for a number, an array for several."""
        steps = steps_of(x, grid=self.event.grid, missing=self._missing, dimension=self.event.dimension)
        return scale_steps(add_exactly(steps, draw_noise(self.event, shape_of(steps), rng=rng)), self.event.grid)

    def error(self, confidence: Real) -> float:
        """The distance that each coordinate's error stays within, with that confidence."""
        return float((noise_radius(self.event, confidence) + 1) * self.event.grid)  # one step for rounding


class IntegerMechanism(Mechanism):
    """Adds the event's noise to integers."""

    event: AdditiveNoise

    @overload
    def release(self, x: int, *, rng: noise.RandomSource | None = None) -> int: ...
    @overload
    def release(self, x: Numbers, *, rng: noise.RandomSource | None = None) -> int | Steps: ...
    def release(self, x: Numbers, *, rng: noise.RandomSource | None = None) -> int | Steps:
        """``x`` with fresh noise: an int for an integer, an array of integers for several."""
        steps = integers_of(x, dimension=self.event.dimension)
        return add_exactly(steps, draw_noise(self.event, shape_of(steps), rng=rng))

    def error(self, confidence: Real) -> int:
        """The distance that each coordinate's error stays within, with that confidence."""
        return noise_radius(self.event, confidence)
