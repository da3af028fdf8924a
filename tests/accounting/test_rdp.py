"""The moments accountant at the edge of what dp-accounting computes."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from hubbub import accounting
from hubbub.accounting import Poisson, Repeat, renyi
from hubbub.terms import GaussianNoise, Neighbours


def test_little_noise_on_a_sample_makes_no_noise_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Orders whose series does not converge are infinite, and nobody has to read about it."""
    steps = Repeat(
        Poisson(GaussianNoise(sigma=Fraction(9, 10), sensitivity=Fraction(1), grid=Fraction(1, 1000)), Fraction(1, 6)),
        600,
    )
    found = renyi.divergences(steps, Neighbours.ADD_REMOVE, np.array([1.4, 2.0, 8.0]))
    assert found is not None and np.isinf(found[0]) and np.isfinite(found[1:]).all()
    assert not caplog.records


def test_many_steps_with_little_noise_raise_no_warning() -> None:
    step = GaussianNoise(sigma=Fraction(59, 100), sensitivity=Fraction(1), grid=Fraction(1, 1000))
    assert 1 < accounting.epsilon(Repeat(Poisson(step, Fraction(1, 100)), 1000), delta=1e-5) < 100


def test_hardly_any_noise_costs_a_lot_and_does_not_crash() -> None:
    step = GaussianNoise(sigma=Fraction(1, 100), sensitivity=Fraction(1), grid=Fraction(1, 10_000))
    assert accounting.epsilon(Repeat(Poisson(step, Fraction(1, 10)), 400), delta=1e-5) > 10_000
