"""Quantiles, each in the middle of an interval, by one exponential mechanism with the largest of their losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.grid_values import Numbers, integer_array
from hubbub.mechanisms.common.joint_ranks import middle_gap
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.price_arguments import one_of
from hubbub.mechanisms.common.rank_targets import (
    IntervalTarget,
    LossScale,
    RankTarget,
    Sublevels,
    half_lengths,
    sublevels,
)
from hubbub.terms import (
    ExponentialChoice,
    Neighbours,
    OutOfRange,
    Real,
    TooLarge,
    Unit,
    WrongShape,
    fraction_of,
    whole,
)

Integers: TypeAlias = NDArray[np.int64]

STATED = 0.95  # the confidence of the interval itself
_OVERSHOOT = 1 / math.log(2)  # the mean of 1 to 2, even on a logarithmic scale: lengths double
_FINEST = 10**9  # denominators of levels
_MOST_BITS = 1000  # of the number of tuples of intervals
_MOST_CELLS = 1 << 52
_LARGEST_COUNT = 1 << 44
_FINE = 32  # at least so many ticks of the loss to a factor of e, half of that to a unit of rank
_LOPSIDED = 7  # units; beyond them a loss of the middle is as good as never drawn
_INSIDE = 4  # units of rank by which the window of MIN and MAX stays inside, besides what all lengths weigh
_ROUNDED = 1 / 16  # of a unit of rank: losses are rounded down to ticks
_BEYOND = 45  # a loss is cut where exp(-loss) is below 2^-64 of the least weight there is


class JointQuantiles(Mechanism):
    """For each level an interval of cells around its quantile, for several groups; its middle is the value.

    Guarantee: epsilon-DP for the given unit and neighbours for all groups and levels together, of range epsilon, if one
    unit has at most ``max_rows`` rows over all cells and groups (the caller bounds that; this class does not).
    Counts below 0 or above 2^44 are moved there. An interval holds its quantile with a probability of 95% at least,
    however rows lie and however few there are; it may reach beyond the cells.
    Because: [MT07, Thm. 6] and [CR21] through ``docs/proofs/joint-quantiles.md``: a row moves the rank losses of a
    level q by at most max(q, 1 - q), so the largest of the losses, each divided by that, by at most 1, and the sum of
    these over the groups by at most 1 too, since a row lies in one of them.
    Error: where values lie densely, the rank of each middle is within ``error(confidence)`` rows.
    Not covered: running time. The distance in cells depends on the data; the intervals tell it.

    >>> from hubbub.noise.testing import seeded
    >>> ages = JointQuantiles(levels=[0.5, 0.9], cells=100, epsilon=1)
    >>> ages.release([100] * 100, rng=seeded(7)).tolist()
    [[49, 51], [88, 90]]
    >>> round(ages.error(0.95), 1)
    10.3
    """

    def __init__(
        self,
        *,
        levels: Sequence[Real],
        cells: int,
        epsilon: Real | None = None,
        rho: Real | None = None,
        max_rows: int = 1,
        groups: bool = False,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        way, price = one_of(epsilon=epsilon, rho=rho)
        cost = price if way == "epsilon" else _epsilon_of(price)
        self.levels = _read_levels(levels)
        self.cells, self._lengths = _number_of_cells(cells, len(self.levels))
        # replacing a unit moves its rows from one group to another, which is a removal and an addition
        replaced = relation is Neighbours.REPLACE
        self._rows = whole(max_rows, name="max_rows") * (2 if replaced and groups else 1)
        self._alone = replaced and not groups
        ticks = max(1, math.ceil(_FINE * cost / self._rows))  # of the loss, to one row
        self.rate: Fraction = cost / (2 * self._rows * ticks)
        self.event: ExponentialChoice = ExponentialChoice(
            epsilon=cost, mechanism="joint-quantiles", neighbours=relation, unit=unit or Unit()
        )
        self.targets: tuple[IntervalTarget, ...] = tuple(self._target(level) for level in self.levels)
        lopsided, farthest = _lopsided(len(self.levels)), self._all_tuples() + self.window + _BEYOND
        self.scale = LossScale(ticks, math.ceil(lopsided / self.rate), math.ceil(farthest / self.rate))

    # ------------------------------------------------------------ what is chosen

    def release(self, counts: Numbers, *, rng: noise.RandomSource | None = None) -> Integers:
        """The ends for each level, for how many rows fall into each cell: an array of shape (levels, 2)."""
        given = integer_array(counts)
        if given.shape != (self.cells,):
            raise WrongShape(
                f"counts must have the shape {(self.cells,)} and have {given.shape}.",
                why="How many cells there are is public and says what is released.",
                fix="Give one count for each cell, zeros too.",
            )
        return self._pairs(np.arange(self.cells), _bounded(given), rng)

    def release_sparse(
        self, cells: Numbers, counts: Numbers, *, keys: Numbers, number: int, rng: noise.RandomSource | None = None
    ) -> Integers:
        """The same for groups 0 to ``number`` - 1 from a list of (key, cell, count): of shape (number, levels, 2).

        What is not listed is 0, what is listed twice is added up; entries outside the groups and cells do not count.
        """
        groups, places, rows = (integer_array(column) for column in (keys, cells, counts))
        if not (groups.ndim == 1 and groups.shape == places.shape == rows.shape):
            raise WrongShape(
                "keys, cells and counts must be lists of one length.",
                why="Each entry is a key, a cell and a count.",
                fix="Give three flat lists of integers.",
            )
        many = whole(number, name="number", least=0)
        known = (groups >= 0) & (groups < many) & (places >= 0) & (places < self.cells)
        order = np.lexsort((places[known], groups[known]))
        groups, places, rows = (column[known][order].astype(np.int64) for column in (groups, places, _bounded(rows)))
        ends = np.searchsorted(groups, np.arange(many + 1))
        pairs = [self._pairs(places[a:b], rows[a:b], rng) for a, b in pairwise(ends)]
        return np.stack(pairs) if pairs else np.zeros((0, len(self.levels), 2), dtype=np.int64)

    def _pairs(self, places: Integers, rows: Integers, rng: noise.RandomSource | None) -> Integers:
        """The intervals of one group."""
        points, upto = _cumulated(places, rows)
        losses, levels = sublevels(points, upto, self.targets, cells=self.cells, scale=self.scale)
        drawn = np.array(_draw_tuple(losses, levels, self.rate, rng), dtype=np.int64)
        inner = [i for i, level in sorted(enumerate(self.levels), key=lambda each: each[1]) if 0 < level < 1]
        drawn[inner] = _rising(drawn[inner])
        return drawn

    def _target(self, level: Fraction) -> IntervalTarget:
        """The quantile with ends a window away; for MIN and MAX, a rank so far inside that its window is too."""
        spread = Fraction(1) if self._alone else max(level, 1 - level)
        away = math.ceil(self.window * self._unit(level))
        middle = self.from_end(level) if level == 0 else -self.from_end(level) if level == 1 else 0
        return IntervalTarget(*(RankTarget(level, middle + offset, spread) for offset in (0, -away, away)))

    def _all_tuples(self) -> float:
        """The logarithm of how many tuples of intervals there are."""
        return len(self.levels) * math.log(self.cells * self._lengths)

    # ------------------------------------------------------------ what is known of it beforehand

    @property
    def window(self) -> float:
        """How far the ends lie from the quantile, in units of rank (``rank_unit``): what holds on any data.

        An interval that misses its quantile has an end between its middle and the quantile. The interval around that
        end that just reaches far enough has a loss smaller by a window, and so weighs more by a factor exp(window);
        it stands in for at most one that misses on either side for each half length, and for each choice of the
        others. What misses has 5% of all weight at most, however rows lie.
        """
        return _window(len(self.levels), self.cells, STATED)

    def rank_unit(self, level: Real) -> float:
        """How many rows are one unit of rank for a level."""
        return float(self._unit(fraction_of(level, name="level", zero=True, one=True)))

    def from_end(self, level: Real) -> int:
        """How many rows from the end MIN (level 0) and MAX (level 1) are told: what lies nearer is lost in noise."""
        unit = self._unit(fraction_of(level, name="level", zero=True, one=True))
        beyond = max(self.window, self._all_tuples() - math.log(1 - STATED))  # what cells without rows may weigh
        return math.ceil((beyond + _INSIDE + math.log(self._lengths)) * unit)

    def rank_error(self, level: Real, confidence: Real) -> float:
        """By how many rows the middle's rank may be off for one level, where values lie densely."""
        return self.rank_unit(level) * _middle_gap(len(self.levels), self.cells, _confidence(confidence)) + 1

    def error(self, confidence: Real) -> float:
        """The same for the level that is told least exactly."""
        return max(self.rank_error(level, confidence) for level in self.levels)

    def pair_error(self, level: Real) -> float:
        """By how many rows the ends lie from the quantile where values lie densely, on average."""
        return self.rank_unit(level) * self.window * _OVERSHOOT + 1

    def rows_needed(self, level: Real) -> int:
        """With fewer rows than this the window reaches beyond the first or the last, and an end beyond all cells."""
        place = fraction_of(level, name="level", zero=True, one=True)
        away = math.ceil(self.window * self._unit(place))
        return self.from_end(place) + away if place in (0, 1) else math.ceil(away / min(place, 1 - place))

    @staticmethod
    def pair_stretch(levels: int, cells: int, confidence: Real) -> float:
        """How much wider than what was drawn, around its middle, one of that confidence is: 1 up to 95%."""
        return max(1.0, _window(levels, cells, _confidence(confidence)) / _window(levels, cells, STATED))

    @staticmethod
    def dense_stretch(levels: int, cells: int, confidence: Real) -> float:
        """How wide, beside what was drawn, an interval is that holds where values lie densely within that."""
        return _middle_gap(levels, cells, _confidence(confidence)) / (_window(levels, cells, STATED) * _OVERSHOOT)

    def _unit(self, level: Fraction) -> Fraction:
        spread = Fraction(1) if self._alone else max(level, 1 - level)
        return 2 * spread * self._rows / self.event.epsilon


