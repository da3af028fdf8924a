"""Several quantiles with intervals, by one exponential mechanism with the largest of their losses."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.mechanisms.common.grid_values import Numbers, integer_array
from hubbub.mechanisms.common.joint_ranks import end_gap, middle_gap
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.price_arguments import one_of
from hubbub.mechanisms.common.rank_targets import RankTarget, Sublevels, sublevels
from hubbub.terms import (
    ExponentialChoice,
    Neighbours,
    OutOfRange,
    Real,
    TooLarge,
    Unit,
    WrongShape,
    fraction_of,
    whole,
)

Integers: TypeAlias = NDArray[np.int64]

STATED = 0.95  # the confidence of the pair itself
_FINEST = 10**9  # denominators of levels
_MOST_BITS = 1000  # of the number of tuples
_MOST_CELLS = 1 << 52
_LARGEST_COUNT = 1 << 44
_FINE = 32  # at least so many ticks of the loss to a factor of e, half of that to a unit of rank
_BEYOND = 45  # a loss is cut where exp(-loss) is below 2^-64 of the least weight there is


class JointQuantiles(Mechanism):
    """For each level a pair of cells around its quantile, for several groups; the middle of a pair is the value.

    Guarantee: epsilon-DP for the given unit and neighbours for all groups and levels together, of range epsilon, if one
    unit has at most ``max_rows`` rows over all cells and groups (the caller bounds that; this class does not).
    Counts below 0 or above 2^44 are moved there.
    Because: [MT07, Thm. 6] and [CR21] through ``docs/proofs/joint-quantiles.md``: a row moves the rank loss of a level
    q by at most max(q, 1 - q), so the largest of the losses, each divided by that, by at most 1, and the sum of these
    over the groups by at most 1 too, since a row lies in one of them.
    Error: where values lie densely, the rank of the middle of each pair is within ``error(confidence)`` rows.
    Not covered: running time. The distance in cells depends on the data; the pairs tell it.

    >>> from hubbub.noise.testing import seeded
    >>> ages = JointQuantiles(levels=[0.5, 0.9], cells=100, epsilon=1)
    >>> ages.release([100] * 100, rng=seeded(7)).tolist()
    [[49, 50], [89, 90]]
    >>> round(ages.error(0.95), 1)
    9.3
    """

    def __init__(
        self,
        *,
        levels: Sequence[Real],
        cells: int,
        epsilon: Real | None = None,
        rho: Real | None = None,
        max_rows: int = 1,
        groups: bool = False,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        way, price = one_of(epsilon=epsilon, rho=rho)
        cost = price if way == "epsilon" else _epsilon_of(price)
        self.levels = _read_levels(levels)
        self.cells = _number_of_cells(cells, 2 * len(self.levels))
        # replacing a unit moves its rows from one group to another, which is a removal and an addition
        replaced = relation is Neighbours.REPLACE
        self._rows = whole(max_rows, name="max_rows") * (2 if replaced and groups else 1)
        self._alone = replaced and not groups
        self.ticks = max(1, math.ceil(_FINE * cost / self._rows))  # of the loss, to one row
        self.rate: Fraction = cost / (2 * self._rows * self.ticks)
        self.event: ExponentialChoice = ExponentialChoice(
            epsilon=cost, mechanism="joint-quantiles", neighbours=relation, unit=unit or Unit()
        )
        self.targets: tuple[RankTarget, ...] = tuple(end for level in self.levels for end in self._ends(level))
        least = (
            max(abs(target.offset) / target.spread for target in self.targets) * self.ticks
        )  # some tuple has no more
        beyond = len(self.targets) * math.log(self.cells) + _BEYOND
        self.farthest: int = math.ceil(least) + math.ceil(beyond / self.rate)

    # ------------------------------------------------------------ what is chosen

    def release(self, counts: Numbers, *, rng: noise.RandomSource | None = None) -> Integers:
        """The pair of each level, for how many rows fall into each cell: an array of shape (levels, 2)."""
        given = integer_array(counts)
        if given.shape != (self.cells,):
            raise WrongShape(
                f"counts must have the shape {(self.cells,)} and have {given.shape}.",
                why="How many cells there are is public and says what is released.",
                fix="Give one count for each cell, zeros too.",
            )
        return self._pairs(np.arange(self.cells), _bounded(given), rng)

    def release_sparse(
        self, cells: Numbers, counts: Numbers, *, keys: Numbers, number: int, rng: noise.RandomSource | None = None
    ) -> Integers:
        """The same for groups 0 to ``number`` - 1 from a list of (key, cell, count): of shape (number, levels, 2).

        What is not listed is 0, what is listed twice is added up; entries outside the groups and cells do not count.
        """
        groups, places, rows = (integer_array(column) for column in (keys, cells, counts))
        if not (groups.ndim == 1 and groups.shape == places.shape == rows.shape):
            raise WrongShape(
                "keys, cells and counts must be lists of one length.",
                why="Each entry is a key, a cell and a count.",
                fix="Give three flat lists of integers.",
            )
        many = whole(number, name="number", least=0)
        known = (groups >= 0) & (groups < many) & (places >= 0) & (places < self.cells)
        order = np.lexsort((places[known], groups[known]))
        groups, places, rows = (column[known][order].astype(np.int64) for column in (groups, places, _bounded(rows)))
        ends = np.searchsorted(groups, np.arange(many + 1))
        pairs = [self._pairs(places[a:b], rows[a:b], rng) for a, b in pairwise(ends)]
        return np.stack(pairs) if pairs else np.zeros((0, len(self.levels), 2), dtype=np.int64)

    def _pairs(self, places: Integers, rows: Integers, rng: noise.RandomSource | None) -> Integers:
        """The pairs of one group; levels between the ends rise, which brings none of their pairs further away."""
        points, upto = _cumulated(places, rows)
        levels = sublevels(points, upto, self.targets, cells=self.cells, ticks=self.ticks, farthest=self.farthest)
        drawn = np.sort(np.array(_draw_tuple(levels, self.rate, rng), dtype=np.int64).reshape(-1, 2), axis=1)
        inner = [i for i, level in sorted(enumerate(self.levels), key=lambda each: each[1]) if 0 < level < 1]
        drawn[inner] = np.sort(drawn[inner], axis=0)
        return drawn

    def _ends(self, level: Fraction) -> tuple[RankTarget, RankTarget]:
        """The ranks of a pair: so many rows before and after the quantile, or twice and more before the end."""
        spread = Fraction(1) if self._alone else max(level, 1 - level)
        away = math.ceil(self.window * self._unit(level))
        middle = 2 * away if level == 0 else -2 * away if level == 1 else 0
        return RankTarget(level, middle - away, spread), RankTarget(level, middle + away, spread)

    # ------------------------------------------------------------ what is known of it beforehand

    @property
    def window(self) -> float:
        """How far the ends lie from the quantile, in units of rank (``rank_unit``).

        An end's own error at 95%, and what gaps need: so many cells may lie in a gap that their number outweighs a
        factor exp(-loss), at one end for one level, and at about half of the ends for several.
        """
        return _window(len(self.levels), self.cells, STATED)

    def rank_unit(self, level: Real) -> float:
        """How many rows are one unit of rank for a level."""
        return float(self._unit(fraction_of(level, name="level", zero=True, one=True)))

    def from_end(self, level: Real) -> int:
        """How many rows from the end MIN (level 0) and MAX (level 1) are told: what lies nearer is lost in noise."""
        return 2 * math.ceil(self.window * self._unit(fraction_of(level, name="level", zero=True, one=True)))

    def rank_error(self, level: Real, confidence: Real) -> float:
        """By how many rows the middle's rank may be off for one level, where values lie densely."""
        return self.rank_unit(level) * middle_gap(2 * len(self.levels), _confidence(confidence)) + 1

    def error(self, confidence: Real) -> float:
        """The same for the level that is told least exactly."""
        return max(self.rank_error(level, confidence) for level in self.levels)

    def pair_error(self, level: Real) -> float:
        """By how many rows the ends of a pair are meant to lie from the quantile."""
        return self.rank_unit(level) * self.window + 1

    @staticmethod
    def pair_stretch(levels: int, cells: int, confidence: Real) -> float:
        """How much wider than a pair, around its middle, an interval of that confidence is: 1 up to 95%."""
        return max(1.0, _window(levels, cells, _confidence(confidence)) / _window(levels, cells, STATED))

    @staticmethod
    def dense_stretch(levels: int, cells: int, confidence: Real) -> float:
        """How wide, beside a pair, an interval is that holds where values lie densely within the pair."""
        return middle_gap(2 * levels, _confidence(confidence)) / _window(levels, cells, STATED)

    def _unit(self, level: Fraction) -> Fraction:
        spread = Fraction(1) if self._alone else max(level, 1 - level)
        return 2 * spread * self._rows / self.event.epsilon


