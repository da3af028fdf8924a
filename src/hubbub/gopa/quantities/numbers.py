"""Numbers in a range and choices among cells: all coordinates of a vector are accounted together."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.protocol.agreement import Quantity
from hubbub.gopa.quantities.base import Fractions, Frame, PartyInput, as_list
from hubbub.terms import OutOfRange, Real, ReversedBounds, WrongShape, exact, plain_text, shown, whole


@dataclass(frozen=True)
class Vector(PartyInput):
    """So many numbers for each party, all between ``lower`` and ``upper``. One unit may change all of them."""

    coordinates: int
    lower: Any = 0
    upper: Any = 1

    def __post_init__(self) -> None:
        whole(self.coordinates, name="coordinates")
        low, high = exact(self.lower, name="lower"), exact(self.upper, name="upper")
        if low >= high:
            raise ReversedBounds(
                f"lower is {shown(low)} and upper is {shown(high)}.",
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
        return [exact(one, name="value") for one in as_list(value, self.coordinates)]

    @property
    def frame(self) -> Frame:
        """Where shares begin, and what a whole one is."""
        return self.lower, self.upper - self.lower

    def shares(self, value: Any) -> list[Fraction]:
        """The same as shares of the range, from 0 to 1."""
        width = self.upper - self.lower
        shares = [(one - self.lower) / width for one in self.numbers(value)]
        if not all(0 <= one <= 1 for one in shares):
            raise OutOfRange(
                f"a value is not between {shown(self.lower)} and {shown(self.upper)}.",
                why="All parties agreed on this range.",
                fix="Clamp the value to the range, if that is what you mean.",
            )
        return shares


@dataclass(frozen=True)
class BoundedNumber(Vector):
    """One number between ``lower`` and ``upper`` for each party.

    >>> BoundedNumber(18, 100).numbers(59)
    [Fraction(59, 1)]
    """

    def __init__(self, lower: Real = 0, upper: Real = 1) -> None:
        object.__setattr__(self, "coordinates", 1)
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)
        self.__post_init__()


@dataclass(frozen=True)
class CategoryShares(PartyInput):
    """One of some cells for each party; the mean is the share of each cell.

    >>> CategoryShares(("no", "yes")).numbers("yes", 0)
    [Fraction(0, 1), Fraction(1, 1)]
    """

    cells: tuple[str, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "cells", tuple(plain_text(cell, name="a cell") for cell in self.cells))
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
        if not isinstance(value, str) or value not in self.cells:
            raise OutOfRange(
                "a value is in none of the cells.",
                why="The cells are public and agreed on before the run.",
                fix=f"Give one of {', '.join(self.cells)}.",
            )
        return [Fraction(cell == value) for cell in self.cells]
