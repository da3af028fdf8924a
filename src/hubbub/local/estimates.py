"""Estimates from reports: frequencies, a mean or a vector, with variances, confidence intervals and influence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from statistics import NormalDist

import numpy as np
from numpy.typing import NDArray

from hubbub.render import Document, Figure, Json, Section, TextTable, short
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import Real, fraction_of

Floats = NDArray[np.float64]

_SHOWN = 12  # values in a report for people
_FAKES = (0.001, 0.01, 0.05)


@dataclass(frozen=True, slots=True, eq=False)
class FrequencyEstimate(Document):
    """Estimated shares of the values 0, 1, ... among ``count`` people.

    ``variances`` is the variance of the noise, given what the people hold. ``null_variance`` is that of a value
    which nobody has. ``influence`` is how far one estimate moves per share of fake clients (1.0: all of them).
    ``bias`` is how far the expectation of an estimate can be from the share: 0 but for sketches that are too small.
    """

    values: Floats
    variances: Floats
    count: int
    null_variance: float
    influence: float
    epsilon: Fraction
    protocol: str
    bias: Floats | float = 0.0

    @property
    def standard_errors(self) -> Floats:
        """The noise's standard deviation for each share."""
        return np.sqrt(self.variances)

    def intervals(self, confidence: Real = 0.95, *, simultaneous: bool = False, population: bool = False) -> Floats:
        """Rows (low, high) that hold the share among those who reported, each with that confidence.

        ``simultaneous``: all of them at once (Bonferroni). ``population``: the share in the population of which the
        people are a random sample.
        """
        times = normal_quantile(confidence, self.values.size if simultaneous else 1)
        reach = times * np.sqrt(self._spread(population)) + self.bias
        return np.stack([self.values - reach, self.values + reach], axis=1)

    def detection_limit(self, confidence: Real = 0.95, *, simultaneous: bool = False) -> float:
        """The share above which a value is, with that confidence, not one that nobody has."""
        times = normal_quantile(confidence, self.values.size if simultaneous else 1)
        return times * math.sqrt(self.null_variance) + float(np.max(self.bias))

    def shift(self, share: Real) -> float:
        """The most that this share of fake clients can have moved one of the estimates."""
        return float(fraction_of(share, name="share", zero=True, one=True)) * self.influence

    @property
    def title(self) -> str:
        """What is told."""
        return f"Shares of {self.values.size:,} values among {self.count:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        return self._found(), self._trust()

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "frequencies",
            "protocol": self.protocol,
            "epsilon": float(self.epsilon),
            "count": self.count,
            "values": self.values.tolist(),
            "variances": self.variances.tolist(),
            "detection_limit_95": self.detection_limit(),
            "influence": self.influence,
        }

    def __repr__(self) -> str:
        return (
            f"Frequencies({self.values.size} values, {self.count} people, epsilon={short(self.epsilon)}, "
            f"±{short(normal_quantile(0.95) * math.sqrt(self.null_variance))} (95%))"
        )

    def _spread(self, population: bool) -> Floats:
        if not population:
            return self.variances
        likely = np.clip(self.values, 0, 1)
        return self.variances + likely * (1 - likely) / self.count

    def _top(self) -> list[int]:
        return [int(i) for i in np.argsort(-self.values, kind="stable")[:_SHOWN]]

    def _found(self) -> Section:
        limit = self.detection_limit(0.95, simultaneous=True)
        ends = self.intervals(0.95, simultaneous=True)
        rows = tuple(
            (
                str(i),
                f"{100 * self.values[i]:.2f}%",
                f"{100 * ends[i, 0]:.2f}% to {100 * ends[i, 1]:.2f}%",
                "yes" if self.values[i] > limit else "no",
            )
            for i in self._top()
        )
        words = (
            f"Each person sent one randomized report. The {len(rows)} largest estimates are shown. The intervals of "
            "all values hold the true shares among those who reported, all at once, 95 times out of 100: so it does "
            "no harm that the largest were picked.",
            f"A share below {100 * limit:.2g}% cannot be told from nobody at all: chance alone puts one of "
            f"{self.values.size:,} empty values above it in fewer than 1 of 20 collections.",
        )
        table = TextTable(("value", "share", "interval", "told from nobody"), rows)
        return Section(
            "What was found",
            words,
            table,
            Figure("shares", self._chart(), "Shares with intervals that hold all at once, 95%."),
        )

    def _chart(self) -> str:
        ends = self.intervals(0.95, simultaneous=True)
        bars = [Bar(str(i), float(self.values[i]), low=float(ends[i, 0]), high=float(ends[i, 1])) for i in self._top()]
        return bar_chart(
            bars,
            title=self.title,
            description=f"The {len(bars)} largest shares with their intervals.",
            label="share of the people",
            show=percentage,
        )

    def _trust(self) -> Section:
        words = (
            f"Every report is protected at home with epsilon = {short(self.epsilon)} ({self.protocol}): whoever sees "
            f"it, the odds of what a person holds change at most {short(math.exp(float(self.epsilon)))}-fold.",
            "Reports are not checked against the truth. Fake clients that send what they like can move one share by:",
        )
        rows = tuple((f"{100 * s:g}%", f"{100 * self.shift(s):.3g}%") for s in _FAKES)
        return Section("How far to trust it", words, TextTable(("fake clients", "one share moves at most"), rows))


