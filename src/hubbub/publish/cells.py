"""Columns as cells and back: a rule for each value by itself, so that nothing about other rows shows in a code."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.domains import Categorical, Date, Numeric

if TYPE_CHECKING:
    import pyarrow

Codes: TypeAlias = NDArray[np.int64]
_DAYS = 86_400
_TRUTHS = {"true": "1", "false": "0"}  # as a Python object is written beside others
_LONGEST = 300  # signs of a number: what is longer is none, so that no row takes longer to read than others
EXACT = float(1 << 53)  # up to here doubles hold every whole number


@dataclass(frozen=True, slots=True)
class Scale:
    """Cells of a number or a day: where they begin, whether a last one is for the missing, and of what values are
    multiples."""

    edges: tuple[Fraction, ...]
    missing: bool
    kind: str  # "int", "float" or "date"
    step: Fraction | None = None

    ordered = True

    @property
    def cells(self) -> int:
        """How many cells there are."""
        return len(self.edges) - 1 + self.missing

    def encode(self, column: pyarrow.ChunkedArray) -> Codes:
        """The cell of each value; beyond the bounds the first or the last, what is no finite number like missing."""
        values = numbers_of(column, dates=self.kind == "date")
        inner = np.array([float(edge) for edge in self.edges[1:-1]])
        absent = ~np.isfinite(values)
        codes = np.searchsorted(inner, np.where(absent, -np.inf, values), side="right").astype(np.int64)
        return np.where(absent, self.cells - 1, codes) if self.missing else codes

    def decode(self, codes: Codes, generator: np.random.Generator) -> pyarrow.Array:
        """A value from each cell, evenly: any multiple of the step in it, any whole number or day, or any number."""
        import pyarrow

        absent = codes == len(self.edges) - 1
        places = np.where(absent, 0, codes)
        draws = generator.random(len(codes))
        if self.step is not None and abs(max(self.edges[0], self.edges[-1], key=abs)) < self.step * int(EXACT):
            spots = self._multiples(self.step, places, draws)  # else doubles are no finer than the grid
        else:
            ends = np.array([float(edge) for edge in self.edges])
            spots = ends[places] + (ends[places + 1] - ends[places]) * draws
        if self.kind == "float":
            return pyarrow.array(spots, mask=absent)
        whole = pyarrow.array(np.floor(spots).astype(np.int64), mask=absent)
        return whole.cast(pyarrow.int32()).cast(pyarrow.date32()) if self.kind == "date" else whole

    def _multiples(self, step: Fraction, places: Codes, draws: NDArray[np.float64]) -> NDArray[np.float64]:
        """A multiple of the step in each cell; where a cell has none, the one below it, or the first of all."""
        begins = np.array([int(-(-edge // step)) for edge in self.edges])
        last = (
            int(self.edges[-1] // step) if self.kind == "float" else int(begins[-1]) - 1
        )  # the upper bound is a value
        first = begins[places]
        count = np.append(begins[1:-1], last + 1)[places] - first
        numbers = np.where(count > 0, first + np.floor(count * draws), np.maximum(first - 1, begins[0]))
        return np.asarray(np.minimum(numbers, last) * float(step.numerator) / float(step.denominator))


@dataclass(frozen=True, slots=True)
class CategoryCells:
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

        rest = self.values.index(self.other) if self.other in self.values else len(self.values)
        read = reader_of(self.values)
        listed = read(pyarrow.array(list(self.values)))
        return np.asarray(pc.fill_null(pc.index_in(read(column), value_set=listed), rest)).astype(np.int64)

    def decode(self, codes: Codes, generator: np.random.Generator) -> pyarrow.Array:
        """The value of each cell."""
        import pyarrow

        labels = list(self.values) if self.other in self.values else [*self.values, self.other]
        return pyarrow.array(labels).take(pyarrow.array(codes))


Coding: TypeAlias = Scale | CategoryCells


def coding_of(column: Numeric | Categorical | Date) -> Coding:
    """The cells of a column whose domain is public: from its declaration alone, however its values are stored."""
    if isinstance(column, Categorical):
        return CategoryCells(tuple(column.values), column.other)
    if isinstance(column, Date):
        return Scale(tuple(column.edges(whole=True)), column.missing, "date")
    kind = "int" if column.is_whole else "float"
    return Scale(tuple(column.edges(whole=column.is_whole)), column.missing, kind, column.step)


def kind_of(column: object) -> str:
    """The type of a declared column, in a word."""
    if isinstance(column, Numeric):
        return "int64" if column.is_whole else "double"
    if isinstance(column, Date):
        return "date32[day]"
    return "string"


def plain_array(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    """One array, without a dictionary: equal values are equal, however they were stored."""
    import pyarrow

    types = pyarrow.types
    if types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    if types.is_string_view(column.type):
        column = column.cast(pyarrow.large_string())
    return column.combine_chunks() if isinstance(column, pyarrow.ChunkedArray) else column


def plain_table(table: pyarrow.Table, names: Iterable[str]) -> pyarrow.Table:
    """Some columns of a table, each as ``plain_array`` makes it: rows can be taken, however they were stored."""
    import pyarrow

    return pyarrow.table({name: plain_array(table[name]) for name in names})


def numbers_of(column: pyarrow.ChunkedArray, *, dates: bool) -> NDArray[np.float64]:
    """Doubles, NaN where nothing or no number stands; dates as days since 1970. No value of a table that was read
    makes it fail, and no type: one that is neither number, word nor day has NaN in every row."""
    import pyarrow
    import pyarrow.compute as pc

    flat, types = plain_array(column), pyarrow.types
    if types.is_date(flat.type) or types.is_timestamp(flat.type):
        moments = pc.cast(flat, pyarrow.timestamp("s"), safe=False)
        return np.floor(_as_doubles(pc.cast(moments, pyarrow.int64(), safe=False)) / _DAYS)
    if types.is_string(flat.type) or types.is_large_string(flat.type):
        read = _read_day if dates else _read_number
        return np.array([read(text) for text in flat.to_pylist()], dtype=np.float64)
    if not is_numeric(flat.type):
        return np.full(len(flat), np.nan)
    return _as_doubles(pc.cast(flat, pyarrow.float64(), safe=False))


def is_numeric(kind: pyarrow.DataType) -> bool:
    """Whether every value of a type is a number, or missing."""
    from pyarrow import types

    return any(fits(kind) for fits in (types.is_boolean, types.is_integer, types.is_floating, types.is_decimal))


def _as_doubles(array: pyarrow.Array) -> NDArray[np.float64]:
    return np.asarray(array.to_numpy(zero_copy_only=False), dtype=np.float64)


def _read_number(text: str | None) -> float:
    """A number; truth values are 1 and 0, as a column of them is."""
    try:
        return float("nan") if text is None or len(text) > _LONGEST else float(_TRUTHS.get(text, text))
    except ValueError:
        return float("nan")


def _read_day(text: str | None) -> float:
    try:
        return float("nan") if text is None else float(datetime.datetime.fromisoformat(text).toordinal() - 719_163)
    except ValueError:
        return float("nan")


# ---------------------------------------------------------------- words

# Each value by itself becomes what its column's list holds: a whole number is the same word as int64, as double (which
# pandas makes of it as soon as one value is missing) and as a Python object beside others. So no row decides how
# another one is read.


def reader_of(values: Iterable[Any]) -> Callable[[pyarrow.ChunkedArray], pyarrow.Array]:
    """How cells are read to be compared with a list of values: as truth values, numbers, days or words."""
    listed = list(values)
    if all(isinstance(value, bool | np.bool_) for value in listed):
        return truths_of
    if all(isinstance(value, int | float | Decimal | np.number) for value in listed):
        return _numbers_alike
    return _days_alike if all(type(value) is datetime.date for value in listed) else texts_of


def _numbers_alike(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    import pyarrow

    values = numbers_of(column, dates=False)
    return pyarrow.array(values + 0.0, mask=~np.isfinite(values))  # -0 + 0 is 0


def _days_alike(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    import pyarrow

    values = numbers_of(column, dates=True)
    return pyarrow.array(values, mask=~np.isfinite(values))


def truths_of(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    """True and False: themselves, 1 and 0, or these words; null for everything else."""
    import pyarrow
    import pyarrow.compute as pc

    words = pc.utf8_lower(pc.utf8_trim_whitespace(texts_of(column)))
    place = pc.index_in(words, value_set=pyarrow.array(["false", "0", "true", "1"], words.type))
    return pc.greater_equal(place, 2)


def texts_of(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    """Values as words: text itself, whole numbers without a point, days without midnight; null for what is missing.

    No value of a table that was read makes it fail, and no type: one without words is missing in every row.
    """
    import pyarrow
    import pyarrow.compute as pc

    flat, types = plain_array(column), pyarrow.types
    text, kind = pyarrow.large_string(), flat.type
    if types.is_floating(kind):
        return _words_of_doubles(pc.cast(flat, pyarrow.float64()))
    if types.is_timestamp(kind):
        words = pc.cast(pc.cast(flat, pyarrow.timestamp("us"), safe=False), text)
    elif is_numeric(kind) or types.is_date(kind) or types.is_string(kind) or types.is_large_string(kind):
        words = pc.cast(flat, text)
    else:
        return pyarrow.nulls(len(flat), text)
    return pc.replace_substring_regex(words, r"^(\d{4}-\d\d-\d\d)[ T]00:00:00(\.0+)?$", r"\1")


def _words_of_doubles(flat: Any) -> pyarrow.Array:
    import pyarrow
    import pyarrow.compute as pc

    values = _as_doubles(flat)
    whole = np.isfinite(values) & (np.floor(values) == values) & (np.abs(values) < EXACT)
    words = pc.cast(pyarrow.array(np.where(whole, values, 0.0).astype(np.int64)), pyarrow.large_string())
    odd = [
        None if skipped else number_word(value) for value, skipped in zip(values.tolist(), whole.tolist(), strict=True)
    ]
    return pc.if_else(pyarrow.array(whole), words, pyarrow.array(odd, pyarrow.large_string()))


def number_word(value: float) -> str | None:
    """A double as a word: the same in a column of doubles and as an object beside others. From 2^53 on, where whole
    numbers are rounded, it has an exponent."""
    if np.isnan(value):
        return None
    if abs(value) < EXACT:
        return str(int(value)) if value == np.floor(value) else repr(value)
    return np.format_float_scientific(value, trim="-")
