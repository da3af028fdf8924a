"""RAPPOR."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hubbub.local import Collection, Rappor, from_parameters, new_key, sign
from hubbub.terms import OutOfRange

from .contract import WORD, FrequencyContract, exp


class TestRappor(FrequencyContract):
    """What one report tells: ``report_epsilon``. What all tell together is below."""

    kind = Rappor
    small = {"epsilon": 2, "domain": 3, "bits": 3, "hashes": 1, "cohorts": 2, "missing": 1}
    values = range(3)
    looser = {"_instant": 2}
    large = {"epsilon": 4, "domain": 200, "bits": 64, "cohorts": 8}
    people, repeats = 2_000, 50
    bad_payload = b"\x02\x00"
    tight = False

    def promised(self, randomizer: Any) -> Fraction:
        return randomizer.report_epsilon

    def test_a_black_box_finds_no_more_than_epsilon(self) -> None:
        assert self.audited(2) <= 1 < self.audited(4)


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 2, 8])
def test_the_permanent_bits_keep_epsilon_exactly_and_waste_nothing(epsilon: Any) -> None:
    survey = Rappor(epsilon=epsilon, domain=10, hashes=2)
    odds = Fraction(survey._permanent, WORD - survey._permanent)
    bound = exp(survey.epsilon)
    assert bound * (1 - Fraction(1, 10**9)) <= odds**4 <= bound
    higher = Fraction(survey._permanent + 1, WORD - survey._permanent - 1)
    assert higher**4 > bound


def test_two_values_differ_in_at_most_twice_the_hashes() -> None:
    survey = Rappor(epsilon=2, domain=300, hashes=3)
    for cohort in range(8):
        bits = survey.bloom(np.full(300, cohort), np.arange(300)).astype(int)
        assert bits.sum(axis=1).max() <= 3
        assert (bits[:, None] != bits[None]).sum(axis=2).max() <= 6


def test_estimates_are_unbiased() -> None:
    """The equations are solved exactly: expected bits give back the shares."""
    survey = Rappor(epsilon=3, domain=40, bits=32, cohorts=4)
    shares = np.random.default_rng(1).dirichlet(np.ones(40))
    people = 4_000_000
    table = np.empty((4, 33))
    for cohort in range(4):
        ones = shares @ survey.bloom(np.full(40, cohort), np.arange(40))
        table[cohort, :-1] = people / 4 * (survey.q + (survey.p - survey.q) * ones)
        table[cohort, -1] = people / 4
    found = survey.support(np.rint(table).ravel().astype(np.int64), count=people) / people
    assert np.allclose((found - survey.q) / survey.contrast, shares, atol=1e-4)


def test_filters_that_cannot_tell_values_apart_are_refused() -> None:
    with pytest.raises(OutOfRange, match="cannot tell"):
        Rappor(epsilon=2, domain=50, bits=8, cohorts=2)


def test_one_report_tells_less_than_all() -> None:
    with pytest.raises(OutOfRange):
        Rappor(epsilon=1, domain=10, report_epsilon=1)


def test_a_collection_from_which_nobody_could_estimate_is_not_signed() -> None:
    """Enough bits in all, and still two values with the same ones: people would pay for nothing."""
    twins = Rappor(epsilon=2, domain=20, bits=10, hashes=1, cohorts=2)
    asked = Collection(name="twins", question="?", randomizer=twins)
    with pytest.raises(OutOfRange, match="cannot tell"):
        sign(asked, new_key())


def test_what_is_made_can_be_read_again() -> None:
    with pytest.raises(OutOfRange, match="report_epsilon"):
        Rappor(epsilon=1e-6, domain=4)
    least = Rappor(epsilon=2e-6, domain=4)
    assert from_parameters(least.parameters()) == least
