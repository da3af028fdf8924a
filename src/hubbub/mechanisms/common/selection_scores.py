"""What the mechanisms that choose one of several candidates share: reading scores, and how far a choice strays."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms.common.grid_values import Number, rational_of
from hubbub.terms import (
    EmptyInput,
    Neighbours,
    NotProved,
    Real,
    WrongShape,
    exact,
    fraction_of,
    plain_array,
    refuse_masked,
    sensitivity_of,
    whole,
)

Scores: TypeAlias = Sequence[Number] | NDArray[Any]

_FARTHEST = Fraction(2) ** 1000  # in units of 1/rate; beyond it doubles could not even hold an exponent


def spread_of(sensitivity: Real, *, monotone: bool, neighbours: Neighbours) -> Fraction:
    """How far one unit can move two scores apart: once the sensitivity if all move together, else twice."""
    declared = sensitivity_of(sensitivity)
    if monotone and neighbours is Neighbours.REPLACE:
        raise NotProved(
            "monotone scores are a notion of adding or removing a unit.",
            why="Replacing a unit is a removal and an addition, so some scores may fall while others rise.",
            fix='Leave monotone out, or use neighbours="add-remove".',
        )
    return declared if monotone else 2 * declared


class ScoreReader:
    """Scores as exact rationals, kept within +-2^1000 / rate; NaN and infinities count as ``missing``.

    Clamping never moves two scores further apart, so it costs nothing; it keeps every number finite.
    """

    def __init__(self, *, rate: Fraction, missing: object) -> None:
        self._farthest = _FARTHEST / rate
        self._missing = -self._farthest if missing is None else exact(missing, name="missing")

    def read(self, scores: Scores) -> list[Fraction]:
        """One rational for each candidate, in their order."""
        values = _flat_scores(scores)
        if not values:
            raise EmptyInput(
                "there is no candidate to choose from.",
                why="A choice needs at least one candidate, and the list of candidates is public.",
                fix="Give one score for each candidate.",
            )
        read = [rational_of(value) for value in values]
        return [self._clamp(self._missing if score is None else score) for score in read]

    def _clamp(self, score: Fraction) -> Fraction:
        return max(-self._farthest, min(self._farthest, score))


def _flat_scores(scores: Scores) -> list[object]:
    refuse_masked(scores, name="scores")
    array = plain_array(scores) if isinstance(scores, np.ndarray) else None
    if (array is not None and array.ndim != 1) or isinstance(scores, str | bytes):
        raise WrongShape(
            "scores must be one list of numbers.",
            why="There is one score for each candidate.",
            fix="Give a flat list or a one-dimensional array.",
        )
    return list(array.tolist() if array is not None else scores)


def rivals_of(candidates: object) -> int:
    """How many candidates could win instead of the best one."""
    return whole(candidates, name="candidates") - 1


def least_gap(miss_beyond: Callable[[float], float], confidence: Real) -> float:
    """The least gap t (in units of the noise) with ``miss_beyond(t) <= 1 - confidence``, rounded up."""
    miss = 1 - float(fraction_of(confidence, name="confidence"))
    if miss_beyond(0.0) <= miss:
        return 0.0
    low, high = 0.0, 1.0
    while miss_beyond(high) > miss:
        low, high = high, 2 * high
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if miss_beyond(middle) <= miss else (middle, high)
    return high


def noisy_race(rivals: int, *, first: float = 1.0, other: float = 1.0) -> Callable[[float], float]:
    """t -> P(one of ``rivals`` Laplace draws of scale ``other`` exceeds t plus one of scale ``first``)."""
    ends = 45.0 * max(first, other)
    z = np.linspace(-ends, ends, 40_001)
    weights = np.exp(-np.abs(z) / first)
    weights /= weights.sum()

    def miss_beyond(t: float) -> float:
        return float(np.dot(weights, -np.expm1(rivals * laplace_log_cdf((t + z) / other))))

    return miss_beyond


def laplace_log_cdf(x: NDArray[np.float64]) -> NDArray[np.float64]:
    """log P(X <= x) of the continuous Laplace distribution of scale 1."""
    upper = np.log1p(-0.5 * np.exp(-np.maximum(x, 0)))
    return np.where(x > 0, upper, np.minimum(x, 0) - math.log(2))
