"""Count-mean sketches: a report is about one row of a hashed table (CMS), or one Hadamard bit of it (HCMS).

Both are dominated (``ProjectiveGeometry`` has less error in fewer bytes); they are here for those who must read them.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.estimates import FrequencyEstimate
from hubbub.local.pair_averages import nearest_shares
from hubbub.local.randomizers.base import FrequencyRandomizer, symbol_bytes
from hubbub.local.randomizers.common.bit_reports import Bits, bit_counts, padding_is_zero
from hubbub.local.randomizers.common.collisions import Collisions
from hubbub.local.randomizers.common.exact_words import (
    WORD,
    Codes,
    Number,
    Word,
    Words,
    bytes_for,
    coin_flags,
    coin_threshold,
    exp_low,
    from_bytes,
    integer_below,
    interval_cuts,
    parity,
    to_bytes,
    word_chance,
)
from hubbub.local.randomizers.common.hash_family import SEEDS, hash_bucket
from hubbub.local.randomizers.common.integer_reports import IntegerReports
from hubbub.local.randomizers.hadamard import walsh_transform
from hubbub.local.randomizers.two_sets import coin_for
from hubbub.render import Json
from hubbub.terms import OutOfRange, Real, fraction_of, whole


class Sketch(FrequencyRandomizer):
    """What both have: ``rows`` public hash functions into ``width`` places, made from the public ``seed``."""

    _apart: float  # the probability to support a value that is elsewhere

    def __init__(self, *, epsilon: Real, domain: int, rows: int, width: int, seed: int, missing: int) -> None:
        super().__init__(epsilon=epsilon, domain=domain, missing=missing)
        self.rows, self.width = _check_range(rows, "rows", 1, 1 << 14), _check_range(width, "width", 2, 1 << 16)
        self.seed = _check_range(seed, "seed", 0, 1 << 16)
        if self.width & (self.width - 1):
            raise OutOfRange(
                f"width must be a power of two and is {self.width}.",
                why="A place is a few bits of a hash, and an index of Hadamard's matrix.",
                fix="Give 256, 512, 1024, ...",
            )

    def check(self) -> None:
        """Refused if the table is so small that values cannot be told apart."""
        self._collisions.check()

    def variance(self, *, count: int, frequency: float = 0.0) -> float:
        """The variance on average over hash functions, collisions with common values aside [App17]."""
        share = float(fraction_of(frequency, name="frequency", zero=True, one=True))
        spread = share * self.p * (1 - self.p) + (1 - share) * self.q * (1 - self.q)
        return spread / (whole(count, name="count") * self.contrast**2)

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move one estimated share: the best report of the best row."""
        return float(fraction_of(share, name="share", zero=True, one=True)) * self._reach

    @cached_property
    def _collisions(self) -> Collisions:
        return Collisions(self._places, self.width)

    @cached_property
    def _reach(self) -> float:
        """What one report can add to an estimate, or take from it and from what an honest person adds."""
        return self._collisions.reach(ones=(1 - self._apart) / self._gap, zeros=self._apart / self._gap)

    @property
    def _gap(self) -> float:
        """How much likelier a report supports a value in its own place than one elsewhere (as a difference)."""
        return self.p - self._apart

    @cached_property
    def _places(self) -> Codes:
        """The place of every value in every row."""
        return hash_bucket(self._row_seed(np.arange(self.rows)[:, None]), np.arange(self.domain)[None, :], self.width)

    def _row_seed(self, row: Number) -> Number:
        return (self.seed * self.rows + row) % SEEDS

    def _collided(self) -> float:
        """The probability to support another value, which is in the same place once in ``width`` rows on average."""
        return self._apart + self._gap / self.width

    def _frequencies(self, support: NDArray[np.float64], count: int) -> FrequencyEstimate:
        """Shares that are unbiased for the public hash functions as they are: collisions are solved for."""
        shares = self._collisions.solve((support / count - self._apart) / self._gap)
        variances = self._variances(shares, count)
        return FrequencyEstimate(
            values=shares,
            variances=variances,
            count=count,
            null_variance=float(self._variances(np.zeros(self.domain), count).max()),
            influence=self.influence(1.0),
            epsilon=self.epsilon,
            protocol=self.protocol,
            bias=self._collisions.bias,
        )

    def _sketch_parameters(self, thresholds: list[int]) -> dict[str, Json]:
        return {**self._base_parameters(thresholds), "rows": self.rows, "width": self.width, "seed": self.seed}


