"""Variances from two moments, and means of several attributes."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.local import LocalVariance, Means
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport, Compose, EmptyInput, OutOfRange, PureStep, WrongShape

from ._statistics import covered, covers_95, off_by

VALUES = np.random.default_rng(3).beta(2, 6, 8000) * 10 - 5


@pytest.mark.parametrize("split", ["groups", "both"])
def test_the_variance_is_unbiased_and_covered(split: str, soak: int) -> None:
    survey = LocalVariance(epsilon=2, lower=-5, upper=5, split=split)
    found = [survey.estimate(survey.randomize(VALUES, rng=seeded(s))) for s in range(120 * soak)]
    assert off_by([one.value for one in found], float(VALUES.var())) < 5
    intervals = [one.interval() for one in found]
    if split == "groups":
        assert covers_95(intervals, float(VALUES.var()))
    assert covered(intervals, float(VALUES.var())) > 0.92
    assert off_by([one.mean.value for one in found], float(VALUES.mean())) < 5


def test_splitting_the_people_errs_less_than_splitting_epsilon() -> None:
    errors = {}
    for split in ("groups", "both"):
        survey = LocalVariance(epsilon=1, lower=-5, upper=5, split=split)
        told = [survey.estimate(survey.randomize(VALUES, rng=seeded(s))).value for s in range(60)]
        errors[split] = np.std(told)
    assert errors["groups"] < errors["both"]


def test_the_square_of_a_noisy_mean_would_be_too_large() -> None:
    survey = LocalVariance(epsilon=0.5, lower=-5, upper=5)
    few = np.full(400, 1.0)
    told = [survey.estimate(survey.randomize(few, rng=seeded(s))) for s in range(200)]
    naive = [one.value - one.mean.variance for one in told]
    assert off_by([one.value for one in told], 0.0) < 5
    assert np.mean(naive) < np.mean([one.value for one in told]) - 0.5


def test_the_lower_bound_stands_beside_it() -> None:
    survey = LocalVariance(epsilon=1, lower=0, upper=1)
    found = survey.estimate(survey.randomize(np.linspace(0, 1, 10_000), rng=seeded(1)))
    assert found.lower_bound == pytest.approx(0.25 / 100)
    assert "trust nobody" in " ".join(found.text().split())
    assert found.to_json()["lower_bound"] == found.lower_bound


def test_events_say_whether_reports_add_up() -> None:
    assert isinstance(LocalVariance(epsilon=1, lower=0, upper=1).event, PureStep)
    both = LocalVariance(epsilon=1, lower=0, upper=1, split="both").event
    assert isinstance(both, Compose)
    assert sum(step.epsilon for step in both.events) == 1  # type: ignore[attr-defined]


def test_several_means_each_cover(soak: int) -> None:
    survey = Means(epsilon=2, bounds={"age": (0, 100), "hours": (0, 24)})
    people = {"age": np.linspace(20, 60, 4000), "hours": np.linspace(4, 9, 4000)}
    found = [survey.estimate(survey.randomize(people, rng=seeded(s))) for s in range(200 * soak)]
    for name, truth in (("age", 40.0), ("hours", 6.5)):
        assert covers_95([one[name].interval() for one in found], truth)
    assert isinstance(survey.event, PureStep)


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(OutOfRange):
        LocalVariance(epsilon=1, lower=0, upper=1, split="three")
    survey = LocalVariance(epsilon=1, lower=0, upper=1)
    with pytest.raises(BadReport):
        survey.estimate([1, 2])
    with pytest.raises(EmptyInput):
        survey.estimate([[0, 1]])
    with pytest.raises(EmptyInput):
        Means(epsilon=1, bounds={})
    means = Means(epsilon=1, bounds={"a": (0, 1), "b": (0, 1)})
    for values in ({"a": [1.0]}, {"a": [1.0], "b": [1.0, 2.0]}):
        with pytest.raises(WrongShape):
            means.randomize(values)
    for rows in ([1, 2], "x", [[0.0, 1.0]], [[2, 0]], [[-1, 0]]):
        with pytest.raises(BadReport):
            means.estimate(rows)
    with pytest.raises(EmptyInput):
        means.estimate([])
