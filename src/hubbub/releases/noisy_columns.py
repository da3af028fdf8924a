"""What a release is made of: noisy integers with the distribution of their noise, and the keys beside them.

A ``NoisyColumn`` here is a column of noisy integers. (``hubbub.terms.Measure`` is another thing: a measure of privacy
loss.) Everything in this room works on numbers that were released already: post-processing, which costs nothing.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.common import gaussian_error, laplace_error
from hubbub.terms import OutOfRange, WrongShape, fraction_of, positive

Floats = NDArray[np.float64]

DISTRIBUTIONS = ("gaussian", "laplace", "none")
_TABLED = 64  # scale up to which a discrete Gaussian is drawn from its own table, not from a rounded normal


@dataclass(frozen=True, slots=True)
class Noise:
    """The distribution of the noise in one integer: discrete Gaussian (``scale`` is sigma), discrete Laplace, or none.

    >>> Noise("gaussian", Fraction(10)).error(0.95), Noise("laplace", Fraction(10)).error(0.95)
    (20, 30)
    """

    distribution: str
    scale: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        if self.distribution not in DISTRIBUTIONS:
            raise OutOfRange(
                f"the distribution of a noise must be one of {', '.join(DISTRIBUTIONS)}.",
                why="Intervals are worked out from the distribution.",
                fix='Write Noise("gaussian", sigma), Noise("laplace", b) or Noise("none").',
            )
        scale = Fraction(0) if self.distribution == "none" else positive(self.scale, name="scale")
        object.__setattr__(self, "scale", scale)

    def std_dev(self) -> float:
        """The standard deviation, in steps."""
        return _std_dev(self.distribution, self.scale)

    def error(self, confidence: float) -> int:
        """The least integer w such that the noise is beyond w, on either side, with chance 1 - confidence at most."""
        return _noise_error(self.distribution, self.scale, fraction_of(confidence, name="confidence"))

    def draw(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Such noise for SIMULATING uncertainty; never for protecting anything (``hubbub.noise`` does)."""
        scale = float(self.scale)
        if self.distribution == "none":
            return np.zeros(size)
        if self.distribution == "laplace":
            return _laplace_draws(generator, scale, size)
        if scale > _TABLED:
            return np.rint(generator.normal(0.0, scale, size))
        points, masses = noise_pmf("gaussian", self.scale)
        return points[np.searchsorted(np.cumsum(masses)[:-1], generator.random(size))]

    def describe(self) -> str:
        """The noise as a column's mechanism is told."""
        if self.distribution == "none":
            return "no noise: a public number"
        name, scale = ("Gaussian", "sigma") if self.distribution == "gaussian" else ("Laplace", "scale")
        return f"discrete {name} noise, {scale} = {float(self.scale):.6g} steps"


def _laplace_draws(generator: np.random.Generator, scale: float, size: int | tuple[int, ...]) -> Floats:
    if scale > 1e6:
        return np.rint(generator.laplace(0.0, scale, size))
    chance = -math.expm1(-1 / scale)
    return (generator.geometric(chance, size) - generator.geometric(chance, size)).astype(np.float64)


@lru_cache(maxsize=256)
def _std_dev(distribution: str, scale: Fraction) -> float:
    s = float(scale)
    if distribution == "none":
        return 0.0
    if distribution == "laplace":
        return math.sqrt(2) * math.exp(-0.5 / s) / -math.expm1(-1 / s)
    if s > _TABLED:
        return s
    points, masses = noise_pmf(distribution, scale)
    return math.sqrt(float(masses @ points**2))


@lru_cache(maxsize=1024)
def _noise_error(distribution: str, scale: Fraction, confidence: Fraction) -> int:
    if distribution == "none":
        return 0
    return laplace_error(scale, confidence) if distribution == "laplace" else gaussian_error(scale, confidence)


def noise_radius(noise: Noise) -> int:
    """How far the noise practically reaches: beyond it lies less than 1e-14 of its mass."""
    if noise.distribution == "none":
        return 0
    return math.ceil(float(noise.scale) * (33.0 if noise.distribution == "laplace" else 8.0)) + 1


@lru_cache(maxsize=64)
def noise_pmf(distribution: str, scale: Fraction) -> tuple[Floats, Floats]:
    """The integers within ``noise_radius``, and the chance of each."""
    reach, s = noise_radius(Noise(distribution, scale)), float(scale)
    points = np.arange(-reach, reach + 1, dtype=np.float64)
    weights = np.exp(-np.abs(points) / s) if distribution == "laplace" else np.exp(-0.5 * (points / s) ** 2)
    return points, weights / weights.sum()


