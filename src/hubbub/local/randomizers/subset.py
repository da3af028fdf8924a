"""Subset selection: send a set of values of fixed size that likely contains one's own."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.randomizers.common.bit_reports import Bits, bit_counts, padding_is_zero
from hubbub.local.randomizers.common.exact_words import (
    WORD,
    Codes,
    Words,
    coin_flags,
    coin_threshold,
    exp_low,
    integer_below,
    interval_cuts,
    word_chance,
)
from hubbub.local.randomizers.common.values import domain_of
from hubbub.render import Json
from hubbub.terms import OutOfRange, Real, whole

_MOST = 1 << 16  # one random word for each element of the set


class SubsetSelection(Bits, FrequencyRandomizer):
    """Send a set of ``size`` values: one's own is in it with odds e^epsilon size / (domain - size), the rest is random.

    ``size`` defaults to the best, domain / (e^epsilon + 1). Reports are bits packed into bytes.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [YB18]; all sets with one's own value are alike, and so are all without; ``docs/proofs/local.md`` has the
    distribution with Floyd's method and 64-bit words.
    Error: the least variance of all randomizers for shares, at a report of one bit for each value.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = SubsetSelection(epsilon=1, domain=10)
    >>> reports = survey.randomize([2] * 6000 + [7] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values[[2, 7, 9]].round(2).tolist()
    [0.6, 0.4, -0.01]
    """

    protocol: ClassVar[str] = "subset"

    def __init__(self, *, epsilon: Real, domain: int, size: int | None = None, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain_of(domain, most=_MOST), missing=missing)
        self.size = _set_size(size, self.domain, float(self.epsilon))
        others = self.domain - self.size
        bias = Fraction(self.size * self.domain, WORD)  # of ``size`` multiply-shifts below the domain, and more
        self._inside = coin_threshold(exp_low(self.epsilon) * Fraction(self.size, others) * (1 - bias) ** 2)
        self.words = 1 + self.size
        self.symbols = None
        self.state_size = self.domain
        self.payload_bytes = (self.domain + 7) // 8
        self.p = word_chance(self._inside)
        self.q = (self.size - self.p) / (self.domain - 1)

    def parameters(self) -> dict[str, Json]:
        """The domain, the size of the set, and the threshold of the coin that puts one's own value into it."""
        return {**self._base_parameters([self._inside]), "size": self.size}

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """How many sets contain each value."""
        return bit_counts(self._reports(reports), self.domain)

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values in its set."""
        return state.astype(np.float64)

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Sets of exactly the declared size."""
        rows = self._rows(payload)
        sizes = np.bitwise_count(rows).sum(axis=1, dtype=np.int64)
        return np.asarray(padding_is_zero(rows, self.domain) & (sizes == self.size))

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        first = self.domain - self.size
        return [[self._inside], *(interval_cuts(first + step) for step in range(self.size))]

    def _respond(self, codes: Codes, words: Words) -> NDArray[np.uint8]:
        """Floyd's method among the other values, which are 0, ..., domain - 2 with the last one in one's own place."""
        inside = coin_flags(words[:, 0], self._inside)
        people = np.arange(len(codes))
        chosen = np.zeros((len(codes), self.domain), dtype=np.bool_)
        for step in range(self.size):
            last = self.domain - 1 - self.size + step
            drawn = integer_below(words[:, 1 + step], last + 1)
            picked = np.where(chosen[people, drawn], last, drawn)
            chosen[people, picked] = ~inside if step == 0 else True  # one fewer if one's own is in
        chosen[:, -1] = chosen[people, codes] & (codes < self.domain - 1)
        chosen[people, codes] = inside
        return np.packbits(chosen, axis=1, bitorder="little")

    def _respond_one(self, value: Any, words: list[int]) -> NDArray[np.uint8]:
        code, last, inside = self._code(value), self.domain - 1, words[0] < self._inside
        chosen: set[int] = set()
        for step in range(1 if inside else 0, self.size):
            end = last - self.size + step
            drawn = integer_below(words[1 + step], end + 1)
            chosen.add(end if drawn in chosen else drawn)
        values = {last if place == code else place for place in chosen} | ({code} if inside else set())
        bits = sum(1 << place for place in values)
        return np.frombuffer(bits.to_bytes(self.payload_bytes, "little"), dtype=np.uint8)


def _set_size(size: int | None, domain: int, epsilon: float) -> int:
    if size is None:
        return min(domain - 1, max(1, round(domain / (math.exp(epsilon) + 1))))
    wanted = whole(size, name="size")
    if wanted >= domain:
        raise OutOfRange(
            f"size must be below domain={domain} and is {wanted}.",
            why="A set of all values says nothing.",
            fix="Leave size out to get the best one.",
        )
    return wanted
