"""Two-sample comparison (Mann-Whitney, AUC): how often one of the first group exceeds one of the second."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.estimates import normal_quantile
from hubbub.local.pair_averages import Response, between_mean, between_variance, nearest_histogram
from hubbub.local.randomizers.common.values import Codes, bounds_of
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.statistics.ustatistics import bin_values
from hubbub.render import Document, Figure, Json, Section, TextTable, short
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Real, Step, TooLarge, whole

Floats = NDArray[np.float64]

_MOST_BINS = 1 << 12


@dataclass(frozen=True, slots=True)
class GroupComparison(Document):
    """The estimated chance that one of the first group exceeds one of the second, ties counting half.

    ``variance`` is that of the noise given what the people hold; ``sampling`` is what their choice adds.
    """

    words: str
    value: float
    variance: float
    sampling: float
    counts: tuple[int, int]
    epsilon: Fraction

    @property
    def standard_error(self) -> float:
        """The noise's standard deviation."""
        return math.sqrt(self.variance)

    def interval(self, confidence: Real = 0.95, *, population: bool = False) -> tuple[float, float]:
        """Where the value among those who reported (or in their population) lies, with that confidence."""
        reach = normal_quantile(confidence) * math.sqrt(self.variance + (self.sampling if population else 0.0))
        return self.value - reach, self.value + reach

    @property
    def p_value(self) -> float:
        """How often chance alone would give a value as far from 1/2, were the two groups alike (two-sided)."""
        total = math.sqrt(self.variance + self.sampling)
        return 2 * NormalDist().cdf(-abs(self.value - 0.5) / total) if total else float(self.value == 0.5)

    @property
    def title(self) -> str:
        """What is told."""
        return f"{self.words}: {self.counts[0]:,} and {self.counts[1]:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        low, high = self.interval()
        words = (
            f"One of the first group exceeds one of the second {100 * self.value:.3g} times out of 100 (ties count "
            f"half): between {100 * low:.3g} and {100 * high:.3g}, 95 times out of 100.",
            f"Were the groups alike, chance would take it as far from 50 with probability {self.p_value:.3g}. Every "
            f"report is protected at home with epsilon = {short(self.epsilon)}.",
        )
        rows = (
            ("those who reported", "{:.4f} to {:.4f}".format(*self.interval())),
            ("their population", "{:.4f} to {:.4f}".format(*self.interval(population=True))),
        )
        bars = [Bar("estimate", self.value, low, high, f"{self.value:.3f}")]
        svg = bar_chart(bars, title=self.title, description="The estimate with its 95% interval.", label="AUC")
        figure = Figure("comparison", svg, "The estimate with its 95% interval.")
        return (Section("What was found", words, TextTable(("95% interval for", "from, to"), rows), figure),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "comparison",
            "statistic": self.words,
            "value": self.value,
            "variance": self.variance,
            "interval_95": list(self.interval()),
            "p_value": self.p_value,
            "counts": list(self.counts),
            "epsilon": float(self.epsilon),
        }


class MannWhitney:
    """Compare two groups of people whose membership is public: the Wilcoxon-Mann-Whitney statistic.

    Guarantee: epsilon-LDP for the value of one person; which group one belongs to is not protected.
    Because: [BBGK20] for two groups: each report is k-ary response over ``bins`` bins.
    Error: unbiased for the values rounded to bins; the variance of ``docs/proofs/ustatistics.md`` for two groups.
    Not covered: that somebody reported; values outside the bounds are moved there, NaN counts as ``lower``.

    >>> from hubbub.noise.testing import seeded
    >>> test = MannWhitney(epsilon=2, bins=8, lower=0, upper=1)
    >>> treated = test.randomize(np.linspace(0.3, 1, 20_000), rng=seeded(1))
    >>> control = test.randomize(np.linspace(0, 0.7, 20_000), rng=seeded(2))
    >>> found = test.estimate(treated, control)
    >>> round(found.value, 1), found.p_value < 0.001
    (0.8, True)
    """

    def __init__(self, *, epsilon: Real, bins: int, lower: Real, upper: Real) -> None:
        self.bins = bin_count(bins, most=_MOST_BINS)
        low, high = bounds_of(lower, upper)
        self._lower, self._upper = float(low), float(high)
        self.randomizer = KaryResponse(epsilon=epsilon, domain=self.bins)
        self.event: Step = self.randomizer.event

    def randomize(self, values: Sequence[Any] | NDArray[Any], *, rng: noise.RandomSource | None = None) -> Codes:
        """The report of each person of a group."""
        codes = bin_values(values, lower=self._lower, upper=self._upper, bins=self.bins)
        return np.asarray(self.randomizer.randomize(codes, rng=rng))

    def estimate(self, first: ArrayLike, second: ArrayLike) -> GroupComparison:
        """How often the first group exceeds the second, from the reports of both."""
        tallies = [self.randomizer.accumulate(reports).astype(np.float64) for reports in (first, second)]
        response = Response(self.randomizer.p, self.randomizer.q)
        wins = exceeds_matrix(self.bins)
        here, there = (nearest_histogram(response.histogram(counts)) for counts in tallies)
        return GroupComparison(
            words="Mann-Whitney",
            value=between_mean(tallies[0], tallies[1], wins, response),
            variance=max(0.0, between_variance(here, there, wins, response)),
            sampling=_sampling_variance(here, there, wins),
            counts=(int(tallies[0].sum()), int(tallies[1].sum())),
            epsilon=self.randomizer.epsilon,
        )


def exceeds_matrix(bins: int) -> Floats:
    """1 where the first bin is above the second, 1/2 where they are the same."""
    return np.tri(bins, k=-1) + np.eye(bins) / 2


def bin_count(bins: int, *, most: int) -> int:
    """A number of bins whose matrix fits."""
    number = whole(bins, name="bins", least=2)
    if number > most:
        raise TooLarge(
            f"there are more than {most:,} bins.",
            why="The kernel is a matrix with that many rows, and the noise grows with their number.",
            fix="Use fewer bins, or HierarchicalAUC for large domains.",
        )
    return number


def _sampling_variance(first: Floats, second: Floats, matrix: Floats) -> float:
    """What the choice of the people adds, if both groups are random samples."""
    total = 0.0
    for group, other, wins in ((first, second, matrix), (second, first, matrix.T)):
        shares, means = group / group.sum(), wins @ other / other.sum()
        total += float(shares @ means**2 - (shares @ means) ** 2) / group.sum()
    return max(0.0, total)