def _lopsided(levels: int) -> int:
    """Units of loss for an interval of which one end lies far: makes a single level's middle independent of it."""
    return _LOPSIDED if levels == 1 else 0


def _window(levels: int, cells: int, confidence: float) -> float:
    halves = len(half_lengths(cells))
    others = (levels - 1) * math.log(cells * halves)
    return others + math.log(2 * halves) + _lopsided(levels) - math.log(1 - confidence) + _ROUNDED


def _middle_gap(levels: int, cells: int, confidence: float) -> float:
    step = math.log(2) * _window(levels, cells, STATED)
    return middle_gap(levels, step, _lopsided(levels), confidence)


# ---------------------------------------------------------------- drawing


def _draw_tuple(
    losses: Integers, levels: Sequence[Sublevels], rate: Fraction, rng: noise.RandomSource | None
) -> list[tuple[int, int]]:
    """Intervals, one per level, with probability proportional to exp(-rate * the largest of their losses).

    First that largest loss; then which level is the first that has it, by how many tuples there are; then intervals.
    """
    counts = np.stack([level.counts() for level in levels])
    start = int(np.argmax((counts > 0).all(axis=0)))  # before it there is no tuple
    chosen = noise.choose_largest_loss(counts[:, start:], losses[start:], rate=rate, rng=rng) + start
    now = counts[:, chosen].tolist()
    before = counts[:, chosen - 1].tolist() if chosen else [0] * len(now)
    ways = [math.prod(before[:i]) * (now[i] - before[i]) * math.prod(now[i + 1 :]) for i in range(len(now))]
    first = _one_of(ways, rng)
    below = [levels[i].interval(chosen - 1, noise.uniform(before[i], rng=rng)) for i in range(first)]
    at = levels[first].new_interval(chosen, noise.uniform(now[first] - before[first], rng=rng))
    above = [levels[i].interval(chosen, noise.uniform(now[i], rng=rng)) for i in range(first + 1, len(now))]
    return [*below, at, *above]


