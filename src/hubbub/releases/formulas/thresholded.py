"""A noisy number that is only seen where it reached a threshold: its interval holds given that it is seen."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hubbub.releases.formulas.base import Formula
from hubbub.releases.formulas.points import Released
from hubbub.releases.noisy_columns import Floats, Noise, NoisyTable, noise_log_tail, noise_radius

_LEAST_CHANCE = 1e-300


@dataclass(frozen=True, slots=True)
class Thresholded(Formula):
    """Measure ``index``, a noisy number of people, of which only what is at least ``least`` steps is seen.

    The interval runs from the least to the largest true number x for which what was seen is no surprise: y or more, and
    y or less, each have a chance above (1 - confidence) / 2 under x, given that the number is seen at all. So it covers
    with ``confidence`` given that (docs/proofs/keys.md). It begins at 1, since keys of nobody are never seen, and is
    stretched to hold the number itself, which beside the threshold is larger than what it estimates.
    """

    index: int
    least: int

    def uses(self) -> tuple[int, ...]:
        return (self.index,)

    def is_whole(self, table: NoisyTable) -> bool:
        """As the measure: a number of people."""
        return table.measures[self.index].step.denominator == 1

    def compute(self, point: Released) -> Floats:
        measure = point.table.measures[self.index]

        def quantiles(chances: Floats, rows: slice) -> Floats:
            seen = np.asarray(measure.values[rows], dtype=np.float64) + np.zeros_like(chances)
            wanted = np.log(np.maximum(chances + np.zeros_like(seen), _LEAST_CHANCE))
            return float(measure.step) * _true_numbers(seen, self.least, measure.noise, wanted)

        return point.choose(("thresholded", self.index), measure.floats(), quantiles)

    def ends(self, table: NoisyTable, confidence: float) -> tuple[Floats, Floats]:
        measure = table.measures[self.index]
        seen, tail = np.asarray(measure.values, dtype=np.float64), (1 - confidence) / 2
        lows = _true_numbers(seen, self.least, measure.noise, np.full_like(seen, np.log(tail)))
        beyond = _true_numbers(seen + 1, self.least, measure.noise, np.full_like(seen, np.log1p(-tail)))
        step = float(measure.step)
        return step * np.minimum(lows, seen), step * np.maximum(beyond - 1, seen)


def _true_numbers(seen: Floats, least: int, noise: Noise, wanted: Floats) -> Floats:
    """The least whole numbers from 1 on under which ln P(Y >= seen | Y >= least) is above ``wanted``; it rises."""
    low, high = np.zeros_like(seen), np.maximum(seen, 1.0) + 5.0 * noise_radius(noise)
    while np.any(apart := high - low > 1):
        middle = np.floor((low + high) / 2)
        above = noise_log_tail(noise, seen - middle) - noise_log_tail(noise, least - middle) > wanted
        low, high = np.where(apart & ~above, middle, low), np.where(apart & above, middle, high)
    return high
