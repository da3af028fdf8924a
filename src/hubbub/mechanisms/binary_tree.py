"""The binary-tree mechanism for continual counting: running counts over a stream, by a tree of partial sums."""

from __future__ import annotations

import math
from collections.abc import Sequence
from threading import Lock
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.additive import AdditiveNoise, draw_noise
from hubbub.mechanisms.common.grid_values import Steps, integer_array, pack_integers
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.process_secret import ProcessSecret
from hubbub.mechanisms.integer_noise import integer_noise
from hubbub.terms import (
    LaplaceNoise,
    MechanismExhausted,
    Neighbours,
    Real,
    Unit,
    WrongShape,
    fraction_of,
    whole,
)


class TreeCounter(ProcessSecret, Mechanism):
    """Tell the noisy total so far after every element of a stream of integers.

    Guarantee: epsilon-DP, (epsilon, delta)-DP or rho-zCDP for all totals together, if one unit changes one element of
    the stream and that one by at most ``max_change`` (the caller bounds both; this class does neither). Later
    elements may depend on earlier totals.
    Because: [DNPR10], [CSS11] through ``docs/proofs/tree.md``: an element is part of at most
    floor(log2 horizon) + 1 partial sums, so the vector of partial sums moves by that times ``max_change`` in L1,
    and by its square root times ``max_change`` in L2; totals are sums of released partial sums.
    Error: at any one time the total is within ``error(confidence)``; unbiased.
    Not covered: running time, and people who are part of several elements. The object holds true partial sums: it
    cannot be copied, pickled or used in a child process, and it never shows them.

    >>> from hubbub.noise.testing import seeded
    >>> visits = TreeCounter(horizon=1000, epsilon=1)
    >>> rng = seeded(7)
    >>> [visits.add(1, rng=rng) for _ in range(4)]
    [-5, 0, 4, 18]
    >>> visits.error(0.95)
    84
    """

    def __init__(
        self,
        *,
        horizon: int,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        max_change: int = 1,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        super().__init__()
        self.horizon = whole(horizon, name="horizon")
        most = whole(max_change, name="max_change")
        levels = self.horizon.bit_length()
        self.event: AdditiveNoise = integer_noise(
            "tree",
            l1=levels * most,
            l2_squared=levels * most**2,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            dimension=self.horizon,  # every element completes one partial sum
            neighbours=Neighbours.parse(neighbours),
            unit=unit,
        ).event
        self._sums = [0] * levels  # true partial sums over the last 2^level elements
        self._noisy = [0] * levels  # the same with noise
        self._time = 0
        self._lock = Lock()

    @property
    def time(self) -> int:
        """How many elements have been added."""
        return self._time

    def add(self, value: int, *, rng: noise.RandomSource | None = None) -> int:
        """Add an element and tell the noisy total."""
        return int(self.release([value], rng=rng)[0])

    def release(self, values: Sequence[int] | NDArray[Any], *, rng: noise.RandomSource | None = None) -> Steps:
        """Add elements one after the other and tell the noisy total after each."""
        self._check_process()
        elements = integer_array(values)
        if elements.ndim != 1:
            raise WrongShape(
                "a stream has one dimension.", why="Elements come one after the other.", fix="Give a flat list."
            )
        with self._lock:
            self._check_horizon(elements.size)
            noises = draw_noise(self.event, elements.shape, rng=rng)
            totals = [self._step(x, z) for x, z in zip(elements.tolist(), noises.tolist(), strict=True)]
        return pack_integers(totals, (len(totals),))

    def error(self, confidence: Real) -> int:
        """The distance that the error at any one time stays within, with that confidence."""
        terms = max(self.horizon.bit_count(), self.horizon.bit_length() - 1)  # most partial sums in one total
        return _error_of_sum(self.event, terms, float(fraction_of(confidence, name="confidence")))

    def __repr__(self) -> str:
        return f"TreeCounter(horizon={self.horizon}, time={self._time})"

    def _step(self, value: int, noisy: int) -> int:
        """The element completes the partial sum at the lowest bit of the time; the total is a sum over its bits."""
        self._time += 1
        level = (self._time & -self._time).bit_length() - 1
        self._sums[level] = value + sum(self._sums[:level])
        self._sums[:level] = [0] * level
        self._noisy[level] = self._sums[level] + noisy
        return sum(self._noisy[i] for i in range(self._time.bit_length()) if self._time >> i & 1)

    def _check_horizon(self, more: int) -> None:
        if self._time + more > self.horizon:
            raise MechanismExhausted(
                f"the stream was declared to have {self.horizon} elements.",
                why="The noise was calibrated for a tree over so many.",
                fix="Make a new TreeCounter, with a charge of its own, or declare a longer horizon next time.",
            )


def _error_of_sum(event: AdditiveNoise, terms: int, level: float) -> int:
    """The least w with P(|sum of ``terms`` draws| > w) <= 1 - level, on a grid of at most 256 cells per scale."""
    scale = float(event.scale if isinstance(event, LaplaceNoise) else event.sigma)
    cell = max(1, math.ceil(scale / 256))
    x = np.arange(0, math.ceil(12 * (terms + 3) * scale / cell) + 2) * (cell / scale)
    masses = np.exp(-x) if isinstance(event, LaplaceNoise) else np.exp(-(x**2) / 2)
    size = 1 << (2 * x.size).bit_length()
    circle = np.zeros(size)
    circle[: x.size], circle[-x.size + 1 :] = masses, masses[:0:-1]
    total = np.fft.irfft(np.fft.rfft(circle / circle.sum()) ** terms, size)
    inside = np.cumsum(total[: size // 2]) * 2 - total[0]
    return int(np.searchsorted(inside, level - 1e-12) * cell + (cell > 1) * cell)
