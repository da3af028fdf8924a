"""Means of vectors."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest

from hubbub.local import PrivUnitG, from_parameters
from hubbub.local.randomizers.common.exact_words import WORD, interval_cuts
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport, EmptyInput, Neighbours, OutOfRange, WrongShape

from .contract import exp, loosen


def unit(*coordinates: float) -> np.ndarray:
    vector = np.array(coordinates)
    return vector / np.linalg.norm(vector)


def masses(survey: PrivUnitG, vector: np.ndarray, seed: int) -> np.ndarray:
    """The exact mass of each choice given the seed, in units of 2^-128."""
    edges = sorted({0, *interval_cuts(survey.near), *interval_cuts(survey.candidates - survey.near), WORD})
    total = np.zeros(survey.candidates, dtype=object)
    for low, high in ((0, survey.sets.keep), (survey.sets.keep, WORD)):
        words = np.array([[seed << 32, 0, low, start] for start in edges[:-1]], dtype=np.uint64)
        choices = survey.respond([vector] * len(words), words) >> 32
        for choice, start, end in zip(choices, edges, edges[1:], strict=False):
            total[choice] += (high - low) * (end - start)
    return total


@pytest.mark.parametrize("epsilon", [Fraction(1, 2), 1, 4])
@pytest.mark.parametrize("seed", [0, 77])
def test_given_the_seed_the_law_keeps_epsilon_exactly(epsilon: object, seed: int) -> None:
    survey = PrivUnitG(epsilon=epsilon, dimension=3)
    laws = [masses(survey, v, seed) for v in (unit(1, 0, 0), unit(-1, 0, 0), unit(1, 2, 3), unit(0, -1, 5))]
    assert all(sum(law) == 1 << 128 for law in laws)
    ratio = max(Fraction(max(column), min(column)) for column in zip(*laws, strict=True))
    assert exp(survey.epsilon) * (1 - Fraction(1, 10**9)) <= ratio <= exp(survey.epsilon)
    loosen(survey, "sets", 2)
    laws = [masses(survey, v, seed) for v in (unit(1, 0, 0), unit(-1, 0, 0))]
    assert max(Fraction(max(c), min(c)) for c in zip(*laws, strict=True)) > exp(survey.epsilon)


@pytest.mark.parametrize("epsilon", [1, 4])
def test_the_mean_is_unbiased_with_the_stated_error_and_intervals_hold(epsilon: int) -> None:
    survey = PrivUnitG(epsilon=epsilon, dimension=6)
    vectors = np.random.default_rng(1).normal(size=(100, 6)) + 1
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True) * np.linspace(1, 3, 100)[:, None]
    found = [survey.estimate(survey.randomize(vectors, rng=seeded(seed))) for seed in range(60)]
    errors = np.array([f.values - vectors.mean(axis=0) for f in found])
    told = np.array([f.variances for f in found])
    assert np.abs(errors.mean(axis=0)).max() < 5 * math.sqrt(told.mean() / 60)
    assert (errors**2).mean() == pytest.approx(told.mean(), rel=0.2)
    held = np.abs(errors) <= 1.96 * np.sqrt(told)
    assert 0.92 <= held.mean() <= 0.98


def test_many_candidates_reach_the_multiplier_of_the_gaussian_law() -> None:
    """density(z) (e^epsilon - 1) / (1 + t (e^epsilon - 1)) for the best share t above z."""
    from statistics import NormalDist

    normal = NormalDist()
    for epsilon in (1, 2, 4):
        odds = math.expm1(epsilon)
        ideal = max(normal.pdf(normal.inv_cdf(t)) * odds / (1 + t * odds) for t in np.linspace(0.001, 0.5, 2000))
        few, many = (PrivUnitG(epsilon=epsilon, dimension=5, candidates=n).multiplier for n in (16, 4096))
        assert few < many < ideal
        assert many == pytest.approx(ideal, rel=0.003)
        assert PrivUnitG(epsilon=epsilon, dimension=5).multiplier == pytest.approx(ideal, rel=0.03)


def test_candidates_are_gaussian_and_the_same_everywhere() -> None:
    survey = PrivUnitG(epsilon=1, dimension=7)
    drawn = survey._candidates(np.arange(200)[:, None], np.arange(64)[None, :])
    assert abs(drawn.mean()) < 5 / math.sqrt(drawn.size)
    assert drawn.var() == pytest.approx(1, abs=0.02)
    assert np.corrcoef(drawn.reshape(-1, 7).T) == pytest.approx(np.eye(7), abs=0.03)
    assert survey._candidates(np.array([3]), np.array([5]))[0] == pytest.approx(drawn[3, 5])


def test_no_candidate_reaches_beyond_the_bound() -> None:
    survey = PrivUnitG(epsilon=1, dimension=7)
    longest = np.linalg.norm(survey._candidates(np.arange(2000)[:, None], np.arange(64)[None, :]), axis=-1).max()
    assert 0.3 < (1 + longest / survey.multiplier) / survey.influence(1.0) < 1


def test_vectors_of_any_length_and_kind_come_into_the_ball() -> None:
    survey = PrivUnitG(epsilon=1, dimension=2)
    inside = survey.codes([[3, 4], [0.3, 0.4], [math.nan, math.inf], [1e300, 1e300]])
    assert np.allclose(inside, [[0.6, 0.8], [0.3, 0.4], [0, 0], [math.sqrt(0.5)] * 2])
    with pytest.raises(WrongShape):
        survey.randomize([[1, 2, 3]])


def test_bytes_states_events_and_parameters() -> None:
    survey = PrivUnitG(epsilon=1, dimension=3)
    reports = survey.randomize([[1.0, 0, 0]] * 300, rng=seeded(3))
    assert np.array_equal(survey.unpack(survey.pack(reports)), reports)
    assert np.array_equal(survey.accumulate(reports), survey.accumulate(reports[:9]) + survey.accumulate(reports[9:]))
    assert from_parameters(json.loads(json.dumps(survey.parameters()))) == survey
    assert survey.event.neighbours is Neighbours.REPLACE
    assert isinstance(survey.randomize([0.0, 1.0, 0.0]), int)
    assert "fake clients" in survey.estimate(reports).text()
    with pytest.raises(BadReport):
        survey.unpack(np.full((1, survey.payload_bytes), 255, dtype=np.uint8))
    with pytest.raises(EmptyInput):
        survey.estimate(reports[:0])
    with pytest.raises(OutOfRange):
        PrivUnitG(epsilon=1, dimension=3, candidates=1 << 20)


@pytest.mark.parametrize("values", [[["a", "b", "c"]], [[1, 2, 3], [1]], [1, 2], [[1, 2]], "abc", None, [[None] * 2]])
def test_what_is_no_list_of_vectors_is_refused_in_our_words(values: object) -> None:
    survey = PrivUnitG(epsilon=1, dimension=3)
    for use in (survey.codes, survey.randomize):
        with pytest.raises(WrongShape, match="rows of 3 numbers"):
            use(values)  # type: ignore[operator]
