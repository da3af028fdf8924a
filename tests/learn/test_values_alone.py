"""What a value is read as depends on that value alone: no other row, and no container, decides it."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pandas
import pytest
import torch

from hubbub import learn
from hubbub.learn.base.inputs import _PLAIN, _as_number, numbers_of, private_table
from hubbub.learn.base.targets import targets_of
from hubbub.learn.training.column_moments import column_sums
from hubbub.learn.training.moments import Grid, bounded_entries


@pytest.fixture(autouse=True)
def _loudly() -> Iterator[None]:
    """A warning that depends on values tells about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            yield


# ---------------------------------------------------------------- objects


class OtherFloat(float):
    def __float__(self) -> float:
        return 99.0


class OtherDouble(np.float64):
    def __float__(self) -> float:
        return 18.0


class TwoAnswers:
    """An array to numpy, another number to ``float``."""

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return np.array(11.0)

    def __float__(self) -> float:
        return 12.0


class OwnInterface:
    __array_interface__ = np.array(16.0).__array_interface__

    def __float__(self) -> float:
        return 17.0


EDGES: list[Any] = [
    *(
        True,
        False,
        0,
        1,
        -1,
        2**53 + 1,
        -(2**53) - 1,
        2**63,
        2**64 + 3,
        10**308,
        2**1024 - 2**970 - 1,
        2**1024,
        10**400,
    ),
    *(0.0, -0.0, 5e-324, 1.7976931348623157e308, float("nan"), float("inf"), float("-inf"), 0.1),
    *(np.float16(1.1), np.float16(65504), np.float32(0.1), np.float32(3e38), np.float64(-0.0), np.longdouble(1) / 3),
    *(np.longdouble("1e4000"), np.longdouble("-1e-4930"), np.bool_(True), np.longlong(2**62 + 1), np.ulonglong(2**63)),
    *(kind(np.iinfo(kind).max) for kind in (np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32)),
    *(np.int64(-(2**63)), np.int64(2**63 - 1), np.uint64(2**64 - 1)),
]
OTHERS: list[Any] = [
    *(np.datetime64("2020-01-01"), np.datetime64(5, "ns"), np.datetime64("NaT"), np.array(np.datetime64(3, "s"))),
    *(np.timedelta64(5), np.timedelta64(5, "s"), np.timedelta64(5, "D"), np.timedelta64("NaT"), datetime.timedelta(1)),
    *("1.5", " 1 ", "1_0", "0x10", "nan", "1e400", "1\x00", "1" * 5000, np.str_("2"), np.str_("1\x00"), b"1"),
    *(bytearray(b"1"), np.bytes_(b"3"), memoryview(b"1"), Decimal("1.1"), Decimal("1e400"), Decimal("sNaN")),
    *(Fraction(1, 3), 1 + 2j, np.complex128(1 + 2j), datetime.date(2020, 1, 1), pandas.Timestamp("2020")),
    *(None, pandas.NA, pandas.NaT, np.ma.masked, np.ma.array([1.0], mask=[True]), [], [5.0], (5.0,), {}, range(1)),
    *(np.array(5.0), np.array([5.0]), np.array([[5.0]]), np.array("7"), np.array(b"7"), np.array([1.0, 2.0])),
    *(np.array(2**60, dtype=object), np.array(None, dtype=object), np.void(b"12345678"), pandas.Series([4.0])),
    *(torch.tensor(3.0), torch.tensor([3.0]), OtherFloat(2.0), OtherDouble(1.0), TwoAnswers(), OwnInterface()),
]


def objects(*values: Any, shape: tuple[int, ...]) -> Any:
    array = np.empty(len(values), dtype=object)
    for place, value in enumerate(values):
        array[place] = value
    return array.reshape(shape)


def same(read: np.float64, expected: float) -> bool:
    return bool(read == expected or (np.isnan(read) and np.isnan(expected)))


def test_the_edges_have_every_plain_type() -> None:
    assert {type(value) for value in EDGES} == _PLAIN


@pytest.mark.parametrize("value", EDGES, ids=lambda value: type(value).__name__)
def test_one_go_reads_a_plain_number_as_it_is_read_alone(value: Any) -> None:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        alone = _as_number(value)
    for plain in ([value], [value, 1], objects(value, 2.5, shape=(2,)), objects(value, 2.5, shape=(1, 2))):
        read = numbers_of(plain).ravel()[0]
        assert read.tobytes() == np.float64(alone).tobytes()


@pytest.mark.parametrize("value", [*EDGES, *OTHERS], ids=lambda value: type(value).__name__)
def test_no_other_value_decides_what_a_value_is_read_as(value: Any) -> None:
    alone = numbers_of(objects(value, shape=(1,)))[0]
    for other in (object(), "n/a", None, 10**400, np.datetime64("2020-01-01"), 1.0):
        for together in (
            numbers_of(objects(value, other, shape=(2,)))[0],
            numbers_of(objects(value, other, shape=(2, 1)))[0, 0],
        ):
            assert same(together, alone)
        read = alone if np.isfinite(alone) else 0.0
        assert same(private_table([[value], [other]])[0, 0], read)
        assert same(private_table(objects(value, other, shape=(2, 1)))[0, 0], read)


def test_dates_and_times_are_no_numbers_whatever_their_unit() -> None:
    for unit in ("D", "s", "us", "ns"):
        for cell in (np.datetime64(5, unit), np.timedelta64(5, unit)):
            assert np.isnan(numbers_of([cell])).all() and np.isnan(numbers_of(np.array([cell]))).all()
            assert targets_of(np.array([cell, cell]), (0, 1), 2).tolist() == [0, 0]


def test_one_row_moves_the_sums_of_waiting_times_by_what_it_adds_alone() -> None:
    """Neighbours: people whose cells are numpy's times, and one who has a word there."""
    rows = [[np.timedelta64(5, "D"), 40.0] for _ in range(500)]
    without, with_one, alone = map(sums_of, (rows, [*rows, ["n/a", 40.0]], [["n/a", 40.0]]))
    assert np.array_equal(with_one, without + alone)
    learn.StandardScaler(epsilon=1, delta=1e-6, bounds=(0, 50), rows=500).fit(rows)


def sums_of(rows: Any) -> Any:
    """What a scaler releases of a table, before the noise."""
    grid = Grid(20)
    return column_sums(bounded_entries(private_table(rows), np.zeros(2), np.full(2, 50.0), grid), grid)
