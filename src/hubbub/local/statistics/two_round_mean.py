"""A mean by two adaptive rounds: first where the values lie, then their mean there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.local.estimates import MeanEstimate
from hubbub.local.randomizers.base import local_step
from hubbub.local.randomizers.bounded_means import Hybrid
from hubbub.local.randomizers.common.values import Codes, bounds_of, epsilon_of, real_column
from hubbub.local.statistics.cumulative_curves import LocalCurve
from hubbub.local.statistics.ranges import Ranges
from hubbub.local.statistics.ustatistics import check_people
from hubbub.noise import SECURE
from hubbub.render import Document, Json, Section, TextTable, percent, short
from hubbub.terms import Compose, Event, OutOfRange, Real, fraction_of, positive


@dataclass(frozen=True, slots=True, eq=False)
class RefinedMean(Document):
    """A mean from two rounds: the range that the first one found, and the mean of the values moved into it."""

    mean: MeanEstimate
    range: tuple[float, float]
    declared: tuple[float, float]
    first_count: int
    cost: Fraction
    words: str

    @property
    def value(self) -> float:
        """The estimate."""
        return self.mean.value

    @property
    def variance(self) -> float:
        """The variance of the second round's mean, given the range."""
        return self.mean.variance

    @property
    def lower_bound(self) -> float:
        """The order below which no local protocol gets for values in the range that was found."""
        return self.mean.lower_bound

    def interval(self, confidence: Real = 0.95) -> tuple[float, float]:
        """Where the mean of the values, moved into the range that was found, lies with that confidence."""
        return self.mean.interval(confidence)

    @property
    def title(self) -> str:
        """What is told."""
        return f"The mean in two rounds, {self.first_count + self.mean.count:,} reports"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        low, high = self.range
        share = (high - low) / (self.declared[1] - self.declared[0])
        words = (
            f"The first {self.first_count:,} reports found that values lie between {low:.6g} and {high:.6g}, "
            f"{percent(share)} of the declared bounds. Then people were asked for their value there.",
            f"The mean of values moved into that range is {self.value:.6g}, within {self.interval()[0]:.6g} and "
            f"{self.interval()[1]:.6g} 95 times out of 100.",
            f"{self.words} No protocol in which people trust nobody gets far below an error of "
            f"{self.lower_bound:.3g} for this range, up to a constant.",
        )
        rows = (
            ("range that was found", f"{low:.5g} to {high:.5g}"),
            ("error, 95%", f"{(self.interval()[1] - self.interval()[0]) / 2:.3g}"),
            ("epsilon for each person", short(self.cost)),
        )
        return (Section("What was found", words, TextTable(("", "number"), rows)),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "refined-mean",
            "value": self.value,
            "variance": self.variance,
            "interval_95": list(self.interval()),
            "range": list(self.range),
            "counts": [self.first_count, self.mean.count],
            "epsilon": float(self.cost),
            "lower_bound": self.lower_bound,
        }


class TwoRounds:
    """The mean of values whose declared bounds are far too wide: a first round finds where they are.

    ``rounds="one"``: each person takes part in one round, ``share`` of them in the first; who does is settled before
    anything is asked. ``rounds="both"``: each person takes part in both, with half of epsilon each.

    Guarantee: epsilon-LDP for the value of one person, interactively: the second question depends on the reports of
    the first, not on the person.
    Because: [KLNRS11] (sequentially interactive protocols). With ``rounds="one"`` a person sends one epsilon-LDP
    report, chosen by a coin that does not look at the value; so the cost is the larger of the two, as on disjoint
    people, and not twice that, although neighbours replace a value. With ``rounds="both"`` the two reports add up:
    ``event`` is their composition.
    Error: unbiased for the values moved into the range that was found: the middle half of the people as the first
    round sees it, and ``reach`` times its width more on either side (all but one in a thousand, were the values
    normal). Heavy tails beyond it pull the mean toward the range.
    Not covered: that somebody reported, and in which round.

    >>> from hubbub.noise.testing import seeded
    >>> survey = TwoRounds(epsilon=2, lower=0, upper=1_000_000)
    >>> found = survey.run(np.linspace(40_000, 60_000, 100_000), rng=seeded(7))
    >>> low, high = found.interval(0.95)
    >>> low < 50_000 < high, found.range[1] - found.range[0] < 100_000
    (True, True)
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        lower: Real,
        upper: Real,
        rounds: str = "one",
        share: Real = 0.3,
        reach: Real = 2,
        cells: int = 256,
    ) -> None:
        self.epsilon = epsilon_of(epsilon)
        self.lower, self.upper = bounds_of(lower, upper)
        if rounds not in ("one", "both"):
            raise OutOfRange(
                f"rounds must be 'one' or 'both' and is {rounds!r}.",
                why="A person takes part in one round, or in both with half of epsilon each.",
                fix='Leave it out for "one".',
            )
        self.rounds = rounds
        self.share = float(fraction_of(share, name="share"))
        self.reach = float(positive(reach, name="reach"))
        cost = self.epsilon if rounds == "one" else self.epsilon / 2
        self.first = Ranges(epsilon=cost, cells=cells, lower=lower, upper=upper)
        step = local_step("two-rounds", cost)
        self.event: Event = step if rounds == "one" else Compose((step, step))

    def refine(self, curve: LocalCurve) -> Hybrid:
        """The randomizer of the second round: for the middle half of the people, and ``reach`` times that beyond."""
        low, high = curve.quantile_interval(0.25)[0], curve.quantile_interval(0.75)[1]
        more = self.reach * (high - low)
        return Hybrid(
            epsilon=self.first.epsilon,
            lower=max(low - more, self.first.lower),
            upper=min(high + more, self.first.upper),
        )

    def estimate(self, first_reports: Codes, refined: Hybrid, second_reports: Codes) -> RefinedMean:
        """The mean from the reports of both rounds."""
        mean = refined.decode(refined.accumulate(second_reports), count=len(second_reports))
        both = "Each person took part in both rounds, with half of epsilon each: the two add up."
        one = "Each person took part in one of the two rounds and sent one report."
        return RefinedMean(
            mean=mean,
            range=(float(refined.lower), float(refined.upper)),
            declared=(float(self.lower), float(self.upper)),
            first_count=len(first_reports),
            cost=self.epsilon,
            words=one if self.rounds == "one" else both,
        )

    def run(self, values: Sequence[Any] | NDArray[Any], *, rng: noise.RandomSource | None = None) -> RefinedMean:
        """Both rounds in one process, for those who hold all values (a simulation, or a test)."""
        source = SECURE if rng is None else rng
        held = real_column(values)
        check_people(len(held))
        asked = self._turns(len(held), source)
        first_reports = self.first.randomize(held if self.rounds == "both" else held[asked], rng=source)
        refined = self.refine(self.first.estimate(first_reports))
        rest = held if self.rounds == "both" else held[~asked]
        return self.estimate(first_reports, refined, np.asarray(refined.randomize(rest, rng=source)))

    def _turns(self, count: int, source: noise.RandomSource) -> NDArray[np.bool_]:
        """Who takes part in the first round: so many, at random, whatever they hold."""
        order: Codes = np.argsort(source.random_words(count), kind="stable")
        turns = np.zeros(count, dtype=bool)
        turns[order[: max(1, round(self.share * count))]] = True
        return turns
