from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from hubbub.noise.testing import seeded
from hubbub.terms import MissingParameter, NotANumber, OutOfRange, TooLarge, Underflow, WrongShape

from .contract import BAD_NUMBERS, Contract
from .laws import cell_masses, cells, laplace_masses

STRANGE = [math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 10**400, Fraction(1, 3)]


class TestLaplace(Contract):
    kind = Laplace
    standard = {"sensitivity": 1, "epsilon": 0.5, "dimension": 1}
    data = 0.0
    neighbours = (0.0, 1.0)
    trials = 40_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "sensitivity": BAD_NUMBERS,
        "dimension": [(0, OutOfRange), (1.5, OutOfRange), ("2", NotANumber)],
        "missing": [(math.nan, OutOfRange), ("0", NotANumber)],
        "scale": [(2, MissingParameter)],
    }
    bad_data = [("3", NotANumber), ([1.0, 2.0], WrongShape), (None, NotANumber)]
    odd_data = [*STRANGE, np.array([np.nan]), np.array([np.inf]), [math.nan]]

    def outcomes(self, data, trials, rng, **changes):
        # one vector release of a mechanism whose sensitivity is that of a single coordinate
        one = self.make(**changes)
        many = Laplace(sensitivity=1, scale=one.event.scale, dimension=trials)
        return cells(many.release(np.full(trials, data), rng=rng), 0.5)

    def masses(self):
        return cell_masses(lambda x: stats.laplace.cdf(x, scale=2), 0.5)

    def errors(self, trials, rng):
        mechanism = self.make()
        many = self.make(epsilon=None, scale=mechanism.event.scale, dimension=trials)
        return many.release(np.zeros(trials), rng=rng), mechanism.error

    def test_a_scale_may_be_given_instead(self) -> None:
        assert Laplace(sensitivity=1, scale=2).event.scale == 2

    def test_rounding_to_the_grid_is_part_of_the_sensitivity(self) -> None:
        event = Laplace(sensitivity=1, epsilon=1, dimension=3).event
        assert event.sensitivity == 1 + 3 * event.grid
        assert event.epsilon == 1

    def test_every_output_is_on_the_grid(self) -> None:
        mechanism = Laplace(sensitivity=1, epsilon=1)
        for value in (0.1, 1 / 3, math.pi):
            assert (Fraction(mechanism.release(value, rng=seeded(3))) / mechanism.event.grid).denominator == 1


class TestGeometric(Contract):
    kind = Geometric
    standard = {"sensitivity": 2, "epsilon": 0.5, "dimension": 1}
    data = 10
    neighbours = (10, 12)
    trials = 40_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "sensitivity": [*BAD_NUMBERS, (1.5, OutOfRange)],
        "dimension": [(0, OutOfRange), ("2", NotANumber)],
        "scale": [(2, MissingParameter)],
    }
    bad_data = [("3", NotANumber), (1.0, NotANumber), (math.nan, NotANumber), ([1, 2], WrongShape)]
    odd_data = [10**30, -(10**30), 2**63 - 1, -(2**63), np.uint64(2**64 - 1), np.array([2**63 - 1])]

    def outcomes(self, data, trials, rng, **changes):
        one = self.make(**changes)
        many = Geometric(sensitivity=2, scale=one.event.scale, dimension=trials)
        return many.release(np.full(trials, data), rng=rng).tolist()

    def masses(self):
        return laplace_masses(4, center=10)

    def errors(self, trials, rng):
        mechanism = self.make()
        many = Geometric(sensitivity=2, scale=mechanism.event.scale, dimension=trials)
        return many.release(np.zeros(trials, dtype=int), rng=rng), mechanism.error

    def test_huge_integers_do_not_wrap_around(self) -> None:
        assert Geometric(sensitivity=1, epsilon=1).release(2**63 - 1, rng=seeded(1)) > 2**62
        both = Geometric(sensitivity=1, epsilon=1, dimension=2).release(np.array([2**63 - 1, -(2**63)]), rng=seeded(1))
        assert both[0] > 2**62
        assert both[1] < -(2**62)

    def test_error_is_the_smallest_that_holds(self) -> None:
        mechanism = Geometric(sensitivity=1, epsilon=1)
        p = math.exp(-1)
        for confidence in (0.5, 0.9, 0.95, 0.999):
            w = mechanism.error(confidence)
            assert 2 * p ** (w + 1) / (1 + p) <= 1 - confidence + 1e-12
            assert w == 0 or 2 * p**w / (1 + p) > 1 - confidence


def test_noise_that_would_be_none_is_refused() -> None:
    with pytest.raises(Underflow):
        Geometric(sensitivity=1, epsilon=10_000)
    with pytest.raises(Underflow):
        DiscreteGaussian(sensitivity=1, sigma=0.0001)


def test_noise_beyond_the_integers_is_refused() -> None:
    with pytest.raises(TooLarge):
        Geometric(sensitivity=1, epsilon=Fraction(1, 2**520), dimension=2)


@pytest.mark.parametrize("kind", [Laplace, Geometric, Gaussian, DiscreteGaussian])
def test_vectors_need_no_declared_length(kind) -> None:
    made = kind(sensitivity=1, **({"epsilon": 1} if kind in (Laplace, Geometric) else {"rho": 0.5}))
    assert made.release([1, 2, 3], rng=seeded(5)).shape == (3,)
    assert made.release(np.zeros((4, 5), dtype=int), rng=seeded(5)).shape == (4, 5)


def test_rounding_as_many_values_as_allowed_is_paid_for() -> None:
    event = Laplace(sensitivity=1, epsilon=0.001).event
    assert event.sensitivity == 1 + event.dimension * event.grid
    assert float(event.sensitivity) < 1 + 1e-5
