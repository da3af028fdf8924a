"""Estimates: intervals, limits, and what fakes can do."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.local import KaryResponse, OneBitHadamard, SignResponse
from hubbub.noise.testing import seeded
from hubbub.terms import EmptyInput, OutOfRange, WrongShape


def test_all_intervals_hold_at_once_as_often_as_told() -> None:
    survey, held = OneBitHadamard(epsilon=1, domain=200), 0
    truth = np.full(200, 1 / 200)
    for seed in range(300):
        found = survey.estimate(survey.randomize(np.arange(4000) % 200, rng=seeded(seed)))
        ends = found.intervals(0.9, simultaneous=True)
        held += bool(((ends[:, 0] <= truth) & (truth <= ends[:, 1])).all())
    assert 0.85 <= held / 300 <= 0.96
    assert (found.intervals(0.9, simultaneous=True)[:, 1] > found.intervals(0.9)[:, 1]).all()


def test_intervals_for_the_population_are_wider_and_hold() -> None:
    survey, held = KaryResponse(epsilon=3, domain=3), []
    truth, generator = np.array([0.5, 0.3, 0.2]), np.random.default_rng(1)
    for seed in range(700):
        found = survey.estimate(survey.randomize(generator.choice(3, size=400, p=truth), rng=seeded(seed)))
        told = [found.intervals(0.95, population=flag) for flag in (True, False)]
        held.append([((ends[:, 0] <= truth) & (truth <= ends[:, 1])).mean() for ends in told])
    wide, narrow = np.mean(held, axis=0)
    assert 0.935 <= wide <= 0.965
    assert narrow < 0.9


def test_what_nobody_has_is_rarely_above_the_limit() -> None:
    survey = OneBitHadamard(epsilon=1, domain=500)
    found = survey.estimate(survey.randomize(np.zeros(20_000, dtype=int), rng=seeded(2)))
    assert (found.values[1:] > found.detection_limit(0.95)).mean() < 0.05
    assert not (found.values[1:] > found.detection_limit(0.95, simultaneous=True)).any()
    assert found.values[0] > found.detection_limit(0.95, simultaneous=True)


def test_fakes_move_an_estimate_by_what_was_told() -> None:
    survey = KaryResponse(epsilon=1, domain=50)
    honest = survey.randomize(np.zeros(99_000, dtype=int), rng=seeded(3))
    attacked = survey.estimate(np.concatenate([honest, np.full(1000, 7)]))
    assert attacked.values[7] == pytest.approx(attacked.shift(0.01), abs=5 * math.sqrt(attacked.null_variance))
    assert attacked.shift(0.01) == pytest.approx(survey.influence(0.01))


def test_nothing_is_estimated_from_nobody_or_from_another_state() -> None:
    survey = KaryResponse(epsilon=1, domain=5)
    with pytest.raises(EmptyInput):
        survey.decode(np.zeros(5, dtype=np.int64), count=0)
    with pytest.raises(WrongShape):
        survey.decode(np.zeros(6, dtype=np.int64), count=10)
    with pytest.raises(OutOfRange):
        survey.estimate([1, 2, 3]).intervals(1.0)


def test_a_mean_tells_itself() -> None:
    survey = SignResponse(epsilon=1)
    found = survey.estimate(survey.randomize([1, -1] * 500, rng=seeded(1)))
    assert "95 times out of 100" in found.text()
    assert found.to_json()["lower_bound"] == pytest.approx(2 / math.sqrt(1000))
    assert found.shift(0.01) == pytest.approx(survey.influence(0.01))
