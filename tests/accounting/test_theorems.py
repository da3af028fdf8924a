"""The lectures' theorems one by one, calibration, conversions, groups and amplification."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hubbub.accounting import (
    Repeat,
    amplification,
    calibration,
    classic_sigma,
    composition,
    conversions,
    delta,
    epsilon,
    gaussian_tradeoff,
    group_privacy,
    noise_for,
)
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Laplace
from hubbub.terms import (
    ApproximateDP,
    GaussianDP,
    NoBound,
    NotProved,
    OutOfRange,
    PureDP,
    RenyiDP,
    Unreachable,
    ZeroConcentratedDP,
)


def test_simple_composition_adds_up_exactly() -> None:
    assert composition.simple([(0.1, 1e-6)] * 10) == ApproximateDP(Fraction(1), Fraction(1, 100_000))


def test_advanced_composition_is_the_lectures_formula() -> None:
    e, k, slack = 0.05, 500, 1e-5
    formula = math.sqrt(2 * k * math.log(1 / slack)) * e + k * e * (math.exp(e) - 1)
    together = composition.advanced(epsilon=e, delta=1e-8, times=k, slack=slack)
    assert float(together.epsilon) == pytest.approx(formula, rel=1e-9)
    assert together.delta == k * Fraction(1, 10**8) + Fraction(1, 10**5)


def test_advanced_composition_beats_simple_for_many_and_loses_for_few() -> None:
    assert composition.advanced(epsilon=0.01, times=10_000, slack=1e-6).epsilon < 100
    assert composition.advanced(epsilon=1, times=2, slack=1e-6).epsilon > 2


@pytest.mark.parametrize(
    "e, sigma", [(0.1, 30.750), (0.5, 7.032), (1, 3.731), (2, 1.994), (5, 0.892)], ids=lambda v: f"{v:g}"
)
def test_the_analytic_calibration_gives_the_known_sigmas(e: float, sigma: float) -> None:
    assert Gaussian(sensitivity=1, epsilon=e, delta=1e-5).sigma == pytest.approx(sigma, abs=6e-4)


@pytest.mark.parametrize("e, sigma", [(0.1, 48.448), (0.5, 9.690), (1, 4.845)])
def test_the_classic_formula_is_the_lectures(e: float, sigma: float) -> None:
    assert classic_sigma(sensitivity=1, epsilon=e, delta=1e-5) == pytest.approx(sigma, abs=6e-4)


def test_the_classic_formula_refuses_epsilon_above_one_and_is_wrong_far_above() -> None:
    with pytest.raises(NotProved):
        classic_sigma(sensitivity=1, epsilon=1.01, delta=1e-5)
    claimed = math.sqrt(2 * math.log(1.25e5)) / 10  # what it would have said for epsilon = 10
    assert gaussian_tradeoff.delta_of(10, 1 / claimed) > 2.2e-5


@settings(max_examples=40)
@example(0.05000000000000001, 1e-10)
@example(0.008397958097186143, 0.008397958097186143)
@given(st.floats(0.001, 8), st.floats(1e-10, 1e-2))
def test_calibrated_gaussians_meet_their_target_and_not_by_much(e: float, d: float) -> None:
    event = Gaussian(sensitivity=1, epsilon=e, delta=d).event
    assert delta(event, epsilon=e) <= d
    mu, _ = gaussian_tradeoff.mu_of(event)
    assert gaussian_tradeoff.delta_of(e, mu * 1.0001) > d * (1 - 1e-6)


@pytest.mark.parametrize("dimension", [1, 30])
@pytest.mark.parametrize("sensitivity", [1, 4])
@pytest.mark.parametrize("e, d", [(0.1, 1e-7), (1, 1e-6), (6, 1e-6)])
def test_calibrated_integer_gaussians_meet_their_target(e: float, d: float, sensitivity: int, dimension: int) -> None:
    event = DiscreteGaussian(sensitivity=sensitivity, epsilon=e, delta=d, dimension=dimension).event
    assert delta(event, epsilon=e) <= d * (1 + 1e-6)
    ideal = sensitivity / gaussian_tradeoff.mu_for(e, d)
    assert float(event.sigma) <= math.sqrt(ideal**2 + 1.5) * 1.01


def test_rho_calibration_is_exact_up_to_rounding() -> None:
    event = DiscreteGaussian(sensitivity=3, rho=0.02).event
    assert event.rho <= Fraction(2, 100)
    assert event.rho > Fraction(2, 100) * Fraction(999, 1000)


def test_noise_is_calibrated_for_whole_compositions() -> None:
    run = lambda s: Repeat(Gaussian(sensitivity=1, sigma=s).event, 1000)  # noqa: E731
    sigma = noise_for(run, epsilon_target=1, delta=1e-5)
    assert float(sigma) == pytest.approx(117.97, rel=2e-3)
    assert epsilon(run(sigma), delta=1e-5) <= 1
    assert epsilon(run(sigma * Fraction(99, 100)), delta=1e-5) > 1


@pytest.mark.parametrize("target", [0.1, 0.5, 1, 2, 8])
def test_the_last_digits_of_doubles_do_not_decide_how_much_noise_there_is(
    target: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An event makes a request what it is: on a machine with other last digits it would be paid for twice."""

    def scale() -> Fraction:
        return noise_for(
            lambda s: Repeat(Gaussian(sensitivity=1, sigma=s).event, 50),
            epsilon_target=target,
            delta=1e-6,
            precision=Fraction(1, 2000),
        )

    here = scale()
    for jitter in (1 - 1e-12, 1 + 1e-12):
        with monkeypatch.context() as patch:
            for name in ("epsilon", "rough_epsilon"):
                cost = getattr(calibration, name)
                patch.setattr(
                    calibration, name, lambda *a, cost=cost, jitter=jitter, **k: float(cost(*a, **k)) * jitter
                )
            assert scale() == here
    assert here.denominator.bit_count() == 1  # few binary digits


