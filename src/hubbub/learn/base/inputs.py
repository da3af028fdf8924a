"""Reading the values of X and y, after the charge. Each value is read by itself, and none of them makes it fail.

In a fit (``private_table``) what is not a finite number counts as 0, and a row of an unknown class contributes nothing:
whether a fit is refused depends on types and shapes alone (``shapes``). Rows are divided by the declared norm and
clipped to length 1, each by itself. Rows to predict, and public ones, are read strictly (``table_of``).
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.containers import columns_in, number_values, side_by_side
from hubbub.learn.base.fit_plan import FitFacts, RowCount
from hubbub.learn.base.shapes import ListedRows, array_of, check_rows, rows_listed
from hubbub.learn.training.network import Floats
from hubbub.terms import NotANumber, OutOfRange, WrongShape

_LARGEST = 1e300  # a value over the norm counts as at most that
_NUMBERS, _NO_NUMBERS = "biuf", "mMV"  # kinds of arrays
_PLAIN = {bool, int, float, *(np.dtype(letter).type for letter in "?" + np.typecodes["AllInteger"] + "efdg")}


def private_table(x: ArrayLike) -> Floats:
    """A table as doubles, 0 where there is no finite number. Nothing about a value raises or warns."""
    check_rows(x)
    cells = [rows_listed(x)] if isinstance(x, list | tuple | ListedRows) else _cells_of(x, "X")
    return np.nan_to_num(_numbers_in(cells), copy=False, nan=0.0, posinf=0.0, neginf=0.0)


def table_of(x: ArrayLike | None, *, name: str = "X") -> Floats:
    """A table of rows that are nobody's secret as doubles; what is not a finite number is refused."""
    check_rows(x, name=name)
    cells = _cells_of(x, name)
    if isinstance(x, list | tuple) and cells[0].ndim != 2:
        raise WrongShape(
            f"{name} has no shape: its rows have different lengths, or its cells are lists.",
            why="Each row has the same columns, and each cell is one number.",
            fix="Give a table: rows of one length.",
        )
    table = _numbers_in(cells)
    if not np.isfinite(table).all():
        if any(map(_holds_words, cells)):
            raise NotANumber(
                f"{name} holds values that are not numbers.",
                why="Features are numbers; categories must be encoded by a public list.",
                fix="Encode categories with sklearn.preprocessing.OneHotEncoder(categories=[...]).",
            )
        raise OutOfRange(
            f"{name} contains NaN or infinity.",
            why="For a missing value there is no prediction. Which rows have one is not told here.",
            fix="Fill them with public values; in a fit they count as 0.",
        )
    return table


def _cells_of(x: ArrayLike | None, name: str) -> list[NDArray[Any]]:
    """The cells of a table as one array, or as one for each column if these have types of their own."""
    columns = columns_in(x)
    return [array_of(x, name=name)] if columns is None else list(map(number_values, columns))


def _numbers_in(cells: list[NDArray[Any]]) -> Floats:
    numbers = [numbers_of(each) for each in cells]
    return numbers[0] if len(cells) == 1 and cells[0].ndim != 1 else side_by_side(numbers)


def _holds_words(values: NDArray[Any]) -> bool:
    """Whether something in it is neither a number nor missing."""
    if values.dtype.kind not in "OUS":
        return False
    odd = values.astype(object)[np.isnan(numbers_of(values))]
    return any(not isinstance(each, float | np.floating) and each is not None for each in odd)


def numbers_of(values: ArrayLike) -> Floats:
    """Values as doubles, NaN in the place of what is no number: each by itself.

    A date, a time or a record is no number. Objects are read in one go only if all are plain numbers by their very
    types, of which one go makes the same doubles: else one value would decide what all others are read as.
    """
    read = array_of(values)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # which would tell that there is an odd value
        if read.dtype.kind in _NUMBERS:
            return np.array(read, dtype=np.float64, order="C")
        if read.dtype.kind in _NO_NUMBERS:
            return np.full(read.shape, np.nan)
        if read.dtype.kind == "O" and set(map(type, read.flat)) <= _PLAIN:
            with contextlib.suppress(OverflowError):  # an integer beyond doubles, which is no number by itself either
                return np.array(read, dtype=np.float64, order="C")
        return np.vectorize(_as_number, otypes=[np.float64])(read) if read.size else np.zeros(read.shape)


def _as_number(value: Any) -> float:
    try:
        return np.nan if isinstance(value, np.datetime64 | np.timedelta64) else float(value)
    except (Exception, SystemExit):  # whatever it is, it is one value of one row
        return np.nan


def scale_rows(table: Floats, norm: float) -> tuple[Floats, Floats]:
    """Rows over ``norm``, clipped to length 1, and their squared lengths. In place."""
    with np.errstate(over="ignore"):  # a finite number over a small norm may overflow, which must not become NaN
        table /= norm
    np.clip(table, -_LARGEST, _LARGEST, out=table)
    largest = np.abs(table).max(axis=1, keepdims=True)
    table /= np.maximum(largest, 1.0)  # so that squares cannot overflow; such rows have length 1 or more
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table))[:, None]
    table /= np.maximum(lengths, 1.0)
    return table, np.einsum("ij,ij->i", table, table)


def refuse_more_rows(table: Floats, facts: FitFacts, planned: RowCount) -> None:
    """Refuse more rows than a plan is for, where their number is public: else a refusal would tell about rows."""
    if facts.public_rows and len(table) > planned.most:
        raise WrongShape(
            f"more than twice the {planned.expected} rows came that were planned for.",
            why="Sums are planned for at most that many.",
            fix="Fit again, on more rows.",
        )
