"""K-ary randomized response: the true value with the best odds that epsilon allows, else any other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer, symbol_bytes
from hubbub.local.randomizers.common.exact_words import Number, Word
from hubbub.local.randomizers.common.integer_reports import IntegerReports
from hubbub.local.randomizers.two_sets import TwoSets
from hubbub.render import Json
from hubbub.terms import Real


class KaryResponse(IntegerReports, FrequencyRandomizer):
    """Report the true value with probability e^epsilon / (e^epsilon + domain - 1), and another one otherwise.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [KOV16]; one's own set is the true value (``TwoSets``).
    Error: n * variance is (e^epsilon + domain - 2) / (e^epsilon - 1)^2 for a rare value: the best there is for
    domains below about 3 e^epsilon + 2, and bad for large ones.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = KaryResponse(epsilon=1, domain=3)
    >>> reports = survey.randomize([0] * 6000 + [1] * 3000 + [2] * 1000, rng=seeded(7))
    >>> survey.estimate(reports).values.round(2).tolist()
    [0.62, 0.29, 0.09]
    """

    protocol: ClassVar[str] = "kary"
    words = 2

    def __init__(self, *, epsilon: Real, domain: int, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self.sets = TwoSets.for_epsilon(self.epsilon, own=1, other=self.domain - 1)
        self.symbols = self.state_size = self.domain
        self.payload_bytes = symbol_bytes(self.domain)
        self.p = self.sets.p
        self.q = (1 - self.p) / (self.domain - 1)

    def parameters(self) -> dict[str, Json]:
        """The domain, and the threshold of the coin that keeps the true value."""
        return self._base_parameters([self.sets.keep])

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the value that it names."""
        return state.astype(np.float64)

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return self.sets.word_cuts()

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        return self.sets.interval(code, *words)
