"""Many claims verified at once, and the false ones named."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from hubbub.gopa.crypto.point_equations import Equation, all_hold

AT_ONCE = 256  # claims
PLACES = 1 << 18  # numbers that the equations of claims have together before they are added up: some 20 MB


class Provable(Protocol):
    """A claim with its proof: of bits, of squares, of links, of logarithms."""

    def equation(self) -> Equation | None: ...


def verify_many(claims: Sequence[Provable]) -> list[bool]:
    """For each claim whether it holds; one long sum of points if all do, and halving where one does not.

    Guarantee: as if each were verified alone, but for a chance of about 2^-128 per sum.
    Because: [BGR98]: each equation has a multiplier of 128 random bits that its prover did not know.
    """
    return [verdict for some in _equation_batches(claims) for verdict in _check_batch(some)]


def _equation_batches(claims: Sequence[Provable]) -> Iterator[list[Equation | None]]:
    """Their equations, as many at once as memory is meant for: however large the claims, and however many."""
    some: list[Equation | None] = []
    places = 0
    for claim in claims:
        some.append(claim.equation())
        places += some[-1].places if some[-1] is not None else 0
        if len(some) == AT_ONCE or places >= PLACES:
            yield some
            some, places = [], 0
    if some:
        yield some


def _check_batch(equations: list[Equation | None]) -> list[bool]:
    present = [equation for equation in equations if equation is not None]
    if not present or all_hold(present):
        return [equation is not None for equation in equations]
    if len(equations) == 1:
        return [False]
    half = len(equations) // 2
    return _check_batch(equations[:half]) + _check_batch(equations[half:])
