"""Weighted marginals as a strategy: sums over every combination of some attributes, with integer weights.

All that is needed of such a matrix A has a closed form [MMHM18]. The table's space splits, for each set T of
attributes, into tables that vary along the attributes of T, sum to zero along each of them, and do not vary along the
others. On the part of T, A^T A is the number lambda_T: the sum of w_S^2 times the cells of the attributes outside S,
over the measured sets S that contain T.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from functools import cached_property

import numpy as np

from hubbub.mechanisms.workload.queries import Block, Floats, Integers, WorkloadQueries
from hubbub.mechanisms.workload.strategies import outer_product

Subset = frozenset[int]

SCALES = (1, 2, 4, 8, 16, 32, 64, 100)
_MOST_ATTRIBUTES = 8


class Marginals:
    """The marginal of each set S of attributes, times the integer ``weights[S]``."""

    def __init__(self, plan: WorkloadQueries, weights: Mapping[Subset, int]) -> None:
        self.plan = plan
        self.weights = {subset: weight for subset, weight in weights.items() if weight}

    @property
    def name(self) -> str:
        return f"{len(self.weights)} weighted marginals"

    @property
    def l1(self) -> int:
        return sum(self.weights.values())

    @property
    def l2_squared(self) -> int:
        return sum(weight**2 for weight in self.weights.values())

    @property
    def size(self) -> int:
        return sum(math.prod(self._marginal(subset)) for subset in self.weights)

    def measured(self, table: Integers) -> Integers:
        return np.concatenate([w * table.sum(axis=self._others(s)).ravel() for s, w in self.weights.items()])

    def answered(self, noisy: Floats) -> Floats:
        ends = np.cumsum([math.prod(self._marginal(s)) for s in self.weights])[:-1]
        back = np.zeros(self.plan.shape)
        for (subset, weight), part in zip(self.weights.items(), np.split(noisy, ends), strict=True):
            back += weight * part.reshape(self._marginal(subset))
        return self.plan.answered(self._solved(back, 0, frozenset()))

    def moments(self, block: Block, power: int) -> Floats:
        """Exact for power 2; for higher powers each marginal counts as if its weights were all in one cell."""
        parts = {subset: part_of(self.plan, block, subset) for subset in self.eigenvalues}
        if power == 2:
            return np.asarray(sum(part / self.eigenvalues[s] for s, part in parts.items()))
        return np.asarray(sum(self._share(s, parts) ** (power / 2) for s in self.weights))

    def covariance(self, answers: Integers) -> Floats:
        ids = self.plan.row_ids(answers)
        vectors = [a.vectors(ids[:, axis]) for axis, a in enumerate(self.plan.attributes)]
        flat = [np.outer(v.sum(axis=1), v.sum(axis=1)) / v.shape[1] for v in vectors]
        vary = [v @ v.T - f for v, f in zip(vectors, flat, strict=True)]
        return np.asarray(
            sum(
                math.prod((vary if axis in subset else flat)[axis] for axis in range(len(vectors))) / value
                for subset, value in self.eigenvalues.items()
            )
        )

    def supports(self, needed: Mapping[Subset, float]) -> bool:
        """Whether every part of the space that the queries look at is measured."""
        return all(subset in self.eigenvalues for subset in needed)

    @cached_property
    def eigenvalues(self) -> dict[Subset, float]:
        """lambda_T for the parts that are measured; the others are left out."""
        cells = self.plan.shape
        out: dict[Subset, float] = {}
        for measured, weight in self.weights.items():
            spread = float(weight**2 * math.prod(cells[axis] for axis in self._others(measured)))
            for part in all_subsets(measured):
                out[part] = out.get(part, 0.0) + spread
        return out

    def _solved(self, table: Floats, axis: int, varying: Subset) -> Floats:
        """The inverse of A^T A: split along each axis into the mean and the rest, divide by the part's lambda."""
        if axis == table.ndim:
            value = self.eigenvalues.get(varying)
            return np.zeros_like(table) if value is None else table / value
        mean = table.mean(axis=axis, keepdims=True)
        flat = self._solved(mean, axis + 1, varying)
        return flat if table.shape[axis] == 1 else flat + self._solved(table - mean, axis + 1, varying | {axis})

    def _share(self, measured: Subset, parts: Mapping[Subset, Floats]) -> Floats:
        """The sum of the squared weights of one marginal's cells."""
        spread = self.weights[measured] ** 2 * math.prod(self.plan.shape[axis] for axis in self._others(measured))
        return np.asarray(sum(spread * parts[s] / self.eigenvalues[s] ** 2 for s in all_subsets(measured)))

    def _others(self, subset: Subset) -> tuple[int, ...]:
        return tuple(axis for axis in range(len(self.plan.shape)) if axis not in subset)

    def _marginal(self, subset: Subset) -> tuple[int, ...]:
        return tuple(cells if axis in subset else 1 for axis, cells in enumerate(self.plan.shape))


