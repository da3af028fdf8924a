"""Collecting telemetry over time: one bit for a mean, a few bits for a histogram, both remembered by the client."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer, no_reports
from hubbub.local.randomizers.bounded_means import Duchi
from hubbub.local.randomizers.common.exact_words import (
    WORD,
    Codes,
    Words,
    bytes_for,
    coin_threshold,
    exp_low,
    from_bytes,
    integer_below,
    interval_cuts,
    to_bytes,
    word_chance,
)
from hubbub.local.randomizers.common.values import domain_of, report_array, whole_reports
from hubbub.render import Json
from hubbub.terms import BadReport, OutOfRange, Real, whole

_MOST = 1 << 16


class OneBitMean(Duchi):
    """``Duchi`` for what is asked for again and again: ``Memoized`` answers the same for the same value.

    Guarantee: epsilon-LDP for one report, and for all reports of a client whose value does not change if they are
    memoized.
    Because: [DKY17]: repeating a bit that was drawn once tells nothing more.
    Error: as ``Duchi``.
    Not covered: when a memoized bit changes, the value has changed; each further value costs epsilon again.

    >>> from hubbub.noise.testing import seeded
    >>> survey = OneBitMean(epsilon=1, lower=0, upper=24)
    >>> survey.estimate(survey.randomize([6.0] * 5000 + [18.0] * 5000, rng=seeded(7)))
    MeanEstimate(12.1506 ±0.509 (95%), 10000 people)
    """

    protocol: ClassVar[str] = "onebitmean"


class DBitFlip(FrequencyRandomizer):
    """Pick ``flips`` of the values at random and send, for each, a noisy bit that says whether it is one's own.

    A report is a row of 2 value + bit, one for each picked value. ``Memoized`` picks and flips once for all.

    Guarantee: epsilon-LDP for one report, and for all reports of a client whose value does not change if they are
    memoized.
    Because: [DKY17]: the picked values say nothing, and two values differ in at most two of the bits, each
    flipped with ratio e^(epsilon/2).
    Error: n * variance is domain / flips times e^(epsilon/2) / (e^(epsilon/2) - 1)^2 for a rare value.
    Not covered: when memoized bits change, the value has changed; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = DBitFlip(epsilon=2, domain=32, flips=8)
    >>> reports = survey.randomize([3] * 6000 + [20] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values[[3, 20, 30]].round(1).tolist()
    [0.6, 0.4, -0.0]
    """

    protocol: ClassVar[str] = "dbitflip"

    def __init__(self, *, epsilon: Real, domain: int, flips: int = 1, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain_of(domain, most=_MOST), missing=missing)
        self.flips = whole(flips, name="flips")
        if self.flips > self.domain:
            raise OutOfRange(
                f"flips must be at most domain={self.domain} and is {self.flips}.",
                why="Each client picks that many different values.",
                fix="Give fewer.",
            )
        self._keep = coin_threshold(exp_low(self.epsilon / 2))
        self.words = 2 * self.flips
        self.symbols = None
        self.state_size = 2 * self.domain
        self._width = bytes_for(2 * self.domain)
        self.payload_bytes = self.flips * self._width
        self.p = word_chance(self._keep)
        self.q = 1 - self.p

    def parameters(self) -> dict[str, Json]:
        """The domain, the number of bits, and the threshold of the coin that keeps a bit."""
        return {**self._base_parameters([self._keep]), "flips": self.flips}

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move one estimated share.

        They may all say that they were asked about the target, where of the others only flips / domain were.
        """
        return super().influence(share) * self.domain / self.flips

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """How many reports say no, and how many say yes, to each value."""
        return np.bincount(self._reports(reports).ravel(), minlength=self.state_size).astype(np.int64)

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """The share of yes among those who were asked about a value, as if all had been."""
        answers = state.reshape(-1, 2)
        asked = answers.sum(axis=1)
        shares = np.full(self.domain, self.q * count)
        np.divide(answers[:, 1] * count, asked, out=shares, where=asked > 0)
        return shares

    def pack(self, reports: ArrayLike) -> NDArray[np.uint8]:
        """Reports as rows of bytes."""
        rows = np.atleast_2d(whole_reports(reports))
        if rows.shape[1:] != (self.flips,):
            raise self._malformed()
        return np.ascontiguousarray(to_bytes(rows, self._width)).reshape(len(rows), self.payload_bytes)

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Rows of different values of the domain, in order."""
        return self._possible(self._unpack(self._rows(payload)))

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        first = self.domain - self.flips
        return [
            *(interval_cuts(first + step + 1) for step in range(self.flips)),
            *([[self._keep, WORD - self._keep]] * self.flips),
        ]

    def _variances(self, shares: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        """As usual for the flips / domain of all people who are asked about a value, and for asking only them."""
        likely = np.clip(shares, 0, 1)
        asked = self.flips / self.domain
        return super()._variances(shares, count) / asked + likely * (1 - likely) / count * (1 / asked - 1)

    def _unpack(self, payload: NDArray[np.uint8]) -> Codes:
        return from_bytes(payload.reshape(len(payload), self.flips, self._width))

    def _possible(self, rows: Codes) -> NDArray[np.bool_]:
        values = rows >> 1
        rising = (np.diff(values, axis=1) > 0).all(axis=1)
        return rising & (values[:, 0] >= 0) & (values[:, -1] < self.domain)

    def _reports(self, reports: ArrayLike) -> Codes:
        rows = np.atleast_2d(report_array(reports))
        if not rows.size:
            raise no_reports()
        if rows.dtype.kind not in "iu" or rows.shape[1:] != (self.flips,) or not self._possible(rows).all():
            raise self._malformed()
        return rows.astype(np.int64, copy=False)

    def _malformed(self) -> BadReport:
        return BadReport(
            f"a report is a row of {self.flips} integers 2 value + bit in rising order.",
            why="Each client is asked about that many different values.",
            fix="Estimate with the randomizer that made the reports.",
            reason="domain",
        )

    def _picked(self, words: Words) -> Codes:
        """Different values, each set of them equally likely (Floyd's method), in rising order."""
        picked = np.empty(words.shape, dtype=np.int64)
        for step in range(self.flips):
            last = self.domain - self.flips + step
            drawn = integer_below(words[:, step], last + 1)
            taken = (picked[:, :step] == drawn[:, None]).any(axis=1)
            picked[:, step] = np.where(taken, last, drawn)
        return np.sort(picked, axis=1)

    def _respond(self, codes: Codes, words: Words) -> Codes:
        values = self._picked(words[:, : self.flips])
        own = values == codes[:, None]
        reports: Codes = 2 * values + (words[:, self.flips :] < self._limits(own))
        return reports

    def _limits(self, own: NDArray[np.bool_]) -> Words:
        return np.where(own, np.uint64(self._keep), np.uint64(WORD - self._keep))
