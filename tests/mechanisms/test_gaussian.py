from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hubbub.mechanisms import DiscreteGaussian, Gaussian
from hubbub.terms import MissingParameter, NotANumber, OutOfRange, WrongShape

from .contract import BAD_NUMBERS, BAD_PROBABILITIES, Contract
from .laws import cell_masses, cells, gaussian_masses
from .test_laplace import STRANGE

MU = 0.7503123307834181  # (1, 0.05)-DP


def test_the_oracle_for_mu_is_right() -> None:
    delta = stats.norm.cdf(MU / 2 - 1 / MU) - math.e * stats.norm.cdf(-MU / 2 - 1 / MU)
    assert delta == pytest.approx(0.05, abs=1e-12)


class GaussianContract(Contract):
    standard = {"sensitivity": 8, "epsilon": 1, "delta": 0.05, "dimension": 1}
    data = 0
    neighbours = (0, 8)
    delta = 0.05
    trials = 40_000
    sigma = 8 / MU
    bad = {
        "epsilon": BAD_NUMBERS,
        "delta": [*BAD_PROBABILITIES, (None, MissingParameter)],
        "sensitivity": BAD_NUMBERS,
        "dimension": [(0, OutOfRange), ("2", NotANumber)],
        "sigma": [(2, MissingParameter)],
        "rho": [(2, MissingParameter)],
    }

    def off_by(self, factor):
        return {"epsilon": None, "delta": None, "sigma": self.sigma / factor}

    def many(self, trials, **changes):
        sigma = self.make(**changes).event.sigma
        return type(self).kind(sensitivity=8, sigma=sigma, dimension=trials)

    def errors(self, trials, rng):
        return self.many(trials).release(np.zeros(trials, dtype=int), rng=rng), self.make().error

    def test_calibration_is_analytic(self) -> None:
        assert float(self.make().event.sigma) == pytest.approx(self.sigma, rel=0.03)

    def test_rho_is_met_exactly_or_better(self) -> None:
        event = self.make(epsilon=None, delta=None, rho=0.1).event
        assert event.rho <= 0.1
        assert event.rho == pytest.approx(0.1, rel=1e-2)


class TestGaussian(GaussianContract):
    kind = Gaussian
    bad_data = [("3", NotANumber), ([1.0, 2.0], WrongShape), (None, NotANumber)]
    odd_data = [*STRANGE, np.array([np.nan]), np.array([np.inf])]

    def outcomes(self, data, trials, rng, **changes):
        return cells(self.many(trials, **changes).release(np.full(trials, float(data)), rng=rng), 2)

    def masses(self):
        return cell_masses(lambda x: stats.norm.cdf(x, scale=self.sigma), 2)


class TestDiscreteGaussian(GaussianContract):
    kind = DiscreteGaussian
    bad_data = [("3", NotANumber), (1.0, NotANumber), ([1, 2], WrongShape)]
    odd_data = [10**30, -(2**63), np.array([2**63 - 1])]

    def outcomes(self, data, trials, rng, **changes):
        return self.many(trials, **changes).release(np.full(trials, data), rng=rng).tolist()

    def masses(self):
        return gaussian_masses(float(self.make().event.sigma))

    def test_its_own_masses_meet_epsilon_and_delta(self) -> None:
        a, b = (gaussian_masses(float(self.make().event.sigma), center) for center in self.neighbours)
        assert sum(max(0.0, a.get(x, 0) - math.e * b.get(x, 0)) for x in {*a, *b}) <= 0.05
