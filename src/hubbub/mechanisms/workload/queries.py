"""Counting queries over a table of several attributes, as products of 0/1 rows, one for each attribute.

Cells of an attribute that no query tells apart are merged first: what the queries say of the data is the same, and
the table is smaller.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, reduce
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import EmptyInput, OutOfRange, ReversedBounds, TooLarge, whole

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Part: TypeAlias = str | tuple[int, int] | Collection[int]
Query: TypeAlias = Mapping[int, Part]

_MOST_CELLS = 1 << 20
_MOST_ENTRIES = 1 << 26
_MOST_PREFIXES = 1 << 11
_FEW_ENTRIES = 1 << 22  # answers times cells up to which queries are kept as a matrix


@dataclass(frozen=True, eq=False)
class MergedAxis:
    """One axis of the table after merging: the groups of its cells, and the 0/1 rows that queries have for it."""

    groups: Integers  # the group of each original cell
    cells: int  # how many groups there are
    rows: Floats  # distinct explicit rows over the groups

    def vectors(self, ids: Integers) -> Floats:
        """The rows with these numbers: explicit ones first, then one for each single cell."""
        out = np.zeros((ids.size, self.cells))
        explicit = ids < len(self.rows)
        out[explicit] = self.rows[ids[explicit]]
        single = np.flatnonzero(~explicit)
        out[single, ids[single] - len(self.rows)] = 1
        return out

    def merged(self, table: NDArray[Any], axis: int) -> NDArray[Any]:
        """The table with the cells of each group added up."""
        order = np.argsort(self.groups, kind="stable")
        starts = np.searchsorted(self.groups[order], np.arange(self.cells))
        return np.asarray(np.add.reduceat(np.take(table, order, axis=axis), starts, axis=axis))


@dataclass(frozen=True, eq=False)
class Block:
    """One query: for each attribute the numbers of its rows, or None for every single cell."""

    parts: tuple[Integers | None, ...]


@dataclass(frozen=True, eq=False)
class WorkloadQueries:
    """What is asked, with all that strategies need to know of it."""

    attributes: tuple[MergedAxis, ...]
    blocks: tuple[Block, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the table after merging."""
        return tuple(a.cells for a in self.attributes)

    def shape_of(self, block: Block) -> tuple[int, ...]:
        """How many rows a query has for each attribute."""
        pairs = zip(self.attributes, block.parts, strict=True)
        return tuple(a.cells if part is None else part.size for a, part in pairs)

    @property
    def sizes(self) -> list[int]:
        """How many answers each query has."""
        return [math.prod(self.shape_of(block)) for block in self.blocks]

    def merged(self, table: Integers) -> Integers:
        """The table over the groups."""
        for axis, attribute in enumerate(self.attributes):
            table = attribute.merged(table, axis)
        return table

    def answered(self, table: Floats) -> Floats:
        """Every answer, one query after the other, from a table over the groups."""
        if sum(self.sizes) * table.size <= _FEW_ENTRIES:
            return np.asarray(self.rows @ table.ravel())
        return np.concatenate([self._answer(block, table).ravel() for block in self.blocks])

    @cached_property
    def rows(self) -> Floats:
        """Every answer's query as a row over the cells of the merged table."""
        return self.rows_of(self.row_ids(np.arange(sum(self.sizes))))

    def rows_of(self, ids: Integers) -> Floats:
        """The queries that use these rows of each attribute, as rows over the cells of the merged table."""
        vectors = [attribute.vectors(ids[:, axis]) for axis, attribute in enumerate(self.attributes)]
        return reduce(lambda a, b: (a[:, :, None] * b[:, None, :]).reshape(len(a), -1), vectors)

    def row_ids(self, answers: Integers) -> Integers:
        """For each of these answers and each attribute, which row it uses."""
        starts = np.cumsum([0, *self.sizes])
        which = np.searchsorted(starts, answers, side="right") - 1
        out = np.empty((answers.size, len(self.attributes)), dtype=np.int64)
        for place, (block, answer) in enumerate(zip(which.tolist(), answers.tolist(), strict=True)):
            parts = self.blocks[block].parts
            spots = np.unravel_index(answer - int(starts[block]), self.shape_of(self.blocks[block]))
            for axis, (attribute, part, spot) in enumerate(zip(self.attributes, parts, spots, strict=True)):
                out[place, axis] = len(attribute.rows) + spot if part is None else part[spot]
        return out

    def restricted(self, numbers: Sequence[int]) -> WorkloadQueries:
        """The plan with these queries only, over a table that is merged further."""
        blocks = [self.blocks[number] for number in numbers]
        columns = [_narrow_axis(a, [block.parts[axis] for block in blocks]) for axis, a in enumerate(self.attributes)]
        parts = zip(*(parts for _, parts in columns), strict=True)
        return WorkloadQueries(tuple(attribute for attribute, _ in columns), tuple(Block(p) for p in parts))

    def _answer(self, block: Block, table: Floats) -> Floats:
        for axis, (attribute, part) in enumerate(zip(self.attributes, block.parts, strict=True)):
            if part is not None:
                table = np.moveaxis(np.tensordot(attribute.rows[part], table, axes=(1, axis)), 0, axis)
        return table