def noise_log_tail(noise: Noise, points: Floats) -> Floats:
    """ln P(X >= x) of the noise at whole numbers x; beyond five times its radius, as there."""
    if noise.distribution == "none":
        return np.asarray(np.where(points > 0, -np.inf, 0.0), dtype=np.float64)
    reach = 5 * noise_radius(noise)
    x, scale = np.clip(points, -reach, reach), float(noise.scale)
    if noise.distribution == "laplace":
        far = -np.log1p(np.exp(-1 / scale)) - np.where(x > 0, x, 1 - x) / scale
        return np.asarray(np.where(x > 0, far, np.log1p(-np.exp(far))), dtype=np.float64)
    if scale > _TABLED:
        from scipy.special import log_ndtr

        return np.asarray(log_ndtr((0.5 - x) / scale), dtype=np.float64)
    return _gaussian_log_tails(noise.scale, reach)[(x + reach).astype(np.int64)]


@lru_cache(maxsize=64)
def _gaussian_log_tails(sigma: Fraction, reach: int) -> Floats:
    logs = -0.5 * (np.arange(reach, -reach - 1, -1) / float(sigma)) ** 2
    summed = np.logaddexp.accumulate(logs)[::-1]
    return np.asarray(summed - summed[0], dtype=np.float64)


def simultaneous(confidence: float, rows: int) -> float:
    """The confidence of each of so many intervals with which all of them hold at once with ``confidence``."""
    return 1 - (1 - confidence) / rows if rows > 1 else confidence


@dataclass(frozen=True, slots=True)
class NoisyColumn:
    """A column of noisy integers: the value of a row is its integer times ``step``; noises are independent."""

    name: str
    step: Fraction
    noise: Noise
    values: tuple[int, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "step", positive(self.step, name="step"))
        object.__setattr__(self, "values", tuple(map(int, self.values)))

    def error(self, confidence: float) -> Fraction:
        """How far a value strays from the exact one, at most, with that confidence."""
        return self.step * self.noise.error(confidence)

    def std_dev(self) -> float:
        """The standard deviation of a value."""
        return float(self.step) * self.noise.std_dev()

    def floats(self) -> Floats:
        """The values as the nearest floats."""
        top, bottom = self.step.numerator, self.step.denominator
        return np.array([value * top / bottom for value in self.values], dtype=np.float64)


@dataclass(frozen=True, slots=True)
class KeyColumn:
    """The names of the groups: public, or chosen privately. ``kind`` tells the type where there may be no row.

    Values are booleans, numbers, text, dates, timestamps or None; kinds are "boolean", "integer", "number", "text",
    "date" and "timestamp", or "" to read the type off the values.
    """

    name: str
    values: tuple[object, ...]
    kind: str = ""

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", tuple(self.values))


@dataclass(frozen=True, slots=True)
class NoisyTable:
    """Keys and noisy integers, row by row, and where each measure's noise was drawn.

    Two measures of the same origin have the same noise (an answer that was repeated, or one used twice); all others
    are independent.
    """

    keys: tuple[KeyColumn, ...]
    measures: tuple[NoisyColumn, ...]
    size: int
    origins: tuple[tuple[object, ...], ...] = ()
    looked_at: int = 1  # rows among which noisy values chose these

    def __post_init__(self) -> None:
        if not self.origins:
            object.__setattr__(self, "origins", tuple((Same(measure),) for measure in self.measures))
        lengths = {len(key.values) for key in self.keys} | {len(measure.values) for measure in self.measures}
        if lengths - {self.size}:
            raise WrongShape(
                f"a table of {self.size:,} rows has columns of {', '.join(f'{n:,}' for n in sorted(lengths))}.",
                why="Each row has one key and one number of each column.",
                fix="Give columns of the same length.",
            )

    def level(self, confidence: float) -> float:
        """The confidence of each interval with which all rows that were looked at are covered at once, as asked.

        Which of them are shown may then depend on their noise (the union bound, whatever the noises have in common).
        """
        return simultaneous(confidence, self.looked_at)

    def row(self, index: int) -> NoisyTable:
        """One row as a table of its own; it remembers which row it was."""
        keys = tuple(KeyColumn(key.name, (key.values[index],), key.kind) for key in self.keys)
        measures = tuple(NoisyColumn(m.name, m.step, m.noise, (m.values[index],)) for m in self.measures)
        origins = tuple((*origin, index) for origin in self.origins)
        return NoisyTable(keys, measures, 1, origins, self.looked_at)

    def joined(self, other: NoisyTable) -> tuple[NoisyTable, tuple[int, ...]]:
        """Both side by side, and where each measure of ``other`` went; one with a known origin is not added again."""
        if self.size != other.size:
            raise WrongShape(
                f"a column of {self.size:,} rows and one of {other.size:,} cannot be combined.",
                why="Columns are combined row by row.",
                fix='Take one row of each, as in a["n"][0] + b["n"][0], or ask for the same groups.',
            )
        measures, origins = list(self.measures), list(self.origins)
        places = []
        for measure, origin in zip(other.measures, other.origins, strict=True):
            if origin not in origins:
                measures.append(measure)
                origins.append(origin)
            places.append(origins.index(origin))
        looked_at = self.looked_at * other.looked_at
        return NoisyTable((*self.keys, *other.keys), tuple(measures), self.size, tuple(origins), looked_at), tuple(
            places
        )


class Same:
    """Equal to another only if both hold the very same object: equal numbers alone do not mean equal noise."""

    __slots__ = ("thing",)

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)
