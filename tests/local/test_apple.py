"""Sketches."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.local import CountMeanSketch, HadamardCountMeanSketch
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange

from .contract import FrequencyContract

BAD = {**FrequencyContract.bad, "width": [(24, OutOfRange), (1, OutOfRange)], "rows": [(0, OutOfRange)]}


class TestCountMeanSketch(FrequencyContract):
    kind = CountMeanSketch
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


def test_collisions_are_part_of_the_told_variance() -> None:
    """Two values, one of them held by everybody, in a table that is far too small."""
    errors, told = [], []
    for seed in range(150):
        survey = HadamardCountMeanSketch(epsilon=8, domain=2, rows=2, width=16, seed=seed)
        found = survey.estimate(survey.randomize([0] * 2000, rng=seeded(seed)))
        errors.append(found.values[1] ** 2)
        told.append(found.variances[1])
    assert np.mean(errors) == pytest.approx(np.mean(told), rel=0.5)
    assert np.mean(told) > 10 * survey.variance(count=2000)
