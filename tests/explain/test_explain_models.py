"""Four degrees of trust: the errors are the mechanisms' own, and the gap is the root of the number of people."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import hubbub as hb
from hubbub.cli import main
from hubbub.explain.trust_models import response_error, shuffled_epsilon
from hubbub.local import BinaryResponse
from hubbub.local.amplification import shuffle_bounds
from hubbub.local.amplification.clones import closed_form
from hubbub.mechanisms import Gaussian, Laplace
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange


def test_the_curators_error_is_that_of_laplace_noise() -> None:
    curator = hb.explain.models(0.5).models[0]
    assert curator.error(1000) == pytest.approx(Laplace(sensitivity=1, epsilon=0.5).error(0.95) / 1000, rel=1e-6)


def test_the_local_error_is_that_of_randomized_response() -> None:
    survey, local = BinaryResponse(epsilon=1), hb.explain.models(1).models[-1]
    assert local.error(5000) / 1.959964 == pytest.approx(math.sqrt(survey.variance(count=5000)))
    told = [survey.estimate(survey.randomize([1] * 200 + [0] * 800, rng=seeded(s))).values[1] for s in range(400)]
    assert float(np.std(told)) == pytest.approx(response_error(1.0, 1000), rel=0.15)


def test_gopas_error_is_a_curators_with_gaussian_noise_over_the_honest() -> None:
    gopa = hb.explain.models(1, delta=1e-6, honest=1).models[1]
    assert gopa.error(1000) == pytest.approx(
        1.959964 * float(Gaussian(sensitivity=1, epsilon=1, delta=1e-6).event.sigma) / 1000, rel=1e-3
    )
    half = hb.explain.models(1, delta=1e-6, honest=0.5).models[1]
    assert half.error(1000) == pytest.approx(math.sqrt(2) * gopa.error(1000))


def test_the_shuffled_epsilon_keeps_the_promise() -> None:
    for people in (10_000, 10**6):
        alone = shuffled_epsilon(0.5, people, 1e-6)
        told = closed_form(alone, honest=people, delta=1e-6)
        assert told is not None
        assert told == pytest.approx(0.5, rel=1e-6) or alone == pytest.approx(
            math.log(people / (16 * math.log(4e6))), rel=1e-6
        )
        assert shuffle_bounds.local_epsilon(0.5, n=people, delta=1e-6) > alone  # the numeric bound is better
    assert shuffled_epsilon(0.5, 10, 1e-6) == 0.5  # too few: nothing is gained


def test_the_gap_grows_with_the_root_of_the_people() -> None:
    few, many = hb.explain.models(1, people=1000), hb.explain.models(1, people=100_000)
    assert many.gap / few.gap == pytest.approx(10)
    assert few.models[0].error(1000) < few.models[1].error(1000) < few.models[-1].error(1000)


def test_the_people_needed_are_just_enough() -> None:
    for model in hb.explain.models(1).models:
        needed = model.needed(0.01)
        assert model.error(needed) <= 0.01 < model.error(needed - 1)


def test_what_makes_no_sense_is_refused() -> None:
    for options in ({"epsilon": 0}, {"epsilon": 21}, {"delta": 0}, {"people": 1}, {"honest": 0}):
        with pytest.raises(OutOfRange):
            hb.explain.models(**{"epsilon": 1, **options})  # type: ignore[arg-type]


def test_the_command_prints_the_numbers_and_writes_the_picture(
    capsys: pytest.CaptureFixture[str], tmp_path: object
) -> None:
    with pytest.raises(SystemExit) as leaving:
        main(["explain", "models", "1", "--people", "1000", "--json", "--svg", str(tmp_path)])
    assert leaving.value.code == 0
    told = json.loads(capsys.readouterr().out)
    assert [model["name"] for model in told["models"]] == ["trusted curator", "GOPA", "shuffled", "local"]
    assert told["gap"] == pytest.approx(1.959964 * response_error(1.0, 1000) / (math.log(20) / 1000))
    assert "<svg" in hb.explain.models(1).html()
