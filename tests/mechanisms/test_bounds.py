from __future__ import annotations

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hubbub.mechanisms import FindRange
from hubbub.noise.testing import seeded
from hubbub.terms import LaplaceNoise, NotANumber, OutOfRange, ReversedBounds, WrongShape

from .contract import BAD_NUMBERS, BAD_PROBABILITIES, Contract
from .laws import laplace_mass


class TestFindRange(Contract):
    kind = FindRange
    standard = {"epsilon": 0.5, "beta": 0.3, "smallest": 1, "largest": 1}
    data = [0.5] * 9
    neighbours = ([0.5], [0.5] * 2)
    trials = 12_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "beta": BAD_PROBABILITIES,
        "smallest": [*BAD_NUMBERS, (2, ReversedBounds), (Fraction(1, 2**1001), OutOfRange)],
        "largest": [*BAD_NUMBERS, (Fraction(1, 2), ReversedBounds), (2**1001, OutOfRange)],
        "max_per_unit": [(0, OutOfRange), (1.5, OutOfRange)],
    }
    bad_data = [("12", NotANumber), (3, NotANumber), (np.zeros((2, 2)), WrongShape), (np.array(["a"]), NotANumber)]
    odd_data = [
        [],
        np.array([]),
        [math.nan, math.inf, -math.inf, 1e308, None, "x", 10**400, Decimal("-Infinity"), Fraction(1, 3), -0.0],
        np.array([np.nan, np.inf, -np.inf, 1e308, -0.0]),
    ]

    def masses(self):
        # two buckets, [-1, 0) and [0, 1]: each is found if its noisy count reaches the threshold
        mass, t = laplace_mass(2), self.make().threshold
        below = sum(mass(x) for x in range(t, 200))
        above = sum(mass(x) for x in range(t - 9, 200))
        return {
            (-1.0, 1.0): below * above,
            (-1.0, 0.0): below * (1 - above),
            (0.0, 1.0): (1 - below) * above,
            (): (1 - below) * (1 - above),
        }

    def outcomes(self, data, trials, rng, **changes):
        changes.setdefault("epsilon", 0.5)
        mechanism = self.make(**changes)
        mechanism.threshold = self.make().threshold  # the threshold is no part of the noise
        return [mechanism.release(data, rng=rng) or () for _ in range(trials)]

    def errors(self, trials, rng):
        return [], self.make().error

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_error_holds_and_is_not_too_wide(self, confidence, soak) -> None:
        mechanism, rng, trials = self.make(), seeded(91), 8000 * soak
        slack = 4 * math.sqrt(confidence * (1 - confidence) / trials)
        for fewer, holds in ((0, True), (2, False)):
            values = [0.5] * (mechanism.error(confidence) - fewer)
            found = sum((mechanism.release(values, rng=rng) or (0, 0))[1] == 1.0 for _ in range(trials)) / trials
            assert (found >= confidence - slack) == holds

    def test_empty_buckets_pass_with_probability_beta_at_most(self, soak) -> None:
        mechanism, rng, trials = FindRange(epsilon=1, beta=0.1), seeded(92), 3000 * soak
        found = sum(mechanism.release([], rng=rng) is not None for _ in range(trials)) / trials
        assert 0.03 < found <= 0.1 + 4 * math.sqrt(0.09 / trials)
        mechanism.threshold -= 2
        found = sum(mechanism.release([], rng=rng) is not None for _ in range(trials)) / trials
        assert found > 0.1 + 4 * math.sqrt(0.09 / trials)

    @pytest.mark.parametrize(
        ("value", "bucket"),
        [
            (0, (0, 1)), (0.3, (0, 1)), (1, (0, 1)), (1.0000001, (1, 2)), (2, (1, 2)), (3, (2, 4)), (4, (2, 4)),
            (1000, (512, 1024)), (1025, (512, 1024)), (math.inf, (512, 1024)),
            (-0.3, (-1, 0)), (-1, (-1, 0)), (-1.5, (-2, -1)), (-2, (-2, -1)), (-9e9, (-1024, -512)),
            (-math.inf, (-1024, -512)),
        ],
    )  # fmt: skip
    def test_each_value_has_its_bucket(self, value, bucket) -> None:
        mechanism = FindRange(epsilon=20, smallest=1, largest=1024)
        for column in ([value] * 100, np.array([value] * 100, dtype=float), [Decimal(str(value))] * 100):
            assert mechanism.release(column, rng=seeded(93)) == bucket

    def test_the_range_spans_all_found_buckets(self) -> None:
        values = [-100] * 200 + [3] * 200 + [70_000] * 200 + [10**9]
        assert FindRange(epsilon=1).release(values, rng=seeded(94)) == (-128, 131072)

    def test_nothing_stands_out_in_nothing(self) -> None:
        assert FindRange(epsilon=1).release([], rng=seeded(95)) is None

    def test_replacement_moves_two_buckets(self) -> None:
        event = self.make(neighbours="replace", max_per_unit=3).event
        assert isinstance(event, LaplaceNoise)
        assert event.sensitivity == 6
