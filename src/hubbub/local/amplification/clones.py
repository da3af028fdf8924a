"""Privacy amplification by shuffling, by clones: the profile of the pair of counts that dominates it.

With probability ``chance`` each of the other people sends what could as well be the report of the one we look at. C
such clones, A of which look like the first input, A ~ Binomial(C, 1/2), hide whether one more report came from the
first input or the second [FMT21, Sec. 3]:

    (A + D, C)  against  (A + 1 - D, C),     D ~ Bernoulli(e^e0 / (e^e0 + 1)).

Fewer clones hide less, so that a block of numbers of clones may be counted as its lowest one: what is computed is an
upper bound of the profile. ``docs/proofs/shuffle.md`` has the argument and the arithmetic's error.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

_BLOCKS = 2000  # groups of numbers of clones
_SPREAD = 1e-9  # relative error of the arithmetic, far above that of the binomial tails
_HALVINGS = 40


@dataclass(frozen=True)
class Clones:
    """The number of clones among ``others`` people, and how well one report tells two inputs apart."""

    epsilon: float
    others: int
    chance: float
    tail: float  # a number of clones below all but this share counts as if nothing was hidden

    @cached_property
    def _blocks(self) -> tuple[Floats, Floats, float]:
        """The lowest number of clones of each block, the block's probability, and that of all below the blocks."""
        from scipy.stats import binom

        low = int(binom.ppf(self.tail, self.others, self.chance))
        high = int(binom.isf(self.tail, self.others, self.chance))
        starts = np.arange(low, high + 1, max(1, (high - low) // _BLOCKS), dtype=np.float64)
        above = binom.sf(starts - 1, self.others, self.chance)  # at least the block's lowest
        masses = np.append(-np.diff(above), above[-1])
        return starts, masses, float(binom.cdf(low - 1, self.others, self.chance))

    def delta(self, epsilon: float) -> float:
        """An upper bound of the profile at ``epsilon``."""
        starts, masses, below = self._blocks
        return below + float(masses @ self._divergence(starts, math.exp(epsilon)))

    def _divergence(self, clones: Floats, factor: float) -> Floats:
        """The hockey-stick divergence given the number of clones: the tail of a likelihood ratio that grows in A."""
        from scipy.stats import binom

        own = 1 / (1 + math.exp(-self.epsilon))
        gain = own - factor * (1 - own)
        if gain <= 0:
            return np.zeros_like(clones)
        odds = (factor * own - 1 + own) / gain  # the first report outweighs the second where A/(C-A+1) is above this
        start = np.ceil(odds / (1 + odds) * (clones + 1) - 1e-12)
        lost = (factor - 1) * binom.sf(start - 1, clones, 0.5)
        won = gain * binom.pmf(start - 1, clones, 0.5)
        return np.asarray(np.maximum(0.0, won - lost) + _SPREAD * (won + lost))


def clones_epsilon(epsilon: float, *, honest: int, delta: float, chance: float | None = None) -> float:
    """The epsilon of ``honest`` shuffled reports, each epsilon-DP; ``chance`` is the one of any such randomizer."""
    share = math.exp(-epsilon) if chance is None else chance
    pair = Clones(epsilon, honest - 1, share, tail=delta * 1e-6)
    return least_epsilon(pair.delta, delta=delta, most=epsilon)


def least_epsilon(profile: Callable[[float], float], *, delta: float, most: float, halvings: int = _HALVINGS) -> float:
    """The smallest epsilon found at which the profile is at most ``delta``: rounded up, and never above ``most``."""
    low, high = 0.0, most
    for _ in range(halvings):
        middle = (low + high) / 2
        low, high = (low, middle) if profile(middle) <= delta else (middle, high)
        if high - low < 1e-7 * high:
            break
    return high


def closed_form(epsilon: float, *, honest: int, delta: float) -> float | None:
    """ln(1 + (e-1)/(e+1) (8 sqrt(e ln(4/delta)/n) + 8 e/n)), e = e^epsilon; None where it is not proved."""
    if honest < 2 or epsilon > math.log(max(1.0, honest / (16 * math.log(4 / delta)))):
        return None
    factor = math.exp(epsilon)
    spread = 8 * math.sqrt(factor * math.log(4 / delta) / honest) + 8 * factor / honest
    return min(epsilon, math.log1p((factor - 1) / (factor + 1) * spread) * (1 + 1e-12))
