"""Which public rows are asked about: those in the middle of clusters, large clusters first. All of it is public."""

from __future__ import annotations

import warnings

import numpy as np
from sklearn.cluster import KMeans

from hubbub.learn.training.network import Floats, Labels

_TURNS = 8  # of k-means


def cluster_middles(rows: Floats, count: int) -> Labels:
    """The places of ``count`` different rows: the one nearest to each centre of k-means, largest clusters first."""
    if count >= len(rows):
        return np.arange(len(rows))
    generator = np.random.default_rng(0)  # no secret: the rows are public
    centres, sizes = _cluster_rows(rows, rows[np.sort(generator.choice(len(rows), count, replace=False))])
    order = np.argsort(-sizes, kind="stable")
    chosen = list(dict.fromkeys(_nearest_rows(rows, centres)[order].tolist()))
    left = np.setdiff1d(np.arange(len(rows)), chosen)
    return np.array([*chosen, *generator.permutation(left)[: count - len(chosen)]], dtype=np.int64)


def _cluster_rows(rows: Floats, start: Floats) -> tuple[Floats, Labels]:
    """The centres of scikit-learn's k-means from this start, and how many rows each has."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about rows that are equal
        public = KMeans(len(start), init=start, n_init=1, max_iter=_TURNS, tol=0).fit(rows)
    return np.asarray(public.cluster_centers_), np.bincount(public.labels_, minlength=len(start))


def _nearest_rows(rows: Floats, centres: Floats) -> Labels:
    """The nearest row of each centre."""
    return np.asarray((rows @ centres.T - (rows**2).sum(axis=1)[:, None] / 2).argmax(axis=0))
