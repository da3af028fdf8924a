"""Gradients against finite differences, clipped sums against gradients of single rows, and the bounds on weights."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.learn.training.network import Examples, Floats, Network

SHAPES = [(5, 1), (5, 3), (5, 4, 1), (5, 4, 3, 2)]


def made(widths: tuple[int, ...], rows: int = 9) -> tuple[Network, Floats, Examples]:
    generator = np.random.default_rng(2)
    network = Network(widths, bias=0.7)
    inputs = generator.standard_normal((rows, widths[0]))
    inputs /= np.linalg.norm(inputs, axis=1, keepdims=True)
    labels = generator.integers(0, max(2, widths[-1]), rows)
    return network, generator.standard_normal(network.size), Examples(inputs, (inputs**2).sum(axis=1), labels)


def loss(network: Network, weights: Floats, data: Examples) -> float:
    chances = network.probabilities(weights, data.inputs)
    if chances.shape[1] == 1:
        chances = np.hstack([1 - chances, chances])
    return float(-np.log(chances[np.arange(len(data)), data.labels]).sum())


def one(data: Examples, i: int) -> Examples:
    return Examples(data.inputs[i : i + 1], data.squares[i : i + 1], data.labels[i : i + 1])


@pytest.mark.parametrize("widths", SHAPES)
def test_the_sum_of_gradients_is_the_derivative_of_the_loss(widths: tuple[int, ...]) -> None:
    network, weights, data = made(widths)
    found = network.clipped_sum(weights, data, None, clip=1e9)
    slopes = np.empty(network.size)
    for i in range(network.size):
        step = np.zeros(network.size)
        step[i] = 1e-6
        slopes[i] = (loss(network, weights + step, data) - loss(network, weights - step, data)) / 2e-6
    assert np.allclose(found, slopes, atol=1e-6)


@pytest.mark.parametrize("widths", SHAPES)
def test_the_clipped_sum_is_the_sum_of_clipped_gradients(widths: tuple[int, ...]) -> None:
    network, weights, data = made(widths)
    total = np.zeros(network.size)
    for i in range(len(data)):
        gradient = network.clipped_sum(weights, one(data, i), None, clip=1e9)
        total += gradient * min(1, 0.4 / np.linalg.norm(gradient))
    found = network.clipped_sum(weights, data, None, clip=0.4)
    assert np.allclose(found, total, atol=1e-12)
    assert not np.allclose(network.clipped_sum(weights, data, None, clip=0.41), total, atol=1e-4)


def test_chunks_and_chosen_rows_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    network, weights, data = made((5, 4, 1), rows=50)
    whole = network.clipped_sum(weights, data, None, clip=0.3)
    chosen = network.clipped_sum(weights, data, np.arange(50), clip=0.3)
    monkeypatch.setattr("hubbub.learn.training.network.CHUNK", 7)
    parts = network.clipped_sum(weights, data, None, clip=0.3)
    assert np.allclose(whole, chosen, atol=1e-13) and np.allclose(whole, parts, atol=1e-13)


def test_no_rows_sum_to_nothing() -> None:
    network, weights, data = made((5, 3))
    assert not network.clipped_sum(weights, data, np.empty(0, dtype=np.int64), clip=1).any()


def test_rows_without_a_class_contribute_nothing() -> None:
    for widths in SHAPES:
        network, weights, data = made(widths)
        nobody = Examples(data.inputs, data.squares, np.full(len(data), -1))
        assert not network.clipped_sum(weights, nobody, None, clip=1).any()


@pytest.mark.parametrize("widths", [(5, 3), (6, 8, 7, 3), (6, 8, 1)])
@pytest.mark.parametrize("scale", [1.0, 50.0, 1e6])
def test_weights_stay_within_their_public_bounds(widths: tuple[int, ...], scale: float) -> None:
    network = Network(widths)
    weights = network.project(scale * np.random.default_rng(3).standard_normal(network.size))
    for (matrix, offsets), bound in zip(network.split(weights), network.layers(), strict=True):
        layer = np.vstack([matrix, offsets])
        assert np.linalg.norm(layer) <= bound.frobenius
        assert np.linalg.svd(layer, compute_uv=False)[0] <= bound.spectral


def test_small_weights_are_left_alone() -> None:
    network = Network((6, 8, 3))
    start = network.start()
    assert np.array_equal(network.project(start.copy()), start)
    assert np.array_equal(network.start(), start)


def test_scores_far_out_do_not_overflow() -> None:
    network = Network((1, 1))
    data = Examples(np.array([[1.0], [-1.0]]), np.ones(2), np.array([0, 1]))
    total = network.clipped_sum(np.array([1e6, 0.0]), data, None, clip=10)
    assert np.allclose(total, [2.0, 0.0])
