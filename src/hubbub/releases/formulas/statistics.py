"""Averages, variances and values whose intervals are known already."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub.releases.formulas import ratios
from hubbub.releases.formulas.base import Ends, Formula, Values, as_floats
from hubbub.releases.formulas.linear import LinearForm, normal_quantile, sum_radius
from hubbub.releases.formulas.points import Released
from hubbub.releases.noisy_columns import Floats, NoisyTable
from hubbub.terms import WrongShape


def _line_of(part: Formula) -> LinearForm:
    """A noisy sum or count: a measure, or a weighted sum of several."""
    if (line := part.line()) is None:
        raise WrongShape(
            "an average or a variance is of weighted sums of noisy numbers.",
            why="Its interval comes from how their noises add up.",
            fix="Give sums and a count: measures, or these added up.",
        )
    return line


def _too_few(point: Released, count: Formula) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
    """Where the noisy count is not above its own noise: whether a group has anybody is decided on that alone."""
    line = _line_of(count)
    least = max(1.0, float(sum_radius(line.parts(point.table), Fraction(95, 100))))
    return line.floats(point.table)[point.rows] <= least


@dataclass(frozen=True, slots=True)
class Mean(Formula):
    """centre + total / count within [lower, upper]; None where the count is not above its own noise.

    ``total`` is a noisy sum of values with ``centre`` taken off. The interval is Fieller's, which covers with exactly
    the stated confidence for Gaussian noise, cut to the declared bounds; those are the interval if it is unbounded.
    Of all groups, shown or not, at most 1 - confidence get an interval that misses; a group that is shown only because
    the noise lifted its count above the line is among them more often than others.
    """

    total: Formula
    count: Formula
    centre: Fraction
    lower: Fraction | None = None
    upper: Fraction | None = None

    def __post_init__(self) -> None:
        for part in self.parts():
            _line_of(part)

    def parts(self) -> tuple[Formula, ...]:
        return self.total, self.count

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        total, count = parts
        return Mean(total, count, self.centre, self.lower, self.upper)

    def compute(self, point: Released) -> Floats:
        count = np.maximum(self.count.numbers(point), 1.0)
        mean = self._within(float(self.centre) + self.total.numbers(point) / count)
        return np.where(_too_few(point, self.count), np.nan, mean)

    def ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        top, bottom = _line_of(self.total), _line_of(self.count)
        known = ratios.ratio_spread(top, bottom, table, confidence)
        lows, highs = ratios.fieller_interval(top.floats(table), bottom.floats(table), known)
        centre = float(self.centre)
        return self._within(centre + lows), self._within(centre + highs)

    def _within(self, values: Floats) -> Floats:
        lower = -np.inf if self.lower is None else float(self.lower)
        upper = np.inf if self.upper is None else float(self.upper)
        return np.clip(values, lower, upper)


@dataclass(frozen=True, slots=True)
class Variance(Formula):
    """Variance, or its root, from a noisy count and noisy sums of centred values and of their squares.

    ``spread_upper`` is the largest variance that the declared bounds allow: ((upper - lower) / 2)^2. ``sample``
    divides by count - 1. None where the count is not above its own noise. The interval is simulated.
    """

    total: Formula
    squares: Formula
    count: Formula
    centre: Fraction
    spread_upper: Fraction
    root: bool = False
    sample: bool = False

    def __post_init__(self) -> None:
        for part in self.parts():
            _line_of(part)

    def parts(self) -> tuple[Formula, ...]:
        return self.total, self.squares, self.count

    def with_parts(self, parts: tuple[Formula, ...]) -> Formula:
        total, squares, count = parts
        return Variance(total, squares, count, self.centre, self.spread_upper, self.root, self.sample)

    def compute(self, point: Released) -> Floats:
        count = np.maximum(self.count.numbers(point), 2.0 if self.sample else 1.0)
        mean = self.total.numbers(point) / count
        spread = self.squares.numbers(point) / count - mean**2
        spread = np.clip(spread, 0.0, float(self.spread_upper))
        if self.sample:
            spread = spread * count / (count - 1)
        return np.where(_too_few(point, self.count), np.nan, np.sqrt(spread) if self.root else spread)


@dataclass(frozen=True, slots=True)
class GivenIntervals(Formula):
    """Values whose intervals were worked out already, such as quantiles: one pair of columns per stored level.

    Asked for a level that is not stored, the next higher one answers (the highest, if there is none). ``dense`` has
    shorter intervals beside these, which hold where values lie densely around the quantile, and not everywhere.
    """

    values: tuple[float | None, ...]
    levels: tuple[float, ...]
    lows: tuple[tuple[float | None, ...], ...]
    highs: tuple[tuple[float | None, ...], ...]
    dense: GivenIntervals | None = None

    def __post_init__(self) -> None:
        columns = [*self.lows, *self.highs]
        sorted_up = list(self.levels) == sorted(self.levels)
        if not (len(self.levels) == len(self.lows) == len(self.highs) > 0) or not sorted_up:
            raise WrongShape(
                "a value with stored intervals needs one pair of columns for each level, levels rising.",
                why="Every released number has an interval.",
                fix="Give levels, lows and highs of the same length.",
            )
        if any(len(column) != len(self.values) for column in columns):
            raise WrongShape(
                "a value and its stored intervals have different lengths.",
                why="Each row has its own interval.",
                fix="Give columns of the same length.",
            )

    def is_random(self) -> bool:
        return True

    def is_whole(self, table: NoisyTable) -> bool:
        """Whether values and ends are whole numbers, or beyond all."""
        del table
        numbers = [each for column in (self.values, *self.lows, *self.highs) for each in column if each is not None]
        return bool(numbers) and all(
            isinstance(each, int) or (isinstance(each, float) and math.isinf(each)) for each in numbers
        )

    def evaluate(self, table: NoisyTable) -> Values:
        """The values as they were given."""
        del table
        return list(self.values)

    def interval(self, table: NoisyTable, confidence: float) -> Ends:
        """The stored interval of that level or of the next higher one."""
        del table
        place = min(bisect_left(self.levels, confidence), len(self.levels) - 1)
        return list(self.lows[place]), list(self.highs[place])

    def is_unknown(self, confidence: float) -> list[bool]:
        """For each row, whether the interval of that level is as wide as the last one, which holds for sure."""
        place = min(bisect_left(self.levels, confidence), len(self.levels) - 1)
        ends, widest = (zip(self.lows[i], self.highs[i], strict=True) for i in (place, -1))
        return [each == last for each, last in zip(ends, widest, strict=True)]

    def std_dev(self, table: NoisyTable) -> Values:
        """From the narrowest stored interval, as if the distribution were normal."""
        del table
        widths = normal_quantile(self.levels[0]) * 2
        pairs = zip(self.lows[0], self.highs[0], strict=True)
        return [None if low is None or high is None else (high - low) / widths for low, high in pairs]

    def at_rows(self, rows: slice) -> GivenIntervals:
        """The same for some of the rows."""
        return self.picked(range(len(self.values))[rows])

    def picked(self, places: Sequence[int]) -> GivenIntervals:
        """The same for the rows at these places."""
        lows, highs = (tuple(tuple(column[i] for i in places) for column in side) for side in (self.lows, self.highs))
        dense = None if self.dense is None else self.dense.picked(places)
        return GivenIntervals(tuple(self.values[i] for i in places), self.levels, lows, highs, dense)

    def compute(self, point: Released) -> Floats:
        return point.choose(("given", id(self)), as_floats(self.values), self._quantiles)

    def _quantiles(self, chances: Floats, rows: slice) -> Floats:
        """Values at those chances: through the value and both ends of each level, straight in normal scores."""
        from scipy.special import ndtri

        outward = range(len(self.levels))
        lows, highs = ([as_floats(side[i])[rows] for i in outward] for side in (self.lows, self.highs))
        heights = np.stack([*lows[::-1], as_floats(self.values)[rows], *highs])
        ranks = [normal_quantile(level) for level in self.levels]
        scores = np.array([*(-r for r in ranks[::-1]), 0.0, *ranks])
        wanted = np.broadcast_to(ndtri(chances), (len(chances), heights.shape[1]))
        columns = [np.interp(wanted[:, i], scores, heights[:, i]) for i in range(heights.shape[1])]
        return np.stack(columns, axis=1) if columns else np.empty((len(chances), 0))
