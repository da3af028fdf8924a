"""Sums at several levels of a table, each with noise of its own, and the table that agrees with all of them best.

A level keeps some of the table's attributes and adds up the others: those of ROLLUP and CUBE. What is done with noisy
sums is post-processing. ``docs/proofs/levels.md`` has the formulas.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from hubbub.mechanisms.workload.marginals import Marginals, Subset, all_subsets
from hubbub.mechanisms.workload.queries import Floats, Integers, WorkloadQueries, plan_queries

MOST_CELLS = 1 << 20  # of the table, and of all levels together
_PRECISIONS = 1 << 20  # the most precise level weighs so much: a precision is known to a millionth
_LADDER = (0, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32)  # shares that are tried
_START = _LADDER.index(8)
_BETTER = 1e-3  # what a change of shares must gain, relative to the error


@dataclass(frozen=True, slots=True)
class LevelTerm:
    """Draws of a measured level's noise that have the same weight in an estimate."""

    level: Subset
    weight: float
    draws: int


class LevelSums:
    """The least-squares estimates of the levels ``told`` from measured levels with noise of these ``variances``.

    Guarantee: none of its own: it works on noisy numbers alone.
    Because: [DR14], post-processing.
    Error: unbiased, whatever the variances are; ``terms`` has the exact weight of every draw in an estimate.

    >>> table = LevelSums((2,), told=[frozenset({0}), frozenset()], variances={frozenset({0}): 1.0, frozenset(): 2.0})
    >>> [level.round(3).tolist() for level in table.estimates({frozenset({0}): [10, 20], frozenset(): [34]})]
    [[11.0, 21.0], [32.0]]
    """

    def __init__(self, shape: Sequence[int], *, told: Sequence[Subset], variances: Mapping[Subset, float]) -> None:
        self.shape, self.told = tuple(shape), tuple(told)
        finest = min(variances.values())
        weights = {s: max(1, round(_PRECISIONS * math.sqrt(finest / v))) for s, v in variances.items()}
        unseen = [level for level in weights if level not in self.told]  # asked too, so that no cells are merged
        self._strategy = Marginals(_queries(self.shape, [*self.told, *unseen]), weights)

    def estimates(self, measured: Mapping[Subset, Sequence[float] | Floats]) -> list[Floats]:
        """The cells of each told level, in the order of a table, from the noisy sums of each measured level."""
        weighed = [w * np.asarray(measured[s], dtype=np.float64).ravel() for s, w in self._strategy.weights.items()]
        answers = self._strategy.answered(np.concatenate(weighed))
        return np.split(answers, np.cumsum(self._strategy.plan.sizes)[:-1])[: len(self.told)]

    def terms(self, level: Subset) -> tuple[LevelTerm, ...]:
        """The weight of each draw in the estimate of one cell of a level, the same for all its cells."""
        return tuple(term for measured in self._strategy.weights for term in self._terms_from(level, measured))

    def _terms_from(self, level: Subset, measured: Subset) -> list[LevelTerm]:
        """Weights of one measured level, by the attributes in which its cell agrees with the estimated one."""
        cells, both = self.shape, sorted(level & measured)
        outside = math.prod(n for axis, n in enumerate(cells) if axis not in level | measured)
        inside = math.prod(cells[axis] for axis in measured - level)
        scale = float(self._strategy.weights[measured]) ** 2 * outside
        out = []
        for agrees in itertools.product((True, False), repeat=len(both)):
            draws = inside * math.prod(1 if same else cells[axis] - 1 for axis, same in zip(both, agrees, strict=True))
            if draws:
                agreeing = frozenset(axis for axis, same in zip(both, agrees, strict=True) if same)
                weight = scale * math.fsum(self._part(part, agreeing, both) for part in all_subsets(frozenset(both)))
                out.append(LevelTerm(measured, weight, draws))
        return out

    def _part(self, part: Subset, agreeing: Subset, both: Sequence[int]) -> float:
        """What the part of the space that varies along ``part`` adds to a weight."""
        means = {axis: 1 / self.shape[axis] for axis in both}
        factors = (float(axis in agreeing) - means[axis] if axis in part else means[axis] for axis in both)
        return math.prod(factors) / self._strategy.eigenvalues[part]


