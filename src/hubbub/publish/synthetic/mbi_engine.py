"""Estimation by the package ``mbi`` (JAX), where it is installed: another way to the same optimum."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from hubbub.publish.graphical.belief import GraphicalModel, calibrate_cliques, spread_axes
from hubbub.publish.graphical.fitting import Zeros, add_walls, cliques_of
from hubbub.publish.graphical.junction import junction_tree
from hubbub.publish.graphical.totals import total_of
from hubbub.publish.marginal_counts import Floats, Measurement
from hubbub.terms import MissingExtra, install_command


def fitted_by_mbi(
    sizes: Sequence[int], measurements: Sequence[Measurement], *, zeros: Sequence[Zeros] = (), iterations: int = 1000
) -> GraphicalModel:
    """What ``fitting.fitted`` gives, estimated by mbi's mirror descent in double precision [MSM19]."""
    jax, mbi = mbi_packages()
    total = total_of([m for m in measurements if len(m.columns) == 1] or list(measurements))
    tree = junction_tree(sizes, cliques_of(sizes, measurements, zeros))
    with jax.enable_x64(True), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        domain = mbi.Domain([str(column) for column in range(len(sizes))], list(sizes))
        wanted = [_mbi_measurement(mbi, measured) for measured in measurements]
        estimate = mbi.estimation.MirrorDescent().estimate(domain, wanted, known_total=total, iters=iterations)
        potentials = [np.zeros([sizes[c] for c in clique]) for clique in tree.cliques]
        for names in estimate.potentials.cliques:
            columns = tuple(int(name) for name in names)
            order = np.argsort(columns)
            values: Floats = np.asarray(estimate.potentials[names].values, dtype=np.float64).transpose(order)
            columns = tuple(sorted(columns))
            home = tree.home(columns)
            potentials[home] = potentials[home] + spread_axes(values, columns, tree.cliques[home])
    add_walls(tree, potentials, zeros)
    return GraphicalModel(tuple(sizes), tree, tuple(calibrate_cliques(tree, potentials)), total)


def _mbi_measurement(mbi: Any, measured: Measurement) -> Any:
    """In units of each cell's own noise."""
    names = tuple(str(column) for column in measured.columns)
    weights = 1 / np.sqrt(measured.variance.ravel())
    return mbi.LinearMeasurement(measured.values.ravel() * weights, names, stddev=1.0, query=mbi.WeightedQuery(weights))


def mbi_packages() -> tuple[Any, Any]:
    """JAX and mbi, or a refusal."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about single precision, which is not used here
            import jax
            import mbi
    except ImportError:
        raise MissingExtra(
            "the package mbi is not installed.",
            why='engine="mbi" estimates the model with it.',
            fix=f"Install it: {install_command('publish')}. Or leave engine= out: the built-in engine needs no extra.",
        ) from None
    return jax, mbi
