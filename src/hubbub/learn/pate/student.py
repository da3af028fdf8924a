"""The student: learns from public rows and the released answers alone, so whatever it does is free.

The default one spreads the answers over a graph of nearest neighbours among the public rows, also those that nobody was
asked about, and gives a new row what its own neighbours have.
"""

from __future__ import annotations

import warnings
from typing import Protocol, Self

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.neighbors import NearestNeighbors
from sklearn.semi_supervised import LabelSpreading

from hubbub.learn.training.network import Floats, Labels

_TINY = 1e-300


class TaughtStudent(Protocol):
    """A classifier that was fitted."""

    classes_: Labels

    def predict(self, rows: Floats, /) -> Labels:
        """The class number of each row."""
        ...


class Student(Protocol):
    """A classifier, as scikit-learn has it; with ``takes_unlabelled`` it also sees rows of class -1."""

    def fit(self, rows: Floats, labels: Labels, /) -> TaughtStudent:
        """Learn from public rows."""
        ...


class GraphStudent:
    """Labels spread along nearest neighbours [ZBLWS03]: few answers suffice where classes lie apart.

    scikit-learn's LabelSpreading, on a graph in which distances count in terms of how far neighbours are.
    ``neighbours`` of each row are linked; ``alpha`` is how much a row listens to them, ``rounds`` how often.
    """

    takes_unlabelled = True

    def __init__(self, neighbours: int = 10, alpha: float = 0.99, rounds: int = 80) -> None:
        self.neighbours, self.alpha, self.rounds = neighbours, alpha, rounds

    def fit(self, rows: Floats, labels: Labels) -> Self:
        """Learn from rows and class numbers, -1 where there is none."""
        self.classes_, counts = np.unique(labels[labels >= 0], return_counts=True)
        self._prior = counts / counts.sum()
        self._near = NearestNeighbors(algorithm="brute").fit(rows)
        gaps, places = self._near.kneighbors(rows, min(self.neighbours + 1, len(rows)))
        gaps, places = gaps[:, 1:] ** 2, places[:, 1:]  # the first one is the row itself, or its twin
        self._radius = gaps.max(axis=1, initial=0.0)
        graph = _symmetric_graph(places, self._closeness(places, gaps, self._radius))
        spreading = LabelSpreading(kernel=lambda x, y: graph, alpha=self.alpha, max_iter=self.rounds, tol=0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it stops after so many rounds
            spreading.fit(rows, labels)
        self._shares = _rows_as_shares(spreading.label_distributions_, self._prior)
        return self

    def predict_proba(self, rows: Floats) -> Floats:
        """How much of the neighbours' labels is of each class."""
        gaps, places = self._near.kneighbors(rows, min(self.neighbours, self._near.n_samples_fit_))
        weights = self._closeness(places, gaps**2, (gaps**2).max(axis=1))
        return _rows_as_shares(np.einsum("ij,ijk->ik", weights, self._shares[places]), self._prior)

    def predict(self, rows: Floats) -> Labels:
        """The class number of each row."""
        return np.asarray(self.classes_[self.predict_proba(rows).argmax(axis=1)])

    def _closeness(self, places: Labels, gaps: Floats, radius: Floats) -> Floats:
        """Weights of links: distances in terms of how far the neighbours at both ends are."""
        scale = np.sqrt(radius[:, None] * self._radius[places]) + _TINY
        return np.asarray(np.exp(-3 * np.minimum(gaps / scale, 100.0)))


class Constant:
    """A student that has seen one class, or none."""

    def __init__(self, label: int, classes: int) -> None:
        self.classes_ = np.arange(classes)
        self._label = label

    def predict_proba(self, rows: Floats) -> Floats:
        """All on one class."""
        return np.tile(np.eye(len(self.classes_))[self._label], (len(rows), 1))

    def predict(self, rows: Floats) -> Labels:
        """That class."""
        return np.full(len(rows), self._label)


def teach_student(student: Student, rows: Floats, answers: Labels, classes: int) -> TaughtStudent:
    """A student fitted on public rows; only one that takes unlabelled rows sees those without an answer."""
    known = answers >= 0
    seen = np.unique(answers[known])
    if len(seen) < 2:
        return Constant(int(seen[0]) if len(seen) else 0, classes)
    if getattr(student, "takes_unlabelled", False):
        return student.fit(rows, answers)
    return student.fit(rows[known], answers[known])


def _symmetric_graph(places: Labels, weights: Floats) -> csr_matrix:
    """The links in both directions."""
    count, each = places.shape
    links = csr_matrix((weights.ravel(), (np.repeat(np.arange(count), each), places.ravel())), shape=(count, count))
    return csr_matrix((links + links.T) / 2)


def _rows_as_shares(mass: Floats, otherwise: Floats) -> Floats:
    """Rows as shares; a row that nothing reached has ``otherwise``."""
    total = mass.sum(axis=1, keepdims=True)
    return np.where(total > 0, mass / np.maximum(total, _TINY), otherwise)
