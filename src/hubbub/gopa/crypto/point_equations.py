"""What a verifier must find: a weighted sum of points that is the identity.

Each check of a proof becomes an ``Equation``, already multiplied by a fresh random number of the verifier's. A sum of
equations that is the identity means that each of them holds, except with probability 2^-128 [BGR98]: the multipliers
were not known to whoever made the proofs.
"""

from __future__ import annotations

import functools
import secrets
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hubbub.gopa.crypto import ristretto
from hubbub.gopa.crypto.multi_scalar import Basis
from hubbub.terms import OutOfRange


@dataclass(frozen=True)
class Equation:
    """A sum that should be the identity.

    ``on_g*G + on_h*H + on_u*U + <left, gv> + <right, hv> + <coordinates, coordinate> + <scalars, points>``
    """

    on_g: int = 0
    on_h: int = 0
    on_u: int = 0
    left: Sequence[int] = ()
    right: Sequence[int] = ()
    coordinates: Sequence[int] = ()
    scalars: Sequence[int] = ()
    points: Sequence[bytes] = ()

    @property
    def places(self) -> int:
        """How many numbers it has."""
        return 3 + len(self.left) + len(self.right) + len(self.coordinates) + len(self.scalars)


def random_weight() -> int:
    """A verifier's multiplier: 128 random bits, never zero."""
    return secrets.randbits(128) | 1 << 128


@functools.lru_cache(maxsize=32)
def generator_basis(size: int, coordinates: int = 0) -> Basis:
    """The generators of vectors of a length: ``gv(0..), hv(0..), G, H, U, coordinate(0..)``."""
    places, extra = range(size), range(coordinates)
    vectors = [*map(ristretto.bit_generator, places), *map(ristretto.complement_generator, places)]
    return Basis([*vectors, ristretto.G, ristretto.H, ristretto.U, *map(ristretto.coordinate_generator, extra)])


def add_equations(equations: Iterable[Equation]) -> Equation:
    """Their sum."""
    terms = list(equations)
    return Equation(
        on_g=sum(e.on_g for e in terms),
        on_h=sum(e.on_h for e in terms),
        on_u=sum(e.on_u for e in terms),
        left=_column_sums([e.left for e in terms]),
        right=_column_sums([e.right for e in terms]),
        coordinates=_column_sums([e.coordinates for e in terms]),
        scalars=[s for e in terms for s in e.scalars],
        points=[p for e in terms for p in e.points],
    )


def _column_sums(rows: Iterable[Sequence[int]]) -> Sequence[int]:
    """The sums at each place of rows of any lengths."""
    longest_first = sorted(filter(None, rows), key=len, reverse=True)
    total = list(longest_first[0]) if longest_first else []
    for row in longest_first[1:]:
        total[: len(row)] = map(int.__add__, total, row)
    return total


def all_hold(equations: Iterable[Equation]) -> bool:
    """Whether all of them hold; False too if one has bytes that are no point."""
    one = add_equations(equations)
    size = max(len(one.left), len(one.right))
    room = [0] * size
    left, right = [*one.left, *room][:size], [*one.right, *room][:size]
    weights = [*left, *right, one.on_g, one.on_h, one.on_u, *one.coordinates]
    try:
        result = generator_basis(size, len(one.coordinates)).combine(weights, one.scalars, one.points)
    except OutOfRange:
        return False
    return result == ristretto.IDENTITY
