"""The attacks that broke floating-point noise: low-order bits, precision, big integers. Each has a twin that falls."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hubbub.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from hubbub.mechanisms._values import steps_of
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
