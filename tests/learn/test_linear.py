"""LinearRegression and Ridge: the contract, and least squares where noise vanishes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.learn import LinearRegression, Ridge
from hubbub.learn.estimators.linear_regression import adaptive_ridge
from hubbub.terms import OutOfRange, ReversedBounds

from .contract import DELTA
from .sums_contract import SumContract


class TestLinearRegression(SumContract):
    kind = LinearRegression
    standard = {"norm": 1.0, "target_bounds": (-1, 2)}
    needed = ("norm", "target_bounds")


class TestRidge(SumContract):
    kind = Ridge
    standard = {"norm": 1.0, "target_bounds": (-1, 2)}
    needed = ("norm", "target_bounds")


def table(rows: int = 3000) -> tuple[Any, Any]:
    generator = np.random.default_rng(2)
    X = generator.uniform(-1, 1, (rows, 5))
    return X, X @ [1, 2, 3, -1, 0] + generator.normal(0, 0.3, rows) + 4


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("alpha", [0, 500])
def test_without_noise_it_is_scikit_learns(intercept: bool, alpha: float) -> None:
    from sklearn.linear_model import Ridge as Plain

    X, y = table()
    given: dict[str, Any] = {"epsilon": 1e5, "delta": DELTA, "norm": 5**0.5, "target_bounds": (-10, 10)}
    ours = Ridge(alpha=alpha, fit_intercept=intercept, **given).fit(X, y)
    theirs = Plain(alpha=alpha, fit_intercept=intercept).fit(X, y)
    assert np.abs(ours.coef_ - theirs.coef_).max() < 1e-3
    assert abs(ours.intercept_ - theirs.intercept_) < 1e-3
    assert ours.score(X, y) == pytest.approx(theirs.score(X, y), abs=1e-3)


def test_a_table_of_scikit_learn_is_learned() -> None:
    """Two standardized columns of the diabetes table, which has 442 rows: R^2 near least squares at epsilon 4."""
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    X = X[:, [2, 8]] * 10
    plain = LinearRegression(epsilon=1e6, delta=DELTA, norm=1.5, target_bounds=(25, 350)).fit(X, y).score(X, y)
    found = [
        LinearRegression(epsilon=4, delta=DELTA, norm=1.5, target_bounds=(25, 350)).fit(X, y).score(X, y)
        for _ in range(5)
    ]
    assert plain - 0.1 < np.median(found) <= plain + 1e-3


def test_a_singular_table_is_held_by_the_ridge() -> None:
    """Many equal columns: without the ridge the noise alone would decide."""
    X, _ = table()
    wide = np.hstack([X[:, :1]] * 40)
    scores = [
        LinearRegression(epsilon=1, delta=DELTA, norm=40**0.5, target_bounds=(-10, 10))
        .fit(wide, X[:, 0])
        .score(wide, X[:, 0])
        for _ in range(3)
    ]
    assert min(scores) > 0.8


def test_the_ridge_fills_what_the_data_lack() -> None:
    assert adaptive_ridge(np.diag([5.0, 100.0]), 10.0) == 10
    assert adaptive_ridge(np.diag([15.0, 100.0]), 10.0) == 5
    assert adaptive_ridge(np.diag([50.0, 100.0]), 10.0) == 0


def test_predictions_stay_within_the_bounds_of_the_target() -> None:
    X, y = table(60)
    model = LinearRegression(epsilon=0.1, delta=DELTA, norm=1, target_bounds=(3, 5)).fit(X, y)
    assert model.predict(X * 100).min() >= 3 and model.predict(X * 100).max() <= 5


def test_bad_parameters_are_refused() -> None:
    X, y = table(20)
    with pytest.raises(OutOfRange):
        Ridge(alpha=-1, epsilon=1, delta=DELTA, norm=1, target_bounds=(0, 1)).fit(X, y)
    with pytest.raises(ReversedBounds):
        Ridge(epsilon=1, delta=DELTA, norm=1, target_bounds=(1, 0)).fit(X, y)
