"""Secrets in shares [Sha79], and a public test that committed shares lie on one polynomial.

A party cuts the seed of its self mask and its mask key into one share for each of its k holders; t of them give the
secret back, fewer say nothing. It posts the point of every share (times G) [Fel87]. The points at 0 (the secret's own),
1, ..., k are those of a polynomial of degree below t exactly if each vector of the dual code is orthogonal to them
[CD17]; one random vector, drawn when all dealers have posted, shows it of all of them to whoever drew it, in the sum
that verifies the other proofs too. So a dealer that would leave a hole in a later repair is found before anything is
revealed.

    >>> recover_secret({1: 5, 3: 9})
    3
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from hubbub.gopa.crypto.point_equations import Equation, random_weight
from hubbub.gopa.crypto.ristretto import IDENTITY, ORDER
from hubbub.gopa.crypto.secret_streams import Stream


def deal_shares(secret: int, count: int, threshold: int, stream: Stream) -> list[int]:
    """Shares 1..count of a secret; ``threshold`` of them give it back.

    Guarantee: fewer than ``threshold`` shares are independent of the secret.
    Because: [Sha79]: through them and any secret goes exactly one polynomial.
    """
    coefficients = [*stream.scalars(threshold - 1)[::-1], secret]
    return [_evaluate_at(coefficients, place) for place in range(1, count + 1)]


def _evaluate_at(coefficients: Sequence[int], place: int) -> int:
    """Horner's rule; the highest coefficient comes first. Reduced at each step: else numbers grow with the degree."""
    value = 0
    for coefficient in coefficients:
        value = (value * place + coefficient) % ORDER
    return value


def recover_secret(shares: Mapping[int, int]) -> int:
    """The secret, from as many shares (place -> value) as its threshold, or more."""
    factors = _at_zero(tuple(sorted(shares)))
    return sum(factor * shares[place] for place, factor in factors) % ORDER


@lru_cache(maxsize=1024)
def _at_zero(places: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    """Lagrange's factors for the value at zero."""
    factors = []
    for place in places:
        others = [other for other in places if other != place]
        above, below = math.prod(others), math.prod(other - place for other in others)
        factors.append((place, above * pow(below, -1, ORDER) % ORDER))
    return tuple(factors)


def dual_word(count: int, threshold: int) -> tuple[int, ...]:
    """A random word that is orthogonal to the values at 0..count of every polynomial of degree below ``threshold``.

    It is uniform among all such words; there is none to draw, and it is empty, unless 1 <= threshold <= count. Whoever
    verifies draws it for itself when all points are there, and one serves all dealers with so many holders.
    """
    if not 1 <= threshold <= count:
        return ()
    random = [secrets.randbelow(ORDER) for _ in range(count - threshold + 1)]
    return tuple(sign * _evaluate_at(random, place) % ORDER for place, sign in enumerate(_alternating_binomials(count)))


@dataclass(frozen=True)
class DegreeClaim:
    """That points at 0, 1, ..., k are those of a polynomial of low degree, by a ``dual_word``; for `verify_many`.

    Guarantee: any threshold of logarithms of the later points give the logarithm of the first, but for a chance of
    1 / ORDER for each claim, and of 2^-128 for each sum, if the word was drawn after all points were fixed.
    Because: [CD17]: a word outside the code is orthogonal to one in ORDER of the dual words. That many claims share a
    dual word adds up their chances and no more, and the multiplier of each keeps two errors from making up for each
    other: docs/proofs/gopa.md, "Shares of one polynomial".
    """

    points: tuple[bytes, ...]
    word: tuple[int, ...] = field(repr=False)

    def equation(self) -> Equation | None:
        if self.points[0] == IDENTITY or len(self.points) != len(self.word):
            return None
        mine = random_weight()
        return Equation(scalars=[mine * one % ORDER for one in self.word], points=self.points)


@lru_cache(maxsize=64)
def _alternating_binomials(last: int) -> tuple[int, ...]:
    """(-1)^l binomial(last, l): orthogonal to every polynomial of degree below ``last``."""
    return tuple((-1) ** place * math.comb(last, place) for place in range(last + 1))
