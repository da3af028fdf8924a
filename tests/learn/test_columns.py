"""StandardScaler, GaussianNB, KMeans and PCA: the contract, closed forms without noise, and bundled tables."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.learn import PCA, GaussianNB, KMeans, StandardScaler
from hubbub.learn.estimators.kmeans import cluster_sums, nearest_centre, spread_points
from hubbub.learn.training.moments import Grid, bounded_entries
from hubbub.terms import MissingParameter, OutOfRange, ReversedBounds, WrongShape

from .contract import DELTA
from .sums_contract import SumContract

LOOSE: dict[str, Any] = {"epsilon": 1e6, "delta": DELTA}


class TestStandardScaler(SumContract):
    kind = StandardScaler
    standard = {"bounds": (-1, 1)}
    needed = ("bounds",)
    method = "transform"


class TestStandardScalerWithPrivateBounds(SumContract):
    kind = StandardScaler
    standard = {"bounds": "private"}
    method = "transform"


class TestGaussianNB(SumContract):
    kind = GaussianNB
    standard = {"bounds": (-1, 1)}
    needed = ("bounds",)
    declared = {"classes": [0, 1]}


class TestKMeans(SumContract):
    kind = KMeans
    standard = {"n_clusters": 3, "bounds": (-1, 1)}
    needed = ("bounds",)


class TestPCA(SumContract):
    kind = PCA
    standard = {"norm": 1.0}
    needed = ("norm",)
    method = "transform"


# ---------------------------------------------------------------- StandardScaler


def test_without_noise_columns_are_scaled_as_scikit_learn_does() -> None:
    from sklearn.preprocessing import StandardScaler as Plain

    X = np.random.default_rng(1).normal([50, 3, -2], [10, 1, 0.5], (4000, 3))
    bounds = [(0, 120), (-5, 10), (-10, 10)]
    ours, theirs = StandardScaler(bounds=bounds, **LOOSE).fit(X), Plain().fit(X)
    assert np.allclose(ours.transform(X), theirs.transform(X), atol=0.01)
    assert np.allclose(ours.inverse_transform(ours.transform(X)), X)


def test_private_bounds_are_paid_for_and_near() -> None:
    X = np.random.default_rng(1).normal([50, 3], [10, 0.4], (5000, 2))
    scaler = StandardScaler(epsilon=1, delta=DELTA, bounds="private").fit(X)
    assert scaler.event_.times == 2 and epsilon(scaler.event_, delta=DELTA) <= 1  # type: ignore[attr-defined]
    assert np.abs(scaler.mean_ - [50, 3]).max() < 2
    assert (scaler.bounds_[:, 1] <= [256, 16]).all()


@pytest.mark.parametrize(
    ("bounds", "error"),
    [
        (None, MissingParameter),
        ((1, 0), ReversedBounds),
        ([(0, 1)] * 3, WrongShape),
        ([(0, 1, 2)] * 2, WrongShape),
        ("public", OutOfRange),
        ((0, float("inf")), OutOfRange),
    ],
)
def test_bad_bounds_are_refused(bounds: Any, error: type[Exception]) -> None:
    with pytest.raises(error):
        StandardScaler(epsilon=1, delta=DELTA, bounds=bounds).fit(np.zeros((5, 2)))


# ---------------------------------------------------------------- GaussianNB


def test_without_noise_naive_bayes_is_scikit_learns() -> None:
    from sklearn.datasets import load_wine
    from sklearn.naive_bayes import GaussianNB as Plain

    X, y = load_wine(return_X_y=True)
    X = X / X.max(axis=0)
    ours, theirs = GaussianNB(bounds=(0, 1), **LOOSE).fit(X, y), Plain(var_smoothing=0).fit(X, y)
    assert np.allclose(ours.theta_, theirs.theta_, atol=1e-3)
    assert np.allclose(ours.var_, theirs.var_, rtol=0.05, atol=2e-4)  # the noise that is left, six times over
    assert np.mean(ours.predict(X) == theirs.predict(X)) > 0.98


def test_the_breast_cancer_table_is_learned() -> None:
    from sklearn.datasets import load_breast_cancer

    X, y = load_breast_cancer(return_X_y=True)
    X = X / X.max(axis=0)  # as if the largest values were public
    scores = [GaussianNB(epsilon=1, delta=DELTA, bounds=(0, 1)).fit(X, y).score(X, y) for _ in range(5)]
    assert np.median(scores) > 0.85


# ---------------------------------------------------------------- KMeans


def blobs(rows: int = 3000) -> tuple[Any, Any]:
    generator = np.random.default_rng(4)
    centres = np.array([[-0.6, -0.6], [0.6, 0.5], [0.5, -0.7], [-0.5, 0.6]])
    return centres[generator.integers(0, 4, rows)] + generator.normal(0, 0.08, (rows, 2)), centres


def test_clusters_are_found() -> None:
    X, centres = blobs()
    models = [KMeans(4, epsilon=1, delta=DELTA, bounds=(-1, 1)).fit(X) for _ in range(3)]
    off = [max(np.linalg.norm(m.cluster_centers_ - c, axis=1).min() for c in centres) for m in models]
    assert np.median(off) < 0.1
    assert set(models[0].fit_predict(X)) <= set(range(4))
    assert models[0].score(X) < 0


def test_a_row_moves_the_sums_of_one_cluster_only() -> None:
    grid, (X, _) = Grid(20), blobs(60)
    entries = bounded_entries(X, np.full(2, -0.5), np.full(2, 0.5), grid)
    labels = nearest_centre(entries, spread_points(5, 2), grid)
    old = cluster_sums(entries, labels, 5, grid)
    for i in range(60):
        rest = np.delete(np.arange(60), i)
        assert np.array_equal(nearest_centre(entries[rest], spread_points(5, 2), grid), labels[rest])
        moved = (old - cluster_sums(entries[rest], labels[rest], 5, grid)) / grid.unit
        assert np.linalg.norm(moved) <= 3**0.5
        assert np.count_nonzero(np.abs(moved.reshape(5, 3)).sum(axis=1)) == 1


def test_the_nearest_centre_is_the_nearest_and_the_first_of_equals() -> None:
    grid, centres = Grid(20), spread_points(6, 3)
    entries = np.rint(np.random.default_rng(1).uniform(-1, 1, (500, 3)) * grid.one)
    far = ((entries[:, None] / grid.one - centres[None]) ** 2).sum(axis=2)
    assert np.mean(nearest_centre(entries, centres, grid) == far.argmin(axis=1)) > 0.995
    assert nearest_centre(np.zeros((1, 1)), np.array([[0.5], [-0.5]]), grid).tolist() == [0]


# ---------------------------------------------------------------- PCA


def test_without_noise_components_are_those_of_scikit_learn() -> None:
    from sklearn import decomposition
    from sklearn.datasets import load_digits

    X = load_digits(return_X_y=True)[0] - 8
    ours, theirs = PCA(3, norm=70, **LOOSE).fit(X), decomposition.PCA(3).fit(X)
    alike = np.abs((ours.components_ * theirs.components_).sum(axis=1))
    assert alike.min() > 0.999
    assert np.allclose(ours.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=0.002)
    assert np.allclose(ours.inverse_transform(ours.transform(X)).mean(axis=0), X.mean(axis=0), atol=0.05)


def test_most_of_the_variance_is_kept_privately() -> None:
    generator = np.random.default_rng(5)
    X = np.hstack([generator.normal(0, 0.3, (4000, 2)), generator.normal(0, 0.03, (4000, 10))])
    kept = [PCA(2, epsilon=1, delta=DELTA, norm=1).fit(X).transform(X).var(axis=0).sum() for _ in range(3)]
    assert np.median(kept) > 0.9 * X.var(axis=0).sum()


def test_there_are_no_more_components_than_columns() -> None:
    with pytest.raises(OutOfRange):
        PCA(3, epsilon=1, delta=DELTA, norm=1).fit(np.zeros((10, 2)))


def test_a_transformed_row_does_not_depend_on_where_it_stands() -> None:
    X = np.random.default_rng(6).normal(0, 0.1, (50, 7))
    model = PCA(3, epsilon=1, delta=DELTA, norm=1).fit(X)
    together = model.transform(X)
    assert all(np.array_equal(together[i], model.transform(X[i : i + 1])[0]) for i in range(50))
