"""What each party brings to a run, as whole numbers and back.

A measure says what a protected unit can change (``sensitivity``), what every party proves of its numbers
(``quantity``), how a value becomes steps (``encode``), and what the sums mean (``read``).

- in ``quantities``: ``Number(18, 100)``, ``Vector(3)``, ``Histogram(("A", "B"))``
- in ``gradients``: ``Gradient(10, norm=1)``, a vector of bounded length
- in ``weights``: ``Weighted(Number(), weights=...)``, ``PrivatelyWeighted(Number(), most=9)``
- in ``subjects``: ``Subjects(Number(), most=500)``, parties that hold many people

Rounding is exact and up or down by a coin, so that it moves no mean. Its coins are the operating system's, and what
came out is written down before the first message, so that a party never rounds one value twice.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hubbub.gopa.crypto.proof_shape import is_list_like
from hubbub.gopa.privacy.calibration import RunPlan, plan
from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.protocol.agreement import Agreement, Quantity
from hubbub.gopa.quantities import grid
from hubbub.terms import Real, WrongShape, refuse_masked

Fractions = Sequence[Fraction]
Frame = tuple[Fraction, Fraction]
LEAST = Fraction(1, 10**9)  # noise can bring a small sum of weights to nothing, or below


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What the sums of a run mean: values with their standard deviations (noise and rounding), each under a label."""

    labels: tuple[str, ...]
    values: tuple[float, ...]
    std_devs: tuple[float, ...]


class PartyInput(ABC):
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
        return grid.round_to_steps(agreement, self.numbers(value, place))

    def read(self, means: Fractions, *, variance: float, places: Sequence[int]) -> RunEstimate:
        """What the means over the parties at these places on the roster say; ``variance`` is that of each of them."""
        names = self.labels
        return RunEstimate(names, tuple(map(float, means)), (math.sqrt(variance),) * len(names))

    @property
    def labels(self) -> tuple[str, ...]:
        """What each value of a reading is called."""
        width = self.quantity.coordinates
        return ("mean",) if width == 1 else tuple(str(place) for place in range(width))

    def plan(
        self,
        parties: int,
        *,
        epsilon: Real,
        delta: Real,
        honest: Real = Fraction(1, 2),
        dropouts: Real = Fraction(1, 20),
    ) -> RunPlan:
        """The plan of a run of so many parties for this measure.

        >>> from hubbub.gopa.quantities.numbers import BoundedNumber
        >>> BoundedNumber(18, 100).plan(20, epsilon=1, delta=1e-6, honest=0.8).noise_bits
        78
        """
        return plan(epsilon, delta, parties, honest, dropouts, sensitivity=self.sensitivity, steps=self.steps)


# ---------------------------------------------------------------- what measures share


def as_list(value: Any, count: int) -> list[Any]:
    """A value as so many numbers; a single one needs no list."""
    refuse_masked(value, name="a party's numbers")
    if count == 1 and not hasattr(value, "__len__"):
        return [value]
    if not is_list_like(value) or len(value) != count:
        raise WrongShape(
            f"a value is not a list of {count} numbers.", why="Each party gives as many.", fix=f"Give {count}."
        )
    return list(value)


def ratio_of_sums(mean: Fraction, below: Fraction, frame: Frame) -> float:
    """A sum over a sum of weights, in its own units."""
    offset, width = frame
    return float(offset + width * mean / max(below, LEAST))


def ratio_std_dev(noise: float, below: Fraction, frame: Frame) -> float:
    """The standard deviation of a quotient whose upper sum has this noise."""
    return noise * float(frame[1] / max(below, LEAST))
