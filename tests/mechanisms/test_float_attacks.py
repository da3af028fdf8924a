"""The attacks that broke floating-point noise: low-order bits, precision, big integers. Each has a twin that falls."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.mechanisms import (
    AboveThreshold,
    DiscreteGaussian,
    Exponential,
    FindRange,
    Gaussian,
    Geometric,
    Laplace,
    Quantile,
    ReportNoisyMax,
    SampleAggregate,
)
from hubbub.mechanisms.common.grid_values import rational_of, steps_of
from hubbub.mechanisms.common.numeric_columns import column_of
from hubbub.noise.testing import seeded

from .laws import FALSE_ALARM

VALUES = [0.0, 1.0, 0.1, 1 / 3, -2.5e-7, 1e6 + 0.7]
REALS = {
    "laplace": Laplace(sensitivity=1, epsilon=1),
    "gaussian": Gaussian(sensitivity=1, epsilon=2, delta=1e-6),
}


def outputs(release: Callable[[float], float], x: float, count: int = 3_000) -> list[float]:
    return [release(x) for _ in range(count)]


def on_grid(values: list[float], grid: Fraction) -> bool:
    return all((Fraction(value) / grid).denominator == 1 for value in values)


@pytest.mark.parametrize("name", REALS)
def test_every_value_can_reach_the_same_answers(name: str) -> None:
    """Mironov 2012: with noise in doubles an answer's low bits tell which inputs could have led to it."""
    mechanism, rng = REALS[name], seeded(1)
    for x in VALUES:
        assert on_grid(outputs(lambda v: mechanism.release(v, rng=rng), x), mechanism.event.grid)


def test_the_naive_mechanism_falls_to_low_bits() -> None:
    generator = np.random.default_rng(1)
    grid = REALS["laplace"].event.grid
    assert not on_grid(outputs(lambda v: v + generator.laplace(0, 1), 0.1), grid)


def low_bits(values: list[float], unit: float) -> np.ndarray:
    """How many of the lowest bits of each answer, in units of the grid, are zero: what rounding would fix."""
    steps = [int(Fraction(v) / Fraction(unit)) for v in values]
    return np.bincount([min(20, (s & -s).bit_length()) for s in steps], minlength=21)


@pytest.mark.parametrize("name", REALS)
@pytest.mark.parametrize("x", [0.0, 2.0**20, 2.0**40])
def test_neighbouring_values_leave_the_same_low_bits(name: str, x: float, soak: int) -> None:
    """Haney et al. 2022: even perfect noise leaks if adding it rounds by the size of the value."""
    mechanism, count = REALS[name], 20_000 * soak
    unit = max(float(mechanism.event.grid), float(np.spacing(x + 1)))
    rng = seeded(2)
    here = low_bits([mechanism.release(x, rng=rng) for _ in range(count)], unit)
    there = low_bits([mechanism.release(x + 1, rng=rng) for _ in range(count)], unit)
    table = np.array([here, there])[:, (here + there) > 10]
    assert stats.chi2_contingency(table).pvalue > FALSE_ALARM


@pytest.mark.parametrize("mechanism", [Geometric(sensitivity=1, epsilon=1), DiscreteGaussian(sensitivity=1, sigma=3)])
@pytest.mark.parametrize("x", [2**63 - 1, -(2**63), 2**64, 10**40])
def test_integers_at_the_ends_of_64_bits_neither_wrap_nor_fail(mechanism, x: int) -> None:
    rng = seeded(3)
    assert all(abs(mechanism.release(x, rng=rng) - x) < 100 for _ in range(200))


def test_lists_of_large_integers_are_not_turned_into_doubles() -> None:
    """As doubles these two would be 2048 apart: far more than the sensitivity that was declared."""
    pair = Laplace(sensitivity=1, epsilon=10**6, dimension=2)
    near = [round(float(pair.release([2**63 + d, -1], rng=seeded(4))[0]) - 2**63) for d in (1023, 1025)]
    assert near[0] in (0, 2048)  # only the answer is rounded to a double
    counts = Geometric(sensitivity=1, epsilon=100, dimension=2).release([2**63 + 1023, -1], rng=seeded(4))
    assert counts.tolist() == [2**63 + 1023, -1]


def test_longer_floats_are_read_exactly() -> None:
    values = np.array([np.longdouble(2) ** 62 + 1, np.longdouble("nan")])
    steps = steps_of(values, grid=Fraction(1), missing=Fraction(7), dimension=2)
    assert steps.tolist() == [2**62 + 1, 7]


ODD = [Decimal("sNaN"), Decimal("NaN"), Decimal("Infinity"), Decimal("1e-99999999"), Decimal("-1e99999999"), Decimal(0)]
TAKERS = {
    "laplace": lambda v: Laplace(sensitivity=1, epsilon=1).release(v),
    "gaussian": lambda v: Gaussian(sensitivity=1, rho=1).release([v, 1]),
    "exponential": lambda v: Exponential(sensitivity=1, epsilon=1).release([v, 1]),
    "noisy max": lambda v: ReportNoisyMax(sensitivity=1, epsilon=1).release([v, 1]),
    "sparse vector": lambda v: AboveThreshold(threshold=0, sensitivity=1, epsilon=1).ask(v),
    "quantile": lambda v: Quantile(q=0.5, lower=0, upper=9, step=1, epsilon=1).release([v, 1]),
    "range": lambda v: FindRange(epsilon=1).release([v, 1]),
    "aggregate": lambda v: SampleAggregate(function=lambda _: v, blocks=3, lower=0, upper=1, epsilon=1).release([1]),
}


@pytest.mark.parametrize("value", ODD, ids=str)
@pytest.mark.parametrize("taker", TAKERS)
def test_no_decimal_makes_a_release_fail_or_hang(taker: str, value: Decimal) -> None:
    TAKERS[taker](value)


def test_decimals_beyond_the_doubles_are_values_and_not_missing() -> None:
    """Through doubles 1e400 would be infinite, hence missing: far from its neighbour that is not."""
    assert rational_of(Decimal("1e400")) == 10**400
    assert rational_of(Decimal("-1e6000")) == -(10**5000)
    assert rational_of(Decimal("1e-6000")) == 0
    assert rational_of(Decimal("sNaN")) is None
    assert column_of([Decimal("-Infinity"), float("inf"), float("nan"), Decimal("sNaN"), "x", 2]) == [
        -math.inf,
        math.inf,
        2,
    ]
