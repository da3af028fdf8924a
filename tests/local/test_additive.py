"""Noise added at home."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hubbub import accounting, audit
from hubbub.local import LocalGaussian, LocalLaplace, exact_distribution, from_parameters
from hubbub.noise.testing import seeded
from hubbub.terms import (
    BadReport,
    EmptyInput,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    NotAuditable,
    OutOfRange,
    WrongShape,
)

KINDS = {
    "laplace": lambda **changes: LocalLaplace(**{"epsilon": 1, "lower": 0, "upper": 10, **changes}),
    "gaussian": lambda **changes: LocalGaussian(**{"epsilon": 1, "delta": 1e-6, "lower": 0, "upper": 10, **changes}),
}
both = pytest.mark.parametrize("name", KINDS)


@both
def test_the_mean_has_the_stated_error_and_intervals_hold(name: str) -> None:
    survey = KINDS[name]()
    people = np.random.default_rng(1).uniform(0, 10, 500)
    found = [survey.estimate(survey.randomize(people, rng=seeded(seed))) for seed in range(600)]
    errors = np.array([f.value - people.mean() for f in found])
    assert abs(errors.mean()) < 5 * found[0].standard_error / math.sqrt(600)
    assert np.mean(errors**2) == pytest.approx(found[0].variance, rel=5 * math.sqrt(5 / 600))
    held = [f.interval(0.95)[0] <= people.mean() <= f.interval(0.95)[1] for f in found]
    assert 0.92 <= np.mean(held) <= 0.98


def test_the_events_cost_what_was_asked_for() -> None:
    laplace, gaussian = KINDS["laplace"](epsilon=0.7).event, KINDS["gaussian"](epsilon=0.7).event
    assert isinstance(laplace, LaplaceNoise)
    assert isinstance(gaussian, GaussianNoise)
    assert laplace.epsilon == KINDS["laplace"](epsilon=0.7).epsilon
    assert float(accounting.epsilon(gaussian, delta=1e-6, neighbours="replace")) <= 0.7 + 1e-9
    assert {laplace.neighbours, gaussian.neighbours} == {Neighbours.REPLACE}


@both
def test_bytes_states_and_parameters(name: str) -> None:
    survey = KINDS[name]()
    reports = survey.randomize(np.linspace(-5, 15, 400), rng=seeded(3))
    assert np.array_equal(survey.unpack(survey.pack(reports)), reports)
    assert np.array_equal(survey.accumulate(reports), survey.accumulate(reports[:9]) + survey.accumulate(reports[9:]))
    assert from_parameters(json.loads(json.dumps(survey.parameters()))) == survey
    assert isinstance(survey.randomize(5.0), int)
    with pytest.raises(BadReport):
        survey.unpack(np.full((1, survey.payload_bytes), 255, dtype=np.uint8))
    with pytest.raises(BadReport):
        survey.estimate(np.array([-1]))
    with pytest.raises(EmptyInput):
        survey.estimate(np.array([], dtype=int))


@both
def test_there_is_no_fixed_number_of_words(name: str) -> None:
    survey = KINDS[name]()
    with pytest.raises(WrongShape):
        survey.respond([1.0], np.zeros((1, 0), dtype=np.uint64))
    with pytest.raises(NotAuditable):
        exact_distribution(survey, 1.0)


@both
def test_fakes_reach_no_farther_than_noise(name: str) -> None:
    survey = KINDS[name]()
    ends = [survey.estimate(np.array([end])).value for end in (0, survey._size - 1)]
    assert max(ends[1], 10 - ends[0]) == pytest.approx(survey.influence(1.0))


def test_noise_is_cut_only_where_it_never_falls() -> None:
    """The least epsilon from a mass beyond the cut below 2^-64."""
    laplace, gaussian = KINDS["laplace"](), KINDS["gaussian"]()
    assert laplace._reach / float(laplace.event.scale) >= 64 * math.log(2)
    assert math.erfc(gaussian._reach / float(gaussian.event.sigma) / math.sqrt(2)) < 2**-64


def test_a_black_box_finds_no_more_than_epsilon() -> None:
    for epsilon, claimed, found_out in ((1, 1, False), (3, 1, True)):
        survey, source = KINDS["laplace"](epsilon=epsilon), seeded(5)
        found = audit.lower_bound(
            lambda value, size, survey=survey, source=source: survey.randomize([value] * size, rng=source),
            0.0,
            10.0,
            trials=20_000,
            vectorized=True,
        )
        assert (found > claimed) is found_out


def test_bad_parameters_are_refused() -> None:
    with pytest.raises(OutOfRange):
        KINDS["laplace"](epsilon=0)
    with pytest.raises(OutOfRange):
        KINDS["gaussian"](delta=0)
