"""The noisy tables as they may have been: redrawn from the known noise, moved, and at the ends of their intervals.

All noisy numbers of the inner releases stand in one row of a matrix, table by table and column by column; a *world* is
such a row, and a matrix of worlds becomes one table per inner release with the number of the world in it.

Redraws say how far an outer number strays, and protect nobody: noise that protects was drawn when the inner questions
were answered, from the secure source. Redraws come from a generator that is seeded by the released numbers and their
receipts, so that a repeated answer shows the same intervals.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.engines import ReleasedTable, Repeated
from hubbub.releases import Release, formulas, frames
from hubbub.sql.relation.find_inner import INNER
from hubbub.sql.relation.outer_statements import COPIES, COPY

Floats = NDArray[np.float64]

_TYPES = {
    "boolean": "BOOLEAN",
    "integer": "BIGINT",
    "number": "DOUBLE",
    "text": "VARCHAR",
    "date": "DATE",
    "timestamp": "TIMESTAMP",
}
_EPOCH = date(1970, 1, 1).toordinal()
_LEVELLED = 12  # worlds in which all numbers are as equal as may be
_LARGEST = 2.0**62  # beyond it a whole number is kept as a float


@dataclass(frozen=True, slots=True)
class InnerColumn:
    """A column of a released table: public values, or noisy ones with their stretch of the matrix."""

    name: str
    kind: str
    values: Sequence[object]
    place: int
    stretch: slice | None = None

    @property
    def type(self) -> str:
        """The engine's type."""
        return _TYPES[self.kind]


@dataclass(frozen=True)
class InnerTables:
    """The answers to the inner questions, in their order."""

    releases: tuple[Release, ...]

    @cached_property
    def columns(self) -> tuple[tuple[InnerColumn, ...], ...]:
        """The columns of each table."""
        tables, start = [], 0
        for release in self.releases:
            columns = []
            for place, (name, kind, values) in enumerate(_plain_columns(release)):
                noisy = release.is_noisy(place)
                stretch = slice(start, start + len(values)) if noisy else None
                start += len(values) if noisy else 0
                columns.append(InnerColumn(name, kind, values, place, stretch))
            tables.append(tuple(columns))
        return tuple(tables)

    def noisy(self) -> Iterator[tuple[Release, InnerColumn, slice]]:
        """The noisy columns, with the release that each belongs to."""
        for release, columns in zip(self.releases, self.columns, strict=True):
            for column in columns:
                if column.stretch is not None:
                    yield release, column, column.stretch

    @cached_property
    def size(self) -> int:
        """How many noisy numbers there are."""
        return sum(stretch.stop - stretch.start for _, _, stretch in self.noisy())

    @cached_property
    def rows(self) -> int:
        """How many rows there are in all tables."""
        return sum(len(release) for release in self.releases)

    @property
    def public_names(self) -> list[str]:
        """The names of columns without noise."""
        return [column.name for columns in self.columns for column in columns if column.stretch is None]

    @property
    def noisy_names(self) -> list[str]:
        """The names of columns with noise."""
        return [column.name for _, column, _ in self.noisy()]

    @cached_property
    def released(self) -> Floats:
        """The world as it was released."""
        world = np.empty(self.size)
        for _, column, stretch in self.noisy():
            world[stretch] = _as_numbers(column.values)
        return world

    def redrawn(self, draws: int) -> Floats:
        """Worlds that the released one may have come from: each with fresh noise taken off."""
        worlds = np.empty((draws, self.size))
        for release, column, stretch in self.noisy():
            formula = _with_days(release.columns[column.place].formula)
            worlds[:, stretch] = formula.simulate(release.table, draws)
        return worlds

    def ends(self, level: float) -> tuple[Floats, Floats]:
        """Every number at the lower, and at the upper end of its interval of that confidence; finite."""
        lows, highs = np.empty(self.size), np.empty(self.size)
        for release, column, stretch in self.noisy():
            _, (low, high) = release.told(column.place, level)
            lows[stretch], highs[stretch] = _as_numbers(low), _as_numbers(high)
        return np.clip(lows, -1e300, None), np.clip(highs, None, 1e300)

    def together_and_apart(self, lows: Floats, highs: Floats) -> Floats:
        """Worlds whose numbers are as equal as a box lets them be, and such as lie evenly over it.

        A range, a spread or a number of different values is least, or largest, there: redraws never come near.
        """
        stretches = [stretch for _, _, stretch in self.noisy()]
        together = _levels_between(lows, highs)
        by_column = np.hstack([_levels_between(lows[part], highs[part]) for part in stretches])
        apart = np.hstack([_places_between(self.released[part], lows[part], highs[part]) for part in stretches])
        return np.clip(np.vstack([together, by_column, apart]), lows, highs)

    # ------------------------------------------------------------ as tables of an engine

    def shape_tables(self) -> list[ReleasedTable]:
        """The tables without their rows."""
        return [dataclasses.replace(table, values=tuple(() for _ in table.columns)) for table in self.released_tables()]

    def released_tables(self) -> list[ReleasedTable]:
        """The tables as they were released."""
        return [
            ReleasedTable(
                f"{INNER}{number}",
                tuple((column.name, column.type) for column in columns),
                tuple(_released_values(column) for column in columns),
            )
            for number, columns in enumerate(self.columns)
        ]

    def copied_tables(self, worlds: Floats) -> list[ReleasedTable]:
        """The tables of many worlds, with the number of the world in each row."""
        tables = []
        for number, (release, columns) in enumerate(zip(self.releases, self.columns, strict=True)):
            at = np.repeat(np.arange(len(worlds)), len(release))
            values = [at, *(_copied_values(column, worlds) for column in columns)]
            named = ((COPY, "BIGINT"), *((column.name, column.type) for column in columns))
            tables.append(ReleasedTable(f"{COPIES}{number}", named, tuple(values)))
        return tables


