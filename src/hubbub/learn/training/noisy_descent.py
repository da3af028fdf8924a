"""The training engine: sample -> clip -> sum -> noise -> step.

One event says all that matters for privacy: how rows are sampled, how much noise is added, on which grid, how often.
``train`` does what the event says and nothing else to the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.learn.training.network import Examples, Floats
from hubbub.learn.training.sampling import Rows, batches, step_of
from hubbub.terms import GaussianNoise, Repeat

_SAFE = 2.0**61  # two int64 below this add up without wrapping
_BLOCK = 1 << 14  # draws at once: one request for noise serves several steps of a small model

ClippedSum = Callable[[Floats, Examples, Rows | None], Floats]


@dataclass(frozen=True, slots=True)
class Descent:
    """How weights move: all of it is post-processing of noisy sums.

    ``rate`` is the learning rate, ``momentum`` the share of the last step that is kept, ``l2`` a penalty, and the
    answer is the average over the last ``tail`` (a share) of the steps. ``scale`` turns sums into means: the expected
    number of rows in a batch, never the number that came.
    """

    rate: float
    scale: float
    momentum: float = 0.9
    tail: float = 0.5
    l2: float = 0.0


def train(
    run: Repeat,
    examples: Examples,
    *,
    clipped_sum: ClippedSum,
    start: Floats,
    descent: Descent,
    project: Callable[[Floats], Floats],
    rng: noise.RandomSource | None = None,
    watch: Callable[[int], None] = lambda step: None,
) -> Floats:
    """Weights trained by noisy gradients: each step samples rows, sums their clipped gradients and adds noise.

    Guarantee: all weights along the way together cost what ``accounting.epsilon(run)`` says, if ``clipped_sum`` moves
    by at most the run's sensitivity, less sqrt(dimension) grid steps, when a row of its batch comes or goes.
    Because: [ACGMMTZ16, Alg. 1] with the run's own sampling; ``docs/proofs/learn.md`` for sums in doubles.
    Not covered: running time, and a ``rng`` given by a test.
    """
    weights, one, count = project(start.copy()), step_of(run), len(examples.inputs)
    velocity, mean, kept = np.zeros_like(weights), np.zeros_like(weights), 0
    first = math.floor(run.times * (1 - descent.tail))
    for step, (rows, drawn) in enumerate(zip(batches(run, count, rng=rng), draw_noise(run, rng), strict=True)):
        total = add_noise(clipped_sum(weights, examples, rows), drawn, one)
        velocity *= descent.momentum
        velocity += np.divide(total, descent.scale, out=total)
        if descent.l2:
            velocity += descent.l2 * weights
        weights -= np.multiply(velocity, descent.rate * (1 - descent.momentum), out=total)
        weights = project(weights)
        if step >= first:
            kept += 1
            mean += np.divide(np.subtract(weights, mean, out=total), kept, out=total)
        watch(step + 1)
    return mean


def add_noise(total: Floats, drawn: NDArray[np.int64], step: GaussianNoise) -> Floats:
    """A sum rounded to the step's grid, plus noise: added as integers, scaled once. NaN counts as 0."""
    grid = float(step.grid)  # a power of two
    steps = total / grid
    np.rint(steps, out=steps)
    if not (steps.min() > -_SAFE and steps.max() < _SAFE):
        steps = np.where(np.isfinite(total), np.clip(steps, -_SAFE, _SAFE), 0.0)
    integers = steps.astype(np.int64)
    integers += drawn
    return np.multiply(integers, grid, out=steps)


def draw_noise(run: Repeat, rng: noise.RandomSource | None = None) -> Iterator[NDArray[np.int64]]:
    """The noise of each step, in grid steps, drawn some steps ahead."""
    step = step_of(run)
    sigma = step.sigma / step.grid
    ahead = max(1, _BLOCK // step.dimension)
    for done in range(0, run.times, ahead):
        count = min(ahead, run.times - done)
        yield from noise.discrete_gaussian(sigma, (count, step.dimension), rng=rng)
