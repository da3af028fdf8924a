"""Which strategy answers the queries best, judged by closed forms from public facts alone."""

from __future__ import annotations

import math

import numpy as np

from hubbub.mechanisms.common.ary_tree import AryTree
from hubbub.mechanisms.workload.marginals import SCALES, candidate_marginals
from hubbub.mechanisms.workload.queries import Floats, WorkloadQueries
from hubbub.mechanisms.workload.strategies import Direct, Factor, Product, Strategy
from hubbub.mechanisms.workload.union_strategy import UnionStrategy, balance_weights, groups_of

_FAN_OUTS = (2, 3, 4, 8, 16)
_LONGEST_TREE = 1 << 11  # cells of an attribute up to which trees are solved as dense matrices
_FEW_GROUPS = 64
_FEW_ROWS = 1 << 8
_FEW_ENTRIES = 1 << 24


def best_strategy(plan: WorkloadQueries, *, pure: bool, worst: bool) -> Strategy:
    """The one with the least total (or the least worst) squared error of the answers at the same cost."""
    considered: list[Strategy] = [
        _best_product(plan, pure, worst),
        *candidate_marginals(plan, pure),
        *_best_unions(plan, pure, worst),
    ]
    rows = sum(plan.sizes)
    if rows <= _FEW_ROWS and rows * math.prod(plan.shape) <= _FEW_ENTRIES:
        considered.append(Direct(plan))
    return min(considered, key=lambda strategy: predicted_variance(strategy, plan, pure=pure, worst=worst))


def predicted_variance(strategy: Strategy, plan: WorkloadQueries, *, pure: bool, worst: bool) -> float:
    """The total (or the worst) variance of the answers, up to a factor that is the same for every strategy."""
    squares = [strategy.moments(block, 2) for block in plan.blocks]
    error = max(float(s.max()) for s in squares) if worst else sum(float(s.sum()) for s in squares)
    return error * (strategy.l1**2 if pure else strategy.l2_squared)


def _best_unions(plan: WorkloadQueries, pure: bool, worst: bool) -> list[UnionStrategy]:
    """The best product of each group of queries that look at the same attributes, with weights on several scales."""
    groups = groups_of(plan)
    if not 2 <= len(groups) <= _FEW_GROUPS:
        return []
    parts = [_best_product(plan.restricted(group), pure, worst) for group in groups]
    costs = [part.l1 if pure else part.l2_squared for part in parts]
    errors = [
        predicted_variance(p, p.plan, pure=pure, worst=worst) / (c**2 if pure else c)
        for p, c in zip(parts, costs, strict=True)
    ]
    weights = [balance_weights(errors, costs, pure=pure, worst=worst, scale=scale) for scale in SCALES]
    return [UnionStrategy(plan, groups, parts, some) for some in weights]


def _best_product(plan: WorkloadQueries, pure: bool, worst: bool) -> Product:
    """Better one attribute at a time until none gets better; the errors of a query multiply."""
    options = [_tree_options(cells) for cells in plan.shape]
    errors = [_option_errors(plan, axis, trees, worst) for axis, trees in enumerate(options)]
    costs = [[Factor(tree).levels ** (2 if pure else 1) for tree in trees] for trees in options]
    tables = [error * np.array(cost, dtype=np.float64)[:, None] for error, cost in zip(errors, costs, strict=True)]
    chosen = [0] * len(options)
    while (better := _improve_options(tables, chosen, worst)) != chosen:
        chosen = better
    return Product(plan, tuple(Factor(trees[number]) for trees, number in zip(options, chosen, strict=True)))


def _improve_options(tables: list[Floats], chosen: list[int], worst: bool) -> list[int]:
    """The best option of each attribute in turn, given those of the others; tables are options x queries."""
    chosen = list(chosen)
    for axis, table in enumerate(tables):
        others = math.prod(t[chosen[a]] for a, t in enumerate(tables) if a != axis)
        together = table * others
        chosen[axis] = int(np.argmin(together.max(axis=1) if worst else together.sum(axis=1)))
    return chosen


def _tree_options(cells: int) -> list[AryTree | None]:
    """What may be measured of an attribute: every cell, or one of several trees over the cells."""
    fan_outs = sorted({min(b, cells) for b in _FAN_OUTS}) if 3 <= cells <= _LONGEST_TREE else []
    trees = [AryTree(cells, b, rooted) for b in fan_outs for rooted in (False, True)]
    return [None, *(tree for tree in trees if tree.levels > 1)]


def _option_errors(plan: WorkloadQueries, axis: int, trees: list[AryTree | None], worst: bool) -> Floats:
    """For each option and each query the sum (or the largest) of its rows' variances along one attribute."""
    attribute = plan.attributes[axis]
    parts = [block.parts[axis] for block in plan.blocks]
    out = np.empty((len(trees), len(parts)))
    for number, tree in enumerate(trees):
        factor = Factor(tree)  # let go of again: its inverse may be large
        explicit = factor.moments(attribute.rows, attribute.cells, 2)
        single = factor.moments(None, attribute.cells, 2) if any(part is None for part in parts) else explicit
        rows = [single if part is None else explicit[part] for part in parts]
        out[number] = [r.max() if worst else r.sum() for r in rows]
    return out