@dataclass(frozen=True, slots=True, eq=False)
class MeanEstimate(Document):
    """An estimated mean of values in [lower, upper].

    ``variance`` is for the mean of the population that the people are a sample of; for the mean of just those who
    reported it is a little too wide. ``influence`` is how far it moves per share of fake clients.
    """

    value: float
    variance: float
    count: int
    lower: float
    upper: float
    influence: float
    epsilon: Fraction
    protocol: str

    @property
    def standard_error(self) -> float:
        """The standard deviation of the estimate."""
        return math.sqrt(self.variance)

    @property
    def lower_bound(self) -> float:
        """The order below which no local protocol can get, up to a constant: (upper - lower) / (epsilon sqrt(n)).

        [CSS12]: the expected error of any epsilon-LDP protocol is at least of this order for small epsilon.
        """
        return (self.upper - self.lower) / (float(self.epsilon) * math.sqrt(self.count))

    def interval(self, confidence: Real = 0.95) -> tuple[float, float]:
        """Where the mean lies, with that confidence."""
        reach = normal_quantile(confidence) * self.standard_error
        return self.value - reach, self.value + reach

    def shift(self, share: Real) -> float:
        """The most that this share of fake clients can have moved the mean."""
        return float(fraction_of(share, name="share", zero=True, one=True)) * self.influence

    @property
    def title(self) -> str:
        """What is told."""
        return f"The mean of {self.count:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        low, high = self.interval()
        words = (
            f"The mean is {self.value:.6g}, within {low:.6g} and {high:.6g} 95 times out of 100.",
            f"Every report is protected at home with epsilon = {short(self.epsilon)} ({self.protocol}). No protocol in "
            f"which people trust nobody gets far below an error of {self.lower_bound:.3g}, up to a constant.",
            "Reports are not checked against the truth. Fake clients that send what they like can move the mean by:",
        )
        rows = tuple((f"{100 * s:g}%", f"{self.shift(s):.3g}") for s in _FAKES)
        return (Section("What was found", words, TextTable(("fake clients", "the mean moves at most"), rows)),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        low, high = self.interval()
        return {
            "kind": "mean",
            "protocol": self.protocol,
            "epsilon": float(self.epsilon),
            "count": self.count,
            "value": self.value,
            "variance": self.variance,
            "interval_95": [low, high],
            "lower_bound": self.lower_bound,
            "influence": self.influence,
        }

    def __repr__(self) -> str:
        reach = normal_quantile(0.95) * self.standard_error
        return f"MeanEstimate({self.value:.6g} ±{reach:.3g} (95%), {self.count} people)"


@dataclass(frozen=True, slots=True, eq=False)
class VectorEstimate(Document):
    """An estimated mean of vectors in the unit ball, with the variance of each coordinate."""

    values: Floats
    variances: Floats
    count: int
    influence: float
    epsilon: Fraction
    protocol: str

    @property
    def error(self) -> float:
        """The root of the expected squared distance from the true mean."""
        return float(np.sqrt(self.variances.sum()))

    def intervals(self, confidence: Real = 0.95, *, simultaneous: bool = False) -> Floats:
        """Rows (low, high) that hold the mean of a coordinate, each with that confidence."""
        reach = normal_quantile(confidence, self.values.size if simultaneous else 1) * np.sqrt(self.variances)
        return np.stack([self.values - reach, self.values + reach], axis=1)

    def shift(self, share: Real) -> float:
        """The most that this share of fake clients can have moved the mean, as a distance."""
        return float(fraction_of(share, name="share", zero=True, one=True)) * self.influence

    @property
    def title(self) -> str:
        """What is told."""
        return f"The mean vector of {self.count:,} people, {self.values.size} coordinates"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        words = (
            f"The estimate lies about {self.error:.3g} from the true mean, which itself has length 1 at most.",
            f"Every report is protected at home with epsilon = {short(self.epsilon)} ({self.protocol}).",
            "Reports are not checked against the truth. Fake clients that send what they like can move the mean by:",
        )
        rows = tuple((f"{100 * s:g}%", f"{self.shift(s):.3g}") for s in _FAKES)
        return (Section("What was found", words, TextTable(("fake clients", "the mean moves at most"), rows)),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "vector",
            "protocol": self.protocol,
            "epsilon": float(self.epsilon),
            "count": self.count,
            "values": self.values.tolist(),
            "variances": self.variances.tolist(),
            "influence": self.influence,
        }

    def __repr__(self) -> str:
        return f"VectorEstimate({self.values.size} coordinates, {self.count} people, error about {self.error:.3g})"


Estimate = FrequencyEstimate | MeanEstimate | VectorEstimate


def normal_quantile(confidence: Real, times: int = 1) -> float:
    """How many standard deviations hold that confidence, for ``times`` estimates at once."""
    level = float(fraction_of(confidence, name="confidence"))
    return -NormalDist().inv_cdf((1 - level) / 2 / times)
