"""Linear regression from noisy second moments."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.learn.base.inputs import ready
from hubbub.learn.base.parameters import norm_of
from hubbub.learn.base.shapes import need_target
from hubbub.learn.base.sum_estimator import SumDesign, SumEstimator, SumFitPlan
from hubbub.learn.base.targets import Regressor, target_bounds_of, targets_of
from hubbub.learn.training.moments import (
    BESIDE,
    DIAGONAL,
    Grid,
    noisy_sum,
    product,
    spectral_noise,
    symmetric,
    triangle_size,
    unit_rows,
    weighted_triangle,
)
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.ledger import Account, AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, exact

CONSTANT = Fraction(1, 2)  # the entry of each row that feeds the intercept, beside a row of norm 1


class LinearModel(Regressor, SumEstimator):
    """What LinearRegression and Ridge share."""

    norm: Any
    target_bounds: Any
    fit_intercept: bool
    coef_: Floats
    intercept_: float

    def _penalty(self) -> float:
        return 0.0

    # ------------------------------------------------------------ fitting

    def _design(self, rows: int, columns: int, y: Any, account: Account | None) -> SumDesign:
        need_target(y)
        norm, bounds = norm_of(self), target_bounds_of(self)
        self._penalty()
        entries = columns + bool(self.fit_intercept)
        longest = 1 + CONSTANT**2 * bool(self.fit_intercept)  # the largest squared norm of a row with its constant
        size = triangle_size(entries) + entries
        return SumDesign(
            size=size,
            square=DIAGONAL**2 * (longest**2 + longest),
            largest=BESIDE,
            stored=size,
            facts={
                "norm": str(Fraction(norm)),
                "bounds": list(map(str, bounds)),
                "intercept": bool(self.fit_intercept),
            },
        )

    def _release(self, made: SumFitPlan, X: Any, y: Any) -> Floats:
        grid = made.plan.grid
        table = self._table(X, made)
        targets = targets_of(y, target_bounds_of(self), len(table))
        total = moment_sums(self._entries(table, grid), np.rint(targets * grid.one), grid)
        return noisy_sum(total, step_of(made.plan.run))

    def _entries(self, table: Floats, grid: Grid) -> Floats:
        """The rows as integers, with their constant."""
        entries = unit_rows(table, norm_of(self), grid)
        return with_constant(entries, grid) if self.fit_intercept else entries

    def _learn(self, made: SumFitPlan, values: Floats) -> None:
        lower, upper = target_bounds_of(self)
        entries = made.columns + bool(self.fit_intercept)
        gram = symmetric(values[: triangle_size(entries)], entries)
        against = values[triangle_size(entries) :] / DIAGONAL
        self.ridge_ = adaptive_ridge(gram, spectral_noise(made.plan.deviation, entries))
        self.norm_, self.target_bounds_ = norm_of(self), (lower, upper)
        penalty = np.full(entries, self._penalty() / self.norm_**2)
        penalty[made.columns :] = 0  # the intercept is not held back
        weights = np.linalg.solve(gram + np.diag(penalty + self.ridge_), against) * (upper - lower) / 2
        self.coef_ = weights[: made.columns] / self.norm_
        self.intercept_ = (lower + upper) / 2 + float(weights[made.columns :].sum() * CONSTANT)

    # ------------------------------------------------------------ predicting

    def predict(self, X: Any) -> Floats:
        """The prediction for each row, within the declared bounds of the target."""
        inputs = ready(self._known(X), self.norm_)[0] * self.norm_
        return np.clip(inputs @ self.coef_ + self.intercept_, *self.target_bounds_)


def with_constant(entries: Floats, grid: Grid) -> Floats:
    """Integer rows and a constant entry of ``CONSTANT``."""
    return np.hstack([entries, np.full((len(entries), 1), float(CONSTANT * grid.one))])


def moment_sums(entries: Floats, targets: Floats, grid: Grid) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The weighted second moments of integer rows, and their products with integer targets.

    Guarantee: a row z with |z|^2 <= L and |target| <= 1 moves them by at most 5 sqrt(L^2 + L) in L2.
    Because: ``docs/proofs/moments.md``; the statistics are those of [Wang18].
    """
    against = product(entries, targets[:, None], grid)[:, 0]
    return np.concatenate([weighted_triangle(product(entries, entries, grid)), DIAGONAL * against])


def adaptive_ridge(gram: Floats, noise: float) -> float:
    """As much ridge as the noise needs and the data does not have: [Wang18, Alg. 2] on the noisy matrix itself."""
    least = float(np.linalg.eigvalsh(gram)[0])
    return max(0.0, noise - max(0.0, least - noise))


class LinearRegression(LinearModel):
    """Least squares by sufficient statistics with noise and an adaptive ridge (AdaSSP).

    ``norm`` is the largest L2 norm of a row and ``target_bounds`` the range of y, both from public knowledge: longer
    rows are scaled down, targets clipped. All second moments are released at once, so the ridge is chosen from the
    noisy moments and costs nothing more.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: [Wang18, Alg. 2] with one joint Gaussian release [DRS22, Cor. 2]; ``docs/proofs/moments.md``.
    Error: the noise on a second moment of rows over the norm is at most sigma/5, with sigma in ``event_``.
    Not covered: running time; the number of rows, where it is not declared.

    >>> import numpy as np
    >>> generator = np.random.default_rng(1)
    >>> X = generator.uniform(-0.5, 0.5, (20_000, 3))
    >>> y = 2 * X[:, 0] - X[:, 1] + 3
    >>> model = LinearRegression(epsilon=1, delta=1e-6, norm=1.0, target_bounds=(0, 6)).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        target_bounds: Any = None,
        fit_intercept: bool = True,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.norm, self.target_bounds = epsilon, delta, norm, target_bounds
        self.fit_intercept, self.rows, self.neighbours, self.unit = fit_intercept, rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset


class Ridge(LinearModel):
    """Least squares with the penalty ``alpha`` |coef|^2, as in scikit-learn, on top of the ridge that noise needs.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if each unit has one row.
    Because: [Wang18, Alg. 2] with one joint Gaussian release [DRS22, Cor. 2]; ``docs/proofs/moments.md``.
    Error: the noise on a second moment of rows over the norm is at most sigma/5, with sigma in ``event_``.
    Not covered: running time; the number of rows, where it is not declared.
    """

    def __init__(
        self,
        *,
        alpha: Real = 1.0,
        epsilon: Real | None = None,
        delta: Real | None = None,
        norm: Real | None = None,
        target_bounds: Any = None,
        fit_intercept: bool = True,
        rows: Any = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.alpha, self.epsilon, self.delta = alpha, epsilon, delta
        self.norm, self.target_bounds, self.fit_intercept = norm, target_bounds, fit_intercept
        self.rows, self.neighbours, self.unit = rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _penalty(self) -> float:
        return float(_not_negative(self.alpha))


def _not_negative(alpha: Real) -> Fraction:
    read = exact(alpha, name="alpha")
    if read < 0:
        raise OutOfRange("alpha must not be negative.", why="A penalty holds weights back.", fix="Write alpha=1.0.")
    return read
