"""Local hashing: hash the value into a few buckets with a hash function of one's own, then randomized response."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.estimates import FrequencyEstimate
from hubbub.local.randomizers.base import FrequencyRandomizer, no_reports
from hubbub.local.randomizers.common.exact_words import Codes, Number, Word, bytes_for, from_bytes, integer_below
from hubbub.local.randomizers.common.hash_family import SEEDS, hash_bucket
from hubbub.local.randomizers.common.integer_reports import IntegerReports
from hubbub.local.randomizers.common.kernels import count_hits
from hubbub.local.randomizers.common.values import domain_of, integer_column, report_array
from hubbub.local.randomizers.two_sets import TwoSets
from hubbub.render import Json
from hubbub.terms import BadReport, Real

_ANSWER = 32  # a report is seed + 2^32 answer
_MOST_BUCKETS = 1 << 16


class LocalHashing(IntegerReports, FrequencyRandomizer):
    """Send a random seed and, by randomized response, the bucket into which that seed's hash function puts the value.

    ``buckets`` defaults to the best number, round(e^epsilon) + 1 (OLH). A report is the integer seed + 2^32 answer.
    It needs no list of values when people report, only when one estimates (``estimate(reports, candidates)``), so it
    is the one to use if the domain is not known beforehand; else ``ProjectiveGeometry`` decodes far faster.

    Guarantee: epsilon-LDP for the value of one person, for every seed.
    Because: [WBLJ17]: the seed has nothing to do with the value, and given the seed it is ``KaryResponse`` over
    the buckets (``TwoSets``).
    Error: n * variance is about 4 e^epsilon / (e^epsilon - 1)^2 for a rare value.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = LocalHashing(epsilon=2, domain=1000)
    >>> reports = survey.randomize([17] * 6000 + [500] * 4000, rng=seeded(7))
    >>> survey.estimate(reports, [17, 500, 900]).values.round(2).tolist()
    [0.61, 0.39, -0.0]
    """

    protocol: ClassVar[str] = "hashing"
    words = 3

    def __init__(self, *, epsilon: Real, domain: int, buckets: int | None = None, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self.buckets = domain_of(best_buckets(float(self.epsilon)) if buckets is None else buckets, name="buckets")
        self.sets = TwoSets.for_epsilon(self.epsilon, own=1, other=self.buckets - 1)
        self.symbols = None
        self.state_size = self.domain
        self.payload_bytes = 4 + bytes_for(self.buckets)
        self.p, self.q = self.sets.p, 1 / self.buckets

    def parameters(self) -> dict[str, Json]:
        """The domain, the number of buckets, and the threshold of the coin that keeps the true bucket."""
        return {**self._base_parameters([self.sets.keep]), "buckets": self.buckets}

    def estimate(self, reports: ArrayLike, candidates: Sequence[int] | NDArray[Any] | None = None) -> FrequencyEstimate:
        """Shares of all values, or of the candidates only: the work is reports times values."""
        answers = self._reports(reports)
        if candidates is None:
            return self.decode(self.accumulate(answers), count=len(answers))
        asked = integer_column(candidates)
        return self._frequencies(self._hits(answers, asked).astype(np.float64), len(answers))

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """How many reports support each value of the domain."""
        return self._hits(self._reports(reports), np.arange(self.domain))

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values that its own hash function sends to the bucket that it names."""
        return state.astype(np.float64)

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move one estimated share.

        It is the same whether fakes choose their seeds or not. But one who may choose looks for a seed that sends
        many targets to one bucket, and moves all of those at once with one report [CJG21]: let the collector derive
        seeds from its own nonce, and refuse others, where that matters.
        """
        return super().influence(share)

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Any seed will do, with an answer that is a bucket."""
        return from_bytes(self._rows(payload)) >> _ANSWER < self.buckets

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word but the seed's, where the report may change: it is the distribution given the seed 0."""
        return [[], *self.sets.word_cuts()]

    def _hits(self, reports: Codes, codes: Codes) -> NDArray[np.int64]:
        return count_hits(reports & (SEEDS - 1), reports >> _ANSWER, codes, self.buckets)

    def _reports(self, reports: ArrayLike) -> Codes:
        array = np.atleast_1d(report_array(reports))
        if not array.size:
            raise no_reports()
        if array.dtype.kind not in "iu" or array.ndim != 1 or array.min() < 0 or array.max() >> _ANSWER >= self.buckets:
            raise BadReport(
                f"a report has an answer outside 0, ..., {self.buckets - 1}.",
                why="A report of local hashing is seed + 2^32 answer.",
                fix="Estimate with the randomizer that made the reports.",
                reason="domain",
            )
        return array.astype(np.int64, copy=False)

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        seed = integer_below(words[0], SEEDS)
        answer = self.sets.interval(hash_bucket(seed, code, self.buckets), words[1], words[2])
        return seed + (answer << _ANSWER)


def best_buckets(epsilon: float) -> int:
    """The number of buckets with the least variance: e^epsilon + 1, to the nearest."""
    return min(_MOST_BUCKETS, round(math.exp(epsilon)) + 1)
