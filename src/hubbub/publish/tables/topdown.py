"""Counts for every place of a geographic tree, in the manner of the census: whole, not negative, and adding up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from hubbub.ledger import AccountLike
from hubbub.publish.cells import CategoryCells, Codes, Coding
from hubbub.publish.jobs import columns_told
from hubbub.publish.marginal_counts import Columns, Measurement
from hubbub.publish.tables.consistency import Integers, combine_levels, round_downwards
from hubbub.publish.tables.noisy_counts import (
    bound_rows,
    budget_of,
    check_cells,
    check_columns,
    code_rows,
    labels_of,
    margin_of,
    measure_tables,
    public_cells,
)
from hubbub.publish.tables.published import Published
from hubbub.publish.unread_table import TableSource, unread_of
from hubbub.terms import EmptyInput, MissingParameter, Neighbours, OutOfRange, Real, WrongShape

if TYPE_CHECKING:
    import pyarrow

ELSEWHERE = "(elsewhere)"
_METHOD = (
    "Each level of the tree was counted once and got discrete Gaussian noise on every cell. Every level was improved "
    "by what lies below it. Then, from the top down, each place's counts were moved to the nearest whole numbers that "
    "are not negative and add up to the counts of the place above."
)


@dataclass(frozen=True)
class PlaceTree:
    """A public tree of places: on each level the paths from the top, and for each path its place one level up.

    The last path of each level is for rows whose place is not listed.
    """

    levels: tuple[str, ...]
    paths: tuple[tuple[tuple[str, ...], ...], ...]

    @classmethod
    def of(cls, levels: Sequence[str], places: Sequence[Sequence[str]]) -> PlaceTree:
        """From the lowest places, each as its path from the top."""
        listed = [tuple(map(str, path)) for path in places]
        if not levels or not listed:
            raise EmptyInput(
                "a tree needs levels and places.",
                why="The places are public and known before a row is read.",
                fix='Write levels=["region", "town"], places=[("north", "a"), ("south", "b")].',
            )
        if any(len(path) != len(levels) for path in listed) or len({path[-1] for path in listed}) < len(listed):
            raise WrongShape(
                f"every place needs {len(levels)} names, {', then '.join(levels)}, and the last must differ.",
                why="A row is put into the tree by the name of its lowest place.",
                fix=f"Give each place once, as ({', '.join(levels)}).",
            )
        paths = tuple(
            (*sorted({path[: depth + 1] for path in listed}), (ELSEWHERE,) * (depth + 1))
            for depth in range(len(levels))
        )
        return cls(tuple(levels), paths)

    def parents(self) -> list[Integers]:
        """For each level but the first, where in the level above each path hangs."""
        parents = []
        for above, below in zip(self.paths, self.paths[1:], strict=False):
            place = {path: i for i, path in enumerate(above)}
            parents.append(np.array([place[path[:-1]] for path in below], dtype=np.int64))
        return parents

    def codes(self, lowest: pyarrow.ChunkedArray) -> list[Codes]:
        """Each row's place on every level, from the column with the lowest names."""
        names = tuple(path[-1] for path in self.paths[-1][:-1])
        level = CategoryCells(names).encode(lowest)  # what is not listed is the last one
        levels = [level]
        for parents in reversed(self.parents()):
            levels.insert(0, parents[levels[0]])
        return levels


