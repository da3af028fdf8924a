"""Mondrian: every class has k rows, equal values stay together, and the ranges are true."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.publish import mondrian
from hubbub.publish.mondrian import partition
from hubbub.terms import EmptyInput, OutOfRange


def people(n: int, seed: int = 3) -> pa.Table:
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "age": chance.integers(18, 90, n),
            "zip": [f"12{code:03d}" for code in chance.integers(0, 300, n)],
            "sex": chance.choice(["f", "m"], n),
            "ill": chance.choice(["flu", "hay", "none"], n),
        }
    )


QI = ["age", "zip", "sex"]


def smallest_class(table: pa.Table, names: list[str]) -> int:
    return min(Counter(zip(*(table[name].to_pylist() for name in names), strict=True)).values())


@pytest.mark.parametrize("k", [2, 7, 50])
def test_every_combination_that_is_published_has_k_rows(k: int) -> None:
    made = mondrian(people(1000), quasi_identifiers=QI, k=k)
    assert smallest_class(made.table, QI) >= k
    assert made.metrics.smallest == np.bincount(made.classes).min() >= k


def test_no_part_could_be_cut_further() -> None:
    table = people(400)
    made = mondrian(table, quasi_identifiers=QI, k=5)
    for number in range(made.metrics.classes):
        inside = table.filter(pa.array(made.classes == number)).select(QI)
        for name in QI:
            values = sorted(inside[name].to_pylist())
            cuts = [i for i in range(1, len(values)) if values[i - 1] != values[i]]
            assert not any(5 <= i <= len(values) - 5 for i in cuts)


def test_what_is_published_contains_what_was_there_and_the_rest_is_untouched() -> None:
    table = people(300)
    made = mondrian(table, quasi_identifiers=["age"], k=10)
    for age, told in zip(table["age"].to_pylist(), made.table["age"].to_pylist(), strict=True):
        low, _, high = told.partition(" to ")
        assert int(low) <= age <= int(high or low)
    assert made.table.drop(["age"]).equals(table.drop(["age"]))


def test_all_values_alike_are_one_class_and_cost_nothing() -> None:
    made = mondrian(pa.table({"a": [7] * 9}), quasi_identifiers=["a"], k=2)
    assert (made.metrics.classes, made.metrics.gcp, set(made.table["a"].to_pylist())) == (1, 0, {"7"})


def test_missing_values_are_a_value_of_their_own() -> None:
    made = mondrian(pa.table({"a": [None, None, 1, 1]}), quasi_identifiers=["a"], k=2)
    assert made.table["a"].to_pylist() == ["(missing)", "(missing)", "1", "1"]
    mixed = mondrian(pa.table({"a": [None, 1, 2, 2]}), quasi_identifiers=["a"], k=3)
    assert set(mixed.table["a"].to_pylist()) == {"{(missing), 1, 2}"}


def test_words_are_published_as_sets_and_numbers_as_ranges() -> None:
    table = pa.table({"word": ["b", "a", "c", "c"], "n": [1, 1, 2, 3]})
    assert set(mondrian(table, quasi_identifiers=["word"], k=4).table["word"].to_pylist()) == {"{a, b, c}"}
    assert set(mondrian(table, quasi_identifiers=["n"], k=4).table["n"].to_pylist()) == {"1 to 3"}


def test_penalty_is_the_mean_width_of_the_ranges() -> None:
    made = mondrian(pa.table({"a": [0, 1, 8, 10]}), quasi_identifiers=["a"], k=2)  # codes 0..3: 0-1 and 2-3
    assert made.metrics.gcp == pytest.approx(1 / 3)
    assert made.metrics.discernibility == 8
    assert made.metrics.average_size == 1


def test_frames_of_every_kind_give_the_same_table() -> None:
    table = people(200)
    expected = mondrian(table, quasi_identifiers=QI, k=5).table.to_pylist()
    for frame in (table.to_pandas(), pl.from_arrow(table), table.to_pandas().astype({"sex": "category"})):
        assert mondrian(frame, quasi_identifiers=QI, k=5).table.to_pylist() == expected


def test_order_of_rows_does_not_matter() -> None:
    table = people(500).to_pandas()
    mixed = table.sample(frac=1, random_state=1)
    first = mondrian(table, quasi_identifiers=QI, k=5).table.to_pandas()
    again = mondrian(mixed, quasi_identifiers=QI, k=5).table.to_pandas()
    again.index = mixed.index
    pd.testing.assert_frame_equal(first, again.sort_index())


@settings(max_examples=60)
@given(st.data())
def test_partition_keeps_k_and_whole_values(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 6))
    n = data.draw(st.integers(k, 60))
    codes = np.array(data.draw(st.lists(st.lists(st.integers(0, 5), min_size=n, max_size=n), min_size=1, max_size=3)))
    classes = partition(codes, spans=[5] * len(codes), k=k)
    assert np.bincount(classes).min() >= k
    assert len({(*column, c) for column, c in zip(codes.T.tolist(), classes, strict=True)}) == len(
        {tuple(column) for column in codes.T.tolist()}
    )


@pytest.mark.parametrize(
    ("names", "k", "error", "told"),
    [
        ([], 2, EmptyInput, "no list"),
        ("age", 2, EmptyInput, "no list"),
        (["shoe"], 2, OutOfRange, "'shoe'"),
        (["age"], 1, OutOfRange, "k"),
        (["age"], 11, OutOfRange, "k=11"),
    ],
)
def test_what_cannot_be_done_is_refused(names: list[str], k: int, error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        mondrian(people(10), quasi_identifiers=names, k=k)
