"""The two-party variant: its error formula, and that it says that it is simulated."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.local import TwoPartyUStatistic
from hubbub.noise.testing import seeded
from hubbub.terms import EmptyInput, OutOfRange

from ._statistics import covers_95, off_by, variance_fits

VALUES = np.linspace(0, 1, 2000)
GINI = float(np.abs(VALUES[:, None] - VALUES).sum()) / (2000 * 1999)


@pytest.mark.parametrize("epsilon", [1, 2])
def test_the_error_is_the_formula(epsilon: int, soak: int) -> None:
    statistic = TwoPartyUStatistic("gini", epsilon=epsilon, lower=0, upper=1)
    found = [statistic.simulate(VALUES, rng=seeded(s)) for s in range(300 * soak)]
    values = [one.value for one in found]
    assert off_by(values, GINI) < 5
    assert variance_fits(values, statistic.expected_variance(GINI, people=2000))
    assert not variance_fits(values, statistic.expected_variance(GINI, people=4000))
    assert covers_95([one.interval() for one in found], GINI)


def test_other_units_scale_the_formula() -> None:
    small = TwoPartyUStatistic("variance", epsilon=1, lower=0, upper=1)
    large = TwoPartyUStatistic("variance", epsilon=1, lower=0, upper=10)
    assert large.expected_variance(8, people=100) == pytest.approx(10**4 * small.expected_variance(0.08, people=100))


def test_a_kernel_of_ones_own_needs_bounds() -> None:
    statistic = TwoPartyUStatistic(np.minimum, epsilon=4, lower=0, upper=1, kernel_bounds=(0, 1))
    assert statistic.simulate(VALUES, rng=seeded(1)).value == pytest.approx(1 / 3, abs=0.1)
    with pytest.raises(OutOfRange):
        TwoPartyUStatistic(np.minimum, epsilon=4, lower=0, upper=1)
    with pytest.raises(OutOfRange):
        TwoPartyUStatistic("kendall", epsilon=4, lower=0, upper=1)
    with pytest.raises(EmptyInput):
        statistic.simulate([0.5])


def test_it_says_that_it_is_simulated() -> None:
    statistic = TwoPartyUStatistic("gini", epsilon=1, lower=0, upper=1)
    found = statistic.simulate([0.5, np.nan, 3.0, 0.1], rng=seeded(1))
    assert "nobody was protected" in " ".join(found.text().split())
    assert found.to_json()["simulated"] is True
    assert found.pairs == 2
    assert float(statistic.event.epsilon) == 1
