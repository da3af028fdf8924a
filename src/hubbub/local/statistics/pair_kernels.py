"""Kernels of U-statistics, and the theorem's bound on their error."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.terms import NotANumber, OutOfRange, WrongShape, refuse_masked, whole

Floats = NDArray[np.float64]
Function = Callable[[NDArray[np.float64], NDArray[np.float64]], NDArray[np.float64]]

MOST_BINS = 1 << 12  # the matrix of a kernel has that many rows and columns


@dataclass(frozen=True)
class Kernel:
    """A symmetric function of two people's values, of whom each holds ``columns`` numbers.

    ``slope`` is its Lipschitz constant (in the Euclidean norm of the pair), given the width of the bounds; None where
    the kernel jumps.
    """

    name: str
    words: str
    columns: int
    function: Callable[[Floats, Floats], Floats]
    slope: Callable[[float], float] | None


def _kendall_kernel(first: Floats, second: Floats) -> Floats:
    return np.asarray(np.sign(first[..., 0] - second[..., 0]) * np.sign(first[..., 1] - second[..., 1]))


NAMED = {
    kernel.name: kernel
    for kernel in (
        Kernel("variance", "the variance", 1, lambda x, y: (x - y) ** 2 / 2, lambda width: math.sqrt(2) * width),
        Kernel("gini", "Gini's mean difference", 1, lambda x, y: np.abs(x - y), lambda _: math.sqrt(2)),
        Kernel("kendall", "Kendall's tau", 2, _kendall_kernel, None),
    )
}


def kernel_named(name: str) -> Kernel:
    """The kernel of that name."""
    if name not in NAMED:
        raise OutOfRange(
            f"there is no kernel of the name {name!r}.",
            why=f"The named ones are {', '.join(sorted(NAMED))}.",
            fix="Use one of these, or give a function of two arrays, or a matrix.",
        )
    return NAMED[name]


def custom_kernel(function: Function, slope: float | None) -> Kernel:
    """A kernel given by its author; ``slope`` is the author's word."""
    return Kernel("custom", "the mean over pairs", 1, function, None if slope is None else lambda _: slope)


def matrix_at(kernel: Kernel, points: Floats) -> Floats:
    """The kernel at all pairs of points, symmetric."""
    first, second = points[:, None], points[None, :]
    try:
        values = np.asarray(kernel.function(first, second), dtype=np.float64)
        return checked_matrix(np.broadcast_to(values, (len(points), len(points))))
    except (TypeError, ValueError) as problem:
        if isinstance(problem, OutOfRange):
            raise
        raise NotANumber(
            "the kernel could not be evaluated on two arrays.",
            why="It is called once with the points of all bins, as f(x[:, None], y[None, :]).",
            fix="Write it with numpy, such as lambda x, y: np.abs(x - y), or give a matrix.",
        ) from None


def checked_matrix(matrix: object) -> Floats:
    """A square matrix of finite numbers, made symmetric: a pair has no order."""
    refuse_masked(matrix, name="the kernel")
    try:
        values = np.array(matrix, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise NotANumber(
            "a kernel's matrix must be rows of numbers, all of one length.",
            why="It has one row and one column for each value.",
            fix="Give the kernel at every pair of values.",
        ) from None
    if values.ndim != 2 or values.shape[0] != values.shape[1] or not 2 <= values.shape[0] <= MOST_BINS:
        raise WrongShape(
            f"a kernel's matrix must be square, of 2 to {MOST_BINS:,} rows, and has the shape {values.shape}.",
            why="It has one row and one column for each value.",
            fix="Give the kernel at every pair of values.",
        )
    if not np.isfinite(values).all():
        raise OutOfRange(
            "a kernel must be finite at every pair of values.",
            why="An average with NaN or infinities has no meaning.",
            fix="Bound the kernel.",
        )
    return (values + values.T) / 2


def error_bound(
    count: int, bins: int, epsilon: float, *, slope: float | None = None, density: float | None = None
) -> float:
    """The theorem's bound on the mean squared error, for values and kernel in [0, 1] [BBGK20].

    1/(n (1-b)^2) + (1+b)^2/(2 n (n-1) (1-b)^4) with b = k/(k + e^epsilon - 1) for the noise; for rounding to k bins
    ``slope``^2/(2 k^2) if the kernel is Lipschitz, or 4 L^2/k^2 + 4 L^4/k^4 if the density is (``density`` = L).
    """
    kept = math.expm1(epsilon) / (bins + math.expm1(epsilon))  # 1 - b
    noise = 1 / (count * kept**2) + (2 - kept) ** 2 / (2 * count * (count - 1) * kept**4)
    return noise + rounding_bound(bins, slope=slope, density=density)


def rounding_bound(bins: int, *, slope: float | None, density: float | None) -> float:
    """What rounding to bins adds to the squared error; infinite where nothing is known of kernel or density."""
    by_kernel = math.inf if slope is None else slope**2 / (2 * bins**2)
    by_density = math.inf if density is None else 4 * density**2 / bins**2 + 4 * density**4 / bins**4
    return min(by_kernel, by_density)


def best_bins(expected: int, epsilon: float, *, slope: float | None = None, density: float | None = None) -> int:
    """The number of bins with the smallest bound for ``expected`` people.

    >>> best_bins(10_000, 1.0, slope=1.0)
    11
    """
    people = whole(expected, name="expected", least=2)
    return min(range(2, MOST_BINS + 1), key=lambda k: error_bound(people, k, epsilon, slope=slope, density=density))
