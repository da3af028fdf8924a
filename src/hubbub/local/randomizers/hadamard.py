"""Two ways by Hadamard's matrix: half of all columns are near one's own row, or one entry of the row is sent."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer, symbol_bytes
from hubbub.local.randomizers.common.exact_words import WORD, Codes, Words, chance, coins, exp_low, threshold
from hubbub.render import Json
from hubbub.terms import Real


class HadamardResponse(FrequencyRandomizer):
    """Report a column of Hadamard's matrix: with probability e^epsilon / (e^epsilon + 1) one where one's row has +1.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [ASZ19]: each row has +1 in half of the columns, and a column has two probabilities of ratio e^epsilon.
    Error: n * variance is ((e^epsilon + 1) / (e^epsilon - 1))^2 for any share: fine for epsilon up to 1, and far from
    the best beyond (it never falls below 1).
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = HadamardResponse(epsilon=1, domain=100)
    >>> reports = survey.randomize([17] * 6000 + [50] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values[[17, 50, 90]].round(2).tolist()
    [0.63, 0.36, 0.04]
    """

    protocol: ClassVar[str] = "hadamard"
    words = 2

    def __init__(self, *, epsilon: Real, domain: object, missing: object = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self._bits = self.domain.bit_length()  # rows 1, ..., domain: row 0 has no -1
        self._keep = threshold(exp_low(self.epsilon))
        self.symbols = self.state_size = 1 << self._bits
        self.payload_bytes = symbol_bytes(self.symbols)
        self.p, self.q = chance(self._keep), 0.5

    def parameters(self) -> dict[str, Json]:
        """The domain, and the threshold of the coin that picks a column with +1."""
        return self._base_parameters([self._keep])

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values whose rows have +1 in its column: all at once by a fast transform."""
        return (count + walsh(state)[1 : self.domain + 1]) / 2

    def partition(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [[self._keep], even_cuts(self._bits)]

    def _respond(self, codes: Codes, words: Words) -> Codes:
        row = codes + 1
        column = (words[:, 1] >> np.uint64(64 - self._bits)).astype(np.int64)
        plus = np.bitwise_count(row & column) & 1 == 0
        return np.where(plus == coins(words[:, 0], self._keep), column, column ^ (row & -row))

    def _respond_one(self, value: Any, words: list[int]) -> int:
        row = self._code(value) + 1
        column = words[1] >> (64 - self._bits)
        plus = (row & column).bit_count() & 1 == 0
        return column if plus == (words[0] < self._keep) else column ^ (row & -row)


class OneBitHadamard(FrequencyRandomizer):
    """Pick a column at random, send it with one bit: the sign that one's row has there, by randomized response.

    The column is public and says nothing: a collector may assign it (``respond_at``), so that a fake client has one
    bit to lie with. A report is the integer 2 column + bit.

    Guarantee: epsilon-LDP for the value of one person, for every column.
    Because: [BS15], [Warner65]: the column has nothing to do with the value, and the bit is randomized response.
    Error: n * variance is ((e^epsilon + 1) / (e^epsilon - 1))^2 for any share: fine for epsilon up to 1.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = OneBitHadamard(epsilon=1, domain=100)
    >>> reports = survey.randomize([17] * 6000 + [50] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values[[17, 50, 90]].round(2).tolist()
    [0.58, 0.41, 0.0]
    """

    protocol: ClassVar[str] = "onebit"
    words = 2

    def __init__(self, *, epsilon: Real, domain: object, missing: object = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self._bits = (self.domain - 1).bit_length()
        self._keep = threshold(exp_low(self.epsilon))
        self.symbols = self.state_size = 2 << self._bits
        self.payload_bytes = symbol_bytes(self.symbols)
        self.p, self.q = chance(self._keep), 0.5

    def parameters(self) -> dict[str, Json]:
        """The domain, and the threshold of the coin that keeps the bit."""
        return self._base_parameters([self._keep])

    @property
    def columns(self) -> int:
        """How many columns there are."""
        return 1 << self._bits

    def respond_at(self, values: Any, columns: Codes, words: Words) -> Codes:
        """The bits for columns that the collector assigned: one word for each person."""
        codes = self.codes(values)
        true = np.bitwise_count(codes & columns).astype(np.int64) & 1
        return np.asarray(true ^ ~coins(words, self._keep))

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values whose rows have its sign in its column."""
        pairs = state.reshape(-1, 2)
        return (count + walsh(pairs[:, 0] - pairs[:, 1])[: self.domain]) / 2

    def partition(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [even_cuts(self._bits), [self._keep]]

    def _respond(self, codes: Codes, words: Words) -> Codes:
        column = (words[:, 0] >> np.uint64(64 - self._bits)).astype(np.int64)
        true = np.bitwise_count(codes & column).astype(np.int64) & 1
        return np.asarray(2 * column + (true ^ ~coins(words[:, 1], self._keep)))

    def _respond_one(self, value: Any, words: list[int]) -> int:
        column = words[0] >> (64 - self._bits)
        true = (self._code(value) & column).bit_count() & 1
        return 2 * column + (true ^ (words[1] >= self._keep))


def walsh(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hadamard's matrix times a vector, in n log n additions of integers."""
    out = counts.astype(np.int64)
    half = 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out


def even_cuts(bits: int) -> list[int]:
    """Where the upper bits of a word change."""
    return [i * (WORD >> bits) for i in range(1, 1 << bits)]
