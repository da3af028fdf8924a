"""Vectors of bounded length: clipped, rounded into a ball, and proved to lie in it."""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.protocol.agreement import Quantity
from hubbub.gopa.quantities.base import Fractions, Frame, PartyInput, as_list
from hubbub.terms import exact, positive, whole

_KEPT = Fraction(13, 15)  # of the ball's radius is for the vector, the rest for its rounding: 1/3 more variance
_TRIES = 256
_FINE = 1 << 40


@dataclass(frozen=True)
class Gradient(PartyInput):
    """A vector of at most ``norm`` in L2 for each party; a longer one is shortened.

    Each party proves that its steps lie in a ball. The ball is 2/13 wider than ``norm``, so that rounding has room.

    Error: rounded coordinates are drawn again until they are in the ball, which happens every second time or more
    often; that moves the mean of a vector at the rim by a part of a step. Nobody's privacy rests on how they are
    rounded.
    """

    coordinates: int
    norm: Any = 1

    def __post_init__(self) -> None:
        whole(self.coordinates, name="coordinates")
        object.__setattr__(self, "norm", positive(self.norm, name="norm"))

    @property
    def radius(self) -> Fraction:
        """Of the ball that is proved."""
        return Fraction(self.norm / _KEPT)

    @property
    def quantity(self) -> Quantity:
        return Quantity("gradient", self.coordinates, -self.radius, self.radius, ball=True)

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity("norm", self.coordinates)

    @cached_property
    def steps(self) -> int:
        """The least even grid on which a rounded vector is in the ball every second time, or nearly.

        Rounding adds at most coordinates / 4 to the squared length, and its standard deviation is the length.
        """
        room, grid_ = 1 - _KEPT**2, 2
        while room * grid_**2 < self.coordinates + 2 * _KEPT * grid_:
            grid_ += 2
        return grid_

    def numbers(self, value: Any, place: int = 0) -> Fractions:
        clipped = clip_vector([exact(one, name="value") for one in as_list(value, self.coordinates)], self.norm)
        unit = 2 * self.radius / self.steps
        return [one * unit for one in _round_inside([one * self.norm / unit for one in clipped], self.steps // 2)]

    @property
    def frame(self) -> Frame:
        """Shares are of the diameter."""
        return Fraction(0), 2 * self.norm

    def shares(self, value: Any) -> list[Fraction]:
        """The clipped vector as shares of the diameter; the middle is zero."""
        clipped = clip_vector([exact(one, name="value") for one in as_list(value, self.coordinates)], self.norm)
        return [one / 2 for one in clipped]


# ---------------------------------------------------------------- clipping and rounding


def clip_vector(vector: Fractions, norm: Fraction) -> list[Fraction]:
    """The vector in parts of ``norm``, cut off at 2^-40 of it and shortened to 1 if it is longer.

    Whole numbers all along: it is never longer than 1, and quick for many people.

    >>> [float(one) for one in clip_vector([Fraction(3), Fraction(4)], Fraction(1))]
    [0.5999999999994543, 0.7999999999992724]
    """
    whole_ = [int(one * _FINE / norm) for one in vector]
    squared = sum(one * one for one in whole_)
    if squared > _FINE**2:
        length = math.isqrt(squared - 1) + 1
        whole_ = [(one * _FINE // length if one > 0 else -(-one * _FINE // length)) for one in whole_]
    return [Fraction(one, _FINE) for one in whole_]


def _round_inside(vector: Fractions, radius: int) -> list[int]:
    """Whole numbers near the vector, and in the ball."""
    for _ in range(_TRIES):
        drawn = [round_by_coin(one) for one in vector]
        if sum(one * one for one in drawn) <= radius**2:
            return drawn
    return [math.trunc(one) for one in vector]


def round_by_coin(place: Fraction) -> int:
    """The whole number below or above, by a coin that keeps the mean."""
    low = math.floor(place)
    rest = place - low
    return low + (secrets.randbelow(rest.denominator) < rest.numerator)
