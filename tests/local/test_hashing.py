"""Local hashing."""

from __future__ import annotations

import math
from itertools import pairwise

import numpy as np
import pytest

from hubbub.local import LocalHashing
from hubbub.local.randomizers.common import kernels
from hubbub.local.randomizers.common.hash_family import hash_bucket, mix_bits
from hubbub.noise.testing import seeded
from hubbub.terms import BadReport

from .contract import FrequencyContract, exp


class TestLocalHashing(FrequencyContract):
    kind = LocalHashing
    small = {"epsilon": 1, "domain": 8, "missing": 3}
    values = [0, 3, 4]
    people, repeats = 1_000, 20
    best = 3.69
    bad_payload = b"\x00\x00\x00\x00\x04"
    public = frozenset({0})

    def test_the_law_of_words_is_the_law_of_draws(self, soak: int) -> None:
        """The exact law is the one given the seed, so draws are compared seed by seed below."""

    def test_a_black_box_finds_no_more_than_epsilon(self) -> None:
        """Reports with seeds hardly ever repeat: see the test of the answer below."""


@pytest.mark.parametrize("seed", [0, 1, 12345, 2**32 - 1])
def test_the_answer_is_private_for_every_seed(seed: int) -> None:
    survey = LocalHashing(epsilon=1, domain=12)
    law = {}
    for value in range(12):
        edges = [0, survey.sets.keep], [survey.sets.keep, 1 << 64]
        masses = np.zeros(survey.buckets, dtype=object)
        for low, high in edges:
            cuts = [-(-i * (1 << 64) // (survey.buckets - 1)) for i in range(survey.buckets)]
            for start, end in pairwise(cuts):
                report = survey._respond_one(value, [seed << 32, low, start])
                masses[report >> 32] += (high - low) * (end - start)
        law[value] = masses
    table = np.array(list(law.values()))
    for column in table.T:
        assert max(column) <= exp(survey.epsilon) * min(column)
    assert sum(table[0]) == 1 << 128


def test_buckets_are_those_of_plain_integers() -> None:
    generator = np.random.default_rng(1)
    seeds, codes = generator.integers(0, 2**32, 300), generator.integers(0, 2**24, 300)
    assert hash_bucket(seeds, codes, 7).tolist() == [
        hash_bucket(int(s), int(c), 7) for s, c in zip(seeds, codes, strict=True)
    ]
    assert mix_bits(seeds.astype(np.uint64)).tolist() == [mix_bits(int(s)) for s in seeds]


def test_two_values_collide_as_often_as_buckets_say() -> None:
    """On average over seeds: what makes the estimates unbiased."""
    seeds = np.arange(200_000)
    for a, b in ((0, 1), (1, 2), (5, 99_999), (7, 7 + 2**20)):
        both = hash_bucket(seeds, np.array([a]), 4) == hash_bucket(seeds, np.array([b]), 4)
        assert abs(both.mean() - 1 / 4) < 5 * math.sqrt(3 / 16 / seeds.size)


def test_candidates_are_estimated_without_the_rest() -> None:
    survey = LocalHashing(epsilon=2, domain=1 << 24)
    reports = survey.randomize([123_456] * 3000 + [9_999_999] * 1000, rng=seeded(3))
    found = survey.estimate(reports, [123_456, 9_999_999, 5])
    assert np.abs(found.values - [0.75, 0.25, 0]).max() < 5 * math.sqrt(found.variances.max())


def test_hits_are_counted_alike_compiled_or_not(monkeypatch: pytest.MonkeyPatch) -> None:
    generator = np.random.default_rng(2)
    seeds, answers, codes = generator.integers(0, 2**32, 400), generator.integers(0, 4, 400), np.arange(60)
    plain = kernels.count_hits(seeds, answers, codes, 4)
    monkeypatch.setattr(kernels, "_MUCH", 0)
    if kernels._compiled_hits() is None:
        pytest.skip("numba is not installed")
    assert np.array_equal(kernels.count_hits(seeds, answers, codes, 4), plain)


def test_fakes_that_choose_their_seed_move_many_values_at_once() -> None:
    """What ``influence`` warns of: one report can support far more of the targets than a random seed does."""
    survey, targets = LocalHashing(epsilon=1, domain=1000), np.arange(8)
    most = max(np.bincount(hash_bucket(np.array([seed]), targets, survey.buckets)).max() for seed in range(1000))
    assert most >= 6  # of 8 targets in one bucket; a random seed has 2 or 3


def test_an_answer_that_is_no_bucket_is_refused() -> None:
    with pytest.raises(BadReport):
        LocalHashing(epsilon=1, domain=12).estimate(np.array([4 << 32]))
