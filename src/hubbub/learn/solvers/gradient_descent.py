"""Noisy gradient descent over a convex set: all rows in each step."""

# ruff: noqa: N803  (X is what scikit-learn calls it)
from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.base.parameters import double_of, exact_price
from hubbub.learn.solvers.convex_sets import ConvexSet
from hubbub.learn.solvers.losses import LOGISTIC, Loss
from hubbub.learn.solvers.problem import CAVEATS, ROWS_ARE_PUBLIC, Problem, Solution
from hubbub.learn.training.calibration import plan
from hubbub.learn.training.noisy_descent import Descent, train
from hubbub.learn.training.sampling import FullBatch, step_of
from hubbub.noise import RandomSource
from hubbub.terms import ApproximateDP, Guarantee, Neighbours, Real, exact, whole


def gradient_descent(
    X: ArrayLike,
    y: ArrayLike,
    *,
    domain: ConvexSet,
    epsilon: Real,
    delta: Real,
    norm: Real,
    loss: Loss = LOGISTIC,
    l2: Real = 0,
    steps: int = 100,
    rng: RandomSource | None = None,
) -> Solution:
    """Minimize the mean loss plus l2/2 |theta|^2 over ``domain``, by noisy projected gradient descent.

    Guarantee: (epsilon, delta)-DP for adding or removing a row; the number of rows counts as public.
    Because: Gaussian noise on sums of bounded gradients [BST14], composed as one Gaussian [DRS22, Cor. 2];
    ``docs/proofs/learn.md`` for sums in doubles.
    Error: the expected excess risk of the averaged weights is at most D G / sqrt(steps) for a set of diameter D, where
    G^2 bounds the squared norm of a noisy mean gradient: O(D sqrt(d ln(1/delta)) / (n epsilon)) with enough steps.
    Not covered: running time.
    """
    problem = Problem.of(X, loss=loss, norm=norm)
    price = ApproximateDP(*exact_price(epsilon, delta))
    penalty, times = double_of(exact(l2, name="l2"), name="l2"), whole(steps, name="steps")
    reach = domain.reach(problem.inputs)
    run = plan(
        sampling=FullBatch(),
        steps=times,
        clip=loss.lipschitz,
        error=lambda rows: problem.error(rows, reach),
        size=problem.inputs,
        rows=problem.rows,
        epsilon=price.epsilon,
        delta=price.delta,
    )
    spread = math.sqrt(problem.inputs) * float(step_of(run).sigma) / problem.rows
    pace = domain.diameter(problem.inputs) / (math.hypot(loss.lipschitz + penalty * reach, spread) * math.sqrt(times))
    weights = train(
        run,
        problem.read(X, y),
        clipped_sum=problem.gradient_sum,
        start=domain.project(np.zeros(problem.inputs)),
        descent=Descent(rate=pace, scale=problem.rows, momentum=0, tail=1, l2=penalty),
        project=domain.project,
        rng=rng,
    )
    promise = Guarantee(price, neighbours=Neighbours.ADD_REMOVE, caveats=(ROWS_ARE_PUBLIC, *CAVEATS))
    return Solution(weights / problem.norm, run, promise)
