"""Many claims verified at once, and the false ones named."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hubbub.gopa.equations import Equation, hold

AT_ONCE = 256


class Provable(Protocol):
    """A claim with its proof: of bits, of squares, of links, of logarithms."""

    def equation(self) -> Equation | None: ...


def verify_many(claims: Sequence[Provable]) -> list[bool]:
    """For each claim whether it holds; one long sum of points if all do, and halving where one does not.

    Guarantee: as if each were verified alone, but for a chance of about 2^-128 per sum.
    Because: [BGR98]: each equation has a multiplier of 128 random bits that its prover did not know.
    """
    verdicts: list[bool] = []
    for start in range(0, len(claims), AT_ONCE):
        verdicts += _verdicts([claim.equation() for claim in claims[start : start + AT_ONCE]])
    return verdicts


def _verdicts(equations: list[Equation | None]) -> list[bool]:
    found = [equation for equation in equations if equation is not None]
    if not found or hold(found):
        return [equation is not None for equation in equations]
    if len(equations) == 1:
        return [False]
    half = len(equations) // 2
    return _verdicts(equations[:half]) + _verdicts(equations[half:])
