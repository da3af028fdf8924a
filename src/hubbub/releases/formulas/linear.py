"""Weighted sums of noisy numbers: their values exactly, and how far they stray.

A sum of one noisy number has the exact quantile of the discrete noise. Of several, the noises are added up exactly
(their mass functions convolved) where they fit on one grid; else Gaussian noises add up to a normal distribution with
the sum of the variances, and mixtures with Laplace noise are simulated.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TypeAlias

import numpy as np

from hubbub.releases.noise_sums import NoiseSum, added_up
from hubbub.releases.noisy_columns import Floats, Noise, NoisyTable, noise_pmf, noise_radius

Part: TypeAlias = tuple[Fraction, Noise]  # how much one step of the noise weighs, and the noise

_POINTS = 1 << 19  # up to which mass functions are convolved
_DRAWS = 400_000
_SEED = 20250101  # public: it simulates what is known of released numbers


@dataclass(frozen=True, slots=True)
class LinearForm:
    """``constant`` plus a weight times each measure."""

    weights: Mapping[int, Fraction]
    constant: Fraction = Fraction(0)

    def plus(self, other: LinearForm) -> LinearForm:
        """The sum; what cancels is gone, so that a - a is exactly 0."""
        joint = {i: self.weights.get(i, 0) + other.weights.get(i, 0) for i in {*self.weights, *other.weights}}
        weights = {i: Fraction(w) for i, w in sorted(joint.items()) if w}
        return LinearForm(weights, self.constant + other.constant)

    def times(self, factor: Fraction) -> LinearForm:
        """The same, ``factor`` times as large."""
        return LinearForm({i: w * factor for i, w in self.weights.items() if factor}, self.constant * factor)

    def parts(self, table: NoisyTable) -> tuple[Part, ...]:
        """The noises in the sum."""
        known = ((w, table.measures[i]) for i, w in self.weights.items())
        return tuple((abs(w) * m.step, m.noise) for w, m in known if m.noise.distribution != "none")

    def exact(self, table: NoisyTable, *, shift: Fraction = Fraction(0)) -> tuple[list[int], int]:
        """The values, moved by ``shift``: integers, and what all of them are divided by."""
        steps = [(w * table.measures[i].step, table.measures[i].values) for i, w in self.weights.items()]
        constant = self.constant + shift
        unit = math.lcm(constant.denominator, *(step.denominator for step, _ in steps))
        sums = [int(constant * unit)] * table.size
        for step, values in steps:
            factor = int(step * unit)
            sums = [known + factor * value for known, value in zip(sums, values, strict=True)]
        return sums, unit

    def floats(self, table: NoisyTable) -> Floats:
        """The values as the nearest floats."""
        sums, unit = self.exact(table)
        return np.array([value / unit for value in sums], dtype=np.float64)

    def std_dev(self, table: NoisyTable) -> float:
        """The standard deviation."""
        return math.sqrt(sum((float(weight) * noise.std_dev()) ** 2 for weight, noise in self.parts(table)))


@lru_cache(maxsize=1024)
def sum_radius(parts: tuple[Part, ...], confidence: Fraction) -> Fraction:
    """How far the sum of those noises strays from 0, at most, with that confidence.

    Exact for one noise and for several on a common grid; a little too wide otherwise.
    """
    if not parts:
        return Fraction(0)
    if len(parts) == 1:
        [(weight, noise)] = parts
        return weight * noise.error(float(confidence))
    if any(isinstance(noise, NoiseSum) for _, noise in parts):
        return Fraction(added_up(parts).reach(confidence))
    unit = _common_step(parts)
    if 1 - confidence > Fraction(1, 10**9) and _convolution_size(parts, unit) <= _POINTS:
        return unit * _convolved_radius(parts, unit, float(confidence))
    if all(noise.distribution == "gaussian" for _, noise in parts):
        return _normal_radius(parts, float(confidence))
    return _simulated_radius(parts, float(confidence))


def _common_step(parts: tuple[Part, ...]) -> Fraction:
    """The largest step of which all weights are multiples."""
    bottom = math.lcm(*(weight.denominator for weight, _ in parts))
    return Fraction(math.gcd(*(int(weight * bottom) for weight, _ in parts)), bottom)


def _convolution_size(parts: tuple[Part, ...], unit: Fraction) -> Fraction:
    return sum((2 * noise_radius(noise) * weight / unit for weight, noise in parts), Fraction(1))


def _convolved_radius(parts: tuple[Part, ...], unit: Fraction, confidence: float) -> int:
    length = 1 << int(_convolution_size(parts, unit) + 2).bit_length()
    spectrum = np.ones(length // 2 + 1, dtype=np.complex128)
    for weight, noise in parts:
        points, masses = noise_pmf(noise.distribution, noise.scale)
        spread = np.zeros(length)
        spread[(points * int(weight / unit)).astype(np.int64) % length] = masses
        spectrum *= np.fft.rfft(spread)
    summed = np.fft.irfft(spectrum, length)[: length // 2]  # the distribution is symmetric: its upper half tells all
    return int(np.searchsorted(2 * np.cumsum(summed) - summed[0], confidence - 1e-12))


def _normal_radius(parts: tuple[Part, ...], confidence: float) -> Fraction:
    spread = math.sqrt(sum((float(weight) * float(noise.scale)) ** 2 for weight, noise in parts))
    coarsest = max(
        weight for weight, _ in parts
    )  # half of it covers what the normal distribution knows nothing of: steps
    return Fraction(normal_quantile(confidence) * spread) + coarsest / 2


def _simulated_radius(parts: tuple[Part, ...], confidence: float) -> Fraction:
    generator = np.random.default_rng(_SEED)
    drawn = sum((float(weight) * noise.draw(generator, _DRAWS) for weight, noise in parts), np.zeros(_DRAWS))
    safe = 3 * math.sqrt(confidence * (1 - confidence) / _DRAWS)  # three standard errors to the safe side
    return Fraction(float(np.quantile(np.abs(drawn), min(1.0, confidence + safe), method="higher")))


def normal_quantile(confidence: float) -> float:
    """How many standard deviations hold a normal distribution with that confidence."""
    return -NormalDist().inv_cdf((1 - confidence) / 2)
