"""Quantiles with their intervals as formulas: read off a curve, or the middles of pairs of cells."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from hubbub.mechanisms import JointQuantiles
from hubbub.relations import date_at
from hubbub.releases.formulas import GivenIntervals
from hubbub.schema import Kind
from hubbub.sql.compiler.query_plan import AggregateReading, QuantileCurve
from hubbub.sql.measurement import LEVELS, QuantilePairs, Quantiles, position

_SURE = 1 - 1e-12


def quantile_formula(
    given: Quantiles | QuantilePairs, reading: AggregateReading, curve: QuantileCurve
) -> GivenIntervals:
    """A quantile with its intervals; beyond the stored levels it lies between its bounds for sure."""
    if not isinstance(given, QuantilePairs):
        return _with_intervals(given.values, given.lows, given.highs, reading, curve)
    values = tuple(_middle(curve, *pair) for pair in zip(given.lows, given.highs, strict=True))
    near = _widths(given, curve, JointQuantiles.dense_stretch)
    dense = _with_intervals(values, *near, reading, curve)
    return _with_intervals(values, *_widths(given, curve, JointQuantiles.pair_stretch), reading, curve, dense)


def _with_intervals(
    values: Sequence[float | None],
    lows: Sequence[Sequence[float | None]],
    highs: Sequence[Sequence[float | None]],
    reading: AggregateReading,
    curve: QuantileCurve,
    dense: GivenIntervals | None = None,
) -> GivenIntervals:
    assert reading.lower is not None and reading.upper is not None
    size, levels = len(values), (*LEVELS, _SURE)
    below, above = (*lows, (float(reading.lower),) * size), (*highs, (float(reading.upper),) * size)
    shown = _as_dates if curve.value.kind is Kind.DATE else tuple
    return GivenIntervals(shown(values), levels, tuple(map(shown, below)), tuple(map(shown, above)), dense)


def _middle(curve: QuantileCurve, low: int, high: int) -> float:
    return (position(curve, low) + position(curve, high, end=True)) / 2


def _widths(
    pairs: QuantilePairs, curve: QuantileCurve, stretch: Callable[[int, int, float], float]
) -> tuple[list[tuple[float, ...]], list[tuple[float, ...]]]:
    """For each level the pairs, wider or narrower around their middles, in whole cells."""
    lows, highs = [], []
    for level in LEVELS:
        factor, last = stretch(pairs.levels, curve.cells, level), curve.cells - 1
        ends = [_stretched(low, high, factor) for low, high in zip(pairs.lows, pairs.highs, strict=True)]
        lows.append(tuple(position(curve, max(0, low)) for low, _ in ends))
        highs.append(tuple(position(curve, min(last, high), end=True) for _, high in ends))
    return lows, highs


def _stretched(low: int, high: int, factor: float) -> tuple[int, int]:
    if factor == 1:
        return low, high
    middle, half = (low + high) / 2, (high - low) / 2 * factor
    return math.floor(middle - half), math.ceil(middle + half)


def _as_dates(column: Sequence[float | None]) -> Any:
    return tuple(None if value is None else date_at(Fraction(value)) for value in column)
