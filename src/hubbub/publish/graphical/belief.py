"""Distributions over junction trees: calibration by passing messages, and marginals of any columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from hubbub.publish.graphical.junction import JunctionTree, shared_columns
from hubbub.publish.marginal_counts import Columns, Floats


@dataclass(frozen=True, slots=True)
class GraphicalModel:
    """A distribution: the probability of each combination of cells, clique by clique; neighbours agree."""

    sizes: tuple[int, ...]
    tree: JunctionTree
    tables: tuple[Floats, ...]
    total: float  # how many rows it speaks of

    def project(self, columns: Columns) -> Floats:
        """The joint probabilities of the columns (in increasing order), wherever in the tree they are."""
        home = self.tree.home(columns)
        if home >= 0:
            return project_onto(self.tables[home], self.tree.cliques[home], columns)
        return self._across(columns)

    def _across(self, columns: Columns) -> Floats:
        """Along the tree: each clique as a conditional given what it shares with its parent, all multiplied."""
        needed = self._needed(columns)
        wanted = {place: set(columns) & set(self.tree.cliques[place]) for place in needed}
        for place in needed:
            parent = self.tree.parents[place]
            if parent in wanted:
                wanted[place] |= set(self.tree.separator(place))
                wanted[parent] |= set(self.tree.separator(place))
        seen = sorted(set().union(*wanted.values()))
        names = {column: label for label, column in enumerate(seen)}
        operands: list[object] = []
        for place in needed:
            kept = tuple(sorted(wanted[place]))
            table = project_onto(self.tables[place], self.tree.cliques[place], kept)
            if self.tree.parents[place] in wanted:
                separator = self.tree.separator(place)
                table = safe_ratio(table, spread_axes(project_onto(table, kept, separator), separator, kept))
            operands += [table, [names[column] for column in kept]]
        return np.asarray(np.einsum(*operands, [names[column] for column in columns], optimize="greedy"))  # type: ignore[call-overload]

    def _needed(self, columns: Columns) -> list[int]:
        """The cliques of the smallest part of the tree that has all the columns; from the root down."""
        paths = [self._path(self.tree.home((column,))) for column in columns]
        together = sorted(set().union(*map(set, paths)))
        tops = [path[-1] for path in paths]
        while tops:  # a root that only one branch hangs on, and that has none of the columns, is not needed
            top = tops.pop()
            if top in together and self._idle(top, together, columns):
                together.remove(top)
                tops.append(next(place for place in together if self.tree.parents[place] == top))
        return together

    def _idle(self, root: int, places: Sequence[int], columns: Columns) -> bool:
        below = [place for place in places if self.tree.parents[place] == root]
        if len(below) != 1:
            return False
        own = shared_columns(self.tree.cliques[root], columns)
        return set(own) <= set(self.tree.cliques[below[0]])

    def _path(self, place: int) -> list[int]:
        path = [place]
        while self.tree.parents[path[-1]] >= 0:
            path.append(self.tree.parents[path[-1]])
        return path


def calibrate_cliques(tree: JunctionTree, potentials: Sequence[Floats]) -> list[Floats]:
    """The marginals of the cliques of the distribution proportional to the product of exp(potential).

    Exact: one pass up the tree and one down [KF09, Ch. 10]. Potentials may be -inf, for what cannot be.
    """
    shares, beliefs = list(potentials), list(potentials)
    for place in reversed(range(len(beliefs))):
        clique, separator = tree.cliques[place], tree.separator(place)
        rest = tuple(axis for axis, column in enumerate(clique) if column not in separator)
        top = np.maximum(beliefs[place].max(axis=rest, keepdims=True), -1e300)
        weights = np.exp(beliefs[place] - top)
        sums = weights.sum(axis=rest, keepdims=True)
        shares[place] = safe_ratio(weights, sums)
        parent = tree.parents[place]
        if parent >= 0:
            with np.errstate(divide="ignore"):
                message = (np.log(sums) + top).squeeze(axis=rest)
            beliefs[parent] = beliefs[parent] + spread_axes(message, separator, tree.cliques[parent])
    tables: list[Floats] = []
    for place, share in enumerate(shares):
        parent, separator = tree.parents[place], tree.separator(place)
        if parent < 0:
            tables.append(share)
            continue
        above = project_onto(tables[parent], tree.cliques[parent], separator)
        tables.append(share * spread_axes(above, separator, tree.cliques[place]))
    return tables


def project_onto(table: Floats, clique: Columns, columns: Columns) -> Floats:
    """The sums of a clique's table that leave these columns."""
    gone = tuple(axis for axis, column in enumerate(clique) if column not in columns)
    return table.sum(axis=gone) if gone else table


def spread_axes(table: Floats, columns: Columns, clique: Columns) -> Floats:
    """A table of some columns, with axes of length one for the clique's others."""
    sizes = dict(zip(columns, table.shape, strict=True))
    return table.reshape([sizes.get(column, 1) for column in clique])


def safe_ratio(above: Floats, below: Floats) -> Floats:
    """A quotient that is zero where nothing is."""
    return np.divide(above, below, out=np.zeros(np.broadcast_shapes(above.shape, below.shape)), where=below > 0)