def level_shares(
    shape: Sequence[int], levels: Sequence[Subset], variance: Callable[[Subset, float], float]
) -> list[int]:
    """How to share a price among levels: whole numbers, 0 for a level that is better told from others.

    ``variance`` says which variance a level's noise has at a share of the price. The geometric mean of the levels'
    errors is made small, each level counting once however many cells it has: shares go up and down a ladder, one
    after the other, as long as that helps. Everything here is public.
    """
    errors = _LevelErrors(shape, levels, variance)
    steps = [_START] * len(levels)
    best = errors.typical(steps)
    improved = True
    while improved:
        improved = False
        for place, change in itertools.product(range(len(levels)), (1, -1)):
            while 0 <= steps[place] + change < len(_LADDER):
                tried = [*steps[:place], steps[place] + change, *steps[place + 1 :]]
                error = errors.typical(tried)
                if error > best - _BETTER:
                    break
                steps, best, improved = tried, error, True
    shares = [_LADDER[step] for step in steps]
    common = math.gcd(*shares)
    return [share // common for share in shares]


class _LevelErrors:
    """The errors of levels that are reconciled, by what share of a price each level has."""

    def __init__(
        self, shape: Sequence[int], levels: Sequence[Subset], variance: Callable[[Subset, float], float]
    ) -> None:
        self.levels, self.variance = levels, variance
        parts = list(dict.fromkeys(part for level in levels for part in all_subsets(level)))
        axes = range(len(shape))
        self.adds = np.array(
            [[float(p <= s) * math.prod(shape[a] for a in axes if a not in s) for s in levels] for p in parts]
        )
        self.looks = np.array([[_part_of_cell(shape, s, p) for p in parts] for s in levels])

    def typical(self, steps: Sequence[int]) -> float:
        """The mean logarithm of the levels' standard deviations; infinite if some level cannot be told."""
        total = sum(_LADDER[step] for step in steps)
        precisions = [
            1 / self.variance(level, _LADDER[step] / total) if step else 0.0
            for level, step in zip(self.levels, steps, strict=True)
        ]
        eigenvalues = self.adds @ np.array(precisions)
        if (eigenvalues <= 0).any():
            return math.inf
        return float(np.log(self.looks @ (1 / eigenvalues)).mean() / 2)


def _part_of_cell(shape: Sequence[int], level: Subset, part: Subset) -> float:
    """The squared length of what a cell of a level looks at in a part of the space."""
    if not part <= level:
        return 0.0
    inside = math.prod(1 - 1 / shape[axis] if axis in part else 1 / shape[axis] for axis in level)
    return inside * math.prod(n for axis, n in enumerate(shape) if axis not in level)


def _queries(shape: Sequence[int], told: Sequence[Subset]) -> WorkloadQueries:
    return plan_queries(shape, [dict.fromkeys(level, "each") for level in told])


def are_nested(levels: Sequence[Subset]) -> bool:
    """Whether of two levels one always contains the other, as those of ROLLUP do."""
    return all(a <= b for a, b in itertools.pairwise(sorted(levels, key=len)))


def whole_levels(shape: Sequence[int], told: Sequence[Subset], estimates: Sequence[Floats]) -> list[Integers]:
    """Estimates as whole numbers; where each level contains the one before, sums still agree.

    Nested levels are rounded from the coarsest on: of the cells of one sum those with the largest fractions are rounded
    up, as many as the sum needs, and none moves by 1 or more. Other levels are rounded cell by cell, to the nearest.
    """
    order = sorted(range(len(told)), key=lambda place: len(told[place]))
    nested = are_nested(told)
    rounded: dict[int, Integers] = {}
    coarser: int | None = None
    for place in order:
        if coarser is None or not nested:
            rounded[place] = np.rint(estimates[place]).astype(np.int64)
        else:
            rounded[place] = _rounded_within(shape, told[place], estimates[place], told[coarser], rounded[coarser])
        coarser = place
    return [rounded[place] for place in range(len(told))]


def _rounded_within(shape: Sequence[int], level: Subset, cells: Floats, above: Subset, sums: Integers) -> Integers:
    """Cells of a level as whole numbers that add up to the sums of the level above."""
    axes, kept = sorted(level), sorted(above)
    others = [axis for axis in axes if axis not in above]
    table = cells.reshape([shape[axis] for axis in axes])
    moved = np.transpose(table, [axes.index(axis) for axis in (*kept, *others)])
    lines = moved.reshape(sums.size, -1)
    floors = np.floor(lines)
    needed = sums.ravel() - floors.sum(axis=1).astype(np.int64)
    each, more = np.divmod(needed, lines.shape[1])
    ranks = np.argsort(np.argsort(floors - lines, axis=1, kind="stable"), axis=1)
    rounded = floors.astype(np.int64) + each[:, None] + (ranks < more[:, None])
    back = np.argsort([axes.index(axis) for axis in (*kept, *others)])
    return np.transpose(rounded.reshape(moved.shape), back).ravel()
