"""Private empirical risk minimization as the lectures have it: linear models, convex losses, a convex set.

- ``projected_sgd``: the lecture's DP-SGD, one row in each step; noise by its formula, or as much as accounting asks for
- ``gradient_descent``: all rows in each step
- ``output_perturbation``, ``objective_perturbation``: noise on the minimizer, or in the objective
- ``lecture_noise``: the formula itself, and where it is proved
- ``LOGISTIC``, ``SMOOTH_HINGE``: losses; ``Ball``, ``Box``: convex sets with their projections

Each returns a ``Solution``: weights, event, guarantee. Labels are -1 and 1; rows are scaled down to ``norm``.

``problem`` has the risk and its gradient. Start with ``problem``, then ``sgd``.
"""

from hubbub.learn.solvers.convex_sets import Ball, Box
from hubbub.learn.solvers.gradient_descent import gradient_descent
from hubbub.learn.solvers.losses import LOGISTIC, SMOOTH_HINGE, Loss
from hubbub.learn.solvers.objective_perturbation import objective_perturbation
from hubbub.learn.solvers.output_perturbation import output_perturbation
from hubbub.learn.solvers.problem import Solution
from hubbub.learn.solvers.sgd import lecture_noise, projected_sgd

__all__ = [
    "LOGISTIC",
    "SMOOTH_HINGE",
    "Ball",
    "Box",
    "Loss",
    "Solution",
    "gradient_descent",
    "lecture_noise",
    "objective_perturbation",
    "output_perturbation",
    "projected_sgd",
]