def _rising(intervals: Integers) -> Integers:
    """Intervals whose middles and ends, each sorted, belong to one level after the other.

    Where sorting leaves a middle nearer to one end than to the other, the nearer end goes as far away.
    """
    middles = np.sort(intervals.sum(axis=1) // 2)
    lows, highs = np.sort(intervals, axis=0).T
    away = np.maximum(middles - lows, highs - middles)
    return np.stack([middles - away, middles + away], axis=1)


def _one_of(ways: Sequence[int], rng: noise.RandomSource | None) -> int:
    """An index with probability proportional to its number of ways."""
    place = noise.uniform(sum(ways), rng=rng)
    for index, number in enumerate(ways):
        if place < number:
            return index
        place -= number
    raise AssertionError("a place beyond all ways")


# ---------------------------------------------------------------- reading


def _cumulated(places: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """The cells that have rows, in order, and how many rows lie up to each."""
    points, index = np.unique(places, return_inverse=True)
    counts = np.zeros(len(points), dtype=np.int64)
    np.add.at(counts, index, rows)
    some = counts > 0
    return points[some], np.cumsum(counts[some], dtype=np.int64)


def _bounded(counts: Numbers) -> Integers:
    return np.asarray(np.clip(integer_array(counts), 0, _LARGEST_COUNT).astype(np.int64))


def _confidence(value: Real) -> float:
    return float(fraction_of(value, name="confidence"))


def _epsilon_of(rho: Fraction) -> Fraction:
    """The largest epsilon, nearly, with epsilon^2 / 8 <= rho."""
    return Fraction(math.isqrt((8 * rho.numerator << 160) // rho.denominator), 1 << 80)


def _read_levels(levels: Sequence[Real]) -> tuple[Fraction, ...]:
    given = tuple(fraction_of(level, name="level", zero=True, one=True) for level in levels)
    if not given or len(set(given)) < len(given) or any(level.denominator > _FINEST for level in given):
        raise OutOfRange(
            "levels must be different numbers from 0 to 1, at least one, with nine decimals at most.",
            why="Each level is a pair of ranks, which are compared in whole numbers.",
            fix="Write, for example, levels=[0.25, 0.5, 0.75].",
        )
    return given


def _number_of_cells(cells: int, levels: int) -> tuple[int, int]:
    """How many cells there are, and how many half lengths intervals of them may have."""
    number = whole(cells, name="cells", most=_MOST_CELLS)
    lengths = len(half_lengths(number))
    if levels * (number * lengths).bit_length() > _MOST_BITS:
        raise TooLarge(
            "there are too many levels for so many cells.",
            why=f"All combinations of intervals are at most 2^{_MOST_BITS}.",
            fix="Ask for fewer levels at once, or use NoisyCDF, whose error does not grow with their number.",
        )
    return number, lengths
