"""Inversion by a table of certified thresholds: which cell of [0, 1) does a uniform number fall into?

Cell i ends at the real number c(i). The table holds T(i) = floor(2^b c(i)) for words of b bits. A word
below T(i) lies before the end of cell i and a word above T(i) after it, whatever its further bits; only a
word *equal* to a threshold is undecided, and then further bits are drawn (lazy refinement). So the table
does not round the distribution: it only decides the easy cases quickly. Cells beyond the table are
reached by the same refinement, hence no tail is cut off.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from hubbub.noise._lazy_uniform import LazyUniform
from hubbub.noise._source import RandomSource, Words
from hubbub.noise.fixed_point import EnclosedReal

Ends = Callable[[int], EnclosedReal]  # cell number -> the real number at which the cell ends
GUIDE_BITS = 10


@dataclass(frozen=True, slots=True)
class InversionTable:
    """Thresholds of ``word_bits`` bits, the last one being the largest word, and the exact cell ends."""

    thresholds: tuple[int, ...]
    ends: Ends
    word_bits: int = 64
    array: Words = field(init=False, repr=False)
    guide: np.ndarray[tuple[int], np.dtype[np.int32]] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        array = np.array(self.thresholds, dtype=np.uint64)
        bits = min(GUIDE_BITS, self.word_bits)
        starts = np.arange(1 << bits, dtype=np.uint64) << np.uint64(self.word_bits - bits)
        object.__setattr__(self, "array", array)
        object.__setattr__(self, "guide", np.searchsorted(array, starts).astype(np.int32))

    @classmethod
    def build(cls, ends: Ends, *, word_bits: int) -> InversionTable:
        """The table of a sequence of cells, up to where words of ``word_bits`` bits cannot tell cells apart."""
        top = (1 << word_bits) - 1
        thresholds: list[int] = []
        while (threshold := floor_of(ends(len(thresholds)), word_bits)) < top:
            thresholds.append(threshold)
        return cls((*thresholds, top), ends, word_bits)

    @property
    def guide_shift(self) -> int:
        """By how many bits a word is shifted to find its place in the guide."""
        return self.word_bits - min(GUIDE_BITS, self.word_bits)

    def refine(self, word: int, source: RandomSource) -> int:
        """The cell of an undecided word, by drawing more bits of it."""
        uniform = LazyUniform(word, self.word_bits, source)
        cell = next(i for i, t in enumerate(self.thresholds) if t >= word)
        while not uniform.less_than(self.ends(cell)):
            cell += 1
        return cell


def floor_of(real: EnclosedReal, word_bits: int) -> int:
    """floor(2^word_bits real), certified: more bits are taken until both ends of the enclosure agree."""
    extra = 64
    while True:
        low, high = (end >> extra for end in real(word_bits + extra))
        if low == high:
            return low
        extra *= 2
