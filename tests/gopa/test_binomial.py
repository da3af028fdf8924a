"""Binomial noise: every delta is an upper bound, and hardly above the exact one."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.accounting.gaussian_tradeoff import mu_for
from hubbub.gopa import Sensitivity
from hubbub.gopa.privacy import binomial_noise, vector_moments

from . import exactly

TIGHT = 1 + 1e-9


@pytest.mark.parametrize(
    ("trials", "shift", "epsilon"),
    [
        (1, 1, "1"),
        (2, 5, "1"),
        (3, 1, "1/2"),
        (79, 1, "1"),
        (80, 1, "1"),
        (200, 3, "0.7"),
        (401, 7, "3"),
        (1151, 4, "1"),
    ],
)
def test_one_coordinate_is_the_exact_sum_rounded_up(trials: int, shift: int, epsilon: str) -> None:
    exact = exactly.delta(trials, (shift,), Fraction(epsilon))
    assert (
        exact
        <= Fraction(binomial_noise.delta_of_one(trials, shift, float(Fraction(epsilon))))
        <= exact * Fraction(TIGHT)
    )


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(1, 8), st.integers(0, 300))
def test_no_sum_is_ever_below_the_exact_one(trials: int, shift: int, hundredths: int) -> None:
    epsilon = Fraction(hundredths, 100)
    told = Fraction(binomial_noise.delta_of_one(trials, shift, float(epsilon)))
    exact = exactly.delta(trials, (shift,), epsilon)
    assert exact <= told <= exact * Fraction(TIGHT) + Fraction(1, 10**300)


@pytest.mark.parametrize(
    ("trials", "shifts", "epsilon"),
    [
        (1, (1, 1), "1"),
        (5, (1, 1), "1/10"),
        (40, (1, 1), "1"),
        (61, (3, 2), "1"),
        (80, (2, 2), "1/2"),
        (30, (9, 1), "2"),
    ],
)
def test_two_coordinates_are_composed_exactly(trials: int, shifts: tuple[int, int], epsilon: str) -> None:
    exact = exactly.delta(trials, shifts, Fraction(epsilon))
    told = Fraction(binomial_noise.delta_of_two(trials, *shifts, float(Fraction(epsilon))))
    assert exact <= told <= exact * Fraction(TIGHT)
    mirrored = exactly.delta(trials, (shifts[0], -shifts[1]), Fraction(epsilon))  # up and down, as in a histogram
    assert mirrored == exact


def test_large_numbers_of_trials_agree_with_whole_numbers() -> None:
    trials, shift, epsilon = 20_001, 16, Fraction(1)
    ways, mass = [1], 1
    for k in range(trials):
        mass = mass * (trials - k) // (k + 1)
        ways.append(mass)
    factor = exactly.exponential(epsilon)
    top, below = factor.numerator, factor.denominator
    total = sum(
        max(0, ways[k] * below - top * (ways[k - shift] if k >= shift else 0)) for k in range(trials // 2 + shift)
    )
    exact = Fraction(total, below << trials)
    assert exact <= Fraction(binomial_noise.delta_of_one(trials, shift, 1.0)) <= exact * Fraction(TIGHT)


@pytest.mark.parametrize("trials", [2_000, 2_001, 2_002, 5_000, 100_000])
def test_the_largest_mass_is_not_below_the_exact_one(trials: int) -> None:
    exact = Fraction(math.comb(trials, trials // 2), 1 << trials)
    assert exact <= Fraction(binomial_noise.middle_mass(trials)) <= exact * Fraction(1 + 1e-10)


def test_more_trials_never_hurt_whether_odd_or_even() -> None:
    told = [binomial_noise.delta_of_one(trials, 2, 0.5) for trials in range(1, 300)]
    assert all(after <= before * TIGHT for before, after in pairwise(told))


def test_a_larger_shift_never_hurts_less() -> None:
    told = [binomial_noise.delta_of_one(500, shift, 0.5) for shift in range(0, 60)]
    assert told[0] == 0
    assert all(before <= after * TIGHT for before, after in pairwise(told))


# ---------------------------------------------------------------- how many coins it takes

TABLE = {  # (epsilon, delta): coins for a shift of 1, 4, 16, 64
    (1.0, 1e-6): (80, 1_151, 18_288, 292_480),
    (1.0, 1e-5): (62, 898, 14_260, 228_096),
    (0.5, 1e-6): (268, 4_164, 66_496, 1_063_936),
    (0.1, 1e-8): (8_452, 135_104, 2_161_664),
}
CASES = [(target, 4**i, coins) for target, row in TABLE.items() for i, coins in enumerate(row)]


@pytest.mark.parametrize(("target", "shift", "coins"), CASES)
def test_the_known_numbers_of_coins_come_out(target: tuple[float, float], shift: int, coins: int) -> None:
    least = Sensitivity().trials(shift, *target)
    assert (
        binomial_noise.delta_of_one(least, shift, target[0])
        <= target[1]
        < binomial_noise.delta_of_one(least - 1, shift, target[0])
    )
    assert least == coins if coins < 1_000 and shift == 1 else coins / 1.001 <= least <= coins  # others: within 0.05%


def test_half_of_the_coins_are_noticed() -> None:
    assert binomial_noise.delta_of_one(40, 1, 1.0) > 10 * 1e-6


def test_the_price_of_whole_numbers_vanishes() -> None:
    over = [Sensitivity().trials(s, 1.0, 1e-6) * mu_for(1.0, 1e-6) ** 2 / (4 * s * s) for s in (1, 4, 16, 64)]
    assert [round(x, 3) for x in over] == [1.121, 1.008, 1.0, 1.0]


# ---------------------------------------------------------------- vectors


@pytest.mark.parametrize(("trials", "shifts"), [(20, (1, 1, 1)), (30, (2, 1, 1)), (24, (1, 2, 0))])
def test_moments_of_three_coordinates_are_above_the_exact_delta(trials: int, shifts: tuple[int, ...]) -> None:
    moved = {shift: shifts.count(shift) for shift in set(shifts)}
    exact = exactly.delta(trials, shifts, Fraction(1))
    assert exact < Fraction(vector_moments.delta_of_many(trials, moved, 1.0)) < 4 * exact


@pytest.mark.parametrize("shifts", [(1,), (2,), (1, 1), (1, 2), (2, 1)])
def test_a_norm_covers_every_vector_in_it(shifts: tuple[int, ...]) -> None:
    bound = vector_moments.delta_of_norm(100, 5, 2, 1.0)
    assert exactly.delta(100, shifts, Fraction(1)) <= Fraction(bound) < 1


@given(
    bends=st.lists(st.tuples(st.integers(0, 299), st.floats(0, 10)), min_size=1, max_size=4),
    largest=st.integers(1, 300),
)
def test_what_lies_between_shifts_that_are_looked_at_is_covered(bends: list[tuple[int, float]], largest: int) -> None:
    """For any convex curve that begins at 0, bent or round, the bound is above each s and never by more than 1/8."""

    def curve(s: int) -> float:
        return s**2 / 100 + sum(slope * max(0, s - place) for place, slope in bends)

    true = max(curve(s) / s**2 for s in range(1, largest + 1))
    assert true <= vector_moments.steepest_ratio(curve, largest) <= true * 1.125 * TIGHT


def test_the_top_between_two_shifts_would_be_missed_without_the_chord() -> None:
    """s - 28 for s above 28 has its steepest place at 56, and 56 is not looked at."""
    looked: dict[int, float] = {}

    def curve(s: int) -> float:
        looked[s] = max(0.0, s - 28.0)
        return looked[s]

    found, top = vector_moments.steepest_ratio(curve, 4096), 28 / 56**2
    assert 56 not in looked and len(looked) < 80
    assert max(height / s**2 for s, height in looked.items()) < top <= found < 1.04 * top


@pytest.mark.parametrize(("trials", "largest", "order"), [(40_000, 100, 4.0), (2_000, 40, 1.5), (400, 100, 20.0)])
def test_the_shifts_that_are_looked_at_cost_less_than_half_a_percent(trials: int, largest: int, order: float) -> None:
    """Of the moments, and so about as much of the variance. The curve is convex, as the chords need it."""
    curve = [vector_moments._log_moment(trials, shift, order, largest) for shift in range(largest + 1)]
    true = max(curve[s] / s**2 for s in range(1, largest + 1))
    assert true <= vector_moments.steepest_ratio(curve.__getitem__, largest) <= 1.005 * true
    assert all(a + c >= 2 * b - 1e-9 for a, b, c in zip(curve, curve[1:], curve[2:], strict=False))


def test_a_vector_is_not_accounted_coordinate_by_coordinate() -> None:
    """Two cells that move cost more than one: whoever forgets the second promises too much."""
    alone = Sensitivity().trials(3, 1.0, 1e-6)
    together = Sensitivity("one-hot", coordinates=10).trials(3, 1.0, 1e-6)
    assert 1.9 * alone < together < 2.1 * alone
    assert binomial_noise.delta_of_two(alone, 3, 3, 1.0) > 100 * 1e-6


@pytest.mark.parametrize("steps", [10, 60])
def test_moments_cost_about_a_seventh_more_than_gaussian_noise_would(steps: int) -> None:
    coins = Sensitivity("norm", coordinates=50).trials(steps, 1.0, 1e-6)
    assert 1.1 < coins * mu_for(1.0, 1e-6) ** 2 / (4 * steps**2) < 1.2


def test_a_share_of_the_range_moves_less() -> None:
    patients = Sensitivity(share=Fraction(1, 50))
    assert patients.shifts(300) == (6,)
    assert patients.shifts(301) == (7,)  # rounding may turn a little more than six steps into seven
    assert patients.trials(300, 1.0, 1e-6) == Sensitivity().trials(6, 1.0, 1e-6)
