"""Sums of losses over pairs of rows, divided so that one row moves them by a known amount.

A loss over pairs has a trap. Whoever is in a batch of B rows is in up to B - 1 of its pairs, so clipping the gradient
of each *pair* to C bounds what one person moves by B C and not by C; and clipping the sum of each *row's* pairs bounds
nothing, since a row that leaves takes its part out of the sums of all others. Here the sum over all pairs of the batch
is divided by the batch's own size B. Let a row come to B others, with gradients of pairs of norm at most C:

- bipartite pairs (a positive and a negative row): with N negatives and P positives, N + P = B, a new positive brings N
  pairs, and the PN old ones are divided by B + 1 instead of B. The sum moves by at most
  C N/(B+1) + C PN (1/B - 1/(B+1)) = C B/(B+1) * n (2 - n) with n = N/B, which is below C.
- all pairs: B new ones, B (B-1)/2 old ones: at most C B/(B+1) + C (B-1)/(2 (B+1)), which is below 3C/2.

So one row moves the sum by a constant, while the sum is of the order of B: as for a loss over single rows, and with all
pairs of the batch instead of B/2 disjoint ones. ``docs/proofs/pairwise.md`` has the proof and the rounding.
"""

from __future__ import annotations

import numpy as np

from hubbub.learn.training.network import Examples, Floats, Labels, Network
from hubbub.learn.training.rounding_error import FUNCTION, UNIT, gamma
from hubbub.learn.training.sampling import Rows

_ALL_PAIRS = 1.5  # what a row moves, over what a pair may
_SAFETY = 1.01  # for the rounding of a bound itself, and for products of two errors


def batch_of(examples: Examples, rows: Rows | None) -> tuple[Floats, Floats, Labels]:
    """Inputs, their squared lengths, and labels, of the rows of a batch that have a class."""
    chosen = np.arange(len(examples)) if rows is None else rows
    chosen = chosen[examples.labels[chosen] >= 0]
    return examples.inputs[chosen], examples.squares[chosen], examples.labels[chosen]


class RankingPairs(Network):
    """A linear score, with the logistic loss of how far each positive row's lies above each negative row's."""

    @property
    def size(self) -> int:
        """How many weights there are: an offset would cancel in every pair."""
        return self.widths[0]

    def split(self, weights: Floats) -> list[tuple[Floats, Floats]]:
        """The weights as the matrix of one layer, without offsets."""
        return [(weights.reshape(-1, 1), np.zeros(1))]

    def clipped_sum(self, weights: Floats, examples: Examples, rows: Rows | None, *, clip: float) -> Floats:
        """The sum of the gradients of all pairs of a positive and a negative row of the batch, over its size.

        The gradient of a pair, slope (z - x), is clipped to a norm of ``clip``.

        Guarantee: adding or removing a row moves it by at most clip + 2 ``error(...)`` in L2.
        Because: ``docs/proofs/pairwise.md``; a U-statistic over the batch, as pairwise risks are [CCB16].
        """
        inputs, squares, labels = batch_of(examples, rows)
        high, low = labels == 1, labels == 0
        above, below = inputs[high], inputs[low]
        if not len(above) or not len(below):
            return np.zeros(self.size)
        slopes = _logistic((below @ weights)[None, :] - (above @ weights)[:, None])
        apart = squares[high][:, None] + squares[low] - 2 * (above @ below.T)
        slopes *= clip / np.maximum(slopes * np.sqrt(np.maximum(apart, 0)), clip)
        total: Floats = (slopes.sum(axis=0) @ below - slopes.sum(axis=1) @ above) / len(inputs)
        return total

    def error(self, *, rows: int, clip: float) -> float:
        """E of ``docs/proofs/pairwise.md`` for batches of up to ``rows`` rows."""
        width, reach = self.widths[0], self.layers()[0].frobenius
        row = gamma(width + 8)
        score = reach * (row + gamma(width + 4) * (1 + row))
        slope = score / 2 + 2 * FUNCTION + 8 * UNIT
        slope += (2 * slope + (8 * row + 4 * gamma(width + 8)) / clip) / clip  # the factor that clips
        return rows * (slope + 4 * gamma(rows + 8) + row) * _SAFETY + 1e-280


