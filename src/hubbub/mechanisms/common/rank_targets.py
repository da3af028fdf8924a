"""For each tolerance, the cells whose rank is off from a target by no more: runs of cells, found by bisection."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Integers: TypeAlias = NDArray[np.int64]
Wide: TypeAlias = NDArray[Any]  # integers of 64 bits, or Python's own where these could overflow

_SAFE = 1 << 62


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
class Sublevels:
    """For each target (line) and each loss that occurs (column) the run of cells with that loss or less."""

    losses: Integers  # rising
    first: Integers
    last: Integers

    @property
    def counts(self) -> Integers:
        """How many cells are in each run."""
        return self.last - self.first + 1

    def cell(self, target: int, column: int, place: int) -> int:
        """The cell at a place of a run."""
        return int(self.first[target, column]) + place

    def new_cell(self, target: int, column: int, place: int) -> int:
        """The cell at a place among those of a run that the run before does not have."""
        start = int(self.first[target, column])
        if not column or place < (grown := int(self.first[target, column - 1]) - start):
            return start + place
        return int(self.last[target, column - 1]) + 1 + place - grown


def sublevels(
    points: Integers, upto: Integers, targets: Sequence[RankTarget], *, cells: int, ticks: int, farthest: int
) -> Sublevels:
    """The runs for one group: ``points`` are its cells that have rows, ``upto`` how many lie up to each.

    The loss of a cell with b rows before it and e rows up to it is max(0, b - r, r - e) / spread, r the target's rank,
    in so many ``ticks`` to one, rounded down, and cut at ``farthest``. So only ranks that occur give a loss.
    """
    total = int(upto[-1]) if len(upto) else 0
    ranks = np.concatenate([[0], upto])
    seen = [_losses_of(ranks, *target.scaled(total), ticks) for target in targets]
    none = np.zeros(1, dtype=np.int64)  # the loss of a cell around the rank
    losses = np.unique(np.concatenate([none, *(each[each < farthest] for each in seen)]).astype(np.int64))
    runs = [_runs(losses, points, upto, target.scaled(total), cells, ticks) for target in targets]
    first, last = (np.stack([run[side] for run in runs]) for side in (0, 1))
    some = (last >= first).all(axis=0)
    whole = np.zeros((len(targets), 1), dtype=np.int64)  # every cell has a loss of at most ``farthest``
    return Sublevels(
        np.append(losses[some], farthest),
        np.concatenate([first[:, some], whole], axis=1),
        np.concatenate([last[:, some], whole + cells - 1], axis=1),
    )


def _losses_of(ranks: Integers, parts: int, rank: int, spread: int, ticks: int) -> Wide:
    """The losses of cells with such ranks beside them."""
    held = _wide(ranks, parts * ticks * int(ranks[-1]) + abs(rank) * ticks)
    return np.asarray(abs(held * parts - rank) * ticks // spread)


def _runs(
    losses: Integers, points: Integers, upto: Integers, scaled: tuple[int, int, int], cells: int, ticks: int
) -> tuple[Integers, Integers]:
    """The first and the last cell with each loss or less."""
    parts, rank, spread = scaled
    most = int(losses[-1])
    slack = (_wide(losses, (most + 1) * spread + abs(rank) * ticks) + 1) * spread - 1
    total = int(upto[-1]) if len(upto) else 0
    before = _ranks((slack + rank * ticks) // (parts * ticks), total)  # the most rows before such a cell
    least = _ranks(-((slack - rank * ticks) // (parts * ticks)), total)  # the fewest rows up to it
    last = np.append(points, cells - 1)[np.searchsorted(upto, before, side="right")]
    first = np.append(points, cells)[np.searchsorted(upto, least, side="left")]
    return np.where(least <= 0, 0, first), np.where(before < 0, -1, last)


def _ranks(values: Wide, total: int) -> Integers:
    """Ranks as 64-bit integers; what is beyond all rows is one beyond."""
    return np.asarray(np.clip(values, -1, total + 1).astype(np.int64))


def _wide(values: Integers, largest: int) -> Wide:
    """The values as integers that hold numbers of that size."""
    return values.astype(object) if largest >= _SAFE else values
