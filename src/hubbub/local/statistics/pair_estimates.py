"""Estimates of U-statistics: a number, its error, and where the error comes from."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from hubbub.local.estimates import normal_quantile
from hubbub.render import Document, Figure, Json, Section, TextTable, short
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Real


@dataclass(frozen=True, slots=True)
class PairEstimate(Document):
    """An estimated mean over pairs of people.

    ``variance`` is that of the noise, given what the people hold: exact, with the estimated histogram put in.
    ``sampling`` is what the choice of the people adds. ``bound`` is the theorem's bound on the whole mean squared
    error, and ``rounding`` the most that rounding to bins can move the value; None where the kernel's slope is unknown.
    """

    words: str
    value: float
    variance: float
    sampling: float
    count: int
    bins: int
    epsilon: Fraction
    bound: float | None
    rounding: float | None

    @property
    def standard_error(self) -> float:
        """The noise's standard deviation."""
        return math.sqrt(self.variance)

    def interval(
        self, confidence: Real = 0.95, *, population: bool = False, rounding: bool = False
    ) -> tuple[float, float]:
        """Where the statistic of the rounded values of those who reported lies, with that confidence.

        ``population``: that of the population of which they are a random sample. ``rounding``: that of the values
        before rounding, by the worst case. The normal approximation is used: with a few hundred people and small
        epsilon it holds a little less often than it says (92 times out of 100 instead of 95, for Gini with 300 people
        at epsilon 1).
        """
        reach = normal_quantile(confidence) * math.sqrt(self.variance + (self.sampling if population else 0.0))
        if rounding:
            reach += math.inf if self.rounding is None else self.rounding
        return self.value - reach, self.value + reach

    @property
    def title(self) -> str:
        """What is told."""
        return f"{self.words[0].upper()}{self.words[1:]} over pairs of {self.count:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        low, high = self.interval()
        words = (
            f"The estimate is {self.value:.6g}, within {low:.6g} and {high:.6g} 95 times out of 100.",
            f"Each person rounded the value to one of {self.bins} bins and sent one report, protected at home with "
            f"epsilon = {short(self.epsilon)}. The interval is for the rounded values of those who reported.",
        )
        return (Section("What was found", words, self._table(), Figure("interval", self._chart(), "Error bars.")),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "pair-statistic",
            "statistic": self.words,
            "value": self.value,
            "variance": self.variance,
            "interval_95": list(self.interval()),
            "count": self.count,
            "bins": self.bins,
            "epsilon": float(self.epsilon),
            "mse_bound": self.bound,
            "rounding_at_most": self.rounding,
        }

    def _intervals(self) -> dict[str, tuple[float, float]]:
        shown = {
            "those who reported": self.interval(),
            "their population": self.interval(population=True),
        }
        if self.rounding is not None:
            shown["... before rounding"] = self.interval(population=True, rounding=True)
        return shown

    def _table(self) -> TextTable:
        rows = [(name, f"{low:.5g} to {high:.5g}") for name, (low, high) in self._intervals().items()]
        if self.bound is not None:
            rows.append(("root of the theorem's bound on the MSE", f"{math.sqrt(self.bound):.3g}"))
        return TextTable(("95% interval for", "from, to"), tuple(rows))

    def _chart(self) -> str:
        bars = [
            Bar(name, self.value, low, high, f"{self.value:.4g}") for name, (low, high) in self._intervals().items()
        ]
        return bar_chart(bars, title=self.title, description="The estimate with its 95% intervals.", label=self.words)
