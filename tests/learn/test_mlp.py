"""MLPClassifier: the contract, and what a linear model cannot learn."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.learn import LogisticRegression, MLPClassifier
from hubbub.terms import OutOfRange

from .contract import Contract


class TestMLPClassifier(Contract):
    kind = MLPClassifier
    standard = {"hidden_layer_sizes": (16,)}


def test_two_hidden_layers_learn_and_keep_their_promise() -> None:
    X, y = TestMLPClassifier().data(classes=3)
    model = MLPClassifier(epsilon=2, delta=1e-5, norm=1.0, hidden_layer_sizes=(12, 8)).fit(X, y)
    assert model.score(X, y) > 0.9
    assert 1.9 < epsilon(model.event_, delta=1e-5) <= 2


def test_it_learns_what_no_line_separates() -> None:
    generator = np.random.default_rng(5)
    X = generator.uniform(-0.7, 0.7, (4000, 2))
    y = X[:, 0] * X[:, 1] > 0
    network = MLPClassifier(epsilon=4, delta=1e-5, norm=1.0, hidden_layer_sizes=(24,)).fit(X, y)
    line = LogisticRegression(epsilon=4, delta=1e-5, norm=1.0).fit(X, y)
    assert network.score(X, y) > 0.85 > 0.65 > line.score(X, y)


@pytest.mark.parametrize("hidden", [(), (4, 4, 4), (0,)])
def test_one_or_two_hidden_layers(hidden: tuple[int, ...]) -> None:
    with pytest.raises(OutOfRange):
        MLPClassifier(epsilon=1, delta=1e-5, norm=1.0, hidden_layer_sizes=hidden).fit(np.zeros((4, 2)), [0, 1, 0, 1])
