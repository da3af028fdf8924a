"""Sums over rows in exact integers, and the noise on them.

Every row becomes integers on a public grid of 2^-bits, by itself and in the same way wherever it stands. Sums and
products of these integers stay below 2^53 inside a matrix product and below 2^61 in all, so they are exact in any
order, and the sensitivity is a theorem about integers: nothing is added to it for rounding. ``docs/proofs/moments.md``
has the argument; ``learn/rounding.py`` is for gradients, where this is not possible.

All statistics of one release lie on the grid 4^-bits: a product of two entries, an entry times 2^bits, a count times
4^bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hubbub import noise
from hubbub.learn.training.calibration import noise_multiplier
from hubbub.learn.training.network import Floats
from hubbub.learn.training.sampling import FullBatch, step_of
from hubbub.terms import GaussianNoise, Neighbours, Repeat, TooLarge, Unit, root_of

_BITS = range(20, 5, -1)  # of an entry; fewer for very many rows, columns, or very much noise
_WORD, _NOISE, _DOUBLE = 1 << 60, 1 << 50, 1 << 52  # the largest sum, noise, and sum inside one matrix product
_MARGIN = Fraction(999_997, 1_000_000)  # of epsilon and delta, which a ledger rounds up
_LARGEST = 1e300
DIAGONAL, BESIDE = 5, 7  # weights of a symmetric matrix: 7 is a little below 5 sqrt(2), so the norm is that of 5 x x^T
CONSTANT = Fraction(1, 2)  # the entry of each row that feeds the intercept, beside a row of norm 1

Integers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grid:
    """How fine entries are (2^-bits), and so statistics (4^-bits)."""

    bits: int

    @property
    def one(self) -> int:
        """The entry 1, in steps."""
        return 1 << self.bits

    @property
    def unit(self) -> int:
        """The statistic 1, in steps."""
        return 1 << 2 * self.bits

    @property
    def step(self) -> Fraction:
        """One step of a statistic."""
        return Fraction(1, self.unit)

    @property
    def chunk(self) -> int:
        """How many rows one matrix product may add up in doubles without rounding."""
        return _DOUBLE // self.unit


@dataclass(frozen=True, slots=True)
class SumsPlan:
    """Noisy sums that were decided on: the event, and the grid that it is about."""

    run: Repeat
    grid: Grid

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise on every statistic."""
        return float(step_of(self.run).sigma)


