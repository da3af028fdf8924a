"""Public buckets on a logarithmic scale: of how many rows a person has, and of how large a person's values are."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

_MANTISSAS = (Fraction(1), Fraction(3, 2), Fraction(2), Fraction(3), Fraction(5), Fraction(7))
_SMALLEST, _LARGEST = -3, 12  # powers of ten
MOST_ROWS = 1 << 20


@dataclass(frozen=True, slots=True)
class Buckets:
    """Cells around rising edges: away from zero each edge closes the cell below it, and zero is a cell of its own.

    ``lows`` and ``highs`` are the ends of each cell; what lies beyond the outermost edges is in the outermost cells.
    """

    edges: tuple[Fraction, ...]  # positive ones
    signed: bool

    @property
    def lows(self) -> tuple[Fraction, ...]:
        """Where each cell begins."""
        up = (Fraction(0), Fraction(0), *self.edges[:-1])
        return (*(-edge for edge in reversed(self.edges)), *up) if self.signed else up

    @property
    def highs(self) -> tuple[Fraction, ...]:
        """Where each cell ends."""
        up = (Fraction(0), *self.edges)
        return (*(-edge for edge in reversed(self.edges[:-1])), Fraction(0), *up) if self.signed else up

    @property
    def cells(self) -> int:
        """How many there are."""
        return len(self.highs)


def values_buckets(*, signed: bool) -> Buckets:
    """1, 1.5, 2, 3, 5, 7 and so on, from a thousandth to 7 * 10^12, and their mirror images."""
    edges = [mantissa * Fraction(10) ** power for power in range(_SMALLEST, _LARGEST + 1) for mantissa in _MANTISSAS]
    return Buckets(tuple(edges), signed)


def rows_buckets() -> Buckets:
    """1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24 and so on, up to 2^20."""
    edges = [Fraction(number) for number in (1, 2, 3)]
    power = 4
    while power < MOST_ROWS:
        edges += [Fraction(power), Fraction(power * 5, 4), Fraction(power * 3, 2)]
        power *= 2
    return Buckets((*edges, Fraction(MOST_ROWS)), signed=False)
