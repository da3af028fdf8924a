"""Every sampler follows its exact law, in every form it can be asked in, and the tests can tell 10% off."""

from __future__ import annotations

import sys
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub import noise
from hubbub.noise import _distributions, _kernels
from hubbub.noise._drawing import _fill_array, draw_one
from hubbub.noise.testing import seeded
from hubbub.terms import Underflow
from tests.noise.laws import FALSE_ALARM, fit, fit_continuous, gaussian_mass, geometric_mass, laplace_mass

SCALES = [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(37, 3), Fraction(100)]
LAWS = {
    "laplace": (noise.discrete_laplace, laplace_mass),
    "gaussian": (noise.discrete_gaussian, gaussian_mass),
    "geometric": (noise.geometric, geometric_mass),
}


@pytest.mark.parametrize("scale", SCALES, ids=str)
@pytest.mark.parametrize("name", LAWS)
def test_bulk_draws_follow_the_exact_mass_function(name: str, scale: Fraction, soak: int) -> None:
    draw, mass = LAWS[name]
    draws = draw(scale, size=300_000 * soak, rng=seeded(1))
    reach = int(4 * scale) + 3
    assert fit(draws, mass(scale), range(-reach, reach + 1)) > FALSE_ALARM


@pytest.mark.parametrize("name", LAWS)
def test_single_draws_follow_the_exact_mass_function(name: str, soak: int) -> None:
    draw, mass = LAWS[name]
    rng = seeded(2)
    draws = np.array([draw(Fraction(20), rng=rng) for _ in range(60_000 * soak)])
    assert fit(draws, mass(Fraction(20)), range(-70, 71)) > FALSE_ALARM


@pytest.mark.parametrize("off", [Fraction(9, 10), Fraction(11, 10)], ids=["10% too small", "10% too large"])
@pytest.mark.parametrize("name", LAWS)
def test_a_scale_that_is_ten_percent_off_is_noticed(name: str, off: Fraction) -> None:
    draw, mass = LAWS[name]
    draws = draw(Fraction(10) * off, size=300_000, rng=seeded(1))
    assert fit(draws, mass(Fraction(10)), range(-40, 41)) < FALSE_ALARM


@pytest.mark.parametrize("bits", [30, 45, 52])
def test_fine_grids_follow_the_continuous_law(bits: int, soak: int) -> None:
    scale, size = 1 << bits, 400_000 * soak
    laplace = noise.discrete_laplace(scale, size=size, rng=seeded(3)) / scale
    gaussian = noise.discrete_gaussian(scale, size=size, rng=seeded(4)) / scale
    assert fit_continuous(laplace, stats.laplace.ppf) > FALSE_ALARM
    assert fit_continuous(gaussian, stats.norm.ppf) > FALSE_ALARM
    assert fit_continuous(laplace * 1.1, stats.laplace.ppf) < FALSE_ALARM
    assert fit_continuous(gaussian * 0.9, stats.norm.ppf) < FALSE_ALARM


def test_low_bits_on_a_fine_grid_are_uniform() -> None:
    draws = noise.discrete_laplace(1 << 40, size=200_000, rng=seeded(5))
    counts = np.bincount(draws & 63, minlength=64)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("scale", [3, 1000, 1 << 40])
@pytest.mark.parametrize("law", [_distributions.laplace_distribution, _distributions.gaussian_distribution])
def test_the_compiled_kernel_decides_like_the_numpy_kernel(law, scale: int) -> None:
    compiled = _kernels._compiled_kernel()
    assert compiled is not None, "numba is part of the development environment"
    made = law(Fraction(scale))
    words = seeded(6).random_words(3 * 50_000).reshape(3, -1)
    values, states = _kernels.numpy_kernel(made, words)
    other_values, other_states = compiled(made, words)
    assert np.array_equal(states, other_states)
    assert np.array_equal(values[states == _kernels.KEPT], other_values[states == _kernels.KEPT])


def test_the_compiled_kernel_is_used_once_it_pays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_kernels, "_drawn", [0])
    assert _kernels.kernel_for(300_000) is _kernels.numpy_kernel, "one such call does not pay for a compiler"
    assert _kernels.kernel_for(300_000) is _kernels._compiled_kernel()
    assert _kernels.kernel_for(10) is _kernels.numpy_kernel


@pytest.mark.parametrize("kernel", ["numpy", "compiled"])
def test_both_kernels_draw_the_exact_law(kernel: str, soak: int) -> None:
    chosen = _kernels.numpy_kernel if kernel == "numpy" else _kernels._compiled_kernel()
    out = np.empty(300_000 * soak, dtype=np.int64)
    _fill_array(out, _distributions.gaussian_distribution(Fraction(50)), seeded(18), chosen)
    assert fit(out, gaussian_mass(Fraction(50)), range(-160, 161)) > FALSE_ALARM


def test_without_numba_the_noise_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hubbub.noise._numba", None)
    _kernels._compiled_kernel.cache_clear()
    try:
        assert _kernels._compiled_kernel() is None
        monkeypatch.setattr(_kernels, "_drawn", [10**9])
        without = noise.discrete_laplace(10, size=30_000, rng=seeded(19))
    finally:
        monkeypatch.undo()
        _kernels._compiled_kernel.cache_clear()
    assert np.array_equal(without, noise.discrete_laplace(10, size=30_000, rng=seeded(19)))


def test_single_draws_work_at_scales_beyond_64_bits() -> None:
    rng = seeded(7)
    draws = np.array([noise.discrete_gaussian(1 << 200, rng=rng) / (1 << 200) for _ in range(5_000)])
    assert fit_continuous(draws, stats.norm.ppf, cells=30) > FALSE_ALARM


