"""What tests of statistics share: is a mean off, does a variance fit, do intervals cover."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np


def off_by(values: Sequence[float] | np.ndarray[Any, Any], truth: float) -> float:
    """How many standard errors the average is away from the truth; beyond 5 is no accident (one in a million)."""
    drawn = np.asarray(values, dtype=np.float64)
    return float(abs(drawn.mean() - truth) / (drawn.std() / math.sqrt(drawn.size)))


def variance_fits(values: Sequence[float] | np.ndarray[Any, Any], variance: float, *, slack: float = 0.0) -> bool:
    """Whether the variance of the values is the stated one, within five standard errors and a relative slack."""
    drawn = np.asarray(values, dtype=np.float64)
    return abs(drawn.var() / variance - 1) < 5 * math.sqrt(2 / drawn.size) + slack


def covered(intervals: Sequence[tuple[float, float]], truth: float) -> float:
    """The share of the intervals that hold the truth."""
    return float(np.mean([low <= truth <= high for low, high in intervals]))


def covers_95(intervals: Sequence[tuple[float, float]], truth: float) -> bool:
    """Between 93% and 97%, and what five standard errors of so many intervals add."""
    return abs(covered(intervals, truth) - 0.95) < 0.02 + 3 * math.sqrt(0.05 * 0.95 / len(intervals))
