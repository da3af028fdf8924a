"""Rows from a model, any number of them, in chunks; whatever is drawn here protects nobody and needs no secret."""

from __future__ import annotations

import numpy as np

from hubbub.publish.cells import Codes
from hubbub.publish.graphical.belief import GraphicalModel
from hubbub.publish.graphical.junction import JunctionTree
from hubbub.publish.marginal_counts import Columns, Floats


def draw_codes(
    model: GraphicalModel, count: int, generator: np.random.Generator, *, known: dict[int, Codes] | None = None
) -> Codes:
    """``count`` rows of cells from the model; ``known`` columns are given and stay as they are.

    Each combination appears as often as expected, rounded up or down at random, among the rows that share what was
    drawn before: less chance than drawing row by row would bring.
    """
    codes = np.zeros((count, len(model.sizes)), dtype=np.int64)
    drawn = set[int](known or ())
    for column, given in (known or {}).items():
        codes[:, column] = given
    for place in _clique_order(model.tree, drawn):
        clique, table = model.tree.cliques[place], model.tables[place]
        new = tuple(column for column in clique if column not in drawn)
        if new:
            _draw_clique(codes, model.sizes, clique, new, table, generator)
            drawn.update(new)
    return codes


def _clique_order(tree: JunctionTree, known: set[int]) -> list[int]:
    """From the cliques with known columns outwards; then, or without any, from each root down."""
    places = range(len(tree.cliques))
    order = [place for place in places if known & set(tree.cliques[place])]
    for place in order:  # grows while it is read
        near = [p for p in places if tree.parents[p] == place or tree.parents[place] == p]
        order += [p for p in near if p not in order]
    return order + [place for place in places if place not in order]


def _draw_clique(
    codes: Codes, sizes: tuple[int, ...], clique: Columns, new: Columns, table: Floats, generator: np.random.Generator
) -> None:
    """Fill the new columns of a clique, given its old ones."""
    old = tuple(column for column in clique if column not in new)
    axes = [clique.index(column) for column in (*old, *new)]
    before = int(np.prod([sizes[c] for c in old], dtype=np.int64))
    groups = np.zeros(len(codes), dtype=np.int64)
    for column in old:
        groups = groups * sizes[column] + codes[:, column]
    cells = draw_cells(table.transpose(axes).reshape(before, -1), groups, generator)
    for column in reversed(new):
        cells, codes[:, column] = np.divmod(cells, sizes[column])


def draw_cells(chances: Floats, groups: Codes, generator: np.random.Generator) -> Codes:
    """A cell for each row, by the chances of its group: evenly spaced within the group, from a random start.

    A group that the model deems impossible gets the chances of all groups together.
    """
    weights = np.maximum(chances, 0)
    weights = np.where(weights.sum(axis=1, keepdims=True) > 0, weights, weights.sum(axis=0) + 1e-300)
    upto = np.cumsum(weights, axis=1)
    upto /= upto[:, -1:]
    order = np.lexsort((generator.random(len(groups)), groups))
    counts = np.bincount(groups, minlength=len(chances))
    rank = np.arange(len(groups)) - np.repeat(np.cumsum(counts) - counts, counts)
    spots = (rank + np.repeat(generator.random(len(counts)), counts)) / np.repeat(counts, counts)
    ordered = groups[order]
    flat = (upto + np.arange(len(upto))[:, None]).ravel()
    drawn_cells = np.searchsorted(flat, ordered + spots, side="right") - ordered * chances.shape[1]
    cells = np.empty(len(groups), dtype=np.int64)
    cells[order] = np.clip(drawn_cells, 0, chances.shape[1] - 1)
    return cells
