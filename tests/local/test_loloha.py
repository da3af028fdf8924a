"""Longitudinal hashing: each report alone, the memo alone, and the step alone keep what they promise, exactly."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hubbub.local import Loloha, exact_distribution, from_parameters, largest_ratio
from hubbub.local.longitudinal.loloha import step_threshold
from hubbub.local.randomizers.common.exact_words import WORD, exp_low, fewest_words
from hubbub.terms import BadCollection, OutOfRange

from .contract import FrequencyContract, exp

SURVEYS = [
    Loloha(epsilon=1, forever=2, domain=6),
    Loloha(epsilon=0.5, forever=1, domain=6, buckets=3),
    Loloha(epsilon=2, forever=2.5, domain=6, buckets=5),
]


class TestLoloha(FrequencyContract):
    kind = Loloha
    small = {"epsilon": 1, "domain": 12, "missing": 3}
    large = {"epsilon": 1, "forever": 2, "domain": 1000, "buckets": 4}
    values = range(12)
    people, repeats = 1_000, 20
    bad_payload = b"\x00\x00\x00\x00\x02"
    looser = {"sets": WORD >> 60}
    public = frozenset({0})

    def make(self, **changes: Any) -> Any:
        fields = {**self.small, **changes}
        epsilon = fields["epsilon"]
        return Loloha(forever=epsilon if isinstance(epsilon, str) else 2 * epsilon, **fields)

    def test_the_law_of_words_is_the_law_of_draws(self, soak: int) -> None:
        """The exact law is the one given the seed: compared by hand below."""

    def test_a_black_box_finds_no_more_than_epsilon(self) -> None:
        """Reports with seeds hardly ever repeat; given the seed the law is exact."""


@pytest.mark.parametrize("survey", SURVEYS, ids=repr)
def test_memo_and_step_keep_what_they_promise(survey: Loloha) -> None:
    few = fewest_words(survey.buckets - 1)
    assert Fraction(survey._memo.keep * WORD, (WORD - survey._memo.keep) * few) <= exp_low(survey.forever)
    assert Fraction(survey.sets.keep * WORD, (WORD - survey.sets.keep) * few) <= exp_low(survey.again)
    assert survey.again > survey.epsilon


def test_the_step_has_the_epsilon_of_the_paper() -> None:
    a, b = np.exp(2), np.exp(1)
    assert float(SURVEYS[0].again) == pytest.approx(np.log((a * b - 1) / (a - b)), abs=2e-6)


@pytest.mark.parametrize("survey", SURVEYS, ids=repr)
def test_many_buckets_keep_epsilon_too(survey: Loloha) -> None:
    assert exp(survey.epsilon) * (1 - Fraction(1, 10**15)) < largest_ratio(survey, range(6)) <= exp(survey.epsilon)


def test_parameters_say_the_law_and_no_other_is_read() -> None:
    survey = SURVEYS[2]
    told = survey.parameters()
    assert from_parameters(told) == survey
    weaker = dict(told, thresholds=[told["thresholds"][0], str(int(told["thresholds"][1]) + 1)])  # type: ignore[index]
    for wrong in (weaker, dict(told, again="1"), dict(told, buckets=4)):
        with pytest.raises(BadCollection):
            from_parameters(wrong)


def test_all_reports_together_cannot_tell_less_than_one() -> None:
    with pytest.raises(OutOfRange, match="forever must be above epsilon"):
        Loloha(epsilon=2, forever=2, domain=10)
    with pytest.raises(OutOfRange, match="functions"):
        Loloha(epsilon=1, forever=2, domain=10, functions=2**33)


def test_the_threshold_is_the_largest_that_will_do() -> None:
    survey = SURVEYS[1]
    best = step_threshold(survey._memo.keep, survey.epsilon, survey.buckets)
    law = exact_distribution(survey, 0)
    assert best == survey.sets.keep
    assert len(law) == survey.buckets
    assert sum(law.values()) == 1
