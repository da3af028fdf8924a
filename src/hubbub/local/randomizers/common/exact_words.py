"""Exact sampling from 64-bit words: no rejection, no floats, the same answer in every language.

A uniform integer below k is ``(word * k) >> 64``; each outcome has probability floor(2^64/k) / 2^64 or
ceil(2^64/k) / 2^64. A coin is ``word < threshold``. So every report has a rational probability that can be
written down, and thresholds are rounded such that no two of these differ by more than e^epsilon, the bias of
multiply-shift included (``docs/proofs/local.md``).
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import overload

import numpy as np
from numpy.typing import NDArray

from hubbub.noise import enclose_exp_neg

Words = NDArray[np.uint64]
Codes = NDArray[np.int64]
Flags = NDArray[np.bool_]
Integers = NDArray[np.integer]

# One person's, or an array of many people's: what is written in these is written once for both.
Word = int | Words
Number = int | Codes
Flag = bool | Flags

WORD = 1 << 64
LARGEST_RANGE = 1 << 32  # of multiply-shift in bulk: two products of 32 bits by 32
_BITS = 256  # of e^-epsilon; epsilon is at most 64
_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


@lru_cache(maxsize=1024)
def exp_low(epsilon: Fraction) -> Fraction:
    """A rational just below e^epsilon."""
    return Fraction(1 << _BITS, enclose_exp_neg(epsilon, _BITS)[1])


@lru_cache(maxsize=1024)
def exp_high(epsilon: Fraction) -> Fraction:
    """A rational just above e^epsilon."""
    return Fraction(1 << _BITS, enclose_exp_neg(epsilon, _BITS)[0])


def coin_threshold(odds: Fraction) -> int:
    """The largest T with T / (2^64 - T) <= odds: a coin ``word < T`` that is never likelier than these odds.

    >>> coin_threshold(Fraction(1)) == 2**63
    True
    """
    return WORD * odds.numerator // (odds.numerator + odds.denominator)


def fewest_words(k: int) -> int:
    """How many words, at least, multiply-shift sends to one integer below k."""
    return WORD // k


def most_words(k: int) -> int:
    """How many words, at most, multiply-shift sends to one integer below k."""
    return -(-WORD // k)


@overload
def integer_below(word: int, k: int) -> int: ...
@overload
def integer_below(word: Words, k: Number) -> Codes: ...
@overload
def integer_below(word: Word, k: Number) -> Number: ...
def integer_below(word: Word, k: Number) -> Number:
    """The integer below k that a word stands for; for arrays by products of 32 bits: exact for k up to 2^32.

    >>> integer_below(2**63, 10)
    5
    """
    if isinstance(word, int):
        return (word * k) >> 64
    factor = np.asarray(k).astype(np.uint64)
    high = (word >> _HALF) * factor
    low = (word & _LOW) * factor
    low >>= _HALF
    high += low
    high >>= _HALF
    return high.view(np.int64)


def pick(condition: Flag, yes: int | Integers, no: int | Integers) -> Number:
    """The one where the condition holds, the other elsewhere."""
    if isinstance(condition, bool):
        return as_number(yes if condition else no)
    return np.where(condition, yes, no)


def parity(number: Number) -> Number:
    """Whether an odd number of bits is set, as 1 or 0."""
    if isinstance(number, int):
        return number.bit_count() & 1
    return np.bitwise_count(number).astype(np.int64) & 1


def as_word(number: int | Integers) -> Word:
    """A number that is not negative, as a word: so that arrays multiply modulo 2^64."""
    return number if isinstance(number, int) else number.astype(np.uint64, copy=False)


def as_number(word: int | Integers) -> Number:
    """A word below 2^63 as a number."""
    return word if isinstance(word, int) else word.astype(np.int64, copy=False)


def coin_flags(words: Words, threshold: int) -> Flags:
    """Which words are below the threshold."""
    return words < np.uint64(threshold)


def interval_cuts(k: int) -> list[int]:
    """The words at which multiply-shift goes on to the next integer: the boundaries of its k intervals."""
    return [-(-i * WORD // k) for i in range(1, k)]


def word_chance(words: int) -> float:
    """That many words out of 2^64, as a probability."""
    return float(Fraction(words, WORD))


def bytes_for(symbols: int) -> int:
    """How many bytes hold the integers below ``symbols``."""
    return max(1, ((symbols - 1).bit_length() + 7) // 8)


def to_bytes(numbers: Codes, size: int) -> NDArray[np.uint8]:
    """Non-negative integers as rows of ``size`` little-endian bytes."""
    wide = np.ascontiguousarray(numbers, dtype="<i8").view(np.uint8).reshape(*numbers.shape, 8)
    return wide[..., :size]


def from_bytes(rows: NDArray[np.uint8]) -> Codes:
    """Rows of up to eight little-endian bytes as integers."""
    wide = np.zeros((*rows.shape[:-1], 8), dtype=np.uint8)
    wide[..., : rows.shape[-1]] = rows
    return wide.view("<i8")[..., 0].astype(np.int64)
