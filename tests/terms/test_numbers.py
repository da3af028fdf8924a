from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.terms import (
    Budget,
    HubbubError,
    MissingParameter,
    NotANumber,
    OutOfRange,
    TooLarge,
    Unreadable,
    exact,
    fraction_of,
    positive,
    root_of,
    round_up,
    whole,
)
from hubbub.terms.numbers import parse


@pytest.mark.parametrize(
    "value", [0.1, Decimal("0.1"), Fraction(1, 10), np.float64(0.1), np.float32(0.1)], ids=lambda v: type(v).__name__
)
def test_a_tenth_is_a_tenth_however_it_is_typed(value: object) -> None:
    assert exact(value, name="epsilon") == Fraction(1, 10)


@given(st.decimals(allow_nan=False, allow_infinity=False, places=12))
def test_decimals_are_read_without_loss(value: Decimal) -> None:
    assert exact(value, name="x") == Fraction(value)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_floats_are_read_as_the_decimal_they_show(value: float) -> None:
    assert exact(value, name="x") == Fraction(repr(value))


@pytest.mark.parametrize("value", ["1", None, True, [1], 1j, b"1", np.bool_(True)], ids=repr)
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(NotANumber, match="epsilon"):
        exact(value, name="epsilon")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -float("inf"), Decimal("NaN"), Decimal("Infinity")])
def test_nan_and_infinities_are_refused(value: object) -> None:
    with pytest.raises(OutOfRange, match="finite"):
        positive(value, name="epsilon")


@pytest.mark.parametrize("value", [Decimal("1e-99999999"), Decimal("1e99999999")])
def test_numbers_too_long_to_compute_with_are_refused_at_once(value: Decimal) -> None:
    with pytest.raises(TooLarge):
        positive(value, name="epsilon")


@pytest.mark.parametrize("value", [0, -1, -0.5, Fraction(-1, 3)])
def test_zero_and_negative_are_refused_where_positive_is_meant(value: object) -> None:
    with pytest.raises(OutOfRange, match="above 0"):
        positive(value, name="sensitivity")


def test_probabilities_keep_to_their_interval() -> None:
    assert fraction_of(0, name="delta", zero=True) == 0
    assert fraction_of(1, name="rate", one=True) == 1
    for bad in (0, 1, -0.1, 1.1):
        with pytest.raises(OutOfRange):
            fraction_of(bad, name="delta")


def test_whole_numbers_are_whole() -> None:
    assert whole(3.0, name="times") == 3
    for bad in (0, 2.5, -1):
        with pytest.raises(OutOfRange):
            whole(bad, name="times")


@given(st.floats(min_value=1e-300, max_value=1e300))
def test_rounding_up_never_rounds_down(value: float) -> None:
    assert round_up(value) > Fraction(value)


@given(st.fractions(min_value=0, max_value=10**9))
def test_roots_are_rounded_up_to_a_short_fraction(value: Fraction) -> None:
    root = root_of(value)
    assert root**2 >= value
    assert root == 0 or (root - Fraction(1, 1024)) ** 2 < value
    assert 1024 % root.denominator == 0


@pytest.mark.parametrize("text", ["1/0", "x", "", "1.2.3", "1e30000000", "1e-30000000", "1E99999/3"])
def test_a_stored_number_that_is_none_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        parse(text)


def test_a_budget_has_exactly_one_cap_and_no_default() -> None:
    assert Budget(1).measure().describe() == "epsilon = 1"
    assert Budget(rho=0.5).measure().describe() == "rho = 0.5"
    for bad in ({}, {"epsilon": 1, "rho": 1}):
        with pytest.raises(MissingParameter):
            Budget(**bad)
    for args in ((0,), (-1,), (1, 1), (1, -0.1), ("1",), (float("nan"),)):
        with pytest.raises(HubbubError):
            Budget(*args)


def test_ten_tenths_make_one() -> None:
    assert sum((exact(0.1, name="epsilon") for _ in range(10)), Fraction(0)) == Budget(1).epsilon
