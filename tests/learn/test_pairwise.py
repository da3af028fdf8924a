"""Losses over pairs: what one row moves, the two ways to get it wrong, rounding, and the estimators."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.learn import BipartiteRanker, MetricLearner
from hubbub.learn.training.network import Examples, Floats
from hubbub.learn.training.pairwise_sums import MetricPairs, RankingPairs
from hubbub.terms import OutOfRange, TooLarge

from .contract import DELTA
from .sums_contract import SumContract


class TestBipartiteRanker(SumContract):
    kind = BipartiteRanker
    standard = {"norm": 1.0, "max_iter": 3}
    needed = ("norm",)
    declared = {"classes": [0, 1]}
    method = "decision_function"


class TestMetricLearner(SumContract):
    kind = MetricLearner
    standard = {"norm": 1.0, "max_iter": 3}
    needed = ("norm",)
    declared = {"classes": [0, 1]}
    method = "transform"


# ---------------------------------------------------------------- what is computed


def examples(inputs: Floats, labels: Any) -> Examples:
    return Examples(inputs, (inputs**2).sum(axis=1), np.asarray(labels))


def some(count: int, *, classes: int = 2, seed: int = 1) -> Examples:
    generator = np.random.default_rng(seed)
    inputs = generator.standard_normal((count, 4))
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True) * generator.uniform(1, 2, (count, 1))
    return examples(inputs, generator.integers(-1, classes, count))  # -1: of no class


def slope(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def pair(network: Any, weights: Floats, data: Examples, i: int, j: int) -> Any:
    """The gradient of the loss of one pair, written out in extended precision; None if it is no pair."""
    x, z = data.inputs[i].astype(np.longdouble), data.inputs[j].astype(np.longdouble)
    a, b = int(data.labels[i]), int(data.labels[j])
    if a < 0 or b < 0:
        return None
    if isinstance(network, RankingPairs):
        if a == b:
            return None
        apart = x - z if a == 1 else z - x
        return -slope(-(apart @ weights)) * apart
    apart = x - z
    distance = apart @ network.matrix(weights).astype(np.longdouble) @ apart
    sign, weight = (1, 1.0) if a == b else (-1, 1 / (network.widths[1] - 1))
    return (sign * weight * slope(sign * (distance - 1)) * np.outer(apart, apart)).ravel()


def by_hand(network: Any, weights: Floats, data: Examples, *, limit: float) -> Any:
    """All pairs, one by one, each clipped; over the number of rows that have a class."""
    total = np.zeros(network.size, dtype=np.longdouble)
    for i in range(len(data)):
        for j in range(i):
            one = pair(network, weights, data, i, j)
            if one is not None:
                total += one * min(1, limit / max(np.linalg.norm(one.astype(float)), 1e-300))
    return total / max(1, int((data.labels >= 0).sum()))


def made(kind: str, seed: int = 1) -> tuple[Any, Floats]:
    generator = np.random.default_rng(seed)
    network = RankingPairs((4, 1), bias=0.0) if kind == "ranking" else MetricPairs((4, 3), bias=0.0)
    return network, network.project(3 * generator.standard_normal(network.size))


@pytest.mark.parametrize("kind", ["ranking", "metric"])
@pytest.mark.parametrize("clip", [0.1, 0.7, 20.0])
def test_the_sum_is_that_of_all_pairs_each_clipped_up_to_the_rounding(kind: str, clip: float) -> None:
    network, weights = made(kind)
    data = some(40, classes=2 if kind == "ranking" else 3)
    exact = by_hand(network, weights, data, limit=clip if kind == "ranking" else clip / 1.5)
    off = np.linalg.norm((network.clipped_sum(weights, data, None, clip=clip) - exact).astype(float))
    assert float(np.linalg.norm(exact.astype(float))) > 0
    assert off <= network.error(rows=40, clip=clip) < 1e-6  # and the bound is of use


# ---------------------------------------------------------------- what one row moves


def moved(network: Any, weights: Floats, data: Examples, *, clip: float) -> float:
    """The most by which leaving out one row moves the sum."""
    every = np.arange(len(data))
    total = network.clipped_sum(weights, data, every, clip=clip)
    left = [network.clipped_sum(weights, data, np.delete(every, i), clip=clip) for i in every]
    return max(float(np.linalg.norm(total - one)) for one in left)


@pytest.mark.parametrize("kind", ["ranking", "metric"])
def test_one_row_moves_the_sum_by_at_most_the_clip(kind: str, soak: int) -> None:
    for seed in range(10 * soak):
        network, weights = made(kind, seed)
        data = some(2 + seed % 30, classes=2 if kind == "ranking" else 3, seed=seed)
        for clip in (0.1, 1.0):
            assert moved(network, weights, data, clip=clip) <= clip + 2 * network.error(rows=32, clip=clip)


def crowd(count: int) -> Examples:
    """One row against many that all pull the same way: the worst that can come."""
    inputs = np.tile([-1.0, 0, 0, 0], (count, 1))
    inputs[0] = [1.0, 0, 0, 0]
    return examples(inputs, [1, *[0] * (count - 1)])


@pytest.mark.parametrize(("kind", "reached"), [("ranking", 1.0), ("metric", 2 / 3)])
def test_the_bound_is_reached_for_ranking_and_two_thirds_of_it_for_all_pairs(kind: str, reached: float) -> None:
    network, data = made(kind)[0], crowd(400)
    weights = np.zeros(network.size)
    total = network.clipped_sum(weights, data, None, clip=0.5)
    without = network.clipped_sum(weights, data, np.arange(1, 400), clip=0.5)
    assert 0.99 * reached < np.linalg.norm(total - without) / 0.5 <= 1.0


def test_a_sum_over_pairs_that_is_not_divided_moves_by_the_size_of_the_batch() -> None:
    """The first wrong way: a pair counts as an example."""
    network = RankingPairs((4, 1), bias=0.0)
    data = crowd(50)
    with_all = network.clipped_sum(np.zeros(4), data, None, clip=1.0) * 50
    without = network.clipped_sum(np.zeros(4), data, np.arange(1, 50), clip=1.0) * 49
    assert np.linalg.norm(with_all - without) > 48


def test_clipping_what_each_row_adds_bounds_nothing() -> None:
    """The second wrong way: per-row sums are clipped, but a row that leaves changes the sums of all others."""

    def total(data: Examples) -> Any:
        network, found = RankingPairs((4, 1), bias=0.0), np.zeros(4)
        for i in range(len(data)):
            pairs = [pair(network, np.zeros(4), data, i, j) for j in range(len(data)) if j != i]
            own = np.sum([one for one in pairs if one is not None] or [np.zeros(4)], axis=0).astype(float)
            found += own / max(1.0, float(np.linalg.norm(own)))
        return found

    data = crowd(30)
    rest = examples(data.inputs[1:], data.labels[1:])
    assert np.linalg.norm(total(data) - total(rest)) > 10  # though each row's part has norm 1


def test_a_batch_without_pairs_adds_nothing() -> None:
    for kind in ("ranking", "metric"):
        network, weights = made(kind)
        data = examples(np.eye(4), [1, 1, -1, -1] if kind == "ranking" else [0, -1, -1, -1])
        for rows in (None, np.arange(0), np.arange(1)):
            assert not network.clipped_sum(weights, data, rows, clip=1.0).any()


# ---------------------------------------------------------------- the estimators


def test_ranking_finds_an_order_that_no_threshold_needs() -> None:
    generator = np.random.default_rng(5)
    X = generator.uniform(-0.5, 0.5, (2000, 3))
    y = generator.random(2000) < 1 / (1 + np.exp(-8 * (X[:, 0] - X[:, 2]) + 3))  # few are positive
    model = BipartiteRanker(epsilon=1, delta=DELTA, norm=1.0, batch_size=400).fit(X, y)
    assert model.score(X, y) > 0.92  # and 0.94 for the score that y was made with
    assert np.allclose(model.decision_function(X), X @ model.coef_)


def test_the_score_is_the_area_under_the_curve() -> None:
    from sklearn.metrics import roc_auc_score

    X, y = np.random.default_rng(6).uniform(-0.5, 0.5, (300, 2)).round(1), np.arange(300) % 3 == 0
    model = BipartiteRanker(epsilon=1, delta=DELTA, norm=1.0, max_iter=2).fit(X, y)
    assert model.score(X, y) == pytest.approx(roc_auc_score(y, model.decision_function(X)))
    assert model.score(X[y], y[y]) == 0.5  # nothing to compare with


def test_a_learned_distance_sees_what_matters() -> None:
    generator = np.random.default_rng(7)
    y = generator.integers(0, 3, 2000)
    X = generator.uniform(-0.4, 0.4, (2000, 4))
    X[:, 0] = 0.3 * (y - 1) + generator.normal(0, 0.05, 2000)
    model = MetricLearner(epsilon=1, delta=DELTA, norm=1.0, batch_size=400).fit(X, y)
    strength = np.linalg.norm(model.components_, axis=0)
    assert strength[0] > 1.5 * strength[1:].max()


def test_the_distance_is_that_of_transformed_rows() -> None:
    X, y = some(60, classes=2).inputs, np.arange(60) % 2
    model = MetricLearner(epsilon=1, delta=DELTA, norm=2.0, max_iter=2).fit(X, y)
    found = model.transform(X)
    network = MetricPairs((4, 2), bias=0.0)
    matrix = network.matrix(network.project(model.weights_)) / 4  # rows are over a norm of 2
    for i, j in ((0, 1), (5, 9)):
        apart = X[i] - X[j]
        assert np.sum((found[i] - found[j]) ** 2) == pytest.approx(apart @ matrix @ apart)


def test_three_classes_have_no_bipartite_ranking() -> None:
    with pytest.raises(OutOfRange):
        BipartiteRanker(epsilon=1, delta=DELTA, norm=1.0).fit(np.eye(3), [0, 1, 2])


def test_a_batch_whose_pairs_do_not_fit_is_refused_before_reading() -> None:
    from .contract import Unread

    for given in ({"batch_size": 20_000}, {"sampling": "full"}):
        with pytest.raises(TooLarge):
            BipartiteRanker(epsilon=1, delta=DELTA, norm=1.0, classes=[0, 1], **given).fit(
                Unread(30_000, 4), Unread(30_000)
            )


def test_there_are_no_classes_to_predict() -> None:
    for kind in (BipartiteRanker, MetricLearner):
        assert not hasattr(kind(), "predict") and not hasattr(kind(), "predict_proba")
    assert not hasattr(MetricLearner(), "decision_function") and not hasattr(MetricLearner(), "score")
