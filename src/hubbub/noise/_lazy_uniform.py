"""A uniform random real, of which only as many bits exist as were needed to decide."""

from __future__ import annotations

from hubbub.noise._source import RandomSource
from hubbub.noise.fixed_point import EnclosedReal

_STEP = 32


class LazyUniform:
    """A uniform number in [0, 1) whose first ``bits`` bits are known; more are drawn on demand.

    Comparing it with a real number is exact: it ends as soon as the known bits decide and draws more
    while they do not. Nothing is rounded, so an event of probability p happens with probability p.
    """

    __slots__ = ("_bits", "_source", "_value")

    def __init__(self, value: int, bits: int, source: RandomSource) -> None:
        self._value, self._bits, self._source = value, bits, source

    def less_than(self, real: EnclosedReal) -> bool:
        """Whether the uniform number lies below ``real``: true with probability exactly ``real``."""
        while True:
            low, high = real(self._bits)
            if self._value + 1 <= low:
                return True
            if self._value >= high:
                return False
            self._value = self._value << _STEP | self._source.bits(_STEP)
            self._bits += _STEP
