"""Output perturbation: the minimizer of a regularized risk, plus noise."""

# ruff: noqa: N803  (X is what scikit-learn calls it)
from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.parameters import exact_price, positive_double
from hubbub.learn.solvers.losses import LOGISTIC, Loss
from hubbub.learn.solvers.minimize import Objective
from hubbub.learn.solvers.problem import CAVEATS, ROWS_ARE_PUBLIC, Problem, Solution
from hubbub.mechanisms import Gaussian
from hubbub.noise import RandomSource
from hubbub.terms import ApproximateDP, Guarantee, Real

TOLERANCE = 1e-4  # of the gradient's norm, against a row's gradient of norm 1


def output_perturbation(
    X: ArrayLike,
    y: ArrayLike,
    *,
    l2: Real,
    epsilon: Real,
    delta: Real,
    norm: Real,
    loss: Loss = LOGISTIC,
    rng: RandomSource | None = None,
) -> Solution:
    """The minimizer of the mean loss plus l2/2 |theta|^2, with Gaussian noise.

    Guarantee: (epsilon, delta)-DP for adding or removing a row; the number of rows counts as public.
    Because: the minimizer of a strongly convex sum moves by at most l / (n l2) [CMS11]; one whose gradient has
    norm t by 2t / (n l2) more, ``docs/proofs/learn.md``; Gaussian noise [BW18, Thm. 8].
    Error: each weight has noise of standard deviation about 1 / (n l2 mu).
    Not covered: running time.
    """
    problem = Problem.of(X, loss=loss, norm=norm)
    price = ApproximateDP(*exact_price(epsilon, delta))
    weight = positive_double(l2, name="l2") * problem.rows
    moved = Fraction(loss.lipschitz + 2 * TOLERANCE) / Fraction(weight)
    release = Gaussian(sensitivity=moved, epsilon=price.epsilon, delta=price.delta, dimension=problem.inputs)
    theta = Objective(problem, weight, np.zeros(problem.inputs), TOLERANCE).minimize(X, y)
    weights = np.asarray(release.release(theta, rng=rng))
    promise = Guarantee(price, caveats=(ROWS_ARE_PUBLIC, *CAVEATS))
    return Solution(weights / problem.norm, release.event, promise)
