"""Statistics of two numbers of a row: covariance, correlation and the line of least squares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from hubbub.releases.formulas.arithmetic import Ref
from hubbub.releases.formulas.base import Formula
from hubbub.releases.formulas.points import Released
from hubbub.releases.noisy_columns import Floats, NoisyTable

_Flags: TypeAlias = "np.ndarray[tuple[int, ...], np.dtype[np.bool_]]"


@dataclass(frozen=True, slots=True)
class PairStatistic(Formula):
    """A statistic of pairs (y, x), as SQL orders them, from a noisy count and noisy sums of centred values.

    ``products`` is the sum of the products of both, ``largest`` the largest covariance that the declared bounds allow.
    None where the count is not above its own noise, and, of what is divided by a spread, where that spread is not. The
    interval is simulated; that of REGR_R2 has the squares of the correlation's, since squared draws all lie on one side
    of a correlation near 0.
    """

    function: str
    count: Ref
    y: Ref
    x: Ref
    y_squares: Ref
    x_squares: Ref
    products: Ref
    y_centre: Fraction
    x_centre: Fraction
    largest: Fraction

    def parts(self) -> tuple[Formula, ...]:
        return self.count, self.y, self.x, self.y_squares, self.x_squares, self.products

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        count, y, x, y_squares, x_squares, products = (part for part in parts if isinstance(part, Ref))
        centres = self.y_centre, self.x_centre
        return PairStatistic(self.function, count, y, x, y_squares, x_squares, products, *centres, self.largest)

    def compute(self, point: Released) -> Floats:
        count = np.maximum(point.measure(self.count.index), 2.0 if self.function == "covar_samp" else 1.0)
        y, x = (point.measure(part.index) / count for part in (self.y, self.x))
        both = np.clip(point.measure(self.products.index) / count - y * x, -self._most, self._most)
        y_spread = np.maximum(point.measure(self.y_squares.index) / count - y * y, 0.0)
        x_spread = np.maximum(point.measure(self.x_squares.index) / count - x * x, 0.0)
        few = _is_noise(point, self.count)
        if self.function.startswith("covar"):
            value = both * count / (count - 1) if self.function == "covar_samp" else both
        elif self.function.startswith("regr_") and self.function != "regr_r2":
            slope = both / x_spread
            few = few | _is_flat(point, self.x_squares, self.x, self.count)
            value = slope if self.function == "regr_slope" else self._intercept(y, x, slope)
        else:
            few = few | _is_flat(point, self.x_squares, self.x, self.count)
            few = few | _is_flat(point, self.y_squares, self.y, self.count)
            value = np.clip(both / np.sqrt(y_spread * x_spread), -1.0, 1.0)
            value = value * value if self.function == "regr_r2" else value
        return np.where(few, np.nan, value)

    def ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        if self.function != "regr_r2":
            return Formula.ends(self, table, confidence)
        lows, highs = replace(self, function="corr").ends(table, confidence)
        least = np.where((lows < 0) & (highs > 0), 0.0, np.minimum(lows**2, highs**2))
        return least, np.maximum(lows**2, highs**2)

    @property
    def _most(self) -> float:
        return float(self.largest)

    def _intercept(self, y: Floats, x: Floats, slope: Floats) -> Floats:
        return (y + float(self.y_centre)) - slope * (x + float(self.x_centre))


def _is_noise(point: Released, part: Ref) -> _Flags:
    """Where a noisy number is not above its own noise, by what was released."""
    measure = point.table.measures[part.index]
    return point.released(part.index) <= max(1.0, float(measure.error(0.95)))


def _is_flat(point: Released, squares: Ref, total: Ref, count: Ref) -> _Flags:
    """Where the sum of squares around the mean is not above the noise of the squares: nothing is told by dividing."""
    measure = point.table.measures[squares.index]
    rows = np.maximum(point.released(count.index), 1.0)
    spread = point.released(squares.index) - point.released(total.index) ** 2 / rows
    return spread <= float(measure.error(0.95))
