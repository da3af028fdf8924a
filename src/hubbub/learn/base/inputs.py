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
from numpy.typing import NDArray

from hubbub.learn.base.shapes import array_of, check_rows, column_listed, rows_listed
from hubbub.learn.training.network import Examples, Floats, Labels
from hubbub.terms import NotANumber, OutOfRange, WrongShape

_PLAIN = (int, float, str, bool)  # equal to a class if a dictionary says so
_LARGEST = 1e300  # a value over the norm counts as at most that


def private_table(x: Any) -> Floats:
    """A table as doubles, 0 where there is no finite number. Nothing about a value raises or warns."""
    check_rows(x)
    values = rows_listed(x) if isinstance(x, list | tuple) else array_of(x)
    return np.nan_to_num(numbers_of(values), copy=False, nan=0.0, posinf=0.0, neginf=0.0)


def table_of(x: Any, *, name: str = "X") -> Floats:
    """A table of rows that are nobody's secret as doubles; what is not a finite number is refused."""
    check_rows(x, name=name)
    values = array_of(x, name=name)
    if isinstance(x, list | tuple) and values.ndim != 2:
        raise WrongShape(
            f"{name} has no shape: its rows have different lengths, or its cells are lists.",
            why="Each row has the same columns, and each cell is one number.",
            fix="Give a table: rows of one length.",
        )
    table = numbers_of(values)
    if _words(values, table):
        raise NotANumber(
            f"{name} holds values that are not numbers.",
            why="Features are numbers; categories must be encoded by a public list.",
            fix="Encode categories with sklearn.preprocessing.OneHotEncoder(categories=[...]).",
        )
    if not np.isfinite(table).all():
        raise OutOfRange(
            f"{name} contains NaN or infinity.",
            why="For a missing value there is no prediction. Which rows have one is not told here.",
            fix="Fill them with public values; in a fit they count as 0.",
        )
    return table


def _words(values: NDArray[Any], table: Floats) -> bool:
    """Whether something in it is neither a number nor missing."""
    if values.dtype.kind not in "OUS":
        return False
    odd = values.astype(object)[np.isnan(table)]
    return any(not isinstance(each, float | np.floating) and each is not None for each in odd)


def numbers_of(values: Any) -> Floats:
    """Values as doubles, NaN in the place of what is no number: each by itself."""
    read = array_of(values)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which would tell that there is an odd value
        if read.dtype.kind in "biuf":
            return np.array(read, dtype=np.float64, order="C")
        with contextlib.suppress(Exception, SystemExit):  # an object may raise whatever it likes
            if read.dtype.kind == "O":  # the same, in one go, if each of them is a number
                return np.array(read, dtype=np.float64, order="C")
        return np.vectorize(_number, otypes=[np.float64])(read) if read.size else np.zeros(read.shape)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (Exception, SystemExit):  # whatever it is, it is one value of one row
        return np.nan


def ready(table: Floats, norm: float) -> tuple[Floats, Floats]:
    """Rows over ``norm``, clipped to length 1, and their squared lengths. In place."""
    with np.errstate(over="ignore"):  # a finite number over a small norm may overflow, which must not become NaN
        table /= norm
    np.clip(table, -_LARGEST, _LARGEST, out=table)
    largest = np.abs(table).max(axis=1, keepdims=True)
    table /= np.maximum(largest, 1.0)  # so that squares cannot overflow; such rows have length 1 or more
    lengths = np.sqrt(np.einsum("ij,ij->i", table, table))[:, None]
    table /= np.maximum(lengths, 1.0)
    return table, np.einsum("ij,ij->i", table, table)


def labels_of(y: Any, classes: NDArray[Any]) -> Labels:
    """The class numbers of y, -1 where it is none of them: each label by itself, whatever the others are."""
    values = column_of(y)
    if values.dtype.kind == "O":
        places = {name: place for place, name in reversed(list(enumerate(classes.tolist())))}
        return np.array([_place(value, places) for value in values], dtype=np.int64)
    order = np.argsort(classes)
    try:
        found = order[np.clip(np.searchsorted(classes[order], values), 0, len(classes) - 1)]
    except TypeError:  # a type of label that cannot be compared with the classes
        return np.full(len(values), -1)
    return np.where(classes[found] == values, found, -1)


def _place(value: Any, places: dict[Any, int]) -> int:
    """Which class a label is, or -1."""
    if type(value) in _PLAIN:
        return places.get(value, -1)
    try:
        return next((place for name, place in places.items() if bool(value == name)), -1)
    except (Exception, SystemExit):  # whatever it is, it is one label of one row
        return -1


def column_of(y: Any) -> NDArray[Any]:
    """y as one flat column; of a list, one of objects: as one type, one large number would round all others."""
    values = column_listed(y) if isinstance(y, list | tuple) else array_of(y, name="y")
    if values.ndim == 2 and values.shape[1] == 1:
        _warn_column()
        values = values.ravel()
    if values.ndim != 1:
        raise WrongShape(
            f"y has {values.ndim} dimensions and needs 1: y should be a 1d array.",
            why="Each row has one class.",
            fix="Give one label per row.",
        )
    return values


def _warn_column() -> None:
    kind: type[Warning] = UserWarning
    with contextlib.suppress(ImportError):
        from sklearn import exceptions

        kind = exceptions.DataConversionWarning
    warnings.warn("y came as a column of a table; one label per row was expected.", kind, stacklevel=5)


def classes_of(y: Any) -> NDArray[Any]:
    """The different labels of y, sorted."""
    values = column_of(_alike(y))
    if values.dtype.kind == "f" and not _whole(values):
        raise OutOfRange(
            "Unknown label type: continuous. y holds numbers that are no class labels, or NaN or infinity.",
            why="A classifier needs classes.",
            fix="Give y as integers or strings.",
        )
    try:
        found = np.unique(values)
    except TypeError:
        raise OutOfRange(
            "Unknown label type: y holds values that cannot be put in order.",
            why="The set of labels counts as public if it is not declared.",
            fix="Declare the classes that there may be: classes=[...].",
        ) from None
    if len(found) < 2:
        raise OutOfRange(
            "y holds one class, and a classifier needs at least two class labels.",
            why="There is nothing to tell apart.",
            fix="Declare the classes that there may be: classes=[...].",
        )
    return found


def _alike(y: Any) -> Any:
    """A list as one array of a type that all its values have: labels that nobody declared count as public."""
    with contextlib.suppress(ValueError):
        return np.asarray(y) if isinstance(y, list | tuple) else y
    return y


def _whole(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def class_numbers(y: Any, classes: NDArray[Any], rows: int) -> Labels:
    """The class numbers of y, one per row of X; -1 for what is none of the classes."""
    labels = labels_of(y, classes)
    if len(labels) != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one class.", fix="Give one label per row of X."
        )
    return labels


def examples(x: Any, y: Any, *, norm: float, classes: NDArray[Any]) -> Examples:
    """Rows ready for training."""
    table = private_table(x)
    labels = class_numbers(y, classes, len(table))
    inputs, squares = ready(table, norm)
    return Examples(inputs, squares, labels)
