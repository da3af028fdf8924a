"""The student: learns from public rows and the released answers alone, so whatever it does is free.

The default one spreads the answers over a graph of nearest neighbours among the public rows, also those that nobody was
asked about, and gives a new row what its own neighbours have.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from hubbub.learn.training.network import Floats, Labels

_CHUNK = 1024  # rows whose distances are looked at together
_TINY = 1e-300


class GraphStudent:
    """Labels spread along nearest neighbours [ZBLWS03]: few answers suffice where classes lie apart.

    ``neighbours`` of each row are linked; ``alpha`` is how much a row listens to them, ``rounds`` how often.
    """

    takes_unlabelled = True

    def __init__(self, neighbours: int = 10, alpha: float = 0.99, rounds: int = 80) -> None:
        self.neighbours, self.alpha, self.rounds = neighbours, alpha, rounds

    def fit(self, rows: Floats, labels: Labels) -> Self:
        """Learn from rows and class numbers, -1 where there is none."""
        self.classes_ = np.unique(labels[labels >= 0])
        self._rows = rows
        given = (labels[:, None] == self.classes_).astype(np.float64)
        self._prior = given.mean(axis=0) / max(_TINY, float(given.mean(axis=0).sum()))
        places, gaps = nearest(rows, rows, self.neighbours + 1)
        places, gaps = places[:, 1:], gaps[:, 1:]  # the first one is the row itself, or its twin
        self._reach = gaps.max(axis=1, initial=0.0)
        graph = _graph(places, self._closeness(places, gaps, self._reach))
        spread = given
        for _ in range(self.rounds):
            spread = self.alpha * (graph @ spread) + (1 - self.alpha) * given
        self._spread = _shares(spread, self._prior)
        return self

    def predict_proba(self, rows: Floats) -> Floats:
        """How much of the neighbours' labels is of each class."""
        places, gaps = nearest(rows, self._rows, self.neighbours)
        weights = self._closeness(places, gaps, gaps.max(axis=1))
        return _shares(np.einsum("ij,ijk->ik", weights, self._spread[places]), self._prior)

    def predict(self, rows: Floats) -> Labels:
        """The class number of each row."""
        return np.asarray(self.classes_[self.predict_proba(rows).argmax(axis=1)])

    def _closeness(self, places: Labels, gaps: Floats, reach: Floats) -> Floats:
        """Weights of links: distances in terms of how far the neighbours at both ends are."""
        scale = np.sqrt(reach[:, None] * self._reach[places]) + _TINY
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


def taught(student: Any, rows: Floats, answers: Labels, classes: int) -> Any:
    """A student fitted on public rows; only one that takes unlabelled rows sees those without an answer."""
    known = answers >= 0
    seen = np.unique(answers[known])
    if len(seen) < 2:
        return Constant(int(seen[0]) if len(seen) else 0, classes)
    if getattr(student, "takes_unlabelled", False):
        return student.fit(rows, answers)
    return student.fit(rows[known], answers[known])


def nearest(rows: Floats, others: Floats, count: int) -> tuple[Labels, Floats]:
    """Places and squared distances of the nearest others of each row, from near to far."""
    count = min(count, len(others))
    places = np.empty((len(rows), count), dtype=np.int64)
    gaps = np.empty((len(rows), count))
    lengths = (others**2).sum(axis=1)
    for start in range(0, len(rows), _CHUNK):
        part = rows[start : start + _CHUNK]
        apart = lengths - 2 * part @ others.T + (part**2).sum(axis=1)[:, None]
        found = np.argpartition(apart, count - 1, axis=1)[:, :count]
        order = np.argsort(np.take_along_axis(apart, found, axis=1), axis=1, kind="stable")
        places[start : start + _CHUNK] = np.take_along_axis(found, order, axis=1)
        gaps[start : start + _CHUNK] = np.take_along_axis(apart, places[start : start + _CHUNK], axis=1)
    return places, np.maximum(gaps, 0.0)


def _graph(places: Labels, weights: Floats) -> Any:
    """The links in both directions, scaled so that no row is louder than others."""
    from scipy.sparse import csr_array, diags_array

    count, each = places.shape
    one = csr_array((weights.ravel(), (np.repeat(np.arange(count), each), places.ravel())), shape=(count, count))
    both = (one + one.T) / 2
    quiet = diags_array(1 / np.sqrt(np.maximum(both.sum(axis=1), _TINY)))
    return quiet @ both @ quiet


def _shares(mass: Floats, otherwise: Floats) -> Floats:
    """Rows as shares; a row that nothing reached has ``otherwise``."""
    total = mass.sum(axis=1, keepdims=True)
    return np.where(total > 0, mass / np.maximum(total, _TINY), otherwise)
