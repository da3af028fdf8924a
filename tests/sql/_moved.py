"""How far the integers of a plan moved between two neighbours, against what the plan says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hubbub.sql.compiler.query_plan import QuestionPlan, SumKind
from hubbub.sql.compiler.rewrites.disjoint_measures import joint_movement
from hubbub.sql.noise_allocation import keys_per_unit
from hubbub.terms import Neighbours
from tests.sql._exact import Read


def distances(plan: QuestionPlan, one: Read, other: Read, neighbours: Neighbours) -> list[str]:
    """What moved further than the plan says, in words."""
    too_far = []
    sides = 2 if neighbours is Neighbours.REPLACE else 1
    for i, (moved, before, after) in enumerate(zip(plan.moved, one.measures, other.measures, strict=True)):
        parts = difference(before, after)
        l1, l2_squared = sum(map(abs, parts)), sum(part * part for part in parts)
        if l1 > moved.l1 or l2_squared > moved.l2_squared:
            too_far.append(f"measure {i} ({plan.measures[i].name}): L1 {l1}, L2^2 {l2_squared}, and {moved} was said")
    for i, (before, after) in enumerate(zip(one.curves, other.curves, strict=True)):
        if (l1 := sum(map(abs, difference(before, after)))) > sides * plan.curve_rows:
            too_far.append(f"curve {i}: L1 {l1}, and {sides} times {plan.curve_rows} was said")
    too_far += moved_together(plan, one, other)
    if not plan.public_keys:
        too_far += keys_moved(plan, one, other, sides)
    return too_far


def moved_together(plan: QuestionPlan, one: Read, other: Read) -> list[str]:
    """Whether all measures together moved further than is said, each as a part of how far it can move alone."""
    scales = [Fraction(max(1, moved.l1)) for moved in plan.moved]
    l1 = l2_squared = Fraction(0)
    for scale, before, after in zip(scales, one.measures, other.measures, strict=True):
        parts = difference(before, after)
        l1 += sum(map(abs, parts)) / scale
        l2_squared += sum(part * part for part in parts) / scale**2
    most_l1, most_l2_squared = joint_movement(plan.moved, plan.disjoint, scales)
    if l1 <= most_l1 and l2_squared <= most_l2_squared:
        return []
    together = f"L1 {float(l1):g} of {float(most_l1):g}, L2^2 {float(l2_squared):g} of {float(most_l2_squared):g}"
    return [f"together ({plan.disjoint}): {together} was said"]


def keys_moved(plan: QuestionPlan, one: Read, other: Read, sides: int) -> list[str]:
    """Whether a person counts once under a key, and under no more keys than the choice of keys reckons with."""
    place = next(i for i, m in enumerate(plan.measures) if m.counted is SumKind.PEOPLE and m.condition is None)
    parts = difference(one.measures[place], other.measures[place])
    changed = sum(part != 0 for part in parts)
    too_far = [f"a key's people moved by {max(map(abs, parts))}"] if any(abs(part) > 1 for part in parts) else []
    if changed > sides * keys_per_unit(plan):
        too_far.append(f"{changed} keys changed, and {sides} times {keys_per_unit(plan)} was said")
    return too_far


def difference(before: dict[Any, int], after: dict[Any, int]) -> list[int]:
    """What each key's integer moved by."""
    return [after.get(key, 0) - before.get(key, 0) for key in {**before, **after}]
