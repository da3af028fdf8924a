"""Objective perturbation: minimize the risk plus a random linear term, to a checked gradient norm.

The density of the minimizer changes by a determinant and a shifted Gaussian when a row comes or goes
(``docs/proofs/learn.md``). What is computed is only close to the minimizer; a little noise on top hides the rest.
"""

# ruff: noqa: N803  (X is what scikit-learn calls it)
from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from hubbub import noise
from hubbub.accounting import delta_of
from hubbub.learn.base.parameters import double_of, exact_price
from hubbub.learn.solvers.losses import LOGISTIC, Loss
from hubbub.learn.solvers.minimize import Objective
from hubbub.learn.solvers.problem import CAVEATS, ROWS_ARE_PUBLIC, Problem, Solution
from hubbub.learn.training.network import Floats
from hubbub.mechanisms import Gaussian
from hubbub.noise import RandomSource
from hubbub.terms import ApproximateDP, ApproximateStep, Compose, Guarantee, Real, exact

_SHARE = Fraction(1, 50)  # of the price, for the noise that hides how far the minimization got
_TOLERANCE = 1e-4
_ROUNDING = 64  # grid steps by which discrete noise may differ from continuous noise in each coordinate


def objective_perturbation(
    X: ArrayLike,
    y: ArrayLike,
    *,
    epsilon: Real,
    delta: Real,
    norm: Real,
    l2: Real = 0,
    loss: Loss = LOGISTIC,
    rng: RandomSource | None = None,
) -> Solution:
    """The minimizer of: mean loss + l2/2 |theta|^2 + b.theta / n, with Gaussian b; l2 is raised where privacy needs it.

    Guarantee: (epsilon, delta)-DP for adding or removing a row; the number of rows counts as public.
    Because: [KST12] with the bound of [RKW23] for linear models, and approximate minimization as in [INSTTW19]; derived
    for what is done here, with discrete noise, in ``docs/proofs/learn.md``.
    Error: as without privacy at l2, plus that of a gradient with noise sigma / n.
    Not covered: running time.
    """
    problem = Problem.of(X, loss=loss, norm=norm)
    price = ApproximateDP(*exact_price(epsilon, delta))
    main = ApproximateDP(price.epsilon * (1 - _SHARE), price.delta * (1 - _SHARE))
    wanted = double_of(exact(l2, name="l2"), name="l2") * problem.rows
    weight = max(wanted, least_weight(main, loss))
    sigma = objective_noise(main, loss, weight)
    grid = 2.0 ** (math.floor(math.log2(sigma)) - 40)
    slack = _TOLERANCE + _ROUNDING * grid * math.sqrt(problem.inputs)
    hide = Gaussian(
        sensitivity=Fraction(2 * slack) / Fraction(weight),
        epsilon=price.epsilon * _SHARE,
        delta=price.delta * _SHARE,
        dimension=problem.inputs,
    )
    linear = _linear_noise(problem.inputs, sigma, grid, rng)
    theta = Objective(problem, weight, linear, _TOLERANCE).minimize(X, y)
    weights = np.asarray(hide.release(theta, rng=rng))
    step = ApproximateStep(mechanism="objective-perturbation", epsilon=main.epsilon, delta=main.delta)
    promise = Guarantee(price, caveats=(ROWS_ARE_PUBLIC, *CAVEATS))
    return Solution(weights / problem.norm, Compose((step, hide.event)), promise)


def least_weight(price: ApproximateDP, loss: Loss) -> float:
    """The least weight of |theta|^2 / 2: the determinant may take half of epsilon."""
    return loss.smooth / math.expm1(float(price.epsilon) / 2)


def objective_noise(price: ApproximateDP, loss: Loss, weight: float) -> float:
    """The standard deviation of b at which 2 delta_gauss(epsilon - ln(1 + smooth/weight)) meets delta; rounded up."""
    left = float(price.epsilon) - math.log1p(loss.smooth / weight)
    target = float(price.delta) * (1 - 1e-9)  # the rest is for drawing discrete noise

    def meets(mu: float) -> bool:
        return left >= mu**2 / 2 and 2 * delta_of(left, mu) <= target

    low, high = 0.0, 1.0
    while meets(high):
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if meets(middle) else (low, middle)
    return loss.lipschitz / low * (1 + 1e-9)


def _linear_noise(size: int, sigma: float, grid: float, rng: RandomSource | None) -> Floats:
    """b: discrete Gaussian noise on a very fine grid."""
    drawn = noise.discrete_gaussian(Fraction(sigma) / Fraction(grid), size, rng=rng)
    return np.asarray(drawn * grid, dtype=np.float64)