class CountMeanSketch(Bits, Sketch):
    """Pick a row, put a 1 at the place of one's value in it, flip every bit by a coin, send row and bits.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [App17]: the row says nothing, and two values differ in two bits of ratio e^(epsilon/2) each.
    Error: n * variance about h / (h - 1)^2 with h = e^(epsilon/2); unbiased for the public hash functions as they are.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = CountMeanSketch(epsilon=2, domain=1000, rows=64, width=256)
    >>> reports = survey.randomize([17] * 3000 + [500] * 2000, rng=seeded(7))
    >>> survey.estimate(reports).values[[17, 500, 900]].round(1).tolist()
    [0.6, 0.4, 0.0]
    """

    protocol: ClassVar[str] = "cms"

    def __init__(
        self,
        *,
        epsilon: Real,
        domain: int,
        rows: int = 256,
        width: int = 1024,
        seed: int = 0,
        missing: int = 0,
    ) -> None:
        super().__init__(epsilon=epsilon, domain=domain, rows=rows, width=width, seed=seed, missing=missing)
        self._keep = coin_threshold(exp_low(self.epsilon / 2))
        self.words = 1 + self.width
        self.symbols = None
        self.state_size = self.rows * self.width
        self._header = bytes_for(self.rows)
        self.payload_bytes = self._header + (self.width + 7) // 8
        self.p = word_chance(self._keep)
        self._apart = 1 - self.p
        self.q = self._collided()

    def parameters(self) -> dict[str, Json]:
        """The table, and the threshold of the coin that keeps a bit."""
        return self._sketch_parameters([self._keep])

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """How many reports of each row have each bit set."""
        reports = self._reports(reports)
        row = from_bytes(reports[:, : self._header])
        order = np.argsort(row, kind="stable")
        ends = np.searchsorted(row[order], np.arange(self.rows + 1))
        table = np.zeros((self.rows, self.width), dtype=np.int64)
        for r in np.flatnonzero(np.diff(ends)):
            table[r] = bit_counts(reports[order[ends[r] : ends[r + 1]], self._header :], self.width)
        return table.ravel()

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values whose place in its row has a 1."""
        table = state.reshape(self.rows, self.width)
        return np.asarray(np.take_along_axis(table, self._places, axis=1).sum(axis=0), dtype=np.float64)

    def _variances(self, shares: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        flips = self.p * (1 - self.p) / self._gap**2
        return (flips * self._collisions.diagonal + self._collisions.mixing(shares)) / count

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Any bits will do, for a row that exists."""
        reports = self._rows(payload)
        exists = from_bytes(reports[:, : self._header]) < self.rows
        return exists & padding_is_zero(reports[:, self._header :], self.width)

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [interval_cuts(self.rows), *([[self._keep, WORD - self._keep]] * self.width)]

    def _respond(self, codes: Codes, words: Words) -> NDArray[np.uint8]:
        row = integer_below(words[:, 0], self.rows)
        place = hash_bucket(self._row_seed(row), codes, self.width)
        people = np.arange(len(codes))
        bits = words[:, 1:] < np.uint64(WORD - self._keep)
        bits[people, place] = coin_flags(words[people, 1 + place], self._keep)
        return np.concatenate([to_bytes(row, self._header), np.packbits(bits, axis=1, bitorder="little")], axis=1)


class HadamardCountMeanSketch(IntegerReports, Sketch):
    """Pick a row and a column of Hadamard's matrix, send both and one noisy sign.

    A report is the integer ((row * width) + column) * 2 + bit.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [App17]: row and column say nothing, and the bit is randomized response.
    Error: n * variance about ((e^epsilon + 1) / (e^epsilon - 1))^2; unbiased for the public hash functions as they are.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = HadamardCountMeanSketch(epsilon=2, domain=1000)
    >>> reports = survey.randomize([17] * 6000 + [500] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values[[17, 500, 900]].round(1).tolist()
    [0.6, 0.4, -0.0]
    """

    protocol: ClassVar[str] = "hcms"
    words = 3

    def __init__(
        self,
        *,
        epsilon: Real,
        domain: int,
        rows: int = 256,
        width: int = 1024,
        seed: int = 0,
        missing: int = 0,
    ) -> None:
        super().__init__(epsilon=epsilon, domain=domain, rows=rows, width=width, seed=seed, missing=missing)
        self.sets = coin_for(self.epsilon)
        self.symbols = self.state_size = 2 * self.rows * self.width
        self.payload_bytes = symbol_bytes(self.symbols)
        self.p = self.sets.p
        self._apart = 0.5
        self.q = self._collided()

    def parameters(self) -> dict[str, Json]:
        """The table, and the threshold of the coin that keeps the bit."""
        return self._sketch_parameters([self.sets.keep])

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values whose place has its sign in its column."""
        pairs = state.reshape(self.rows, self.width, 2)
        signs = np.stack([walsh_transform(row) for row in pairs[:, :, 0] - pairs[:, :, 1]])
        return np.asarray((count + np.take_along_axis(signs, self._places, axis=1).sum(axis=0)) / 2)

    def _variances(self, shares: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        return (self._collisions.diagonal / (2 * self._gap) ** 2 - nearest_shares(shares)) / count

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return [interval_cuts(self.rows), interval_cuts(self.width), [self.sets.keep]]

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        row, column = integer_below(words[0], self.rows), integer_below(words[1], self.width)
        place = hash_bucket(self._row_seed(row), code, self.width)
        return 2 * (row * self.width + column) + self.sets.flip(parity(place & column), words[2])


def _check_range(value: int, name: str, least: int, most: int) -> int:
    number = whole(value, name=name, least=least)
    if number > most:
        raise OutOfRange(
            f"{name} must be at most {most} and is {number}.",
            why="Tables and reports are kept small.",
            fix=f"Give a smaller {name}.",
        )
    return number
