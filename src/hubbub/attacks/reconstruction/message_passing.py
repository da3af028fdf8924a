"""Approximate message passing: the bits of random subsets, weighed by how likely each is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks.requirements import Floats

_ROUNDS = 50
_STILL = 1e-3


def message_passing(queries: NDArray[np.float32], answers: Floats) -> Floats:
    """The chance that each bit is 1, given bits that are 0 or 1 alike and answers with Gaussian noise.

    Approximate message passing [DMM09] with the mean of a +1 or -1 as its step. Its noise level is read off the
    residual. For large random subsets of half the people it comes to the best guess there is; for queries of another
    kind (ranges, few or overlapping subsets) it need not converge: use ``box`` there.
    """
    count, people = queries.shape
    norm = np.float32(np.sqrt(count * _column_variance(queries)))
    wanted = _centred_values(2 * answers.astype(np.float32) - queries.sum(axis=1)) / norm
    signs, residual = np.zeros(people, dtype=np.float32), wanted
    for _ in range(_ROUNDS):
        noise = max(float(residual @ residual) / count, 1e-6)
        evidence = signs + queries.T @ _centred_values(residual) / norm
        likely = np.tanh(evidence / np.float32(noise))
        reaction = np.float32((1 - likely**2).mean() / noise * people / count)
        residual = wanted - _centred_values(queries @ likely) / norm + reaction * residual
        change, signs = float(np.abs(likely - signs).max()), likely
        if change < _STILL:
            break
    return (signs.astype(np.float64) + 1) / 2


def _centred_values(values: NDArray[np.float32]) -> NDArray[np.float32]:
    return np.asarray(values - values.mean(), dtype=np.float32)


def _column_variance(queries: NDArray[np.float32]) -> float:
    """The average variance of a column of zeros and ones."""
    shares = queries.mean(axis=0)
    return max(float((shares * (1 - shares)).mean()), 1e-6)
