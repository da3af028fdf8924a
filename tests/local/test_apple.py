"""Sketches."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hubbub.local import CountMeanSketch, HadamardCountMeanSketch
from hubbub.local.randomizers.count_mean_sketch import Sketch
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange

from .contract import FrequencyContract

BAD = {**FrequencyContract.bad, "width": [(24, OutOfRange), (1, OutOfRange)], "rows": [(0, OutOfRange)]}


class TestCountMeanSketch(FrequencyContract):
    kind = CountMeanSketch
    looser = {"_keep": 1}
    small = {"epsilon": 1, "domain": 4, "rows": 2, "width": 4}
    values = range(4)
    large = {"epsilon": 1, "domain": 1000, "rows": 256, "width": 256}
    people, repeats = 400, 20
    best = 3.954
    bad_payload = b"\x02\x00"
    bad = BAD
    tight = False

    def farthest(self, randomizer: CountMeanSketch) -> tuple[int, int]:
        return apart(randomizer)


class TestHadamardCountMeanSketch(FrequencyContract):
    kind = HadamardCountMeanSketch
    small = {"epsilon": 1, "domain": 12, "rows": 2, "width": 16, "seed": 1}
    values = range(12)
    people, repeats = 10_000, 20
    best = 4.69
    bad_payload = b"\x40"
    bad = BAD
    tight = False

    def farthest(self, randomizer: HadamardCountMeanSketch) -> tuple[int, int]:
        return apart(randomizer)


def apart(randomizer: CountMeanSketch | HadamardCountMeanSketch) -> tuple[int, int]:
    """Two values that share no place."""
    places = randomizer._places
    return 0, int(np.flatnonzero((places != places[:, :1]).all(axis=0))[0])


def test_each_bit_is_kept_with_the_stated_odds() -> None:
    survey = CountMeanSketch(epsilon=2, domain=50, rows=4, width=16)
    rows = survey.randomize([7] * 20_000, rng=seeded(1))
    bits = np.unpackbits(rows[:, 1:], axis=1, bitorder="little")
    own = bits[np.arange(len(rows)), survey._places[rows[:, 0], 7]]
    assert own.mean() == pytest.approx(survey.p, abs=0.015)
    others = (bits.sum() - own.sum()) / (15 * len(rows))
    assert others == pytest.approx(1 - survey.p, abs=0.005)


SMALL = {"domain": 40, "rows": 4, "width": 16, "seed": 1}


def expected(survey: Sketch, shares: Any) -> Any:
    """What is estimated on average: the estimate of the expected state, which it is linear in."""
    count, state = 1 << 46, np.zeros(survey.state_size)
    for value, share in enumerate(shares):
        for row in range(survey.rows):
            place = survey._places[row, value]
            table = state.reshape(survey.rows, survey.width, -1)
            if isinstance(survey, CountMeanSketch):
                bits = np.full(survey.width, 1 - survey.p)
                bits[place] = survey.p
                table[row, :, 0] += share * count / survey.rows * bits
            else:
                odd = np.bitwise_count(np.arange(survey.width) & place) & 1
                for bit in (0, 1):
                    chance = np.where(odd == bit, survey.p, 1 - survey.p)
                    table[row, :, bit] += share * count / survey.rows / survey.width * chance
    return survey._frequencies(survey.support(state, count=count), count).values


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
@pytest.mark.parametrize("seed", range(3))
def test_estimates_are_unbiased_for_the_public_hash_functions_as_they_are(kind: type[Sketch], seed: int) -> None:
    """Collisions moved shares by several percent, the same way for every collection with these hash functions."""
    survey = kind(epsilon=2, **SMALL | {"seed": seed})
    shares = np.random.default_rng(seed).dirichlet(np.full(40, 0.1))
    assert expected(survey, shares) == pytest.approx(shares, abs=1e-9)
    support = survey._places  # the estimator of the literature, which is unbiased over hash functions only
    collided = np.array([(support == support[:, [v]]).mean(axis=0) for v in range(40)]) @ shares
    old = (collided - 1 / survey.width) / (1 - 1 / survey.width)
    assert np.abs(old - shares).max() > 0.02


@pytest.mark.parametrize("kind", [CountMeanSketch, HadamardCountMeanSketch])
@pytest.mark.parametrize("epsilon", [1, 6])
def test_the_told_variance_is_that_for_the_public_hash_functions(kind: type[Sketch], epsilon: int) -> None:
    survey, people, runs = kind(epsilon=epsilon, **SMALL), 2000, 300
    values = np.minimum(np.random.default_rng(1).geometric(0.3, people) - 1, 39)
    truth = np.bincount(values, minlength=40) / people
    found = [survey.estimate(survey.randomize(values, rng=seeded(run))) for run in range(runs)]
    errors = np.array([each.values - truth for each in found])
    told = survey._variances(truth, people)
    assert np.abs(errors.mean(axis=0) / np.sqrt(told / runs)).max() < 4.5  # 40 values: once in 4,000 such tests
    assert (errors**2).mean() == pytest.approx(told.mean(), rel=0.05)
    held = np.mean([(np.abs(each.values - truth) <= 1.96 * each.standard_errors).mean() for each in found])
    assert 0.93 <= held <= 0.97


def test_a_table_that_is_too_small_says_how_far_it_may_be_off() -> None:
    """Forty values in twelve places cannot be told apart: intervals hold that, and nobody may sign it."""
    survey = CountMeanSketch(epsilon=8, domain=40, rows=3, width=4)
    with pytest.raises(OutOfRange, match="cannot tell all values apart"):
        survey.check()
    for value in range(40):
        shares = np.eye(40)[value]
        found = survey.estimate(survey.randomize([value] * 3000, rng=seeded(value)))
        ends = found.intervals(0.9999)
        assert (ends[:, 0] <= shares).all()
        assert (shares <= ends[:, 1]).all()
        assert found.detection_limit() >= np.max(found.bias) > 0.2
    assert not np.any(CountMeanSketch(epsilon=1, **SMALL).estimate(np.zeros((9, 3), dtype=np.uint8)).bias)


def test_many_values_are_solved_for_without_their_inverse(monkeypatch: pytest.MonkeyPatch) -> None:
    survey = HadamardCountMeanSketch(epsilon=3, domain=300, rows=32, width=64)
    state = survey.accumulate(survey.randomize(np.arange(3000) % 7, rng=seeded(3)))
    exact = survey.decode(state, count=3000)
    monkeypatch.setattr("hubbub.local.randomizers.common.collisions.MOST_SOLVED", 100)
    large = HadamardCountMeanSketch(epsilon=3, domain=300, rows=32, width=64)
    found = large.decode(state, count=3000)
    assert found.values == pytest.approx(exact.values, abs=1e-8)
    assert found.variances.mean() == pytest.approx(exact.variances.mean(), rel=0.05)
    assert found.influence >= exact.influence
    with pytest.raises(OutOfRange, match="too few"):
        HadamardCountMeanSketch(epsilon=3, domain=3000, rows=32, width=64).decode(state, count=3000)
