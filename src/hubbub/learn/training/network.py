"""Fully connected layers whose clipped gradient sums cost little more than plain ones.

A row's gradient of a layer is an outer product (what enters) x (error that comes back), so its norm is the product of
two norms [Goo15] and no gradient of a single row is ever formed: the errors are scaled by each row's clipping factor,
and one matrix product per layer gives the clipped sum. Without hidden layers this is logistic regression.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.training.rounding_error import CHUNK, Layer, sum_error
from hubbub.learn.training.sampling import Rows

Floats: TypeAlias = NDArray[np.float64]
Labels: TypeAlias = NDArray[np.int64]

_LINEAR_REACH = 1000.0  # the largest norm of weights without hidden layers; rows have norm 1
_HIDDEN_REACH = 10.0  # the largest spectral norm of a layer between hidden units


@dataclass(frozen=True, slots=True)
class Examples:
    """Rows ready for training: inputs of norm at most 1, their squared norms, and classes as numbers (-1: none)."""

    inputs: Floats
    squares: Floats
    labels: Labels

    def __len__(self) -> int:
        return len(self.inputs)

    def part(self, rows: Rows | slice) -> Examples:
        """Some of the rows."""
        if isinstance(rows, slice):
            return Examples(self.inputs[rows], self.squares[rows], self.labels[rows])
        return Examples(self.inputs.take(rows, axis=0), self.squares.take(rows), self.labels.take(rows))


@dataclass(frozen=True, slots=True)
class Network:
    """Layers of these widths with tanh between them; softmax at the end, or the logistic function for one output.

    ``bias`` is the constant that feeds each layer's offsets. The weights are one flat vector.
    """

    widths: tuple[int, ...]
    bias: float = 1.0

    @property
    def size(self) -> int:
        """How many weights there are."""
        return sum((a + 1) * b for a, b in self._pairs())

    def _pairs(self) -> list[tuple[int, int]]:
        return list(zip(self.widths, self.widths[1:], strict=False))

    def layers(self) -> tuple[Layer, ...]:
        """The public bounds within which ``project`` keeps each layer."""
        if len(self.widths) == 2:
            return (Layer(self.widths[0], self.widths[1], _LINEAR_REACH, _LINEAR_REACH),)
        first = 4 * math.sqrt((self.widths[0] + 1) * self.widths[1])
        rest = [Layer(a, b, _HIDDEN_REACH * math.sqrt(b), _HIDDEN_REACH) for a, b in self._pairs()[1:]]
        return (Layer(self.widths[0], self.widths[1], first, first), *rest)

    def error(self, *, rows: int, clip: float) -> float:
        """E of ``docs/proofs/learn.md`` for sums of up to ``rows`` clipped gradients."""
        return sum_error(self.layers(), bias=self.bias, rows=rows, clip=clip)

    def start(self) -> Floats:
        """The weights that training begins with: public, and the same every time."""
        if len(self.widths) == 2:
            return np.zeros(self.size)
        generator = np.random.default_rng(0)  # no secret: anybody may know where training began
        weights = np.zeros(self.size)
        for i, (matrix, _) in enumerate(self.split(weights)):
            spread = 1.0 if i == 0 else 1 / math.sqrt(matrix.shape[0])
            matrix[:] = spread * generator.standard_normal(matrix.shape)
        return weights

    def split(self, weights: Floats) -> list[tuple[Floats, Floats]]:
        """(matrix, offsets) of each layer, as views of the flat vector."""
        parts, at = [], 0
        for a, b in self._pairs():
            parts.append((weights[at : at + a * b].reshape(a, b), weights[at + a * b : at + (a + 1) * b]))
            at += (a + 1) * b
        return parts

    def project(self, weights: Floats) -> Floats:
        """The weights with each layer scaled down into its bounds, in place."""
        for (matrix, offsets), bound in zip(self.split(weights), self.layers(), strict=True):
            square = float(np.vdot(matrix, matrix) + np.vdot(offsets, offsets))
            excess = math.sqrt(square) / bound.frobenius
            if bound.spectral < bound.frobenius and math.sqrt(square) > bound.spectral:
                excess = max(excess, _spectral_bound(matrix, offsets) / bound.spectral)
            if excess > 1 - 1e-9:
                np.divide(matrix, excess * (1 + 1e-9), out=matrix)
                np.divide(offsets, excess * (1 + 1e-9), out=offsets)
        return weights

    # ------------------------------------------------------------ gradients

    def clipped_sum(self, weights: Floats, examples: Examples, rows: Rows | None, *, clip: float) -> Floats:
        """The sum over the rows of their loss gradients, each scaled down to a norm of at most ``clip``.

        Guarantee: adding or removing a row moves it by at most clip + 2 ``error(rows=..., clip=...)`` in L2.
        Because: ``docs/proofs/learn.md``; the closed-form norms are those of [Goo15].
        """
        total = np.zeros(self.size)
        for start in range(0, len(examples) if rows is None else len(rows), CHUNK):
            part = slice(start, start + CHUNK)
            total += self._clipped_chunk(weights, examples.part(part if rows is None else rows[part]), clip)
        return total

    def _clipped_chunk(self, weights: Floats, part: Examples, clip: float) -> Floats:
        entering = self._forward(weights, part.inputs)
        errors = self._backward(weights, entering, part.labels)
        norms = np.sqrt(sum(self._squares(part.squares, entering, i) * _row_squares(e) for i, e in enumerate(errors)))
        factors = (clip / np.maximum(norms, clip))[:, None]
        total = np.empty(self.size)
        for (matrix, offsets), signal, error in zip(self.split(total), entering, errors, strict=False):
            np.multiply(error, factors, out=error)
            np.matmul(signal.T, error, out=matrix)
            np.multiply(error.sum(axis=0), self.bias, out=offsets)
        return total

    def _squares(self, squares: Floats, entering: list[Floats], layer: int) -> Floats:
        """Squared norms of what enters a layer, with its constant."""
        return (squares if layer == 0 else _row_squares(entering[layer])) + self.bias**2

    def _forward(self, weights: Floats, inputs: Floats) -> list[Floats]:
        """What enters each layer, and the probabilities that leave the last one."""
        entering = [inputs]
        for matrix, offsets in self.split(weights):
            values = entering[-1] @ matrix
            values += self.bias * offsets
            entering.append(
                np.tanh(values, out=values) if len(entering) < len(self.widths) - 1 else _as_probabilities(values)
            )
        return entering

    def _backward(self, weights: Floats, entering: list[Floats], labels: Labels) -> list[Floats]:
        """The error that comes back to each layer's output."""
        errors = [_loss_residuals(entering[-1], labels)]
        parts = self.split(weights)
        for i in reversed(range(1, len(parts))):
            back = errors[0] @ parts[i][0].T
            back *= 1 - entering[i] ** 2
            errors.insert(0, back)
        return errors

    # ------------------------------------------------------------ predictions

    def probabilities(self, weights: Floats, inputs: Floats) -> Floats:
        """The probability of each class (of the second one, for one output)."""
        return self._forward(weights, inputs)[-1]

    def scores(self, weights: Floats, inputs: Floats) -> Floats:
        """The values that enter the softmax or the logistic function."""
        values = inputs
        for i, (matrix, offsets) in enumerate(self.split(weights)):
            values = (np.tanh(values) if i else values) @ matrix + self.bias * offsets
        return values


