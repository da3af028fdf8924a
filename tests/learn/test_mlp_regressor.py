"""MLPRegressor: the contract, its gradients, and a curve that no line follows."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.learn import LinearRegression, MLPRegressor
from hubbub.learn.estimators.mlp_regressor import RegressionNetwork
from hubbub.learn.training.network import Examples, Floats
from hubbub.terms import OutOfRange

from .contract import DELTA
from .sums_contract import SumContract


class TestMLPRegressor(SumContract):
    kind = MLPRegressor
    standard = {"norm": 1.0, "target_bounds": (-1, 2), "max_iter": 4, "hidden_layer_sizes": (8,)}
    needed = ("norm", "target_bounds")


def rows(count: int) -> tuple[RegressionNetwork, Floats, Examples]:
    generator = np.random.default_rng(1)
    inputs = generator.standard_normal((count, 4))
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)
    network = RegressionNetwork((4, 5, 3, 1))
    targets = generator.uniform(-1, 1, count)
    return network, network.start(), Examples(inputs, (inputs**2).sum(axis=1), targets)  # type: ignore[arg-type]


def loss(network: RegressionNetwork, weights: Floats, x: Floats, target: float) -> float:
    """Squared loss, linear beyond a residual of 1."""
    left = abs(float(network.scores(weights, x[None])[0, 0]) - target)
    return left**2 / 2 if left < 1 else left - 0.5


def test_the_gradient_is_the_slope_of_the_loss() -> None:
    network, weights, data = rows(6)
    for i in range(6):
        found = network.clipped_sum(weights, data, np.array([i]), clip=1e9)
        target = float(data.labels[i])
        for k in range(network.size):
            step = np.eye(network.size)[k] * 1e-6
            up, down = (loss(network, weights + sign * step, data.inputs[i], target) for sign in (1, -1))
            assert found[k] == pytest.approx((up - down) / 2e-6, abs=1e-5)


def test_neighbours_move_the_sum_by_at_most_the_clip() -> None:
    network, weights, data = rows(40)
    total = network.clipped_sum(weights, data, None, clip=0.2)
    moved = [
        np.linalg.norm(total - network.clipped_sum(weights, data, np.delete(np.arange(40), i), clip=0.2))
        for i in range(40)
    ]
    assert 0.18 < max(moved) <= 0.2 + 2 * network.error(rows=40, clip=0.2)


def test_it_follows_what_no_line_does() -> None:
    X = np.random.default_rng(5).uniform(-0.7, 0.7, (4000, 2))
    y = 3 * X[:, 0] * X[:, 1]
    network = MLPRegressor(epsilon=2, delta=DELTA, norm=1.0, target_bounds=(-2, 2), hidden_layer_sizes=(16,)).fit(X, y)
    line = LinearRegression(epsilon=2, delta=DELTA, norm=1.0, target_bounds=(-2, 2)).fit(X, y)
    assert network.score(X, y) > 0.9 > 0.3 > line.score(X, y)


@pytest.mark.parametrize("changes", [{"hidden_layer_sizes": ()}, {"max_iter": 0}, {"clip": 0}, {"sampling": "shuffle"}])
def test_bad_settings_are_refused(changes: dict[str, object]) -> None:
    with pytest.raises(OutOfRange):
        MLPRegressor(epsilon=1, delta=DELTA, norm=1.0, target_bounds=(0, 1), **changes).fit(np.zeros((4, 2)), [0] * 4)  # type: ignore[arg-type]