@pytest.mark.parametrize(
    "trials, p", [(1, Fraction(1, 3)), (40, Fraction(1, 2)), (130, Fraction(1, 2)), (600, Fraction(3, 10))]
)
def test_binomial_draws_follow_the_exact_mass_function(trials: int, p: Fraction) -> None:
    draws = noise.binomial(trials, p, size=200_000, rng=seeded(8))
    law = stats.binom(trials, float(p))
    assert fit(draws, lambda k: float(law.pmf(k)), range(trials + 1)) > FALSE_ALARM
    wrong = stats.binom(trials, float(p) * 1.1)
    assert fit(draws, lambda k: float(wrong.pmf(k)), range(trials + 1)) < FALSE_ALARM


def test_many_fair_coins_are_counted_in_pieces() -> None:
    trials = (1 << 17) + 7
    draws = noise.binomial(trials, Fraction(1, 2), size=400, rng=seeded(17))
    assert stats.kstest((draws - trials / 2) / (trials / 4) ** 0.5, "norm").pvalue > FALSE_ALARM


@pytest.mark.parametrize("p", [Fraction(0), Fraction(1), Fraction(1, 3), Fraction(1, 10**6)])
def test_bernoulli_has_exactly_its_probability(p: Fraction) -> None:
    draws = noise.bernoulli(p, size=400_000, rng=seeded(9))
    assert np.array_equal(noise.coins(p, 400_000, rng=seeded(9)), draws.astype(bool))
    assert stats.binomtest(int(draws.sum()), draws.size, float(p)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("x", [Fraction(0), Fraction(1, 7), Fraction(3)])
def test_bernoulli_exp_and_logistic_have_their_probabilities(x: Fraction) -> None:
    p, q = np.exp(-float(x)), 1 / (1 + 4 * np.exp(-float(x)))
    flips = noise.bernoulli_exp(x, size=400_000, rng=seeded(10))
    odds = noise.bernoulli_logistic(x, weight=4, size=400_000, rng=seeded(11))
    assert stats.binomtest(int(flips.sum()), flips.size, p).pvalue > FALSE_ALARM
    assert stats.binomtest(int(odds.sum()), odds.size, q).pvalue > FALSE_ALARM
    rng = seeded(12)
    ones = sum(noise.bernoulli_exp(x, rng=rng) for _ in range(20_000))
    assert stats.binomtest(ones, 20_000, p).pvalue > FALSE_ALARM


@pytest.mark.parametrize("below", [1, 2, 7, 64, 1000])
def test_uniform_integers_are_uniform(below: int) -> None:
    draws = noise.uniform(below, size=100_000, rng=seeded(13))
    assert draws.min() >= 0
    assert draws.max() < below
    assert below == 1 or stats.chisquare(np.bincount(draws, minlength=below)).pvalue > FALSE_ALARM


def test_uniform_integers_reach_beyond_64_bits() -> None:
    rng = seeded(14)
    draws = [noise.uniform(10**30, rng=rng) for _ in range(2_000)]
    assert all(0 <= d < 10**30 for d in draws)
    assert stats.kstest(np.array(draws, dtype=float) / 1e30, "uniform").pvalue > FALSE_ALARM


def test_choices_follow_exponential_weights() -> None:
    exponents = [Fraction(0), Fraction(1), Fraction(1, 2), Fraction(30)]
    weights = np.exp([-float(x) for x in exponents])
    rng = seeded(15)
    draws = np.bincount([noise.choose_exp(exponents, rng=rng) for _ in range(60_000)], minlength=4)
    assert stats.chisquare(draws[:3], weights[:3] / weights.sum() * 60_000 + 1e-9, sum_check=False).pvalue > FALSE_ALARM
    assert draws[3] == 0


def test_choices_far_apart_are_no_trouble() -> None:
    assert noise.choose_exp([Fraction(10) ** 400, 0], rng=seeded(16)) == 1
    weights = np.array([1, 1 << 40])
    assert {noise.choose_exp([0, 0], weights=weights, rng=seeded(i)) for i in range(50)} == {1}


def test_shapes_and_types_are_as_asked() -> None:
    assert isinstance(noise.discrete_laplace(3), int)
    assert noise.discrete_gaussian(3, size=5).dtype == np.int64
    assert noise.geometric(3, size=(2, 3)).shape == (2, 3)
    assert noise.uniform(5, size=0).shape == (0,)


def test_rejected_places_are_filled_by_later_rounds() -> None:
    out = np.full(5_000, 99_999, dtype=np.int64)
    _fill_array(out, _distributions.laplace_distribution(Fraction(1, 2)), seeded(16), _kernels.numpy_kernel)
    assert np.abs(out).max() < 50
    assert all(abs(draw_one(_distributions.laplace_distribution(Fraction(1, 2)), seeded(i))) < 50 for i in range(200))


@pytest.mark.parametrize("sigma", ["0.001", "0.0099", "1e-300", "1e-4000"])
def test_a_sigma_that_would_be_no_noise_is_refused_and_not_worked_out(sigma: str) -> None:
    with pytest.raises(Underflow):
        noise.discrete_gaussian(Decimal(sigma))


def test_exponents_as_far_apart_as_integers_go_do_not_wrap() -> None:
    far = np.array([2**63 - 1, -(2**63), 0])
    assert {noise.choose_exp(far, rate=Fraction(1, 2**60), rng=seeded(i)) for i in range(20)} == {1}
    assert noise.choose_exp(np.array([2**64 - 1, 0], dtype=np.uint64)) == 1
    assert noise.choose_exp(np.array([1, 0]), rate=10**400) == 1
