"""No mask, subclass or odd float makes a mechanism release a value as it is, warn, or fail by what it holds."""

from __future__ import annotations

import sys
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pytest

from hubbub import mechanisms
from hubbub.mechanisms import FindRange, Geometric, Histogram, Laplace, Quantile, SampleAggregate
from hubbub.noise.testing import seeded
from hubbub.terms import HubbubError, TooLarge, Underflow, WrongShape

from .laws import NoSource

SMALL = {"epsilon": 1}
MAKES = {
    "Laplace": {"sensitivity": 1, **SMALL},
    "Geometric": {"sensitivity": 1, **SMALL},
    "Gaussian": {"sensitivity": 1, "rho": 1},
    "DiscreteGaussian": {"sensitivity": 1, "rho": 1},
    "Exponential": {"sensitivity": 1, **SMALL},
    "ReportNoisyMax": {"sensitivity": 1, **SMALL},
    "PermuteAndFlip": {"sensitivity": 1, **SMALL},
    "Quantile": {"q": 0.5, "lower": 0, "upper": 9, "step": 1, **SMALL},
    "FindRange": SMALL,
    "Histogram": {"categories": [0, 1, 2, 3], **SMALL},
    "NoisyCDF": {"cells": 4, **SMALL},
    "Workload": {"shape": (4,), "queries": [{0: "each"}], **SMALL},
    "RandomizedResponse": {"values": 4, **SMALL},
    "SampleAggregate": {"function": np.mean, "blocks": 2, "lower": 0, "upper": 9, **SMALL},
    "AboveThreshold": {"threshold": 2, "sensitivity": 1, "count": 4, **SMALL},
    "TreeCounter": {"horizon": 8, **SMALL},
    "ThresholdPartitionSelection": {"delta": 0.01, "max_keys_per_unit": 1, **SMALL},
    "JointQuantiles": {"levels": [0.5], "cells": 4, **SMALL},
    "WeightedPartitionSelection": {"delta": 0.01, "max_keys_per_unit": 1, **SMALL},
    "OptimalPartitionSelection": {"delta": 0.01, "max_keys_per_unit": 1, **SMALL},
}
VALUES = np.array([3, 0, 2, 1])
HOSTILE = {
    "masked": np.ma.masked_less(VALUES, 2),
    "masked without a mask": np.ma.array(VALUES),
    "list of masked": [np.ma.masked_less(VALUES, 2)],
    "pandas Int64": pd.Series([3, None, 2, 1], dtype="Int64"),
    "pandas Int64 in full": pd.Series([3, 0, 2, 1], dtype="Int64"),
    "pandas array": pd.array([3, 0, 2, 1], dtype="Int64"),
    "Polars": pl.Series([3, None, 2, 1]),
}


def test_every_mechanism_is_tried() -> None:
    assert set(MAKES) == set(mechanisms.__all__)


@pytest.mark.parametrize("hostile", HOSTILE)
@pytest.mark.parametrize("name", MAKES)
def test_masks_are_refused_before_noise_is_drawn(name: str, hostile: str) -> None:
    mechanism = getattr(mechanisms, name)(**MAKES[name])
    with pytest.raises(HubbubError):
        mechanism.release(HOSTILE[hostile], rng=NoSource())


@pytest.mark.parametrize("name", [name for name in MAKES if "PartitionSelection" not in name])
def test_other_subclasses_are_the_array_below_them(name: str, tmp_path) -> None:
    kept = np.memmap(tmp_path / "kept", dtype=np.int64, mode="w+", shape=VALUES.shape)
    kept[:] = VALUES
    plain, mapped = (getattr(mechanisms, name)(**MAKES[name]).release(data, rng=seeded(5)) for data in (VALUES, kept))
    assert type(plain) is type(mapped)
    assert not isinstance(mapped, np.memmap)
    assert np.array_equal(getattr(plain, "values", plain), getattr(mapped, "values", mapped)) or name == "NoisyCDF"


def test_a_matrix_is_released_with_noise_on_every_entry() -> None:
    released = Geometric(sensitivity=1, epsilon=0.001).release(np.array([[1, 2], [3, 4]]).view(np.matrix))
    assert type(released) is np.ndarray
    assert released.shape == (2, 2)


ODD = [
    np.array([np.inf, -np.inf, np.nan, 1e308, 5e-324, -0.0]),
    np.array([1, 2], dtype=np.longdouble) * np.longdouble("1e4000"),
    np.array([65504, np.inf], dtype=np.float16),
    np.frombuffer(b"\x01\x00\xa0\x7f", dtype=np.float32),  # a signalling NaN
    np.array([2**63 - 1, -(2**63)]),
    np.array([2**64 - 1], dtype=np.uint64),
    [10**400, -(10**400), np.longdouble("-1e4000"), "text", None, 3j],
]


@pytest.mark.parametrize("values", ODD, ids=range(len(ODD)))
def test_no_value_makes_a_column_warn(values) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Quantile(q=0.5, lower=0, upper=9, step=1, epsilon=1).release(values)
        FindRange(epsilon=1).release(values)


