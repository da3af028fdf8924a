"""Least squares over the bits: in the box [0, 1]^n by accelerated gradients, or by one linear system."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hubbub.attacks.requirements import Floats

Single = NDArray[np.float32]  # half the memory, and all that bits need

_ROUNDS = 20_000
_STILL = 1e-5  # a round that moves no bit further than this was the last one


def solve_box(queries: Single, answers: Floats) -> Floats:
    """The x in [0, 1]^n for which queries @ x comes nearest to the answers.

    Accelerated projected gradient [BT09] with restarts where it overshoots [OC15]. Subset queries have one singular
    value that is far above all others: the sizes of the subsets, along the average query. Left alone it would ask for
    steps that are n times too short. The average of all equations is therefore given a smaller weight, which
    changes nothing where the answers are exact and takes one equation's worth of information where they are noisy.
    """
    targets = answers.astype(np.float32)
    step, pull = _step_length(queries)
    guess: Single = np.full(queries.shape[1], 0.5, dtype=np.float32)
    ahead = guess
    momentum = 1.0
    for _ in range(_ROUNDS):
        residual = queries @ ahead - targets
        residual += pull * residual.mean()
        moved = np.clip(ahead - step * (queries.T @ residual), 0, 1).astype(np.float32, copy=False)
        change = moved - guess
        if float((ahead - moved) @ change) > 0:
            momentum = 1.0
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        ahead = (moved + np.float32((momentum - 1) / following) * change).astype(np.float32, copy=False)
        guess, momentum = moved, following
        if float(np.abs(change).max()) < _STILL:
            break
    return guess.astype(np.float64)


def _step_length(queries: Single) -> tuple[np.float32, np.float32]:
    """The length of a step, and the weight of the average equation less one."""
    bulk = 1.1 * _largest_eigenvalue(queries)
    average = queries.mean(axis=0)
    spike = len(queries) * float(average @ average)
    weight = min(1.0, bulk / spike) if spike else 1.0
    steepness = bulk + weight * spike
    return np.float32(1 / steepness if steepness else 0), np.float32(weight - 1)


def _largest_eigenvalue(queries: Single) -> float:
    """The largest eigenvalue of the Gram matrix of the queries less their average, by power iteration."""
    direction: Single = np.random.default_rng(0).standard_normal((queries.shape[1],)).astype(np.float32)
    value = 0.0
    for _ in range(20):
        length = np.linalg.norm(direction)
        if not length:
            return 0.0
        direction /= length
        image = queries @ direction
        image -= image.mean()
        onward = queries.T @ image
        value, direction = float(direction @ onward), onward
    return value


def solve_ridge(queries: Single, answers: Floats) -> Floats:
    """Ordinary least squares, drawn to 1/2 ever so slightly so that bits nobody asked about are not extreme."""
    from scipy.linalg import solve

    gram = (queries.T @ queries).astype(np.float64)
    count = len(gram)
    gram[np.diag_indices(count)] += 1e-6 * max(np.trace(gram) / count, 1.0)
    moment = queries.T.astype(np.float64) @ (answers - queries.sum(axis=1, dtype=np.float64) / 2)
    return np.asarray(0.5 + solve(gram, moment, assume_a="pos", overwrite_a=True))
