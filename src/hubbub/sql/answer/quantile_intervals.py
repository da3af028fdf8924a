"""Quantiles with their intervals as formulas: read off a curve, or the middles of pairs of cells."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any, TypeAlias

from hubbub.mechanisms import JointQuantiles
from hubbub.relations import date_at
from hubbub.releases.formulas import GivenIntervals
from hubbub.schema import Kind
from hubbub.sql.compiler.query_plan import AggregateReading, QuantileCurve
from hubbub.sql.measurement import LEVELS, QuantilePairs, Quantiles

_SURE = 1 - 1e-12

Pair: TypeAlias = tuple[int, int]
Column: TypeAlias = Sequence[float | None]


def quantile_formula(
    given: Quantiles | QuantilePairs,
    together: Sequence[Quantiles | QuantilePairs],
    reading: AggregateReading,
    curve: QuantileCurve,
) -> GivenIntervals:
    """A quantile with its intervals; beyond the stored levels it lies between its bounds for sure.

    ``together`` are all that are told of the curve: where one of them spans all cells, there are too few rows for any
    interval that presumes values to lie densely, and the one that holds on any data stands in for it.
    """
    if not isinstance(given, QuantilePairs):
        return _with_intervals(given.values, given.lows, given.highs, reading, curve)
    values = [float(curve.middle(*pair)) for pair in zip(given.lows, given.highs, strict=True)]
    ends = [_stretched(given, curve, JointQuantiles.pair_stretch(given.levels, curve.cells, level)) for level in LEVELS]
    near = [
        _stretched(given, curve, JointQuantiles.dense_stretch(given.levels, curve.cells, level)) for level in LEVELS
    ]
    few = _spanned(together, curve)
    dense = [[a if some else b for some, a, b in zip(few, *each, strict=True)] for each in zip(ends, near, strict=True)]
    shorter = _with_intervals(values, *_on_scale(dense, curve), reading, curve)
    return _with_intervals(values, *_on_scale(ends, curve), reading, curve, shorter)


def _with_intervals(
    values: Column,
    lows: Sequence[Column],
    highs: Sequence[Column],
    reading: AggregateReading,
    curve: QuantileCurve,
    dense: GivenIntervals | None = None,
) -> GivenIntervals:
    assert reading.lower is not None and reading.upper is not None
    lower, upper = float(reading.lower), float(reading.upper)

    def shown(column: Column) -> Any:
        held = tuple(None if value is None else min(max(value, lower), upper) for value in column)
        return _as_dates(held) if curve.value.kind is Kind.DATE else held

    size, levels = len(values), (*LEVELS, _SURE)
    below, above = (*lows, (lower,) * size), (*highs, (upper,) * size)
    return GivenIntervals(shown(values), levels, tuple(map(shown, below)), tuple(map(shown, above)), dense)


def _stretched(pairs: QuantilePairs, curve: QuantileCurve, factor: float) -> list[Pair]:
    """The pairs, wider or narrower around their middles, in whole cells."""
    ends = []
    for low, high in zip(pairs.lows, pairs.highs, strict=True):
        spare = (high - low) / 2 * (factor - 1)
        ends.append((max(0, math.floor(low - spare)), min(curve.cells - 1, math.ceil(high + spare))))
    return ends


def _on_scale(ends: Sequence[Sequence[Pair]], curve: QuantileCurve) -> tuple[list[Column], list[Column]]:
    """The lower and the upper ends of cells on the column's scale."""
    lows = {cell: float(curve.lower_end(cell)) for cell in {low for pairs in ends for low, _ in pairs}}
    highs = {cell: float(curve.upper_end(cell)) for cell in {high for pairs in ends for _, high in pairs}}
    return [[lows[low] for low, _ in pairs] for pairs in ends], [[highs[high] for _, high in pairs] for pairs in ends]


def _spanned(together: Sequence[Quantiles | QuantilePairs], curve: QuantileCurve) -> list[bool]:
    """For each key whether one of its pairs spans all cells."""
    pairs = [each for each in together if isinstance(each, QuantilePairs)]
    spans = [[low <= 0 and high >= curve.cells - 1 for low, high in zip(p.lows, p.highs, strict=True)] for p in pairs]
    return [any(each) for each in zip(*spans, strict=True)]


def _as_dates(column: Column) -> Any:
    return tuple(None if value is None else date_at(Fraction(value)) for value in column)
