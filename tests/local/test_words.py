"""Sampling from words, exactly."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.local.randomizers.common import exact_words
from hubbub.local.randomizers.common.exact_words import (
    WORD,
    coin_threshold,
    exp_high,
    exp_low,
    fewest_words,
    integer_below,
    interval_cuts,
    most_words,
)

from .contract import exp

words = st.integers(0, WORD - 1)
ranges = st.integers(1, 1 << 32)


@given(st.lists(words, min_size=1, max_size=20), ranges)
def test_products_of_halves_are_the_whole_product(drawn: list[int], k: int) -> None:
    assert integer_below(np.array(drawn, dtype=np.uint64), k).tolist() == [integer_below(word, k) for word in drawn]


@given(st.integers(1, 300))
def test_each_integer_gets_as_many_words_as_told(k: int) -> None:
    ends = [0, *interval_cuts(k), WORD]
    shares = {high - low for low, high in pairwise(ends)}
    assert shares <= {fewest_words(k), most_words(k)}
    for i, start in enumerate(ends[:-1]):
        assert integer_below(start, k) == i
        assert start == 0 or integer_below(start - 1, k) == i - 1


@given(st.fractions(Fraction(1, 1000), 10**12))
def test_a_threshold_is_the_largest_within_the_odds(odds: Fraction) -> None:
    limit = coin_threshold(odds)
    assert limit <= odds * (WORD - limit)
    assert limit + 1 > odds * (WORD - limit - 1)


@pytest.mark.parametrize("epsilon", [Fraction(1, 10**6), Fraction(1, 3), Fraction(1), Fraction(20), Fraction(64)])
def test_the_exponential_is_enclosed(epsilon: Fraction) -> None:
    low, high, true = exp_low(epsilon), exp_high(epsilon), exp(epsilon)
    slack = 1 + Fraction(1, 10**50)
    assert low <= true * slack
    assert true <= high * slack
    assert high / low < 1 + Fraction(1, 10**40)


@given(st.lists(st.integers(0, (1 << 40) - 1), min_size=1, max_size=10))
def test_numbers_become_bytes_and_come_back(numbers: list[int]) -> None:
    codes = np.array(numbers, dtype=np.int64)
    rows = exact_words.to_bytes(codes, 5)
    assert rows.shape == (len(numbers), 5)
    assert exact_words.from_bytes(rows).tolist() == numbers
    assert bytes(rows[0]) == numbers[0].to_bytes(5, "little")


def test_the_bytes_that_integers_need() -> None:
    assert [exact_words.bytes_for(n) for n in (2, 256, 257, 65_536, 65_537, 1 << 24, (1 << 24) + 1)] == [
        1,
        1,
        2,
        2,
        3,
        3,
        4,
    ]
