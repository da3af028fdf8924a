"""The noise of a number that was worked out from many noisy integers: a weighted sum of independent draws.

Gaussian noise keeps its shape in sums, Laplace noise does not: ``mechanisms.common.critical_value`` says how far such
a sum strays, by how many draws carry it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hubbub.mechanisms.common import sum_critical_value
from hubbub.releases.noisy_columns import Floats, Noise
from hubbub.terms import fraction_of


@dataclass(frozen=True, slots=True)
class NoiseTerm:
    """So many independent draws of a noise, each with this weight."""

    weight: float
    draws: int
    noise: Noise

    @property
    def variance(self) -> float:
        """The variance of all of them together."""
        return self.draws * (self.weight * self.noise.std_dev()) ** 2


@dataclass(frozen=True, slots=True)
class NoiseSum(Noise):
    """A sum of independent noises in steps, told in whole ones; ``scale`` is its standard deviation.

    ``rounding`` is how far beyond the sum a whole number lies at most: half a step to the nearest.

    >>> from fractions import Fraction
    >>> ten = NoiseSum.of([NoiseTerm(1.0, 10, Noise("laplace", Fraction(10)))])
    >>> ten.error(0.95), Noise("laplace", Fraction(10)).error(0.95)
    (89, 30)
    """

    terms: tuple[NoiseTerm, ...] = ()
    rounding: Fraction = Fraction(1, 2)

    def __post_init__(self) -> None:
        """Its parts were checked when they were made."""

    @classmethod
    def of(cls, terms: Sequence[NoiseTerm], rounding: Fraction = Fraction(1, 2)) -> NoiseSum:
        """The sum of these draws."""
        return cls("sum", Fraction(math.sqrt(sum(term.variance for term in terms))), tuple(terms), rounding)

    @property
    def is_laplace(self) -> bool:
        """Whether Laplace noise is in it."""
        return any(term.noise.distribution == "laplace" for term in self.terms)

    def std_dev(self) -> float:
        """The standard deviation, in steps."""
        return float(self.scale)

    def reach(self, confidence: Fraction) -> float:
        """How far it strays with that confidence."""
        return _reach(self.terms, confidence) + float(self.rounding)

    def error(self, confidence: float) -> int:
        """The whole number that the noise, which is one, is known to stay within with that confidence."""
        return math.floor(self.reach(fraction_of(confidence, name="confidence")))

    def draw(self, generator: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
        """Such noise for SIMULATING uncertainty; never for protecting anything (``hubbub.noise`` does)."""
        drawn = np.zeros(size)
        for term in self.terms:
            drawn += _draw_term(term, generator, size)
        return drawn

    def describe(self) -> str:
        """The noise as a column's mechanism is told."""
        return f"a weighted sum of noises, std dev {self.std_dev():.6g} steps"


def _draw_term(term: NoiseTerm, generator: np.random.Generator, size: int | tuple[int, ...]) -> Floats:
    """A sum of Laplace draws is normal with a Gamma distributed variance; a single draw is drawn as it is."""
    if term.draws == 1:
        return term.weight * term.noise.draw(generator, size)
    spread: float | Floats = math.sqrt(term.variance)
    if term.noise.distribution == "laplace":
        spread = spread * np.sqrt(generator.gamma(term.draws, 1 / term.draws, size))
    return np.asarray(spread * generator.standard_normal(size))


@lru_cache(maxsize=1024)
def _reach(terms: tuple[NoiseTerm, ...], confidence: Fraction) -> float:
    """How far the sum strays with that confidence, before it is rounded."""
    variance = sum(term.variance for term in terms)
    laplace = [term for term in terms if term.noise.distribution == "laplace"]
    fourth = sum(term.variance**2 / term.draws for term in laplace)
    concentration = min(1.0, fourth / variance**2) if variance else 0.0
    [factor] = sum_critical_value(np.array([concentration]), confidence, laplace=bool(laplace))
    return float(factor) * math.sqrt(variance)


def added_up(parts: Sequence[tuple[Fraction, Noise]]) -> NoiseSum:
    """Weighted noises as one sum."""
    terms: list[NoiseTerm] = []
    rounding = Fraction(0)
    for weight, noise in parts:
        if isinstance(noise, NoiseSum):
            terms += [NoiseTerm(float(weight) * term.weight, term.draws, term.noise) for term in noise.terms]
            rounding += weight * noise.rounding
        else:
            terms.append(NoiseTerm(float(weight), 1, noise))
    return NoiseSum.of(terms, rounding)