def _window(levels: int, cells: int, confidence: float) -> float:
    return (levels + 1) / 2 * math.log(cells) + end_gap(2 * levels, confidence)


# ---------------------------------------------------------------- drawing


def _draw_tuple(levels: Sublevels, rate: Fraction, rng: noise.RandomSource | None) -> list[int]:
    """Cells, one per target, with probability proportional to exp(-rate * the largest of their losses).

    First that largest loss; then which target is the first that has it, by how many tuples there are; then cells.
    """
    chosen = noise.choose_largest_loss(levels.counts, levels.losses, rate=rate, rng=rng)
    now = levels.counts[:, chosen].tolist()
    before = levels.counts[:, chosen - 1].tolist() if chosen else [0] * len(now)
    ways = [math.prod(before[:i]) * (now[i] - before[i]) * math.prod(now[i + 1 :]) for i in range(len(now))]
    first = _one_of(ways, rng)
    below = [levels.cell(i, chosen - 1, noise.uniform(before[i], rng=rng)) for i in range(first)]
    at = levels.new_cell(first, chosen, noise.uniform(now[first] - before[first], rng=rng))
    above = [levels.cell(i, chosen, noise.uniform(now[i], rng=rng)) for i in range(first + 1, len(now))]
    return [*below, at, *above]


