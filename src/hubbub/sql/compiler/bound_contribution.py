"""Bound one person's contribution: choose the shape, and say how far it lets one person move each measure.

The sensitivities, for add/remove of one unit, over the vector of all keys (``K`` of them, ``h`` the largest size of
what one row adds, in steps):

    shape                       sums: L1         L2             people: L1, L2^2     distinct values
    row                         h                h              1, 1                 1
    people (k keys)                                             min(k, K)
    rows (c)                    c h              c h            min(c, K)            c
    keys (k keys, r rows each)  k r h            sqrt(k) r h    k                    k r
    totals (norm C)             C (L1 norm)      C              -                    -

For replace, a unit's vector goes and another comes: L1 doubles; L2 doubles if numbers of both signs occur, and grows by
sqrt(2) if not (of two vectors with non-negative parts, the difference is no longer than the hypotenuse), or not at all
where there is one key only.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from hubbub.schema import Dataset
from hubbub.sql.compiler.query_plan import (
    AggregatePlan,
    BoundedSum,
    Bounding,
    BoundingShape,
    GroupKey,
    How,
    KeySelection,
    Moved,
    PlannedColumn,
    SumKind,
)
from hubbub.sql.compiler.rewrites.joint_measures import find_joint
from hubbub.terms import Neighbours, NotAllowed, OutOfRange, Unbounded, UnknownName

LARGEST_TOTAL = 1 << 50  # steps of a person's total: squares over a million keys stay below 2^127
_FINE_BITS = 16  # a norm is at least so many bits long, in parts of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """The chosen bounding, and what follows from it."""

    bounding: Bounding
    moved: tuple[Moved, ...]
    curve_rows: int
    joint: tuple[tuple[int, ...], ...] = ()
    selection: KeySelection | None = None  # None where keys are public


def bound_contribution(
    plan: AggregatePlan,
    dataset: Dataset,
    *,
    cap: int | None,
    totals: Mapping[str, Fraction],
    gaussian: bool,
    norm: str,
) -> Bounded:
    """The bounding of least predicted error, from declared facts alone; the cheapest to run among equals.

    ``cap`` is the number of rows of one person, and ``totals`` bounds what a person adds up to, by column, in ``norm``
    over the groups.
    """
    by_measure = _totals_by_measure(totals, plan.outputs, plan.measures)
    options = [
        _bound_by(option, plan.measures, plan.number, dataset.neighbours, plan.joint)
        for option in _bounding_options(plan, dataset, cap=cap, totals=by_measure, norm=norm)
    ]
    if not options:
        raise _refuse_uncapped(dataset)
    bounded = min(options, key=lambda option: _predicted_error(option, plan.measures, gaussian))
    if totals and bounded.bounding.shape is not BoundingShape.TOTALS:
        raise NotAllowed(
            "totals cannot be used in this question.",
            why="A person's totals are clipped over public groups, of COUNT and SUM, where people are protected.",
            fix="Leave totals out, or ask for the COUNT or SUM by itself, by public keys.",
        )
    return replace(bounded, selection=_key_selection(plan, dataset, cap=cap))


def _key_selection(plan: AggregatePlan, dataset: Dataset, *, cap: int | None) -> KeySelection | None:
    """How keys that are not public are chosen; where the number of people is told, by that number."""
    if plan.number is not None:
        return None
    keys = keys_limit(plan.keys, cap) if dataset.unit else 1
    if keys is None:
        raise _refuse_uncapped(dataset)
    return KeySelection(keys=keys, weighted=keys > 1 and not plan.tells_people)


def _bounding_options(
    plan: AggregatePlan, dataset: Dataset, *, cap: int | None, totals: Mapping[int, Fraction], norm: str
) -> list[Bounding]:
    keys, measures, curves, many = plan.keys, plan.measures, plan.curves, plan.number
    if not dataset.unit:
        return [Bounding(shape=BoundingShape.ROW, rows=1, keys=1)]
    limit = keys_limit(keys, cap)
    people = all(measure.counted is SumKind.PEOPLE for measure in measures) and not curves
    if people and (many is not None or limit is not None):
        capped = limit if many is None or (limit is not None and limit < many) else None
        return [Bounding(shape=BoundingShape.PEOPLE, keys=capped)]
    options: list[Bounding] = []
    if cap is not None:
        counts = any(measure.counted is SumKind.PEOPLE for measure in measures)  # only these move less with fewer keys
        fewer = limit if counts and limit is not None and limit < cap else None
        options.append(Bounding(shape=BoundingShape.ROWS, rows=cap, keys=fewer))
        if many is None:
            return options  # the choice of keys has a bound of its own; one on rows cuts the least of what is told
    each = keys[0].value.facts.max_rows_per_unit if len(keys) == 1 else None
    if each is not None and limit is not None:
        options.append(Bounding(shape=BoundingShape.KEYS, keys=limit, rows_per_key=each))
    if totals and not curves and all(measure.counted is SumKind.SUM for measure in measures):
        norms = _total_norms(measures, totals, cap)
        if norms is not None and many is not None:
            fine = tuple(1 << max(0, _FINE_BITS - norm.bit_length()) for norm in norms)
            parts = tuple(norm * each for norm, each in zip(norms, fine, strict=True))
            return [Bounding(shape=BoundingShape.TOTALS, totals=parts, fine=fine, norm=norm)]
    return options


def keys_limit(keys: Sequence[GroupKey], cap: int | None) -> int | None:
    """Under how many keys one person can count: what was declared of each key column, and never more than rows."""
    declared = [key.value.facts.max_per_unit for key in keys]
    together = math.prod(declared) if keys and all(number is not None for number in declared) else None  # type: ignore[arg-type]
    known = [number for number in (together, cap) if number is not None]
    return min(known) if known else None


def _total_norms(
    measures: Sequence[BoundedSum], totals: Mapping[int, Fraction], cap: int | None
) -> tuple[int, ...] | None:
    norms = []
    for index, measure in enumerate(measures):
        given = totals.get(index)
        if given is None and cap is None:
            return None
        norms.append(math.floor(given / measure.step) if given is not None else (cap or 0) * measure.largest)
        if norms[-1] > LARGEST_TOTAL:
            raise _too_large_a_total(measure)
    return tuple(max(1, norm) for norm in norms)


def _bound_by(
    option: Bounding,
    measures: Sequence[BoundedSum],
    many: int | None,
    neighbours: Neighbours,
    split: tuple[tuple[int, ...], ...],
) -> Bounded:
    joint = find_joint(measures, option, split)
    among = {place for group in joint for place in group}
    moved = tuple(
        _for_neighbours(_sensitivity(option, measure, index, many), measure, many, neighbours, joint=index in among)
        for index, measure in enumerate(measures)
    )
    rows = {
        BoundingShape.ROW: 1,
        BoundingShape.PEOPLE: 0,
        BoundingShape.TOTALS: 0,
        BoundingShape.ROWS: option.rows or 0,
    }
    counted = rows.get(option.shape, (option.keys or 0) * (option.rows_per_key or 0))
    return Bounded(bounding=option, moved=moved, curve_rows=counted, joint=joint)


def _sensitivity(option: Bounding, measure: BoundedSum, index: int, many: int | None) -> Moved:
    """How far one unit that is added or removed moves the measure."""
    if option.shape is BoundingShape.TOTALS:
        norm = option.totals[index]
        spread = math.isqrt(norm * norm * (many or 1) - 1) + 1 if option.norm == "L2" else norm  # C sqrt(K), rounded up
        return Moved(spread, norm * norm)
    if measure.counted is SumKind.PEOPLE:
        under = _keys_of(option, many)
        return Moved(under, under)
    size = measure.largest if measure.counted is SumKind.SUM else 1
    if option.shape is BoundingShape.KEYS:
        assert option.keys is not None and option.rows_per_key is not None
        under = _keys_of(option, many)
        return Moved(under * option.rows_per_key * size, under * (option.rows_per_key * size) ** 2)
    rows = option.rows or 1
    return Moved(rows * size, (rows * size) ** 2)


def moved_at_level(
    option: Bounding,
    measures: Sequence[BoundedSum],
    *,
    groups: int,
    cells: int,
    neighbours: Neighbours,
    joint: tuple[tuple[int, ...], ...],
) -> tuple[Moved, ...]:
    """How far one unit moves the sums of a level: ``cells`` sums of equally many of the ``groups`` finest groups.

    Guarantee: the L1 and L2 distances between a level's vectors for neighbouring data are at most these, if those
    of the finest groups are at most ``_sensitivity``'s; measures that are joint stay so.
    Because: docs/proofs/levels.md. Adding up groups never makes an L1 distance longer; an L2 distance grows where
    several of a person's groups fall into one sum, which at most ``groups / cells`` of them do.
    """
    among = {place for group in joint for place in group}
    merged = groups // cells
    return tuple(
        _for_neighbours(
            _merged_sensitivity(option, measure, index, groups, merged),
            measure,
            cells,
            neighbours,
            joint=index in among,
        )
        for index, measure in enumerate(measures)
    )


def _merged_sensitivity(option: Bounding, measure: BoundedSum, index: int, groups: int, merged: int) -> Moved:
    """How far one unit that is added or removed moves sums of ``merged`` groups each."""
    finest = _sensitivity(option, measure, index, groups)
    if option.shape is BoundingShape.TOTALS and option.norm == "L2":
        return Moved(finest.l1, finest.l2_squared * merged)
    if option.shape is BoundingShape.KEYS:
        under = _keys_of(option, groups)
        together = min(under, merged)
        whole, rest = divmod(under, together)
        each = finest.l1 // under
        return Moved(finest.l1, (whole * together**2 + rest**2) * each**2)
    return finest


def _keys_of(option: Bounding, many: int | None) -> int:
    """Under how many keys one person counts."""
    known = [number for number in (option.keys, option.rows, many) if number is not None]
    return min(known)


def _for_neighbours(
    moved: Moved, measure: BoundedSum, many: int | None, neighbours: Neighbours, *, joint: bool
) -> Moved:
    """For replace; of ``joint`` measures the unit that goes may move one, and its replacement another."""
    if neighbours is Neighbours.ADD_REMOVE:
        return moved
    if many == 1 and not measure.signed and not joint:
        return moved
    return Moved(2 * moved.l1, (4 if measure.signed else 2) * moved.l2_squared)


def _predicted_error(option: Bounded, measures: Sequence[BoundedSum], gaussian: bool) -> float:
    """The noise that the option needs, relative to one row's largest, over all measures."""
    noise = [moved.l2 if gaussian else moved.l1 for moved in option.moved] or [float(option.curve_rows)]
    sizes = [measure.largest for measure in measures] or [1]
    return sum(each / max(1, size) for each, size in zip(noise, sizes, strict=True))


