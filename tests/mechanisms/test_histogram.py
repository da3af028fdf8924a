from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from hubbub.mechanisms import Histogram
from hubbub.noise.testing import seeded
from hubbub.terms import EmptyInput, GaussianNoise, LaplaceNoise, MissingParameter, NotANumber, OutOfRange, WrongShape

from .contract import BAD_NUMBERS, BAD_PROBABILITIES, Contract
from .laws import laplace_masses


class TestHistogram(Contract):
    kind = Histogram
    standard = {"categories": ["a", "b", "c"], "epsilon": 0.5}
    data = ["a"] * 7 + ["c"]
    neighbours = (["a"], [])
    trials = 30_000
    bad = {
        "epsilon": [*BAD_NUMBERS, (None, MissingParameter)],
        "delta": BAD_PROBABILITIES,
        "rho": [(1, MissingParameter)],
        "max_per_unit": [(0, OutOfRange), (1.5, OutOfRange), ("1", NotANumber)],
        "categories": [([], EmptyInput), (["a", "a"], OutOfRange), ([["a"]], OutOfRange)],
    }
    bad_data = [("abc", WrongShape), (np.zeros((2, 2)), WrongShape)]
    odd_data = [[math.nan, None, ["a"], ("a", ["b"]), {}, 1e400, "z"], np.array([np.nan, np.inf]), [], iter("ab")]

    def outcomes(self, data, trials, rng, **changes):
        # many bins of one release, each holding what bin "a" holds
        each = data.count("a")
        bins = range(trials // 10)
        wide = self.make(**{"categories": bins, **changes})
        return [int(c) for _ in range(10) for c in wide.release([b for b in bins for _ in range(each)], rng=rng)]

    def masses(self):
        return laplace_masses(2, center=7)

    def errors(self, trials, rng):
        wide = self.make(categories=range(trials))
        return wide.release([], rng=rng), wide.error

    def test_counts_come_in_the_order_of_the_categories(self) -> None:
        counts = Histogram(categories=["x", "y", 3], epsilon=50).release(["y"] * 500 + [3] * 100, rng=seeded(1))
        assert [round(c, -1) for c in counts.tolist()] == [0, 500, 100]

    def test_unknown_values_change_nothing(self) -> None:
        known = self.make().release(["a", "b"], rng=seeded(2))
        assert known.tolist() == self.make().release(["a", "zzz", "b", None], rng=seeded(2)).tolist()

    @pytest.mark.parametrize("most", [1, 2, 3])
    def test_no_unit_moves_the_counts_by_more_than_the_sensitivities(self, most: int) -> None:
        units = [v for v in itertools.product(range(most + 1), repeat=3) if sum(v) <= most]
        added = [np.array(v) for v in units]
        replaced = [np.array(v) - np.array(w) for v in units for w in units]
        for moves, relation in ((added, "add-remove"), (replaced, "replace")):
            l1 = self.make(max_per_unit=most, neighbours=relation).event.sensitivity
            l2 = self.make(max_per_unit=most, neighbours=relation, delta=1e-6).event.sensitivity
            assert max(np.abs(m).sum() for m in moves) == l1
            widest = max(math.sqrt((m**2).sum()) for m in moves)
            assert widest <= l2 <= widest * 1.001

    def test_the_cost_decides_the_noise(self) -> None:
        assert isinstance(self.make().event, LaplaceNoise)
        assert isinstance(self.make(delta=1e-6).event, GaussianNoise)
        assert isinstance(self.make(epsilon=None, rho=0.1).event, GaussianNoise)
        assert self.make(epsilon=None, rho=0.1).event.rho <= 0.1
        with pytest.raises(MissingParameter):
            self.make(epsilon=None, rho=0.1, delta=1e-6)

    @pytest.mark.parametrize("cost", [{}, {"delta": 1e-3}])
    def test_all_bins_are_within_max_error_at_once(self, cost, soak) -> None:
        bins, rng = Histogram(categories=range(100), epsilon=0.2, **cost), seeded(43)
        trials = 1000 * soak
        worst = np.array([np.abs(bins.release([], rng=rng)).max() for _ in range(trials)])
        slack = 4 * math.sqrt(0.09 / trials)
        assert np.mean(worst <= bins.max_error(0.9)) >= 0.9 - slack
        assert np.mean(worst <= 0.85 * bins.max_error(0.9)) < 0.9 - slack

    def test_max_error_grows_with_the_logarithm_of_the_bins(self) -> None:
        told = [Histogram(categories=range(k), epsilon=0.01).max_error(0.95) for k in (10, 100, 1000)]
        assert told[2] - told[1] == pytest.approx(told[1] - told[0], rel=0.02)
        assert told[1] - told[0] == pytest.approx(math.log(10) / 0.01, rel=0.02)
