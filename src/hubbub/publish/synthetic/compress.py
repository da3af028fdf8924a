"""Coarser cells, chosen from noisy counts: cells that the noise would drown are merged before pairs are looked at."""

from __future__ import annotations

import numpy as np

from hubbub.publish.cells import Codes
from hubbub.publish.marginal_counts import Floats

_SIGMAS = 3.0  # a cell stands for itself from so many standard deviations on [MMS21]
_PARTS = 60  # into at most so many nearly equal parts goes a column of ordered cells
_FINENESS = 1.5  # more parts, in units of the root of rows per noise: pairs of parts should hold more than noise
MOST_GROUPS = 2 * _PARTS + 2  # of any column; known beforehand, as is the size of what is stored


def missing_unseen(counts: Floats, sigma: float) -> bool:
    """Whether the last cell, that of missing values, could be noise alone: then none are generated."""
    return bool(counts[-1] < _SIGMAS * sigma)


def groups_for(counts: Floats, *, sigma: float, total: float, ordered: bool, missing: bool = False) -> Codes:
    """The coarser cell of each cell: rare categories become one, neighbouring numbers share one until it is large.

    Post-processing of noisy counts [MMS21, Sec. 3.2]; ordered cells are merged with their neighbours alone. A last
    cell for what is ``missing`` stays alone, or joins the largest one if it could be noise.
    """
    if missing and len(counts) > 1:
        others = groups_for(counts[:-1], sigma=sigma, total=total, ordered=ordered)
        place = others[np.argmax(counts[:-1])] if missing_unseen(counts, sigma) else others.max() + 1
        return np.append(others, place)
    if ordered:
        parts = min(_PARTS, max(4.0, _FINENESS * (total / sigma) ** 0.5))
        return _cell_runs(counts, max(_SIGMAS * sigma, total / parts))
    order = np.argsort(-counts, kind="stable")
    large = counts >= _SIGMAS * sigma
    large[order[MOST_GROUPS - 2 :]] = False
    groups = np.where(large, np.cumsum(large) - 1, int(large.sum()))
    return groups.astype(np.int64)


def _cell_runs(counts: Floats, least: float) -> Codes:
    """Neighbours together until they reach ``least``; a cell that is large by itself stays alone."""
    groups, current, mass = np.zeros(len(counts), dtype=np.int64), 0, 0.0
    for place, count in enumerate(counts):
        if count >= least and mass > 0:
            current, mass = current + 1, 0.0
        groups[place], mass = current, mass + count
        if mass >= least:
            current, mass = current + 1, 0.0
    if 0 < mass < least and current > 0:
        groups[groups == current] = current - 1  # what is left over joins the last part
    return np.unique(groups, return_inverse=True)[1].astype(np.int64)