def _levels_between(lows: Floats, highs: Floats) -> Floats:
    """Worlds in which all numbers are the same: one of the ends of their box, the innermost two among them."""
    known = ~np.isnan(lows)
    if not known.any():
        return np.full((_LEVELLED, len(lows)), np.nan)
    ends = np.sort(np.concatenate([lows[known], highs[known]]))
    spread = ends[np.linspace(0, len(ends) - 1, _LEVELLED - 2).astype(int)]
    return np.repeat(np.append(spread, [lows[known].max(), highs[known].min()])[:, None], len(lows), axis=1)


def _places_between(values: Floats, lows: Floats, highs: Floats) -> Floats:
    """Worlds in which numbers lie evenly, in their order: each in its own interval, or all in that of all of them."""
    known = ~np.isnan(lows)
    if not known.any():
        return np.full((3, len(lows)), np.nan)
    ranks = np.argsort(np.argsort(values, kind="stable")) / max(1, len(values) - 1)
    least, most = lows[known].min(), highs[known].max()
    return np.vstack([lows + part * (highs - lows) for part in (ranks, 1 - ranks)] + [least + ranks * (most - least)])


def _plain_columns(release: Release) -> Iterator[tuple[str, str, Sequence[object]]]:
    return frames.frame_columns(release, intervals=False, confidence=0.95)


def _released_values(column: InnerColumn) -> Sequence[object]:
    if column.kind != "integer":
        return column.values
    return [int(min(max(v, -_LARGEST), _LARGEST)) if isinstance(v, int | float) else None for v in column.values]


def _copied_values(column: InnerColumn, worlds: Floats) -> Any:
    """The column of all worlds, one below the other."""
    if column.stretch is None:
        return Repeated(column.values, len(worlds))
    values = worlds[:, column.stretch].ravel()
    if column.kind == "integer":
        whole = np.clip(np.rint(values), -_LARGEST, _LARGEST)
        return [None if math.isnan(v) else int(v) for v in whole] if np.isnan(whole).any() else whole.astype(np.int64)
    if column.kind == "date":
        return [None if math.isnan(v) else date.fromordinal(round(v) + _EPOCH) for v in values]
    return values


def _as_numbers(values: Sequence[object]) -> Floats:
    """Values as floats, days counted from 1970; NaN where there is none."""
    return np.array([as_number(value) for value in values], dtype=np.float64)


def as_number(value: object) -> float:
    """A value of the engine as a float: moments in seconds and days in days since 1970; NaN where there is none."""
    if isinstance(value, datetime):
        return value.replace(tzinfo=UTC).timestamp()
    if isinstance(value, date):
        return float(value.toordinal() - _EPOCH)
    return float(value) if isinstance(value, int | float | Decimal) else math.nan


def _with_days(formula: formulas.Formula) -> formulas.Formula:
    """A column of days that brings its own intervals, as one of numbers."""
    if not isinstance(formula, formulas.GivenIntervals) or not any(isinstance(v, date) for v in formula.values):
        return formula
    lows, highs = (tuple(tuple(_as_numbers(column)) for column in side) for side in (formula.lows, formula.highs))
    return formulas.GivenIntervals(tuple(_as_numbers(formula.values)), formula.levels, lows, highs)
