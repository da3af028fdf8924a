"""Hadamard response, and its one-bit form: reports are columns of Hadamard's matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer, symbol_bytes
from hubbub.local.randomizers.common.exact_words import (
    Codes,
    Number,
    Word,
    Words,
    integer_below,
    interval_cuts,
    parity,
    pick,
)
from hubbub.local.randomizers.common.integer_reports import IntegerReports
from hubbub.local.randomizers.two_sets import TwoSets, coin_for
from hubbub.render import Json
from hubbub.terms import Real


class HadamardResponse(IntegerReports, FrequencyRandomizer):
    """Report a column of Hadamard's matrix: with probability e^epsilon / (e^epsilon + 1) one where one's row has +1.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [ASZ19]: each row has +1 in half of the columns, one's own set (``TwoSets``).
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

    def __init__(self, *, epsilon: Real, domain: int, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self.symbols = self.state_size = 1 << self.domain.bit_length()  # rows 1, ..., domain: row 0 has no -1
        self.sets = TwoSets.for_epsilon(self.epsilon, own=self.symbols, other=self.symbols)
        self.payload_bytes = symbol_bytes(self.symbols)
        self.p, self.q = self.sets.p, 0.5

    def parameters(self) -> dict[str, Json]:
        """The domain, and the threshold of the coin that picks a column with +1."""
        return self._base_parameters([self.sets.keep])

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values whose rows have +1 in its column: all at once by a fast transform."""
        return (count + walsh_transform(state)[1 : self.domain + 1]) / 2

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return self.sets.word_cuts()

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        """A column; on the wrong side of one's row, its neighbour there: so each column stands for two draws."""
        inside, column = self.sets.draw(*words)
        row = code + 1
        return pick((parity(row & column) == 0) == inside, column, column ^ (row & -row))


class OneBitHadamard(IntegerReports, FrequencyRandomizer):
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

    def __init__(self, *, epsilon: Real, domain: int, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self.columns = 1 << (self.domain - 1).bit_length()
        self.sets = coin_for(self.epsilon)
        self.symbols = self.state_size = 2 * self.columns
        self.payload_bytes = symbol_bytes(self.symbols)
        self.p, self.q = self.sets.p, 0.5

    def parameters(self) -> dict[str, Json]:
        """The domain, and the threshold of the coin that keeps the bit."""
        return self._base_parameters([self.sets.keep])

    def respond_at(self, values: Sequence[Any] | NDArray[Any], columns: Codes, words: Words) -> Codes:
        """The bits for columns that the collector assigned: one word for each person."""
        return np.asarray(self.sets.flip(parity(self.codes(values) & columns), words))

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values whose rows have its sign in its column."""
        pairs = state.reshape(-1, 2)
        return (count + walsh_transform(pairs[:, 0] - pairs[:, 1])[: self.domain]) / 2

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [interval_cuts(self.columns), [self.sets.keep]]

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        column = integer_below(words[0], self.columns)
        return 2 * column + self.sets.flip(parity(code & column), words[1])


def walsh_transform(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Hadamard's matrix times a vector, in n log n additions of integers."""
    out = counts.astype(np.int64)
    half = 1
    while half < out.size:
        pairs = out.reshape(-1, 2, half)
        out = np.stack([pairs[:, 0] + pairs[:, 1], pairs[:, 0] - pairs[:, 1]], axis=1).reshape(-1)
        half *= 2
    return out
