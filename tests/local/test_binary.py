"""The lectures' coin, for a bit and for a sign."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.local import BinaryResponse, KaryResponse, SignResponse
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange

from .contract import FrequencyContract, MeanContract


class TestBinaryResponse(FrequencyContract):
    kind = BinaryResponse
    small = {"epsilon": 1, "missing": 1}
    values = [0, 1]
    large = {"epsilon": 1}
    people, repeats = 500, 1500
    best = math.e / (math.e - 1) ** 2
    bad = {"missing": [(-1, OutOfRange), (2, OutOfRange)]}
    bad_payload = b"\x02"


class TestSignResponse(MeanContract):
    kind = SignResponse
    small = {"epsilon": 1}
    values = [-1, 1]
    odd = [0, 5, 10**30]
    bad = {"missing": [(0, OutOfRange)]}
    spreads = {(1, 0): 4.68, (1, 1): 3.68, (2, 0): 1.72}
    bad_payload = b"\x02"

    def default(self, randomizer: SignResponse) -> int:
        return int(randomizer.missing)

    def crowd(self, seed: int) -> object:
        return np.where(np.random.default_rng(seed).random(self.people) < 0.7, 1, -1)

    def test_values_outside_go_to_the_bounds(self) -> None:
        assert SignResponse(epsilon=1, missing=1).codes([7, -1, 1, 0]).tolist() == [1, 0, 1, 1]

    def test_one_value_is_rounded_as_in_bulk(self) -> None:
        """Signs are not rounded."""

    def test_what_is_no_number_is_refused_by_its_type(self) -> None:
        with pytest.raises(ValueError, match="integers"):
            self.make().randomize([1, "1"])


def test_a_bit_is_randomized_response_over_two_values() -> None:
    bit, two = BinaryResponse(epsilon=2), KaryResponse(epsilon=2, domain=2)
    assert bit.p == two.p


def test_the_sign_is_c_times_the_average_report() -> None:
    """Exercise 3.1 of the lectures, with the variance that exercise 3.2 should have: at most c^2 / n."""
    survey = SignResponse(epsilon=1)
    reports = survey.randomize([1] * 300 + [-1] * 700, rng=seeded(1))
    c = (math.e + 1) / (math.e - 1)
    found = survey.estimate(reports)
    assert found.value == pytest.approx(c * float(np.mean(2 * reports - 1)))
    assert found.variance <= c**2 / 999
    assert survey.variance(count=1000, frequency=0) == pytest.approx(c**2 / 1000)
    assert not survey.variance(count=1000, frequency=0) <= c**2 / 2000  # as printed


def test_no_local_protocol_beats_the_lower_bound_by_much() -> None:
    """Theorem 2.2: the error is of the order 1 / (epsilon sqrt(n)), and randomized response reaches that order."""
    for epsilon in (0.1, 0.5, 1):
        for people in (100, 10_000):
            survey = SignResponse(epsilon=epsilon)
            found = survey.estimate(survey.randomize([1, -1] * (people // 2), rng=seeded(2)))
            assert 0.5 < found.standard_error / found.lower_bound < 1.5
