"""Two rounds: the range is found, the mean refined, and the event says what it cost."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub import accounting
from hubbub.local import Hybrid, TwoRounds
from hubbub.noise.testing import seeded
from hubbub.terms import Compose, EmptyInput, OutOfRange, PureStep

from ._statistics import covers_95

VALUES = np.random.default_rng(1).normal(50_000, 5_000, 20_000)


@pytest.mark.parametrize("rounds", ["one", "both"])
def test_the_refined_mean_is_covered_and_far_more_accurate(rounds: str, soak: int) -> None:
    survey = TwoRounds(epsilon=2, lower=0, upper=1_000_000, rounds=rounds)
    found = [survey.run(VALUES, rng=seeded(s)) for s in range(25 * soak)]
    assert covers_95([one.interval() for one in found], float(VALUES.mean()))
    plain = Hybrid(epsilon=2, lower=0, upper=1_000_000)
    single = plain.estimate(plain.randomize(VALUES, rng=seeded(1)))
    assert found[0].variance < single.variance / 20  # type: ignore[union-attr]
    low, high = found[0].range
    assert low < VALUES.min() + 5_000
    assert high > VALUES.max() - 5_000
    assert high - low < 200_000


def test_one_round_each_costs_one_report_and_both_add_up() -> None:
    one = TwoRounds(epsilon=1, lower=0, upper=1)
    assert isinstance(one.event, PureStep)
    both = TwoRounds(epsilon=1, lower=0, upper=1, rounds="both")
    assert isinstance(both.event, Compose)
    for survey in (one, both):
        assert float(accounting.epsilon(survey.event, delta=0, neighbours="replace")) == pytest.approx(1)
    assert (one.first.epsilon, both.first.epsilon) == (1, 0.5)


def test_everybody_takes_part_as_often_as_was_said() -> None:
    one = TwoRounds(epsilon=1, lower=0, upper=1, share=0.25).run(np.full(1000, 0.5), rng=seeded(1))
    assert (one.first_count, one.mean.count) == (250, 750)
    both = TwoRounds(epsilon=1, lower=0, upper=1, rounds="both").run(np.full(1000, 0.5), rng=seeded(1))
    assert (both.first_count, both.mean.count) == (1000, 1000)


def test_the_rounds_can_be_run_apart() -> None:
    survey = TwoRounds(epsilon=4, lower=0, upper=1000)
    told = survey.first.randomize(VALUES[:8000] / 1000, rng=seeded(1))
    refined = survey.refine(survey.first.estimate(told))
    found = survey.estimate(told, refined, refined.randomize(VALUES[8000:] / 1000, rng=seeded(2)))
    assert found.value == pytest.approx(50, abs=2)
    assert found.lower_bound == pytest.approx((found.range[1] - found.range[0]) / (4 * np.sqrt(12_000)))


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(OutOfRange):
        TwoRounds(epsilon=1, lower=0, upper=1, rounds="three")
    with pytest.raises(OutOfRange):
        TwoRounds(epsilon=1, lower=0, upper=1, share=1)
    with pytest.raises(EmptyInput):
        TwoRounds(epsilon=1, lower=0, upper=1).run([0.5])


def test_the_report_reads() -> None:
    found = TwoRounds(epsilon=2, lower=0, upper=1_000_000).run(VALUES, rng=seeded(1))
    assert "took part in one of the two rounds" in " ".join(found.text().split())
    assert found.to_json()["counts"] == [6000, 14_000]
