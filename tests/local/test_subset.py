"""Sets of values."""

from __future__ import annotations

import numpy as np
import pytest

from hubbub.local import SubsetSelection, UnaryEncoding
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange, TooLarge

from .contract import FrequencyContract


class TestSubsetSelection(FrequencyContract):
    kind = SubsetSelection
    small = {"epsilon": 1, "domain": 7, "missing": 6, "size": 3}
    values = range(7)
    looser = {"_inside": 256}
    people, repeats = 400, 20
    best = 3.67
    bad_payload = b"\x0f"
    bad = {**FrequencyContract.bad, "size": [(0, OutOfRange), (7, OutOfRange)]}


def test_every_set_has_the_declared_size() -> None:
    survey = SubsetSelection(epsilon=1, domain=50)
    reports = survey.randomize(np.arange(2000) % 50, rng=seeded(1))
    assert set(np.bitwise_count(reports).sum(axis=1).tolist()) == {survey.size} == {13}


def test_it_has_the_least_variance() -> None:
    for domain in (10, 100):
        assert SubsetSelection(epsilon=1, domain=domain).variance(count=1) < UnaryEncoding(
            epsilon=1, domain=domain
        ).variance(count=1)
    assert SubsetSelection(epsilon=1, domain=10).variance(count=1) == pytest.approx(2.84, abs=0.005)


def test_so_many_values_are_refused() -> None:
    with pytest.raises(TooLarge):
        SubsetSelection(epsilon=1, domain=1 << 17)
