"""Which rows a step of training reads. The event is the sampler: what is drawn is read from what is accounted.

A run is one event, ``Repeat(step, times)``, and its step says how rows are taken:

    GaussianNoise                       all of them: full batch
    Poisson(GaussianNoise, rate)        each by itself with that probability
    WithoutReplacement(GaussianNoise)   a uniform sample of fixed size, for replace neighbours

There is no other description of the sample anywhere, hence none that could disagree with the accounting.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.terms import (
    Event,
    GaussianNoise,
    Neighbours,
    OutOfRange,
    Poisson,
    Repeat,
    WithoutReplacement,
    WrongNeighbours,
    WrongShape,
)

Rows: TypeAlias = NDArray[np.int64]

_BLOCK = 1 << 17  # coins at once


@dataclass(frozen=True, slots=True)
class FullBatch:
    """Every row in every step."""

    def event(self, step: GaussianNoise) -> Event:
        """One step with this sample."""
        return step

    def expected(self, rows: int) -> float:
        """How many rows a step has on average, out of so many."""
        return float(rows)


@dataclass(frozen=True, slots=True)
class PoissonBatch:
    """Each row by itself with probability ``rate``; a batch may be empty."""

    rate: Fraction

    def event(self, step: GaussianNoise) -> Event:
        """One step with this sample."""
        return Poisson(step, self.rate)

    def expected(self, rows: int) -> float:
        """How many rows a step has on average, out of so many."""
        return float(self.rate * rows)


@dataclass(frozen=True, slots=True)
class FixedBatch:
    """A uniform sample of ``sample`` out of ``population`` rows; proved for replacing a row only."""

    sample: int
    population: int

    def event(self, step: GaussianNoise) -> Event:
        """One step with this sample."""
        return WithoutReplacement(step, self.sample, self.population)

    def expected(self, rows: int) -> float:
        """How many rows a step has on average, out of so many."""
        return float(self.sample)


Sampling = FullBatch | PoissonBatch | FixedBatch


def sampling_of(kind: str, *, batch: int, rows: int, neighbours: Neighbours) -> Sampling:
    """The sampling of that name with about ``batch`` rows in a step."""
    if kind == "full" or (kind == "poisson" and batch >= rows):
        return FullBatch()
    if kind == "poisson":
        return PoissonBatch(Fraction(batch, rows))
    if kind != "fixed":
        raise OutOfRange(
            f"sampling must be 'poisson', 'full' or 'fixed' and is {kind!r}.",
            why="The cost of training follows from how rows are sampled, and is known for these three.",
            fix='Write sampling="poisson" (the default), "full" or "fixed".',
        )
    if neighbours is not Neighbours.REPLACE:
        raise WrongNeighbours(
            "batches of fixed size are accounted for replacing a row, and add-remove was asked for.",
            why="Adding a row changes the probability of every other row to be in the batch.",
            fix='Write neighbours="replace", or sampling="poisson".',
        )
    return FixedBatch(min(batch, rows), rows)


def most_rows(sampling: Sampling, rows: int, steps: int, delta: Fraction) -> int:
    """How many rows the largest batch of a run has, but for a probability of a millionth of delta.

    Because: Bernstein's inequality [BLM13] for one batch: more than expected + x with probability at most
    exp(-x^2 / (2 (expected + x/3))); and the sum over the steps.
    """
    if not isinstance(sampling, PoissonBatch):
        return math.ceil(sampling.expected(rows))
    expected, bits = sampling.expected(rows), math.log(steps * 1e6 / float(delta))
    return min(rows, math.ceil(expected + bits / 3 + math.sqrt(bits**2 / 9 + 2 * bits * expected)) + 1)


def step_of(run: Repeat) -> GaussianNoise:
    """The noise of one step of a run."""
    step = run.event.event if isinstance(run.event, Poisson | WithoutReplacement) else run.event
    if not isinstance(step, GaussianNoise):
        raise WrongShape(
            "a training run repeats one step with Gaussian noise.",
            why="Sampler and noise are read from the event, which must say both.",
            fix="Make it with hubbub.learn.plan(...).",
        )
    return step


def batches(run: Repeat, rows: int, *, rng: noise.RandomSource | None = None) -> Iterator[Rows | None]:
    """The rows of each step of the run, in order; None means all rows.

    Guarantee: the samples have exactly the law that the event's accounting assumes.
    Because: [BBG18, Thm. 8, Thm. 9]: independent coins, or a uniform subset, from the secure source.
    """
    step, times = run.event, run.times
    if isinstance(step, Poisson):
        yield from _poisson_batches(step.rate, rows, times, rng)
    elif isinstance(step, WithoutReplacement):
        if step.population != rows:
            raise WrongShape(
                f"the run was planned for {step.population} rows and other data came.",
                why="A sample of fixed size is accounted for a population of that very size.",
                fix="Plan with the number of rows that there are.",
            )
        yield from _fixed_batches(rows, step.sample, times, rng)
    else:
        yield from [None] * times


def _poisson_batches(rate: Fraction, rows: int, times: int, rng: noise.RandomSource | None) -> Iterator[Rows]:
    """Rows whose coins show 1, for each step; coins of several steps are drawn at once, which is quicker."""
    ahead = max(1, _BLOCK // max(1, rows))
    for done in range(0, times, ahead):
        for coins in noise.coins(rate, (min(ahead, times - done), rows), rng=rng):
            yield np.flatnonzero(coins)


def _fixed_batches(rows: int, size: int, times: int, rng: noise.RandomSource | None) -> Iterator[Rows]:
    """A uniform subset for each step; of one row, those of many steps are drawn at once, which is quicker."""
    if size != 1:
        yield from (_draw_subset(rows, size, rng) for _ in range(times))
        return
    for done in range(0, times, _BLOCK):
        yield from noise.uniform(rows, (min(_BLOCK, times - done), 1), rng=rng)


def _draw_subset(rows: int, size: int, rng: noise.RandomSource | None) -> Rows:
    """A uniform subset: rows are drawn until so many different ones are there, which favours none."""
    taken = np.zeros(rows, dtype=bool)
    missing = size
    while missing:
        taken[noise.uniform(rows, missing, rng=rng)] = True
        missing = size - int(np.count_nonzero(taken))
    return np.flatnonzero(taken)
