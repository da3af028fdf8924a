"""Sums in exact integers: neighbours move them as far as claimed, noise has its law, and grids fit."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hubbub.learn.base.column_bounds import BUCKETS, bucket_counts, private_bounds
from hubbub.learn.estimators.linear_regression import moment_sums, with_constant
from hubbub.learn.training.column_moments import column_sums, squared_sensitivity
from hubbub.learn.training.moments import (
    DIAGONAL,
    Grid,
    bounded_entries,
    exact_product,
    from_triangle,
    noisy_sum,
    plan_sums,
    triangle_size,
    unit_rows,
    weighted_triangle,
)
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import step_of
from hubbub.noise.testing import seeded
from hubbub.terms import GaussianNoise, Neighbours, TooLarge, Unit

GRID = Grid(20)
GENERATOR = np.random.default_rng(8)


def rough(rows: int = 40, columns: int = 5) -> Floats:
    """Rows of all lengths: tiny, on the edge, far outside, and one with a single entry."""
    table = GENERATOR.standard_normal((rows, columns)) * 10.0 ** GENERATOR.integers(-8, 9, (rows, 1))
    table[0], table[1] = 0, np.eye(columns)[0] * 3
    table[2] = 1 / math.sqrt(columns)
    return table


def furthest(old: Floats, without: list[Floats]) -> float:
    """The largest distance between the sums of neighbours, as statistics."""
    return max(math.sqrt(sum(int(step) ** 2 for step in (old - new).tolist())) for new in without) / GRID.unit


@pytest.mark.parametrize("columns", [1, 5, 300])
def test_rows_become_integers_within_the_norm(columns: int) -> None:
    entries = unit_rows(rough(60, columns), 1.0, GRID)
    assert np.array_equal(entries, np.rint(entries))
    assert max(sum(int(e) ** 2 for e in row) for row in entries) <= GRID.unit
    inside = rough(60, columns)[3:] / 1e20
    assert np.abs(unit_rows(inside, 1.0, GRID) - inside * GRID.one).max() <= 0.5


def test_a_rows_integers_do_not_depend_on_where_it_stands() -> None:
    table = rough(50, 7)
    together = unit_rows(table, 2.0, GRID)
    for i in range(50):
        assert np.array_equal(together[i], unit_rows(table[i : i + 1], 2.0, GRID)[0])
        assert np.array_equal(together[i:], unit_rows(table[i:], 2.0, GRID))


def test_products_are_those_of_python_integers() -> None:
    entries = unit_rows(GENERATOR.standard_normal((9000, 3)), 1.0, GRID)  # three chunks
    whole = entries.astype(int).tolist()
    exact = [[sum(row[i] * row[j] for row in whole) for j in range(3)] for i in range(3)]
    assert exact_product(entries, entries, GRID).tolist() == exact
    assert (
        from_triangle(weighted_triangle(exact_product(entries, entries, GRID)) * 1.0, 3).tolist()
        == np.array(exact).tolist()
    )


def test_neighbours_move_second_moments_by_at_most_the_sensitivity_and_nearly_that_far() -> None:
    entries = with_constant(unit_rows(rough(), 1.0, GRID), GRID)
    targets = np.rint(GENERATOR.choice([-1.0, 1.0, 0.3], 40) * GRID.one)
    targets[1] = GRID.one  # the row with one long entry
    old = moment_sums(entries, targets, GRID)
    without = [moment_sums(np.delete(entries, i, 0), np.delete(targets, i), GRID) for i in range(40)]
    longest = 1 + 0.25
    claim = DIAGONAL * math.sqrt(longest**2 + longest)
    assert 0.98 * claim < furthest(old, without) <= claim
    assert furthest(old, without) > 0.9 * claim  # a claim ten per cent smaller is refuted


def test_weights_beyond_root_two_would_break_the_claim() -> None:
    """The planted fault: 8/5 is above sqrt(2), and a row with equal entries shows it; 7/5 is below."""
    row = np.full((1, 50), 1 / math.sqrt(50))
    triangle = weighted_triangle(exact_product(unit_rows(row, 1.0, GRID), unit_rows(row, 1.0, GRID), GRID)) / GRID.unit
    above = np.triu_indices(50)
    faulty = np.where(above[0] == above[1], triangle, triangle * 8 / 7)
    assert np.linalg.norm(triangle) <= DIAGONAL < np.linalg.norm(faulty)


def test_neighbours_move_column_sums_by_at_most_the_sensitivity() -> None:
    entries = bounded_entries(rough() / 3, np.full(5, -1.0), np.full(5, 1.0), GRID)
    assert np.abs(entries).max() == GRID.one
    old = column_sums(entries, GRID)
    moved = furthest(old, [column_sums(np.delete(entries, i, 0), GRID) for i in range(40)])
    assert moved <= math.sqrt(squared_sensitivity(5))
    corner = column_sums(np.full((1, 5), float(GRID.one)), GRID) / GRID.unit
    assert np.linalg.norm(corner) == pytest.approx(
        math.sqrt(squared_sensitivity(5))
    )  # so no smaller claim would be true


def test_neighbours_move_magnitudes_by_the_root_of_the_columns() -> None:
    table = rough()
    for i in range(40):
        moved = bucket_counts(table) - bucket_counts(np.delete(table, i, 0))
        assert (moved**2).sum() == 5
    assert bucket_counts(table).sum() == 200 and bucket_counts(table).shape == (5, BUCKETS)


def test_private_bounds_hold_most_values() -> None:
    table = np.column_stack([GENERATOR.uniform(20, 90, 3000), GENERATOR.uniform(-0.3, 0.2, 3000), np.zeros(3000)])
    step = GaussianNoise(sigma=Fraction(20), sensitivity=Fraction(2), grid=GRID.step, dimension=3 * BUCKETS)
    lower, upper = private_bounds(table, GRID, step, rng=seeded(1))
    inside = (table >= lower) & (table <= upper)
    assert inside.mean(axis=0).min() > 0.95
    assert (upper - lower <= [150, 1.1, 1e-5]).all()


def standard(sigma: Fraction, **more: object) -> Floats:
    step = GaussianNoise(sigma=sigma, sensitivity=Fraction(1), grid=GRID.step, dimension=4000)
    return noisy_sum(np.zeros(4000, dtype=np.int64), step, rng=seeded(5)) / 3.0


def test_the_noise_has_the_deviation_of_the_event_and_ten_per_cent_would_show() -> None:
    """4,000 draws: the estimated deviation is within 1.2 % with one standard error; 5 % is beyond four."""
    assert abs(standard(Fraction(3)).std() - 1) < 0.05
    for wrong in (Fraction(27, 10), Fraction(33, 10)):
        assert abs(standard(wrong).std() - 1) > 0.05


@pytest.mark.parametrize(("rows", "epsilon"), [(100, 1), (10**6, 1), (10**9, 1), (10**4, Fraction(1, 1000))])
def test_everything_fits_into_integers(rows: int, epsilon: Fraction) -> None:
    plan = plan_sums(
        size=triangle_size(100),
        square=Fraction(25),
        largest=7,
        columns=100,
        rows=rows,
        steps=1,
        epsilon=Fraction(epsilon),
        delta=Fraction(1, 10**6),
        neighbours=Neighbours.ADD_REMOVE,
        unit=Unit(),
    )
    step = step_of(plan.run)
    assert rows * 7 * plan.grid.unit <= 2**60 and step.sigma / step.grid <= 2**50
    assert 100 * plan.grid.unit < 2**53 and plan.grid.chunk * plan.grid.unit < 2**53


def test_what_does_not_fit_is_refused() -> None:
    with pytest.raises(TooLarge):
        plan_sums(
            size=1,
            square=Fraction(1),
            largest=1,
            columns=1,
            rows=10**18,
            steps=1,
            epsilon=Fraction(1),
            delta=Fraction(1, 10**6),
            neighbours=Neighbours.ADD_REMOVE,
            unit=Unit(),
        )
