"""Means of several attributes and variances, from one report a person or from two."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.estimates import MeanEstimate, normal_quantile
from hubbub.local.randomizers.base import local_step, no_reports
from hubbub.local.randomizers.bounded_means import Hybrid
from hubbub.local.randomizers.common.exact_words import integer_below
from hubbub.local.randomizers.common.values import bounds_of, epsilon_of, real_column, report_array
from hubbub.noise import SECURE
from hubbub.render import Document, Json, Section, TextTable, short
from hubbub.terms import BadReport, Compose, EmptyInput, Event, OutOfRange, Real, Step, WrongShape

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class VarianceEstimate(Document):
    """An estimated variance of values in [lower, upper], with the mean beside it.

    ``variance`` is the squared standard error of ``value``, for the population of which the people are a sample.
    """

    value: float
    variance: float
    mean: MeanEstimate
    count: int
    lower: float
    upper: float
    epsilon: Fraction

    def interval(self, confidence: Real = 0.95) -> tuple[float, float]:
        """Where the variance lies, with that confidence."""
        reach = normal_quantile(confidence) * math.sqrt(self.variance)
        return self.value - reach, self.value + reach

    @property
    def lower_bound(self) -> float:
        """The order below which no local protocol gets: that of the mean of a number in [0, (upper - lower)^2/4]."""
        return (self.upper - self.lower) ** 2 / 4 / (float(self.epsilon) * math.sqrt(self.count))

    @property
    def title(self) -> str:
        """What is told."""
        return f"The variance of {self.count:,} people"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        words = (
            "The variance is {:.6g}, within {:.6g} and {:.6g} 95 times out of 100.".format(
                self.value, *self.interval()
            ),
            f"Reports are protected at home, with epsilon = {short(self.epsilon)} for each person. No protocol in "
            f"which people trust nobody gets far below an error of {self.lower_bound:.3g}, up to a constant.",
        )
        rows = (
            ("variance", f"{self.value:.5g}", "{:.5g} to {:.5g}".format(*self.interval())),
            ("mean", f"{self.mean.value:.5g}", "{:.5g} to {:.5g}".format(*self.mean.interval())),
        )
        return (Section("What was found", words, TextTable(("", "estimate", "95% interval"), rows)),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "local-variance",
            "value": self.value,
            "variance": self.variance,
            "interval_95": list(self.interval()),
            "mean": self.mean.value,
            "count": self.count,
            "epsilon": float(self.epsilon),
            "lower_bound": self.lower_bound,
        }


class LocalVariance:
    """The variance of a bounded number, from its first two moments around the middle of the bounds.

    ``split="groups"``: each person is given one moment by chance and reports it with all of epsilon.
    ``split="both"``: each person reports both, with half of epsilon each.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [WXYZ19]: one epsilon-LDP report about a moment that was drawn by chance, or two of epsilon/2 that add up.
    Error: unbiased; its standard error is that of the second moment and of the square of the first.
    Not covered: that somebody reported; NaN counts as the middle, values outside the bounds are moved there.

    >>> from hubbub.noise.testing import seeded
    >>> survey = LocalVariance(epsilon=2, lower=0, upper=1)
    >>> found = survey.estimate(survey.randomize(np.linspace(0, 1, 100_000), rng=seeded(7)))
    >>> low, high = found.interval(0.95)
    >>> low < 1 / 12 < high
    True
    """

    def __init__(self, *, epsilon: Real, lower: Real, upper: Real, split: str = "groups") -> None:
        self.epsilon = epsilon_of(epsilon)
        self.lower, self.upper = bounds_of(lower, upper)
        if split not in ("groups", "both"):
            raise OutOfRange(
                f"split must be 'groups' or 'both' and is {split!r}.",
                why="Either the people are split over the two moments, or each person's epsilon is.",
                fix='Leave it out for "groups", which errs less.',
            )
        self.split = split
        cost = self.epsilon if split == "groups" else self.epsilon / 2
        half = (self.upper - self.lower) / 2
        self.first = Hybrid(epsilon=cost, lower=-half, upper=half, missing=0)
        self.second = Hybrid(epsilon=cost, lower=0, upper=half * half, missing=0)
        steps = tuple(local_step("variance", cost) for _ in range(2))
        self.event: Event = steps[0] if split == "groups" else Compose(steps)

    @property
    def middle(self) -> float:
        """The middle of the bounds, around which the moments are taken."""
        return float(self.lower + self.upper) / 2

    def randomize(
        self, values: Sequence[Any] | NDArray[Any], *, rng: noise.RandomSource | None = None
    ) -> NDArray[np.int64]:
        """The report of each person: rows (moment, report) for groups, rows of both reports otherwise."""
        source = SECURE if rng is None else rng
        low, high = float(self.lower), float(self.upper)
        away = np.clip(np.nan_to_num(real_column(values), nan=self.middle), low, high) - self.middle
        if self.split == "both":
            return np.stack(
                [self.first.randomize(away, rng=source), self.second.randomize(away**2, rng=source)], axis=1
            )
        moments = integer_below(source.random_words(len(away)), 2)
        reports = np.stack([moments, np.zeros_like(moments)], axis=1)
        for moment, randomizer in enumerate((self.first, self.second)):
            chosen = moments == moment
            if chosen.any():
                reports[chosen, 1] = randomizer.randomize(away[chosen] ** (moment + 1), rng=source)
        return reports

    def estimate(self, reports: ArrayLike) -> VarianceEstimate:
        """The variance, from the reports of many people."""
        rows = _report_pairs(reports, "A report names its moment, or has both.")
        if self.split == "both":
            columns, shared = [rows[:, 0], rows[:, 1]], True
        else:
            columns, shared = [rows[rows[:, 0] == moment, 1] for moment in range(2)], False
        if min(map(len, columns)) < 2:
            raise no_reports()
        return self._combined(
            _mean_estimate(self.first, columns[0]), _mean_estimate(self.second, columns[1]), len(rows), shared=shared
        )

    def _combined(self, first: MeanEstimate, second: MeanEstimate, count: int, *, shared: bool) -> VarianceEstimate:
        value = second.value - first.value**2 + first.variance  # the square of an estimate is too large by its variance
        slope = 2 * abs(first.value)
        apart = second.variance + slope**2 * first.variance
        # the same people told both: whatever their moments have in common is at most the product of the errors
        joined = 2 * slope * math.sqrt(first.variance * second.variance) * self._common(first) if shared else 0.0
        return VarianceEstimate(
            value=value,
            variance=apart + joined + 2 * first.variance**2,
            mean=MeanEstimate(
                first.value + self.middle,
                first.variance,
                first.count,
                float(self.lower),
                float(self.upper),
                first.influence,
                first.epsilon,
                first.protocol,
            ),
            count=count,
            lower=float(self.lower),
            upper=float(self.upper),
            epsilon=self.epsilon,
        )

    def _common(self, first: MeanEstimate) -> float:
        """The most that the people's own spread can be of the first moment's variance."""
        return min(1.0, float(self.upper - self.lower) ** 2 / 4 / first.count / first.variance)


def _report_pairs(reports: ArrayLike, why: str) -> NDArray[np.int64]:
    """Reports as rows of two integers."""
    rows = report_array(reports)
    if not rows.size:
        raise no_reports()
    if rows.ndim != 2 or rows.shape[1] != 2 or rows.dtype.kind not in "iu":
        raise BadReport("rows of two integers were expected.", why=why, fix="Give what randomize() returned.")
    return rows


def _mean_estimate(randomizer: Hybrid, reports: NDArray[np.int64]) -> MeanEstimate:
    return randomizer.decode(randomizer.accumulate(reports), count=len(reports))


class Means:
    """The means of several bounded attributes, each person reporting one of them, drawn by chance.

    Guarantee: epsilon-LDP for all attributes of one person together.
    Because: [WXYZ19, Sec. IV]: one epsilon-LDP report, about an attribute that has nothing to do with the values.
    Error: each mean has the error of ``Hybrid`` with a part of the people, which is less than with a part of epsilon.
    Not covered: that somebody reported; NaN counts as the lower bound, values outside the bounds are moved there.

    >>> from hubbub.noise.testing import seeded
    >>> survey = Means(epsilon=2, bounds={"age": (0, 100), "hours": (0, 24)})
    >>> told = survey.randomize({"age": [40.0] * 50_000, "hours": [7.0] * 50_000}, rng=seeded(7))
    >>> {name: round(mean.value) for name, mean in survey.estimate(told).items()}
    {'age': 40, 'hours': 7}
    """

    def __init__(self, *, epsilon: Real, bounds: Mapping[str, tuple[Real, Real]]) -> None:
        if not bounds:
            raise EmptyInput(
                "there is no attribute.", why="A report is about one.", fix="Give bounds={name: (low, high)}."
            )
        self.randomizers = {
            name: Hybrid(epsilon=epsilon, lower=low, upper=high) for name, (low, high) in bounds.items()
        }
        self.event: Step = local_step("means", epsilon_of(epsilon))

    def randomize(self, values: Mapping[str, Any], *, rng: noise.RandomSource | None = None) -> NDArray[np.int64]:
        """The report of each person: rows (number of the attribute, report)."""
        source = SECURE if rng is None else rng
        columns = (
            [real_column(values[name]) for name in self.randomizers] if set(values) == set(self.randomizers) else []
        )
        if not columns or len({len(column) for column in columns}) != 1:
            raise WrongShape(
                "a column of the same length for each attribute was expected.",
                why="Each person has a value of every attribute, and reports one.",
                fix="Give {name: values} with the names of bounds=.",
            )
        picked = integer_below(source.random_words(len(columns[0])), len(columns))
        reports = np.stack([picked, np.zeros_like(picked)], axis=1)
        for place, (column, randomizer) in enumerate(zip(columns, self.randomizers.values(), strict=True)):
            chosen = picked == place
            if chosen.any():
                reports[chosen, 1] = randomizer.randomize(column[chosen], rng=source)
        return reports

    def estimate(self, reports: ArrayLike) -> dict[str, MeanEstimate]:
        """The mean of each attribute, from the reports of many people."""
        rows = _report_pairs(reports, "A report names its attribute, and what was reported about it.")
        if rows[:, 0].min() < 0 or rows[:, 0].max() >= len(self.randomizers):
            raise BadReport(
                "a report is about an attribute that there is none of.",
                why="Attributes are numbered in the order of bounds=.",
                fix="Estimate with the bounds under which the reports were made.",
                reason="domain",
            )
        return {
            name: _mean_estimate(randomizer, rows[rows[:, 0] == place, 1])
            for place, (name, randomizer) in enumerate(self.randomizers.items())
        }
