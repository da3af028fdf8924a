"""Teachers: models that are trained without privacy on a shard each, and vote on public rows.

A teacher is a function of its own shard and its own coins. Whatever it does wrong stays inside: a shard without rows,
or on which training fails, abstains, so that its failure is at most one vote.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from typing import Any, Protocol, Self, TypeAlias

import numpy as np
from numpy.typing import ArrayLike
from sklearn.linear_model import RidgeClassifier

from hubbub.learn.training.network import Floats, Labels
from hubbub.terms import NotANumber, WrongShape

ABSTAINS = -1
_TRIED = 100  # public rows on which a teacher is tried


class Voter(Protocol):
    """A classifier that votes by class numbers, once it is fitted."""

    def predict(self, rows: Floats, /) -> ArrayLike:
        """The class number of each row."""
        ...


class Teacher(Protocol):
    """A classifier, as scikit-learn has it, that learns class numbers."""

    def fit(self, rows: Floats, labels: Labels, /) -> Voter:
        """Learn from a shard."""
        ...


Factory: TypeAlias = Callable[[], Teacher]


class LeastSquaresTeacher:
    """scikit-learn's RidgeClassifier with a penalty that follows the scale of the rows; quick for many columns.

    ``l2`` is the penalty in terms of the mean squared length of a centred row.
    """

    def __init__(self, l2: float = 0.3) -> None:
        self.l2 = l2

    def fit(self, rows: Floats, labels: Labels) -> Self:
        """Learn from rows and class numbers."""
        centred = rows - rows.mean(axis=0)
        penalty = max(self.l2 * float(np.mean(np.sum(centred**2, axis=1))), 1e-12)
        self._ridge = RidgeClassifier(alpha=penalty).fit(rows, labels)
        return self

    def predict(self, rows: Floats) -> Labels:
        """The class number of each row."""
        return np.asarray(self._ridge.predict(rows))


def factory_of(teacher: Teacher | Factory | None) -> Factory:
    """How a fresh teacher is made: from a function without arguments, or from an estimator that is copied."""
    if teacher is None:
        return LeastSquaresTeacher
    if hasattr(teacher, "fit") and not isinstance(teacher, type):
        return lambda: copy.deepcopy(teacher)
    if callable(teacher):
        return teacher
    raise NotANumber(
        f"teacher= must be an estimator or a function that makes one and is a {type(teacher).__name__}.",
        why="Every shard trains a fresh one.",
        fix="Write teacher=sklearn.linear_model.LogisticRegression(), or leave it out.",
    )


def try_teacher(make: Factory, public: Floats, classes: int) -> None:
    """Let a teacher learn public rows with made-up labels, and vote: what is wrong with it shows before a charge.

    On a shard its failures are silent. So here it may say what went wrong: nothing here is about anybody.
    """
    rows = public[:_TRIED].copy()
    if len(rows) < 2 * classes:
        return
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            votes = make().fit(rows, np.arange(len(rows)) % classes).predict(rows)
    except Exception as failure:
        raise NotANumber(
            f"the teacher fails on public rows with made-up labels: {failure}",
            why="A teacher that fails on its shard says nothing, and abstains.",
            fix="Give a teacher with fit(X, y) and predict(X) for classes that are numbered from 0.",
        ) from None
    _class_votes(votes, len(rows), classes)


def votes_of_one(make: Factory, rows: Floats, labels: Labels, asked: Floats, classes: int) -> Labels:
    """What one teacher says of each row of ``asked``: a class number, or ABSTAINS.

    Guarantee: none by itself; the votes depend on this shard alone, and nothing in it raises or warns.
    Because: they enter a histogram that moves by sqrt(2) at most [PSMRTE18, Sec. 3]; ``docs/proofs/pate.md``.
    """
    if len(labels) == 0:
        return np.full(len(asked), ABSTAINS)
    if (labels == labels[0]).all():
        return np.full(len(asked), labels[0])
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return _class_votes(make().fit(rows, labels).predict(asked), len(asked), classes)
    except (Exception, SystemExit):  # whatever it is, it is about one shard, and must not be told
        return np.full(len(asked), ABSTAINS)


def _class_votes(predicted: Any, count: int, classes: int) -> Labels:
    """Predictions as class numbers; what is none abstains."""
    values = np.asarray(predicted)
    if values.shape != (count,):
        raise WrongShape(
            "a teacher's predict did not give one label per row.",
            why="Each teacher has one vote per question.",
            fix="Use an estimator whose predict gives a flat array.",
        )
    numbers = values.astype(np.float64)
    known = (numbers >= 0) & (numbers < classes) & (numbers == np.floor(numbers))
    return np.where(known, numbers, ABSTAINS).astype(np.int64)