def _one_of(ways: Sequence[int], rng: noise.RandomSource | None) -> int:
    """An index with probability proportional to its number of ways."""
    place = noise.uniform(sum(ways), rng=rng)
    for index, number in enumerate(ways):
        if place < number:
            return index
        place -= number
    raise AssertionError("a place beyond all ways")


# ---------------------------------------------------------------- reading


def _cumulated(places: Integers, rows: Integers) -> tuple[Integers, Integers]:
    """The cells that have rows, in order, and how many rows lie up to each."""
    points, index = np.unique(places, return_inverse=True)
    counts = np.zeros(len(points), dtype=np.int64)
    np.add.at(counts, index, rows)
    some = counts > 0
    return points[some], np.cumsum(counts[some], dtype=np.int64)


def _bounded(counts: Numbers) -> Integers:
    return np.asarray(np.clip(integer_array(counts), 0, _LARGEST_COUNT).astype(np.int64))


def _confidence(value: Real) -> float:
    return float(fraction_of(value, name="confidence"))


def _epsilon_of(rho: Fraction) -> Fraction:
    """The largest epsilon, nearly, with epsilon^2 / 8 <= rho."""
    return Fraction(math.isqrt((8 * rho.numerator << 160) // rho.denominator), 1 << 80)


def _read_levels(levels: Sequence[Real]) -> tuple[Fraction, ...]:
    given = tuple(fraction_of(level, name="level", zero=True, one=True) for level in levels)
    if not given or len(set(given)) < len(given) or any(level.denominator > _FINEST for level in given):
        raise OutOfRange(
            "levels must be different numbers from 0 to 1, at least one, with nine decimals at most.",
            why="Each level is a pair of ranks, which are compared in whole numbers.",
            fix="Write, for example, levels=[0.25, 0.5, 0.75].",
        )
    return given


def _number_of_cells(cells: int, targets: int) -> int:
    number = whole(cells, name="cells", most=_MOST_CELLS)
    if targets * number.bit_length() > _MOST_BITS:
        raise TooLarge(
            "there are too many levels for so many cells.",
            why=f"All combinations of cells are at most 2^{_MOST_BITS}.",
            fix="Ask for fewer levels at once, or use NoisyCDF, whose error does not grow with their number.",
        )
    return number
