from __future__ import annotations

import math
import statistics
import warnings
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.mechanisms import SampleAggregate
from hubbub.noise.testing import seeded
from hubbub.terms import NotANumber, OutOfRange, ReversedBounds

from .contract import BAD_NUMBERS, Contract
from .laws import cell_masses, cells


def noisy_fool(block):
    warnings.warn("there is a secret", stacklevel=1)
    raise RuntimeError("a secret")


class TestSampleAggregate(Contract):
    kind = SampleAggregate
    standard = {"function": len, "blocks": 4, "lower": -2, "upper": 2, "epsilon": 1}
    data = [1.0]
    trials = 10_000
    # one row changes one block from one end of the bounds to the other
    neighbours = ([], [1.0])
    bad = {
        "epsilon": BAD_NUMBERS,
        "function": [(3, NotANumber), ("mean", NotANumber)],
        "blocks": [(0, OutOfRange), (1.5, OutOfRange), ("2", NotANumber)],
        "lower": [(2, ReversedBounds), (3, ReversedBounds), (math.nan, OutOfRange)],
        "upper": [(-3, ReversedBounds), (math.inf, OutOfRange)],
        "max_per_unit": [(0, OutOfRange), (1.5, OutOfRange)],
    }
    odd_data = [[math.nan, math.inf, None, "x"], np.array([np.nan, np.inf]), [], np.zeros((5, 3))]

    def make(self, **changes):
        changes.setdefault("function", lambda block: 9 if len(block) else -9)
        return super().make(**changes)

    def outcomes(self, data, trials, rng, **changes):
        mechanism = self.make(**changes)
        return cells((mechanism.release(data, rng=rng) for _ in range(trials)), 0.25)

    def masses(self):
        # one full block of four: the mean is -1, the noise of scale (upper - lower) / blocks / epsilon = 1
        return cell_masses(lambda x: stats.laplace.cdf(x, loc=-1, scale=1), 0.25)

    def errors(self, trials, rng):
        mechanism = self.make()
        return np.array([mechanism.release([1.0], rng=rng) + 1 for _ in range(trials // 2)]), mechanism.error

    @pytest.mark.parametrize(
        "result",
        [noisy_fool, lambda b: math.nan, lambda b: math.inf, lambda b: None, lambda b: "3", lambda b: [1.0],
         lambda b: np.array([1.0, 2.0]), lambda b: 1j, lambda b: np.mean(np.zeros(0)), lambda b: Decimal("NaN"),
         lambda b: 1 // 0],
    )  # fmt: skip
    def test_a_block_without_a_number_counts_as_the_middle(self, result) -> None:
        mechanism = SampleAggregate(function=result, blocks=10, lower=10, upper=30, epsilon=1000)
        assert mechanism.release([1.0] * 50, rng=seeded(81)) == pytest.approx(20, abs=0.1)

    @pytest.mark.parametrize("number", [10**20, 25, 25.0, Fraction(25), Decimal(25), np.float32(25), np.array(25)])
    def test_numbers_of_any_kind_count(self, number) -> None:
        mechanism = SampleAggregate(function=lambda b: number, blocks=10, lower=10, upper=25, epsilon=1000)
        assert mechanism.release([1.0] * 50, rng=seeded(82)) == pytest.approx(25, abs=0.1)

    def test_an_integer_beyond_the_doubles_counts(self) -> None:
        mechanism = SampleAggregate(function=lambda b: 10**400, blocks=10, lower=10, upper=25, epsilon=1000)
        assert mechanism.release([1.0] * 50, rng=seeded(82)) == pytest.approx(25, abs=0.1)

    def test_every_row_is_in_exactly_one_block_in_order(self) -> None:
        for rows in (list(range(200)), np.arange(200), np.arange(400).reshape(200, 2)):
            seen = []
            keep = SampleAggregate(
                function=lambda b, seen=seen: seen.append(list(b)) or 0, blocks=7, lower=0, upper=1, epsilon=1
            )
            keep.release(rows, rng=seeded(83))
            assert len(seen) == 7
            flat = [int(np.ravel(row)[0]) for block in seen for row in block]
            assert sorted(flat) == sorted(int(np.ravel(row)[0]) for row in rows)
            assert all(
                [int(np.ravel(r)[0]) for r in block] == sorted(int(np.ravel(r)[0]) for r in block) for block in seen
            )

    def test_a_row_changes_one_block_and_its_assignment_does_not_depend_on_it(self) -> None:
        # the same draws assign the same blocks whatever the values: so replacing a row changes one block too
        for relation in self.relations:
            event = self.make(neighbours=relation).event
            assert event.sensitivity == pytest.approx(1)  # (upper - lower) / blocks
            assert event.epsilon == 1
        assert self.make(max_per_unit=3).event.sensitivity == pytest.approx(3)
        assert self.make(max_per_unit=99).event.sensitivity == pytest.approx(4)

    def test_a_median_is_found(self) -> None:
        typical = SampleAggregate(function=statistics.median, blocks=40, lower=0, upper=100, epsilon=2)
        assert typical.release(list(range(101)) * 20, rng=seeded(84)) == pytest.approx(50, abs=8)
