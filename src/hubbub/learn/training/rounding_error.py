"""How far a clipped sum in float64 can lie from the exact one, whatever the order of additions.

A sum of clipped gradients moves by at most the clipping norm C when a row comes or goes, in real arithmetic. In doubles
every product, sum, exponential and norm is rounded, and a matrix product may round the *same* row differently in
another batch. ``sum_error`` bounds the distance E of what is computed from the exact sum, so that two neighbouring sums
differ by at most C + 2E. ``docs/proofs/learn.md`` derives the bound; the names below are those of the proof.

Assumptions: IEEE doubles, matrix products by ordinary multiplication and addition in any order (with or without fused
operations, not Strassen's), and exp and tanh within eight units of rounding.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from hubbub.terms import TooLarge

UNIT = 2.0**-53  # half the distance from 1 to the next double
FUNCTION = 8 * UNIT  # relative error of exp and tanh
CHUNK = 4096  # rows that are added up at once
_SAFETY = 1.01  # for the rounding of this very computation, and for products of two errors
_LARGEST = 1e-3  # error of one gradient, up to which such products are negligible


@dataclass(frozen=True, slots=True)
class Layer:
    """Bounds of one layer, all public: widths, and norms of its weights that training never exceeds."""

    inputs: int
    outputs: int
    frobenius: float
    spectral: float


def gamma(terms: int) -> float:
    """The relative error of a sum of so many products, in any order [Hig02]."""
    return terms * UNIT / (1 - terms * UNIT)


def sum_error(layers: tuple[Layer, ...], *, bias: float, rows: int, clip: float) -> float:
    """E: the most by which a computed sum of ``rows`` clipped gradients differs from the exact sum, in L2.

    Inputs have norm at most 1; ``bias`` is the constant that feeds each layer's offset.
    """
    gradient = _gradient_error(layers, bias)
    if gradient > _LARGEST:
        raise TooLarge(
            f"a network of widths {[layer.inputs for layer in layers]} rounds too much in doubles.",
            why="Its rounding would have to be hidden by noise.",
            fix="Use fewer hidden units.",
        )
    norm = gamma(max(layer.inputs + layer.outputs for layer in layers) + 3 * len(layers) + 8)
    each = gradient + (clip + gradient) * norm
    adding = (gamma(min(rows, CHUNK) + 4) + gamma(rows // CHUNK + 2)) * (clip + each)
    return rows * (each + adding) * _SAFETY + 1e-280  # the last term for gradual underflow


def _gradient_error(layers: tuple[Layer, ...], bias: float) -> float:
    """The most by which one row's gradient, as computed, differs from its exact gradient, in L2."""
    signals, errors, last = _forward_errors(layers, bias)
    size, error, total = math.sqrt(2), last, 0.0
    for i in reversed(range(len(layers))):
        total += (error * (signals[i] + errors[i]) + size * errors[i] + 2 * UNIT * size * signals[i]) ** 2
        if i:
            layer = layers[i]
            passed = layer.spectral * error + gamma(layer.outputs) * layer.frobenius * (size + error)
            size *= layer.spectral
            error = passed + size * (2 * errors[i] + 4 * UNIT)
    return math.sqrt(total)


def _forward_errors(layers: tuple[Layer, ...], bias: float) -> tuple[list[float], list[float], float]:
    """Sizes and errors of what enters each layer, and the error of the output's probabilities."""
    signals, errors = [math.hypot(1, bias)], [gamma(layers[0].inputs + 8)]
    for i, layer in enumerate(layers):
        product = gamma(layer.inputs + 2) * layer.frobenius * (signals[i] + errors[i])
        error = layer.spectral * errors[i] + product
        if i < len(layers) - 1:
            signals.append(math.sqrt(layer.outputs + bias**2))
            errors.append(error + FUNCTION * math.sqrt(layer.outputs))
    logits = 2 * layers[-1].spectral * signals[-1]
    return signals, errors, error + 2 * UNIT * logits + 2 * FUNCTION + gamma(layers[-1].outputs + 4)
