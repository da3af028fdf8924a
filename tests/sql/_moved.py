"""How far the integers of a plan moved between two neighbours, against what the plan says."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from hubbub.sql.compiler.query_plan import QuestionPlan, SumKind
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
    too_far += jointly_moved(plan, one, other)
    if not plan.public_keys:
        too_far += keys_moved(plan, one, other, sides)
    return too_far


def jointly_moved(plan: QuestionPlan, one: Read, other: Read) -> list[str]:
    """Whether measures that share a price move together by no more than one of them may, each in its own units."""
    too_far = []
    for group in plan.joint:
        l1 = l2_squared = Fraction(0)
        for i in group:
            parts = difference(one.measures[i], other.measures[i])
            l1 += Fraction(sum(map(abs, parts)), plan.moved[i].l1)
            l2_squared += Fraction(sum(part * part for part in parts), plan.moved[i].l2_squared)
        if l1 > 1 or l2_squared > 1:
            too_far.append(f"measures {group} together: {float(l1)} in L1, {float(l2_squared)} in L2^2, and 1 was said")
    return too_far


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
