"""Memoizing randomizers: what a client does once, once for each kind of value, and in every epoch.

    part   once: what stays the same for this client (a hash function, a cohort, the bits it was given)
    kind   which of its remembered answers a value uses: a fixed map, such as a hash
    memo   once for each kind: the permanent randomized answer, kept for ever
    step   in every epoch: the report, a fresh randomization of the memo

A report made in one go (``respond``) runs the three in a row with consecutive words. What all of it protects over time
is in ``docs/proofs/lifetime.md``.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from fractions import Fraction
from typing import Any

from hubbub.local.randomizers.common.exact_words import exp_low

_MILLIONTH = Fraction(1, 10**6)


class Memoizing(ABC):
    """What a client needs to report many times with one memory."""

    forever: Fraction  # epsilon of one memo, however often it is used
    again: Fraction | None  # epsilon of one step given the memo; None if the memo itself is sent
    kinds: int  # how many memos a client can ever have
    part_words: int
    memo_words: int
    step_words: int

    @abstractmethod
    def part(self, words: list[int]) -> int:
        """What stays the same for this client."""

    @abstractmethod
    def kind(self, part: int, code: int) -> int:
        """Which memo a value uses: an integer below ``kinds``."""

    @abstractmethod
    def memo(self, part: int, kind: int, words: list[int]) -> int:
        """The permanent answer of a kind."""

    @abstractmethod
    def step(self, part: int, memo: int, words: list[int]) -> Any:
        """The report of one epoch."""


def epsilon_above(ratio: Fraction) -> Fraction:
    """The logarithm of a ratio above 1, in millionths, rounded up.

    >>> epsilon_above(Fraction(3))
    Fraction(1098613, 1000000)
    """
    steps = max(1, math.ceil(math.log(ratio) * 10**6))
    while exp_low(steps * _MILLIONTH) < ratio:
        steps += 1
    return steps * _MILLIONTH
