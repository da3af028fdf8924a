"""How far the integers of a plan moved between two neighbours, against what the plan says."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import replace
from fractions import Fraction
from typing import Any

from hubbub.mechanisms.common import KeyWeights
from hubbub.sql.compiler.query_plan import KeySelection, Moved, QuestionPlan
from hubbub.terms import Neighbours
from tests.sql._exact import Read


def distances(plan: QuestionPlan, one: Read, other: Read, neighbours: Neighbours) -> list[str]:
    """What moved further than the plan says, in words."""
    too_far = []
    if plan.selection is not None:
        too_far += choice_moved(plan.selection, one.people, other.people, neighbours)
        keys = one.people.keys() & other.people.keys()
        one, other = _of_keys(one, keys), _of_keys(other, keys)
    sides = 2 if neighbours is Neighbours.REPLACE else 1
    for i, (moved, before, after) in enumerate(zip(_said(plan), one.measures, other.measures, strict=True)):
        parts = difference(before, after)
        l1, l2_squared = sum(map(abs, parts)), sum(part * part for part in parts)
        if l1 > moved.l1 or l2_squared > moved.l2_squared:
            name = plan.measures[i % len(plan.measures)].name
            too_far.append(f"measure {i} ({name}): L1 {l1}, L2^2 {l2_squared}, and {moved} was said")
    for i, (before, after) in enumerate(zip(one.curves, other.curves, strict=True)):
        if (l1 := sum(map(abs, difference(before, after)))) > sides * plan.curve_rows:
            too_far.append(f"curve {i}: L1 {l1}, and {sides} times {plan.curve_rows} was said")
    return too_far + jointly_moved(plan, one, other)


def _said(plan: QuestionPlan) -> tuple[Moved, ...]:
    """How far each measure may move, at each level that is measured."""
    return tuple(moved for level in plan.measured for moved in level.moved) if plan.measured else plan.moved


def _of_keys(read: Read, keys: Set[str]) -> Read:
    """What was read of some keys: one that a single person brings into the choice shows others' rows as well, and that
    it is chosen at all is what the choice's own delta is for.
    """
    measures = tuple({key: number for key, number in column.items() if key in keys} for column in read.measures)
    curves = tuple({key: rows for key, rows in curve.items() if key[0] in keys} for curve in read.curves)
    return replace(read, measures=measures, curves=curves)


def choice_moved(
    selection: KeySelection, one: dict[Any, int], other: dict[Any, int], neighbours: Neighbours
) -> list[str]:
    """Whether a person is under no more keys than is reckoned with, and counts under each what that number allows."""
    weights = KeyWeights(selection.keys, weighted=selection.weighted)
    parts = [part for part in difference(one, other) if part]
    sides = 2 if neighbours is Neighbours.REPLACE else 1
    if len(parts) > sides * selection.keys:
        return [f"{len(parts)} keys changed, and {sides} times {selection.keys} was said"]
    if sum(part * part for part in parts) > weights.length(neighbours) ** 2:
        return [f"the choice moved by {parts}, and {float(weights.length(neighbours))} was said"]
    if sides == 1 and parts and {abs(part) for part in parts} != {weights.of(len(parts))}:
        return [f"{len(parts)} keys moved by {parts}, and {weights.of(len(parts))} each was said"]
    return []


def jointly_moved(plan: QuestionPlan, one: Read, other: Read) -> list[str]:
    """Whether measures that share a price move together by no more than one of them may, each in its own units."""
    too_far, said = [], _said(plan)
    starts = range(0, len(said), max(1, len(plan.measures)))
    for group in (tuple(start + i for i in group) for start in starts for group in plan.joint):
        l1 = l2_squared = Fraction(0)
        for i in group:
            parts = difference(one.measures[i], other.measures[i])
            l1 += Fraction(sum(map(abs, parts)), said[i].l1)
            l2_squared += Fraction(sum(part * part for part in parts), said[i].l2_squared)
        if l1 > 1 or l2_squared > 1:
            too_far.append(f"measures {group} together: {float(l1)} in L1, {float(l2_squared)} in L2^2, and 1 was said")
    return too_far


def difference(before: dict[Any, int], after: dict[Any, int]) -> list[int]:
    """What each key's integer moved by."""
    return [after.get(key, 0) - before.get(key, 0) for key in {**before, **after}]
