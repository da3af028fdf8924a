"""Post-processing onto the simplex: norm-sub and iterative Bayes. Opt-in, biased, and without intervals.

An unbiased estimate of a rare value is negative half of the time. Whoever only wants to draw a chart may prefer the
nearest possible table; whoever compares, adds up or tests should not. So nothing here happens by itself, what comes out
says that it is biased, and it has no intervals.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.estimates import FrequencyEstimate
from hubbub.local.pair_averages import nearest_shares
from hubbub.local.randomizers.finite import FiniteRandomizer
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.render import Document, Figure, Json, Section, TextTable
from hubbub.render.charts import Bar, bar_chart, percentage
from hubbub.terms import NotProved, Real, WrongShape, positive, whole

Floats = NDArray[np.float64]

_SHOWN = 12


@dataclass(frozen=True, slots=True, eq=False)
class Processed(Document):
    """Shares that were post-processed: possible ones, and biased."""

    values: Floats
    count: int
    method: str
    label: str = "biased"

    def intervals(self, confidence: Real = 0.95) -> NoReturn:
        """There are none: how far a projection is off depends on the unknown shares."""
        raise NotProved(
            f"shares by {self.method} have no intervals.",
            why="They are biased, by an amount that depends on the true shares.",
            fix="Take the intervals of the unbiased estimate.",
        )

    @property
    def title(self) -> str:
        """What is told."""
        return f"Shares of {self.values.size:,} values, post-processed (biased)"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        words = (
            f"These shares come from the reports of {self.count:,} people by {self.method}. They are possible shares, "
            "and biased: rare values tend to 0, and sums of many are off. They have no intervals.",
        )
        top = [int(i) for i in np.argsort(-self.values, kind="stable")[:_SHOWN]]
        rows = tuple((str(i), f"{100 * self.values[i]:.2f}%") for i in top)
        bars = [Bar(str(i), float(self.values[i])) for i in top]
        svg = bar_chart(bars, title=self.title, description="Without error bars.", label="share", show=percentage)
        figure = Figure("processed", svg, "Biased: no error bars can be given.")
        return (Section("What was found", words, TextTable(("value", "share (biased)"), rows), figure),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "processed-shares",
            "label": self.label,
            "method": self.method,
            "count": self.count,
            "values": self.values.tolist(),
        }


def simplex(frequencies: FrequencyEstimate) -> Processed:
    """The nearest table of shares (in squares): what is negative goes to 0, the rest is lowered equally.

    [WLLSL20] call it Norm-Sub.

    >>> from hubbub.noise.testing import seeded
    >>> survey = KaryResponse(epsilon=1, domain=50)
    >>> shares = simplex(survey.estimate(survey.randomize([3] * 2000, rng=seeded(7))))
    >>> bool(shares.values.min() >= 0), round(float(shares.values.sum()), 6), shares.label
    (True, 1.0, 'biased')
    """
    return Processed(nearest_shares(frequencies.values), frequencies.count, "projection to the simplex")


def iterative_bayes(
    randomizer: KaryResponse | FiniteRandomizer, reports: ArrayLike, *, rounds: int = 1000, tolerance: Real = 1e-9
) -> Processed:
    """The shares under which the reports are likeliest, by expectation maximization [AA01].

    Each round asks what each report tells under the present shares, by Bayes' rule, and averages.
    """
    distributions = _report_distributions(randomizer)
    counts = randomizer.accumulate(reports).astype(np.float64)
    seen, close = counts / counts.sum(), float(positive(tolerance, name="tolerance"))
    shares = np.full(len(distributions), 1 / len(distributions))
    for _ in range(whole(rounds, name="rounds")):
        expected = np.maximum(shares @ distributions, 1e-300)
        better = shares * (distributions @ (seen / expected))
        moved, shares = float(np.abs(better - shares).sum()), better
        if moved < close:
            break
    return Processed(shares / shares.sum(), int(counts.sum()), "iterative Bayes")


def _report_distributions(randomizer: KaryResponse | FiniteRandomizer) -> Floats:
    """Row x is the distribution of the report of x."""
    if isinstance(randomizer, FiniteRandomizer):
        return randomizer.matrix
    if isinstance(randomizer, KaryResponse) and randomizer.domain <= 1 << 12:
        return np.full((randomizer.domain,) * 2, randomizer.q) + randomizer.contrast * np.eye(randomizer.domain)
    raise WrongShape(
        "iterative Bayes needs the matrix of the randomizer.",
        why="It goes through every report's distribution in every round.",
        fix="Use KaryResponse of up to 4,096 values, or FiniteRandomizer.of(randomizer, values).",
    )
