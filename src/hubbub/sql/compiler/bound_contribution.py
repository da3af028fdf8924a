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
from dataclasses import dataclass
from fractions import Fraction

from hubbub.schema import Dataset
from hubbub.sql.compiler.query_plan import BoundedSum, Bounding, BoundingShape, GroupKey, Moved, QuantileCurve, SumKind
from hubbub.terms import Neighbours, OutOfRange, Unbounded

LARGEST_TOTAL = 1 << 50  # steps of a person's total: squares over a million keys stay below 2^127
_FINE_BITS = 16  # a norm is at least so many bits long, in parts of a step


@dataclass(frozen=True, slots=True, kw_only=True)
class Bounded:
    """The chosen bounding, and what follows from it."""

    bounding: Bounding
    moved: tuple[Moved, ...]
    curve_rows: int


def bound(
    dataset: Dataset,
    keys: Sequence[GroupKey],
    measures: Sequence[BoundedSum],
    curves: Sequence[QuantileCurve],
    *,
    cap: int | None,
    totals: Mapping[int, Fraction],
    gaussian: bool,
) -> Bounded:
    """The bounding of least predicted error, from declared facts alone; the cheapest to run among equals."""
    many = number_of(keys)
    options = [
        _moves(option, measures, many, dataset.neighbours)
        for option in _options(dataset, keys, measures, curves, cap=cap, totals=totals, gaussian=gaussian, many=many)
    ]
    if not options:
        raise _uncapped(dataset)
    return min(options, key=lambda option: _error(option, measures, gaussian))


def number_of(keys: Sequence[GroupKey]) -> int | None:
    """How many keys there are; None if they are not known."""
    if any(key.domain is None for key in keys):
        return None
    return math.prod(len(key.domain or ()) for key in keys)


def _options(
    dataset: Dataset,
    keys: Sequence[GroupKey],
    measures: Sequence[BoundedSum],
    curves: Sequence[QuantileCurve],
    *,
    cap: int | None,
    totals: Mapping[int, Fraction],
    gaussian: bool,
    many: int | None,
) -> list[Bounding]:
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
    each = keys[0].value.facts.max_rows_per_unit if len(keys) == 1 else None
    if each is not None and limit is not None:
        options.append(Bounding(shape=BoundingShape.KEYS, keys=limit, rows_per_key=each))
    if totals and not curves and all(measure.counted is SumKind.SUM for measure in measures):
        norms = _norms(measures, totals, cap)
        if norms is not None and many is not None:
            fine = tuple(1 << max(0, _FINE_BITS - norm.bit_length()) for norm in norms)
            parts = tuple(norm * each for norm, each in zip(norms, fine, strict=True))
            return [Bounding(shape=BoundingShape.TOTALS, totals=parts, fine=fine, norm="L2" if gaussian else "L1")]
    return options


def keys_limit(keys: Sequence[GroupKey], cap: int | None) -> int | None:
    """Under how many keys one person can count: what was declared of each key column, and never more than rows."""
    declared = [key.value.facts.max_per_unit for key in keys]
    together = math.prod(declared) if keys and all(number is not None for number in declared) else None  # type: ignore[arg-type]
    known = [number for number in (together, cap) if number is not None]
    return min(known) if known else None


def _norms(measures: Sequence[BoundedSum], totals: Mapping[int, Fraction], cap: int | None) -> tuple[int, ...] | None:
    norms = []
    for index, measure in enumerate(measures):
        given = totals.get(index)
        if given is None and cap is None:
            return None
        norms.append(math.floor(given / measure.step) if given is not None else (cap or 0) * measure.largest)
        if norms[-1] > LARGEST_TOTAL:
            raise _too_large_a_total(measure)
    return tuple(max(1, norm) for norm in norms)


def _moves(option: Bounding, measures: Sequence[BoundedSum], many: int | None, neighbours: Neighbours) -> Bounded:
    moved = tuple(
        _relation(_moved(option, measure, index, many), measure, many, neighbours)
        for index, measure in enumerate(measures)
    )
    rows = {
        BoundingShape.ROW: 1,
        BoundingShape.PEOPLE: 0,
        BoundingShape.TOTALS: 0,
        BoundingShape.ROWS: option.rows or 0,
    }
    counted = rows.get(option.shape, (option.keys or 0) * (option.rows_per_key or 0))
    return Bounded(bounding=option, moved=moved, curve_rows=counted)


def _moved(option: Bounding, measure: BoundedSum, index: int, many: int | None) -> Moved:
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


def _keys_of(option: Bounding, many: int | None) -> int:
    """Under how many keys one person counts."""
    known = [number for number in (option.keys, option.rows, many) if number is not None]
    return min(known)


def _relation(moved: Moved, measure: BoundedSum, many: int | None, neighbours: Neighbours) -> Moved:
    if neighbours is Neighbours.ADD_REMOVE:
        return moved
    if many == 1 and not measure.signed:
        return moved
    return Moved(2 * moved.l1, (4 if measure.signed else 2) * moved.l2_squared)


def _error(option: Bounded, measures: Sequence[BoundedSum], gaussian: bool) -> float:
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


def _uncapped(dataset: Dataset) -> Unbounded:
    return Unbounded(
        "how many rows one person can have here was not declared.",
        why="Without a cap one person could move the answer without limit.",
        fix="Declare max_rows_per_unit for the table (or connect(..., max_rows_per_unit=50)), or let "
        "suggest_bounds estimate it privately.",
    )


def with_people(measures: Sequence[BoundedSum]) -> tuple[BoundedSum, ...]:
    """The measures with a count of people among them, by which keys are chosen."""
    found = any(measure.counted is SumKind.PEOPLE and measure.condition is None for measure in measures)
    return tuple(measures) if found else (*measures, PEOPLE)


PEOPLE = BoundedSum(name="people", counted=SumKind.PEOPLE)
