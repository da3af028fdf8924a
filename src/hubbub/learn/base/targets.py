"""What y means: classes that are declared or public, or numbers between declared bounds."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.exceptions import DataConversionWarning

from hubbub.learn.base.containers import columns_in, is_column
from hubbub.learn.base.fit_plan import FitFacts
from hubbub.learn.base.inputs import numbers_of
from hubbub.learn.base.parameters import pair_of
from hubbub.learn.base.shapes import array_of, column_listed
from hubbub.learn.training.network import Floats, Labels
from hubbub.terms import MissingParameter, OutOfRange, Real, WrongShape, identity_of

_PLAIN = (int, float, str, bool)  # equal to a class if a dictionary says so


@dataclass(frozen=True, slots=True)
class ClassTarget:
    """Labels that are one of some classes."""

    classes: NDArray[Any]
    outputs: int  # one score for two classes, else one per class
    identity: Mapping[str, object]  # what makes two targets the same
    learned: Mapping[str, object]  # what a fitted estimator knows of it

    def read(self, y: ArrayLike, rows: int) -> Labels:
        """The class numbers of y, one per row of X; -1 for what is none of the classes."""
        return class_numbers(y, self.classes, rows)


@dataclass(frozen=True, slots=True)
class NumberTarget:
    """Numbers between public bounds."""

    bounds: tuple[float, float]
    identity: Mapping[str, object]  # what makes two targets the same
    learned: Mapping[str, object]  # what a fitted estimator knows of it
    outputs: int = 1

    def read(self, y: ArrayLike, rows: int) -> Floats:
        """y clipped to its bounds and moved to -1..1; what is not a finite number counts as the middle."""
        return targets_of(y, self.bounds, rows)


Target = ClassTarget | NumberTarget


class HasClasses(Protocol):
    """Whoever declares classes, or counts them as public."""

    classes: ArrayLike | None


class HasTargetBounds(Protocol):
    """Whoever declares the bounds of y."""

    target_bounds: tuple[Real, Real] | None


def class_target(estimator: HasClasses, facts: FitFacts) -> ClassTarget:
    """The declared classes; or those of y, which is looked at only if no ledger is charged."""
    if estimator.classes is not None:
        classes = _declared_classes(estimator.classes)
    elif facts.account is None and facts.y is not None:
        classes = classes_of(facts.y)
    else:
        name = type(estimator).__name__
        raise MissingParameter(
            f"{name} needs classes= when a ledger is charged.",
            why="The charge comes before y is read, and depends on how many classes there are.",
            fix=f"Write {name}(..., classes=[0, 1]).",
        )
    identity = {"classes": identity_of(classes.tolist())}  # 1 is not "1"
    return ClassTarget(classes, 1 if len(classes) == 2 else len(classes), identity, {"classes_": classes})


def number_target(estimator: HasTargetBounds) -> NumberTarget:
    """The declared bounds of y, or a refusal with the line to add."""
    if estimator.target_bounds is None:
        name = type(estimator).__name__
        raise MissingParameter(
            f"{name} needs target_bounds=, the smallest and largest value of y.",
            why="Without them one row could move the model without limit, and reading them from y would tell about it.",
            fix=f"Write {name}(..., target_bounds=(0, 100)).",
        )
    bounds = pair_of(estimator.target_bounds, "target_bounds")
    return NumberTarget(bounds, {"targets": list(map(str, bounds))}, {"target_bounds_": bounds})


def _declared_classes(classes: ArrayLike) -> NDArray[Any]:
    declared = np.unique(np.asarray(classes))
    if len(declared) < 2:
        raise OutOfRange(
            "classes= needs at least two class labels.", why="There is nothing to tell apart.", fix="Declare all."
        )
    return declared


# ---------------------------------------------------------------- classes


def classes_of(y: ArrayLike) -> NDArray[Any]:
    """The different labels of y, sorted."""
    values = column_of(_one_type(y))
    if values.dtype.kind == "f" and not _all_whole(values):
        raise OutOfRange(
            "Unknown label type: continuous. y holds numbers that are no class labels, or NaN or infinity.",
            why="A classifier needs classes.",
            fix="Give y as integers or strings.",
        )
    try:
        classes = np.unique(values)
    except TypeError:
        raise OutOfRange(
            "Unknown label type: y holds values that cannot be put in order.",
            why="The set of labels counts as public if it is not declared.",
            fix="Declare the classes that there may be: classes=[...].",
        ) from None
    if len(classes) < 2:
        raise OutOfRange(
            "y holds one class, and a classifier needs at least two class labels.",
            why="There is nothing to tell apart.",
            fix="Declare the classes that there may be: classes=[...].",
        )
    return classes


def _one_type(y: Any) -> Any:
    """Labels as one array of a type that all of them have: labels that nobody declared count as public."""
    if isinstance(y, list | tuple):
        with contextlib.suppress(ValueError):
            return np.asarray(y)
    if is_column(y) or columns_in(y) is not None:
        values = array_of(y, name="y")
        return np.asarray(values.tolist()) if set(map(type, values.flat)) <= {bool, int, float} else values
    return y


def _all_whole(values: NDArray[Any]) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def class_numbers(y: ArrayLike, classes: NDArray[Any], rows: int) -> Labels:
    """The class numbers of y, one per row of X; -1 for what is none of the classes."""
    labels = labels_of(y, classes)
    if len(labels) != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one class.", fix="Give one label per row of X."
        )
    return labels


def labels_of(y: ArrayLike, classes: NDArray[Any]) -> Labels:
    """The class numbers of y, -1 where it is none of them: each label by itself, whatever the others are."""
    values = column_of(y)
    if values.dtype.kind == "O":
        numbers = {name: number for number, name in reversed(list(enumerate(classes.tolist())))}
        return np.array([_class_number(value, numbers) for value in values], dtype=np.int64)
    order = np.argsort(classes)
    try:
        nearest = order[np.clip(np.searchsorted(classes[order], values), 0, len(classes) - 1)]
    except TypeError:  # a type of label that cannot be compared with the classes
        return np.full(len(values), -1)
    return np.where(classes[nearest] == values, nearest, -1)


def _class_number(value: Any, numbers: dict[Any, int]) -> int:
    """Which class a label is, or -1."""
    if type(value) in _PLAIN:
        return numbers.get(value, -1)
    try:
        return next((number for name, number in numbers.items() if bool(value == name)), -1)
    except (Exception, SystemExit):  # whatever it is, it is one label of one row
        return -1


# ---------------------------------------------------------------- columns


def column_of(y: ArrayLike | None) -> NDArray[Any]:
    """y as one flat column; of a list, one of objects: as one type, one large number would round all others."""
    values = column_listed(y) if isinstance(y, list | tuple) else array_of(y, name="y")
    if values.ndim == 2 and values.shape[1] == 1:
        warnings.warn(
            "y came as a column of a table; one label per row was expected.", DataConversionWarning, stacklevel=5
        )
        values = values.ravel()
    if values.ndim != 1:
        raise WrongShape(
            f"y has {values.ndim} dimensions and needs 1: y should be a 1d array.",
            why="Each row has one class.",
            fix="Give one label per row.",
        )
    return values


def targets_of(y: ArrayLike, bounds: tuple[float, float], rows: int) -> Floats:
    """y clipped to its bounds and moved to -1..1; what is not a finite number counts as the middle."""
    values = numbers_of(column_of(y))
    if len(values) != rows:
        raise WrongShape(
            "X and y have different numbers of rows.", why="Each row has one target.", fix="Give one per row of X."
        )
    middle, half = (bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2
    known = np.where(np.isfinite(values), values, middle)
    return np.clip((np.clip(known, *bounds) - middle) / half, -1.0, 1.0)
