"""Randomized response over k values: the true one with the best odds that epsilon allows, else any other."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer, symbol_bytes
from hubbub.local.randomizers.common.exact_words import (
    Codes,
    Words,
    below,
    below_many,
    chance,
    coins,
    cuts,
    exp_low,
    fewest,
    threshold,
)
from hubbub.render import Json
from hubbub.terms import Real


class KaryResponse(FrequencyRandomizer):
    """Report the true value with probability e^epsilon / (e^epsilon + domain - 1), and another one otherwise.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [KOV16]; the law with 64-bit coins is in ``docs/proofs/local.md``.
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

    def __init__(self, *, epsilon: Real, domain: object, missing: object = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        others = self.domain - 1
        self._keep = threshold(exp_low(self.epsilon) * fewest(others) / (1 << 64))
        self.symbols = self.state_size = self.domain
        self.payload_bytes = symbol_bytes(self.domain)
        self.p = chance(self._keep)
        self.q = (1 - self.p) / others

    def parameters(self) -> dict[str, Json]:
        """The domain, and the threshold of the coin that keeps the true value."""
        return self._base_parameters([self._keep])

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the value that it names."""
        return state.astype(np.float64)

    def partition(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [[self._keep], cuts(self.domain - 1)]

    def _respond(self, codes: Codes, words: Words) -> Codes:
        other = below_many(words[:, 1], self.domain - 1)
        other += other >= codes
        return np.where(coins(words[:, 0], self._keep), codes, other)

    def _respond_one(self, value: Any, words: list[int]) -> int:
        code = self._code(value)
        if words[0] < self._keep:
            return code
        other = below(words[1], self.domain - 1)
        return other + (other >= code)