def top_down(
    table: TableSource,
    *,
    levels: Sequence[str],
    places: Sequence[Sequence[str]],
    by: Sequence[str] = (),
    domain: Mapping[str, Any] | None = None,
    epsilon: Real,
    delta: Real,
    shares: Sequence[float] | None = None,
    unit: str | None = None,
    max_rows_per_unit: int | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    account: AccountLike | None = None,
    dataset: str | None = None,
) -> Published:
    """Counts by place and by the columns in ``by``, for every level of a public tree of places.

    ``places`` lists the lowest places as paths, one name per level; the column named by the last level says where a
    row belongs, and rows from anywhere else are counted under "(elsewhere)". ``shares`` says how the budget is split
    between levels (equal if not given).

    Guarantee: all levels together are (epsilon, delta)-DP for the given unit and neighbours.
    Because: on each level a unit moves the vector of all counts by at most ``max_rows_per_unit`` in L2 (the root of 2
    times that under replacement); discrete Gaussian noise [CKS20, Thm. 7], composed exactly; the rest is
    post-processing [HRMS10], in the order of the census [AAC+22].
    Error: ``noisy`` is within ``margin`` of the truth with 95% confidence.
    Not covered: running time.

    >>> import pyarrow
    >>> people = pyarrow.table({"town": ["a", "b", "c"] * 200})
    >>> tree = [("north", "a"), ("north", "b"), ("south", "c")]
    >>> made = top_down(people, levels=["region", "town"], places=tree, epsilon=1, delta=1e-6)
    >>> regions, towns = made.tables["region"], made.tables["town"]
    >>> sum(regions["count"].to_pylist()) == sum(towns["count"].to_pylist())
    True
    """
    private = unread_of(table, domain, ids=[unit])
    tree = PlaceTree.of(levels, places)
    lowest = levels[-1]
    check_columns(private.schema, [lowest])
    codings = public_cells(private.schema, list(by), domain or {}) if by else {}
    sizes = [*(len(paths) for paths in tree.paths), *(coding.cells for coding in codings.values())]
    others = tuple(range(len(levels), len(sizes)))
    asked: list[Columns] = [(depth, *others) for depth in range(len(levels))]
    check_cells(sizes, asked)
    budget = budget_of(private, epsilon, delta, unit, max_rows_per_unit, neighbours)
    sigmas, event = budget.sigmas(_noise_ratios(shares, len(levels)))

    def rows() -> Codes:
        kept = bound_rows(private.read(), budget, [lowest, *by])
        where = np.stack(tree.codes(kept[lowest]), axis=1)
        return np.concatenate([where, code_rows(kept, codings)], axis=1) if codings else where

    noisy, receipt = measure_tables(
        account,
        event,
        rows,
        list(zip(asked, sigmas, strict=True)),
        sizes=sizes,
        budget=budget,
        job="top-down",
        title="top-down tables",
        dataset=dataset,
        parts={
            "levels": list(levels),
            "tree": [list(path) for path in tree.paths[-1]],
            "columns": columns_told({lowest: "place", **{name: (domain or {})[name] for name in by}}),
        },
    )
    margins = {name: margin_of(budget, sigma) for name, sigma in zip(levels, sigmas, strict=True)}
    counts = _consistent_counts(tree, noisy, sigmas)
    tables = {
        name: _level_table(tree, depth, codings, noisy[depth], counts[depth], margins[name])
        for depth, name in enumerate(levels)
    }
    return Published(tables, budget.guarantee(receipt), receipt, event, margins, _METHOD)


def _noise_ratios(shares: Sequence[float] | None, levels: int) -> list[float]:
    """How much more noise each level gets than one with the whole budget: the root of one over its share."""
    if shares is None:
        return [1.0] * levels
    if len(shares) != levels:
        raise MissingParameter(
            f"{len(shares)} shares were given for {levels} levels.",
            why="Each level gets its part of the budget.",
            fix="Give one share for each level, from the top down.",
        )
    if not all(share > 0 for share in shares):
        raise OutOfRange(
            "a share is not above zero.",
            why="A level without a budget cannot be counted.",
            fix="Give shares above zero; only their proportions matter.",
        )
    return [(max(shares) / share) ** 0.5 for share in shares]


def _consistent_counts(tree: PlaceTree, noisy: Sequence[Measurement], sigmas: Sequence[Fraction]) -> list[Integers]:
    flat = [each.values.reshape(each.values.shape[0], -1) for each in noisy]
    parents = tree.parents()
    return round_downwards(combine_levels(flat, [float(sigma) for sigma in sigmas], parents), parents)


def _level_table(
    tree: PlaceTree, depth: int, codings: Mapping[str, Coding], noisy: Measurement, counts: Integers, margin: int
) -> pyarrow.Table:
    import pyarrow

    cells = np.indices(noisy.values.shape).reshape(noisy.values.ndim, -1)
    columns: dict[str, Any] = {}
    for level, name in enumerate(tree.levels[: depth + 1]):
        names = pyarrow.array([path[level] for path in tree.paths[depth]])
        columns[name] = names.take(pyarrow.array(cells[0]))
    for axis, (name, coding) in enumerate(codings.items(), start=1):
        columns[name] = pyarrow.array(labels_of(coding)).take(pyarrow.array(cells[axis]))
    columns["count"] = counts.ravel()
    columns["noisy"] = noisy.values.ravel().astype(np.int64)
    columns["margin"] = np.full(counts.size, margin)
    return pyarrow.table(columns)
