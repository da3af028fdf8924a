"""A family of hash functions from 32-bit codes to a few buckets, one for each public 32-bit seed.

h(x) = multiply-shift of the upper half of a x + b mod 2^64. For uniform a and b this is pairwise independent [DHKP97];
a and b are made from the seed by a fixed mixing function. Privacy does not rest on any of it: a seed has nothing
to do with the value, and a report is private for every single hash function.
"""

from __future__ import annotations

from typing import overload

from hubbub.local.randomizers.common.exact_words import Codes, Integers, Number, Word, Words, as_number, as_word

SEEDS = 1 << 32
_MASK = (1 << 64) - 1
_GOLDEN, _FIRST, _SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB


@overload
def mix_bits(number: int) -> int: ...
@overload
def mix_bits(number: Words) -> Words: ...
@overload
def mix_bits(number: Word) -> Word: ...
def mix_bits(number: Word) -> Word:
    """A fixed scrambling of 64 bits (the finalizer of splitmix64)."""
    z = _modulo(number + _GOLDEN)
    z = _modulo((z ^ (z >> 30)) * _FIRST)
    z = _modulo((z ^ (z >> 27)) * _SECOND)
    return _modulo(z ^ (z >> 31))


def hash_line(seed: Number) -> tuple[Word, Word]:
    """The numbers a and b of a seed."""
    word = as_word(seed)
    return mix_bits(word), mix_bits(word + SEEDS)


@overload
def hash_bucket(seed: int, code: int, buckets: int) -> int: ...
@overload
def hash_bucket(seed: Codes, code: Number, buckets: int) -> Codes: ...
@overload
def hash_bucket(seed: Number, code: Codes, buckets: int) -> Codes: ...
@overload
def hash_bucket(seed: Number, code: Number, buckets: int) -> Number: ...
def hash_bucket(seed: Number, code: Number, buckets: int) -> Number:
    """The bucket of a code under a seed; arrays of the two are broadcast against each other."""
    slope, start = hash_line(seed)
    return as_number((_modulo(slope * as_word(code) + start) >> 32) * buckets >> 32)


def _modulo(number: int | Integers) -> Word:
    """Modulo 2^64, which words in arrays are by themselves."""
    return number & _MASK if isinstance(number, int) else as_word(number)