def plan_queries(shape: Sequence[int], queries: Sequence[Query]) -> WorkloadQueries:
    """Read queries, merge cells that none of them tells apart, and list the distinct rows of each attribute."""
    sizes = [whole(size, name="shape") for size in shape]
    if not sizes or not queries:
        raise EmptyInput(
            "there is no attribute or no query.",
            why="The shape of the table and the queries are public and say what is released.",
            fix="Give shape=(...) and queries=[...], for example [{0: 'each'}].",
        )
    if math.prod(sizes) > _MOST_CELLS:
        raise _too_large("the table has more than 2^20 cells.")
    for query in queries:
        _check_attributes(query, len(sizes))
    columns = [_merge_axis(size, [query.get(axis) for query in queries]) for axis, size in enumerate(sizes)]
    blocks = tuple(Block(parts) for parts in zip(*(parts for _, parts in columns), strict=True))
    plan = WorkloadQueries(tuple(attribute for attribute, _ in columns), blocks)
    if sum(plan.sizes) > _MOST_CELLS:
        raise _too_large("the queries have more than 2^20 answers.")
    return plan


def _merge_axis(size: int, parts: Sequence[Part | None]) -> tuple[MergedAxis, list[Integers | None]]:
    """One attribute, and for each query the numbers of its rows there."""
    explicit = [None if isinstance(part, str) and part == "each" else _query_rows(size, part) for part in parts]
    listed = [rows for rows in explicit if rows is not None]
    if sum(rows.size for rows in listed) > _MOST_ENTRIES:
        raise _too_large("the queries have too many rows over too many cells of one attribute.")
    stacked = np.concatenate([np.zeros((0, size), dtype=np.bool_), *listed])
    first_rows, numbers = _distinct_rows(stacked)
    first_cells, groups = (np.arange(size),) * 2 if len(listed) < len(explicit) else _distinct_rows(stacked.T)
    ends = np.cumsum([0 if rows is None else len(rows) for rows in explicit])
    used = [None if r is None else numbers[end - len(r) : end] for r, end in zip(explicit, ends, strict=True)]
    return MergedAxis(groups, first_cells.size, stacked[np.ix_(first_rows, first_cells)].astype(np.float64)), used


def _narrow_axis(attribute: MergedAxis, parts: Sequence[Integers | None]) -> tuple[MergedAxis, list[Integers | None]]:
    """An attribute with these rows only: cells that they do not tell apart are merged."""
    used = np.unique(np.concatenate([np.zeros(0, dtype=np.int64), *(p for p in parts if p is not None)]))
    rows = attribute.rows[used]
    each = any(part is None for part in parts)
    cells, groups = (np.arange(attribute.cells),) * 2 if each else _distinct_rows(rows.T > 0)
    return MergedAxis(groups, cells.size, rows[:, cells]), [
        None if p is None else np.searchsorted(used, p) for p in parts
    ]


def _distinct_rows(rows: NDArray[np.bool_]) -> tuple[Integers, Integers]:
    """Where each distinct row comes first, in that order, and for each row which of those it equals."""
    if not len(rows):
        return np.zeros(0, dtype=np.int64), np.zeros(0, dtype=np.int64)
    packed = np.ascontiguousarray(np.packbits(rows, axis=1))
    whole_rows = packed.view(np.dtype((np.void, packed.shape[1]))).ravel()  # columns one by one would take very long
    _, first, number = np.unique(whole_rows, return_index=True, return_inverse=True)
    return np.sort(first), np.argsort(np.argsort(first))[number]


def _query_rows(size: int, part: Part | None) -> NDArray[np.bool_]:
    if part is None:
        return np.ones((1, size), dtype=np.bool_)
    if isinstance(part, str) and part == "prefixes":
        if size > _MOST_PREFIXES:
            raise _too_large("all prefixes of an attribute with more than 2048 cells were asked for.")
        return np.tri(size, dtype=np.bool_)
    row = np.zeros((1, size), dtype=np.bool_)
    if isinstance(part, tuple) and len(part) == 2:
        low, high = (_cell_index(end, size) for end in part)
        if low > high:
            raise ReversedBounds(
                "a range of cells ends before it begins.",
                why="(a, b) means the cells from a to b, both included.",
                fix="Write the smaller cell first; for a set of cells use a list.",
            )
        row[0, low : high + 1] = True
        return row
    if isinstance(part, str | tuple) or not isinstance(part, Collection) or not len(part):
        raise OutOfRange(
            "a part of a query is none of 'each', 'prefixes', a pair (a, b) and a list of cells.",
            why="A query says for each attribute which cells it counts.",
            fix="Write, for example, {0: 'each', 1: (3, 7), 2: [0, 4]}; attributes that are left out are added up.",
        )
    row[0, [_cell_index(cell, size) for cell in part]] = True
    return row


def _cell_index(value: object, size: int) -> int:
    cell = whole(value, name="cell", least=0)
    if cell >= size:
        raise OutOfRange(
            f"a query names cell {cell} of an attribute with {size} cells.",
            why="Cells are numbered from 0.",
            fix=f"Give a cell from 0 to {size - 1}.",
        )
    return cell


def _check_attributes(query: Query, count: int) -> None:
    if any(whole(axis, name="attribute", least=0) >= count for axis in query):
        raise OutOfRange(
            f"a query names an attribute beyond the {count} of the table.",
            why="Attributes are numbered from 0, in the order of shape.",
            fix=f"Give an attribute from 0 to {count - 1}.",
        )


def _too_large(what: str) -> TooLarge:
    return TooLarge(
        what,
        why="Strategies are compared and solved in memory.",
        fix="Ask for less at once, merge cells, or use NoisyCDF for one long ordered attribute.",
    )
