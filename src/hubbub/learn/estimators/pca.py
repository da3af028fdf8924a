"""Principal components of a noisy second-moment matrix."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.private_estimator import PrivateTransformer, need_fit
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.training.moments import (
    BESIDE,
    CONSTANT,
    DIAGONAL,
    exact_product,
    from_triangle,
    noisy_sum,
    triangle_size,
    unit_rows,
    weighted_triangle,
    with_constant,
)
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, whole


@dataclass(frozen=True, slots=True)
class SecondMoments:
    """The second moments of rows over their norm, with a constant beside each row; and their main directions."""

    kept: int
    norm: float

    def design(self, columns: int) -> SumDesign:
        """The upper triangle of the matrix."""
        size = triangle_size(columns + 1)
        return SumDesign(
            size=size,
            square=DIAGONAL**2 * (1 + CONSTANT**2) ** 2,
            largest=BESIDE,
            stored=size,
            identity={"norm": str(Fraction(self.norm))},
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None) -> Floats:
        """The noisy matrix."""
        entries = with_constant(unit_rows(table, self.norm, plan.grid), plan.grid)
        return noisy_sum(weighted_triangle(exact_product(entries, entries, plan.grid)), plan.step)

    def learned(self, plan: SumFitPlan, values: Floats) -> dict[str, object]:
        """The directions of largest variance."""
        moments = from_triangle(values, plan.columns + 1)
        count = max(1.0, float(moments[-1, -1] / CONSTANT**2))
        mean = moments[-1, :-1] / (float(CONSTANT) * count)
        variances, directions = np.linalg.eigh(moments[:-1, :-1] / count - np.outer(mean, mean))
        order = np.argsort(-variances)[: self.kept]
        variance = np.maximum(variances, 0) * self.norm**2
        return {
            "components_": _with_signs(directions[:, order].T),
            "mean_": mean * self.norm,
            "explained_variance_": variance[order],
            "n_components_": len(order),
            "explained_variance_ratio_": variance[order] / max(float(variance.sum()), 1e-300),
        }


class PCA(ClassNamePrefixFeaturesOutMixin, PrivateTransformer):  # type: ignore[misc]
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

    components_: Floats
    mean_: Floats
    n_components_: int

    def __init__(
        self,
        n_components: int | None = None,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.n_components, self.epsilon, self.delta, self.norm = n_components, epsilon, delta, norm
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        return plan_sum_fit(SecondMoments(self._kept(facts.columns), norm_of(self)), facts)

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

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def transform(self, X: ArrayLike) -> Floats:
        """Rows in the directions of the components."""
        table = self._rows_to_answer(X) - self.mean_
        turned = np.zeros((len(table), self.n_components_))
        for j, column in enumerate(table.T):  # no matrix product: it may round a row by where it stands
            turned += column[:, None] * self.components_[:, j]
        return turned

    def inverse_transform(self, X: ArrayLike) -> Floats:
        """Rows in the space they came from."""
        need_fit(self)
        return np.asarray(np.asarray(X) @ self.components_ + self.mean_)


def _with_signs(components: Floats) -> Floats:
    """Each component with its largest entry positive: a direction has no sign."""
    largest = np.abs(components).argmax(axis=1)
    return components * np.where(components[np.arange(len(components)), largest] < 0, -1.0, 1.0)[:, None]
