"""Private empirical risk minimization: the problem, its gradient in doubles, and a solution."""

# ruff: noqa: N803  (X is what scikit-learn calls it)
from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.inputs import private_table, scale_rows
from hubbub.learn.base.parameters import positive_double
from hubbub.learn.base.shapes import shape_of
from hubbub.learn.base.targets import class_numbers
from hubbub.learn.solvers.losses import Loss
from hubbub.learn.training.network import Examples, Floats
from hubbub.learn.training.rounding_error import CHUNK, FUNCTION, UNIT, gamma
from hubbub.learn.training.sampling import Rows
from hubbub.terms import AS_GIVEN, Event, Guarantee, Real

_CLASSES = np.array([-1, 1])
ROWS_ARE_PUBLIC = "The number of rows counts as public."
CAVEATS = ("Running time is not covered.", AS_GIVEN, "Charged to no ledger.")


@dataclass(frozen=True, slots=True)
class Solution:
    """Weights (for rows as they came, longer ones scaled down to the norm), what was done, and what it guarantees."""

    weights: Floats
    event: Event
    guarantee: Guarantee


@dataclass(frozen=True, slots=True)
class Problem:
    """The risk of linear models on rows of norm at most 1: loss(y x.theta), summed over rows."""

    loss: Loss
    rows: int
    inputs: int
    norm: float

    @classmethod
    def of(cls, X: ArrayLike, *, loss: Loss, norm: Real) -> Problem:
        """From shapes alone."""
        rows, inputs = shape_of(X)
        return cls(loss, rows, inputs, positive_double(norm, name="norm"))

    def read(self, X: ArrayLike, y: ArrayLike) -> Examples:
        """The rows over the norm, and labels -1 and 1."""
        inputs, squares = scale_rows(private_table(X), self.norm)
        labels = class_numbers(y, _CLASSES, len(inputs))
        return Examples(inputs, squares, np.where(labels < 0, 0, 2 * labels - 1))  # what is neither label adds nothing

    def gradient_sum(self, weights: Floats, data: Examples, rows: Rows | None = None) -> Floats:
        """The sum of the rows' gradients."""
        total = np.zeros(self.inputs)
        for start in range(0, len(data) if rows is None else len(rows), CHUNK):
            part = slice(start, start + CHUNK) if rows is None else rows[start : start + CHUNK]
            inputs, labels = data.inputs[part], data.labels[part]
            total += (labels * self.loss.slope(labels * (inputs @ weights))) @ inputs
        return total

    def risk(self, weights: Floats, data: Examples) -> float:
        """The mean loss."""
        return float(self.loss.value(data.labels * (data.inputs @ weights)).mean())

    def error(self, rows: int, reach: float) -> float:
        """E of ``docs/proofs/learn.md`` for these sums and weights of norm at most ``reach``."""
        lipschitz, row = self.loss.lipschitz, gamma(self.inputs + 8)
        margin = reach * (row + gamma(self.inputs + 2) * (1 + row))
        each = self.loss.smooth * margin + lipschitz * (2 * FUNCTION + row + 4 * UNIT)
        adding = (gamma(min(rows, CHUNK) + 4) + gamma(rows // CHUNK + 2)) * (lipschitz + each)
        return rows * (each + adding) * 1.01 + 1e-280
