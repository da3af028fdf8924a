"""Means of bounded numbers: Duchi's one bit, the piecewise mechanism on a grid, or the hybrid of both."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.common.exact_words import (
    WORD,
    Number,
    Word,
    as_word,
    coin_threshold,
    exp_low,
    pick,
    word_chance,
)
from hubbub.local.randomizers.common.integer_reports import IntegerReports
from hubbub.local.randomizers.common.values import epsilon_of
from hubbub.local.randomizers.mean_base import MeanRandomizer
from hubbub.local.randomizers.two_sets import TwoSets
from hubbub.render import Json
from hubbub.terms import Real

CELLS = 1 << 16  # places that a report of the piecewise mechanism may name
STEPS = 1 << 20  # of the grid for one-bit reports
_CROSSING = Fraction(61, 100)  # the epsilon beyond which mixing the two pays [WXYZ19]
_LOW = 0xFFFFFFFF


class Duchi(IntegerReports, MeanRandomizer):
    """Report one bit; its probability goes in a straight line from 1 / (e^epsilon + 1) at lower to the rest at upper.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [DJW18], [CS208, Ex. 3.4]: both ends have ratio e^epsilon, all else lies between; ``docs/proofs/local.md``
    has the distribution with 64-bit coins.
    Error: on [-1, 1], n * variance is c^2 - x^2 with c = (e^epsilon + 1) / (e^epsilon - 1).
    Not covered: that somebody reported; NaN counts as ``missing`` (default: lower), values outside go to the bounds.

    >>> from hubbub.noise.testing import seeded
    >>> survey = Duchi(epsilon=1, lower=0, upper=100)
    >>> survey.estimate(survey.randomize([20.0] * 5000 + [60.0] * 5000, rng=seeded(7)))
    MeanEstimate(41.2793 ±2.11 (95%), 10000 people)
    """

    protocol: ClassVar[str] = "duchi"
    words = 1

    def __init__(self, *, epsilon: Real, lower: Real, upper: Real, missing: Real | None = None) -> None:
        super().__init__(epsilon=epsilon, lower=lower, upper=upper, missing=missing, steps=STEPS, symbols=2)
        self._top = coin_threshold(exp_low(self.epsilon))
        self._scores = bit_scores(self._top, float(self.lower), self.span)

    def parameters(self) -> dict[str, Json]:
        """The bounds, and the threshold of the coin at the upper one (at the lower one it is the rest of 2^64)."""
        return self._base_parameters([self._top])

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [[int(line_threshold(self._top, code, self.steps))]]

    def _spread(self, value: float) -> float:
        return float((self._scores[1] - value) * (value - self._scores[0]))

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        return pick(words[0] < line_threshold(self._top, code, self.steps), 1, 0)


class Piecewise(IntegerReports, MeanRandomizer):
    """Report a place on a grid of 2^16: likely one in a window around the own value, less likely any other.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [WXYZ19], on a grid: one's own set is the window, of the same size for every value (``TwoSets``).
    Error: on [-1, 1], n * variance is x^2 / (z - 1) + (z + 3) / (3 (z - 1)^2) with z = e^(epsilon/2).
    Not covered: that somebody reported; NaN counts as ``missing`` (default: lower), values outside go to the bounds.

    >>> from hubbub.noise.testing import seeded
    >>> survey = Piecewise(epsilon=4, lower=0, upper=100)
    >>> survey.estimate(survey.randomize([20.0] * 5000 + [60.0] * 5000, rng=seeded(7)))
    MeanEstimate(39.736 ±0.514 (95%), 10000 people)
    """

    protocol: ClassVar[str] = "piecewise"
    _worked_out = frozenset({"window"})
    words = 2

    def __init__(self, *, epsilon: Real, lower: Real, upper: Real, missing: Real | None = None) -> None:
        self._window = PiecewiseWindow(epsilon_of(epsilon))
        super().__init__(
            epsilon=epsilon, lower=lower, upper=upper, missing=missing, steps=self._window.steps, symbols=CELLS
        )
        self._scores = self._window.scores(float(self.lower), self.span)

    def parameters(self) -> dict[str, Json]:
        """The bounds, the size of the window, and the threshold of the coin that stays in it."""
        return {**self._base_parameters([self._window.sets.keep]), "window": self._window.size}

    @property
    def window(self) -> int:
        """How many of the 2^16 places are near a value: round(2^16 / (e^(epsilon/2) + 1))."""
        return self._window.size

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return self._window.sets.word_cuts()

    def _spread(self, value: float) -> float:
        return self._window.spread(round((value - float(self.lower)) / self.span * self.steps)) * self.span**2

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        return self._window.sets.interval(code, *words)


class Hybrid(IntegerReports, MeanRandomizer):
    """Toss a coin that knows nothing of the value: ``Piecewise`` on one side, ``Duchi`` on the other.

    The default for means: the coin is such that the worst case is the best that the two can do together. For epsilon
    up to 0.61 that is always ``Duchi``. Reports 0 and 1 are its bit; others are 2 + the place.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [WXYZ19]: each of the two is, and the coin has nothing to do with the value.
    Error: on [-1, 1] and epsilon = 1, n * variance is 4.29 for every value; see ``variance``.
    Not covered: that somebody reported; NaN counts as ``missing`` (default: lower), values outside go to the bounds.

    >>> from hubbub.noise.testing import seeded
    >>> survey = Hybrid(epsilon=1, lower=0, upper=100)
    >>> survey.estimate(survey.randomize([20.0] * 5000 + [60.0] * 5000, rng=seeded(7)))
    MeanEstimate(39.7854 ±2.07 (95%), 10000 people)
    """

    protocol: ClassVar[str] = "hybrid"
    _worked_out = frozenset({"window"})
    words = 3

    def __init__(self, *, epsilon: Real, lower: Real, upper: Real, missing: Real | None = None) -> None:
        self._window = PiecewiseWindow(epsilon_of(epsilon))
        super().__init__(
            epsilon=epsilon, lower=lower, upper=upper, missing=missing, steps=self._window.steps, symbols=CELLS + 2
        )
        self._top = coin_threshold(exp_low(self.epsilon))
        self._mix = int(WORD * (1 - 1 / exp_low(self.epsilon / 2))) if self.epsilon > _CROSSING else 0
        low = float(self.lower)
        self._bits = bit_scores(self._top, low, self.span)
        self._scores = np.concatenate([self._bits, self._window.scores(low, self.span)])

    def parameters(self) -> dict[str, Json]:
        """The bounds, and the thresholds of the coins that mix, that stay in the window, and for the bit."""
        thresholds = [self._mix, self._window.sets.keep, self._top]
        return {**self._base_parameters(thresholds), "window": self._window.size}

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        stay, places = self._window.sets.word_cuts()
        return [[self._mix], [*stay, int(line_threshold(self._top, code, self.steps))], places]

    def _spread(self, value: float) -> float:
        share = word_chance(self._mix)
        place = self._window.spread(round((value - float(self.lower)) / self.span * self.steps)) * self.span**2
        return share * place + (1 - share) * float((self._bits[1] - value) * (value - self._bits[0]))

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        place = self._window.sets.interval(code, words[1], words[2])
        bit = pick(words[1] < line_threshold(self._top, code, self.steps), 1, 0)
        return pick(words[0] < self._mix, 2 + place, bit)


class PiecewiseWindow:
    """The piecewise mechanism on places 0, ..., CELLS - 1: a window that starts at the value's step."""

    def __init__(self, epsilon: Fraction) -> None:
        self.size = min(CELLS - 1, max(1, round(CELLS / (math.exp(float(epsilon) / 2) + 1))))
        self.steps = CELLS - self.size
        self.sets = TwoSets.for_epsilon(epsilon, own=self.size, other=self.steps)
        self._low = (1 - self.sets.p) / self.steps
        self._extra = self.sets.p / self.size - self._low  # by which a place in the window is likelier

    def scores(self, lower: float, span: float) -> NDArray[np.float64]:
        """The score of each place: its expectation is the value, as the mean place is linear in the window's start."""
        slope = 1 / (self._extra * self.size)
        return lower + span * (slope * (np.arange(CELLS) - self._mean(0))) / self.steps

    def spread(self, start: int) -> float:
        """The variance of a score on [0, 1]."""
        square = self._low * _sum_squares(CELLS) + self._extra * (_sum_squares(start + self.size) - _sum_squares(start))
        return (square - self._mean(start) ** 2) / (self._extra * self.size * self.steps) ** 2

    def _mean(self, start: int) -> float:
        return self._low * CELLS * (CELLS - 1) / 2 + self._extra * self.size * (start + (self.size - 1) / 2)


def line_threshold(top: int, code: Number, steps: int) -> Word:
    """The threshold at a step of the grid, on the straight line from 2^64 - top at step 0 to top at the last one.

    2^64 - top + floor((2 top - 2^64) code / steps), by long division in halves of a word: exact for up to 2^31 steps.
    """
    slope, count = 2 * top - WORD, as_word(code)
    high, rest = divmod((slope >> 32) * count, steps)
    return as_word(WORD - top + (high << 32) + ((rest << 32) + (slope & _LOW) * count) // steps)


def bit_scores(top: int, lower: float, span: float) -> NDArray[np.float64]:
    """The scores of the bits 0 and 1: their expectation is the value."""
    likely = word_chance(top)
    return lower + span * (np.array([0.0, 1.0]) - (1 - likely)) / (2 * likely - 1)


def _sum_squares(below_this: int) -> float:
    """0 + 1 + 4 + ... + (n - 1)^2."""
    n = below_this
    return n * (n - 1) * (2 * n - 1) / 6
