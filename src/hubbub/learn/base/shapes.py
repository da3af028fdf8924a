"""What X and y are, by their types and shapes alone: refused before a charge, and before a value is looked at.

A refusal here never depends on a value. What may be wrong with values (missing, infinite, no number at all) is no
reason to refuse: ``inputs`` says what such values count as. A list has as many rows as entries, each of one person: y
is never more than that, and X is as wide as was declared, or as most of its rows, which counts as public. A row of
another length is one that is missing.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from hubbub.learn.base.containers import columns_in, exact_values, is_column
from hubbub.terms import EmptyInput, MissingParameter, NotANumber, WrongShape

_NO_NUMBERS = {"c": "Complex data not supported", "M": "dates", "m": "times", "V": "records"}


def check_rows(x: ArrayLike | None, *, name: str = "X") -> None:
    """Refuse by its type what is no table of numbers."""
    if x is None:
        raise MissingParameter(f"{name} is None.", why="There are no rows.", fix="Give a table of numbers.")
    refuse_masked((x,), name=name)
    if hasattr(x, "toarray") and not hasattr(x, "__array__"):
        raise WrongShape(
            f"{name} is sparse, and dense data is required.",
            why="Rows are clipped and summed as dense vectors.",
            fix=f"Give {name}.toarray().",
        )
    for kind in _type_letters(x):
        if kind in _NO_NUMBERS:
            raise NotANumber(
                f"{_NO_NUMBERS[kind]}: {name} must hold real numbers.",
                why="Features are numbers; categories must be encoded by a public list.",
                fix="Give real numbers, such as the days since a public date.",
            )


def refuse_masked(values: object, *, name: str) -> None:
    """Refuse what hides some of its entries: arithmetic skips them, and clipping and noise would, too."""
    parts = values if isinstance(values, list | tuple) else (values,)
    if any(map(_is_masked, parts)):
        raise WrongShape(
            f"{name} comes with a mask.",
            why="Arithmetic skips what a mask hides, so it would neither be clipped nor get noise.",
            fix="Say what the hidden entries are: array.filled(0).",
        )


def _is_masked(part: Any) -> bool:
    """A masked array or tensor; a single masked value is one value, and no number."""
    return (isinstance(part, np.ma.MaskedArray) and part.ndim > 0) or type(part).__name__ == "MaskedTensor"


def _type_letters(x: Any) -> list[str]:
    """One letter for each type in it, as numpy has them; "O" for types of others."""
    own = getattr(x, "dtypes", None)
    kinds = [x] if own is None else list(own)
    return [_type_letter(getattr(each, "dtype", each)) for each in kinds]


def _type_letter(dtype: Any) -> str:
    if getattr(dtype, "is_complex", False):
        return "c"  # of torch
    return str(getattr(dtype, "kind", "O"))


def array_of(values: ArrayLike | None, *, name: str = "X") -> NDArray[Any]:
    """A plain array. A list becomes one of objects: else one odd value would change the type of all."""
    refuse_masked(values, name=name)
    given: Any = values
    try:
        columns = columns_in(given)
        if columns is not None:
            return np.stack([np.asarray(exact_values(each), dtype=object) for each in columns], axis=1)
        return exact_values(given) if is_column(given) else _array_of_others(given)
    except (Exception, SystemExit):  # an object in a list may raise whatever it likes
        raise _ragged_table(name) from None


def _array_of_others(given: Any) -> NDArray[Any]:
    if hasattr(given, "detach") and hasattr(given, "numpy"):  # a tensor, which may have a gradient
        given = given.detach().cpu().double().numpy()
    plain = not hasattr(given, "dtype") and not hasattr(given, "__array__")
    array = np.asarray(given, dtype=object if plain else None).view(np.ndarray)
    return array.astype(object) if array.dtype.kind == "T" else array  # of which a missing one cannot be compared


def column_listed(values: list[Any] | tuple[Any, ...]) -> NDArray[Any]:
    """A list as a column of objects, entry by entry: numpy would make one type, or one shape, of all of them."""
    column = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        column[place] = value[0] if type(value) in (list, tuple) and len(value) == 1 else value
    return column


@dataclass(frozen=True, slots=True)
class ListedRows:
    """A list of rows whose width was declared: no row decides it."""

    rows: list[Any] | tuple[Any, ...]
    width: int

    @property
    def shape(self) -> tuple[int, int]:
        """As many rows as entries, each as wide as was declared."""
        return len(self.rows), self.width


def with_width(x: ArrayLike, width: int | None) -> ArrayLike:
    """A list of rows with the width that was declared; anything else as it is."""
    if width is None or not isinstance(x, list | tuple):
        return x
    return ListedRows(x, width)  # type: ignore[return-value]


def rows_listed(given: list[Any] | tuple[Any, ...] | ListedRows) -> NDArray[Any]:
    """Rows as a table of objects, as wide as was declared or as most are; None throughout in a row that is not."""
    rows = given.rows if isinstance(given, ListedRows) else given
    width = given.width if isinstance(given, ListedRows) else max(_common_width(rows), 0)
    table = np.empty((len(rows), width), dtype=object)
    for place, row in enumerate(rows):
        if _row_length(row) == width:
            for column, cell in enumerate(_row_cells(row)[:width]):
                table[place, column] = cell
    return table


def _common_width(rows: list[Any] | tuple[Any, ...]) -> int:
    """The length of most rows (the larger one of two that are as frequent), or -1 if most are no rows."""
    counts = Counter(map(_row_length, rows))
    return max(counts, key=lambda length: (counts[length], length), default=-1)


def _row_length(row: Any) -> int:
    """The length of a list, or of an array of one dimension; -1 of everything else."""
    try:
        shape = (len(row),) if isinstance(row, list | tuple) else tuple(row.shape)
        return int(shape[0]) if len(shape) == 1 else -1
    except (Exception, SystemExit):  # whatever it is, it is one row
        return -1


def _row_cells(row: Any) -> list[Any]:
    try:
        return list(row)
    except (Exception, SystemExit):  # whatever it is, it is one row
        return []


def shape_of(x: ArrayLike, *, empty: bool = False, name: str = "X") -> tuple[int, int]:
    """(rows, columns) of a table, without reading a value where it has a ``shape``; without rows only if ``empty``."""
    check_rows(x, name=name)
    shape = _read_shape(x, name)
    if len(shape) != 2:
        raise WrongShape(
            f"{name} has {len(shape)} dimensions and needs 2. Reshape your data.",
            why="One row is one person's features, one column is one feature.",
            fix=f"Give {name} as a table: {name}.reshape(-1, 1) for one feature, {name}.reshape(1, -1) for one row.",
        )
    if (shape[0] < 1 and not empty) or shape[1] < 1:
        raise EmptyInput(
            f"{name} has 0 rows or 0 feature(s) (shape=({shape[0]}, {shape[1]})) while a minimum of 1 is required.",
            why="There is nothing to learn from.",
            fix="Give a table with at least one row and one column.",
        )
    return shape[0], shape[1]


def width_of_rows(x: ArrayLike | None) -> int | None:
    """How many columns a table has, if it is one."""
    given: Any = x
    shape: tuple[int, ...] = (len(given), _common_width(given)) if isinstance(x, list | tuple) else ()
    shape = shape or tuple(getattr(x, "shape", ()))
    return int(shape[1]) if len(shape) == 2 and shape[1] > 0 else None


def _read_shape(x: Any, name: str) -> tuple[int, ...]:
    shape = getattr(x, "shape", None)
    if isinstance(x, list | tuple):
        width = _common_width(x)
        shape = (len(x), width) if width >= 0 else (len(x),)
    if shape is None:
        shape = (len(x),) if is_column(x) else array_of(x, name=name).shape
    try:
        return tuple(int(length) for length in shape)
    except TypeError:
        raise _ragged_table(name) from None


def need_target(y: ArrayLike | None) -> None:
    """Refuse a missing y."""
    if y is None:
        raise MissingParameter(
            "requires y to be passed, but the target y is None.", why="There is nothing to learn.", fix="Give y."
        )


def check_target(y: ArrayLike | None, rows: int) -> None:
    """Refuse a y that is no column of as many entries as X has rows."""
    refuse_masked((y,), name="y")
    if hasattr(y, "toarray") and not hasattr(y, "__array__"):
        raise WrongShape("y is sparse.", why="Each row has one target.", fix="Give one per row of X, in an array.")
    shape = (len(y),) if isinstance(y, list | tuple) else _read_shape(y, "y")
    if len(shape) != 1 and not (len(shape) == 2 and shape[1] == 1):
        raise WrongShape(
            f"y has {len(shape)} dimensions and needs 1: y should be a 1d array.",
            why="Each row has one target.",
            fix="Give one per row of X.",
        )
    if shape[0] != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one target.", fix="Give one per row of X."
        )


def _ragged_table(name: str) -> WrongShape:
    return WrongShape(
        f"{name} has no shape: its rows have different lengths.",
        why="Each row has the same columns.",
        fix="Give a table: rows of one length.",
    )


# ---------------------------------------------------------------- columns


@dataclass(frozen=True, slots=True)
class TableShape:
    """A table of which only the shape is known."""

    shape: tuple[int, int]


class TableColumns(BaseEstimator):  # type: ignore[misc]
    """How many columns a table has, and their names if all of them are text."""

    n_features_in_: int
    feature_names_in_: NDArray[Any]


def unnamed_columns(count: int) -> TableColumns:
    """So many columns without names."""
    columns = TableColumns()
    columns.n_features_in_ = count
    return columns


def columns_of(x: ArrayLike, *, name: str = "X") -> TableColumns:
    """The columns of a table whose shape is known to be one: no value of it is looked at."""
    columns = TableColumns()
    try:
        validate_data(columns, _with_shape(x, name), skip_check_array=True)  # its other form raises by values
    except TypeError:
        raise WrongShape(
            f"some columns of {name} have names that are text, and others have not.",
            why="Columns are told apart by their names, or by their order.",
            fix=f"Name all of them, or none: {name}.columns = {name}.columns.astype(str).",
        ) from None
    return columns


def _with_shape(x: Any, name: str) -> Any:
    """The table itself, if it has a shape; of a list scikit-learn would read the first row."""
    return x if hasattr(x, "shape") else TableShape(shape_of(x, empty=True, name=name))


def check_same_columns(columns: TableColumns, x: ArrayLike, *, name: str) -> None:
    """Refuse a table whose columns have other names, or another order, than ``columns``, where both have names."""
    if hasattr(columns, "feature_names_in_") and hasattr(columns_of(x, name=name), "feature_names_in_"):
        check_columns(columns, x, name=name)


def check_columns(fitted: BaseEstimator, x: ArrayLike, *, name: str = "X") -> None:
    """Refuse other columns than those of the fit; scikit-learn warns where only one side has names."""
    named = hasattr(fitted, "feature_names_in_")
    if type(x) is np.ndarray and not named and x.shape[1:] == (fitted.n_features_in_,):
        return  # held-out rows are asked one by one, and looking for names takes longer than the answer
    try:
        validate_data(fitted, _with_shape(x, name), reset=False, skip_check_array=True)
    except (TypeError, ValueError) as other:  # its words are about names and numbers of columns
        raise WrongShape(
            str(other),
            why="A model knows its columns by their names and their order.",
            fix="Give the columns of the fit, in the same order.",
        ) from None
