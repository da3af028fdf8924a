"""Range queries and quantiles: hierarchical histograms (a tree of counts) or Haar wavelets, one report a person."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.randomizers.base import FrequencyRandomizer
from hubbub.local.randomizers.common.values import Codes, bounds_of, epsilon_of
from hubbub.local.randomizers.hadamard import OneBitHadamard
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.randomizers.projective import ProjectiveGeometry
from hubbub.local.statistics.cumulative_curves import LocalCurve
from hubbub.local.statistics.interval_tree import Forest, Haar, Shape, mean_prefix_variance
from hubbub.local.statistics.one_level_reports import LevelRandomizers, LevelReports
from hubbub.local.statistics.ustatistics import bin_values
from hubbub.terms import OutOfRange, Real, Step, TooLarge, whole

Floats = NDArray[np.float64]

_MOST_CELLS = 1 << 17
_FAN_OUTS = (2, 3, 4, 5, 6, 8, 10, 16)


class Ranges:
    """Shares of ranges and quantiles of values in [lower, upper], rounded down to one of ``cells`` cells.

    ``method="tree"``: a person is given one level of a tree of ``branching`` children by chance, and reports the node
    there; least squares makes the levels agree. ``method="haar"``: a person reports the sign with which the value
    enters one difference of two halves; the differences are independent and agree by themselves. Without a method, the
    one with the smaller predicted error is taken.

    Guarantee: epsilon-LDP for the value of one person.
    Because: [CKS19]: one report by an epsilon-LDP randomizer, at a level that has nothing to do with the value.
    Error: unbiased for every range of cells; ``docs/proofs/ranges.md`` has the variance, which grows with the square of
    the logarithm of ``cells``.
    Not covered: that somebody reported; values outside the bounds are moved there, NaN counts as ``lower``.

    >>> from hubbub.noise.testing import seeded
    >>> ages = Ranges(epsilon=2, cells=100, lower=0, upper=100)
    >>> curve = ages.estimate(ages.randomize(np.arange(50_000) % 80, rng=seeded(7)))
    >>> round(curve.share(0, 40), 1)
    0.5
    >>> low, high = curve.quantile_interval(0.5, 0.95)
    >>> low < 40 < high
    True
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        cells: int,
        lower: Real,
        upper: Real,
        method: str | None = None,
        branching: int | None = None,
    ) -> None:
        self.epsilon = epsilon_of(epsilon)
        self.cells = _check_cells(cells)
        low, high = bounds_of(lower, upper)
        self.lower, self.upper = float(low), float(high)
        self.method, self.branching = _choose_method(self.cells, self.epsilon, _check_method(method), branching)
        self.depth = _tree_depth(self.cells, self.branching)
        self.levels = LevelRandomizers(
            f"ranges-{self.method}", tuple(self._randomizer(level) for level in range(self.depth))
        )
        self.event: Step = self.levels.event

    def randomize(self, values: Sequence[Any] | NDArray[Any], *, rng: noise.RandomSource | None = None) -> LevelReports:
        """The report of each person: rows (level, report)."""
        cells = bin_values(values, lower=self.lower, upper=self.upper, bins=self.cells)
        nodes = [cells // self.branching ** (self.depth - 1 - level) for level in range(self.depth)]
        if self.method == "tree":
            return self.levels.randomize(len(cells), lambda level, chosen: nodes[level][chosen], rng=rng)
        reports = self.levels.randomize(len(cells), lambda level, chosen: nodes[level][chosen] >> 1, rng=rng)
        reports[:, 1] ^= np.choose(reports[:, 0], nodes) & 1  # the right half enters with a minus: its bit is turned
        return reports

    def estimate(self, reports: ArrayLike) -> LocalCurve:
        """The cumulative curve, from the reports of many people."""
        return self.decode(self.levels.states(reports))

    def decode(self, states: Sequence[Codes]) -> LocalCurve:
        """The cumulative curve, from the added-up reports of each level."""
        counts = [int(state.sum()) for state in states]
        shape = self._shape(counts)
        leaves = shape.leaves(self.levels.shares(states))
        return LocalCurve(
            cells=leaves[: self.cells],
            lower=self.lower,
            upper=self.upper,
            count=sum(counts),
            epsilon=self.epsilon,
            words=f"{self.method}, {self.depth} levels of {self.branching} children",
            variance_of=RangeVariance(self.levels, shape, leaves, tuple(states)),
        )

    def _shape(self, counts: Sequence[int]) -> Shape:
        if self.method == "haar":
            return Haar(self.depth, self.cells)
        pairs = zip(self.levels.randomizers, counts, strict=True)
        return Forest(
            self.branching, tuple(_node_variance(randomizer) / count for randomizer, count in pairs), self.cells
        )

    def predicted(self, count: int) -> float:
        """The variance of the share up to a cell, averaged over all cells, for ``count`` people."""
        return _predicted_variance(self.cells, self.epsilon, self.method, self.branching) / whole(count, name="count")

    def _randomizer(self, level: int) -> FrequencyRandomizer:
        if self.method == "haar":
            return OneBitHadamard(epsilon=self.epsilon, domain=max(2, 2**level))
        return level_randomizer(self.epsilon, self.branching ** (level + 1))


@dataclass(frozen=True)
class RangeVariance:
    """The variance of any question about the cells, given the people: noise, and the chance of who got which level."""

    levels: LevelRandomizers
    shape: Shape
    leaves: Floats
    states: tuple[Codes, ...]

    def __call__(self, question: Floats) -> float:
        asked = np.zeros(self.leaves.size)
        asked[: question.size] = question
        people = sum(int(state.sum()) for state in self.states)
        total = 0.0
        for level, weights in enumerate(self.shape.weights(asked)):
            state = self.states[level]
            total += self.levels.score_variance(level, weights, state) / state.sum()
            total -= self._among_people(self.shape.own(level, weights)) / people  # everybody is in some level
        return max(0.0, total)

    def _among_people(self, weights: Floats) -> float:
        """How much the weights of the nodes that people are in differ from person to person."""
        shares = np.clip(self.leaves.reshape(weights.size, -1).sum(axis=1), 0, 1)
        return max(0.0, float(shares @ weights**2) - float(shares @ weights) ** 2)


def level_randomizer(epsilon: Fraction, domain: int) -> FrequencyRandomizer:
    """The best randomizer for a level: k-ary response for few nodes, projective geometry for many."""
    kinds = (KaryResponse, ProjectiveGeometry)
    return min((kind(epsilon=epsilon, domain=domain) for kind in kinds), key=lambda made: made.variance(count=1))


def _node_variance(randomizer: FrequencyRandomizer) -> float:
    """The variance of a node's share from one report, where people are spread evenly over the level.

    Noise and the chance of who reports. Reports name so many points that the shares of all ``symbols`` add up to a
    constant, so that differences of two nodes vary a little more than independent ones would: symbols/(symbols - 1).
    """
    assert randomizer.symbols is not None
    share = 1 / randomizer.domain
    alone = randomizer.variance(count=1, frequency=share) + share * (1 - share)
    return alone * randomizer.symbols / (randomizer.symbols - 1)


def _score_square(randomizer: FrequencyRandomizer) -> float:
    return 1 / (2 * randomizer.p - 1) ** 2


def _tree_depth(cells: int, branching: int) -> int:
    depth = 1
    while branching**depth < cells:
        depth += 1
    return depth


@lru_cache(maxsize=512)
def _predicted_variance(cells: int, epsilon: Fraction, method: str, branching: int) -> float:
    """The mean variance of a prefix times the number of people."""
    depth = _tree_depth(cells, branching)
    if method == "haar":
        return depth * depth * _score_square(OneBitHadamard(epsilon=epsilon, domain=2)) / 12
    levels = [_node_variance(level_randomizer(epsilon, branching ** (level + 1))) for level in range(depth)]
    return depth * mean_prefix_variance(branching, tuple(levels))


@lru_cache(maxsize=512)
def _choose_method(cells: int, epsilon: Fraction, method: str | None, branching: int | None) -> tuple[str, int]:
    """Method and fan-out with the least predicted error among those that are allowed."""
    fan_outs = [whole(branching, name="branching", least=2)] if branching is not None else [*_FAN_OUTS, cells]
    trees = [("tree", b) for b in fan_outs if b <= cells and b ** _tree_depth(cells, b) <= 1 << 21]
    options = trees if method != "haar" else []
    if method != "tree" and branching in (None, 2):
        options = [*options, ("haar", 2)]
    if not options:
        raise OutOfRange(
            "no tree of that shape can be built.",
            why="Haar's differences have two halves, and a node at most as many children as there are cells.",
            fix="Leave branching= out.",
        )
    return min(options, key=lambda option: _predicted_variance(cells, epsilon, *option))


def _check_method(method: str | None) -> str | None:
    if method not in (None, "tree", "haar"):
        raise OutOfRange(
            f"method must be 'tree' or 'haar' and is {method!r}.",
            why="There are two ways to ask for ranges.",
            fix="Leave it out for the one with the smaller error.",
        )
    return method


def _check_cells(cells: object) -> int:
    number = whole(cells, name="cells", least=2)
    if number > _MOST_CELLS:
        raise TooLarge(
            f"cells is above {_MOST_CELLS:,}.",
            why="Every cell gets an estimate, and so many would drown in the noise.",
            fix="Use fewer, wider cells.",
        )
    return number
