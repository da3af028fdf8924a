"""The rows of a step are drawn as the event says, from the secure source, and from nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.learn.training.sampling import FixedBatch, FullBatch, PoissonBatch, batches, sampling_of, step_of
from hubbub.noise.testing import seeded
from hubbub.terms import (
    GaussianNoise,
    Neighbours,
    OutOfRange,
    Poisson,
    Repeat,
    WithoutReplacement,
    WrongNeighbours,
    WrongShape,
)

FALSE_ALARM = 1e-4
STEP = GaussianNoise(sigma=Fraction(1), sensitivity=Fraction(1), grid=Fraction(1, 1 << 20), dimension=3)


def sizes(run: Repeat, rows: int, seed: int) -> Iterator[int]:
    return (len(batch) for batch in batches(run, rows, rng=seeded(seed)) if batch is not None)


def p_of_sizes(drawn: list[int], rows: int, rate: float) -> float:
    """How well batch sizes fit the binomial law, by their mean."""
    z = (np.mean(drawn) - rows * rate) / np.sqrt(rows * rate * (1 - rate) / len(drawn))
    return float(2 * stats.norm.sf(abs(z)))


def test_poisson_batches_have_the_rate_of_the_event() -> None:
    run = Repeat(Poisson(STEP, Fraction(1, 10)), 400)
    drawn = list(sizes(run, 500, 1))
    assert p_of_sizes(drawn, 500, 0.1) > FALSE_ALARM
    assert p_of_sizes(drawn, 500, 0.11) < FALSE_ALARM  # ten per cent off would be seen


def test_each_row_is_taken_by_itself() -> None:
    run = Repeat(Poisson(STEP, Fraction(1, 4)), 2000)
    taken = np.zeros((2000, 6))
    for i, rows in enumerate(batches(run, 6, rng=seeded(2))):
        assert rows is not None
        taken[i, rows] = 1
    together = np.corrcoef(taken.T)[np.triu_indices(6, 1)]
    assert abs(together).max() < 5 / np.sqrt(2000)
    assert stats.chisquare(taken.sum(axis=0)).pvalue > FALSE_ALARM


def test_the_event_that_is_accounted_is_the_one_that_is_drawn() -> None:
    """Another event draws other batches: there is no second description that could disagree."""
    for rate in (Fraction(1, 50), Fraction(1, 2)):
        run = Repeat(PoissonBatch(rate).event(STEP), 300)
        assert run.event == Poisson(STEP, rate)
        assert p_of_sizes(list(sizes(run, 400, 3)), 400, float(rate)) > FALSE_ALARM


def test_fixed_batches_are_uniform_subsets() -> None:
    run = Repeat(WithoutReplacement(STEP, 3, 6), 3000)
    seen: dict[tuple[int, ...], int] = {}
    for rows in batches(run, 6, rng=seeded(4)):
        assert rows is not None
        seen[tuple(rows)] = seen.get(tuple(rows), 0) + 1
    assert len(seen) == 20
    assert stats.chisquare(list(seen.values())).pvalue > FALSE_ALARM


def test_a_fixed_batch_needs_the_population_it_was_accounted_for() -> None:
    with pytest.raises(WrongShape):
        next(batches(Repeat(WithoutReplacement(STEP, 3, 6), 1), 7))


def test_full_batches_read_every_row() -> None:
    assert list(batches(Repeat(STEP, 2), 9)) == [None, None]


def test_batches_may_be_empty() -> None:
    run = Repeat(Poisson(STEP, Fraction(1, 1000)), 50)
    assert min(sizes(run, 5, 5)) == 0


def test_no_ordinary_generator_chooses_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []
    monkeypatch.setattr("os.urandom", lambda size: asked.append(size) or bytes(size))
    rows = next(batches(Repeat(Poisson(STEP, Fraction(1, 2)), 1), 8))
    assert asked and rows is not None and rows.tolist() == list(range(8))  # words of zeros lie below every threshold


def test_names_of_samplings() -> None:
    add, replace = Neighbours.ADD_REMOVE, Neighbours.REPLACE
    assert sampling_of("poisson", batch=10, rows=40, neighbours=add) == PoissonBatch(Fraction(1, 4))
    assert sampling_of("poisson", batch=40, rows=40, neighbours=add) == FullBatch()
    assert sampling_of("full", batch=10, rows=40, neighbours=add) == FullBatch()
    assert sampling_of("fixed", batch=10, rows=40, neighbours=replace) == FixedBatch(10, 40)
    with pytest.raises(WrongNeighbours):
        sampling_of("fixed", batch=10, rows=40, neighbours=add)
    with pytest.raises(OutOfRange):
        sampling_of("shuffle", batch=10, rows=40, neighbours=add)


def test_a_run_has_one_step_with_gaussian_noise() -> None:
    assert step_of(Repeat(Poisson(STEP, Fraction(1, 2)), 3)) is STEP
