"""Deltas of binomial noise by exact rational arithmetic, for few trials: no bound may be below them."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction


def exponential(epsilon: Fraction) -> Fraction:
    """e^epsilon from below, to some forty digits."""
    return sum((epsilon**i / math.factorial(i) for i in range(60)), Fraction(0))


def delta(trials: int, shifts: tuple[int, ...], epsilon: Fraction) -> Fraction:
    """sum of max(0, P - e^epsilon Q) over all outcomes of independent Bin(trials, 1/2), moved by ``shifts`` in Q."""
    ways = [math.comb(trials, k) for k in range(trials + 1)]
    factor, total = exponential(epsilon), Fraction(0)
    for places in itertools.product(range(trials + 1), repeat=len(shifts)):
        told = math.prod(ways[k] for k in places)
        moved = math.prod(ways[k - s] if 0 <= k - s <= trials else 0 for k, s in zip(places, shifts, strict=True))
        total += max(Fraction(0), told - factor * moved)
    return total / (1 << trials * len(shifts))
