"""Randomized response over k values."""

from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.local import KaryResponse
from hubbub.terms import NotANumber, WrongShape

from .contract import LargeDomains


class TestKaryResponse(LargeDomains):
    kind = KaryResponse
    small = {"epsilon": 1, "domain": 5, "missing": 2}
    values = range(5)
    best = (math.e + 998) / (math.e - 1) ** 2
    people = 100_000
    bad_payload = b"\x05"


def test_two_values_are_the_lectures_coin() -> None:
    coin = KaryResponse(epsilon=1, domain=2)
    assert coin.p == pytest.approx(math.e / (math.e + 1))
    assert coin.p + coin.q == pytest.approx(1)


def test_values_are_refused_by_type_and_shape_alone() -> None:
    survey = KaryResponse(epsilon=1, domain=5)
    with pytest.raises(NotANumber):
        survey.randomize([0.5, 1.0])
    with pytest.raises(WrongShape):
        survey.randomize(np.zeros((2, 2), dtype=int))


def test_nobody_gives_no_reports() -> None:
    assert KaryResponse(epsilon=1, domain=5).randomize([]).size == 0


def test_a_large_domain_spreads_over_all_values() -> None:
    survey = KaryResponse(epsilon=1, domain=100_000)
    reports = survey.randomize(np.zeros(50_000, dtype=int))
    assert reports.min() < 1000
    assert reports.max() > 99_000


def test_columns_of_tables_are_taken_as_they_are() -> None:
    pandas = pytest.importorskip("pandas", reason="an optional package")
    survey, words = KaryResponse(epsilon=1, domain=5), np.arange(8, dtype=np.uint64).reshape(4, 2)
    column = pandas.Series([0, 4, 9, 2], dtype="int32")
    assert np.array_equal(survey.respond(column, words), survey.respond([0, 4, 0, 2], words))
