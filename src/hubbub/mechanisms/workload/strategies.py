"""What to measure so that queries can be answered well: a matrix of integers, in one of a few forms.

Each form knows its largest column norms (what one row of data moves), how to measure a table exactly, how to answer all
queries from noisy measurements by least squares, and how the answers' errors are made of the noise.
"""

from __future__ import annotations

import math
from functools import cached_property, reduce
from typing import Protocol

import numpy as np

from hubbub.mechanisms.common.ary_tree import AryTree, consistent_cells, node_sums
from hubbub.mechanisms.workload.queries import Block, Floats, Integers, WorkloadQueries


class Strategy(Protocol):
    """A matrix of non-negative integers, and least squares with it."""

    plan: WorkloadQueries

    @property
    def name(self) -> str:
        """What is measured, in a few words."""

    @property
    def l1(self) -> int:
        """The largest sum of a column."""

    @property
    def l2_squared(self) -> int:
        """The largest sum of squares of a column."""

    @property
    def size(self) -> int:
        """How many measurements there are."""

    def measured(self, table: Integers) -> Integers:
        """The measurements, exactly."""

    def answered(self, noisy: Floats) -> Floats:
        """Every answer of the plan, from noisy measurements."""

    def moments(self, block: Block, power: int) -> Floats:
        """For each answer of a query the sum of that power of the noise's weights; 2 gives the variance.

        Higher powers may be bounded from above.
        """

    def covariance(self, answers: Integers) -> Floats:
        """Of the answers with these numbers, in units of the noise's variance."""


class Factor:
    """What is measured of one attribute: every cell, or the nodes of a tree over the cells."""

    def __init__(self, tree: AryTree | None) -> None:
        self.tree = tree

    @property
    def levels(self) -> int:
        """In how many measurements a cell is."""
        return 1 if self.tree is None else self.tree.levels

    @cached_property
    def inverse(self) -> Floats:
        """The least-squares cells for each measurement by itself, as columns; of a tree only."""
        assert self.tree is not None
        ends = np.cumsum(self.tree.sizes[: self.tree.levels])[:-1]
        return consistent_cells(self.tree, np.split(np.eye(self.tree.nodes), ends, axis=1)).T

    def measured(self, table: Integers, axis: int) -> Integers:
        """Sums along one axis."""
        if self.tree is None:
            return table
        sums = node_sums(self.tree, np.moveaxis(table, axis, -1))
        return np.moveaxis(np.concatenate(sums, axis=-1), -1, axis)

    def solved(self, noisy: Floats, axis: int) -> Floats:
        """Least-squares cells along one axis."""
        if self.tree is None:
            return noisy
        return np.moveaxis(np.tensordot(self.inverse, noisy, axes=(1, axis)), 0, axis)

    def weights(self, rows: Floats) -> Floats:
        """The weights of the measurements in each row's answer."""
        return rows if self.tree is None else rows @ self.inverse

    def moments(self, rows: Floats | None, cells: int, power: int) -> Floats:
        """The sums of that power of the weights, for each row, or for each single cell if there are none."""
        if rows is not None:
            return np.asarray((self.weights(rows) ** power).sum(axis=1))
        return np.ones(cells) if self.tree is None else np.asarray((self.inverse**power).sum(axis=1))


class Product:
    """Every combination of what is measured of each attribute."""

    def __init__(self, plan: WorkloadQueries, factors: tuple[Factor, ...]) -> None:
        self.plan, self.factors = plan, factors
        self._known: dict[tuple[int, int], tuple[Floats, Floats | None]] = {}

    @property
    def name(self) -> str:
        return " x ".join("cells" if f.tree is None else f"tree of {f.tree.branching}" for f in self.factors)

    @property
    def l1(self) -> int:
        return math.prod(f.levels for f in self.factors)

    @property
    def l2_squared(self) -> int:
        return self.l1  # zeros and ones

    @property
    def size(self) -> int:
        return math.prod(self._shape)

    def measured(self, table: Integers) -> Integers:
        for axis, factor in enumerate(self.factors):
            table = factor.measured(table, axis)
        return table.ravel()

    def answered(self, noisy: Floats) -> Floats:
        table = noisy.reshape(self._shape)
        for axis, factor in enumerate(self.factors):
            table = factor.solved(table, axis)
        return self.plan.answered(table)

    def moments(self, block: Block, power: int) -> Floats:
        return outer_product([self._moments(axis, part, power) for axis, part in enumerate(block.parts)])

    def covariance(self, answers: Integers) -> Floats:
        ids = self.plan.row_ids(answers)
        out = np.ones((len(ids), len(ids)))
        for axis, (attribute, factor) in enumerate(zip(self.plan.attributes, self.factors, strict=True)):
            weights = factor.weights(attribute.vectors(ids[:, axis]))
            out *= weights @ weights.T
        return out

    @property
    def _shape(self) -> tuple[int, ...]:
        pairs = zip(self.factors, self.plan.shape, strict=True)
        return tuple(cells if f.tree is None else f.tree.nodes for f, cells in pairs)

    def _moments(self, axis: int, part: Integers | None, power: int) -> Floats:
        factor, attribute = self.factors[axis], self.plan.attributes[axis]
        if (axis, power) not in self._known:
            explicit = factor.moments(attribute.rows, attribute.cells, power)
            asked = any(block.parts[axis] is None for block in self.plan.blocks)
            single = factor.moments(None, attribute.cells, power) if asked else None
            self._known[axis, power] = explicit, single
        explicit, single = self._known[axis, power]
        if part is not None:
            return np.asarray(explicit[part])
        assert single is not None
        return single


class Direct:
    """The queries' own answers, each once; least squares removes what contradicts."""

    name = "the queries themselves"

    def __init__(self, plan: WorkloadQueries) -> None:
        self.plan = plan
        asked = plan.row_ids(np.arange(sum(plan.sizes)))
        self._ids, place = np.unique(asked, axis=0, return_inverse=True)
        self._place = place.ravel()
        spans = np.split(self._place, np.cumsum(plan.sizes)[:-1])
        self._spans = dict(zip(plan.blocks, spans, strict=True))
        self._known: dict[int, Floats] = {}
        self._matrix = plan.rows_of(self._ids).astype(np.int64)

    @property
    def l1(self) -> int:
        return int(self._matrix.sum(axis=0).max())

    @property
    def l2_squared(self) -> int:
        return self.l1  # zeros and ones

    @property
    def size(self) -> int:
        return len(self._matrix)

    def measured(self, table: Integers) -> Integers:
        return np.asarray(self._matrix @ table.ravel())

    def answered(self, noisy: Floats) -> Floats:
        return np.asarray((self._projection @ noisy)[self._place])

    def moments(self, block: Block, power: int) -> Floats:
        if power not in self._known:
            self._known[power] = (self._projection**power).sum(axis=1)
        return np.asarray(self._known[power][self._spans[block]])

    def covariance(self, answers: Integers) -> Floats:
        at = self._place[answers]
        return np.asarray(self._projection[np.ix_(at, at)])

    @cached_property
    def _projection(self) -> Floats:
        """Onto the answers that some table could have."""
        rows = self._matrix.astype(np.float64)
        values, vectors = np.linalg.eigh(rows @ rows.T)
        real = vectors[:, values > 1e-9 * values[-1]]
        return np.asarray(real @ real.T)


def outer_product(vectors: list[Floats]) -> Floats:
    """All products of one entry of each, flat, in the order of a table."""
    return reduce(lambda a, b: np.multiply.outer(a, b).ravel(), vectors)
