"""Additive trees: the contract, exact sums of residuals, and what they learn."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.learn import AdditiveTreesClassifier, AdditiveTreesRegressor
from hubbub.learn.estimators.additive_trees import logistic_residuals
from hubbub.learn.training.boosting import FINE, Bins, Boosting, bin_sums
from hubbub.learn.training.moments import Grid
from hubbub.terms import OutOfRange

from .contract import DELTA
from .sums_contract import SumContract

GRID = Grid(20)


class TestAdditiveTreesClassifier(SumContract):
    kind = AdditiveTreesClassifier
    standard = {"bounds": (-1, 1), "rounds": 3}
    needed = ("bounds",)
    declared = {"classes": [0, 1]}


class TestAdditiveTreesRegressor(SumContract):
    kind = AdditiveTreesRegressor
    standard = {"bounds": (-1, 1), "target_bounds": (-1, 2), "rounds": 3}
    needed = ("bounds", "target_bounds")


@pytest.mark.parametrize("outputs", [1, 3])
def test_a_row_moves_the_sums_of_its_own_bins_by_its_residuals(outputs: int) -> None:
    generator = np.random.default_rng(1)
    bins = Bins(((0.0,), (-0.5, 0.0, 0.5), ()))
    table = generator.uniform(-1, 1, (50, 3))
    codes, labels = bins.codes(table), generator.integers(-1, 2, 50)
    scores = generator.integers(-20 * FINE, 20 * FINE, (50, outputs))
    scores[0], labels[0] = 20 * FINE, 0  # as wrong as can be
    left = logistic_residuals(labels, outputs, GRID)(scores)
    assert np.array_equal(left, np.rint(left)) and np.abs(left).max() <= GRID.one
    old, furthest = bin_sums(codes, left, bins, GRID), 0.0
    for i in range(50):
        rest = np.delete(np.arange(50), i)
        assert np.array_equal(logistic_residuals(labels[rest], outputs, GRID)(scores[rest]), left[rest])
        moved = (old - bin_sums(codes[rest], left[rest], bins, GRID)) / GRID.unit
        furthest = max(furthest, float(np.linalg.norm(moved)))
    claim = (3 * outputs) ** 0.5
    assert 0.8 * claim < furthest <= claim


def test_bins_follow_the_ends_and_hold_everything() -> None:
    bins = Bins(((0.0, 1.0), (5.0,)))
    assert bins.codes(np.array([[-9.0, 4.9], [0.0, 5.0], [1e300, -1e300]])).tolist() == [[0, 3], [1, 4], [2, 3]]
    assert bins.sizes == [3, 2] and bins.starts == [0, 3] and bins.total == 5


def test_leaves_are_runs_of_bins_of_one_column() -> None:
    machine = Boosting(rounds=1, rate=1, leaves=4, curvature=1)
    bins = Bins((tuple(range(9)), (0.0,), tuple(range(20))))
    leaves = machine._leaves(bins, np.random.default_rng(0))
    for start, size in zip(bins.starts, bins.sizes, strict=True):
        own = leaves[start : start + size]
        assert (np.diff(own) >= 0).all() and len(set(own)) == min(4, size)
    assert len(set(leaves)) == leaves.max() + 1 == 4 + 2 + 4


def test_a_step_between_bins_is_learned() -> None:
    generator = np.random.default_rng(2)
    X = generator.uniform(-1, 1, (4000, 3))
    y = (np.abs(X[:, 0]) > 0.5) ^ (X[:, 1] > 2)  # no line separates it
    model = AdditiveTreesClassifier(epsilon=1, delta=DELTA, bounds=(-1, 1)).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)
    inside, outside = model.term_scores_[0][6:10, 0], model.term_scores_[0][:3, 0]
    assert inside.max() < 0 < outside.min()


def test_three_classes_are_told_apart() -> None:
    from sklearn.datasets import load_wine

    X, y = load_wine(return_X_y=True)
    X = X / X.max(axis=0)
    model = AdditiveTreesClassifier(epsilon=1e5, delta=DELTA, bounds=(0, 1)).fit(X, y)
    assert model.score(X, y) > 0.97 and model.decision_function(X).shape == (178, 3)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_a_curve_is_learned() -> None:
    generator = np.random.default_rng(3)
    X = generator.uniform(-1, 1, (5000, 2))
    y = np.sin(3 * X[:, 0]) + X[:, 1] ** 2
    model = AdditiveTreesRegressor(epsilon=1, delta=DELTA, bounds=(-1, 1), target_bounds=(-1, 2)).fit(X, y)
    assert model.score(X, y) > 0.9


@pytest.mark.parametrize("changes", [{"bins": [4]}, {"bins": [[1, 0]] * 4}, {"bins": 0}, {"leaves": 1}, {"rounds": 0}])
def test_bad_bins_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(OutOfRange):
        AdditiveTreesClassifier(epsilon=1, delta=DELTA, bounds=(0, 1), **changes).fit(np.zeros((4, 4)), [0, 1, 0, 1])
