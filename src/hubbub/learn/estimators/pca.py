"""Principal components of a noisy second-moment matrix."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.sum_estimator import SumDesign, SumEstimator, SumFitPlan
from hubbub.learn.estimators.linear_regression import CONSTANT, with_constant
from hubbub.learn.estimators.scaler import Transformer
from hubbub.learn.training.moments import (
    BESIDE,
    DIAGONAL,
    noisy_sum,
    product,
    symmetric,
    triangle_size,
    unit_rows,
    weighted_triangle,
)
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, whole


class PCA(Transformer, SumEstimator):
    """The directions of largest variance, from second moments with Gaussian noise.

    ``norm`` is the largest L2 norm of a row, from public knowledge; longer rows are scaled down to it in the fit. Rows
    that lie about 0 (bounds -1..1 rather than 0..1) need a smaller norm, and so less noise.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row. The transformed rows of
    a private table are as private as the table was: ``transform`` adds no noise to them.
    Because: noise on the matrix [DTTZ14, Alg. 1], calibrated as one Gaussian [DRS22, Cor. 2];
    ``docs/proofs/moments.md``.
    Error: for rows over the norm the noise on the covariance has a spectral norm of about 0.3 sigma sqrt(d)/n, with
    sigma in ``event_``; components whose variances are closer than that are mixed.
    Not covered: running time; the number of rows, where it is not declared.
    """

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.n_components, self.epsilon, self.delta, self.norm = n_components, epsilon, delta, norm
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _kept(self, columns: int) -> int:
        if self.n_components is None:
            return columns
        kept = whole(self.n_components, name="n_components")
        if kept > columns:
            raise OutOfRange(
                f"n_components={kept} and X has {columns} columns.",
                why="There are at most as many components as columns.",
                fix=f"Write n_components={columns} or less.",
            )
        return kept

    def _design(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        self._kept(columns)
        size = triangle_size(columns + 1)
        return SumDesign(
            size=size,
            square=DIAGONAL**2 * (1 + CONSTANT**2) ** 2,
            largest=BESIDE,
            stored=size,
            facts={"norm": str(Fraction(norm_of(self)))},
        )

    def _release(self, made: SumFitPlan, X: Any, y: Any) -> Floats:
        grid = made.plan.grid
        entries = with_constant(unit_rows(self._table(X, made), norm_of(self), grid), grid)
        return noisy_sum(weighted_triangle(product(entries, entries, grid)), step_of(made.plan.run))

    def _learn(self, made: SumFitPlan, values: Floats) -> None:
        norm, moments = norm_of(self), symmetric(values, made.columns + 1)
        count = max(1.0, float(moments[-1, -1] / CONSTANT**2))
        mean = moments[-1, :-1] / (float(CONSTANT) * count)
        spread, directions = np.linalg.eigh(moments[:-1, :-1] / count - np.outer(mean, mean))
        order = np.argsort(-spread)[: self._kept(made.columns)]
        variance = np.maximum(spread, 0) * norm**2
        self.components_ = _with_signs(directions[:, order].T)
        self.mean_, self.explained_variance_, self.n_components_ = mean * norm, variance[order], len(order)
        self.explained_variance_ratio_ = self.explained_variance_ / max(float(variance.sum()), 1e-300)

    def transform(self, X: Any) -> Floats:
        """Rows in the directions of the components."""
        table = self._known(X) - self.mean_
        turned = np.zeros((len(table), self.n_components_))
        for j, column in enumerate(table.T):  # no matrix product: it may round a row by where it stands
            turned += column[:, None] * self.components_[:, j]
        return turned

    def inverse_transform(self, X: Any) -> Floats:
        """Rows in the space they came from."""
        self._need_fit()
        return np.asarray(np.asarray(X) @ self.components_ + self.mean_)


def _with_signs(components: Floats) -> Floats:
    """Each component with its largest entry positive: a direction has no sign."""
    largest = np.abs(components).argmax(axis=1)
    return components * np.where(components[np.arange(len(components)), largest] < 0, -1.0, 1.0)[:, None]
