"""What randomizers for the mean of a bounded number share: a declared grid, scores, and the estimate."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.local.estimates import MeanEstimate
from hubbub.local.randomizers.base import Randomizer, Reports, checked_state, local_step, report_count, symbol_bytes
from hubbub.local.randomizers.common.exact_words import Codes, Words
from hubbub.local.randomizers.common.values import bounds_of, epsilon_of, grid_steps
from hubbub.render import Json
from hubbub.terms import OutOfRange, Real, exact, fraction_of, whole


class MeanRandomizer(Randomizer):
    """A randomizer whose reports have *scores*: numbers whose expectation is the person's own value.

    Values are moved into [lower, upper] and rounded to a grid of ``steps`` steps before anything random happens.
    """

    _scores: NDArray[np.float64]  # of each symbol

    def __init__(
        self, *, epsilon: Real, lower: Real, upper: Real, missing: Real | None, steps: int, symbols: int
    ) -> None:
        self.epsilon = epsilon_of(epsilon)
        self.lower, self.upper = bounds_of(lower, upper)
        self.missing = self.lower if missing is None else exact(missing, name="missing")
        if not self.lower <= self.missing <= self.upper:
            raise OutOfRange(
                "missing must lie within the bounds.",
                why="It stands for values that are not numbers and is reported like any other.",
                fix="Give a public default within the bounds.",
            )
        self.event = local_step(self.protocol, self.epsilon)
        self.steps = steps
        self.symbols = self.state_size = symbols
        self.payload_bytes = symbol_bytes(symbols)

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> Codes:
        """Steps of the grid, to the nearest; values outside the bounds are moved to them, NaN counts as ``missing``."""
        low, high, missing = float(self.lower), float(self.upper), float(self.missing)
        return grid_steps(values, lower=low, upper=high, steps=self.steps, missing=missing)

    def respond(self, values: Sequence[Any] | NDArray[Any], words: Words) -> Reports:
        """The reports that these values and these words lead to."""
        codes = self.codes(values)
        return self._respond(codes, self._checked_words(codes, words))

    def decode(self, state: NDArray[np.int64], *, count: int) -> MeanEstimate:
        """The average score, which is unbiased, with the variance seen among the scores.

        It is never taken for less than that of people who all have this mean: where reports are few or alike, chance
        may show no spread at all.
        """
        people = report_count(count)
        weights = checked_state(state, self.state_size) / people
        mean = float(weights @ self._scores)
        seen = float(weights @ (self._scores - mean) ** 2) * people / max(1, people - 1)
        least = self._spread(min(max(mean, float(self.lower)), float(self.upper)))
        return MeanEstimate(
            value=mean,
            variance=max(seen, least) / people,
            count=people,
            lower=float(self.lower),
            upper=float(self.upper),
            influence=self.influence(1.0),
            epsilon=self.epsilon,
            protocol=self.protocol,
        )

    def variance(self, *, count: int, frequency: float = 0.0) -> float:
        """The variance of the mean if all of ``count`` people have this value (moved into the bounds)."""
        value = min(max(float(exact(frequency, name="frequency")), float(self.lower)), float(self.upper))
        return self._spread(value) / whole(count, name="count")

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move the mean: from one bound to the farthest score."""
        fakes = float(fraction_of(share, name="share", zero=True, one=True))
        top, bottom = float(self._scores.max()), float(self._scores.min())
        return fakes * max(top - float(self.lower), float(self.upper) - bottom)

    @property
    def span(self) -> float:
        """The distance of the bounds."""
        return float(self.upper - self.lower)

    @abstractmethod
    def _spread(self, value: float) -> float:
        """The variance of one score for a person with this value."""

    def _base_parameters(self, thresholds: Sequence[int]) -> dict[str, Json]:
        return {
            "protocol": self.protocol,
            "epsilon": str(self.epsilon),
            "lower": str(self.lower),
            "upper": str(self.upper),
            "missing": str(self.missing),
            "thresholds": [str(t) for t in thresholds],
        }

    def _code(self, value: Any) -> int:
        """One value as a step of the grid, without numpy where it is a plain number."""
        if type(value) is int or type(value) is float:
            low, high = float(self.lower), float(self.upper)
            missing = type(value) is float and math.isnan(value)
            number = float(self.missing) if missing else min(max(value, low), high)
            return int((number - low) / (high - low) * self.steps + 0.5)
        return int(self.codes([value])[0])
