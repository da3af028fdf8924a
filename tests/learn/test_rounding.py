"""Sums of clipped gradients in doubles: how far from exact, and how far neighbours move, with hostile numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hubbub.learn.base.inputs import scale_rows
from hubbub.learn.solvers import LOGISTIC, SMOOTH_HINGE
from hubbub.learn.solvers.problem import Problem
from hubbub.learn.training.network import Examples, Floats, Network
from hubbub.learn.training.rounding_error import gamma

CLIP = 0.5
SHAPES = [(4, 1), (4, 3), (3, 4, 1), (3, 4, 3, 2)]


def rows_of(kind: str, rows: int, inputs: int, seed: int) -> Floats:
    generator = np.random.default_rng(seed)
    table = generator.standard_normal((rows, inputs))
    if kind == "hostile":
        table *= 10.0 ** generator.integers(-300, 300, table.shape).astype(float)
    if kind == "cancelling":
        table = np.repeat(table[: (rows + 1) // 2], 2, axis=0)[:rows]
        table[1::2] *= -1
    return table


def example(network: Network, kind: str, rows: int, seed: int) -> tuple[Floats, Examples, Floats]:
    generator = np.random.default_rng(seed + 1)
    raw = rows_of(kind, rows, network.widths[0], seed)
    inputs, squares = scale_rows(raw.copy(), 1.0)
    classes = max(2, network.widths[-1])
    weights = network.project(3 * generator.standard_normal(network.size))
    return weights, Examples(inputs, squares, generator.integers(0, classes, rows)), raw


def exact_sum(network: Network, weights: Floats, raw: Floats, labels: list[int], clip: float) -> Floats:
    """The same sum with sixty digits, from the rows before they were scaled."""
    mpmath.mp.dps = 60
    total = [mpmath.mpf(0)] * network.size
    for row, label in zip(raw, labels, strict=True):
        gradient = exact_gradient(network, weights, [mpmath.mpf(float(v)) for v in row], label)
        norm = mpmath.sqrt(sum(g * g for g in gradient))
        factor = min(mpmath.mpf(1), mpmath.mpf(clip) / norm) if norm else mpmath.mpf(1)
        total = [t + factor * g for t, g in zip(total, gradient, strict=True)]
    return total


def exact_gradient(network: Network, weights: Floats, row: list, label: int) -> list:
    length = mpmath.sqrt(sum(v * v for v in row))
    entering = [[v / max(length, 1) for v in row]]
    layers = network.split(weights)
    for i, (matrix, offsets) in enumerate(layers):
        z = [
            sum(a * mpmath.mpf(float(m)) for a, m in zip(entering[i], column, strict=True))
            + mpmath.mpf(network.bias) * mpmath.mpf(float(b))
            for column, b in zip(matrix.T, offsets, strict=True)
        ]
        entering.append([mpmath.tanh(v) for v in z] if i < len(layers) - 1 else z)
    z = entering[-1]
    if len(z) == 1:
        error = [1 / (1 + mpmath.exp(-z[0])) - label]
    else:
        top = max(z)
        parts = [mpmath.exp(v - top) for v in z]
        error = [p / sum(parts) - (k == label) for k, p in enumerate(parts)]
    pieces = []
    for i in reversed(range(len(layers))):
        pieces.insert(0, [a * e for a in entering[i] for e in error] + [mpmath.mpf(network.bias) * e for e in error])
        if i:
            matrix = layers[i][0]
            back = [sum(mpmath.mpf(float(m)) * e for m, e in zip(line, error, strict=True)) for line in matrix]
            error = [b * (1 - a * a) for b, a in zip(back, entering[i], strict=True)]
    return [g for piece in pieces for g in piece]


def distance(computed: Floats, exact: Floats) -> float:
    return float(mpmath.sqrt(sum((mpmath.mpf(float(c)) - e) ** 2 for c, e in zip(computed, exact, strict=True))))


@pytest.mark.parametrize("kind", ["plain", "hostile", "cancelling"])
@pytest.mark.parametrize("widths", SHAPES)
def test_a_computed_sum_lies_within_the_bound(widths: tuple[int, ...], kind: str) -> None:
    network = Network(widths, bias=0.3)
    weights, data, raw = example(network, kind, 12, 5)
    exact = exact_sum(network, weights, raw, data.labels.tolist(), CLIP)
    found = distance(network.clipped_sum(weights, data, None, clip=CLIP), exact)
    assert found <= network.error(rows=12, clip=CLIP)


@pytest.mark.parametrize("widths", SHAPES)
def test_single_precision_would_be_noticed(widths: tuple[int, ...]) -> None:
    """The planted fault: the same sum over rows that were rounded to float32."""
    network = Network(widths, bias=0.3)
    weights, data, raw = example(network, "plain", 12, 5)
    exact = exact_sum(network, weights, raw, data.labels.tolist(), CLIP)
    coarse = Examples(data.inputs.astype(np.float32).astype(np.float64), data.squares, data.labels)
    found = distance(network.clipped_sum(weights, coarse, None, clip=CLIP), exact)
    assert found > network.error(rows=12, clip=CLIP)


@pytest.mark.parametrize("kind", ["plain", "hostile", "cancelling"])
@pytest.mark.parametrize("widths", SHAPES)
def test_removing_any_row_moves_the_sum_by_no_more_than_the_sensitivity(widths: tuple[int, ...], kind: str) -> None:
    assert moves_most(Network(widths), kind, CLIP) <= CLIP + 2 * Network(widths).error(rows=40, clip=CLIP)


@pytest.mark.parametrize("widths", SHAPES)
def test_a_clipping_norm_a_millionth_too_large_would_be_noticed(widths: tuple[int, ...]) -> None:
    network = Network(widths)
    assert moves_most(network, "plain", CLIP * (1 + 1e-6)) > CLIP + 2 * network.error(rows=40, clip=CLIP)


def moves_most(network: Network, kind: str, clip: float) -> float:
    """The furthest that the sum moves when one row goes, however the rest is ordered."""
    weights, data, _ = example(network, kind, 40, 8)
    whole = network.clipped_sum(weights, data, None, clip=clip)
    generator = np.random.default_rng(9)
    furthest = 0.0
    for gone in range(40):
        rest = generator.permutation(np.delete(np.arange(40), gone))
        furthest = max(furthest, float(np.linalg.norm(whole - network.clipped_sum(weights, data, rest, clip=clip))))
    return furthest


@pytest.mark.parametrize("loss", [LOGISTIC, SMOOTH_HINGE])
def test_gradient_sums_of_solvers_lie_within_their_bound(loss: object) -> None:
    problem = Problem(loss, 30, 4, 1.0)  # type: ignore[arg-type]
    raw = rows_of("cancelling", 30, 4, 3)
    inputs, squares = scale_rows(raw.copy(), 1.0)
    labels = np.random.default_rng(4).choice([-1, 1], 30)
    weights = np.array([3.0, -4.0, 1e-9, 0.5])
    found = problem.gradient_sum(weights, Examples(inputs, squares, labels))
    mpmath.mp.dps = 50
    exact = [mpmath.mpf(0)] * 4
    for row, label in zip(raw, labels, strict=True):
        length = max(mpmath.mpf(1), mpmath.sqrt(sum(mpmath.mpf(float(v)) ** 2 for v in row)))
        x = [mpmath.mpf(float(v)) / length for v in row]
        margin = int(label) * sum(a * mpmath.mpf(float(w)) for a, w in zip(x, weights, strict=True))
        slope = -1 / (1 + mpmath.exp(margin)) if loss is LOGISTIC else -min(max(1 - margin, 0), 1)
        exact = [e + int(label) * slope * a for e, a in zip(exact, x, strict=True)]
    error = problem.error(30, float(np.linalg.norm(weights)))
    assert distance(found, exact) <= error < 1e-11
    assert distance(found + 1e-10, exact) > error


def test_gamma_bounds_a_long_sum_in_the_worst_order() -> None:
    """1 + u + u + ...: every addition is rounded away, and gamma covers exactly that."""
    terms = [1.0] + [2.0**-53] * 5000
    computed = 0.0
    for term in terms:
        computed += term
    lost = abs(Fraction(computed) - sum(map(Fraction, terms)))
    assert 0 < lost <= Fraction(gamma(len(terms))) * sum(map(Fraction, terms))
    assert lost > Fraction(gamma(len(terms) // 2)) * sum(map(Fraction, terms)) / 2


def test_exp_and_tanh_are_as_exact_as_the_proof_assumes() -> None:
    mpmath.mp.dps = 40
    points = np.concatenate([np.linspace(-40, 40, 4001), np.random.default_rng(1).normal(0, 5, 4000)])
    for ours, theirs in ((np.exp, mpmath.exp), (np.tanh, mpmath.tanh)):
        for point, value in zip(points.tolist(), ours(points).tolist(), strict=True):
            exact = theirs(mpmath.mpf(point))
            assert abs(mpmath.mpf(value) - exact) <= 8 * 2.0**-53 * abs(exact)


def test_rows_are_scaled_to_length_one_whatever_they_hold() -> None:
    table = np.array([[3e200, 4e200], [3.0, 4.0], [0.3, 0.4], [0.0, 0.0], [5e-324, 0.0], [1e308, -1e308]])
    inputs, squares = scale_rows(table.copy(), 1.0)
    assert np.allclose(inputs[:2], [[0.6, 0.8], [0.6, 0.8]]) and np.allclose(inputs[2], [0.3, 0.4])
    assert squares.max() <= 1 + 1e-15 and not math.isnan(squares.sum())