def _too_large_a_total(measure: BoundedSum) -> OutOfRange:
    return OutOfRange(
        f"one person's total of {measure.name} can be larger than {float(LARGEST_TOTAL * measure.step):g}.",
        why="With totals every measure has a bound on a person's total, and its square must fit the engine's integers.",
        fix="Name it in totals with a smaller bound, or ask for it by itself.",
    )


def _refuse_uncapped(dataset: Dataset) -> Unbounded:
    return Unbounded(
        "how many rows one person can have here was not declared.",
        why="Without a cap one person could move the answer without limit.",
        fix="Declare it: max_rows_per_unit=50, --max-rows 50, or in a descriptor max_rows_per_unit = 50 for the table; "
        "or let suggest_bounds estimate it privately.",
    )


def _totals_by_measure(
    bounds: Mapping[str, Fraction], outputs: Sequence[PlannedColumn], measures: Sequence[BoundedSum]
) -> dict[int, Fraction]:
    """Bounds on a person's total, by measure, from bounds by output name."""
    named = {output.name.lower(): output for output in outputs}
    totals: dict[int, Fraction] = {}
    for name, most in bounds.items():
        output = named.get(name.lower())
        if output is None:
            raise UnknownName(
                f"totals names {name!r}, which is no column of the answer.",
                why="A bound on a person's total belongs to a COUNT or SUM that is told.",
                fix=f"Use one of: {', '.join(named)}.",
            )
        if output.value.op != "read" or output.value.param.how is not How.REF:
            raise NotAllowed(
                f"totals can bound a COUNT or a SUM, and {name!r} is something else.",
                why="Only what is added up over a person's rows has a total.",
                fix="Name a column that is a COUNT or a SUM by itself.",
            )
        index = output.value.param.measures[0]
        steps = most / measures[index].step
        if not 1 <= steps <= LARGEST_TOTAL:
            raise OutOfRange(
                f"the bound on a person's total of {name!r} lies between {float(measures[index].step):g} and "
                f"{float(LARGEST_TOTAL * measures[index].step):g}.",
                why="It is counted in whole steps of the grid, and its square must fit the engine's integers.",
                fix="Give a bound that a person's total can reach.",
            )
        totals[index] = most
    return totals
