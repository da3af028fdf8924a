"""Which public rows are asked about: those in the middle of clusters, large clusters first. All of it is public."""

from __future__ import annotations

import numpy as np

from hubbub.learn.training.network import Floats, Labels

_TURNS = 8  # of k-means


def middles(rows: Floats, count: int) -> Labels:
    """The places of ``count`` different rows: the one nearest to each centre of k-means, largest clusters first."""
    if count >= len(rows):
        return np.arange(len(rows))
    generator = np.random.default_rng(0)  # no secret: the rows are public
    centres = rows[np.sort(generator.choice(len(rows), count, replace=False))].copy()
    for _ in range(_TURNS):
        near = _near(rows, centres)
        for k in np.unique(near):
            centres[k] = rows[near == k].mean(axis=0)
    sizes = np.bincount(_near(rows, centres), minlength=count)
    order = np.argsort(-sizes, kind="stable")
    chosen = list(dict.fromkeys(_heads(rows, centres)[order].tolist()))
    left = np.setdiff1d(np.arange(len(rows)), chosen)
    return np.array([*chosen, *generator.permutation(left)[: count - len(chosen)]], dtype=np.int64)


def _near(rows: Floats, centres: Floats) -> Labels:
    """The nearest centre of each row."""
    return np.asarray((rows @ centres.T - (centres**2).sum(axis=1) / 2).argmax(axis=1))


def _heads(rows: Floats, centres: Floats) -> Labels:
    """The nearest row of each centre."""
    return np.asarray((rows @ centres.T - (rows**2).sum(axis=1)[:, None] / 2).argmax(axis=0))