def _as_probabilities(values: Floats) -> Floats:
    """Softmax, or the logistic function for one output, in place."""
    if values.shape[1] == 1:
        values *= 0.5
        np.tanh(values, out=values)  # 1 / (1 + exp(-z)) would overflow
        values += 1
        values *= 0.5
        return values
    values -= values.max(axis=1, keepdims=True)
    np.exp(values, out=values)
    values /= values.sum(axis=1, keepdims=True)
    return values


def _loss_residuals(chances: Floats, labels: Labels) -> Floats:
    """Probabilities less the truth: the loss's gradient in the scores, in place; nothing for rows without a class."""
    if chances.shape[1] == 1:
        chances[:, 0] -= labels
    else:
        chances[np.arange(len(labels)), labels] -= 1
    chances[labels < 0] = 0
    return chances


def _row_squares(values: Floats) -> Floats:
    squares: Floats = values[:, 0] ** 2 if values.shape[1] == 1 else np.einsum("ij,ij->i", values, values)
    return squares


def _spectral_bound(matrix: Floats, offsets: Floats) -> float:
    """At least the largest singular value: |M|^4 <= |(M^T M)^2|_F, with the rounding of two products on top."""
    gram = matrix.T @ matrix + np.outer(offsets, offsets)
    return math.sqrt(math.sqrt(float(np.linalg.norm(gram @ gram)))) * (1 + 1e-9)
