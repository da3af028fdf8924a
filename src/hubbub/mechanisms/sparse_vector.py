"""The sparse vector technique: many questions, and only the few above a threshold cost anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from threading import Lock

import numpy as np

from hubbub import noise
from hubbub.mechanisms.common.grid_values import Number, grid_for, steps_of
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.process_secret import ProcessSecret
from hubbub.mechanisms.common.selection_scores import laplace_log_cdf, least_gap, spread_of
from hubbub.terms import (
    MechanismExhausted,
    Neighbours,
    PureStep,
    Real,
    Unit,
    WrongShape,
    exact,
    positive,
    refuse_masked,
    sensitivity_of,
    shown,
    whole,
)


class AboveThreshold(ProcessSecret, Mechanism):
    """Say for each value in turn whether it lies above a threshold, until ``count`` of them did.

    Guarantee: epsilon-DP for the given unit and neighbours and all answers together, if ``sensitivity`` bounds how
    far one unit moves any one value (after NaN and infinities were replaced by ``missing``); each value may be
    chosen after seeing the earlier answers. ``monotone=True`` claims that adding a unit moves all values the
    same way, and halves the noise of the values. The whole cost is fixed when the object is made.
    Because: [LSL17, Alg. 1 and Sec. 4] through ``docs/proofs/sparse-vector.md``, for discrete noise on a public
    grid: one noisy threshold for the whole run, fresh noise for each value, and no value ever released.
    Error: with the given confidence no answer is wrong for a value further than
    ``error(confidence, questions=...)`` from the threshold.
    Not covered: running time, and whether the declared sensitivity is true. The object holds its noisy threshold:
    it cannot be copied, pickled or used in a child process, and it never shows it.

    >>> from hubbub.noise.testing import seeded
    >>> alarm = AboveThreshold(threshold=100, sensitivity=1, epsilon=1)
    >>> rng = seeded(7)
    >>> [alarm.ask(value, rng=rng) for value in (3, 20, 180)]
    [False, False, True]
    """

    def __init__(
        self,
        *,
        threshold: Real,
        sensitivity: Real,
        epsilon: Real,
        count: int = 1,
        monotone: bool = False,
        missing: object = 0,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        super().__init__()
        relation = Neighbours.parse(neighbours)
        cost = positive(epsilon, name="epsilon")
        declared = sensitivity_of(sensitivity)
        self._left = whole(count, name="count", most=2**62)
        apart = spread_of(declared, monotone=monotone, neighbours=relation) / declared
        times = self._left * int(apart)  # sensitivities by which all yeses together can move against the threshold
        first, second = split_epsilon(cost, times)
        self._grid = grid_for(declared / cost)
        moved = math.floor(declared / self._grid) + 1  # grid steps, after rounding
        self._threshold_scale, self._value_scale = moved / first, times * moved / second
        self._threshold = round(exact(threshold, name="threshold") / self._grid)
        self._missing = exact(missing, name="missing")
        self._noisy_threshold: int | None = None
        self._lock = Lock()
        self.event: PureStep = PureStep(
            mechanism="above-threshold", epsilon=cost, neighbours=relation, unit=unit or Unit()
        )

    @property
    def left(self) -> int:
        """How many more values may be found above the threshold."""
        return self._left

    def ask(self, value: Number, *, rng: noise.RandomSource | None = None) -> bool:
        """Whether ``value`` lies above the threshold, nearly; after ``count`` times yes it refuses."""
        self._check_process()
        step = steps_of(value, grid=self._grid, missing=self._missing, dimension=1)
        if not isinstance(step, int):
            raise _one_at_a_time()
        with self._lock:
            self._check_left()
            above = step + noise.discrete_laplace(self._value_scale, rng=rng) >= self._drawn_threshold(rng)
            self._left -= above
            return above

    def release(self, values: Sequence[Number], *, rng: noise.RandomSource | None = None) -> list[bool]:
        """The answers for ``values`` in turn; the list ends with the last yes that was left."""
        refuse_masked(values)
        answers: list[bool] = []
        for value in values:
            answers.append(self.ask(value, rng=rng))
            if not self._left:
                break
        return answers

    def error(self, confidence: Real, *, questions: int) -> float:
        """How far from the threshold an answer may be wrong, with that confidence for all ``questions`` at once.

        It holds even for values chosen by somebody who knows the noisy threshold.
        """
        asked = whole(questions, name="questions")
        ratio = float(self._value_scale / self._threshold_scale)
        z = np.linspace(0, 45.0, 40_001)
        weights = np.exp(-z)
        weights /= weights.sum()

        def miss_beyond(t: float) -> float:
            return float(np.dot(weights, -np.expm1(asked * laplace_log_cdf((t - z) / ratio))))

        return least_gap(miss_beyond, confidence) * float(self._threshold_scale * self._grid)

    def __repr__(self) -> str:
        return f"AboveThreshold(epsilon={shown(self.event.epsilon)}, left={self._left})"

    def _drawn_threshold(self, rng: noise.RandomSource | None) -> int:
        if self._noisy_threshold is None:  # once for the whole run: drawing it again after a yes is another mechanism
            self._noisy_threshold = self._threshold + noise.discrete_laplace(self._threshold_scale, rng=rng)
        return self._noisy_threshold

    def _check_left(self) -> None:
        if not self._left:
            raise MechanismExhausted(
                "as many values were found above the threshold as had been paid for.",
                why="Each yes is part of the cost, which was fixed when the object was made.",
                fix="Make a new AboveThreshold, with a charge of its own, or a larger count= next time.",
            )


def split_epsilon(epsilon: Fraction, times: int) -> tuple[Fraction, Fraction]:
    """The cost of the threshold and of the values: nearly 1 : times^(2/3), which adds up to epsilon exactly."""
    ratio = Fraction(round(times ** (2 / 3) * 1024), 1024)
    first = epsilon / (1 + ratio)
    return first, epsilon - first


def _one_at_a_time() -> WrongShape:
    return WrongShape(
        "one value is asked for at a time.",
        why="Each answer may decide whether there is a next one.",
        fix="Call ask() with a number, or release() with a list.",
    )
