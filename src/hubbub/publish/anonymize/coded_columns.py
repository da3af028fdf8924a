"""Columns as codes: what a partition works on, and the counts of codes in each of its parts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.engines import arrow_of
from hubbub.publish.cells import plain_array
from hubbub.schema import FrameLike
from hubbub.terms import EmptyInput, OutOfRange, SourceUnavailable, plain_text

if TYPE_CHECKING:
    import pyarrow

Codes: TypeAlias = NDArray[np.int64]
Floats: TypeAlias = NDArray[np.float64]
Truths: TypeAlias = NDArray[np.bool_]

MISSING = "(missing)"
ANY = "*"

_DENSE = 4  # so many cells per row are counted in place; beyond that the rows are sorted
_WIDEST = 2**62  # codes of several columns are multiplied up to here and then numbered anew


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """One column: a code for each row, and the value that each code stands for, in order.

    Numbers and dates are ordered as such, words by the alphabet; the missing value, if there is one, comes first.
    """

    name: str
    codes: Codes
    labels: pyarrow.Array  # each value as text
    places: Floats  # where each value stands on its axis: numbers and dates themselves, words by their rank
    numeric: bool  # numbers or dates
    integer: bool  # whole numbers
    dated: bool  # dates, placed by their days
    gaps: bool  # whether code 0 is the missing value

    def texts(self) -> list[str]:
        """The values as text, in order."""
        texts: list[str] = self.labels.to_pylist()
        return texts

    def taken(self, rows: Codes) -> Coded:
        """The column of some of the rows."""
        return replace(self, codes=self.codes[rows])


def plain_names(names: Iterable[str]) -> None:
    """Refuse names that a terminal or page would not show as they are: a Parquet file may have any."""
    for name in names:
        plain_text(name, name="a column's name")


def named_rows(table: FrameLike) -> pyarrow.Table:
    """A pandas, Polars or Arrow table as one of Arrow, whose columns have names that can be shown."""
    rows = arrow_of(table)
    plain_names(rows.column_names)
    return rows


def code_column(name: str, column: pyarrow.ChunkedArray) -> Coded:
    """A column of an Arrow table as codes."""
    import pyarrow
    import pyarrow.compute as pc

    flat = one_form(column)
    try:
        ordered = _order_values(flat)
        positions, labels = pc.index_in(flat, value_set=ordered), ordered.cast(pyarrow.string())
    except pyarrow.ArrowNotImplementedError:
        raise SourceUnavailable(
            f"column {name!r} holds values of type {flat.type}.",
            why="Values are put in order and printed.",
            fix="Give columns of text, numbers, dates or truth values.",
        ) from None
    gaps = flat.null_count > 0
    codes = np.asarray(pc.fill_null(positions, -1)).astype(np.int64) + int(gaps)
    places = _value_positions(ordered)
    numeric = places is not None
    places = np.arange(len(ordered), dtype=np.float64) if places is None else places
    if gaps:
        labels = pyarrow.concat_arrays([pyarrow.array([MISSING]), labels])
        places = np.concatenate(([-np.inf], places))
    types, kind = pyarrow.types, flat.type
    dated = types.is_date(kind) or types.is_timestamp(kind)
    return Coded(name, codes, labels, places, numeric, types.is_integer(kind), dated, gaps)


def value_ranks(column: pyarrow.ChunkedArray) -> Codes:
    """The place of each value among the different ones, in their order."""
    try:
        return code_column("", column).codes
    except SourceUnavailable:  # lists and the like have no order: by their text
        return np.unique([repr(value) for value in column.to_pylist()], return_inverse=True)[1].astype(np.int64)


def one_form(column: pyarrow.ChunkedArray) -> pyarrow.Array:
    """A column in which equal values are stored alike: no dictionary, no NaN (that is missing), one zero.

    Classes are classes of codes. So a column that is published as it is must not show more than its codes do.
    """
    import pyarrow
    import pyarrow.compute as pc

    flat, types = plain_array(column), pyarrow.types
    if types.is_null(flat.type):
        return flat.cast(pyarrow.string())
    if types.is_float16(flat.type):
        flat = flat.cast(pyarrow.float32())
    if types.is_floating(flat.type):
        flat = pc.add(pc.if_else(pc.is_nan(flat), None, flat), pyarrow.scalar(0.0, flat.type))  # -0 + 0 is 0
    return flat


def _order_values(flat: pyarrow.Array) -> pyarrow.Array:
    import pyarrow.compute as pc

    present = pc.unique(flat.drop_null())
    return present.take(pc.sort_indices(present))


def _value_positions(ordered: pyarrow.Array) -> Floats | None:
    """Numbers as they are, dates in days, times in their unit; None for what is neither."""
    import pyarrow

    types, kind = pyarrow.types, ordered.type
    if types.is_date(kind) or types.is_timestamp(kind):
        moments = ordered.cast(pyarrow.timestamp("us"), safe=False).cast(pyarrow.int64())
        return np.asarray(moments).astype(np.float64) / 86_400_000_000
    if types.is_temporal(kind):
        ordered = ordered.cast(pyarrow.int32() if kind.bit_width == 32 else pyarrow.int64())
    if types.is_integer(ordered.type) or types.is_floating(kind) or types.is_decimal(kind):
        return np.asarray(ordered.cast(pyarrow.float64(), safe=False)).astype(np.float64)
    return None


def count_keys(keys: Codes, size: int) -> tuple[Codes, Codes]:
    """The different keys below ``size``, in order, and how often each occurs."""
    if size <= _DENSE * keys.size:
        dense = np.bincount(keys, minlength=size)
        keys_present = np.flatnonzero(dense)
        return keys_present, dense[keys_present]
    ordered = np.sort(keys)
    first = run_starts(ordered)
    return ordered[first], np.diff(np.append(first, keys.size))


def run_starts(ordered: NDArray[Any]) -> Codes:
    """Where each new value begins in an array of equal neighbours."""
    new = np.empty(ordered.size, dtype=bool)
    new[:1] = True
    np.not_equal(ordered[1:], ordered[:-1], out=new[1:])
    return np.flatnonzero(new)


def combine_codes(columns: Sequence[Codes], sizes: Sequence[int]) -> tuple[Codes, int]:
    """One number per row, equal where the rows agree in all columns, without gaps; and how many there are."""
    keys, size = np.zeros(len(columns[0]), dtype=np.int64), 1
    for column, width in zip(columns, sizes, strict=True):
        if size * width >= _WIDEST:
            keys, size = dense_codes(keys, size)
        keys, size = keys * width + column, size * width
    return dense_codes(keys, size)


def dense_codes(keys: Codes, size: int) -> tuple[Codes, int]:
    """Keys below ``size`` numbered anew in their order, without gaps."""
    if size <= _DENSE * keys.size:
        used = np.zeros(size, dtype=bool)
        used[keys] = True
        number = np.cumsum(used) - 1
        return number[keys], int(number[-1]) + 1
    distinct, numbers = np.unique(keys, return_inverse=True)
    return numbers.astype(np.int64), distinct.size


def known_columns(names: Sequence[str], rows: pyarrow.Table, *, called: str, why: str) -> tuple[str, ...]:
    """Names of columns of the table, each once; refuses an empty list and unknown names."""
    chosen = (names,) if isinstance(names, str) else tuple(dict.fromkeys(names))
    if not chosen or isinstance(names, str):
        raise EmptyInput(f"there is no list of {called}.", why=why, fix='Name the columns in a list: ["age", "zip"].')
    for name in chosen:
        known_column(name, rows, called=called)
    return chosen


def known_column(name: object, rows: pyarrow.Table, *, called: str) -> str:
    """The name of a column that is there once."""
    if isinstance(name, str) and rows.column_names.count(name) == 1:
        return name
    raise OutOfRange(
        f"the table has no column {name!r}, or several.",
        why=f"It is named under {called}.",
        fix=f"The columns are {', '.join(rows.column_names)}.",
    )
