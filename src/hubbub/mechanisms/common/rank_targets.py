"""For each tolerance, the intervals of cells whose ranks are off by no more: runs of middles for every length."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Wide: TypeAlias = NDArray[Any]  # integers of 64 bits, or Python's own where these could overflow
Run: TypeAlias = tuple[int, int]

_SAFE = 1 << 62
_AT_ONCE = 1 << 20  # numbers that are worked on together


@dataclass(frozen=True, slots=True)
class RankTarget:
    """The rank ``level`` * (all rows) + ``offset``; losses are divided by ``spread``, by which one row moves them."""

    level: Fraction
    offset: int
    spread: Fraction

    def scaled(self, total: int) -> tuple[int, int, int]:
        """(D, X, P) such that b rows too many are (D b - X) / P units of loss."""
        parts = self.level.denominator
        spread = self.spread * parts
        assert spread.denominator == 1
        return parts, self.level.numerator * total + self.offset * parts, spread.numerator


@dataclass(frozen=True, slots=True)
class IntervalTarget:
    """The ranks that an interval of cells is measured by: at its middle, and at its lower and upper end."""

    middle: RankTarget
    low: RankTarget
    high: RankTarget


@dataclass(frozen=True, slots=True)
class LossScale:
    """How losses are told: in ``ticks`` to one, at most ``lopsided`` for one end that lies far, cut at ``farthest``."""

    ticks: int
    lopsided: int
    farthest: int


def half_lengths(cells: int) -> tuple[int, ...]:
    """How far ends may lie from their middle: 0, 1, 2, 4, ..., up to half of all cells; then beyond all of them.

    So around any middle one half length spans all cells, and no middle is better than another where all are spanned.
    """
    return 0, *(1 << power for power in range((cells // 2).bit_length())), cells


@dataclass(frozen=True, slots=True)
class Sublevels:
    """For one target, and each loss that occurs (columns), the intervals with that loss or less.

    They are the pairs of a middle and a half length for which the middle lies in a run, the lower end at most at
    ``low``, the upper one at least at ``high``; and one half length shorter, the lower end lies at least at ``far_low``
    or the upper one at most at ``far_high``, or ``both``.
    """

    lengths: Integers  # half lengths, rising
    first: Integers
    last: Integers
    low: Integers
    high: Integers
    far_low: Integers
    far_high: Integers
    both: NDArray[np.bool_]

    def counts(self) -> Integers:
        """How many intervals there are for each loss."""
        total = np.zeros(len(self.first), dtype=np.int64)
        step = max(1, _AT_ONCE // len(self.first))
        for start in range(0, len(self.lengths), step):
            total += self._sizes(slice(start, start + step), slice(None)).sum(axis=0)
        return total

    def interval(self, column: int, place: int) -> Run:
        """The ends of the interval at a place among those with a loss or less."""
        sizes = self._sizes(slice(None), slice(column, column + 1))[:, 0]
        index, place = _part_of(sizes, place)
        return self._ends(index, _at(self._runs(index, column), place))

    def new_interval(self, column: int, place: int) -> Run:
        """The same among those that the loss before does not have."""
        if not column:
            return self.interval(column, place)
        now, before = self._sizes(slice(None), slice(column - 1, column + 1)).T[::-1]
        index, place = _part_of(now - before, place)
        return self._ends(index, _at(_without(self._runs(index, column), self._runs(index, column - 1)), place))

    def _ends(self, index: int, middle: int) -> Run:
        return middle - int(self.lengths[index]), middle + int(self.lengths[index])

    def _sizes(self, some: slice, columns: slice) -> Integers:
        """How many middles each half length (line) has for each loss (column)."""
        a, b, c, d = self._bounds(some, columns)
        return np.asarray(np.maximum(b - a + 1, 0) + np.maximum(d - c + 1, 0))

    def _runs(self, index: int, column: int) -> list[Run]:
        """The middles of one half length for one loss: at most two runs."""
        a, b, c, d = (int(each[0, 0]) for each in self._bounds(slice(index, index + 1), slice(column, column + 1)))
        return sorted((first, last) for first, last in ((a, b), (c, d)) if first <= last)

    def _bounds(self, some: slice, columns: slice) -> tuple[Integers, Integers, Integers, Integers]:
        """First and last middles of two runs that do not meet; a run is empty where its last is before its first."""
        whole, shorter = self.lengths[some, None], np.append(0, self.lengths[:-1])[some, None]
        first = np.maximum(self.first[columns], self.high[columns] - whole)
        last = np.minimum(self.last[columns], self.low[columns] + whole)
        least, most = self.far_low[columns] + shorter, self.far_high[columns] - shorter
        longer = whole > 0  # nothing is shorter than 0
        both, apart = longer & self.both[columns], longer & ~self.both[columns] & (least > most + 1)
        one_first = np.where(both, np.maximum(first, least), first)
        one_last = np.where(both | apart, np.minimum(last, most), last)
        return one_first, one_last, np.where(apart, np.maximum(first, least), 0), np.where(apart, last, -1)


def sublevels(
    points: Integers, upto: Integers, targets: Sequence[IntervalTarget], *, cells: int, scale: LossScale
) -> tuple[Integers, list[Sublevels]]:
    """The losses that occur in one group, rising, and the intervals of each target for each of them.

    ``points`` are the cells that have rows, ``upto`` how many lie up to each. An interval of a middle c and a half
    length has the largest of these losses, in ticks, rounded down. With b rows before a cell, e rows up to it, and r
    the rank of a target: that of the middle, max(0, b - r, r - e); of an end that is too near, b - r below and r - e
    above; and of ends that are too far even with the next shorter half length, r - b below and e - r above: the
    smaller of these two, or the larger one, up to ``lopsided``. An end beyond all cells is never too near, and as far
    as one that has all rows within.
    """
    total = int(upto[-1]) if len(upto) else 0
    ranks = np.concatenate([[0], upto])
    each = [rank for target in targets for rank in (target.middle, target.low, target.high)]
    seen = [_losses_of(ranks, *rank.scaled(total), scale.ticks) for rank in each]
    fixed = np.array([0, scale.lopsided], dtype=np.int64)
    losses = np.unique(np.concatenate([fixed, *(loss[loss < scale.farthest] for loss in seen)]).astype(np.int64))
    reader = _Cells(points, upto, cells, scale.ticks)
    return np.append(losses, scale.farthest), [_sublevels(reader, losses, target, scale.lopsided) for target in targets]


@dataclass(frozen=True, slots=True)
class _Cells:
    """Where ranks lie among cells."""

    points: Integers
    upto: Integers
    cells: int
    ticks: int

    @property
    def total(self) -> int:
        return int(self.upto[-1]) if len(self.upto) else 0

    def ranks(self, losses: Integers, target: RankTarget) -> tuple[Integers, Integers]:
        """The least and the largest rank with each loss or less; beyond all rows, one beyond."""
        parts, rank, spread = target.scaled(self.total)
        most = int(losses[-1])
        slack = (_wide(losses, (most + 1) * spread + abs(rank) * self.ticks) + 1) * spread - 1
        upper = (slack + rank * self.ticks) // (parts * self.ticks)
        lower = -((slack - rank * self.ticks) // (parts * self.ticks))
        return self._clipped(lower), self._clipped(upper)

    def _clipped(self, values: Wide) -> Integers:
        return np.asarray(np.clip(values, -1, self.total + 1).astype(np.int64))

    def last_with(self, most: Integers) -> Integers:
        """The last cell with at most so many rows before it; -1: none."""
        found = np.append(self.points, self.cells - 1)[np.searchsorted(self.upto, most, side="right")]
        return np.where(most < 0, -1, found)

    def first_with(self, least: Integers) -> Integers:
        """The first cell with at least so many rows up to it; beyond all: none."""
        found = np.append(self.points, self.cells)[np.searchsorted(self.upto, least, side="left")]
        return np.where(least <= 0, 0, found)


def _sublevels(cells: _Cells, losses: Integers, target: IntervalTarget, lopsided: int) -> Sublevels:
    least, most = cells.ranks(losses, target.middle)
    low_least, low_most = cells.ranks(losses, target.low)
    high_least, high_most = cells.ranks(losses, target.high)
    below, above = -3 * cells.cells, 4 * cells.cells  # farther than ends can lie
    far_low = np.where(low_least <= 0, below, cells.first_with(low_least) + 1)
    far_high = np.where(high_most >= cells.total, above, cells.last_with(high_most) - 1)
    return Sublevels(  # last, what every interval keeps to
        np.array(half_lengths(cells.cells), dtype=np.int64),
        first=np.append(cells.first_with(least), 0),
        last=np.append(cells.last_with(most), cells.cells - 1),
        low=np.append(cells.last_with(low_most), cells.cells),
        high=np.append(cells.first_with(high_least), -1),
        far_low=np.append(far_low, below),
        far_high=np.append(far_high, above),
        both=np.append(losses < lopsided, False),
    )


def _losses_of(ranks: Integers, parts: int, rank: int, spread: int, ticks: int) -> Wide:
    """The losses of cells with such ranks beside them."""
    held = _wide(ranks, parts * ticks * int(ranks[-1]) + abs(rank) * ticks)
    return np.asarray(abs(held * parts - rank) * ticks // spread)


def _wide(values: Integers, largest: int) -> Wide:
    """The values as integers that hold numbers of that size."""
    return values.astype(object) if largest >= _SAFE else values


def _part_of(sizes: Integers, place: int) -> tuple[int, int]:
    """Which part a place of all of them falls into, and the place there."""
    ends = np.cumsum(sizes)
    index = int(np.searchsorted(ends, place, side="right"))
    return index, place - int(ends[index] - sizes[index])


def _at(runs: Sequence[Run], place: int) -> int:
    for first, last in runs:
        if place <= last - first:
            return first + place
        place -= last - first + 1
    raise AssertionError("a place beyond all runs")


def _without(runs: Sequence[Run], removed: Sequence[Run]) -> list[Run]:
    """Runs without what lies in others; both in order."""
    return [piece for run in runs for piece in _pieces(run, removed)]


def _pieces(run: Run, removed: Sequence[Run]) -> Iterator[Run]:
    start, end = run
    for first, last in removed:
        if start < first:
            yield start, min(end, first - 1)
        start = max(start, last + 1)
    if start <= end:
        yield start, end