@pytest.mark.parametrize("problem", [SystemExit, KeyboardInterrupt, GeneratorExit, RecursionError, BaseException])
def test_a_function_cannot_end_the_program(problem: type[BaseException]) -> None:
    def leave(rows: list[int]) -> float:
        if 17 in rows:
            raise problem
        return 5.0

    mechanism = SampleAggregate(function=leave, blocks=3, lower=0, upper=10, epsilon=10**6)
    assert mechanism.release([1, 2, 17]) == pytest.approx(5, abs=0.1)
    assert mechanism.release([1, 2]) == pytest.approx(5, abs=0.1)


def test_ctrl_c_still_stops_it_when_a_block_is_done() -> None:
    import signal

    def press(rows: list[int]) -> float:
        signal.raise_signal(signal.SIGINT)
        return 5.0

    before = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        SampleAggregate(function=press, blocks=3, lower=0, upper=10, epsilon=1).release([1, 2])
    assert signal.getsignal(signal.SIGINT) is before


def test_scales_that_doubles_cannot_hold_are_refused_when_made() -> None:
    with pytest.raises(TooLarge):
        Laplace(sensitivity=10**300, epsilon=1e-10)
    with pytest.raises(Underflow):
        Laplace(sensitivity=1e-290, epsilon=1)


def test_what_is_released_is_finite() -> None:
    released = Laplace(sensitivity=1e200, epsilon=1).release([sys.float_info.max, 10**400, -(10**400)])
    assert np.isfinite(released).all()


def test_noise_beyond_64_bits_is_drawn_and_not_refused_after_a_charge() -> None:
    released = Geometric(sensitivity=1, epsilon=1e-20).release([0] * 50)
    assert max(abs(value) for value in released.tolist()) > 2**60
    with pytest.raises(TooLarge):
        Geometric(sensitivity=1, epsilon=1e-200)


def test_a_table_of_counts_is_a_mapping() -> None:
    with pytest.raises(WrongShape):
        mechanisms.OptimalPartitionSelection(epsilon=1, delta=0.01, max_keys_per_unit=1).release([3, 4])  # type: ignore[arg-type]


def test_a_histogram_takes_no_mask_for_a_value() -> None:
    with pytest.raises(WrongShape):
        Histogram(categories=[0, 1], epsilon=1).release(np.ma.masked_equal([0, 1], 1))


# ---------------------------------------------------------------- one person's entry

ROWS: dict[str, list[object]] = {
    "Quantile": [3, 0, 2, 1],
    "FindRange": [3, 0, 2, 1],
    "Histogram": [3, 0, 2, 1],
    "SampleAggregate": [3, 0, 2, 1],
    "RandomizedResponse": [3, 0, 2, 1],
}


class Unhashable:
    def __hash__(self) -> int:
        raise RuntimeError


class Leaving:
    def __hash__(self) -> int:
        raise SystemExit


ENTRIES = {
    "masked": np.ma.masked,
    "masked 0-d": np.ma.array(3, mask=True),
    "NaN": float("nan"),
    "None": None,
    "text": "x",
    "list": [1],
    "far": 99,
    "half": 0.5,
    "huge": 10**400,
    "a buffer": memoryview(bytearray(b"a")),
    "raises": Unhashable(),
    "leaves": Leaving(),
    "NaT": np.datetime64("NaT"),
    "complex": 1j,
    "pandas NA": pd.NA,
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("name", ROWS)
def test_no_entry_of_a_list_of_people_is_refused(name: str, entry: str) -> None:
    """Each entry is another person's: that it is refused, or warned about, would tell of that person."""
    mechanism = getattr(mechanisms, name)(**MAKES[name])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mechanism.release([*ROWS[name], ENTRIES[entry]])


def test_what_is_no_code_counts_as_missing() -> None:
    sure = mechanisms.RandomizedResponse(values=4, epsilon=60, missing=1)
    assert sure.release([3, 2.0, 0.5, float("nan"), None, "3", -1, 4]).tolist() == [3, 2, 1, 1, 1, 1, 1, 1]
    assert sure.release(np.array([3, np.nan, 0.5])).tolist() == [3, 1, 1]


# ---------------------------------------------------------------- parameters

EXTREME = (10**400, -(10**400), Fraction(1, 10**400), 1e308, 5e-324, -0.0)
CHANGED = [
    (name, parameter, value)
    for name, given in MAKES.items()
    for parameter, old in given.items()
    if isinstance(old, int | float)
    for value in EXTREME
]


@pytest.mark.parametrize(("name", "parameter", "value"), CHANGED)
def test_a_parameter_of_any_size_is_taken_or_refused_in_our_words(name: str, parameter: str, value: object) -> None:
    """No double holds these numbers, and a message must name them all the same."""
    try:
        getattr(mechanisms, name)(**{**MAKES[name], parameter: value})
    except HubbubError as error:
        assert len(str(error)) < 2000
