"""Hadamard's matrix, two ways."""

from __future__ import annotations

import math

import numpy as np

from hubbub.local import HadamardResponse, OneBitHadamard
from hubbub.local.randomizers.hadamard import walsh_transform
from hubbub.noise.testing import seeded

from .contract import LargeDomains

BEST = ((math.e + 1) / (math.e - 1)) ** 2


class TestHadamardResponse(LargeDomains):
    kind = HadamardResponse
    small = {"epsilon": 1, "domain": 6, "missing": 5}
    values = range(6)
    best = BEST
    bad_payload = b"\x08"

    def farthest(self, randomizer: object) -> tuple[int, int]:
        return 0, 1


class TestOneBitHadamard(LargeDomains):
    kind = OneBitHadamard
    small = {"epsilon": 1, "domain": 6, "missing": 5}
    values = range(6)
    best = BEST
    bad_payload = b"\x10"


def test_the_fast_transform_is_the_matrix() -> None:
    matrix = np.array([[(-1) ** (i & j).bit_count() for j in range(32)] for i in range(32)])
    counts = np.random.default_rng(1).integers(0, 1000, 32)
    assert np.array_equal(walsh_transform(counts), matrix @ counts)


def test_a_collector_may_assign_the_column() -> None:
    survey = OneBitHadamard(epsilon=1, domain=50)
    words = seeded(1).random_words(400).reshape(200, 2)
    values = np.arange(200) % 50
    reports = survey.respond(values, words)
    assert np.array_equal(survey.respond_at(values, reports >> 1, words[:, 1]), reports & 1)


def test_for_a_large_epsilon_one_bit_is_not_enough() -> None:
    assert OneBitHadamard(epsilon=8, domain=1000).variance(count=1) > 1