def all_subsets(axes: Subset) -> list[Subset]:
    """Every subset, the empty one too."""
    ordered = sorted(axes)
    return [frozenset(s) for k in range(len(ordered) + 1) for s in itertools.combinations(ordered, k)]


def part_of(plan: WorkloadQueries, block: Block, subset: Subset) -> Floats:
    """For each answer the squared length of its query's component in the part of ``subset``."""
    lengths = []
    for axis, (attribute, part) in enumerate(zip(plan.attributes, block.parts, strict=True)):
        ones = np.ones(attribute.cells) if part is None else attribute.rows[part].sum(axis=1)
        flat = ones**2 / attribute.cells
        lengths.append(ones - flat if axis in subset else flat)
    return outer_product(lengths)


def needed_by(plan: WorkloadQueries) -> dict[Subset, float] | None:
    """How much the queries look at each part of the space; None if there are too many attributes to say."""
    wide = frozenset(axis for axis, cells in enumerate(plan.shape) if cells > 1)
    if len(wide) > _MOST_ATTRIBUTES:
        return None
    weights = {s: float(sum(part_of(plan, block, s).sum() for block in plan.blocks)) for s in all_subsets(wide)}
    largest = max(weights.values())
    return {subset: value for subset, value in weights.items() if value > 1e-12 * largest}


def candidate_marginals(plan: WorkloadQueries, pure: bool) -> list[Marginals]:
    """Marginals with the weights that serve the queries best, rounded on several scales."""
    needed = needed_by(plan)
    if needed is None:
        return []
    every = sorted({t for s in needed for t in all_subsets(s)}, key=sorted)
    weights = _optimal_weights(plan, needed, every, pure)
    rounded = [Marginals(plan, _round_weights(every, weights, scale)) for scale in SCALES]
    return [strategy for strategy in rounded if strategy.supports(needed)]


def _round_weights(every: list[Subset], weights: Floats, scale: int) -> dict[Subset, int]:
    return {s: round(float(w)) for s, w in zip(every, weights / weights.max() * scale, strict=True)}


def _optimal_weights(plan: WorkloadQueries, needed: Mapping[Subset, float], every: list[Subset], pure: bool) -> Floats:
    """Weights with the smallest total squared error at a fixed cost: (noise's variance) * (sum of c_T / lambda_T)."""
    from scipy.optimize import minimize

    cells = plan.shape
    outside = [math.prod(c for axis, c in enumerate(cells) if axis not in s) for s in every]
    spread = np.array([[size * (t <= s) for s, size in zip(every, outside, strict=True)] for t in needed], dtype=float)
    looks = np.array(list(needed.values()))

    def loss(logs: Floats) -> tuple[float, Floats]:
        weights = np.exp(logs)
        norms = weights if pure else weights**2
        eigen = spread @ weights**2
        error = (looks / eigen).sum()
        cost = 2 * norms / norms.sum()
        slope = -2 * weights**2 * (spread.T @ (looks / eigen**2)) / error
        return float((2 if pure else 1) * np.log(norms.sum()) + np.log(error)), cost + slope

    starts = [np.zeros(len(every)), np.array([0.0 if s in needed else -6.0 for s in every])]
    starts.append(np.array([0.0 if not any(s < t for t in needed) else -4.0 for s in every]))
    runs = [minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-12, 12)] * len(every)) for start in starts]
    return np.asarray(np.exp(min(runs, key=lambda run: float(run.fun)).x))
