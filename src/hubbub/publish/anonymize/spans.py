"""Spans of numbers and dates as they are published, and how much of the column each covers."""

from __future__ import annotations

import numpy as np

from hubbub.publish.anonymize.coded_columns import Coded, Floats
from hubbub.terms import OutOfRange

PERIODS = ("month", "quarter", "year", "decade")
_MONTHS = {"month": 1, "quarter": 3, "year": 12, "decade": 120}


def whole_numbers(column: Coded, *, wanted: str) -> None:
    """Refuse a column that has no numbers or dates."""
    if not column.numeric:
        raise OutOfRange(
            f"column {column.name!r} holds no numbers or dates, so it has no {wanted}.",
            why="Only what can be measured lies in spans.",
            fix="Give it a tree or prefixes, or store it as numbers or dates.",
        )


def print_spans(column: Coded, low: Floats, high: Floats) -> tuple[list[str], Floats]:
    """Each value's span [low, high) as text, and its share of what the column spans."""
    some = column.places[column.gaps :]
    bottom, top = (some[0], some[-1]) if some.size else (0.0, 0.0)
    inside = np.minimum(high - _span_step(column), top) - np.maximum(low, bottom)
    shares = np.clip(inside / max(top - bottom, 1e-300), 0.0, 1.0)
    pairs: dict[tuple[float, float], str] = {}
    names = []
    for pair in zip(low.tolist(), high.tolist(), strict=True):
        if pair not in pairs:
            pairs[pair] = _span_text(column, *pair)
        names.append(pairs[pair])
    return names, np.nan_to_num(shares)


def period_starts(column: Coded, unit: str) -> tuple[Floats, Floats]:
    """Where the period of each date begins, and where the next one does."""
    if not (column.dated):
        raise OutOfRange(
            f"column {column.name!r} holds no dates.",
            why="Months and years are made of days.",
            fix="Store it as dates, or give it intervals.",
        )
    days = np.where(np.isfinite(column.places), column.places, 0.0)
    months = days.astype("datetime64[D]").astype("datetime64[M]").astype(np.int64)
    first = (months + 1970 * 12) // _MONTHS[unit] * _MONTHS[unit] - 1970 * 12
    starts = [_month_day(first), _month_day(first + _MONTHS[unit])]
    return starts[0], starts[1]


def _month_day(months: np.ndarray) -> Floats:
    return months.astype("datetime64[M]").astype("datetime64[D]").astype(np.int64).astype(np.float64)


def _span_step(column: Coded) -> float:
    """Whole numbers and days end one before the next span begins."""
    return 1.0 if column.integer or column.dated else 0.0


def _span_text(column: Coded, low: float, high: float) -> str:
    if not np.isfinite(low):
        return ""  # the missing value: named by the hierarchy
    if column.dated:
        ends = [str(np.datetime64(int(day), "D")) for day in (low, high - 1)]
        return f"[{ends[0]}, {ends[1]}]"
    if column.integer and low == int(low) and high == int(high):
        return f"{int(low)} to {int(high) - 1}" if high - low > 1 else str(int(low))
    return f"[{low:.12g}, {high:.12g})"
