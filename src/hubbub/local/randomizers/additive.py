"""Additive noise at home: exact discrete Laplace or Gaussian noise on the steps of a grid."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.estimates import MeanEstimate
from hubbub.local.randomizers.base import Reports, checked_state, no_reports, report_count
from hubbub.local.randomizers.common.exact_words import Codes, Words, bytes_for, from_bytes
from hubbub.local.randomizers.common.values import Values, report_array
from hubbub.local.randomizers.mean_base import MeanRandomizer
from hubbub.mechanisms import DiscreteGaussian, Geometric
from hubbub.render import Json
from hubbub.terms import BadReport, GaussianNoise, LaplaceNoise, Neighbours, Real, WrongShape, fraction_of

STEPS = 1 << 16
_TAIL = 45  # scales: noise beyond has a probability below 2^-64, and is cut there


class Additive(MeanRandomizer):
    """A number of grid steps plus noise; a report is counted from the lowest one that may be sent.

    These are drawn by exact samplers that take as many random words as they need, and not by a fixed number of words:
    so there is no ``respond``, and no client in another language gives the same report for the same bytes.
    """

    words = 0
    _reach: int  # steps of noise in either direction

    def __init__(self, *, epsilon: Real, lower: Real, upper: Real, missing: Real | None) -> None:
        super().__init__(epsilon=epsilon, lower=lower, upper=upper, missing=missing, steps=STEPS, symbols=2)

    def _set_reach(self, scale: Fraction) -> None:
        self._reach = math.ceil(_TAIL * scale)
        self._size = self.steps + 2 * self._reach + 1
        self.symbols = None
        self.state_size = 1
        self.payload_bytes = bytes_for(self._size)
        self._scores = self._score(np.array([0.0, self._size - 1.0]))

    @abstractmethod
    def _noise(self, size: int, rng: noise.RandomSource | None) -> NDArray[np.int64]:
        """Noise in steps."""

    @property
    @abstractmethod
    def noise_variance(self) -> float:
        """The variance of one report's noise, in the units of the values."""

    def randomize(self, values: Values, *, rng: noise.RandomSource | None = None) -> Any:
        """The report of one person, or of each person in an array."""
        if isinstance(values, int | float | np.integer | np.floating):
            return int(self._noised(self.codes([values]), rng)[0])
        return self._noised(self.codes(values), rng)

    def respond(self, values: Sequence[Any] | NDArray[Any], words: Words) -> Reports:
        """Refused: there is no fixed number of words."""
        raise WrongShape(
            f"{self.protocol} does not turn a fixed number of words into a report.",
            why="Its noise is drawn exactly, by a sampler that takes as many random words as it needs.",
            fix="Use randomize, or Hybrid, which is better and has a fixed number.",
        )

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """The sum of the reports."""
        return np.array([int(self._reports(reports).sum())], dtype=np.int64)

    def decode(self, state: NDArray[np.int64], *, count: int) -> MeanEstimate:
        """The mean report, and the variance of the noise alone: for the mean of those who reported."""
        people = report_count(count)
        mean = float(self._score(checked_state(state, 1) / people)[0])
        return MeanEstimate(
            value=mean,
            variance=self.noise_variance / people,
            count=people,
            lower=float(self.lower),
            upper=float(self.upper),
            influence=self.influence(1.0),
            epsilon=self.epsilon,
            protocol=self.protocol,
        )

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Reports within what the noise reaches."""
        return from_bytes(self._rows(payload)) < self._size

    def _noised(self, codes: Codes, rng: noise.RandomSource | None) -> Codes:
        return np.asarray(np.clip(codes + self._noise(len(codes), rng) + self._reach, 0, self._size - 1))

    def _score(self, reports: NDArray[np.float64]) -> NDArray[np.float64]:
        return float(self.lower) + (reports - self._reach) / self.steps * self.span

    def _spread(self, value: float) -> float:
        return self.noise_variance

    def _respond(self, codes: NDArray[Any], words: Words) -> Reports:
        return self.respond(codes, words)

    def _reports(self, reports: ArrayLike) -> Codes:
        codes = np.atleast_1d(report_array(reports))
        if not codes.size:
            raise no_reports()
        if codes.dtype.kind not in "iu" or codes.ndim != 1 or codes.min() < 0 or codes.max() >= self._size:
            raise BadReport(
                f"a report lies outside 0, ..., {self._size - 1}.",
                why="Noise is cut where it has a probability below 2^-64.",
                fix="Estimate with the randomizer that made the reports.",
                reason="domain",
            )
        return codes.astype(np.int64, copy=False)


class LocalLaplace(Additive):
    """The value plus Laplace noise of scale (upper - lower) / epsilon.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [DMNS06]; the value is one data set of size one, with sensitivity upper - lower; the noise is exact.
    Error: variance 2 (upper - lower)^2 / (n epsilon^2) for the mean of those who reported: more than ``Hybrid``.
    Not covered: that somebody reported; NaN counts as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = LocalLaplace(epsilon=1, lower=0, upper=1)
    >>> survey.estimate(survey.randomize([0.25] * 10_000, rng=seeded(7)))
    MeanEstimate(0.257168 ±0.0277 (95%), 10000 people)
    """

    protocol: ClassVar[str] = "laplace"

    def __init__(self, *, epsilon: Real, lower: Real, upper: Real, missing: Real | None = None) -> None:
        super().__init__(epsilon=epsilon, lower=lower, upper=upper, missing=missing)
        mechanism = Geometric(sensitivity=self.steps, epsilon=self.epsilon, dimension=1, neighbours=Neighbours.REPLACE)
        self.event: LaplaceNoise = replace(mechanism.event, mechanism="local-laplace")
        self._set_reach(self.event.scale)

    def parameters(self) -> dict[str, Json]:
        """The bounds; the scale of the noise follows from epsilon."""
        return self._base_parameters([])

    @property
    def noise_variance(self) -> float:
        """2 e^(-1/s) / (1 - e^(-1/s))^2 steps, for the scale s in steps."""
        decay = math.exp(-1 / float(self.event.scale))
        return 2 * decay / (1 - decay) ** 2 * (self.span / self.steps) ** 2

    def _noise(self, size: int, rng: noise.RandomSource | None) -> NDArray[np.int64]:
        return noise.discrete_laplace(self.event.scale, size, rng=rng)


class LocalGaussian(Additive):
    """The value plus Gaussian noise, calibrated for (epsilon, delta).

    Guarantee: (epsilon, delta)-LDP for the value of one person.
    Because: [BW18], [CKS20]; the value is one data set of size one, with sensitivity upper - lower; the noise is exact.
    Error: variance sigma^2 / n for the mean of those who reported.
    Not covered: that somebody reported; NaN counts as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = LocalGaussian(epsilon=1, delta=1e-6, lower=0, upper=1)
    >>> survey.estimate(survey.randomize([0.25] * 10_000, rng=seeded(7)))
    MeanEstimate(0.267263 ±0.0828 (95%), 10000 people)
    """

    protocol: ClassVar[str] = "gaussian"

    def __init__(self, *, epsilon: Real, delta: Real, lower: Real, upper: Real, missing: Real | None = None) -> None:
        super().__init__(epsilon=epsilon, lower=lower, upper=upper, missing=missing)
        self.delta = fraction_of(delta, name="delta")
        mechanism = DiscreteGaussian(
            sensitivity=self.steps,
            epsilon=self.epsilon,
            delta=self.delta,
            dimension=1,
            neighbours=Neighbours.REPLACE,
        )
        self.event: GaussianNoise = replace(mechanism.event, mechanism="local-gaussian")
        self._set_reach(self.event.sigma / 4)  # 11 standard deviations

    def parameters(self) -> dict[str, Json]:
        """The bounds and delta; the noise follows from epsilon and delta."""
        return {**self._base_parameters([]), "delta": str(self.delta)}

    @property
    def noise_variance(self) -> float:
        """sigma^2: that of the discrete noise is smaller by less than doubles can tell."""
        return (float(self.event.sigma) * self.span / self.steps) ** 2

    def _noise(self, size: int, rng: noise.RandomSource | None) -> NDArray[np.int64]:
        return noise.discrete_gaussian(self.event.sigma, size, rng=rng)
