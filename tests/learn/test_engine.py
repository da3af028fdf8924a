"""The engine adds the noise of its event to what it sums, and nothing else; plans cost what they promise."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.accounting import epsilon
from hubbub.learn.training.calibration import cost_of_run, most_rows, noise_multiplier, plan, run_with_noise
from hubbub.learn.training.network import Examples, Floats
from hubbub.learn.training.noisy_descent import Descent, add_noise, train
from hubbub.learn.training.sampling import FixedBatch, FullBatch, PoissonBatch, Rows, Sampling, step_of
from hubbub.noise.testing import seeded
from hubbub.terms import GaussianNoise, Neighbours, Repeat, TooLarge, root_of

ADD, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
DELTA = Fraction(1, 100_000)
FALSE_ALARM = 1e-4
NOBODY = Examples(np.zeros((5, 1)), np.zeros(5), np.zeros(5, dtype=np.int64))


def run_of(
    sampling: Sampling, *, steps: int = 20, epsilon: object = 1, size: int = 4, relation: Neighbours = ADD
) -> Repeat:
    return plan(
        sampling=sampling,
        steps=steps,
        clip=0.5,
        error=lambda rows: 1e-9 * rows,
        size=size,
        rows=1000,
        epsilon=Fraction(str(epsilon)),
        delta=DELTA,
        neighbours=relation,
    )


def weights_after(run: Repeat, total: Floats, seed: int) -> Floats:
    """Where training ends if every sum is ``total``: one plain step per sum."""

    def constant(weights: Floats, data: Examples, rows: Rows | None) -> Floats:
        return total

    return train(
        run,
        NOBODY,
        clipped_sum=constant,
        start=np.zeros(len(total)),
        descent=Descent(rate=1, scale=1, momentum=0, tail=1 / run.times),
        project=lambda weights: weights,
        rng=seeded(seed),
    )


def p_of(noise: Floats, sigma: float) -> float:
    """How well the squares of the noise fit a variance, from both sides."""
    square = float((noise**2).sum()) / sigma**2
    return 2 * min(stats.chi2.cdf(square, noise.size), stats.chi2.sf(square, noise.size))


def test_a_step_adds_the_noise_of_the_event() -> None:
    run = run_of(FullBatch(), steps=1, size=4000)
    sigma = float(step_of(run).sigma)
    noise = weights_after(run, np.zeros(4000), 1)
    assert p_of(noise, sigma) > FALSE_ALARM
    for off in (sigma / 1.1, sigma * 1.1):  # ten per cent off, either way, would be seen
        assert p_of(noise, off) < FALSE_ALARM


def test_every_step_has_fresh_noise() -> None:
    run = run_of(PoissonBatch(Fraction(1, 10)), steps=60, size=900)
    noise = weights_after(run, np.zeros(900), 2)
    assert p_of(noise, float(step_of(run).sigma) * math.sqrt(60)) > FALSE_ALARM


def test_a_model_larger_than_a_block_of_noise_is_trained() -> None:
    run = run_of(FullBatch(), steps=2, size=20_000)
    assert p_of(weights_after(run, np.zeros(20_000), 3), float(step_of(run).sigma) * math.sqrt(2)) > FALSE_ALARM


def test_sums_come_through_on_the_grid() -> None:
    step = step_of(run_of(FullBatch()))
    total = np.array([1.25, -3.0, math.nan, math.inf])
    told = add_noise(total, np.array([0, 7, 0, 0]), step)
    grid = float(step.grid)
    assert np.allclose(told, [1.25, -3.0 + 7 * grid, 0, 0], atol=grid / 2, rtol=0)
    assert np.array_equal(np.rint(told / grid), told / grid)


def test_batches_without_rows_are_steps_like_any_other() -> None:
    run = run_with_noise(
        sampling=PoissonBatch(Fraction(1, 1000)), steps=30, clip=1, error=0.0, size=4, multiplier=Fraction(1)
    )
    sizes = []

    def counted(weights: Floats, data: Examples, rows: Rows | None) -> Floats:
        assert rows is not None
        sizes.append(len(rows))
        return np.zeros(4)

    train(
        run,
        NOBODY,
        clipped_sum=counted,
        start=np.zeros(4),
        descent=Descent(rate=1, scale=1),
        project=lambda w: w,
        rng=seeded(4),
    )
    assert len(sizes) == 30 and 0 in sizes


@pytest.mark.parametrize(
    ("sampling", "relation"),
    [
        (FullBatch(), ADD),
        (FullBatch(), REPLACE),
        (PoissonBatch(Fraction(1, 10)), ADD),
        (PoissonBatch(Fraction(1, 10)), REPLACE),
        (FixedBatch(100, 1000), REPLACE),
    ],
)
@pytest.mark.parametrize("price", ["0.1", "2"])
def test_a_plan_costs_what_was_asked_for_and_little_less(sampling: Sampling, relation: Neighbours, price: str) -> None:
    run = run_of(sampling, epsilon=price, relation=relation)
    told = cost_of_run(run, delta=DELTA, neighbours=relation)
    assert float(Fraction(price)) * 0.985 <= told <= float(Fraction(price))


def test_less_noise_would_cost_more_than_was_asked_for() -> None:
    noise = noise_multiplier(PoissonBatch(Fraction(1, 10)), 20, Fraction(1), DELTA, ADD)
    facts = {"sampling": PoissonBatch(Fraction(1, 10)), "steps": 20, "clip": 0.5, "error": 0.0, "size": 4}
    less = run_with_noise(**facts, multiplier=noise * Fraction(9, 10))  # type: ignore[arg-type]
    assert epsilon(less, delta=DELTA) > 1.05


def test_the_sensitivity_is_the_clipping_norm_the_rounding_of_sums_and_of_the_grid() -> None:
    step = step_of(
        run_with_noise(sampling=FullBatch(), steps=3, clip=0.5, error=0.01, size=100, multiplier=Fraction(7))
    )
    assert step.sensitivity >= Fraction(1, 2) + 2 * Fraction(0.01) + root_of(100) * step.grid
    assert float(step.sensitivity) == pytest.approx(0.52, rel=1e-6)
    assert step.sigma >= 7 * step.sensitivity
    replaced = step_of(
        run_with_noise(sampling=FixedBatch(5, 9), steps=3, clip=0.5, error=0.01, size=100, multiplier=Fraction(7))
    )
    assert float(replaced.sensitivity) == pytest.approx(1.02, rel=1e-6) and replaced.neighbours is REPLACE


def test_the_largest_batch_is_bounded_but_for_a_sliver_of_delta() -> None:
    for rate, rows in ((Fraction(1, 10), 10_000), (Fraction(1, 1000), 500), (Fraction(1, 2), 100)):
        most = most_rows(PoissonBatch(rate), rows, 300, DELTA)
        assert 300 * stats.binom.sf(most, rows, float(rate)) <= 1e-6 * float(DELTA)
        assert most <= rows
    assert most_rows(PoissonBatch(Fraction(1, 100)), 10**6, 300, DELTA) < 11_000


def test_sums_that_would_not_fit_into_integers_are_refused() -> None:
    with pytest.raises(TooLarge):
        plan(
            sampling=FullBatch(),
            steps=1,
            clip=1,
            error=lambda rows: 0.0,
            size=1,
            rows=10**9,
            epsilon=Fraction(10**12),
            delta=DELTA,
        )


def test_the_noise_is_as_fine_as_continuous() -> None:
    step = step_of(run_of(FullBatch()))
    assert isinstance(step, GaussianNoise) and step.sigma > step.grid * (1 << 30)
