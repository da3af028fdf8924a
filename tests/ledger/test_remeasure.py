"""More accuracy for the difference in price: the sums are exact, and the combination is as accurate as it says."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.accounting import remeasure
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Laplace
from hubbub.noise import discrete_gaussian
from hubbub.noise.testing import seeded
from hubbub.terms import Compose, GaussianNoise, OutOfRange, WrongShape

sigmas = st.fractions(min_value=Fraction(1, 4), max_value=10_000)


def gauss(sigma: object, **more: object) -> GaussianNoise:
    event = DiscreteGaussian(sensitivity=1, sigma=sigma, **more).event  # type: ignore[arg-type]
    assert isinstance(event, GaussianNoise)
    return event


@given(sigmas, st.fractions(min_value=Fraction(1, 20), max_value=Fraction(99, 100)), st.integers(1, 4))
def test_together_they_cost_at_most_the_target_and_hardly_less(sigma: Fraction, part: Fraction, times: int) -> None:
    target = gauss(sigma * part)
    had = [gauss(sigma * Fraction(times))] * times  # each worth 1/times of the first's precision, at most
    plan = remeasure(had, target)
    assert isinstance(plan.event, GaussianNoise) and plan.weights is not None
    total = sum((event.rho for event in had), Fraction(0)) + plan.event.rho
    assert target.rho * (1 - Fraction(1, 10**12)) <= total <= target.rho
    ((old, new),) = plan.weights
    assert old + new == 1 and old > 0 and new > 0


def test_old_and_new_are_as_accurate_as_one_answer_of_the_target() -> None:
    coarse, fine = 30, 18
    plan = remeasure([gauss(coarse)], gauss(fine))
    assert isinstance(plan.event, GaussianNoise)
    source = seeded(11)
    count = 20_000
    first, second = (discrete_gaussian(sigma, count, rng=source) for sigma in (coarse, plan.event.sigma))
    ((old, new),) = plan.weights or ()
    together = float(old) * first + float(new) * second
    # the variance of 20,000 normal draws is within 4% of the truth but for one time in 15,000
    assert np.var(together) == pytest.approx(fine**2, rel=0.04)
    assert np.var(0.5 * first + 0.5 * second) > fine**2 * 1.04


def test_composed_gaussians_are_refined_part_by_part() -> None:
    old, target = Compose((gauss(40), gauss(80))), Compose((gauss(20), gauss(50)))
    plan = remeasure([old], target)
    assert isinstance(plan.event, Compose) and plan.weights is not None and len(plan.weights) == 2
    assert plan.combine([Fraction(0)], [Fraction(4)], part=0) == [4 * plan.weights[0][1]]


@pytest.mark.parametrize(
    "had",
    [
        [],
        [Laplace(sensitivity=1, epsilon=0.1).event],
        [DiscreteGaussian(sensitivity=2, sigma=40).event],
        [Gaussian(sensitivity=1, sigma=40).event],
        [DiscreteGaussian(sensitivity=1, sigma=40, neighbours="replace").event],
        [Compose((gauss(40), gauss(40)))],
    ],
)
def test_whatever_does_not_add_up_pays_the_full_price(had: list[GaussianNoise]) -> None:
    plan = remeasure(had, gauss(20))
    assert plan.event == gauss(20) and plan.weights is None and "full price" in plan.words
    assert plan.combine([Fraction(1)], [Fraction(2)]) == [2]


def test_accuracy_cannot_be_given_back() -> None:
    for sigma in (20, 30):
        with pytest.raises(OutOfRange):
            remeasure([gauss(20)], gauss(sigma))


def test_other_keys_cannot_be_combined() -> None:
    with pytest.raises(WrongShape):
        remeasure([gauss(40)], gauss(20)).combine([Fraction(1)], [])