def plan_sums(
    *,
    size: int,
    square: Fraction,
    largest: int,
    columns: int,
    rows: int,
    steps: int,
    epsilon: Fraction,
    delta: Fraction,
    neighbours: Neighbours,
    unit: Unit,
) -> SumsPlan:
    """``steps`` noisy sums of ``size`` statistics, together (epsilon, delta)-DP.

    ``square`` bounds the squared L2 norm of what one row adds, ``largest`` the size of each entry of it. There are at
    most ``rows`` rows of ``columns`` entries.

    Guarantee: what ``noisy_sum`` gives in these steps is (epsilon, delta)-DP for the neighbours asked for.
    Because: Gaussian noise of the event's own accounting [DRS22, Cor. 2], exact on a grid [CKS20];
    ``docs/proofs/moments.md`` for the sensitivity.
    """
    ratio = noise_multiplier(FullBatch(), steps, epsilon, delta * _MARGIN, neighbours)
    sensitivity = root_of(square)
    grid = _finest_grid(sensitivity * ratio, most=rows * largest, columns=columns)
    step = GaussianNoise(
        sigma=-(-sensitivity * ratio // grid.step) * grid.step,
        sensitivity=sensitivity,
        grid=grid.step,
        dimension=size,
        mechanism="exact-sum",
        unit=unit,
    )
    return SumsPlan(Repeat(step, steps), grid)


def _finest_grid(sigma: Fraction, *, most: int, columns: int) -> Grid:
    """The finest grid on which everything fits into integers."""
    for grid in map(Grid, _BITS):
        if most * grid.unit <= _WORD and sigma * grid.unit <= _NOISE and columns * grid.unit <= _DOUBLE:
            return grid
    raise TooLarge(
        "sums of so many rows or columns, with so much noise, do not fit into 64-bit integers.",
        why="Sums and noise are exact integers.",
        fix="Use a larger epsilon, fewer columns, or a sample of the rows.",
    )


def noisy_sum(total: Integers, step: GaussianNoise, *, rng: noise.RandomSource | None = None) -> Floats:
    """Exact integers plus exact noise, scaled once."""
    drawn = noise.discrete_gaussian(step.sigma / step.grid, total.size, rng=rng)
    return np.asarray((total + drawn) * float(step.grid), dtype=np.float64)


# ---------------------------------------------------------------- rows as integers


def unit_rows(table: Floats, norm: float, grid: Grid) -> Floats:
    """Rows over ``norm`` as whole numbers of grid steps, each of exact L2 norm at most ``grid.one``.

    Guarantee: the integers of a row depend on this row alone, and their squares add up to at most ``grid.unit``.
    Because: ``docs/proofs/moments.md``; single operations are rounded correctly [Hig02], and sums are of integers.
    """
    with np.errstate(over="ignore"):  # a finite number over a small norm may overflow, which must not become NaN
        entries = np.clip(table / norm, -_LARGEST, _LARGEST)
    entries /= np.maximum(np.abs(entries).max(axis=1, keepdims=True), 1.0)
    entries *= grid.one
    np.rint(entries, out=entries)
    squares = _row_squares(entries)
    long = squares > grid.unit
    entries[long] = np.trunc(entries[long] * (grid.one / np.sqrt(squares[long]))[:, None])
    entries[_row_squares(entries) > grid.unit] = 0  # never happens; and if it did, the bound would hold
    return entries


def with_constant(entries: Floats, grid: Grid) -> Floats:
    """Integer rows and a constant entry of ``CONSTANT``."""
    return np.hstack([entries, np.full((len(entries), 1), float(CONSTANT * grid.one))])


def _row_squares(entries: Floats) -> Floats:
    squares: Floats = np.einsum("ij,ij->i", entries, entries)  # integers below 2^53: exact in any order
    return squares


def bounded_entries(table: Floats, lower: Floats, upper: Floats, grid: Grid) -> Floats:
    """Columns clipped to their bounds, as whole numbers of grid steps from -``grid.one`` to ``grid.one``."""
    middle, half = lower / 2 + upper / 2, upper / 2 - lower / 2
    entries = (np.clip(table, lower, upper) - middle) / half
    return np.rint(np.clip(entries, -1.0, 1.0) * grid.one)


def row_chunks(rows: int, grid: Grid) -> Iterator[slice]:
    """Slices of rows that one matrix product may add up."""
    return (slice(start, start + grid.chunk) for start in range(0, rows, grid.chunk))


def exact_product(left: Floats, right: Floats, grid: Grid) -> Integers:
    """left^T right in exact integers."""
    total = np.zeros((left.shape[1], right.shape[1]), dtype=np.int64)
    for part in row_chunks(len(left), grid):
        total += (left[part].T @ right[part]).astype(np.int64)
    return total


# ---------------------------------------------------------------- symmetric matrices


def weighted_triangle(matrix: Integers) -> Integers:
    """The upper triangle of a symmetric matrix, with the weights of the release."""
    above = np.triu_indices(len(matrix))
    return matrix[above] * np.where(above[0] == above[1], DIAGONAL, BESIDE)


def from_triangle(triangle: Floats, size: int) -> Floats:
    """The matrix of a weighted upper triangle."""
    above = np.triu_indices(size)
    matrix = np.zeros((size, size))
    matrix[above] = triangle / np.where(above[0] == above[1], DIAGONAL, BESIDE)
    return matrix + np.triu(matrix, 1).T


def triangle_size(size: int) -> int:
    """How many entries the upper triangle has."""
    return size * (size + 1) // 2


def spectral_noise(deviation: float, size: int) -> float:
    """About the largest eigenvalue of the noise of a released matrix, seldom exceeded: Wigner's semicircle."""
    return deviation / BESIDE * (2 * math.sqrt(size) + 3)
