"""A bit for each value."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.local import UnaryEncoding
from hubbub.local.randomizers.common.kernels import count_bits
from hubbub.noise.testing import seeded

from .contract import FrequencyContract


class TestOptimized(FrequencyContract):
    kind = UnaryEncoding
    small = {"epsilon": 1, "domain": 5, "missing": 1}
    values = range(5)
    looser = {"_other": -1}
    large = {"epsilon": 1, "domain": 1000}
    people, repeats = 400, 20
    best = 4 * math.e / (math.e - 1) ** 2
    bad_payload = b"\x20"


class TestSymmetric(TestOptimized):
    small = {"epsilon": 1, "domain": 5, "optimized": False}
    looser = {"_own": 1}
    large = {"epsilon": 1, "domain": 1000, "optimized": False}
    best = 3.92


def test_without_the_additive_term_empty_bins_look_full() -> None:
    """Section 4 of the lectures prints c times the sum of the bits; what is missing is n q / (p - q)."""
    survey = UnaryEncoding(epsilon=1, domain=4, optimized=False)
    state = survey.accumulate(survey.randomize(np.zeros(20_000, dtype=int), rng=seeded(1)))
    h = math.exp(0.5)
    printed = (h + 1) / (h - 1) * state / 20_000
    ours = survey.decode(state, count=20_000)
    assert printed[1:].min() > 1
    assert np.abs(ours.values[1:]).max() < 5 * math.sqrt(ours.null_variance)


@pytest.mark.parametrize("people", [1, 255, 256, 3000])
def test_bits_are_counted(people: int) -> None:
    rows = np.random.default_rng(1).integers(0, 256, size=(people, 13), dtype=np.uint8)
    assert np.array_equal(count_bits(rows), np.unpackbits(rows, axis=1, bitorder="little").sum(axis=0))
