"""A quantile of a numeric column: the exponential mechanism over a public grid of candidates."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.declared_bounds import ordered_bounds
from hubbub.mechanisms.common.grid_values import doubles_of
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.numeric_columns import Column, column_of
from hubbub.mechanisms.common.selection_scores import least_gap
from hubbub.terms import (
    ExponentialChoice,
    Neighbours,
    OutOfRange,
    Real,
    TooLarge,
    Unit,
    fraction_of,
    positive,
    whole,
)

Integers: TypeAlias = NDArray[np.int64]

_FINEST_Q = 10**9
_MOST_CANDIDATES = 1 << 52


class Quantile(Mechanism):
    """A value below which about a share ``q`` of the data lies, from the grid lower, lower + step, ..., upper.

    Guarantee: epsilon-DP for the given unit and neighbours, if one unit has at most ``max_per_unit`` values (the
    caller bounds that; this class does not). Values are moved to the nearest candidate, those beyond the bounds
    to the bounds; NaN and whatever is no number is left out.
    Because: [Smith11], [MT07, Thm. 6] through ``docs/proofs/quantile.md``: the loss of a candidate is by how
    many values it misses the rank q n, and one unit moves it by at most m max(q, 1 - q) under add-remove and by m
    under replace, m being ``max_per_unit``.
    Error: with the given confidence the answer's rank is off by at most ``error(confidence)`` values.
    Not covered: running time. The distance in values depends on the data and is not known beforehand.

    >>> from hubbub.noise.testing import seeded
    >>> median = Quantile(q=0.5, lower=0, upper=100, step=1, epsilon=1)
    >>> median.release(range(101), rng=seeded(7))
    50.0
    >>> round(median.error(0.95), 1)
    7.5
    """

    def __init__(
        self,
        *,
        q: Real,
        lower: Real,
        upper: Real,
        step: Real,
        epsilon: Real,
        max_per_unit: int = 1,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        cost = positive(epsilon, name="epsilon")
        self._q = _quantile_share(q)
        self._lower, self._step, self.candidates = _candidate_grid(lower, upper, step)
        most = whole(max_per_unit, name="max_per_unit")
        sensitivity = most * (max(self._q, 1 - self._q) if relation is Neighbours.ADD_REMOVE else Fraction(1))
        self.rate = cost / (2 * sensitivity)
        self.event: ExponentialChoice = ExponentialChoice(
            epsilon=cost, mechanism="quantile", neighbours=relation, unit=unit or Unit()
        )

    def release(self, values: Column, *, rng: noise.RandomSource | None = None) -> float:
        """One of the candidates."""
        starts, lengths, losses = _equal_loss_runs(self._places(values), self.candidates, self._q)
        run = noise.choose_exp(losses, weights=lengths, rate=self.rate / self._q.denominator, rng=rng)
        place = int(starts[run]) + noise.uniform(int(lengths[run]), rng=rng)
        return float(self._lower + place * self._step)

    def error(self, confidence: Real) -> float:
        """By how many values the rank of the answer may be off, with that confidence.

        Worst are data for which a single candidate has the right rank.
        """
        rivals = self.candidates - 1
        return least_gap(lambda t: rivals / (rivals + math.exp(min(t, 700.0))), confidence) / float(self.rate)

    def _places(self, values: Column) -> Integers:
        """The nearest candidate of each value: a rule for each value by itself, so its rounding costs nothing."""
        column = column_of(values)
        last = self.candidates - 1
        if isinstance(column, list):
            return np.array([p for v in column if (p := self._place(v)) is not None], dtype=np.int64)
        floats = doubles_of(column)
        with np.errstate(all="ignore"):
            steps = np.rint((floats[~np.isnan(floats)] - float(self._lower)) / float(self._step))
        return np.clip(steps, 0, last).astype(np.int64)

    def _place(self, value: int | float | Fraction) -> int | None:
        if isinstance(value, float) and not math.isfinite(value):
            return None if math.isnan(value) else 0 if value < 0 else self.candidates - 1
        return max(0, min(self.candidates - 1, round((Fraction(value) - self._lower) / self._step)))


def _quantile_share(q: Real) -> Fraction:
    share = fraction_of(q, name="q", zero=True, one=True)
    if share.denominator > _FINEST_Q:
        raise OutOfRange(
            "q has more than nine decimals.",
            why="Ranks are compared in 64-bit integers.",
            fix="Round q to nine decimals.",
        )
    return share


def _candidate_grid(lower: Real, upper: Real, step: Real) -> tuple[Fraction, Fraction, int]:
    low, high = ordered_bounds(lower, upper)
    width = positive(step, name="step")
    count = int((high - low) / width) + 1
    if count < 2 or count > _MOST_CANDIDATES:
        problem = OutOfRange if count < 2 else TooLarge
        raise problem(
            "the grid of candidates has fewer than 2 or more than 2^52 points.",
            why="The answer is one of the candidates lower, lower + step, ..., upper.",
            fix="Choose step between (upper - lower) / 2^52 and upper - lower.",
        )
    return low, width, count


def _equal_loss_runs(places: Integers, candidates: int, q: Fraction) -> tuple[Integers, Integers, Integers]:
    """Runs of candidates with equal loss: where they start, how many candidates each has, and the loss.

    The loss of a candidate with b values below it and e values not above it is how far q n lies outside [b, e],
    times the denominator of q.
    """
    points, counts = np.unique(places, return_counts=True)
    ends = np.cumsum(counts, dtype=np.int64)
    zero = np.zeros(1, dtype=np.int64)
    gaps_start = np.concatenate([zero, points + 1])
    gaps_end = np.concatenate([points, np.array([candidates], dtype=np.int64)])
    seen = np.concatenate([zero, ends])  # values before each gap
    starts = np.concatenate([gaps_start, points])
    lengths = np.concatenate([gaps_end - gaps_start, np.ones_like(points)])
    below = np.concatenate([seen, ends - counts])
    upto = np.concatenate([seen, ends])
    wanted = q.numerator * places.size
    losses = np.maximum(0, np.maximum(q.denominator * below - wanted, wanted - q.denominator * upto))
    some = lengths > 0
    return starts[some], lengths[some], losses[some]
