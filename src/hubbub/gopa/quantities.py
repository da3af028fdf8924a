"""What people average, as whole numbers and back.

A measure says what each party brings: what a protected unit can change (``sensitivity``), what every party proves of
its numbers (``quantity``), how a value becomes steps (``encode``), and what the sums mean (``read``).

- ``Number(18, 100)``, ``Vector(3)``: numbers in a range; all coordinates of a vector are accounted together
- ``Histogram(("A", "B"))``: one cell for each party
- ``Gradient(10, norm=1)``: a vector of bounded length, clipped
- in ``weights``: ``Weighted(Number(), weights=...)``, ``PrivatelyWeighted(Number(), most=9)``
- in ``subjects``: ``Subjects(Number(), most=500)``, parties that hold many people

Rounding is exact and up or down by a coin, so that it moves no mean. Its coins are the operating system's, and what
came out is written down before the first message, so that a party never rounds one value twice.
"""

from __future__ import annotations

import math
import secrets
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

from hubbub.gopa import grid
from hubbub.gopa.agreement import Agreement, Quantity
from hubbub.gopa.calibrate import Plan, plan
from hubbub.gopa.sensitivity import Sensitivity
from hubbub.terms import OutOfRange, ReversedBounds, WrongShape, exact, positive, whole

Fractions = Sequence[Fraction]
Frame = tuple[Fraction, Fraction]
_KEPT = Fraction(13, 15)  # of the ball's radius is for the vector, the rest for its rounding: 1/3 more variance
_TRIES = 256
_FINE = 1 << 40
LEAST = Fraction(1, 10**9)  # noise can bring a small sum of weights to nothing, or below


@dataclass(frozen=True, slots=True)
class Reading:
    """What the sums of a run mean: values with their standard deviations (noise and rounding), each under a label."""

    labels: tuple[str, ...]
    values: tuple[float, ...]
    std_devs: tuple[float, ...]


class Measure(ABC):
    """What each party brings to a run."""

    @property
    @abstractmethod
    def quantity(self) -> Quantity:
        """What the parties agree on, and prove of their numbers."""

    @property
    @abstractmethod
    def sensitivity(self) -> Sensitivity:
        """What one protected unit can change."""

    @property
    def steps(self) -> int | None:
        """The grid, if it is not the plan's to choose."""
        return None

    @abstractmethod
    def numbers(self, value: Any, place: int) -> Fractions:
        """A party's value as numbers of the quantity; ``place`` is where the party stands on the roster."""

    def encode(self, value: Any, agreement: Agreement, *, place: int = 0) -> tuple[int, ...]:
        """A party's value as the steps that it proves."""
        return grid.rounded(agreement, self.numbers(value, place))

    def read(self, means: Fractions, *, variance: float, places: Sequence[int]) -> Reading:
        """What the means over the parties at these places on the roster say; ``variance`` is that of each of them."""
        names = self.labels
        return Reading(names, tuple(map(float, means)), (math.sqrt(variance),) * len(names))

    @property
    def labels(self) -> tuple[str, ...]:
        """What each value of a reading is called."""
        width = self.quantity.coordinates
        return ("mean",) if width == 1 else tuple(str(place) for place in range(width))

    def plan(
        self,
        parties: int,
        *,
        epsilon: object,
        delta: object,
        honest: object = Fraction(1, 2),
        dropouts: object = Fraction(1, 20),
    ) -> Plan:
        """The plan of a run of so many parties for this measure.

        >>> Number(18, 100).plan(20, epsilon=1, delta=1e-6, honest=0.8).noise_bits
        78
        """
        return plan(epsilon, delta, parties, honest, dropouts, sensitivity=self.sensitivity, steps=self.steps)


@dataclass(frozen=True)
class Vector(Measure):
    """So many numbers for each party, all between ``lower`` and ``upper``. One unit may change all of them."""

    coordinates: int
    lower: Any = 0
    upper: Any = 1

    def __post_init__(self) -> None:
        whole(self.coordinates, name="coordinates")
        low, high = exact(self.lower, name="lower"), exact(self.upper, name="upper")
        if low >= high:
            raise ReversedBounds(
                f"lower is {float(low):g} and upper is {float(high):g}.",
                why="Values lie between the two.",
                fix="Give a lower bound below the upper one.",
            )
        object.__setattr__(self, "lower", low)
        object.__setattr__(self, "upper", high)

    @property
    def quantity(self) -> Quantity:
        return Quantity("mean", self.coordinates, self.lower, self.upper)

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity("range", self.coordinates)

    def numbers(self, value: Any, place: int = 0) -> Fractions:
        return [exact(one, name="value") for one in listed(value, self.coordinates)]

    @property
    def frame(self) -> Frame:
        """Where shares begin, and what a whole one is."""
        return self.lower, self.upper - self.lower

    def shares(self, value: Any) -> list[Fraction]:
        """The same as shares of the range, from 0 to 1."""
        width = self.upper - self.lower
        found = [(one - self.lower) / width for one in self.numbers(value)]
        if not all(0 <= one <= 1 for one in found):
            raise OutOfRange(
                f"a value is not between {float(self.lower):g} and {float(self.upper):g}.",
                why="All parties agreed on this range.",
                fix="Clamp the value to the range, if that is what you mean.",
            )
        return found


