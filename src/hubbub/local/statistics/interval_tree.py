"""Hierarchical histograms and Haar trees: consistent shares from noisy ones, and the weight of each measurement.

Level l has b^l nodes; the root has share 1. From below, a node's own measurement is averaged with the sum of its
children's estimates by their precisions; from above, children share what their parent has more than they add up to, by
their variances. That is least squares [HRMS10]. The same two passes backwards give the weight of every measurement in
any question.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Forest:
    """``branching`` children of every node, and the variance of a measurement at each level below the root.

    Only the first ``cells`` leaves exist; what lies beyond is known to be 0.
    """

    branching: int
    variances: tuple[float, ...]
    cells: int

    @cached_property
    def _known(self) -> tuple[tuple[Floats, Floats], ...]:
        """By level, the weight of a node's own measurement against its children's sum, and the node's variance then."""
        last = self._real(len(self.variances))
        levels = [(last, self.variances[-1] * last)]
        for level in range(len(self.variances) - 1, 0, -1):
            children, own = self._sums(levels[-1][1]), self.variances[level - 1]
            trust = children / (own + children)
            levels.append((trust, (trust**2 * own + (1 - trust) ** 2 * children) * self._real(level)))
        return tuple(reversed(levels))

    def leaves(self, shares: list[Floats]) -> Floats:
        """The consistent shares of the cells."""
        measured = [self._padded(own, level + 1) for level, own in enumerate(shares)]
        estimates = [measured[-1]]
        for own, (trust, _) in zip(measured[-2::-1], self._known[-2::-1], strict=True):
            estimates.append(trust * own + (1 - trust) * self._sums(estimates[-1]))
        best = np.ones(1)
        for level, estimate in enumerate(reversed(estimates)):
            best = estimate + self._parts(level) * np.repeat(best - self._sums(estimate), self.branching)
        return best

    def weights(self, question: Floats) -> list[Floats]:
        """The weight of every measurement, level by level, in question . leaves (but for a constant)."""
        wanted, pulls = question, []
        for level in range(len(self.variances) - 1, -1, -1):
            parent = self._sums(self._parts(level) * wanted)
            pulls.append(wanted - np.repeat(parent, self.branching))
            wanted = parent
        passed, out = np.zeros(self.branching), []
        for level, (pull, (trust, _)) in enumerate(zip(reversed(pulls), self._known, strict=True), start=1):
            total = (pull + passed) * self._real(level)
            out.append(trust * total)
            passed = np.repeat((1 - trust) * total, self.branching)
        return out

    def own(self, level: int, weights: Floats) -> Floats:
        """The weight with which a person in each node of the level enters."""
        return weights

    def _parts(self, level: int) -> Floats:
        """For each node of the level below, its part of what its parent has more than its children."""
        variance = self._known[level][1]
        totals = np.repeat(self._sums(variance), self.branching)
        return np.asarray(np.divide(variance, totals, out=np.zeros_like(variance), where=totals > 0))

    def _real(self, level: int) -> Floats:
        """1 for the nodes of a level that hold a cell, 0 for the others."""
        width = self.branching ** (len(self.variances) - level)
        return np.asarray(np.arange(self.branching**level) * width < self.cells, dtype=np.float64)

    def _padded(self, own: Floats, level: int) -> Floats:
        return np.asarray(np.pad(own, (0, self.branching**level - own.size)) * self._real(level))

    def _sums(self, values: Floats) -> Floats:
        return np.asarray(values.reshape(-1, self.branching).sum(axis=1))


@dataclass(frozen=True)
class Haar:
    """Differences of the left and the right half of every node: no two tell the same, so they agree by themselves.

    Only the first ``cells`` leaves exist: a node whose right half lies beyond has all in its left one.
    """

    depth: int
    cells: int

    def leaves(self, shares: list[Floats]) -> Floats:
        """Shares of the cells from the differences of every node, level by level."""
        best = np.ones(1)
        for level, share in enumerate(shares):
            split = np.where(self._halved(level), share[: 2**level], best)
            best = np.stack([(best + split) / 2, (best - split) / 2], axis=1).ravel()
        return best

    def weights(self, question: Floats) -> list[Floats]:
        """The weight of every difference, level by level, in question . leaves (but for a constant)."""
        weights, wanted = [], question
        for level in range(self.depth - 1, -1, -1):
            left, right = wanted.reshape(-1, 2).T
            halved = self._halved(level)
            weights.append(np.where(halved, (left - right) / 2, 0.0))
            wanted = np.where(halved, (left + right) / 2, left)
        return [np.pad(weight, (0, max(0, 2 - weight.size))) for weight in reversed(weights)]

    def own(self, level: int, weights: Floats) -> Floats:
        """The weight with which a person in each half enters: the right one with a minus."""
        return np.outer(weights[: 2**level], (1.0, -1.0)).ravel()

    def _halved(self, level: int) -> NDArray[np.bool_]:
        """Which nodes of a level have cells in their right half."""
        width = 2 ** (self.depth - level)
        return np.asarray(np.arange(2**level) * width + width // 2 < self.cells)


Shape = Forest | Haar


def mean_prefix_variance(branching: int, variances: tuple[float, ...]) -> float:
    """The variance of a share up to a cell, averaged over all cells, after the consistency step.

    Deviations from the siblings' mean at different levels are uncorrelated; the prefix takes the siblings before the
    path in full and the one on it in part.
    """
    total, below = 0.0, np.inf
    for own in reversed(variances):
        below = 1 / (1 / own + 1 / (branching * below))
        place, part = np.arange(branching)[:, None], (np.arange(16) + 0.5)[None, :] / 16
        total += below * float(np.mean(place + part**2 - (place + part) ** 2 / branching))
    return total
