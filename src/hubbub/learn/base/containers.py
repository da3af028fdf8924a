"""Columns of pandas, Arrow and Polars as arrays: what they become follows from their types, never from a value.

numpy makes one type of all columns, another one as soon as a value is missing, and fails at a value that Python cannot
hold (a text that is no UTF-8, a far date). Here each column is read by its own type: numpy's types as they are, Arrow's
by ``hubbub.engines.python_values``, others value by value.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.training.network import Floats

_NUMBERS = "biuf"  # kinds of types
_BLOCK = 1 << 12  # rows that are copied at a time


def columns_in(table: Any) -> list[Any] | None:
    """The columns of a table of pandas, Arrow or Polars; None of anything else."""
    if _comes_from("pandas", table) and getattr(table, "ndim", 0) == 2:
        return [table.iloc[:, place] for place in range(table.shape[1])]
    if _comes_from("polars", table) and hasattr(table, "get_columns"):
        return list(table.get_columns())
    if _comes_from("pyarrow", table) and hasattr(table, "columns"):
        return list(table.columns)
    return None


def is_column(values: Any) -> bool:
    """Whether it is a column of pandas, Arrow or Polars."""
    if _comes_from("pyarrow", values):
        return _is_arrow(values)
    ours = _comes_from("pandas", values) or _comes_from("polars", values)
    return ours and len(getattr(values, "shape", ())) == 1


def exact_values(column: Any) -> NDArray[Any]:
    """A column as it is if its type is numpy's, else as Python objects: numbers keep all of their digits."""
    if _comes_from("polars", column):
        return objects_of(_polars_values(column))
    if _is_arrow(column):
        return objects_of(_arrow_values(column))
    return _pandas_values(column)


def object_values(column: Any) -> NDArray[Any]:
    """A column as Python objects, as its library has them."""
    typed = isinstance(getattr(column, "dtype", None), np.dtype)
    return np.asarray(column, dtype=object) if typed else exact_values(column)


def number_values(column: Any) -> NDArray[Any]:
    """The same, but numbers are doubles in one step, NaN where one is missing."""
    if _comes_from("polars", column):
        return _arrow_numbers(column.to_arrow()) if _has_form(column) else exact_values(column)
    if _is_arrow(column):
        return _arrow_numbers(column)
    held = getattr(column, "array", column)
    if _is_backed_by_arrow(held):
        return _arrow_numbers(held.__arrow_array__())
    if _is_of_numbers(held):
        return np.asarray(held.to_numpy(dtype=np.float64, na_value=np.nan))
    return exact_values(column)


def objects_of(values: Iterable[Any]) -> NDArray[Any]:
    """Values as a column of objects, each as it is."""
    return np.fromiter(values, dtype=object)


def side_by_side(columns: list[Floats]) -> Floats:
    """Columns as one table, a block of rows at a time: column by column, each write would miss the cache."""
    table = np.empty((len(columns[0]), len(columns)))
    for start in range(0, len(table), _BLOCK):
        rows = slice(start, start + _BLOCK)
        np.stack([column[rows] for column in columns], axis=1, out=table[rows])
    return table


def _comes_from(library: str, value: Any) -> bool:
    """Whether a value's class, or one that it inherits from, is of a library."""
    return any(each.__module__.split(".")[0] == library for each in type(value).__mro__)


# ---------------------------------------------------------------- Arrow and Polars


def _is_arrow(column: Any) -> bool:
    import pyarrow

    return isinstance(column, pyarrow.Array | pyarrow.ChunkedArray)


def _arrow_values(column: Any) -> list[Any]:
    from hubbub.engines import python_values

    return python_values(column)


def _arrow_numbers(column: Any) -> NDArray[Any]:
    import pyarrow
    from pyarrow import compute, types

    if not any(fits(column.type) for fits in (types.is_integer, types.is_floating, types.is_boolean)):
        return objects_of(_arrow_values(column))
    return np.asarray(compute.cast(column, pyarrow.float64(), safe=False).to_numpy(zero_copy_only=False))


def _polars_values(column: Any) -> list[Any]:
    return _arrow_values(column.to_arrow()) if _has_form(column) else list(column.to_list())


def _has_form(column: Any) -> bool:
    """Whether a column of Polars has an Arrow form, by its type. Objects have one: addresses in memory."""
    try:
        column.clear().to_arrow()
    except Exception:  # of a column without rows: it is about the type
        return False
    return not column.dtype.is_object()


# ---------------------------------------------------------------- pandas


def _pandas_values(column: Any) -> NDArray[Any]:
    if isinstance(column.dtype, np.dtype):
        return np.asarray(column.to_numpy())
    held = getattr(column, "array", column)
    if _is_backed_by_arrow(held):
        return objects_of(_arrow_values(held.__arrow_array__()))
    if hasattr(held, "codes") and hasattr(held, "categories"):
        categories = objects_of([*exact_values(held.categories).tolist(), None])  # the code of what is missing is -1
        return np.asarray(categories[held.codes])
    if _is_of_numbers(held):
        return objects_of(held.tolist())
    return objects_of(_value_at(held, place) for place in range(len(held)))


def _is_backed_by_arrow(held: Any) -> bool:
    """Whether a column of pandas keeps its values in Arrow: types of Arrow, and most of its texts."""
    kind = held.dtype
    return hasattr(kind, "pyarrow_dtype") or getattr(kind, "storage", None) == "pyarrow"


def _is_of_numbers(held: Any) -> bool:
    """Whether a column of pandas holds nullable or sparse numbers."""
    return _comes_from("pandas", held.dtype) and held.dtype.kind in _NUMBERS


def _value_at(held: Any, place: int) -> Any:
    try:
        return held[place]
    except Exception:  # whatever it is, it is one value of one row
        return None
