"""Columns as cells and back: a rule for each value by itself, so that nothing about other rows shows in a code."""

from __future__ import annotations

import datetime
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.domains import Categorical, Date, Numeric

if TYPE_CHECKING:
    import pyarrow

Codes: TypeAlias = NDArray[np.int64]
_DAYS = 86_400


@dataclass(frozen=True, slots=True)
class Scale:
    """Cells of a number or a day: where they begin, and whether a last one is for the missing."""

    edges: tuple[Fraction, ...]
    missing: bool
    kind: str  # "int", "float" or "date"

    ordered = True

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.edges) - 1 + self.missing

    def encode(self, column: pyarrow.ChunkedArray) -> Codes:
        """The cell of each value; beyond the bounds the first or the last, not a number like missing."""
        values = numbers_of(column, dates=self.kind == "date")
        inner = np.array([float(edge) for edge in self.edges[1:-1]])
        absent = np.isnan(values)
        codes = np.searchsorted(inner, np.where(absent, -np.inf, values), side="right").astype(np.int64)
        return np.where(absent, self.cells - 1, codes) if self.missing else codes

    def decode(self, codes: Codes, generator: np.random.Generator) -> pyarrow.Array:
        """A value from each cell, evenly: any whole number or day of it, or any number."""
        import pyarrow

        absent = codes == len(self.edges) - 1
        places = np.where(absent, 0, codes)
        ends = np.array([float(edge) for edge in self.edges])
        spots = ends[places] + (ends[places + 1] - ends[places]) * generator.random(len(codes))
        if self.kind == "float":
            return pyarrow.array(spots, mask=absent)
        whole = pyarrow.array(np.floor(spots).astype(np.int64), mask=absent)
        return whole.cast(pyarrow.int32()).cast(pyarrow.date32()) if self.kind == "date" else whole


@dataclass(frozen=True, slots=True)
class Labels:
    """Cells of a list of values; one more for the rest, unless the rest counts as one of them."""

    values: tuple[Any, ...]
    other: Any = None

    ordered = False

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.values) + self.missing

    @property
    def missing(self) -> bool:
        """Whether the last cell is for what is missing or not listed."""
        return self.other not in self.values

    def encode(self, column: pyarrow.ChunkedArray) -> Codes:
        """The cell of each value; of what is not listed, that of the rest."""
        import pyarrow
        import pyarrow.compute as pc

        flat = plain(column)
        rest = self.values.index(self.other) if self.other in self.values else len(self.values)
        try:
            listed = pyarrow.array(list(self.values)).cast(flat.type)
        except (pyarrow.ArrowException, TypeError, ValueError):  # other types than the column's, which is public
            flat, listed = flat.cast(pyarrow.string()), pyarrow.array([str(value) for value in self.values])
        found = pc.fill_null(pc.index_in(flat, value_set=listed), rest)
        return np.asarray(found).astype(np.int64)

    def decode(self, codes: Codes, generator: np.random.Generator) -> pyarrow.Array:
        """The value of each cell."""
        import pyarrow

        told = list(self.values) if self.other in self.values else [*self.values, self.other]
        return pyarrow.array(told).take(pyarrow.array(codes))


Coding: TypeAlias = Scale | Labels


def coding_of(column: Numeric | Categorical | Date, kind: pyarrow.DataType) -> Coding:
    """The cells of a column whose domain is public."""
    import pyarrow

    if isinstance(column, Categorical):
        return Labels(tuple(column.values), column.other)
    if isinstance(column, Date):
        return Scale(tuple(column.edges(whole=True)), column.missing, "date")
    integer = pyarrow.types.is_integer(kind)
    return Scale(tuple(column.edges(whole=integer)), column.missing, "int" if integer else "float")


def plain(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    """One array, without a dictionary: equal values are equal, however they were stored."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string_view(column.type):
        column = column.cast(pyarrow.large_string())
    return column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column


def plain_table(table: pyarrow.Table, names: Iterable[str]) -> pyarrow.Table:
    """Some columns of a table, each as ``plain`` makes it: whatever they were stored as, rows can be taken from it."""
    import pyarrow

    return pyarrow.table({name: plain(table[name]) for name in names})


def kind_of(kind: pyarrow.DataType) -> str:
    """A column's type in words, the same for every way to store the same values."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(kind):
        return kind_of(kind.value_type)
    return "string" if types.is_large_string(kind) or types.is_string_view(kind) else str(kind)


def numbers_of(column: pyarrow.ChunkedArray, *, dates: bool) -> NDArray[np.float64]:
    """Doubles, NaN where nothing or no number stands; dates as days since 1970. No value makes it fail."""
    import pyarrow
    import pyarrow.compute as pc

    flat, types = plain(column), pyarrow.types
    if types.is_temporal(flat.type) and not types.is_time(flat.type):
        moments = pc.cast(flat, pyarrow.timestamp("s"), safe=False)
        return np.floor(_doubles(pc.cast(moments, pyarrow.int64(), safe=False)) / _DAYS)
    if types.is_string(flat.type) or types.is_large_string(flat.type):
        read = _day if dates else _number
        return np.array([read(text) for text in flat.to_pylist()], dtype=np.float64)
    return _doubles(pc.cast(flat, pyarrow.float64(), safe=False))


def _doubles(array: pyarrow.Array) -> NDArray[np.float64]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _number(text: str | None) -> float:
    try:
        return float(text) if text is not None else float("nan")
    except ValueError:
        return float("nan")


def _day(text: str | None) -> float:
    try:
        return float("nan") if text is None else float(datetime.datetime.fromisoformat(text).toordinal() - 719_163)
    except ValueError:
        return float("nan")
