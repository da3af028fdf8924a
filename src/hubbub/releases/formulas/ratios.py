"""Intervals for a ratio of two noisy numbers, by Fieller's method.

If a truth is S / N = t, then S - t N is 0, and its noisy version is noise alone. So the set of all t for which the
noisy S - t N is within its own error covers the truth as often as that error holds: exactly, whatever S and N are.
For Gaussian noise the error is z sqrt(var S - 2 t cov + t^2 var N), so the set is where a quadratic is not positive:
an interval if N is well above its noise, and unbounded if it is not.

With Laplace noise the factor z is replaced by the largest one that any mixture of the noises needs: a little wide.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from hubbub.releases.formulas.linear import LinearForm, normal_quantile
from hubbub.releases.noisy_columns import Floats, Noise, NoisyTable

_WIDER = 1.005  # for mixtures that the grid of _laplace_factor does not hold


class Spread(NamedTuple):
    """Variances of numerator and denominator, their covariance, and how many standard deviations to take."""

    top: float
    bottom: float
    both: float
    factor: float


def ratio_spread(top: LinearForm, bottom: LinearForm, table: NoisyTable, confidence: float) -> Spread:
    """What the noise of both does to the ratio."""
    weights = {i: (top.weights.get(i, 0), bottom.weights.get(i, 0)) for i in {*top.weights, *bottom.weights}}
    measures = {i: table.measures[i] for i in weights}
    distributions = {measure.noise.distribution for measure in measures.values()}
    known = [
        (float(a), float(b), (float(measures[i].step) * effective_std_dev(measures[i].noise, confidence)) ** 2)
        for i, (a, b) in weights.items()
    ]
    return Spread(
        sum(a * a * v for a, _, v in known),
        sum(b * b * v for _, b, v in known),
        sum(a * b * v for a, b, v in known),
        laplace_factor(confidence) if "laplace" in distributions else normal_quantile(confidence),
    )


def effective_std_dev(noise: Noise, confidence: float) -> float:
    """A standard deviation large enough that the noise alone keeps its exact discrete quantile."""
    if noise.distribution == "none":
        return 0.0
    single = (
        -math.log(1 - confidence) / math.sqrt(2) if noise.distribution == "laplace" else normal_quantile(confidence)
    )
    return max(noise.std_dev(), noise.error(confidence) / single)


@lru_cache(maxsize=256)
def laplace_factor(confidence: float) -> float:
    """How many standard deviations hold any sum of two Laplace noises, or a normal one, with that confidence."""
    mixes = (_mixed_quantile(angle, 1 - confidence) for angle in np.linspace(0, math.pi / 4, 46))
    return _WIDER * max(normal_quantile(confidence), *mixes)


def _mixed_quantile(angle: float, miss: float) -> float:
    """The two-sided quantile of a sum of two Laplace distributions with variances cos^2 and sin^2."""
    low, high = 0.0, 40.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if _mixed_tail(middle, angle) > miss else (low, middle)
    return high


def _mixed_tail(width: float, angle: float) -> float:
    a, b = math.cos(angle) / math.sqrt(2), math.sin(angle) / math.sqrt(2)
    if b < 1e-6:
        return math.exp(-width / a)
    if abs(a - b) < 1e-6:
        return (1 + width / (2 * a)) * math.exp(-width / a)
    return (a * a * math.exp(-width / a) - b * b * math.exp(-width / b)) / (a * a - b * b)


def fieller_interval(top: Floats, bottom: Floats, known: Spread) -> tuple[Floats, Floats]:
    """Ends of the set of ratios that the noise allows, row by row; infinite where it is unbounded."""
    square = known.factor**2
    a = bottom**2 - square * known.bottom
    b = top * bottom - square * known.both
    inner = bottom**2 * known.top - 2 * known.both * top * bottom + top**2 * known.bottom
    inner -= square * (known.bottom * known.top - known.both**2)
    root = known.factor * np.sqrt(np.maximum(inner, 0.0))
    bounded = a > 0
    safe = np.where(bounded, a, 1.0)
    return np.where(bounded, (b - root) / safe, -np.inf), np.where(bounded, (b + root) / safe, np.inf)
