"""The lecture's differentially private SGD: one uniformly chosen row in each step, noise, a projection.

The lecture's noise is sigma = 16 l sqrt(T ln(2/delta) ln(1.25 T/(delta n))) / (n epsilon), with T = n^2 steps. Its own
proof gives each step delta n / (2T), for which the last logarithm must be ln(2.5 T/(delta n)); and it uses the classic
Gaussian formula, which needs an epsilon of at most 1 in each step before sampling: T >= n^2 epsilon^2/(32 ln(2/delta)).
``lecture_noise`` uses what is right and refuses what is not proved. Accounting of the very same steps needs far less.
"""

# ruff: noqa: N803  (X is what scikit-learn calls it)
from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from hubbub import noise
from hubbub.learn.base.parameters import exact_price
from hubbub.learn.solvers.convex_sets import ConvexSet
from hubbub.learn.solvers.losses import LOGISTIC, Loss
from hubbub.learn.solvers.problem import CAVEATS, Problem, Solution
from hubbub.learn.training.calibration import plan, run_with_noise
from hubbub.learn.training.network import Examples, Floats
from hubbub.learn.training.noisy_descent import add_noise, draw_noise
from hubbub.learn.training.sampling import FixedBatch, batches, step_of
from hubbub.terms import (
    ApproximateDP,
    ApproximateStep,
    Event,
    Guarantee,
    Neighbours,
    NotProved,
    OutOfRange,
    Real,
    Repeat,
    round_up,
    whole,
)


def lecture_noise(
    *, rows: int, steps: int, epsilon: Real, delta: Real, lipschitz: float = 1.0, as_printed: bool = False
) -> float:
    """The lecture's sigma, with the logarithm that its proof needs; ``as_printed`` gives the slide's own, to compare.

    >>> round(lecture_noise(rows=100, steps=10_000, epsilon=0.5, delta=1e-5), 1)
    461.4
    >>> round(lecture_noise(rows=100, steps=10_000, epsilon=0.5, delta=1e-5, as_printed=True), 1)
    451.9
    """
    e, d = map(float, exact_price(epsilon, delta))
    if e > 1 or steps < (least := lecture_steps(rows=rows, epsilon=e, delta=d)):
        least = lecture_steps(rows=rows, epsilon=min(e, 1.0), delta=d)
        raise NotProved(
            f"the lecture's noise is proved for epsilon up to 1 and at least {least} steps here.",
            why="Its proof uses the classic Gaussian formula in each step, which holds up to an epsilon of 1.",
            fix=f"Use epsilon <= 1 and steps >= {least}, or noise='tight', which has no such limits.",
        )
    constant = 1.25 if as_printed else 2.5
    return 16 * lipschitz * math.sqrt(steps * math.log(2 / d) * math.log(constant * steps / (d * rows))) / (rows * e)


def lecture_steps(*, rows: int, epsilon: float, delta: float) -> int:
    """The fewest steps for which the lecture's proof holds."""
    return math.ceil(rows**2 * epsilon**2 / (32 * math.log(2 / delta)))


def projected_sgd(
    X: ArrayLike,
    y: ArrayLike,
    *,
    domain: ConvexSet,
    epsilon: Real,
    delta: Real,
    norm: Real,
    loss: Loss = LOGISTIC,
    steps: int | None = None,
    noise: str = "tight",
    rng: noise.RandomSource | None = None,
) -> Solution:
    """The lecture's algorithm: theta <- projection(theta - gamma_t (gradient of one random row + noise)).

    ``steps`` is n^2 if not given, gamma_t = D / (G sqrt(t)) for a set of diameter D, and the last weights are returned.
    ``noise="lecture"`` is the lecture's sigma, ``noise="tight"`` what the accounting of the same steps asks for.

    Guarantee: (epsilon, delta)-DP for replacing a row.
    Because: [BST14] with the constants of [Bel21] as corrected in ``docs/proofs/learn.md``; for "tight" the
    accounting of samples without replacement [BBG18, Thm. 9].
    Error: O(D l sqrt(p ln(1/delta)) ln^(3/2)(n/delta) / (n epsilon)) in expected excess risk after n^2 steps [BST14].
    Not covered: running time.
    """
    problem = Problem.of(X, loss=loss, norm=norm)
    price = ApproximateDP(*exact_price(epsilon, delta))
    times = problem.rows**2 if steps is None else whole(steps, name="steps")
    run, event = _plan_run(problem, domain, price, times, noise)
    weights = _descend(problem, problem.read(X, y), run, domain, rng)
    return Solution(weights / problem.norm, event, Guarantee(price, neighbours=Neighbours.REPLACE, caveats=CAVEATS))


def _plan_run(
    problem: Problem, domain: ConvexSet, price: ApproximateDP, times: int, noise: str
) -> tuple[Repeat, Event]:
    """What is run, and what is told of it: the accounted run itself, or the theorem's promise."""
    sampling, size, clip = FixedBatch(1, problem.rows), problem.inputs, problem.loss.lipschitz
    error = problem.error(1, domain.reach(size))
    if noise == "tight":
        run = plan(
            sampling=sampling,
            steps=times,
            clip=clip,
            error=lambda rows: error,
            size=size,
            rows=1,
            epsilon=price.epsilon,
            delta=price.delta,
            neighbours=Neighbours.REPLACE,
        )
        return run, run
    if noise != "lecture":
        raise OutOfRange(
            f"noise must be 'tight' or 'lecture' and is {noise!r}.",
            why="These are the two calibrations that are proved.",
            fix='Write noise="tight".',
        )
    per_sensitivity = lecture_noise(
        rows=problem.rows, steps=times, epsilon=price.epsilon, delta=price.delta, lipschitz=0.5
    )  # the sensitivity is 2 l
    multiplier = round_up(per_sensitivity, steps=16)
    run = run_with_noise(sampling=sampling, steps=times, clip=clip, error=error, size=size, multiplier=multiplier)
    step = ApproximateStep(
        mechanism="projected-sgd", epsilon=price.epsilon, delta=price.delta, neighbours=Neighbours.REPLACE
    )
    return run, step


def _descend(
    problem: Problem, data: Examples, run: Repeat, domain: ConvexSet, rng: noise.RandomSource | None
) -> Floats:
    """The last weights of the run."""
    step = step_of(run)
    bound = math.hypot(problem.loss.lipschitz, math.sqrt(problem.inputs) * float(step.sigma))
    pace = domain.diameter(problem.inputs) / bound
    weights = domain.project(np.zeros(problem.inputs))
    for t, (rows, drawn) in enumerate(
        zip(batches(run, len(data), rng=rng), draw_noise(run, rng), strict=True), start=1
    ):
        noisy_gradient = add_noise(problem.gradient_sum(weights, data, rows), drawn, step)
        weights = domain.project(weights - pace / math.sqrt(t) * noisy_gradient)
    return weights
