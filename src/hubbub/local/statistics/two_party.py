"""Pair statistics where two people compute the kernel together: noise on one number instead of two reports.

The protocol needs secure two-party computation: the pair's kernel value is computed and randomized without either of
the two learning the other's value. That part is *simulated* here: ``simulate`` sees both values, in one process. It
tells how accurate such a deployment would be, with the exact distribution of its reports, and protects nobody.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.local.estimates import MeanEstimate
from hubbub.local.randomizers.base import local_step
from hubbub.local.randomizers.bounded_means import Duchi
from hubbub.local.randomizers.common.values import bounds_of, real_column
from hubbub.local.statistics.pair_kernels import Function, custom_kernel, kernel_named
from hubbub.local.statistics.ustatistics import check_people
from hubbub.noise import SECURE
from hubbub.render import Document, Json, Section, TextTable, short
from hubbub.terms import OutOfRange, PureStep, Real, whole

SIMULATED = "simulated: one process saw both values of every pair, so nobody was protected by this run"


@dataclass(frozen=True, slots=True)
class TwoPartyEstimate(Document):
    """An estimated pair statistic from disjoint pairs, each of which sent one randomized bit."""

    words: str
    mean: MeanEstimate
    pairs: int

    @property
    def value(self) -> float:
        """The estimate."""
        return self.mean.value

    @property
    def variance(self) -> float:
        """Its variance, for the population of which people (and pairs) are a random sample."""
        return self.mean.variance

    @property
    def epsilon(self) -> Fraction:
        """What each pair's bit costs each of the two."""
        return self.mean.epsilon

    def interval(self, confidence: Real = 0.95) -> tuple[float, float]:
        """Where the statistic lies, with that confidence."""
        return self.mean.interval(confidence)

    @property
    def title(self) -> str:
        """What is told."""
        return f"{self.words[0].upper()}{self.words[1:]} from {self.pairs:,} disjoint pairs (simulated)"

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        low, high = self.interval()
        words = (
            f"The estimate is {self.value:.6g}, within {low:.6g} and {high:.6g} 95 times out of 100.",
            f"Each pair would send one bit with epsilon = {short(self.epsilon)} for both. This run was {SIMULATED}.",
        )
        rows = (("pairs", f"{self.pairs:,}"), ("standard error", f"{math.sqrt(self.variance):.3g}"))
        return (Section("What was found", words, TextTable(("", "number"), rows)),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "two-party-statistic",
            "statistic": self.words,
            "simulated": True,
            "value": self.value,
            "variance": self.variance,
            "interval_95": list(self.interval()),
            "pairs": self.pairs,
            "epsilon": float(self.epsilon),
        }


class TwoPartyUStatistic:
    """The mean of a kernel over random disjoint pairs, each evaluated by secure two-party computation.

    ``kernel`` is "variance", "gini", or a function of two arrays with values in ``kernel_bounds``.

    Guarantee: epsilon-DP for the value of each of the two against everybody but the other, and against the other too if
    the computation is secure: the only output is one bit by an epsilon-LDP randomizer of the kernel's value.
    Because: [BBGK20], with the bounded randomized response of [CS208, Sec. 3.1] on the kernel's value.
    Error: unbiased, without rounding to bins; variance (c^2/4 - (U - 1/2)^2) / (n/2) for a kernel with values in
    [0, 1] and mean U, c = (e^epsilon + 1) / (e^epsilon - 1).
    Not covered: the secure computation itself, which ``simulate`` replaces by an ordinary one.

    >>> from hubbub.noise.testing import seeded
    >>> spread = TwoPartyUStatistic("gini", epsilon=1, lower=0, upper=1)
    >>> found = spread.simulate(np.linspace(0, 1, 20_000), rng=seeded(7))
    >>> round(found.value, 1)
    0.3
    """

    def __init__(
        self,
        kernel: str | Function,
        *,
        epsilon: Real,
        lower: Real,
        upper: Real,
        kernel_bounds: tuple[Real, Real] | None = None,
    ) -> None:
        self.kernel = kernel_named(kernel) if isinstance(kernel, str) else custom_kernel(kernel, None)
        if self.kernel.columns > 1 or (kernel_bounds is None and not isinstance(kernel, str)):
            raise OutOfRange(
                "the kernel's own bounds are missing, or it needs two numbers a person.",
                why="The value of the kernel is randomized between its bounds.",
                fix="Give kernel_bounds=(low, high) with a function of two numbers.",
            )
        low, high = bounds_of(lower, upper)
        self._lower, self._upper = float(low), float(high)
        top = {"gini": high - low, "variance": (high - low) ** 2 / 2}
        ends = kernel_bounds if kernel_bounds is not None else (0, top[self.kernel.name])
        self.randomizer = Duchi(epsilon=epsilon, lower=ends[0], upper=ends[1])
        self.event: PureStep = local_step("two-party", self.randomizer.epsilon)

    def simulate(
        self, values: Sequence[Any] | NDArray[Any], *, rng: noise.RandomSource | None = None
    ) -> TwoPartyEstimate:
        """The statistic of these values, by a simulation that sees them: for planning, not for protecting anybody."""
        source = SECURE if rng is None else rng
        held = np.clip(np.nan_to_num(real_column(values), nan=self._lower), self._lower, self._upper)
        pairs = check_people(len(held)) // 2
        order = np.argsort(source.random_words(len(held)), kind="stable")  # who meets whom is public and random
        first, second = held[order[:pairs]], held[order[pairs : 2 * pairs]]
        reports = self.randomizer.randomize(np.asarray(self.kernel.function(first, second)), rng=source)
        estimate = self.randomizer.decode(self.randomizer.accumulate(reports), count=pairs)
        return TwoPartyEstimate(self.kernel.words, estimate, pairs)

    def expected_variance(self, value: float, *, people: int) -> float:
        """The mean squared error if the statistic is ``value``: (c^2/4 - (U - 1/2)^2) / (n/2) on [0, 1]."""
        span, low = self.randomizer.span, float(self.randomizer.lower)
        scale = 1 / math.tanh(float(self.randomizer.epsilon) / 2)
        share = (value - low) / span
        return span**2 * (scale**2 / 4 - (share - 0.5) ** 2) / (whole(people, name="people", least=2) // 2)
