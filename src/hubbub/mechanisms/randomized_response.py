"""Randomized response: each person answers truthfully with a known probability, and at random otherwise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, overload

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.grid_values import codes_in, integer_array
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.terms import (
    EmptyInput,
    Neighbours,
    OutOfRange,
    PureStep,
    Real,
    TooLarge,
    Unit,
    WrongNeighbours,
    fraction_of,
    positive,
    whole,
)

Codes = Sequence[int] | NDArray[Any]
_MOST = 1 << 24  # shares are estimated for every value


@dataclass(frozen=True, slots=True)
class ResponseShares:
    """Estimated shares of the values 0, 1, ... among ``count`` people, each with the noise's standard error."""

    values: NDArray[np.float64]
    standard_errors: NDArray[np.float64]
    count: int


@dataclass(frozen=True, slots=True)
class ResponseMean:
    """An estimated mean with the noise's standard error."""

    value: float
    standard_error: float


class RandomizedResponse(Mechanism):
    """Report one of the values 0, ..., values - 1: the true one with probability e^epsilon / (e^epsilon + values - 1).

    Guarantee: epsilon-DP for the value of one person (``neighbours="replace"``), also against whoever collects the
    reports. Each entry of an array is another person's value; a person who reports twice pays twice.
    Because: [Warner65] for two values; for more, any report has probability e^epsilon or 1 over the same
    normalizer, exactly (``noise.bernoulli_logistic``).
    Error: each estimated share is within ``error(confidence, count=...)`` of the share among the people who
    reported; unbiased.
    Not covered: that somebody reported at all; what is no code in the range counts as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = RandomizedResponse(epsilon=1)
    >>> reports = survey.release([0] * 600 + [1] * 400, rng=seeded(9))
    >>> survey.estimate(reports).values.round(2).tolist()
    [0.61, 0.39]
    >>> round(survey.error(0.95, count=1000), 2)
    0.06
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        values: int = 2,
        missing: int = 0,
        neighbours: Neighbours | str = Neighbours.REPLACE,
        unit: Unit | None = None,
    ) -> None:
        cost = positive(epsilon, name="epsilon")
        self.values = _count_of(values)
        self._missing = _missing_code(missing, self.values)
        self.event: PureStep = PureStep(
            mechanism="randomized-response", epsilon=cost, neighbours=_replace_only(neighbours), unit=unit or Unit()
        )

    @property
    def keep(self) -> float:
        """The probability of a true report."""
        return 1 / (1 + (self.values - 1) * math.exp(-float(self.event.epsilon)))

    @property
    def contrast(self) -> float:
        """How much likelier a value is reported by those who have it than by the others (as a difference)."""
        return self.keep - (1 - self.keep) / (self.values - 1)

    @overload
    def release(self, x: int, *, rng: noise.RandomSource | None = None) -> int: ...
    @overload
    def release(self, x: Codes, *, rng: noise.RandomSource | None = None) -> NDArray[np.int64]: ...
    def release(self, x: int | Codes, *, rng: noise.RandomSource | None = None) -> int | NDArray[np.int64]:
        """The report of one person, or of each person in an array."""
        single = isinstance(x, int | np.integer)
        known = codes_in([x] if isinstance(x, int | np.integer) else x, values=self.values, missing=self._missing)
        kept = noise.bernoulli_logistic(self.event.epsilon, known.shape, weight=self.values - 1, rng=rng)
        others = noise.uniform(self.values - 1, known.shape, rng=rng)
        reports = np.where(kept == 1, known, (known + 1 + others) % self.values)
        return int(reports[0]) if single else reports

    def estimate(self, reports: Codes) -> ResponseShares:
        """Unbiased shares of all values from the reports of many people (entries may fall outside [0, 1])."""
        codes = _valid_reports(reports, self.values)
        lie = (1 - self.keep) / (self.values - 1)
        observed = np.bincount(codes, minlength=self.values) / codes.size
        shares = (observed - lie) / self.contrast
        likely = np.clip(shares, 0, 1)
        variances = likely * self.keep * (1 - self.keep) + (1 - likely) * lie * (1 - lie)
        return ResponseShares(shares, np.sqrt(variances / codes.size) / self.contrast, codes.size)

    def estimate_mean(self, reports: Codes) -> ResponseMean:
        """The mean of answers that are +1 (reported as 1) or -1 (reported as 0).

        c * average with c = (e^epsilon + 1) / (e^epsilon - 1), which undoes the shrinking of the coin.
        """
        if self.values != 2:
            raise OutOfRange(
                f"a mean of +1 and -1 needs values=2 and this is values={self.values}.",
                why="With more values there is no one scale on which they lie.",
                fix="Use estimate(reports).values and average the values' own numbers.",
            )
        codes = _valid_reports(reports, 2)
        error = 2 * math.sqrt(self.keep * (1 - self.keep) / codes.size) / self.contrast
        return ResponseMean(float(np.mean(2 * codes - 1) / self.contrast), error)

    def error(self, confidence: Real, *, count: int) -> float:
        """The distance that each estimated share stays within, with that confidence, for ``count`` reports."""
        from scipy.special import ndtri

        people = whole(count, name="count")
        level = float(fraction_of(confidence, name="confidence"))
        lie = (1 - self.keep) / (self.values - 1)
        variance = max(self.keep * (1 - self.keep), lie * (1 - lie)) / people
        reach = -float(ndtri((1 - level) / 2)) * math.sqrt(variance) + 0.5 / people  # a report is a whole one
        return reach / self.contrast


def _count_of(values: object) -> int:
    count = whole(values, name="values", least=2)
    if count > _MOST:
        raise TooLarge(
            "values is above 2^24.",
            why="A share is estimated for every value, and so many would drown in the noise.",
            fix="Hash the values into a smaller range first.",
        )
    return count


def _missing_code(missing: object, values: int) -> int:
    code = whole(missing, name="missing", least=0)
    if code >= values:
        raise OutOfRange(
            f"missing must be below values={values} and is {code}.",
            why="What counts as missing is reported as one of the values.",
            fix="Give the code of a public default.",
        )
    return code


def _replace_only(neighbours: Neighbours | str) -> Neighbours:
    if Neighbours.parse(neighbours) is not Neighbours.REPLACE:
        raise WrongNeighbours(
            "randomized response hides a person's value and not that the person took part.",
            why="A report that is there or not is seen by whoever collects.",
            fix='Leave neighbours out: it is "replace".',
        )
    return Neighbours.REPLACE


def _valid_reports(reports: Codes, values: int) -> NDArray[np.int64]:
    """Reports are public, so a wrong one may be refused."""
    codes = integer_array(reports).ravel()
    if not codes.size:
        raise EmptyInput(
            "there are no reports to estimate from.",
            why="A share of nobody is undefined.",
            fix="Collect reports first.",
        )
    if codes.min() < 0 or codes.max() >= values:
        raise OutOfRange(
            f"a report lies outside 0, ..., {values - 1}.",
            why="Reports of this mechanism are codes of its values.",
            fix="Use the mechanism that made the reports.",
        )
    return codes.astype(np.int64)
