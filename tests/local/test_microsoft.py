"""One bit for a mean, a few bits for a histogram."""

from __future__ import annotations

import math

import numpy as np

from hubbub.local import DBitFlip, Duchi, OneBitMean
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange

from .contract import FrequencyContract, MeanContract


class TestOneBitMean(MeanContract):
    kind = OneBitMean
    small = {"epsilon": 1, "lower": -1, "upper": 1}
    looser = {"_top": 1}
    spreads = {(1, 0): 4.68, (1, 1): 3.68}
    bad_payload = b"\x02"


class TestDBitFlip(FrequencyContract):
    kind = DBitFlip
    looser = {"_keep": 1}
    small = {"epsilon": 1, "domain": 4, "flips": 2, "missing": 1}
    values = range(4)
    large = {"epsilon": 1, "domain": 1000, "flips": 100}
    people, repeats = 2_000, 20
    best = 39.18
    bad_payload = b"\x02\x02"
    bad = {**FrequencyContract.bad, "flips": [(0, OutOfRange), (5, OutOfRange)]}
    tight = False


def test_it_is_the_interpolated_coin_of_the_lectures() -> None:
    bit, coin = OneBitMean(epsilon=1, lower=0, upper=10), Duchi(epsilon=1, lower=0, upper=10)
    words = seeded(1).random_words(500).reshape(-1, 1)
    values = np.linspace(-1, 11, 500)
    assert np.array_equal(bit.respond(values, words), coin.respond(values, words))


def test_every_value_is_asked_about_equally_often() -> None:
    survey = DBitFlip(epsilon=1, domain=12, flips=5)
    asked = np.bincount((survey.randomize([3] * 24_000, rng=seeded(2)) >> 1).ravel(), minlength=12)
    assert np.abs(asked - 10_000).max() < 6 * math.sqrt(24_000 * 5 / 12 * 7 / 12)


def test_fakes_that_all_were_asked_about_the_target_stay_within_the_bound() -> None:
    survey = DBitFlip(epsilon=1, domain=100, flips=1)
    honest = survey.randomize(np.arange(49_500) % 50 + 50, rng=seeded(4))
    fakes = np.full((500, 1), 2 * 7 + 1)
    found = survey.estimate(np.concatenate([honest, fakes]))
    usual = 0.01 * (1 - survey.q) / (survey.p - survey.q)
    assert usual < found.values[7] < survey.influence(0.01)


def test_a_value_that_nobody_was_asked_about_is_estimated_as_nothing() -> None:
    survey = DBitFlip(epsilon=1, domain=1000, flips=1)
    assert np.isfinite(survey.estimate(survey.randomize([3] * 10, rng=seeded(1))).values).all()
