"""How each randomizer is remembered by a client: which ones are, and what they do once, per kind, and per epoch."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np

from hubbub.local.longitudinal.memoizing import Memoizing, epsilon_above
from hubbub.local.longitudinal.rappor import Rappor
from hubbub.local.longitudinal.telemetry import DBitFlip, OneBitMean
from hubbub.local.randomizers.base import Randomizer
from hubbub.local.randomizers.bounded_means import line_threshold
from hubbub.local.randomizers.common.exact_words import WORD, integer_below
from hubbub.local.randomizers.common.hash_family import hash_bucket


def memory_of(randomizer: Randomizer) -> Memoizing | None:
    """How a client remembers answers by this randomizer; None if every epoch gets a report of its own."""
    if isinstance(randomizer, Memoizing):
        return randomizer
    if isinstance(randomizer, DBitFlip):
        return _Flips(randomizer)
    if isinstance(randomizer, Rappor):
        return _Bloom(randomizer)
    return _Bit(randomizer) if isinstance(randomizer, OneBitMean) else None


class _Flips(Memoizing):
    """dBitFlip [DKY17, Sec. 4]: the values that the client is asked about, and a row of bits for each of them.

    All values that it is not asked about are of one kind, 0. The row itself is sent, so a change of it is seen.
    """

    again = None
    step_words = 0

    def __init__(self, randomizer: DBitFlip) -> None:
        self._randomizer, self._shift = randomizer, randomizer.domain.bit_length()
        self.forever, self.kinds = randomizer.epsilon, randomizer.flips + 1
        self.part_words = self.memo_words = randomizer.flips

    def part(self, words: list[int]) -> int:
        picked = self._randomizer._picked(np.array([words], dtype=np.uint64))[0].tolist()
        return sum(value << (self._shift * place) for place, value in enumerate(picked))

    def kind(self, part: int, code: int) -> int:
        picked = self._picked(part)
        return picked.index(code) + 1 if code in picked else 0

    def memo(self, part: int, kind: int, words: list[int]) -> int:
        keep = self._randomizer._keep
        bits = [word < (keep if place + 1 == kind else WORD - keep) for place, word in enumerate(words)]
        return sum(bit << place for place, bit in enumerate(bits))

    def step(self, part: int, memo: int, words: list[int]) -> Any:
        return [2 * value + (memo >> place & 1) for place, value in enumerate(self._picked(part))]

    def _picked(self, part: int) -> list[int]:
        mask = (1 << self._shift) - 1
        return [part >> (self._shift * place) & mask for place in range(self._randomizer.flips)]


class _Bit(Memoizing):
    """1BitMean [DKY17, Sec. 5]: a point drawn once rounds the value to one of the bounds; each of them has a bit."""

    again = None
    kinds = 2
    part_words, memo_words, step_words = 1, 1, 0

    def __init__(self, randomizer: OneBitMean) -> None:
        self._randomizer, self.forever = randomizer, randomizer.epsilon

    def part(self, words: list[int]) -> int:
        return integer_below(words[0], self._randomizer.steps)

    def kind(self, part: int, code: int) -> int:
        return int(code > part)  # with probability code / steps

    def memo(self, part: int, kind: int, words: list[int]) -> int:
        steps = self._randomizer.steps
        return int(words[0] < line_threshold(self._randomizer._top, kind * steps, steps))

    def step(self, part: int, memo: int, words: list[int]) -> Any:
        return memo


class _Bloom(Memoizing):
    """RAPPOR [EPK14]: a cohort, permanently flipped bits for each value, and bits flipped again in every epoch.

    Two memos may differ in every bit, so a step costs as much as all bits together: where the value changes, RAPPOR
    hides little.
    """

    part_words = 1

    def __init__(self, randomizer: Rappor) -> None:
        self._randomizer = randomizer
        self.forever, self.kinds = randomizer.epsilon, randomizer.domain
        self.memo_words = self.step_words = randomizer.bits
        keep = randomizer._instant
        self.again = randomizer.bits * epsilon_above(Fraction(keep, WORD - keep))

    def part(self, words: list[int]) -> int:
        return integer_below(words[0], self._randomizer.cohorts)

    def kind(self, part: int, code: int) -> int:
        return code

    def memo(self, part: int, kind: int, words: list[int]) -> int:
        first = part * self._randomizer.hashes
        seeds = range(first, first + self._randomizer.hashes)
        true = sum(1 << place for place in {hash_bucket(seed, kind, self._randomizer.bits) for seed in seeds})
        return _flip_bits(true, words, self._randomizer._permanent)

    def step(self, part: int, memo: int, words: list[int]) -> Any:
        bits = _flip_bits(memo, words, self._randomizer._instant)
        header = self._randomizer._header
        size = self._randomizer.payload_bytes - header
        return np.frombuffer(part.to_bytes(header, "little") + bits.to_bytes(size, "little"), dtype=np.uint8)


def _flip_bits(bits: int, words: list[int], keep: int) -> int:
    limits = (WORD - keep, keep)
    return sum((word < limits[bits >> place & 1]) << place for place, word in enumerate(words))
