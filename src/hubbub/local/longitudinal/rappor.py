"""RAPPOR: a Bloom filter with noise that is drawn once and for all, and noise that is drawn for every report."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.local.pair_averages import nearest_shares
from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.randomizers.common.bit_reports import Bits, bit_counts, padding_is_zero
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
from hubbub.local.randomizers.common.hash_family import hash_bucket
from hubbub.local.randomizers.common.values import domain_of, epsilon_of
from hubbub.render import Json
from hubbub.terms import OutOfRange, Real, fraction_of, whole

_MOST = 4096  # values: decoding solves that many equations


class Rappor(Bits, FrequencyRandomizer):
    """Hash the value to ``hashes`` of ``bits`` bits, flip each bit for ever, and flip again for every report.

    Each client belongs to one of ``cohorts``, with hash functions of its own. ``epsilon`` is what all reports about
    one value tell together, however many there are (epsilon infinity); ``report_epsilon`` is what one report tells by
    itself (epsilon 1; default: half). The permanent noise only protects if it is the same each time: see ``Memoized``.

    Guarantee: epsilon-LDP for one value over all memoized reports about it, and report_epsilon-LDP for one report.
    Because: [EPK14, Thm. 1, Thm. 2]: two values differ in at most 2 ``hashes`` bits; ``docs/proofs/local.md``.
    Error: unbiased by least squares over cohorts and bits; far from the best, see ``ProjectiveGeometry``.
    Not covered: a client whose value changes pays epsilon for each value; that somebody reported, and the cohort.

    >>> from hubbub.noise.testing import seeded
    >>> survey = Rappor(epsilon=8, domain=20, bits=32, cohorts=4)
    >>> reports = survey.randomize([3] * 6000 + [15] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values[[3, 15, 19]].round(1).tolist()
    [0.6, 0.4, 0.0]
    """

    protocol: ClassVar[str] = "rappor"

    def __init__(
        self,
        *,
        epsilon: Real,
        domain: int,
        report_epsilon: Real | None = None,
        bits: int = 128,
        hashes: int = 2,
        cohorts: int = 8,
        missing: int = 0,
    ) -> None:
        super().__init__(epsilon=epsilon, domain=domain_of(domain, most=_MOST), missing=missing)
        self.report_epsilon = _single_epsilon(report_epsilon, self.epsilon)
        self.bits, self.hashes, self.cohorts = _check_sizes(bits, hashes, cohorts)
        if self.bits * self.cohorts < self.domain:
            raise self._too_few()
        share = 2 * self.hashes  # bits in which two values differ, at most
        self._permanent = coin_threshold(exp_low(self.epsilon / share))
        self._instant = _instant_threshold(self._permanent, exp_low(self.report_epsilon / share))
        first, again = word_chance(self._permanent), word_chance(self._instant)
        self.p = first * again + (1 - first) * (1 - again)
        self.q = 1 - self.p
        self._header = bytes_for(self.cohorts)
        self.words = 1 + 2 * self.bits
        self.symbols = None
        self.state_size = self.cohorts * (self.bits + 1)
        self.payload_bytes = self._header + (self.bits + 7) // 8

    def parameters(self) -> dict[str, Json]:
        """The Bloom filters, and the thresholds of the permanent and of the instantaneous coin."""
        return {
            **self._base_parameters([self._permanent, self._instant]),
            "report_epsilon": str(self.report_epsilon),
            "bits": self.bits,
            "hashes": self.hashes,
            "cohorts": self.cohorts,
        }

    def bloom(self, cohorts: Codes, codes: Codes) -> NDArray[np.bool_]:
        """The Bloom filter of each value in its cohort."""
        people = np.arange(len(codes))
        bits = np.zeros((len(codes), self.bits), dtype=np.bool_)
        for turn in range(self.hashes):
            bits[people, hash_bucket(cohorts * self.hashes + turn, codes, self.bits)] = True
        return bits

    def accumulate(self, reports: ArrayLike) -> NDArray[np.int64]:
        """For each cohort, how many reports have each bit set, and how many reports there are."""
        rows = self._reports(reports)
        cohort = from_bytes(rows[:, : self._header])
        table = np.zeros((self.cohorts, self.bits + 1), dtype=np.int64)
        for c in range(self.cohorts):
            mine = rows[cohort == c, self._header :]
            table[c, :-1], table[c, -1] = bit_counts(mine, self.bits), len(mine)
        return table.ravel()

    def check(self) -> None:
        """Solve the equations beforehand: refused if some values could not be told apart."""
        _ = self._solution

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """Least squares: the shares that explain the bits best, in units of reports that would support them."""
        table = state.reshape(self.cohorts, self.bits + 1)
        shares = self.cohorts * (table[:, :-1] - table[:, -1:] * self.q) / (count * self.contrast)
        return np.asarray((self._solution @ shares.ravel() * self.contrast + self.q) * count)

    def valid(self, payload: NDArray[np.uint8]) -> NDArray[np.bool_]:
        """Any bits will do, from a cohort that exists."""
        rows = self._rows(payload)
        in_cohort = from_bytes(rows[:, : self._header]) < self.cohorts
        return in_cohort & padding_is_zero(rows[:, self._header :], self.bits)

    def variance(self, *, count: int, frequency: float = 0.0) -> float:
        """The variance of the share of a value of average position, with all others rare."""
        share = float(fraction_of(frequency, name="frequency", zero=True, one=True))
        people = whole(count, name="count")
        return float(np.mean(self._noise(people)) + share * np.mean(np.diagonal(self._mixing)) / people)

    def influence(self, share: float) -> float:
        """The most that this share of fake clients can move one estimated share: the best bits of the best cohort."""
        fakes = float(fraction_of(share, name="share", zero=True, one=True))
        pieces = self._solution.reshape(self.domain, self.cohorts, self.bits) * self.cohorts / self.contrast
        up = np.where(pieces > 0, pieces * (1 - self.q), -pieces * self.q).sum(axis=2)
        down = np.where(pieces > 0, pieces * self.q, -pieces * (1 - self.q)).sum(axis=2)
        return fakes * float(max(up.max(), 1 + down.max()))

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        coins = [self._permanent, WORD - self._permanent], [self._instant, WORD - self._instant]
        return [interval_cuts(self.cohorts), *([coins[0]] * self.bits), *([coins[1]] * self.bits)]

    def _variances(self, shares: NDArray[np.float64], count: int) -> NDArray[np.float64]:
        return np.asarray(self._noise(count) + self._mixing @ nearest_shares(shares) / count)

    def _noise(self, count: int) -> NDArray[np.float64]:
        """The variance that the flipped bits make."""
        flips = self.p * self.q / self.contrast**2
        return np.asarray(self.cohorts * flips * (self._solution**2).sum(axis=1) / count)

    @cached_property
    def _design(self) -> NDArray[np.float64]:
        """Which bits of which cohort each value sets: a row for each bit, a column for each value."""
        every = np.arange(self.domain)
        return np.concatenate([self.bloom(np.full_like(every, c), every).T for c in range(self.cohorts)]).astype(float)

    @cached_property
    def _solution(self) -> NDArray[np.float64]:
        design = self._design
        gram = design.T @ design
        if np.linalg.matrix_rank(gram, hermitian=True) < self.domain:
            raise self._too_few()
        return np.asarray(np.linalg.solve(gram, design.T))

    def _too_few(self) -> OutOfRange:
        return OutOfRange(
            "these Bloom filters cannot tell all values apart.",
            why=f"{self.cohorts} cohorts of {self.bits} bits are too few for {self.domain} values.",
            fix="Give more bits or more cohorts.",
        )

    @cached_property
    def _mixing(self) -> NDArray[np.float64]:
        """n times what value v adds to the variance of estimate i because people fall into cohorts at random."""
        total = -np.eye(self.domain)
        for c in range(self.cohorts):
            part = slice(c * self.bits, (c + 1) * self.bits)
            total += self.cohorts * (self._solution[:, part] @ self._design[part]) ** 2
        return total

    def _respond(self, codes: Codes, words: Words) -> NDArray[np.uint8]:
        cohorts = integer_below(words[:, 0], self.cohorts)
        kept = _flip_bits(self.bloom(cohorts, codes), words[:, 1 : 1 + self.bits], self._permanent)
        return self._report(cohorts, _flip_bits(kept, words[:, 1 + self.bits :], self._instant))

    def _report(self, cohorts: Codes, bits: NDArray[np.bool_]) -> NDArray[np.uint8]:
        return np.concatenate([to_bytes(cohorts, self._header), np.packbits(bits, axis=1, bitorder="little")], axis=1)


def _flip_bits(bits: NDArray[np.bool_], words: Words, keep: int) -> NDArray[np.bool_]:
    """Each bit as it is where its word is below the threshold; written as two thresholds, so that 1 means below."""
    return np.asarray(words < np.where(bits, np.uint64(keep), np.uint64(WORD - keep)))


def _instant_threshold(permanent: int, odds: Fraction) -> int:
    """The largest threshold of the second coin for which both together keep a bit with at most these odds."""
    kept = odds / (1 + odds)
    first = Fraction(permanent, WORD)
    return min(WORD - 1, int(WORD * (kept - (1 - first)) / (2 * first - 1)))


def _single_epsilon(report_epsilon: Real | None, epsilon: Fraction) -> Fraction:
    single = epsilon_of(epsilon / 2 if report_epsilon is None else report_epsilon, name="report_epsilon")
    if single >= epsilon:
        raise OutOfRange(
            "report_epsilon must be below epsilon.",
            why="One report tells less than all reports together.",
            fix="Leave it out for half of epsilon.",
        )
    return single


def _check_sizes(bits: int, hashes: int, cohorts: int) -> tuple[int, int, int]:
    sizes = whole(bits, name="bits", least=2), whole(hashes, name="hashes"), whole(cohorts, name="cohorts")
    if sizes[0] > 4096 or sizes[1] > sizes[0] or sizes[2] > 1024:
        raise OutOfRange(
            "bits may be up to 4096, hashes up to bits, and cohorts up to 1024.",
            why="Reports and equations are kept small.",
            fix="The usual sizes are 128 bits, 2 hashes and 8 to 64 cohorts.",
        )
    return sizes
