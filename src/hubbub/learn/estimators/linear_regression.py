"""Linear regression from noisy second moments."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.fit_plan import FitFacts, FitPlan
from hubbub.learn.base.inputs import scale_rows
from hubbub.learn.base.parameters import double_of, norm_of
from hubbub.learn.base.private_estimator import PrivateRegressor
from hubbub.learn.base.sum_plan import SumDesign, SumFitPlan, plan_sum_fit
from hubbub.learn.base.targets import NumberTarget, number_target
from hubbub.learn.training.moments import (
    BESIDE,
    CONSTANT,
    DIAGONAL,
    Grid,
    Integers,
    exact_product,
    from_triangle,
    noisy_sum,
    spectral_noise,
    triangle_size,
    unit_rows,
    weighted_triangle,
    with_constant,
)
from hubbub.learn.training.network import Floats
from hubbub.ledger import AccountLike
from hubbub.terms import Neighbours, OutOfRange, Real, exact


@dataclass(frozen=True, slots=True)
class LeastSquares:
    """Second moments of rows with their targets, and the weights that follow from them."""

    norm: float
    target: NumberTarget
    fit_intercept: bool
    penalty: float = 0.0

    def design(self, columns: int) -> SumDesign:
        """The upper triangle of the matrix, and a product of each column with the target."""
        entries = columns + self.fit_intercept
        longest = 1 + CONSTANT**2 * self.fit_intercept  # the largest squared norm of a row with its constant
        size = triangle_size(entries) + entries
        return SumDesign(
            size=size,
            square=DIAGONAL**2 * (longest**2 + longest),
            largest=BESIDE,
            stored=size,
            identity={
                "norm": str(Fraction(self.norm)),
                "bounds": list(map(str, self.target.bounds)),
                "intercept": self.fit_intercept,
            },
        )

    def measure(self, plan: SumFitPlan, table: Floats, y: ArrayLike | None) -> Floats:
        """The noisy moments."""
        assert y is not None  # the estimator needs a target
        grid = plan.grid
        targets, entries = self.target.read(y, len(table)), unit_rows(table, self.norm, grid)
        if self.fit_intercept:
            entries = with_constant(entries, grid)
        return noisy_sum(moment_sums(entries, np.rint(targets * grid.one), grid), plan.step)

    def learned(self, plan: SumFitPlan, values: Floats) -> dict[str, object]:
        """Weights and intercept, with as much ridge as the noise needs."""
        lower, upper = self.target.bounds
        columns, entries = plan.columns, plan.columns + self.fit_intercept
        gram = from_triangle(values[: triangle_size(entries)], entries)
        against = values[triangle_size(entries) :] / DIAGONAL
        ridge = adaptive_ridge(gram, spectral_noise(plan.deviation, entries))
        penalty = np.full(entries, self.penalty / self.norm**2)
        penalty[columns:] = 0  # the intercept is not held back
        weights = np.linalg.solve(gram + np.diag(penalty + ridge), against) * (upper - lower) / 2
        return {
            "ridge_": ridge,
            "norm_": self.norm,
            "coef_": weights[:columns] / self.norm,
            "intercept_": (lower + upper) / 2 + float(weights[columns:].sum() * CONSTANT),
            **self.target.learned,
        }


class LinearModel(PrivateRegressor):
    """What LinearRegression and Ridge share once they are fitted."""

    norm_: float
    coef_: Floats
    intercept_: float

    def predict(self, X: ArrayLike) -> Floats:
        """The prediction for each row, within the declared bounds of the target."""
        inputs = scale_rows(self._rows_to_answer(X), self.norm_)[0] * self.norm_
        return np.clip(inputs @ self.coef_ + self.intercept_, *self.target_bounds_)


def moment_sums(entries: Floats, targets: Floats, grid: Grid) -> Integers:
    """The weighted second moments of integer rows, and their products with integer targets.

    Guarantee: a row z with |z|^2 <= L and |target| <= 1 moves them by at most 5 sqrt(L^2 + L) in L2.
    Because: ``docs/proofs/moments.md``; the statistics are those of [Wang18].
    """
    against = exact_product(entries, targets[:, None], grid)[:, 0]
    return np.concatenate([weighted_triangle(exact_product(entries, entries, grid)), DIAGONAL * against])


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
        target_bounds: tuple[Real, Real] | None = None,
        fit_intercept: bool = True,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.epsilon, self.delta, self.norm, self.target_bounds = epsilon, delta, norm, target_bounds
        self.fit_intercept, self.rows, self.neighbours, self.unit = fit_intercept, rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    def _plan(self, facts: FitFacts) -> FitPlan:
        norm, target = norm_of(self), number_target(self)
        return plan_sum_fit(LeastSquares(norm, target, bool(self.fit_intercept)), facts)


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
        target_bounds: tuple[Real, Real] | None = None,
        fit_intercept: bool = True,
        rows: int | str | None = None,
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

    def _plan(self, facts: FitFacts) -> FitPlan:
        norm, target, penalty = norm_of(self), number_target(self), _not_negative(self.alpha)
        return plan_sum_fit(LeastSquares(norm, target, bool(self.fit_intercept), penalty), facts)


def _not_negative(alpha: Real) -> float:
    read = double_of(exact(alpha, name="alpha"), name="alpha")
    if read < 0:
        raise OutOfRange("alpha must not be negative.", why="A penalty holds weights back.", fix="Write alpha=1.0.")
    return read
