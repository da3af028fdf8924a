"""Weighted averages: with weights that all know, or with weights that each party keeps to itself."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.gopa.protocol.agreement import Quantity
from hubbub.gopa.quantities.base import LEAST, Fractions, PartyInput, RunEstimate, as_list, ratio_of_sums, ratio_std_dev
from hubbub.gopa.quantities.numbers import BoundedNumber
from hubbub.terms import exact, positive


@dataclass(frozen=True)
class Weighted(PartyInput):
    """A mean in which parties have public weights, one for each place on the roster.

    Not covered: that each party proves its own weight. It proves that weight times value is at most the largest weight.
    """

    of: BoundedNumber
    weights: tuple[Any, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "weights", tuple(positive(one, name="weight") for one in self.weights))

    @property
    def quantity(self) -> Quantity:
        return Quantity("weighted", 1, Fraction(0), max(self.weights))

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity()

    def numbers(self, value: Any, place: int) -> Fractions:
        return [self.weights[place] * one for one in self.of.shares(value)]

    def read(self, means: Fractions, *, variance: float, places: Sequence[int]) -> RunEstimate:
        each, frame = sum(self.weights[place] for place in places) / len(places), self.of.frame
        return RunEstimate(
            ("mean",), (ratio_of_sums(means[0], each, frame),), (ratio_std_dev(math.sqrt(variance), each, frame),)
        )


@dataclass(frozen=True)
class PrivatelyWeighted(PartyInput):
    """A mean in which each party has a weight of its own, which it keeps to itself: values are pairs (x, weight).

    Error: the quotient of two noisy sums; its standard deviation is the one of a small error in both.
    """

    of: BoundedNumber
    most: Any

    def __post_init__(self) -> None:
        object.__setattr__(self, "most", positive(self.most, name="most"))

    @property
    def quantity(self) -> Quantity:
        return Quantity("weighted pair", 2, Fraction(0), self.most)

    @property
    def sensitivity(self) -> Sensitivity:
        return Sensitivity("range", 2)

    @property
    def labels(self) -> tuple[str, ...]:
        return ("mean", "weight")

    def numbers(self, value: Any, place: int) -> Fractions:
        given, weight = as_list(value, 2)
        share, heavy = self.of.shares(given)[0], exact(weight, name="weight")
        return [heavy * share, heavy]

    def read(self, means: Fractions, *, variance: float, places: Sequence[int]) -> RunEstimate:
        (above, below), frame, noise = means, self.of.frame, math.sqrt(variance)
        both = noise * math.hypot(1, float(above / max(below, LEAST)))  # of above - share * below
        return RunEstimate(
            self.labels, (ratio_of_sums(above, below, frame), float(below)), (ratio_std_dev(both, below, frame), noise)
        )
