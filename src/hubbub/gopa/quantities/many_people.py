"""Parties that hold many people: hospitals with patients, companies with customers.

Each party adds up what its people have, and the run adds up the parties. Who is protected is a choice: ``subject``,
each person; or ``party``, everything that a party has. A person moves little of a party's sum, and needs little noise.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

from hubbub.gopa.crypto.proof_shape import is_list_like
from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.protocol.agreement import Quantity
from hubbub.gopa.quantities.base import LEAST, Fractions, PartyInput, RunEstimate, ratio_of_sums, ratio_std_dev
from hubbub.gopa.quantities.bounded_vectors import Gradient
from hubbub.gopa.quantities.numbers import CategoryShares, Vector
from hubbub.terms import MissingParameter, OutOfRange, WrongShape, refuse_masked, whole

Unit = Literal["subject", "party"]


@dataclass(frozen=True)
class Subjects(PartyInput):
    """The mean over all people of all parties, of whom each party has at most ``most``.

    ``sizes`` are the parties' numbers of people if they are public, one for each place on the roster. If not, they are
    added up in the run like everything else. A party's value is the list of what its people have.

    Guarantee: with ``unit="subject"``, a run protects each person of an honest party against being replaced; without
    ``sizes``, also against being there or not.
    Because: a person is at most 1 / ``most`` of its party's range, in one coordinate or in as many as the sensitivity
    says; docs/proofs/gopa.md, "What is averaged" [SBR22].
    Not covered: a person who is in two parties is protected in each of them, not in both together.
    """

    of: Vector | CategoryShares | Gradient
    most: int
    sizes: tuple[int, ...] | None = None
    unit: Unit = "subject"

    def __post_init__(self) -> None:
        whole(self.most, name="most", least=2 if isinstance(self.of, Gradient) else 1)
        if self.unit not in get_args(Unit):
            raise OutOfRange(
                f"there is no unit {self.unit!r}.", why="A run protects people or parties.", fix='Give "subject".'
            )
        if isinstance(self.of, Gradient) and self.sizes is None:
            raise MissingParameter(
                "sizes are needed for gradients.",
                why="A party that has nobody would have no direction to give.",
                fix="Give sizes=, one number of people for each party.",
            )
        if self.sizes is not None:
            object.__setattr__(self, "sizes", tuple(whole(one, name="size") for one in self.sizes))
            if max(self.sizes) > self.most:
                raise OutOfRange(
                    "a size is above most.", why="It is the largest that a party may have.", fix="Raise most."
                )

    # ------------------------------------------------ what is agreed on

    @property
    def counted(self) -> bool:
        """Whether the number of people is a coordinate of its own (the cells of a histogram tell it anyway)."""
        return self.sizes is None and not isinstance(self.of, CategoryShares)

    @property
    def _width(self) -> int:
        return len(self.of.cells) if isinstance(self.of, CategoryShares) else self.of.coordinates

    @property
    def quantity(self) -> Quantity:
        middle = Fraction(self.most, 2) if isinstance(self.of, Gradient) else Fraction(0)
        return Quantity("sum over people", self._width + self.counted, -middle, self.most - middle)

    @property
    def sensitivity(self) -> Sensitivity:
        width, share = self._width + self.counted, Fraction(1, self.most)
        if self.unit == "party":
            return Sensitivity("range", width)
        if isinstance(self.of, CategoryShares):
            return Sensitivity("one-hot", width, share)
        if isinstance(self.of, Gradient):
            return Sensitivity("norm", width, Fraction(self._reach, self._fine * self.most))
        return Sensitivity("range", width, share)

    @property
    def steps(self) -> int | None:
        if isinstance(self.of, CategoryShares):
            return self.most
        return self._fine * self.most if isinstance(self.of, Gradient) else None

    @property
    def _fine(self) -> int:
        """Steps for the diameter of one person's vector."""
        return 4 * _root_up(self._width)

    @property
    def _reach(self) -> int:
        """How many steps one person moves a rounded sum in L2: the sum is rounded once, and with it every coordinate
        moves by less than one step more than it should."""
        return self._fine + _root_up(self._width)

    # ------------------------------------------------ from people to sums and back

    def numbers(self, value: Any, place: int = 0) -> Fractions:
        refuse_masked(value, name="a party's people")
        if not is_list_like(value):
            raise WrongShape(
                "a party's value is not the list of what its people have.", why="Each is added up.", fix="Give a list."
            )
        people = [self.of.shares(one) for one in value]
        if len(people) > self.most or (self.sizes is not None and len(people) != self.sizes[place]):
            raise WrongShape(
                "a party has another number of people than was agreed.",
                why="The noise is for as many as were said.",
                fix="Give the right sizes, or a larger most.",
            )
        sums = [sum((one[c] for one in people), Fraction(0)) for c in range(self._width)]
        return [*sums, Fraction(len(people))] if self.counted else sums

    @property
    def labels(self) -> tuple[str, ...]:
        return (*self.of.labels, "people per party") if self.counted else self.of.labels

    def read(self, means: Fractions, *, variance: float, places: Sequence[int]) -> RunEstimate:
        each, frame, noise = self._each(means, places), self.of.frame, math.sqrt(variance)
        above = means[: self._width]
        values = [ratio_of_sums(one, each, frame) for one in above]
        reach = [ratio_std_dev(noise * self._factor(float(one / each)), each, frame) for one in above]
        more = ((float(each),), (noise,)) if self.counted else ((), ())
        return RunEstimate(self.labels, (*values, *more[0]), (*reach, *more[1]))

    def _each(self, means: Fractions, places: Sequence[int]) -> Fraction:
        """How many people a party has: in truth, by the run's count, or by all cells together."""
        if self.sizes is not None:
            return Fraction(sum(self.sizes[place] for place in places), len(places))
        return max(means[-1] if self.counted else sum(means, Fraction(0)), LEAST)

    def _factor(self, share: float) -> float:
        """What a noisy number of people adds to the noise of one sum, as a factor: the one of sum - share * number."""
        if self.sizes is not None:
            return 1.0
        if self.counted:
            return math.hypot(1, share)
        return math.sqrt((1 - share) ** 2 + (self._width - 1) * share**2)


def _root_up(count: int) -> int:
    """The square root, rounded up."""
    return math.isqrt(count - 1) + 1