class MetricPairs(Network):
    """A squared distance d(x, z) = (x - z)^T M (x - z), with the logistic loss of d - 1, or of 1 - d.

    Rows of one class should lie closer than 1, others further; a pair of two classes weighs 1/(classes - 1), so that
    both kinds have a say. M is symmetric and has no negative eigenvalue.
    """

    @property
    def size(self) -> int:
        """How many weights there are."""
        return self.widths[0] ** 2

    def start(self) -> Floats:
        """The plain distance."""
        return np.eye(self.widths[0]).ravel()

    def matrix(self, weights: Floats) -> Floats:
        """M."""
        return weights.reshape(self.widths[0], self.widths[0])

    def project(self, weights: Floats) -> Floats:
        """The nearest matrix that is symmetric, has no negative eigenvalue, and lies within reach."""
        matrix = self.matrix(weights)
        spread, directions = np.linalg.eigh(matrix / 2 + matrix.T / 2)
        kept = np.maximum(spread, 0)
        kept *= min(1.0, (1 - 1e-9) * self.layers()[0].frobenius / max(float(np.linalg.norm(kept)), 1e-300))
        return np.asarray((directions * kept) @ directions.T).ravel()

    def clipped_sum(self, weights: Floats, examples: Examples, rows: Rows | None, *, clip: float) -> Floats:
        """The sum of the gradients of all pairs of rows of the batch, over its size.

        The gradient of a pair, slope (x - z)(x - z)^T, is clipped to a norm of two thirds of ``clip``.

        Guarantee: adding or removing a row moves it by at most clip + 2 ``error(...)`` in L2.
        Because: ``docs/proofs/pairwise.md``; a U-statistic over the batch, as pairwise risks are [CCB16].
        """
        inputs, squares, labels = batch_of(examples, rows)
        if len(inputs) < 2:
            return np.zeros(self.size)
        slopes = self._slopes(weights, inputs, labels)
        apart = np.maximum(squares[:, None] + squares - 2 * (inputs @ inputs.T), 0)
        slopes *= (clip / _ALL_PAIRS) / np.maximum(np.abs(slopes) * apart, clip / _ALL_PAIRS)
        np.fill_diagonal(slopes, 0)
        total = (inputs.T * slopes.sum(axis=1)) @ inputs - inputs.T @ (slopes @ inputs)
        return np.asarray(total).ravel() / len(inputs)

    def _slopes(self, weights: Floats, inputs: Floats, labels: Labels) -> Floats:
        """The slope of the loss of each pair in its distance."""
        products = inputs @ self.matrix(weights) @ inputs.T
        lengths = products.diagonal()
        signs = np.where(labels[:, None] == labels, 1.0, -1.0)
        slopes = signs * _logistic(signs * (lengths[:, None] + lengths - products - products.T - 1))
        return slopes * np.where(signs > 0, 1.0, 1 / max(1, self.widths[1] - 1))

    def error(self, *, rows: int, clip: float) -> float:
        """E of ``docs/proofs/pairwise.md`` for batches of up to ``rows`` rows."""
        width, reach = self.widths[0], self.layers()[0].frobenius
        row = gamma(width + 8)
        distance = 4 * reach * (2 * row + gamma(2 * width + 8)) + 8 * UNIT
        slope = distance / 4 + 2 * FUNCTION + 8 * UNIT
        slope += (4 * slope + 8 * row + 4 * gamma(width + 8)) * _ALL_PAIRS / clip  # the factor that clips
        return 2 * rows * (slope + 4 * gamma(2 * rows + 16) + 2 * row) * _SAFETY + 1e-280


def _logistic(values: Floats) -> Floats:
    """1 / (1 + exp(-z)), in place: the slope of ln(1 + exp(z))."""
    values /= 2
    np.tanh(values, out=values)  # 1 / (1 + exp(-z)) would overflow
    values += 1
    values /= 2
    return values
