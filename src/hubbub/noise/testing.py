"""A repeatable source, for tests only.

Nothing in the package imports this module (a test asserts it): no server, command or config file can
reach it. Noise from it protects nobody.
"""

from __future__ import annotations

import numpy as np

from hubbub.noise._source import Words


class SeededSource:
    """Reproducible bits from a counter-based generator."""

    def __init__(self, seed: int) -> None:
        self._generator = np.random.Generator(np.random.Philox(seed))

    def random_words(self, count: int) -> Words:
        """``count`` words of 64 bits."""
        return self._generator.integers(0, 2**64, size=count, dtype=np.uint64)

    def bits(self, count: int) -> int:
        """One integer of ``count`` bits."""
        size = (count + 7) // 8
        return int.from_bytes(self._generator.bytes(size), "little") >> (8 * size - count)


def seeded(seed: int) -> SeededSource:
    """A source that gives the same noise for the same seed."""
    return SeededSource(seed)
