"""The rows of each level of ROLLUP, CUBE and GROUPING SETS: sums of the finest groups, or measured and reconciled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import TypeAlias

from hubbub.mechanisms.workload import whole_levels
from hubbub.releases import NoisyColumn
from hubbub.schema import Value
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.pricing.level_noise import level_allocations, reconciled_measure, summed_noise
from hubbub.sql.pricing.noise_allocation import NoiseAllocation

Key: TypeAlias = tuple[Value | None, ...]


@dataclass(frozen=True, slots=True)
class LevelRows:
    """The rows of one level: what they are called, their sums, and the noise in these."""

    keys: tuple[Key, ...]
    measures: tuple[NoisyColumn, ...]
    noise: NoiseAllocation


def level_rows(
    plan: QuestionPlan, spent: NoiseAllocation, keys: Sequence[Key], measures: Sequence[NoisyColumn]
) -> list[LevelRows]:
    """The levels of a plan with totals, which are sums of the groups that they are totals of.

    Guarantee: as private as what was measured.
    Because: [DR14], post-processing: it works on noisy integers and public keys alone.
    """
    if plan.measured:
        return _reconciled_levels(plan, spent, measures)
    told = level_allocations(plan, spent)
    return [_summed_level(keys, measures, kept, noise) for kept, noise in told]


def _summed_level(
    keys: Sequence[Key], measures: Sequence[NoisyColumn], kept: tuple[int, ...], noise: NoiseAllocation
) -> LevelRows:
    """The groups that keep only some of the keys; each sums the same number of finest groups."""
    groups: dict[Key, list[int]] = {}
    for row, key in enumerate(keys):
        groups.setdefault(tuple(key[i] if i in kept else None for i in range(len(key))), []).append(row)
    terms = len(next(iter(groups.values()), [0]))
    columns = tuple(
        NoisyColumn(
            measure.name,
            measure.step,
            summed_noise(measure.noise, terms),
            tuple(sum(measure.values[row] for row in rows) for rows in groups.values()),
        )
        for measure in measures
    )
    return LevelRows(tuple(groups), columns, noise)


def _reconciled_levels(plan: QuestionPlan, spent: NoiseAllocation, measures: Sequence[NoisyColumn]) -> list[LevelRows]:
    """Each level of each measure by least squares, from all levels that were measured."""
    tables = [_reconciled_values(plan, spent, measures, index) for index in range(len(plan.measures))]
    return [
        LevelRows(
            _level_keys(plan, kept),
            tuple(
                NoisyColumn(measure.name, measure.unit, noise.noise(index), tables[index][place])
                for index, measure in enumerate(plan.measures)
            ),
            noise,
        )
        for place, (kept, noise) in enumerate(level_allocations(plan, spent))
    ]


def _reconciled_values(
    plan: QuestionPlan, spent: NoiseAllocation, measures: Sequence[NoisyColumn], index: int
) -> list[tuple[int, ...]]:
    """One measure at each level that is told, in whole steps."""
    unit = plan.measures[index].unit
    measured = {
        frozenset(level.kept): _in_steps(measures[place * len(plan.measures) + index], unit)
        for place, level in enumerate(plan.measured)
    }
    estimates = reconciled_measure(plan, spent, index).estimates(measured)
    told = [frozenset(kept) for kept in plan.levels]
    return [tuple(level.tolist()) for level in whole_levels(plan.shape, told, estimates)]


def _in_steps(column: NoisyColumn, unit: Fraction) -> list[float]:
    """The values of a column in steps of its measure; one that was measured twice has parts of these."""
    step = column.step / unit
    return [value * step.numerator / step.denominator for value in column.values]


def _level_keys(plan: QuestionPlan, kept: tuple[int, ...]) -> tuple[Key, ...]:
    """The groups of a level in order; a key that it does not keep is missing."""
    return tuple(product(*(key.domain or () if place in kept else (None,) for place, key in enumerate(plan.keys))))
