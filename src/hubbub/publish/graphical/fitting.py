"""The distribution that explains noisy marginals best, by mirror descent over a junction tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.publish.graphical.belief import GraphicalModel, calibrate_cliques, project_onto, spread_axes
from hubbub.publish.graphical.junction import JunctionTree, junction_tree, tree_cells
from hubbub.publish.graphical.totals import to_total, total_of
from hubbub.publish.marginal_counts import Columns, Floats, Measurement

_MOST_CELLS = 1 << 20


@dataclass(frozen=True, slots=True)
class Zeros:
    """Combinations that cannot be: True in ``mask`` (one axis per column)."""

    columns: Columns
    mask: NDArray[np.bool_]


def fit_model(
    sizes: Sequence[int],
    measurements: Sequence[Measurement],
    *,
    zeros: Sequence[Zeros] = (),
    start: GraphicalModel | None = None,
    iterations: int = 500,
) -> GraphicalModel:
    """The maximum-entropy distribution whose marginals are nearest to the measured ones, each by its noise.

    Post-processing: it sees what was released. From ``start`` or the product of the one-way marginals on, mirror
    descent with a step that adapts [MSM19, Alg. 1].
    """
    total = total_of([m for m in measurements if len(m.columns) == 1] or list(measurements))
    tree = junction_tree(sizes, cliques_of(sizes, measurements, zeros))
    potentials = (
        _first_potentials(tree, sizes, measurements, total)
        if start is None
        else _carried_potentials(tree, sizes, start)
    )
    add_walls(tree, potentials, zeros)
    tables = _descend_slope(tree, potentials, _Loss(tree, measurements, total), iterations)
    return GraphicalModel(tuple(sizes), tree, tuple(tables), total)


def cliques_of(sizes: Sequence[int], measurements: Sequence[Measurement], zeros: Sequence[Zeros]) -> list[Columns]:
    """What must lie within one clique: what was measured, and what cannot be as long as that keeps the model small."""
    cliques = [m.columns for m in measurements]
    for zero in zeros:
        if zero.mask.any() and tree_cells(sizes, [*cliques, zero.columns]) <= _MOST_CELLS:
            cliques.append(zero.columns)
    return cliques


def add_walls(tree: JunctionTree, potentials: list[Floats], zeros: Sequence[Zeros]) -> None:
    """No chance for what cannot be, where a clique has all of its columns; generation sees to the rest."""
    for zero in zeros:
        home = tree.home(zero.columns)
        if home >= 0:
            wall = np.where(zero.mask, -np.inf, 0.0)
            potentials[home] = potentials[home] + spread_axes(wall, zero.columns, tree.cliques[home])


def _first_potentials(
    tree: JunctionTree, sizes: Sequence[int], measurements: Sequence[Measurement], total: float
) -> list[Floats]:
    """Potentials of the product of the one-way marginals."""
    potentials = [np.zeros([sizes[c] for c in clique]) for clique in tree.cliques]
    for single in measurements:
        if len(single.columns) == 1:
            shares = (to_total(single.values, total) + 0.5) / (total + 0.5 * single.values.size)
            home = tree.home(single.columns)
            potentials[home] = potentials[home] + spread_axes(np.log(shares), single.columns, tree.cliques[home])
    return potentials


def _carried_potentials(tree: JunctionTree, sizes: Sequence[int], start: GraphicalModel) -> list[Floats]:
    """Potentials of an earlier model on a tree that holds its cliques."""
    potentials = [np.zeros([sizes[c] for c in clique]) for clique in tree.cliques]
    for place, clique in enumerate(start.tree.cliques):
        separator = start.tree.separator(place)
        given = spread_axes(project_onto(start.tables[place], clique, separator), separator, clique)
        home = tree.home(clique)
        if home < 0:  # a clique of the old tree that no measurement asked for may be cut by the new one
            continue
        share = np.log(np.maximum(start.tables[place], 1e-12)) - np.log(np.maximum(given, 1e-12))
        potentials[home] = potentials[home] + spread_axes(share, clique, tree.cliques[home])
    return potentials


class _Loss:
    """Half the squared distance to the measurements, each in units of its noise."""

    def __init__(self, tree: JunctionTree, measurements: Sequence[Measurement], total: float) -> None:
        self._tree, self._total = tree, total
        self._parts = [(tree.home(m.columns), m) for m in measurements]
        self.steepest = sum(total**2 / float(m.variance.min()) for m in measurements)

    def at(self, tables: Sequence[Floats]) -> tuple[float, dict[int, Floats]]:
        """The loss, and its slope in each clique that was measured."""
        loss, slopes = 0.0, dict[int, Floats]()
        for home, measured in self._parts:
            clique = self._tree.cliques[home]
            gap = self._total * project_onto(tables[home], clique, measured.columns) - measured.values
            pull = gap / measured.variance
            loss += 0.5 * float((gap * pull).sum())
            slope = spread_axes(self._total * pull, measured.columns, clique)
            slopes[home] = slopes[home] + slope if home in slopes else slope
        return loss, slopes


def _descend_slope(tree: JunctionTree, potentials: list[Floats], loss: _Loss, iterations: int) -> list[Floats]:
    """Steps against the slope; one that makes it worse is halved and tried again."""
    tables = calibrate_cliques(tree, potentials)
    now, slopes = loss.at(tables)
    step = 2.0 / loss.steepest
    for _ in range(iterations):
        tried = [p - step * slopes[place] if place in slopes else p for place, p in enumerate(potentials)]
        there = calibrate_cliques(tree, tried)
        value, steeper = loss.at(there)
        if value > now:
            step /= 2
            continue
        gained, potentials, tables, now, slopes = now - value, tried, there, value, steeper
        step *= 1.25
        if gained < 1e-7 * now:
            break
    return tables
