"""Plain values as JSON: the same for the same, and different for everything that may be told apart."""

from __future__ import annotations

import datetime
import itertools
import json
from decimal import Decimal
from enum import StrEnum
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.terms import identity_of


class Word(StrEnum):
    ONE = "one"


DIFFERENT: list[Any] = [
    *(None, True, False, 0, 1, 2**80, 1.0, 0.1, 0.1 + 2**-56, -0.0, 0.0, float("inf"), 1j, "", "1", "None", "True"),
    *(b"1", Fraction(1), Fraction(1, 3), Decimal("1"), Decimal("0.1")),
    *(datetime.date(2026, 1, 2), datetime.datetime(2026, 1, 2), datetime.time(1), datetime.timedelta(1)),
    *([], [1], ["1"], [[1]], (), (1,), (1, 2), [1, 2], [2, 1], {1}, {2}, {}, {1: 2}, {"1": 2}, {"a": 1, "b": 2}),
    *({"b": 2, "a": 1}, range(3), range(4), {"tuple": [1]}, {"float": "0x1.0000000000000p+0"}),
    *(np.array([1, 2]), np.array([1, 2.0]), np.array([[1, 2]]), np.array(["a", 1], dtype=object), np.array([1, 3])),
    *(np.datetime64("2026-01-02"), np.datetime64("2026-01-03")),
]


def text(value: object) -> str:
    return json.dumps(identity_of(value), allow_nan=False, sort_keys=True)


def test_different_values_are_told_apart() -> None:
    for a, b in itertools.combinations(DIFFERENT, 2):
        assert text(a) != text(b), (a, b)


@pytest.mark.parametrize(
    "same",
    [
        ("one", np.str_("one"), Word.ONE),
        (3, np.int64(3), np.int8(3)),
        (0.5, np.float64(0.5)),
        (True, np.True_),
        ({3, 1, 2}, frozenset((2, 1, 3))),
    ],
    ids=str,
)
def test_one_value_has_one_text_whoever_made_it(same: tuple[Any, ...]) -> None:
    assert len({text(value) for value in same}) == 1


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists, max_leaves=9))
def test_every_plain_value_has_a_text(value: Any) -> None:
    assert text(value) == text(value)


def test_a_long_array_is_told_to_its_last_number() -> None:
    one, other = np.zeros(5000), np.zeros(5000)
    other[2500] = 1e-300
    assert text(one) != text(other)
