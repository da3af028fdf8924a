"""ROLLUP, CUBE and GROUPING SETS with noise on each level: which levels are measured, and for which share of the price.

The other way, which is always possible, is to measure the finest groups alone and to add them up; the better one is
chosen by the error that is predicted (``pricing/noise_choice.py``).
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hubbub.mechanisms.workload import MOST_CELLS, level_shares
from hubbub.sql.compiler.bound_contribution import moved_at_level
from hubbub.sql.compiler.query_plan import MeasuredLevel, QuestionPlan
from hubbub.terms import Neighbours

Subset = frozenset[int]


def measure_levels(plan: QuestionPlan, neighbours: Neighbours, *, gaussian: bool) -> QuestionPlan | None:
    """The plan with noise on each level that serves the levels asked for; None if sums of the finest groups do.

    The shares follow from the shape of the keys and the bound on one person, so they are the same at every price.
    """
    if not plan.levels or not plan.measures or not plan.keys or plan.clamped or _is_large(plan):
        return None
    finest = tuple(range(len(plan.keys)))
    candidates = tuple(dict.fromkeys(map(_sorted, plan.levels)))
    moved = {
        level: moved_at_level(
            plan.bounding,
            plan.measures,
            groups=plan.size or 1,
            cells=plan.cells_of(level),
            neighbours=neighbours,
            joint=plan.joint,
        )
        for level in candidates
    }

    def variance(level: Subset, share: float) -> float:
        first = moved[_sorted(level)][0]
        return first.l2_squared / share if gaussian else 2 * (first.l1 / share) ** 2

    shares = level_shares(plan.shape, [frozenset(level) for level in candidates], variance)
    measured = tuple(
        MeasuredLevel(level, Fraction(share, sum(shares)), moved[level])
        for level, share in zip(candidates, shares, strict=True)
        if share
    )
    return None if [level.kept for level in measured] == [finest] else replace(plan, measured=measured)


def _sorted(level: Subset | tuple[int, ...]) -> tuple[int, ...]:
    return tuple(sorted(level))


def _is_large(plan: QuestionPlan) -> bool:
    """Whether the cells of all levels are more than are solved together in memory."""
    return (plan.size or 0) + sum(plan.cells_of(level) for level in plan.levels) > MOST_CELLS
