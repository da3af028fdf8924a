"""Reading X and y: shapes are public, values are not.

``shape_of`` looks at no value. ``examples`` reads them: rows are divided by the declared norm and clipped to length 1,
each by itself. Where classes and the number of rows were declared, nothing about a row makes it fail: what is not a
number counts as 0, and a row of an unknown class contributes nothing. Otherwise the data's owner is told what is wrong.
"""

from __future__ import annotations

import contextlib
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.network import Examples, Floats, Labels
from hubbub.terms import EmptyInput, NotANumber, OutOfRange, WrongShape

_LARGEST = 1e300  # a value over the norm counts as at most that


def shape_of(x: Any, *, empty: bool = False) -> tuple[int, int]:
    """(rows, columns) of a table, without reading a value where it has a ``shape``; without rows only if ``empty``."""
    shape = getattr(x, "shape", None)
    if shape is None:
        shape = np.asarray(x).shape
    if len(shape) != 2:
        raise WrongShape(
            f"X has {len(shape)} dimensions and needs 2. Reshape your data.",
            why="One row is one person's features, one column is one feature.",
            fix="Give X as a table: X.reshape(-1, 1) for one feature, X.reshape(1, -1) for one row.",
        )
    if (shape[0] < 1 and not empty) or shape[1] < 1:
        raise EmptyInput(
            f"X has 0 rows or 0 feature(s) (shape=({shape[0]}, {shape[1]})) while a minimum of 1 is required.",
            why="There is nothing to learn from.",
            fix="Give a table with at least one row and one column.",
        )
    return int(shape[0]), int(shape[1])


def table_of(x: Any, *, total: bool = False) -> Floats:
    """A table as doubles; unless ``total``, what is not a finite number is refused."""
    if hasattr(x, "toarray") and not hasattr(x, "__array__"):
        raise WrongShape(
            "X is sparse, and dense data is required.",
            why="Rows are clipped and summed as dense vectors.",
            fix="Give X.toarray().",
        )
    table = _doubles(_listed(x, total=total), total=total)
    if total:
        return np.nan_to_num(table, copy=False, nan=0.0, posinf=0.0, neginf=0.0)
    if not np.isfinite(table).all():
        raise OutOfRange(
            "X contains NaN or infinity.",
            why="A missing value has no gradient. Which rows have one is not told here.",
            fix="Fill them with public values, or declare rows= (and classes=, of a classifier): then they count as 0.",
        )
    return table


def _listed(values: Any, *, total: bool) -> NDArray[Any]:
    """An array. If ``total``, a list becomes one of objects: else one odd value would change the type of all."""
    plain = total and not hasattr(values, "dtype") and not hasattr(values, "__array__")
    return np.asarray(values, dtype=object if plain else None)


def _doubles(values: NDArray[Any], *, total: bool) -> Floats:
    if values.dtype.kind == "c":
        raise NotANumber(
            "Complex data not supported: X must hold real numbers.", why="Gradients are real.", fix="Give real numbers."
        )
    found = numbers_of(values, total=total)
    if found is None:
        raise NotANumber(
            "X holds values that are not numbers.",
            why="Features are numbers; categories must be encoded by a public list.",
            fix="Encode categories with sklearn.preprocessing.OneHotEncoder(categories=[...]).",
        )
    return found


def numbers_of(values: Any, *, total: bool) -> Floats | None:
    """Values as doubles. If one is no number: None, or, if ``total``, NaN in its place and nothing else changed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # which would tell that there is an odd value
        try:
            return np.array(values, dtype=np.float64, order="C")
        except Exception:  # an object may raise whatever it likes
            return np.vectorize(_number, otypes=[np.float64])(_listed(values, total=True)) if total else None


def _number(value: Any) -> float:
    try:
        return float(value)
    except Exception:  # whatever it is, it is one value of one row
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
        return np.array([_place(value, classes) for value in values], dtype=np.int64)
    order = np.argsort(classes)
    try:
        found = order[np.clip(np.searchsorted(classes[order], values), 0, len(classes) - 1)]
    except TypeError:  # a type of label that cannot be compared with the classes
        return np.full(len(values), -1)
    return np.where(classes[found] == values, found, -1)


def _place(value: Any, classes: NDArray[Any]) -> int:
    """Which class a label is, or -1."""
    try:
        return next((k for k, name in enumerate(classes.tolist()) if bool(value == name)), -1)
    except Exception:  # whatever it is, it is one label of one row
        return -1


def column_of(y: Any) -> NDArray[Any]:
    """y as one flat column."""
    values = _listed(y, total=_mixed(y))
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


def _mixed(y: Any) -> bool:
    """Whether y is a list of values of several types, of which an array would make one."""
    return isinstance(y, list | tuple) and len({type(value) for value in y}) > 1


def _warn_column() -> None:
    kind: type[Warning] = UserWarning
    with contextlib.suppress(ImportError):
        from sklearn import exceptions

        kind = exceptions.DataConversionWarning
    warnings.warn("y came as a column of a table; one label per row was expected.", kind, stacklevel=5)


def classes_of(y: Any) -> NDArray[Any]:
    """The different labels of y, sorted."""
    values = column_of(np.asarray(y))
    if values.dtype.kind == "f" and not _whole(values):
        raise OutOfRange(
            "Unknown label type: continuous. y holds numbers that are no class labels, or NaN or infinity.",
            why="A classifier needs classes.",
            fix="Give y as integers or strings.",
        )
    found = np.unique(values)
    if len(found) < 2:
        raise OutOfRange(
            "y holds one class, and a classifier needs at least two class labels.",
            why="There is nothing to tell apart.",
            fix="Declare the classes that there may be: classes=[...].",
        )
    return found


def _whole(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def class_numbers(y: Any, classes: NDArray[Any], rows: int, *, total: bool) -> Labels:
    """The class numbers of y, one per row of X; unless ``total``, what is none of the classes is refused."""
    labels = labels_of(y, classes)
    if len(labels) != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one class.", fix="Give one label per row of X."
        )
    if not total and (labels < 0).any():
        raise OutOfRange(
            "y holds labels that are none of the declared classes.",
            why="Which labels they are is not told here.",
            fix="Declare all classes=, or declare rows= too: then such rows contribute nothing.",
        )
    return labels


def examples(x: Any, y: Any, *, norm: float, classes: NDArray[Any], total: bool) -> Examples:
    """Rows ready for training."""
    table = table_of(x, total=total)
    labels = class_numbers(y, classes, len(table), total=total)
    inputs, squares = ready(table, norm)
    return Examples(inputs, squares, labels)
