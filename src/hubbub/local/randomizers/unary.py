"""Unary encoding: a bit for each value, each flipped by a coin of its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.randomizers.common.bit_reports import Bits, bit_counts, padding_is_zero
from hubbub.local.randomizers.common.exact_words import WORD, Codes, Words, coin_threshold, exp_low, word_chance
from hubbub.render import Json
from hubbub.terms import Real


class UnaryEncoding(Bits, FrequencyRandomizer):
    """Send one bit for each value of the domain; the own one is 1 with probability p, all others with probability q.

    ``optimized`` (OUE): p = 1/2 and q = 1 / (e^epsilon + 1). Otherwise symmetric, as in the lectures and in basic
    RAPPOR: p = 1 - q = e^(epsilon/2) / (e^(epsilon/2) + 1). Reports are bits packed into bytes, eight values in one.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [WBLJ17]: two values differ in two bits; the distribution with 64-bit coins is in
    ``docs/proofs/local.md``.
    Error: n * variance is 4 e^epsilon / (e^epsilon - 1)^2 for a rare value if optimized.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = UnaryEncoding(epsilon=1, domain=3)
    >>> reports = survey.randomize([0] * 6000 + [1] * 3000 + [2] * 1000, rng=seeded(7))
    >>> survey.estimate(reports).values.round(2).tolist()
    [0.63, 0.3, 0.11]
    """

    protocol: ClassVar[str] = "unary"
    _arguments: ClassVar[Mapping[str, str]] = {"optimised": "optimized"}

    def __init__(self, *, epsilon: Real, domain: int, optimized: bool = True, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self.optimized = bool(optimized)
        if self.optimized:
            self._own, self._other = WORD // 2, WORD - coin_threshold(exp_low(self.epsilon))
        else:
            self._own = coin_threshold(exp_low(self.epsilon / 2))
            self._other = WORD - self._own
        self.words = self.state_size = self.domain
        self.symbols = None
        self.payload_bytes = (self.domain + 7) // 8
        self.p, self.q = word_chance(self._own), word_chance(self._other)

    def parameters(self) -> dict[str, Json]:
        """The domain, and the thresholds of the coins for the own bit and for all others."""
        return {**self._base_parameters([self._own, self._other]), "optimised": self.optimized}

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """How many reports have each bit set."""
        return bit_counts(self._reports(reports), self.domain)

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values whose bits are set."""
        return state.astype(np.float64)

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Any bits will do, as long as those beyond the domain are zero."""
        return padding_is_zero(self._rows(payload), self.domain)

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [[self._own if value == code else self._other] for value in range(self.domain)]

    def _respond(self, codes: Codes, words: Words) -> NDArray[np.uint8]:
        bits = words < np.uint64(self._other)
        people = np.arange(len(codes))
        bits[people, codes] = words[people, codes] < np.uint64(self._own)
        return np.packbits(bits, axis=1, bitorder="little")

    def _respond_one(self, value: Any, words: list[int]) -> NDArray[np.uint8]:
        code = self._code(value)
        bits = sum(1 << place for place, word in enumerate(words) if word < self._other)
        own = 1 << code
        bits = bits | own if words[code] < self._own else bits & ~own
        return np.frombuffer(bits.to_bytes(self.payload_bytes, "little"), dtype=np.uint8)
