"""A number that is only seen above a threshold: its interval covers given that it is seen."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hubbub.releases import KeyColumn, Noise, NoisyColumn, NoisyTable, formulas
from hubbub.releases.formulas import Over, Plus, Ref, Thresholded, move_columns
from hubbub.releases.noisy_columns import noise_log_tail

RUNS = 4000


def _seen(noise: Noise, number: int, least: int, runs: int, seed: int) -> NoisyTable:
    """So many noisy numbers that reached the threshold; drawn from the tail itself, however rare it is."""
    reach = (
        math.ceil(12 * float(noise.scale)) if noise.distribution == "gaussian" else math.ceil(40 * float(noise.scale))
    )
    values = np.arange(max(least, number - reach), max(least, number) + reach)
    logs = (
        -0.5 * ((values - number) / float(noise.scale)) ** 2
        if noise.distribution == "gaussian"
        else -np.abs(values - number) / float(noise.scale)
    )
    masses = np.exp(logs - logs.max())
    drawn = np.random.default_rng(seed).choice(values, runs, p=masses / masses.sum())
    return NoisyTable((), (NoisyColumn("people", Fraction(1), noise, tuple(drawn.tolist())),), runs)


def _coverage(noise: Noise, number: int, least: int, confidence: float) -> float:
    table = _seen(noise, number, least, RUNS, seed=number)
    lows, highs = Thresholded(0, least).interval(table, confidence)
    return float(np.mean([low <= number <= high for low, high in zip(lows, highs, strict=True)]))


@pytest.mark.parametrize("scale", [Fraction(5, 2), Fraction(20), Fraction(300)])
@pytest.mark.parametrize("sigmas", [-4, -2, -1, 0, 1, 2, 6])
def test_it_covers_keys_below_at_and_above_the_threshold(scale: Fraction, sigmas: int) -> None:
    noise, least = Noise("gaussian", scale), round(7 * scale)
    number = max(1, least + round(sigmas * scale))
    covered = _coverage(noise, number, least, 0.95)
    assert covered >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / RUNS)
    if scale >= 20 and sigmas != 0:  # a number that the interval is stretched to hold is covered more often
        assert covered <= 0.985


@pytest.mark.parametrize("sigmas", [-2, -1])
def test_the_plain_interval_does_not_cover_what_is_below_the_threshold(sigmas: int) -> None:
    """What this formula is for: the interval of the noise alone, around a number that had to be large to be seen."""
    noise, least = Noise("gaussian", Fraction(20)), 140
    number = least + 20 * sigmas
    table = _seen(noise, number, least, RUNS, seed=3)
    lows, highs = Ref(0).interval(table, 0.95)
    covered = float(np.mean([low <= number <= high for low, high in zip(lows, highs, strict=True)]))
    assert covered < 0.9 if sigmas == -1 else covered < 0.05


@pytest.mark.parametrize("confidence", [0.5, 0.999])
def test_it_covers_with_other_confidences_and_other_noise(confidence: float) -> None:
    slack = 4 * math.sqrt(confidence * (1 - confidence) / RUNS)
    for noise in (Noise("gaussian", Fraction(20)), Noise("laplace", Fraction(20))):
        assert _coverage(noise, 120, 140, confidence) >= confidence - slack
        assert _coverage(noise, 160, 140, confidence) >= confidence - slack


def test_far_above_the_threshold_it_is_the_plain_interval() -> None:
    table = NoisyTable((), (NoisyColumn("people", Fraction(1), Noise("gaussian", Fraction(20)), (5000,)),), 1)
    (low,), (high,) = Thresholded(0, 140).interval(table, 0.95)
    (plain_low,), (plain_high,) = Ref(0).interval(table, 0.95)
    assert abs(low - plain_low) <= 1 and abs(high - plain_high) <= 1
    assert Thresholded(0, 140).evaluate(table) == [5000]


def test_it_begins_at_one_and_holds_the_number() -> None:
    table = NoisyTable(
        (), (NoisyColumn("people", Fraction(1), Noise("gaussian", Fraction(300)), (2000, 2001, 2900)),), 3
    )
    lows, highs = Thresholded(0, 2000).interval(table, 0.95)
    assert lows[:2] == [1, 1]
    assert all(low <= value <= high for low, value, high in zip(lows, (2000, 2001, 2900), highs, strict=True))
    assert all(isinstance(end, int) for end in (*lows, *highs))


def test_what_is_made_of_it_is_simulated_by_its_own_law() -> None:
    noise = Noise("gaussian", Fraction(20))
    measures = (
        NoisyColumn("people", Fraction(1), noise, (141, 5000)),
        NoisyColumn("COUNT(*)", Fraction(1), Noise("laplace", Fraction(5)), (300, 10_000)),
    )
    table = NoisyTable((), measures, 2)
    people = Thresholded(0, 140)
    doubled = Plus(people, Ref(1))
    lows, highs = people.interval(table, 0.95)
    drawn = people.simulate(table, 10_000)
    assert np.quantile(drawn[:, 0], 0.5) < 120  # near the threshold the true number is lower
    inside = np.mean((drawn >= lows) & (drawn <= highs), axis=0)
    assert inside[0] > 0.95  # the interval was stretched to hold 141
    assert abs(inside[1] - 0.95) < 0.01
    low, high = (end[1] for end in doubled.interval(table, 0.95))
    assert 14_900 < low < 15_000 < high < 15_100
    (share, _), _ = Over(people, Ref(1)).interval(table, 0.95)
    assert 0 < share < 141 / 300


def test_it_moves_with_its_measure_and_its_rows() -> None:
    moved = move_columns(Plus(Thresholded(0, 140), Ref(1)), measures=(3, 4), keys=0)
    assert moved == Plus(Thresholded(3, 140), Ref(4))
    key = KeyColumn("k", ("a", "b"))
    table = NoisyTable((key,), (NoisyColumn("people", Fraction(1), Noise("gaussian", Fraction(20)), (150, 900)),), 2)
    whole, row = Thresholded(0, 140).interval(table, 0.95), Thresholded(0, 140).interval(table.row(1), 0.95)
    assert (row[0][0], row[1][0]) == (whole[0][1], whole[1][1])
    assert formulas.at_rows(Thresholded(0, 140), slice(1, 2)) == Thresholded(0, 140)


@pytest.mark.parametrize(
    "noise", [Noise("gaussian", Fraction(3, 2)), Noise("gaussian", Fraction(50)), Noise("laplace", 4)]
)
def test_log_tails_are_those_of_the_law(noise: Noise) -> None:
    scale = mpmath.mpf(noise.scale.numerator) / noise.scale.denominator
    gaussian = noise.distribution == "gaussian"

    def mass(x: int) -> mpmath.mpf:
        return mpmath.exp(-((x / scale) ** 2) / 2) if gaussian else mpmath.exp(-abs(x) / scale)

    reach = int(40 * scale) + 40
    total = mpmath.fsum(mass(x) for x in range(-reach, reach + 1))
    for x in (-int(3 * scale), -1, 0, 1, 2, int(6 * scale)):
        exact = mpmath.log(mpmath.fsum(mass(y) for y in range(x, reach + 1)) / total)
        assert math.isclose(
            float(noise_log_tail(noise, np.array([float(x)]))[0]), float(exact), rel_tol=1e-9, abs_tol=1e-9
        )
    wide = Noise("gaussian", Fraction(1000))
    assert math.isclose(
        float(noise_log_tail(wide, np.array([5000.0]))[0]), float(mpmath.log(mpmath.ncdf(-4.9995))), rel_tol=1e-6
    )
    assert noise_log_tail(Noise("none"), np.array([0.0, 1.0])).tolist() == [0.0, -math.inf]
