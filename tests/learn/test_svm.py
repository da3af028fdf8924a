"""LinearSVC: the contract of classifiers, and its gradients and their rounding."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.learn import LinearSVC
from hubbub.learn.estimators.linear_svc import Margins
from hubbub.learn.solvers import SMOOTH_HINGE
from hubbub.learn.training.network import Examples, Floats

from .contract import DELTA, Contract


class TestLinearSVC(Contract):
    kind = LinearSVC

    @pytest.mark.parametrize("classes", [2, 3])
    def test_it_learns_what_is_easy(self, classes: int) -> None:
        X, y = self.data(classes=classes)
        model = self.make().fit(X, y)
        assert model.score(X, y) > 0.9
        assert np.allclose(np.squeeze(X @ model.coef_.T + model.intercept_), model.decision_function(X))

    def test_the_event_costs_what_was_promised(self) -> None:  # type: ignore[override]
        """With full batches; sampled ones are planned by the same code as those of LogisticRegression."""
        model = self.fast(sampling="full").fit(*self.data(rows=300))
        assert 0.95 < epsilon(model.event_, delta=DELTA) <= 1 and model.event_.times == 5

    def test_an_unfitted_model_says_so(self) -> None:
        from sklearn.exceptions import NotFittedError

        for method in ("predict", "decision_function"):
            with pytest.raises(NotFittedError):
                getattr(self.make(), method)(np.zeros((2, 4)))

    def test_margins_are_no_probabilities(self) -> None:
        assert not hasattr(self.make(), "predict_proba")


def rows(count: int, outputs: int, seed: int = 1) -> tuple[Margins, Floats, Examples]:
    generator = np.random.default_rng(seed)
    inputs = generator.standard_normal((count, 6))
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True) * generator.uniform(1, 2, (count, 1))
    network = Margins((6, outputs), bias=0.3)
    labels = generator.integers(-1, max(2, outputs), count)
    return network, generator.standard_normal(network.size), Examples(inputs, (inputs**2).sum(axis=1), labels)


def gradient(network: Margins, weights: Floats, x: Floats, label: int, precision: Any = np.longdouble) -> Any:
    """One row's gradient, written out: slope of the hinge times the row with its constant."""
    (matrix, offsets), outputs = network.split(weights)[0], network.widths[-1]
    found = np.zeros((len(x) + 1, outputs), dtype=precision)
    row = np.append(x, network.bias).astype(precision)
    for k in range(outputs if label >= 0 else 0):
        sign = 1 if label == (k if outputs > 1 else 1) else -1
        margin = sign * (row[:-1] @ matrix[:, k].astype(precision) + precision(network.bias) * offsets[k])
        found[:, k] = sign * SMOOTH_HINGE.slope(margin) * row
    return np.concatenate([found[:-1].ravel(), found[-1]])


@pytest.mark.parametrize("outputs", [1, 4])
def test_the_clipped_sum_is_the_sum_of_clipped_gradients(outputs: int) -> None:
    network, weights, data = rows(300, outputs)
    for clip in (0.2, 5.0):
        exact = np.zeros(network.size, dtype=np.longdouble)
        for x, label in zip(data.inputs, data.labels, strict=True):
            one = gradient(network, weights, x, int(label))
            exact += one * min(1, clip / max(np.linalg.norm(one.astype(float)), 1e-300))
        computed = network.clipped_sum(weights, data, None, clip=clip)
        off = float(np.linalg.norm((computed - exact).astype(float)))
        assert off <= network.error(rows=300, clip=clip)
        assert network.error(rows=300, clip=clip) < 1e-6  # and the bound is of use


@pytest.mark.parametrize("outputs", [1, 4])
def test_neighbours_move_the_sum_by_at_most_the_clip(outputs: int) -> None:
    network, weights, data = rows(40, outputs)
    total = network.clipped_sum(weights, data, None, clip=0.3)
    moved = [
        np.linalg.norm(total - network.clipped_sum(weights, data, np.delete(np.arange(40), i), clip=0.3))
        for i in range(40)
    ]
    assert 0.27 < max(moved) <= 0.3 + 2 * network.error(rows=40, clip=0.3)
