"""Cumulative distribution functions from local reports: shares of ranges, and quantiles, with intervals."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hubbub.local.estimates import normal_quantile
from hubbub.render import Document, Figure, Json, Section, TextTable, short
from hubbub.render.charts import Axis, Panel, Series, line_chart, percentage
from hubbub.terms import Real, fraction_of

Floats = NDArray[np.float64]

_SHOWN = (0.05, 0.25, 0.5, 0.75, 0.95)
_POINTS = 33  # of the picture


@dataclass(frozen=True, slots=True, eq=False)
class LocalCurve(Document):
    """Estimated shares of ordered cells between ``lower`` and ``upper``, and what they add up to.

    ``cells`` are unbiased and may be negative. Quantiles read the curve after it was made to rise (the nearest rising
    one in squares), which is biased a little; their intervals are those of the shares, read across.
    """

    cells: Floats
    lower: float
    upper: float
    count: int
    epsilon: Fraction
    words: str
    variance_of: Callable[[Floats], float]

    def share(self, low: float, high: float) -> float:
        """The share of people in [low, high), rounded to whole cells."""
        first, last = self._cell(low), self._cell(high)
        return float(self.cells[first:last].sum())

    def variance(self, low: float, high: float) -> float:
        """The variance of ``share`` given the people: noise, and who got which level."""
        asked = np.zeros(self.cells.size)
        asked[self._cell(low) : self._cell(high)] = 1.0
        return max(0.0, self.variance_of(asked))

    def interval(self, low: float, high: float, confidence: Real = 0.95) -> tuple[float, float]:
        """Where the share of a range lies, with that confidence."""
        reach = normal_quantile(confidence) * math.sqrt(self.variance(low, high))
        return self.share(low, high) - reach, self.share(low, high) + reach

    @property
    def rising(self) -> Floats:
        """The cumulative shares at the ends of the cells, made to rise from 0 to 1: biased, and used for quantiles."""
        from scipy.optimize import isotonic_regression

        raised = np.clip(isotonic_regression(np.cumsum(self.cells)).x, 0.0, 1.0)
        raised[-1] = 1.0
        return np.asarray(raised)

    def quantile(self, level: Real) -> float:
        """The value below which this share of the people lies: the first end of a cell where the curve reaches it."""
        return self._end(int(np.searchsorted(self.rising, self._level(level), side="left")))

    def quantile_interval(self, level: Real, confidence: Real = 0.95) -> tuple[float, float]:
        """Values between which the quantile lies, with that confidence: all ends whose share may be ``level``."""
        wanted, reach, rising = self._level(level), normal_quantile(confidence), self.rising
        middle = int(np.searchsorted(rising, wanted, side="left"))

        def away(cell: int) -> float:
            """How many standard deviations the curve at the end of a cell is above the level."""
            asked = np.zeros(self.cells.size)
            asked[: cell + 1] = 1.0
            return float((rising[cell] - wanted) / math.sqrt(max(self.variance_of(asked), 1e-300)))

        low = _first_index(lambda cell: away(cell) > -reach, 0, middle)
        high = _first_index(lambda cell: away(cell) > reach, middle, self.cells.size - 1)
        return self._end(low - 1), self._end(high)

    @property
    def title(self) -> str:
        """What is told."""
        return f"The distribution of {self.count:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        words = (
            f"Each person sent one report, protected at home with epsilon = {short(self.epsilon)} ({self.words}).",
            "The curve tells the share of the people up to each value, within its 95% band. Quantiles are read where "
            "the curve, made to rise, crosses a level.",
        )
        rows = tuple(
            (
                f"{100 * q:g}%",
                f"{self.quantile(q):.5g}",
                "{:.5g} to {:.5g}".format(*self.quantile_interval(q)),
            )
            for q in _SHOWN
        )
        table = TextTable(("of the people lie below", "value", "95% interval"), rows)
        return (Section("What was found", words, table, Figure("curve", self._chart(), "The share up to each value.")),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "local-curve",
            "count": self.count,
            "epsilon": float(self.epsilon),
            "lower": self.lower,
            "upper": self.upper,
            "cells": self.cells.tolist(),
            "quantiles": [
                {"level": q, "value": self.quantile(q), "interval_95": list(self.quantile_interval(q))} for q in _SHOWN
            ],
        }

    def _chart(self) -> str:
        ends = np.unique(np.linspace(0, self.cells.size, _POINTS).astype(int))
        points = [(self._end(int(end) - 1), *self._band(int(end))) for end in ends]
        lines = (
            Series("share up to here", tuple((x, value) for x, value, _, _ in points)),
            Series("95% band, low", tuple((x, low) for x, _, low, _ in points)),
            Series("95% band, high", tuple((x, high) for x, _, _, high in points)),
        )
        return line_chart(
            Panel("share of the people", lines, show=percentage, height=300),
            title=self.title,
            description="The cumulative share with its 95% band.",
            x=Axis.over((self.lower, self.upper), label="value", snap=False),
        )

    def _band(self, cells: int) -> tuple[float, float, float]:
        asked = np.zeros(self.cells.size)
        asked[:cells] = 1.0
        value = float(self.cells[:cells].sum())
        reach = normal_quantile(0.95) * math.sqrt(max(0.0, self.variance_of(asked)))
        return value, value - reach, value + reach

    def _cell(self, value: float) -> int:
        place = (value - self.lower) / (self.upper - self.lower) * self.cells.size
        return round(min(max(place, 0.0), float(self.cells.size)))

    def _end(self, cell: int) -> float:
        return self.lower + (self.upper - self.lower) * (cell + 1) / self.cells.size

    @staticmethod
    def _level(level: Real) -> float:
        return float(fraction_of(level, name="level"))


def _first_index(holds: Callable[[int], bool], low: int, high: int) -> int:
    """The first place from ``low`` at which a condition that then stays holds, or ``high``."""
    while low < high:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle + 1, high)
    return low
