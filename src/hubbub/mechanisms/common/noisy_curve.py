"""A noisy cumulative histogram: ranks, quantiles and their intervals."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.common.additive import AdditiveNoise
from hubbub.mechanisms.common.ary_tree import AryTree, Floats, Integers, rank_moment
from hubbub.mechanisms.common.noise_combinations import LATTICE, critical_value, variance_of
from hubbub.terms import LaplaceNoise, OutOfRange, Real, fraction_of, whole

_SOME_ROWS = 0.95  # confidence with which a group must have rows before it gets a quantile


@dataclass(frozen=True, eq=False)
class NoisyCurve:
    """How many rows lie in each cell or before it, with noise and without contradiction; for one group or several.

    Everything here is post-processing of a release and costs nothing more. ``cumulative`` has the shape of the counts
    that were released; with several groups (keys) every answer has one entry for each.
    """

    cumulative: Floats
    tree: AryTree
    event: AdditiveNoise

    @property
    def total(self) -> float | Floats:
        """How many rows there are, with noise."""
        return self.cumulative[..., -1]

    def std_dev_of_rank(self, cell: int, q: Real = 0) -> float:
        """The standard deviation of (rows up to ``cell``) - ``q`` * (all rows)."""
        place = whole(cell, name="cell", least=0)
        if place >= self.tree.cells:
            raise OutOfRange(
                f"cell {place} is not one of the {self.tree.cells} cells.",
                why="Cells are numbered from 0.",
                fix=f"Give a cell from 0 to {self.tree.cells - 1}.",
            )
        share = float(fraction_of(q, name="q", zero=True, one=True))
        return float(rank_deviations(self.tree, self.event, share, np.array([place]))[0])

    def quantile(self, q: Real) -> int | list[int | None] | None:
        """The first cell up to which a share ``q`` of the rows lies, after smoothing the ranks to never fall.

        None for a group whose noisy total does not stand out from its own noise: it may have no rows at all.
        """
        share = float(fraction_of(q, name="q", zero=True, one=True))
        crossed = self._smooth >= share * self._rows[:, -1:]
        places = np.where(crossed.any(axis=1), crossed.argmax(axis=1), self.tree.cells - 1)
        cells = [int(x) if some else None for x, some in zip(places, self._populated, strict=True)]
        return cells[0] if self.cumulative.ndim == 1 else cells

    def interval(self, q: Real, confidence: Real) -> tuple[int, int] | Integers:
        """The first and the last cell that may hold the ``q``-quantile; with several groups, one row for each.

        The interval holds the first cell up to which at least a share q of the rows lies, for each group by itself,
        with that confidence or more: it inverts two tests of the ranks, with the spread of their noise. Gaussian ranks
        are smoothed first, which makes the interval shorter; that it still covers is tested, on tables with gaps and
        ties, and not proved. Laplace ranks are taken as they are.
        """
        share = float(fraction_of(q, name="q", zero=True, one=True))
        width = rank_widths(self.tree, self.event, share, confidence)
        ranks = self._rows if isinstance(self.event, LaplaceNoise) else self._smooth
        ahead = ranks - share * self._rows[:, -1:]
        last = self.tree.cells - 1
        enough, few = ahead >= -width, ahead[:, :-1] <= width[:-1]
        low = np.where(enough.any(axis=1), enough.argmax(axis=1), last)
        high = np.where(few.any(axis=1), last - few[:, ::-1].argmax(axis=1), 0) if last else np.zeros_like(low)
        if self.cumulative.ndim == 1:
            return int(low[0]), int(high[0])
        return np.stack([low, high], axis=1)

    def __repr__(self) -> str:
        keys = 1 if self.cumulative.ndim == 1 else len(self.cumulative)
        return f"Curve(cells={self.tree.cells}, keys={keys})"

    @property
    def _rows(self) -> Floats:
        return self.cumulative.reshape(-1, self.tree.cells)

    @cached_property
    def _smooth(self) -> Floats:
        """The non-decreasing ranks that are nearest to the noisy ones."""
        from scipy.optimize import isotonic_regression

        return np.stack([isotonic_regression(row).x for row in self._rows])

    @property
    def _populated(self) -> NDArray[np.bool_]:
        return np.asarray(self._rows[:, -1] > rank_widths(self.tree, self.event, 0.0, _SOME_ROWS)[-1])


def rank_deviations(tree: AryTree, event: AdditiveNoise, share: float, cells: Integers) -> Floats:
    """The standard deviation of (rows up to each cell) - ``share`` * (all rows)."""
    return np.sqrt(variance_of(event) * rank_moment(tree, cells, share, 2))


@lru_cache(maxsize=16)
def _rank_moments(tree: AryTree, share: float, power: int) -> Floats:
    """The moments of all cells' ranks, which every confidence and every release of the same shape needs."""
    return rank_moment(tree, np.arange(tree.cells), share, power)


def rank_widths(tree: AryTree, event: AdditiveNoise, share: float, confidence: Real) -> Floats:
    """For each cell, how far (rows up to it) - ``share`` * (all rows) is off at most, with that confidence."""
    squares = _rank_moments(tree, share, 2)
    fourths = _rank_moments(tree, share, 4) if isinstance(event, LaplaceNoise) else np.zeros(tree.cells)
    concentration = np.divide(fourths, squares**2, out=np.zeros(tree.cells), where=squares > 1e-12)
    return np.asarray(
        critical_value(event, concentration, confidence) * np.sqrt(variance_of(event) * squares) + LATTICE
    )
