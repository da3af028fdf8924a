"""A tree of sums over ordered cells: its nodes, the least-squares leaves, and what is known of their errors.

Every node but perhaps the root is measured with noise of the same variance. On a tree, least squares is two passes:
upwards each node's own measurement is averaged with the sum of its children by their precisions, downwards what a
parent has more than its children is shared among them by their variances [HRMS10]. Nothing asks the tree to be full:
the last node of a level may have fewer children.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

_FAN_OUTS = (2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 24, 28, 32, 48, 64, 128)


@dataclass(frozen=True)
class AryTree:
    """Sums of ``branching`` neighbours, sums of those, and so on; the one at the top may be left out."""

    cells: int
    branching: int
    rooted: bool

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """How many nodes each level has, from the cells up to the root."""
        sizes = [self.cells]
        while sizes[-1] > 1:
            sizes.append(-(-sizes[-1] // self.branching))
        return tuple(sizes)

    @property
    def levels(self) -> int:
        """How many levels are measured: a row is part of one node of each."""
        return len(self.sizes) - (not self.rooted)

    @property
    def nodes(self) -> int:
        """How many nodes are measured."""
        return sum(self.sizes[: self.levels])

    @cached_property
    def trusts(self) -> tuple[Floats, ...]:
        """By level, the weight of each node's own measurement in its estimate from its own subtree."""
        trusts, variance = [np.ones(self.cells)], np.ones(self.cells)
        for level in range(1, len(self.sizes)):
            children = self.grouped(variance, level)
            own = children / (1 + children) if level < self.levels else np.zeros(self.sizes[level])
            variance = own**2 + (1 - own) ** 2 * children
            trusts.append(own)
        return tuple(trusts)

    @cached_property
    def variances(self) -> tuple[Floats, ...]:
        """By level, the variance of each node's estimate from its own subtree; the noise's variance is 1."""
        return self.moments(2)

    def moments(self, power: int) -> tuple[Floats, ...]:
        """By level, the sum of that power of the noise's weights in each node's estimate from its own subtree."""
        moments = [np.ones(self.cells)]
        for level in range(1, len(self.sizes)):
            own = self.trusts[level]
            moments.append(own**power + (1 - own) ** power * self.grouped(moments[-1], level))
        return tuple(moments)

    def grouped(self, values: NDArray[Any], level: int) -> NDArray[Any]:
        """Sums over the children of each node of ``level``, along the last axis."""
        starts = np.arange(0, self.sizes[level - 1], self.branching)
        return np.asarray(np.add.reduceat(values, starts, axis=-1))


def node_sums(tree: AryTree, counts: Integers) -> list[Integers]:
    """The measured sums of each level, cells first, along the last axis."""
    sums = [counts]
    for level in range(1, tree.levels):
        sums.append(tree.grouped(sums[-1], level))
    return sums


def consistent_cells(tree: AryTree, measured: Sequence[NDArray[Any]]) -> Floats:
    """The least-squares cells, given a noisy sum for each measured node."""
    below = measured[0].astype(np.float64)
    estimates, sums = [below], [below]
    for level in range(1, len(tree.sizes)):
        total = tree.grouped(estimates[-1], level)
        own = tree.trusts[level]
        sums.append(total)
        estimates.append(own * measured[level] + (1 - own) * total if level < tree.levels else total)
    best = estimates.pop()
    for level in range(len(tree.sizes) - 1, 0, -1):
        surplus = np.repeat(best - sums[level], tree.branching, axis=-1)[..., : tree.sizes[level - 1]]
        best = estimates.pop() + _child_shares(tree, level) * surplus
    return best


def rank_moment(tree: AryTree, cells: Integers, share: float, power: int) -> Floats:
    """The sum of that power of the noise's weights in (sum up to each of the cells) - ``share`` * total.

    With power 2 it is the variance, in units of the noise's variance. ``docs/proofs/noisy-cdf.md`` derives it.
    """
    slopes = _prefix_slopes(tree, cells)
    top = len(tree.sizes) - 1
    moments = tree.moments(power)
    path = cells // tree.branching**top
    weight = slopes[top] - share  # of the estimate of the node on the path from its own subtree
    out = np.zeros(cells.size)
    for level in range(top, 0, -1):
        own = tree.trusts[level][path]
        passed = weight * (1 - own) - slopes[level]
        child = cells // tree.branching ** (level - 1)
        left = _left_sums(moments[level - 1], tree.branching)[child]
        right = np.maximum(0.0, tree.grouped(moments[level - 1], level)[path] - left - moments[level - 1][child])
        out += (weight * own) ** power + left * (passed + 1) ** power + right * passed**power
        weight, path = passed + slopes[level - 1], child
    return np.asarray(out + weight**power)


@lru_cache(maxsize=256)
def choose_tree(cells: int, branching: int | None, loss: int) -> AryTree:
    """The tree with the smallest mean variance of a prefix sum, where noise has a variance of levels^``loss``."""
    fan_outs = sorted({min(b, cells) for b in (*_FAN_OUTS, cells)} - {1}) if branching is None else [branching]
    trees = [AryTree(cells, b, rooted) for b in fan_outs for rooted in (False, True)] if cells > 1 else []
    some = np.unique(np.linspace(0, cells - 1, 257).astype(np.int64))
    return min(
        trees or [AryTree(cells, 2, rooted=True)],
        key=lambda tree: float(rank_moment(tree, some, 0.0, 2).mean()) * tree.levels**loss,
    )


def _prefix_slopes(tree: AryTree, cells: Integers) -> list[Floats]:
    """By how much the sum up to a cell within each node above it grows with that node, for each level."""
    slope = np.ones(cells.size)
    slopes = [slope]
    for level in range(1, len(tree.sizes)):
        below, child = tree.variances[level - 1], cells // tree.branching ** (level - 1)
        part = _left_sums(below, tree.branching)[child] + slope * below[child]
        slope = part / tree.grouped(below, level)[child // tree.branching]
        slopes.append(slope)
    return slopes


def _left_sums(values: Floats, branching: int) -> Floats:
    """For each node the sum over its left siblings."""
    sums = np.concatenate([[0.0], np.cumsum(values)[:-1]])
    places = np.arange(values.size)
    return np.asarray(sums - sums[places - places % branching])


def _child_shares(tree: AryTree, level: int) -> Floats:
    """For each child of a node of ``level`` its part of what the node has more than its children."""
    below = tree.variances[level - 1]
    totals = np.repeat(tree.grouped(below, level), tree.branching)[: below.size]
    return np.asarray(below / totals)
