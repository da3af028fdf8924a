"""Cells that are weighted sums of released numbers, and ratios of two such: intervals from the law of their noise."""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from hubbub.releases import Noise
from hubbub.releases.formulas import (
    LinearForm,
    NearestWhole,
    Spread,
    effective_std_dev,
    fieller_interval,
    laplace_factor,
    normal_quantile,
    sum_radius,
)
from hubbub.sql.relation.copies import Floats, InnerTables

_FEW = 6  # noises whose sum is worked out exactly
_SPIKED = 0.6  # excess kurtosis up to which a sum of many is taken as nearly normal
_ROUND = 10**6  # the largest denominator of a weight

Parts = tuple[tuple[Fraction, Noise], ...]


class Atoms:
    """The independent noises in released numbers, and how much of each is in which number.

    A count that is read off several noises is told as the whole number next to their sum: between the two lies a
    distance of at most a half, spread as evenly as the noises' fractions are.
    """

    def __init__(self, tables: InnerTables) -> None:
        self.noises: list[Noise] = []
        self.steps: list[Fraction] = []
        self.is_sum = np.zeros(tables.size, dtype=bool)
        self._rounded = np.zeros(tables.size)
        self._places: dict[tuple[object, ...], int] = {}
        entries: list[tuple[int, int, Fraction]] = []
        for release, column, stretch in tables.noisy():
            formula = release.columns[column.place].formula
            line: LinearForm | None = formula.line()
            if isinstance(formula, NearestWhole):
                line, self._rounded[stretch] = formula.a.line(), 1.0
            if line is None:
                continue
            self.is_sum[stretch] = True
            for measure, weight in line.weights.items():
                origin = release.table.origins[measure]
                for row in range(stretch.stop - stretch.start):
                    atom = self._place((*origin, row), release.measures[measure].noise, release.measures[measure].step)
                    entries.append((stretch.start + row, atom, weight))
        self.shares = np.zeros((tables.size, len(self.noises)))
        for number, atom, weight in entries:
            self.shares[number, atom] += float(weight)

    def _place(self, origin: tuple[object, ...], noise: Noise, step: Fraction) -> int:
        if origin not in self._places:
            self._places[origin] = len(self.noises)
            self.noises.append(noise)
            self.steps.append(step)
        return self._places[origin]

    def weights(self, of_numbers: Floats) -> Floats:
        """Weights on released numbers (one line per cell) as weights on noises; those that cancel are 0."""
        weights: Floats = of_numbers @ self.shares
        largest = np.abs(weights).max(axis=1, keepdims=True, initial=0.0)
        return np.where(np.abs(weights) <= 1e-9 * largest, 0.0, weights)

    def radii(self, of_numbers: Floats, level: float) -> Floats:
        """How far each weighted sum of released numbers strays, at most, with that confidence."""
        weights = self.weights(of_numbers)
        reach = np.abs(weights) * np.array([float(step) for step in self.steps])
        spread = reach * np.array([noise.std_dev() for noise in self.noises])
        variance = (spread**2).sum(axis=1)
        fourth = (spread**4) @ np.array([_excess(noise) for noise in self.noises])
        with np.errstate(all="ignore"):
            excess = np.nan_to_num(fourth / variance**2)
        z = normal_quantile(level)
        corrected = z + (z**3 - 3 * z) * excess / 24  # Cornish and Fisher: many noises are nearly normal
        radii: Floats = corrected * np.sqrt(variance) + reach.max(axis=1, initial=0.0) / 2
        for row in np.flatnonzero(((weights != 0).sum(axis=1) <= _FEW) | (excess > _SPIKED)):
            radii[row] = self._exact_radius(weights[row], level)
        return radii + self._rounding_radii(of_numbers, z)

    def _rounding_radii(self, of_numbers: Floats, z: float) -> Floats:
        """How far rounding to counts moves each sum, at most: all halves, or what is likely of many."""
        rounded = np.abs(of_numbers) * self._rounded
        radii: Floats = np.minimum(rounded.sum(axis=1) / 2, z * np.sqrt((rounded**2).sum(axis=1) / 12))
        return radii

    def _exact_radius(self, line: Floats, level: float) -> float:
        """From the noises added up exactly, or drawn many times."""
        parts = [(abs(_fraction(line[atom])) * self.steps[atom], self.noises[atom]) for atom in np.flatnonzero(line)]
        return _radius_of(tuple(sorted(parts, key=repr)), Fraction(level).limit_denominator(10**9))

    def ratio_ends(
        self, top: Floats, bottom: Floats, values: tuple[Floats, Floats], level: float
    ) -> tuple[Floats, Floats]:
        """Fieller's interval of a ratio of two sums of released numbers, row by row."""
        over, under = top * self._rounded, bottom * self._rounded
        tops, bottoms = self.weights(top), self.weights(bottom)
        variances = np.array(
            [(float(s) * effective_std_dev(n, level)) ** 2 for s, n in zip(self.steps, self.noises, strict=True)]
        )
        is_laplace = any(noise.distribution == "laplace" for noise in self.noises)
        factor = laplace_factor(level) if is_laplace else normal_quantile(level)
        lows, highs = np.empty(len(top)), np.empty(len(top))
        for row in range(len(top)):
            a, b = tops[row], bottoms[row]
            c, d = over[row], under[row]
            spread = Spread(
                float(a * a @ variances + c @ c / 12),
                float(b * b @ variances + d @ d / 12),
                float(a * b @ variances + c @ d / 12),
                factor,
            )
            low, high = fieller_interval(values[0][row : row + 1], values[1][row : row + 1], spread)
            lows[row], highs[row] = low[0], high[0]
        return lows, highs


def _fraction(weight: float) -> Fraction:
    """A weight as the simple fraction that it is, if it is one."""
    simple = Fraction(weight).limit_denominator(_ROUND)
    return simple if abs(float(simple) - weight) <= 1e-9 * abs(weight) else Fraction(weight)


@lru_cache(maxsize=4096)
def _radius_of(parts: Parts, level: Fraction) -> float:
    return float(sum_radius(parts, level))


def _excess(noise: Noise) -> float:
    """The excess kurtosis of a noise, or a little more."""
    if noise.distribution != "laplace":
        return 0.0
    return 3.0 + 1.0 / noise.std_dev() ** 2