def test_noise_for_a_pure_target() -> None:
    scale = noise_for(lambda s: Laplace(sensitivity=1, scale=s).event, epsilon_target=0.5, delta=0)
    assert 2 <= scale <= Fraction(2003, 1000)


def test_an_unreachable_target_is_said() -> None:
    with pytest.raises(Unreachable):
        noise_for(lambda s: Gaussian(sensitivity=1, sigma=s).event, epsilon_target=1, delta=1e-5, most=2)
    with pytest.raises(Unreachable):
        Gaussian(sensitivity=1, epsilon=1e-12, delta=1e-300)


# ---------------------------------------------------------------- conversions


def test_zcdp_converts_tightly() -> None:
    assert conversions.rho_epsilon(1.25, 1e-5) == pytest.approx(8.0784, abs=1e-4)
    assert conversions.rho_epsilon(1.25, 1e-5) < 1.25 + 2 * math.sqrt(1.25 * math.log(1e5))


@given(st.floats(1e-6, 20), st.floats(1e-12, 0.1))
def test_conversions_of_rho_are_inverse(rho: float, d: float) -> None:
    e = conversions.rho_epsilon(rho, d)
    assert conversions.rho_delta(rho, e) <= d * (1 + 1e-6)
    if e > 0.01:  # at epsilon 0 no rho above 0 is allowed, though a small one would do
        assert conversions.rho_for(e, d) == pytest.approx(rho, rel=1e-6)


@given(st.floats(1e-4, 5), st.floats(1e-10, 1e-3))
def test_the_gaussian_mechanisms_exact_epsilon_is_below_its_zcdp_epsilon(mu: float, d: float) -> None:
    assert gaussian_tradeoff.epsilon_of(d, mu) <= conversions.rho_epsilon(mu * mu / 2, d) * (1 + 1e-9)


@given(st.floats(0.001, 5))
def test_pure_dp_as_a_renyi_curve_is_randomized_responses(e: float) -> None:
    p = 1 / (1 + math.exp(-e))
    for order in (1.5, 2.0, 10.0):
        true = math.log(p**order * (1 - p) ** (1 - order) + (1 - p) ** order * p ** (1 - order)) / (order - 1)
        found = conversions.pure_divergence(order, e)
        assert found >= true * (1 - 1e-9)
        assert found <= min(e, order * e * e / 2) * (1 + 1e-9)