@dataclass(frozen=True)
class Number(Vector):
    """One number between ``lower`` and ``upper`` for each party.

    >>> Number(18, 100).numbers(59)
    [Fraction(59, 1)]
    """

    def __init__(self, lower: object = 0, upper: object = 1) -> None:
        object.__setattr__(self, "coordinates", 1)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        self.__post_init__()


@dataclass(frozen=True)
class Histogram(Measure):
    """One of some cells for each party; the mean is the share of each cell.

    >>> Histogram(("no", "yes")).numbers("yes", 0)
    [Fraction(0, 1), Fraction(1, 1)]
    """

    cells: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", tuple(self.cells))
        if len(set(self.cells)) < max(2, len(self.cells)):
            raise WrongShape(
                "a histogram has two cells or more, each with a name of its own.",
                why="Each party is in exactly one of them.",
                fix='Name them: ("A", "B", "none").',
            )

    @property
    def quantity(self) -> Quantity:
        return Quantity("histogram", len(self.cells), one_hot=True)

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity("one-hot", len(self.cells))

    @property
    def steps(self) -> int:
        return 1

    @property
    def labels(self) -> tuple[str, ...]:
        return self.cells

    def numbers(self, value: Any, place: int = 0) -> Fractions:
        return self.shares(value)

    @property
    def frame(self) -> Frame:
        """Shares are what is wanted."""
        return Fraction(0), Fraction(1)

    def shares(self, value: Any) -> list[Fraction]:
        """A one in the cell of this value."""
        if value not in self.cells:
            raise OutOfRange(
                "a value is in none of the cells.",
                why="The cells are public and agreed on before the run.",
                fix=f"Give one of {', '.join(self.cells)}.",
            )
        return [Fraction(cell == value) for cell in self.cells]


@dataclass(frozen=True)
class Gradient(Measure):
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
        clipped = clip([exact(one, name="value") for one in listed(value, self.coordinates)], self.norm)
        unit = 2 * self.radius / self.steps
        return [one * unit for one in _inside([one * self.norm / unit for one in clipped], self.steps // 2)]

    @property
    def frame(self) -> Frame:
        """Shares are of the diameter."""
        return Fraction(0), 2 * self.norm

    def shares(self, value: Any) -> list[Fraction]:
        """The clipped vector as shares of the diameter; the middle is zero."""
        clipped = clip([exact(one, name="value") for one in listed(value, self.coordinates)], self.norm)
        return [one / 2 for one in clipped]


# ---------------------------------------------------------------- what measures share


def listed(value: Any, count: int) -> list[Any]:
    """A value as so many numbers; a single one needs no list."""
    if count == 1 and not hasattr(value, "__len__"):
        return [value]
    if not hasattr(value, "__len__") or isinstance(value, str | bytes) or len(value) != count:
        raise WrongShape(
            f"a value is not a list of {count} numbers.", why="Each party gives as many.", fix=f"Give {count}."
        )
    return list(value)


def clip(vector: Fractions, norm: Fraction) -> list[Fraction]:
    """The vector in parts of ``norm``, cut off at 2^-40 of it and shortened to 1 if it is longer.

    Whole numbers all along: it is never longer than 1, and quick for many people.

    >>> [float(one) for one in clip([Fraction(3), Fraction(4)], Fraction(1))]
    [0.5999999999994543, 0.7999999999992724]
    """
    whole_ = [int(one * _FINE / norm) for one in vector]
    squared = sum(one * one for one in whole_)
    if squared > _FINE**2:
        length = math.isqrt(squared - 1) + 1
        whole_ = [(one * _FINE // length if one > 0 else -(-one * _FINE // length)) for one in whole_]
    return [Fraction(one, _FINE) for one in whole_]


def quotient(mean: Fraction, below: Fraction, frame: Frame) -> float:
    """A sum over a sum of weights, in its own units."""
    offset, width = frame
    return float(offset + width * mean / max(below, LEAST))


def spread(noise: float, below: Fraction, frame: Frame) -> float:
    """The standard deviation of a quotient whose upper sum has this noise."""
    return noise * float(frame[1] / max(below, LEAST))


def _inside(vector: Fractions, radius: int) -> list[int]:
    """Whole numbers near the vector, and in the ball."""
    for _ in range(_TRIES):
        drawn = [flipped(one) for one in vector]
        if sum(one * one for one in drawn) <= radius**2:
            return drawn
    return [math.trunc(one) for one in vector]


def flipped(place: Fraction) -> int:
    """The whole number below or above, by a coin that keeps the mean."""
    low = math.floor(place)
    rest = place - low
    return low + (secrets.randbelow(rest.denominator) < rest.numerator)
