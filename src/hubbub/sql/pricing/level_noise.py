"""The noise in totals: of sums of the finest groups, or of levels that were measured and then reconciled."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from hubbub.mechanisms.workload import LevelSums, are_nested
from hubbub.releases import Noise, NoiseSum, NoiseTerm
from hubbub.sql.compiler.query_plan import QuestionPlan
from hubbub.sql.pricing.noise_allocation import NoiseAllocation
from hubbub.terms import root_of

_NEAREST, _WITHIN_SUMS = Fraction(1, 2), Fraction(1)  # how far a told whole number lies from its estimate


def level_allocations(plan: QuestionPlan, spent: NoiseAllocation) -> list[tuple[tuple[int, ...], NoiseAllocation]]:
    """Each level that is told, by the keys it keeps, with the noise of its measures; one of all keys without totals."""
    if not plan.levels:
        return [(tuple(range(len(plan.keys))), spent)]
    if plan.measured:
        tables = [reconciled_measure(plan, spent, index) for index in range(len(plan.measures))]
        return [(kept, replace(spent, told=_reconciled_noises(plan, spent, tables, kept))) for kept in plan.levels]
    return [(kept, replace(spent, told=_summed_noises(plan, spent, kept))) for kept in plan.levels]


def reconciled_measure(plan: QuestionPlan, spent: NoiseAllocation, index: int) -> LevelSums:
    """How the levels of one measure are reconciled."""
    variances = {
        frozenset(level.kept): spent.noise(place * len(plan.measures) + index).std_dev() ** 2
        for place, level in enumerate(plan.measured)
    }
    return LevelSums(plan.shape, told=[frozenset(kept) for kept in plan.levels], variances=variances)


def _summed_noises(plan: QuestionPlan, spent: NoiseAllocation, kept: tuple[int, ...]) -> tuple[Noise, ...]:
    """Every cell of a level is a sum of equally many finest groups."""
    terms = (plan.size or 1) // plan.cells_of(kept)
    return tuple(summed_noise(spent.noise(index), terms) for index in range(len(plan.measures)))


def summed_noise(noise: Noise, terms: int) -> Noise:
    """The noise in a sum of so many numbers that have this one each."""
    if noise.distribution == "gaussian":
        return Noise("gaussian", root_of(noise.scale**2 * terms))
    return noise if terms == 1 else NoiseSum.of([NoiseTerm(1.0, terms, noise)])


def _reconciled_noises(
    plan: QuestionPlan, spent: NoiseAllocation, tables: list[LevelSums], kept: tuple[int, ...]
) -> tuple[Noise, ...]:
    places = {frozenset(level.kept): place for place, level in enumerate(plan.measured)}
    rounding = _WITHIN_SUMS if are_nested([frozenset(level) for level in plan.levels]) else _NEAREST
    return tuple(
        NoiseSum.of(
            [
                NoiseTerm(term.weight, term.draws, spent.noise(places[term.level] * len(plan.measures) + index))
                for term in table.terms(frozenset(kept))
            ],
            rounding,
        )
        for index, table in enumerate(tables)
    )
