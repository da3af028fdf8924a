"""Convex losses of a margin: how wrong the score z of a row is whose label times score is z."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from hubbub.learn.training.network import Floats


@dataclass(frozen=True, slots=True)
class Loss:
    """A convex function of the margin y x.theta, never negative; its first two derivatives, and bounds on these."""

    name: str
    value: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    curvature: Callable[[Floats], Floats]
    lipschitz: float  # of the value: the largest slope
    smooth: float  # of the slope: the largest curvature


def _logistic_slope(margin: Floats) -> Floats:
    return (np.tanh(margin / 2) - 1) / 2  # -1 / (1 + exp(margin)), without overflow


def _logistic_curvature(margin: Floats) -> Floats:
    return (1 - np.tanh(margin / 2) ** 2) / 4


def _hinge_value(margin: Floats) -> Floats:
    short = 1 - margin
    return np.where(short <= 0, 0.0, np.where(short < 1, short**2 / 2, short - 0.5))


def _hinge_slope(margin: Floats) -> Floats:
    return -np.clip(1 - margin, 0.0, 1.0)


def _hinge_curvature(margin: Floats) -> Floats:
    return ((margin > 0) & (margin < 1)).astype(np.float64)


LOGISTIC = Loss(
    "logistic",
    lambda margin: np.logaddexp(0.0, -margin),
    _logistic_slope,
    _logistic_curvature,
    lipschitz=1,
    smooth=0.25,
)
SMOOTH_HINGE = Loss("smooth hinge", _hinge_value, _hinge_slope, _hinge_curvature, lipschitz=1, smooth=1)
