"""Convex sets of weights, and the projection onto them (the nearest point)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hubbub.learn.base.parameters import positive_double
from hubbub.learn.training.network import Floats
from hubbub.terms import ReversedBounds


@dataclass(frozen=True, slots=True)
class Ball:
    """All weights of L2 norm at most ``radius``."""

    radius: float

    def __post_init__(self) -> None:
        positive_double(self.radius, name="radius")

    def project(self, weights: Floats) -> Floats:
        """The nearest point of the ball."""
        return weights / max(1.0, float(np.linalg.norm(weights)) / self.radius)

    def reach(self, size: int) -> float:
        """The largest norm of a point in it."""
        return self.radius

    def diameter(self, size: int) -> float:
        """The largest distance of two points in it."""
        return 2 * self.radius


@dataclass(frozen=True, slots=True)
class Box:
    """All weights whose every coordinate lies between ``lower`` and ``upper``."""

    lower: float
    upper: float

    def __post_init__(self) -> None:
        if not self.lower < self.upper:
            raise ReversedBounds(
                f"lower ({self.lower:g}) must be below upper ({self.upper:g}).",
                why="The box would be empty.",
                fix="Swap the bounds.",
            )

    def project(self, weights: Floats) -> Floats:
        """The nearest point of the box."""
        return np.clip(weights, self.lower, self.upper)

    def reach(self, size: int) -> float:
        """The largest norm of a point in it."""
        return math.sqrt(size) * max(abs(self.lower), abs(self.upper))

    def diameter(self, size: int) -> float:
        """The largest distance of two points in it."""
        return math.sqrt(size) * (self.upper - self.lower)


ConvexSet = Ball | Box