def test_measures_convert_to_each_other() -> None:
    pure = conversions.to_concentrated(PureDP(Fraction(1)))
    assert float(pure.rho) == pytest.approx(math.tanh(0.5), rel=1e-12) and pure.delta == 0
    assert conversions.to_concentrated(GaussianDP(Fraction(2))) == ZeroConcentratedDP(Fraction(2))
    curve = conversions.to_renyi(ZeroConcentratedDP(Fraction(1, 2)), (2.0, 4.0))
    assert curve == RenyiDP((2.0, 4.0), (1.0, 2.0))
    for measure in (ZeroConcentratedDP(Fraction(1, 2)), GaussianDP(Fraction(1)), curve):
        assert conversions.to_approximate(measure, 1e-6).epsilon > 1
    assert conversions.to_approximate(PureDP(Fraction(1)), 0).epsilon == 1
    own = ApproximateDP(Fraction(1), Fraction(1, 10**6))
    assert conversions.to_approximate(own, 1e-6) == own
    with pytest.raises(NoBound):
        conversions.to_approximate(ZeroConcentratedDP(Fraction(1), Fraction(1, 100)), 0.001)


# ---------------------------------------------------------------- groups


def test_groups_in_the_central_model() -> None:
    assert group_privacy.pure(epsilon=0.5, size=4) == PureDP(Fraction(2))
    together = group_privacy.approximate(epsilon=0.5, delta=1e-6, size=3)
    assert together.epsilon == Fraction(3, 2)
    assert float(together.delta) == pytest.approx(1e-6 * (1 + math.exp(0.5) + math.exp(1)), rel=1e-9)
    assert together.delta <= 3 * math.exp(2 * 0.5) * 1e-6  # the lectures' form
    assert group_privacy.concentrated(rho=0.5, size=3) == ZeroConcentratedDP(Fraction(9, 2))
    assert group_privacy.approximate(epsilon=1, delta=1e-6, size=1) == ApproximateDP(Fraction(1), Fraction(1, 10**6))
    assert group_privacy.approximate(epsilon=100, delta=1e-6, size=10).delta == 1


def test_groups_in_the_local_model_pay_the_square_root() -> None:
    e, k, d = 0.1, 100, 1e-6
    together = group_privacy.local(epsilon=e, size=k, delta=d)
    assert float(together.epsilon) == pytest.approx(k * e * e / 2 + e * math.sqrt(2 * k * math.log(1 / d)))
    assert together.epsilon < group_privacy.pure(epsilon=e, size=k).epsilon
    assert group_privacy.local(epsilon=1, size=1, delta=d).epsilon == 1, "never worse than the central bound"


def test_grouposition_holds_for_randomized_response() -> None:
    """Exact hockey-stick divergence of k independent randomized responses, from the binomial law."""
    e, k, d = 0.5, 40, 1e-4
    p = 1 / (1 + math.exp(-e))
    lies = np.arange(k + 1)
    log_mass = [math.lgamma(k + 1) - math.lgamma(j + 1) - math.lgamma(k - j + 1) for j in lies]
    mass = np.exp(np.array(log_mass) + (k - lies) * math.log(p) + lies * math.log(1 - p))
    loss = (k - 2 * lies) * e
    bound = float(group_privacy.local(epsilon=e, size=k, delta=d).epsilon)
    assert np.sum(mass * np.maximum(0, -np.expm1(np.minimum(0, bound - loss)))) <= d


# ---------------------------------------------------------------- amplification


@given(st.floats(0.01, 3), st.floats(0.001, 1))
def test_sampling_amplifies_by_the_known_formula(e: float, q: float) -> None:
    amplified = amplification.poisson(epsilon=e, delta=1e-6, rate=q)
    assert float(amplified.epsilon) == pytest.approx(math.log1p(q * math.expm1(e)), rel=1e-9)
    assert amplified.epsilon <= Fraction(repr(e))
    assert float(amplified.delta) == pytest.approx(q * 1e-6)


def test_fixed_size_samples_amplify_by_their_share() -> None:
    half = amplification.without_replacement(epsilon=1, sample=50, population=100)
    assert float(half.epsilon) == pytest.approx(math.log1p(0.5 * math.expm1(1)))
    with pytest.raises(OutOfRange):
        amplification.without_replacement(epsilon=1, sample=101, population=100)
    assert amplification.poisson(epsilon=1000, rate=0.5).epsilon == 1000
