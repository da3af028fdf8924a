"""Junction trees: the order in which a distribution with given cliques is put together, and how large that gets."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from hubbub.publish.marginal_counts import Columns


@dataclass(frozen=True, slots=True)
class JunctionTree:
    """Cliques (columns in increasing order) so that each one meets those before it in part of one: its parent.

    ``parents[i] < i``, or -1 for the first clique of a component.
    """

    cliques: tuple[Columns, ...]
    parents: tuple[int, ...]

    def separator(self, place: int) -> Columns:
        """The columns that a clique shares with its parent."""
        parent = self.parents[place]
        return () if parent < 0 else shared_columns(self.cliques[place], self.cliques[parent])

    def home(self, columns: Columns) -> int:
        """The first clique that has all the columns, or -1."""
        wanted = set(columns)
        return next((place for place, clique in enumerate(self.cliques) if wanted <= set(clique)), -1)


def junction_tree(sizes: Sequence[int], cliques: Iterable[Columns]) -> JunctionTree:
    """A junction tree of all columns in which each given clique lies within one."""
    maximal = _maximal_cliques(_eliminate_columns(sizes, cliques))
    placed, parents = [maximal[0]], [-1]
    rest = maximal[1:]
    while rest:  # the largest meeting first: a maximum spanning tree is a junction tree [KF09, Thm. 10.4]
        shared, at, parent = max(
            (
                (len(shared_columns(clique, known)), i, j)
                for i, clique in enumerate(rest)
                for j, known in enumerate(placed)
            ),
            key=lambda found: (found[0], -found[1], -found[2]),
        )
        placed.append(rest.pop(at))
        parents.append(parent if shared else -1)
    return JunctionTree(tuple(placed), tuple(parents))


def tree_cells(sizes: Sequence[int], cliques: Iterable[Columns]) -> int:
    """How many cells the cliques of the junction tree have together."""
    return sum(math.prod(sizes[c] for c in clique) for clique in _maximal_cliques(_eliminate_columns(sizes, cliques)))


def shared_columns(one: Columns, other: Columns) -> Columns:
    """What two cliques share."""
    return tuple(sorted(set(one) & set(other)))


def _eliminate_columns(sizes: Sequence[int], cliques: Iterable[Columns]) -> list[frozenset[int]]:
    """The cliques met when columns are taken out one by one, the one with the smallest clique first."""
    near: dict[int, set[int]] = {column: set() for column in range(len(sizes))}
    for clique in cliques:
        for one, other in itertools.combinations(clique, 2):
            near[one].add(other)
            near[other].add(one)
    cliques_met = []
    while near:
        column = min(near, key=lambda c: (sizes[c] * math.prod(sizes[n] for n in near[c]), c))
        around = near.pop(column)
        cliques_met.append(frozenset(around | {column}))
        for neighbour in around:
            near[neighbour] |= around - {neighbour}
            near[neighbour].discard(column)
    return cliques_met


def _maximal_cliques(cliques: list[frozenset[int]]) -> list[Columns]:
    kept = [c for i, c in enumerate(cliques) if not any(c < d or (c == d and i > j) for j, d in enumerate(cliques))]
    return [tuple(sorted(clique)) for clique in kept]
