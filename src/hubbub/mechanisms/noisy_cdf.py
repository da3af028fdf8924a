"""Quantiles with intervals, as many as one likes, from one noisy cumulative histogram."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.additive import AdditiveNoise, draw_noise
from hubbub.mechanisms.common.ary_tree import AryTree, Integers, choose_tree, consistent_cells, node_sums
from hubbub.mechanisms.common.grid_values import Numbers, add_exactly, integer_array
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.noisy_curve import NoisyCurve, rank_widths
from hubbub.mechanisms.integer_noise import integer_noise
from hubbub.terms import Neighbours, Real, TooLarge, Unit, WrongShape, whole

_MOST_CELLS = 1 << 17
_MOST_COUNTS = 1 << 24
_LARGEST_COUNT = 1 << 44  # the sum over 2^17 cells stays within 2^61
_AT_ONCE = 1 << 20  # counts that are worked on together
_ENTRIES_AT_ONCE = 1 << 17


class NoisyCDF(Mechanism):
    """Tell how many rows lie up to each of some ordered cells, and with that every quantile, for several groups.

    Guarantee: epsilon-DP, (epsilon, delta)-DP or rho-zCDP for the given unit and neighbours for all that the curve
    tells, if one unit has at most ``max_rows`` rows over all cells and keys (the caller bounds that; this class does
    not). Counts below 0 or above 2^44 are moved there.
    Because: [HRMS10] through ``docs/proofs/noisy-cdf.md``: a row is part of one node of each level of a tree of sums,
    so the vector of all nodes moves by levels * max_rows in L1 and sqrt(levels) * max_rows in L2 when a unit is
    added (2 and sqrt(2) times that when one is replaced); noise is added to every node, and the rest is
    post-processing.
    Error: for any one cell, (rows up to it) - (half of all rows) is within ``error(confidence)``; unbiased.
    Not covered: running time. How far a quantile is off in cells depends on the data; ``NoisyCurve.interval`` tells it.

    >>> from hubbub.noise.testing import seeded
    >>> ages = NoisyCDF(cells=100, rho=0.1)
    >>> curve = ages.release([20] * 100, rng=seeded(7))
    >>> curve.quantile(0.5), curve.interval(0.5, 0.95)
    (50, (49, 50))
    """

    def __init__(
        self,
        *,
        cells: int,
        keys: int = 1,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        max_rows: int = 1,
        branching: int | None = None,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        self.cells, self.keys = _table_size(cells, keys)
        relation = Neighbours.parse(neighbours)
        most = whole(max_rows, name="max_rows")
        fan_out = None if branching is None else whole(branching, name="branching", least=2)
        pure = rho is None and delta is None
        self.tree: AryTree = choose_tree(self.cells, fan_out, 2 if pure else 1)
        sides = 2 if relation is Neighbours.REPLACE else 1
        self.event: AdditiveNoise = integer_noise(
            "noisy-cdf",
            l1=sides * self.tree.levels * most,
            l2_squared=sides * self.tree.levels * most**2,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            dimension=self.keys * self.tree.nodes,
            neighbours=relation,
            unit=unit,
        ).event

    def release(self, counts: Numbers, *, rng: noise.RandomSource | None = None) -> NoisyCurve:
        """A curve for how many rows fall into each cell: ``counts`` of shape (cells,) or (keys, cells)."""
        given = _bounded_counts(counts)
        shapes = {(self.keys, self.cells)} | ({(self.cells,)} if self.keys == 1 else set())
        if given.shape not in shapes:
            raise WrongShape(
                f"counts must have the shape {(self.keys, self.cells)} and have {given.shape}.",
                why="How many keys and cells there are is public and says what is released.",
                fix="Give one count for each cell of each key, zeros too.",
            )
        return NoisyCurve(
            self._cumulative(given.reshape(self.keys, self.cells), rng).reshape(given.shape), self.tree, self.event
        )

    def release_sparse(
        self, cells: Numbers, counts: Numbers, *, keys: Numbers | None = None, rng: noise.RandomSource | None = None
    ) -> NoisyCurve:
        """The same from a list of (key, cell, count); what is not listed is 0, what is listed twice is added up.

        Entries outside the declared keys and cells are not counted, and nothing tells how many.
        """
        columns = [integer_array(column) for column in (cells, counts, *(() if keys is None else (keys,)))]
        if {column.shape for column in columns} != {(columns[0].size,)} or (keys is None and self.keys > 1):
            raise WrongShape(
                "cells, counts and (for several keys) keys must be lists of one length.",
                why="Each entry is a key, a cell and a count.",
                fix="Give three flat lists of integers.",
            )
        dense = _dense_counts(columns, (self.keys, self.cells))
        return self.release(dense[0] if keys is None else dense, rng=rng)

    def error(self, confidence: Real) -> float:
        """How far any one cell's rank, counted from the median's, is off at most, with that confidence, in rows."""
        return float(rank_widths(self.tree, self.event, 0.5, confidence).max())

    def _cumulative(self, counts: Integers, rng: noise.RandomSource | None) -> NDArray[np.float64]:
        out = np.empty(counts.shape)
        step = max(1, _AT_ONCE // self.cells)
        for first in range(0, self.keys, step):
            some = slice(first, first + step)
            sums = node_sums(self.tree, counts[some])
            noisy = [add_exactly(level, draw_noise(self.event, level.shape, rng=rng)) for level in sums]
            np.cumsum(consistent_cells(self.tree, [np.asarray(level) for level in noisy]), axis=1, out=out[some])
        return out


def _table_size(cells: int, keys: int) -> tuple[int, int]:
    columns, rows = whole(cells, name="cells"), whole(keys, name="keys")
    if columns > _MOST_CELLS or columns * rows > _MOST_COUNTS:
        raise TooLarge(
            "there are more than 2^17 cells, or more than 2^24 in all keys together.",
            why="Every cell of every key gets noise, empty ones too.",
            fix="Use fewer, wider cells, or fewer keys.",
        )
    return columns, rows


def _bounded_counts(counts: Numbers) -> Integers:
    """Counts as int64 within bounds for which no sum of them overflows; each by itself, so no two move apart."""
    return np.asarray(np.clip(integer_array(counts), 0, _LARGEST_COUNT).astype(np.int64))


def _dense_counts(columns: list[NDArray[Any]], shape: tuple[int, int]) -> Integers:
    """A table of counts; adding in portions and cutting after each is adding and cutting once, and cannot overflow."""
    cells, counts = columns[0], _bounded_counts(columns[1])
    keys = columns[2] if len(columns) == 3 else np.zeros_like(cells)
    known = (cells >= 0) & (cells < shape[1]) & (keys >= 0) & (keys < shape[0])
    flat = (keys[known] * shape[1] + cells[known]).astype(np.int64)
    counts, out = counts[known], np.zeros(shape[0] * shape[1], dtype=np.int64)
    for first in range(0, flat.size, _ENTRIES_AT_ONCE):
        some = slice(first, first + _ENTRIES_AT_ONCE)
        np.add.at(out, flat[some], counts[some])
        np.minimum(out, _LARGEST_COUNT, out=out)
    return out.reshape(shape)
