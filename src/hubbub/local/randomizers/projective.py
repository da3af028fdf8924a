"""Projective geometry response: values and reports are points; a report likely lies in the own point's hyperplane."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from hubbub.local.randomizers.base import FrequencyRandomizer, symbol_bytes
from hubbub.local.randomizers.common.exact_words import Codes, Number, Word, Words, pick
from hubbub.local.randomizers.common.integer_reports import IntegerReports
from hubbub.local.randomizers.common.projective_space import MOST_VECTORS, Space, dimension_for
from hubbub.local.randomizers.common.values import domain_of
from hubbub.local.randomizers.two_sets import TwoSets
from hubbub.render import Json
from hubbub.terms import OutOfRange, Real, whole

_MOST_DOMAIN = 1 << 21
_CHUNK = 1 << 15  # people at a time, so that the arrays stay in the cache


class ProjectiveGeometry(IntegerReports, FrequencyRandomizer):
    """Values and reports are the points of a projective space over the integers modulo a prime (``order``).

    Each value has its hyperplane: the points orthogonal to it. The report is a point of it with odds e^epsilon for
    each point there against each other point. ``order`` defaults to the prime with the least variance, near
    e^epsilon + 1. The points are numbered 0, 1, ... and the value x is the point of number x.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [FNNT22]; all hyperplanes have equally many points (``TwoSets``).
    Error: n * variance within a few percent of the best, 4 e^epsilon / (e^epsilon - 1)^2, with reports of log2(domain)
    bits and little more; all shares are decoded by one fast Fourier transform.
    Not covered: that somebody reported; values outside the domain count as ``missing``.

    >>> from hubbub.noise.testing import seeded
    >>> survey = ProjectiveGeometry(epsilon=1, domain=100_000)
    >>> survey.order, survey.payload_bytes
    (3, 3)
    >>> reports = survey.randomize([17] * 6000 + [500] * 4000, rng=seeded(7))
    >>> survey.estimate(reports).values[[17, 500, 900]].round(2).tolist()
    [0.61, 0.44, -0.03]
    """

    protocol: ClassVar[str] = "projective"
    words = 2

    def __init__(self, *, epsilon: Real, domain: int, order: int | None = None, missing: int = 0) -> None:
        super().__init__(epsilon=epsilon, domain=domain_of(domain, most=_MOST_DOMAIN), missing=missing)
        self.order = best_order(float(self.epsilon), self.domain) if order is None else _check_order(order, self.domain)
        self.space = Space(self.order, dimension_for(self.order, self.domain))
        plane, outside, common = self.space.plane, self.space.outside, self.space.common
        self.sets = TwoSets.for_epsilon(self.epsilon, own=plane, other=outside)
        self.symbols = self.state_size = self.space.points
        self.payload_bytes = symbol_bytes(self.space.points)
        self.p = self.sets.p
        self.q = self.p * common / plane + (1 - self.p) * (plane - common) / outside

    def parameters(self) -> dict[str, Json]:
        """The domain, the order, and the threshold of the coin that picks a point of the own hyperplane."""
        return {**self._base_parameters([self.sets.keep]), "order": self.order}

    def support(self, state: NDArray[np.int64], *, count: int) -> NDArray[np.float64]:
        """A report supports the values in whose hyperplanes it lies: all at once by a fast Fourier transform.

        With every report on all multiples of its point, the transform at a vector is order * support - count, since the
        roots of unity other than 1 add up to -1.
        """
        return np.rint((count + self.space.transform(state)[: self.domain]) / self.order)

    def word_cuts(self, code: int) -> list[list[int]]:
        """For each word, where the report may change."""
        return self.sets.word_cuts()

    def _respond(self, codes: Codes, words: Words) -> Codes:
        parts = [slice(start, start + _CHUNK) for start in range(0, max(1, len(codes)), _CHUNK)]
        return np.concatenate([super(ProjectiveGeometry, self)._respond(codes[part], words[part]) for part in parts])

    def _report(self, code: Number, words: Sequence[Word]) -> Number:
        """Points orthogonal to the own one (product 0) by points of the free coordinates, others (1) by vectors."""
        inside, index = self.sets.draw(*words)
        return self.space.meet(code, pick(inside, self.space.vector(index), index), pick(inside, 0, 1))


@lru_cache(maxsize=256)
def best_order(epsilon: float, domain: int) -> int:
    """The prime with the least variance for a rare value, among those whose transform is not too large."""
    largest = min(round(4 * math.exp(min(epsilon, 8))) + 3, math.isqrt(MOST_VECTORS))
    fit = [q for q in range(2, largest + 1) if _is_prime(q) and q ** dimension_for(q, domain) <= MOST_VECTORS]
    return min(fit, key=lambda q: _rare_variance(q, domain, epsilon))


def _rare_variance(order: int, domain: int, epsilon: float) -> float:
    """n * variance for a value that nobody has, by the ideal distribution."""
    space = Space(order, dimension_for(order, domain))
    odds = math.exp(epsilon)
    whole_mass = odds * space.plane + space.outside
    own = odds * space.plane / whole_mass
    other = (odds * space.common + space.plane - space.common) / whole_mass
    return float(other * (1 - other) / (own - other) ** 2)


def _check_order(order: int, domain: int) -> int:
    prime = whole(order, name="order", least=2)
    if not _is_prime(prime) or prime ** dimension_for(prime, domain) > MOST_VECTORS:
        raise OutOfRange(
            f"order must be a prime whose space is small enough and is {prime}.",
            why="Coordinates are integers modulo a prime, and decoding transforms all vectors at once.",
            fix="Leave order out to get the best one.",
        )
    return prime


def _is_prime(number: int) -> bool:
    return number >= 2 and all(number % k for k in range(2, math.isqrt(number) + 1))
