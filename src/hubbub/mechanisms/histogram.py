"""Counts over a public list of categories."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.additive import AdditiveNoise
from hubbub.mechanisms.common.grid_values import Steps
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.integer_noise import integer_noise
from hubbub.terms import (
    EmptyInput,
    Neighbours,
    OutOfRange,
    Real,
    Unit,
    WrongShape,
    fraction_of,
    refuse_masked,
    whole,
)


class Histogram(Mechanism):
    """Count values by category, with noise on every count, empty ones too.

    Guarantee: epsilon-DP, (epsilon, delta)-DP or rho-zCDP for the given unit and neighbours, if one unit has at
    most ``max_per_unit`` values (the caller bounds that; this class does not).
    Because: [DMNS06, Prop. 1] and [CKS20, Thm. 14] with these sensitivities of the vector of counts. Adding a unit
    adds a vector a >= 0 of sum at most m = ``max_per_unit``: at most m in L1 and, all in one bin, m in L2.
    Replacing a unit adds b - a for two such vectors: at most 2m in L1, and at most sqrt(2) m in L2, since
    |b - a|^2 <= |a|^2 + |b|^2 <= 2 m^2 because a.b >= 0.
    Error: each count is within ``error(confidence)``, and all counts at once within ``max_error(confidence)``,
    which grows with the logarithm of the number of categories; unbiased, so a count may be negative.
    Not covered: running time. Values that are not in the list are not counted, and nothing tells how many.

    >>> from hubbub.noise.testing import seeded
    >>> wards = Histogram(categories=["north", "south", "east"], epsilon=1)
    >>> wards.release(["north"] * 30 + ["east"] * 12 + ["typo"], rng=seeded(7)).tolist()
    [30, 1, 12]
    >>> wards.error(0.95), wards.max_error(0.95)
    (3, 4)
    """

    def __init__(
        self,
        *,
        categories: Sequence[Hashable] | NDArray[Any],
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        max_per_unit: int = 1,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        self._places = _category_index(categories)
        relation = Neighbours.parse(neighbours)
        most = whole(max_per_unit, name="max_per_unit")
        sides = 2 if relation is Neighbours.REPLACE else 1
        self._noise = integer_noise(
            "histogram",
            l1=sides * most,
            l2_squared=sides * most**2,
            epsilon=epsilon,
            delta=delta,
            rho=rho,
            dimension=len(self._places),
            neighbours=relation,
            unit=unit,
        )
        self.event: AdditiveNoise = self._noise.event

    @property
    def categories(self) -> list[Hashable]:
        """The public list, in the order of the counts."""
        return list(self._places)

    def release(self, values: Iterable[object], *, rng: noise.RandomSource | None = None) -> Steps:
        """One noisy count for each category, in their order."""
        counts = np.zeros(len(self._places), dtype=np.int64)
        for place, count in _count_values(values, self._places).items():
            counts[place] = count
        return np.asarray(self._noise.release(counts, rng=rng))

    def error(self, confidence: Real) -> int:
        """The distance that any one count's error stays within, with that confidence."""
        return self._noise.error(confidence)

    def max_error(self, confidence: Real) -> int:
        """The distance that the errors of all counts stay within at once, with that confidence."""
        level = float(fraction_of(confidence, name="confidence"))
        return self._noise.error(level ** (1 / len(self._places)))  # independent noise in every bin


def _category_index(categories: Sequence[Hashable] | NDArray[Any]) -> dict[Hashable, int]:
    listed: list[Hashable] = list(categories.tolist() if isinstance(categories, np.ndarray) else categories)
    if not listed:
        raise EmptyInput(
            "there is no category to count.",
            why="The list of categories is public and says what is released.",
            fix="Give categories=[...]; for keys that are not known beforehand use OptimalPartitionSelection or "
            "ThresholdPartitionSelection.",
        )
    try:
        places = {category: place for place, category in enumerate(listed)}
    except TypeError:
        places = {}
    if len(places) != len(listed):
        raise OutOfRange(
            "a category is listed twice or cannot be compared.",
            why="Each value belongs to one count.",
            fix="Give each category once, as a string, a number or a tuple.",
        )
    return places


def _count_values(values: Iterable[object], places: Mapping[Hashable, int]) -> dict[int, int]:
    """How many values fall into each place; whatever is not in the list falls into none, without a word."""
    refuse_masked(values)
    if isinstance(values, str | bytes) or np.ndim(values if isinstance(values, np.ndarray) else ()) != 1:
        raise WrongShape(
            "values must be one list.",
            why="Each value is counted in one category.",
            fix="Give a flat list or a one-dimensional array.",
        )
    counts: dict[int, int] = {}
    for value in values.tolist() if isinstance(values, np.ndarray) else values:
        place = _find_category(value, places)
        if place is not None:
            counts[place] = counts.get(place, 0) + 1
    return counts


def _find_category(value: object, places: Mapping[Hashable, int]) -> int | None:
    try:
        return places.get(value) if isinstance(value, Hashable) else None
    except (Exception, SystemExit):  # a tuple with a list in it cannot be hashed; an object may raise what it likes
        return None
