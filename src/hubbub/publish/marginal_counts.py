"""Marginals: exact counts of combinations of cells, and the same with noise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.mechanisms import DiscreteGaussian, Exponential
from hubbub.publish.cells import Codes
from hubbub.terms import Event, Neighbours, Unit, root_of

Columns: TypeAlias = tuple[int, ...]
Floats: TypeAlias = NDArray[np.float64]
_MOST_KEPT = 1 << 24  # exact counts that a meter keeps


@dataclass(frozen=True, slots=True)
class CodedRows:
    """The private rows as cells (a row of codes each) and how many cells each column has."""

    codes: Codes
    sizes: tuple[int, ...]

    def count(self, columns: Columns) -> Codes:
        """How many rows have each combination of cells of these columns: exact integers, one axis per column."""
        shape = tuple(self.sizes[column] for column in columns)
        places = np.zeros(len(self.codes), dtype=np.int64)
        for column, size in zip(columns, shape, strict=True):
            places = places * size + self.codes[:, column]
        return np.bincount(places, minlength=math.prod(shape)).reshape(shape)

    def merged(self, groups: list[Codes]) -> CodedRows:
        """The same rows on coarser cells; ``groups`` has the new cell of each old one."""
        codes = [group[self.codes[:, column]] for column, group in enumerate(groups)]
        sizes = tuple(int(group.max()) + 1 for group in groups)
        return CodedRows(np.stack(codes, axis=1) if codes else self.codes, sizes)


@dataclass(frozen=True, slots=True)
class Whom:
    """Who is protected, and how far one of them can move a marginal."""

    unit: Unit
    neighbours: Neighbours
    most: int = 1  # rows of one unit

    def identity(self) -> dict[str, object]:
        """What makes two such promises the same."""
        return {"unit": self.unit.path, "neighbours": self.neighbours.value, "most": self.most}

    @property
    def l1(self) -> int:
        """How far one unit moves a marginal in L1, and hence its L1 distance to anything."""
        return 2 * self.most if self.neighbours is Neighbours.REPLACE else self.most

    @property
    def l2(self) -> Fraction:
        """The same in L2: under replacement one cell falls by ``most`` and another rises by it, at worst."""
        return root_of(2 * self.most**2) if self.neighbours is Neighbours.REPLACE else Fraction(self.most)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A marginal with noise, its columns in increasing order; ``variance`` is the noise's, of each cell."""

    columns: Columns
    values: Floats
    variance: Floats

    def merged(self, groups: list[Codes]) -> Measurement:
        """A one-way marginal on coarser cells: the sums of its cells."""
        group = groups[self.columns[0]]
        values = np.bincount(group, weights=self.values).astype(np.float64)
        return replace(self, values=values, variance=np.bincount(group, weights=self.variance).astype(np.float64))


class Meter:
    """Measures and chooses for one cost: everything that the private rows are asked goes through here.

    Guarantee: ``measure`` costs ``measuring.rho`` and ``choose`` epsilon^2/8 in zCDP, for the unit and neighbours of
    ``whom``, if no unit has more than ``whom.most`` rows (``units.chosen_rows`` sees to that).
    Because: [CKS20, Thm. 14] for the noise, with the L2 sensitivity of ``Whom.l2``; [CR21] and [DDR20] for the choice,
    with scores that are integers and move by at most ``Whom.l1``: docs/proofs/synthetic.md.
    Not covered: running time.
    """

    def __init__(self, rows: CodedRows, whom: Whom) -> None:
        self.rows, self.whom = rows, whom
        self._counted: dict[Columns, Codes] = {}
        self._room = _MOST_KEPT

    def measure(self, columns: Columns, *, sigma: Fraction) -> Measurement:
        """The marginal with discrete Gaussian noise."""
        counts = self._count(columns)
        noisy = marginal_noise(self.whom, sigma).release(counts)
        values = np.asarray(noisy, dtype=np.float64)
        return Measurement(columns, values, np.full(values.shape, float(sigma) ** 2))

    def choose(
        self,
        candidates: Sequence[Columns],
        expected: Sequence[Codes],
        *,
        offsets: Sequence[int],
        epsilon: Fraction,
        weights: Sequence[int] | None = None,
    ) -> int:
        """The candidate whose marginal is farthest (in L1, less its offset) from the expected one, nearly.

        ``expected``, ``offsets`` and ``weights`` are public integers: made from what was released before. A weight
        multiplies a score, and the largest one the sensitivity.
        """
        distances = [
            int(np.abs(self._count(columns) - table).sum()) - offset
            for columns, table, offset in zip(candidates, expected, offsets, strict=True)
        ]
        factors = weights or [1] * len(distances)
        scores = [factor * distance for factor, distance in zip(factors, distances, strict=True)]
        return marginal_choice(self.whom, epsilon, weight=max(factors)).release(scores)

    def _count(self, columns: Columns) -> Codes:
        """The exact counts, kept for the next time as long as there is room."""
        if columns in self._counted:
            return self._counted[columns]
        counts = self.rows.count(columns)
        if counts.size <= self._room:
            self._counted[columns] = counts
            self._room -= counts.size
        return counts


def marginal_noise(whom: Whom, sigma: Fraction) -> DiscreteGaussian:
    """The noise of one marginal."""
    return DiscreteGaussian(sensitivity=whom.l2, sigma=sigma, neighbours=whom.neighbours, unit=whom.unit)


def marginal_choice(whom: Whom, epsilon: Fraction, *, weight: int = 1) -> Exponential:
    """The choice of one marginal, by scores that are multiplied by ``weight`` at most."""
    return Exponential(sensitivity=whom.l1 * weight, epsilon=epsilon, neighbours=whom.neighbours, unit=whom.unit)


def sigma_for(whom: Whom, rho: Fraction) -> Fraction:
    """The noise of a marginal that may cost ``rho``, rounded up."""
    return root_of(whom.l2**2 / (2 * rho))


def epsilon_for(rho: Fraction) -> Fraction:
    """The largest epsilon of a choice that may cost ``rho``, rounded down to a multiple of 2^-40."""
    scaled = (8 * rho.numerator << 80) // rho.denominator
    return Fraction(math.isqrt(scaled), 1 << 40)


def step_cost(event: Event) -> Fraction:
    """What a step costs in zCDP."""
    from hubbub.accounting import concentrated

    bound = concentrated(event, next(event.steps()).neighbours)
    assert bound is not None  # every step here has a cost in zCDP
    return bound[0]
