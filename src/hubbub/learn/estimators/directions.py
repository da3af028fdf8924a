"""CentreScaler: rows less a noisy mean, each scaled to length 1: where a row lies, seen from the middle."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import OneToOneFeatureMixin

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.private_estimator import PrivateTransformer
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.public.arrays import sum_by_halves
from hubbub.learn.training.moments import CONSTANT, noisy_sum, unit_rows, with_constant
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, Real

_TINY = 1e-300
_BLOCK = 256  # rows at once


@dataclass(frozen=True, slots=True)
class MeanRow:
    """The sum of rows over their norm, with a constant that counts them."""

    norm: float

    def design(self, columns: int) -> SumDesign:
        """One sum of each column, and the count."""
        return SumDesign(
            size=columns + 1,
            square=1 + CONSTANT**2,
            largest=1,
            stored=columns + 1,
            identity={"norm": str(Fraction(self.norm))},
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None) -> Floats:
        """The noisy sums."""
        entries = with_constant(unit_rows(table, self.norm, plan.grid), plan.grid)
        total = entries.astype(np.int64).sum(axis=0) * plan.grid.one
        return noisy_sum(total, plan.step)

    def learned(self, plan: SumFitPlan, values: Floats) -> dict[str, object]:
        """The mean."""
        count = max(1.0, float(values[-1]) / float(CONSTANT))
        return {"norm_": self.norm, "mean_": values[:-1] / count * self.norm}


class CentreScaler(OneToOneFeatureMixin, PrivateTransformer):  # type: ignore[misc]
    """Subtract a noisy mean from each row, and scale what is left to length 1.

    Features that are never negative, such as those of images, have most of their length in common. A private model
    pays for the whole length of a row and learns from what differs alone, so it is worth a few hundredths of the
    budget to take the common part away. ``norm`` is the largest L2 norm of a row, from public knowledge.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row. The transformed rows of
    a private table are as private as the table was: ``transform`` adds no noise to them.
    Because: one noisy sum of rows of norm at most 1 and a constant, calibrated as one Gaussian [DRS22, Cor. 2], in
    integers as in ``docs/proofs/moments.md``.
    Error: for rows over the norm the mean is off by about sigma sqrt(d)/n in L2, with sigma in ``event_``.
    Not covered: running time; the number of rows, where it is not declared.

    >>> import numpy as np
    >>> X = np.random.default_rng(1).uniform(0.4, 0.6, (5000, 3))
    >>> scaler = CentreScaler(epsilon=1, delta=1e-6, norm=1.1).fit(X)
    >>> bool(abs(scaler.mean_ - 0.5).max() < 0.01), bool(np.allclose(np.linalg.norm(scaler.transform(X), axis=1), 1))
    (True, True)
    """

    mean_: Floats
    norm_: float

    def __init__(
        self,
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
        self.epsilon, self.delta, self.norm = epsilon, delta, norm
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        return plan_sum_fit(MeanRow(norm_of(self)), facts)

    def transform(self, X: ArrayLike) -> Floats:
        """Rows less the mean, each of length 1; a row that *is* the mean stays 0."""
        rows = self._rows_to_answer(X) / self.norm_
        rows -= self.mean_ / self.norm_
        rows /= np.maximum(
            np.abs(rows).max(axis=1, keepdims=True), _TINY
        )  # so that squares neither overflow nor vanish
        for start in range(0, len(rows), _BLOCK):
            block = rows[start : start + _BLOCK]
            block /= np.maximum(np.sqrt(sum_by_halves((block * block).T)), _TINY)[:, None]
        return rows
