"""One feature, cut into cells: which values are likelier under which input, learned from a few outcomes.

A value that comes again and again is a cell of its own; all others share cells between quantiles. Each cell gets the
logarithm of how much likelier it was under the first input, smoothed by one.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Codes = NDArray[np.int64]
_BINS = 40
_OFTEN = 12  # a value seen less often is no cell of its own
_ATOMS = 20_000


@dataclass(frozen=True, slots=True)
class LikelihoodCells:
    """A cut of the line into cells, and the log-ratio of each."""

    edges: Floats
    atoms: Floats
    ratios: Floats  # bins first, then atoms, then what is missing
    telling: float  # how well the cells tell the inputs apart: the symmetric divergence, beyond chance

    def codes(self, values: Floats) -> Codes:
        """The cell of each value."""
        return _cell_codes(values, self.edges, self.atoms)

    def ratio(self, values: Floats) -> Floats:
        """The learned log-ratio at each value."""
        return self.ratios[self.codes(values)]


def learn_cells(first: Floats, second: Floats, *, often: int = _OFTEN, bins: int = _BINS) -> LikelihoodCells:
    """Cells for a feature from its values under the two inputs."""
    both = np.concatenate([first, second])
    present = np.sort(both[~np.isnan(both)])
    values, counts = _count_distinct(present)
    frequent = counts >= often
    atoms = values[frequent] if frequent.sum() <= _ATOMS else values[:0]
    rest = np.repeat(values[~frequent], counts[~frequent]) if len(atoms) else present
    edges = _quantile_edges(rest, bins)
    size = len(edges) + 1 + len(atoms) + 1
    here, there = (np.bincount(_cell_codes(side, edges, atoms), minlength=size) for side in (first, second))
    ratios = np.log((here + 1.0) / (there + 1.0)) - np.log((len(first) + 1.0) / (len(second) + 1.0))
    return LikelihoodCells(edges, atoms, ratios, _corrected_divergence(here, there))


def _count_distinct(ordered: Floats) -> tuple[Floats, Codes]:
    """The distinct values of a sorted array, and how often each occurs."""
    if not len(ordered):
        return ordered, np.zeros(0, dtype=np.int64)
    starts = np.flatnonzero(np.concatenate([[True], ordered[1:] != ordered[:-1]]))
    return ordered[starts], np.diff(np.append(starts, len(ordered)))


def _quantile_edges(ordered: Floats, bins: int) -> Floats:
    if len(ordered) < 2 * bins:
        return ordered[:0]
    places = np.linspace(0, len(ordered) - 1, bins + 1)[1:-1].astype(np.int64)
    return np.unique(ordered[places])


def _cell_codes(values: Floats, edges: Floats, atoms: Floats) -> Codes:
    codes = np.searchsorted(edges, values, side="right")
    if len(atoms):
        place = np.minimum(np.searchsorted(atoms, values), len(atoms) - 1)
        codes = np.where(atoms[place] == values, len(edges) + 1 + place, codes)
    return np.where(np.isnan(values), len(edges) + 1 + len(atoms), codes)


def _corrected_divergence(here: Codes, there: Codes) -> float:
    """Sum of (p - q) log(p / q) over the cells, less what equal laws would show on average."""
    p, q = here / max(1, here.sum()), there / max(1, there.sum())
    gap = np.sum((p - q) * np.log((here + 1.0) / (there + 1.0)))
    used = np.count_nonzero(here + there)
    return float(gap - 2.0 * used / max(1, min(here.sum(), there.sum())))
