"""The minimizer of a strongly convex risk, to a gradient norm that is checked and not assumed."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hubbub.learn.solvers.problem import Problem
from hubbub.learn.training.network import Examples, Floats
from hubbub.terms import OutOfRange

_NEWTON = 50  # steps, of which a dozen are usual


@dataclass(frozen=True, slots=True)
class Objective:
    """sum of losses + weight/2 |theta|^2 + linear.theta, to be minimized until |gradient| <= tolerance."""

    problem: Problem
    weight: float
    linear: Floats
    tolerance: float

    @property
    def reach(self) -> float:
        """At least the norm of the minimizer: its value is at most that at 0, and losses are not negative."""
        start = float(self.problem.loss.value(np.zeros(1))[0]) * self.problem.rows
        return math.sqrt(2 * start / self.weight) + 2 * float(np.linalg.norm(self.linear)) / self.weight

    @property
    def blur(self) -> float:
        """How far a computed gradient may be off, within twice the reach."""
        reach = 2 * self.reach
        rest = self.weight * reach + float(np.linalg.norm(self.linear))
        return self.problem.error(self.problem.rows, reach) + 1e-14 * rest

    def minimize(self, X: ArrayLike, y: ArrayLike) -> Floats:
        """The weights; found for every data set, or refused before one is read.

        Newton's method first, then plain descent with a step that always makes progress. The norm that is checked
        counts the rounding of its own computation.
        """
        if self.blur > self.tolerance / 2:
            raise OutOfRange(
                "doubles cannot reach the accuracy that so little regularization asks for.",
                why="The rounding of the gradient would be larger than the norm that must be checked.",
                fix="Use a larger l2.",
            )
        data = self.problem.read(X, y)
        theta = np.zeros(self.problem.inputs)
        for _ in range(_NEWTON):
            if self._done(theta, gradient := self._gradient(theta, data)):
                return theta
            theta = self._newton(theta, gradient, data)
        step = 1 / (self.weight + self.problem.rows * self.problem.loss.smooth)
        while not self._done(theta, gradient := self._gradient(theta, data)):
            theta = theta - step * gradient
        return theta

    def _done(self, theta: Floats, gradient: Floats) -> bool:
        near = float(np.linalg.norm(gradient)) * (1 + 1e-12) <= self.tolerance - self.blur
        return near and float(np.linalg.norm(theta)) <= 2 * self.reach

    def _value(self, theta: Floats, data: Examples) -> float:
        losses = self.problem.loss.value(data.labels * (data.inputs @ theta)).sum()
        return float(losses + self.weight / 2 * (theta @ theta) + self.linear @ theta)

    def _gradient(self, theta: Floats, data: Examples) -> Floats:
        return self.problem.gradient_sum(theta, data) + self.weight * theta + self.linear

    def _newton(self, theta: Floats, gradient: Floats, data: Examples) -> Floats:
        """A Newton step, halved until the objective falls as it should."""
        bend = self.problem.loss.curvature(data.labels * (data.inputs @ theta))
        hessian = (data.inputs * bend[:, None]).T @ data.inputs
        hessian[np.diag_indices_from(hessian)] += self.weight
        step = np.linalg.solve(hessian, gradient)
        value, fall, size = self._value(theta, data), float(gradient @ step), 1.0
        while size > 1e-6 and self._value(theta - size * step, data) > value - 0.25 * size * fall + 1e-12 * abs(value):
            size /= 2
        return theta - size * step
