"""How many rows there are, by noisy counts, and the nearest counts that add up to it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hubbub.publish.marginal_counts import Floats, Measurement


def total_of(singles: Sequence[Measurement]) -> float:
    """How many rows there are, nearly: the one-way totals, each by how well it is known."""
    weights = np.array([1 / single.variance.sum() for single in singles])
    return max(1.0, float(np.average([single.values.sum() for single in singles], weights=weights)))


def to_total(values: Floats, total: float) -> Floats:
    """The nearest counts that are not negative and add up to ``total``."""
    falling = -np.sort(-values.ravel())
    excess = (np.cumsum(falling) - total) / np.arange(1, values.size + 1)
    last = int(np.flatnonzero(falling > excess)[-1]) if np.any(falling > excess) else 0
    return np.asarray(np.maximum(values - excess[last], 0.0))
