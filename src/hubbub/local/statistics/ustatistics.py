"""U-statistics in the local model: variance, Gini's mean difference, Kendall's tau, or any kernel over pairs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.local.pair_averages import Response, nearest_histogram, pair_mean, pair_variance
from hubbub.local.randomizers.common.values import Codes, bounds_of, column_of, domain_codes, real_column
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.statistics.pair_estimates import PairEstimate
from hubbub.local.statistics.pair_kernels import (
    MOST_BINS,
    Function,
    Kernel,
    best_bins,
    checked_matrix,
    custom_kernel,
    error_bound,
    kernel_named,
    matrix_at,
    rounding_bound,
)
from hubbub.terms import EmptyInput, MissingParameter, Real, Step, TooLarge, WrongShape, plain_array, positive, whole

Floats = NDArray[np.float64]
Bounds = float | int | Fraction | Sequence[Any]


class UStatistic:
    """Estimate the mean of a kernel over all pairs of people, of whom each sends one k-ary report.

    ``kernel`` is "variance", "gini" or "kendall" (two numbers a person), a function of two arrays, or a matrix (then
    values are the codes 0, ..., k - 1 and there are no bounds). ``bins`` is the number of bins (along each axis);
    without it, the number is the one with the smallest bound for ``expected`` people.

    Guarantee: epsilon-LDP for all that one person holds.
    Because: [BBGK20] with the probabilities of k-ary response: e^epsilon/(e^epsilon + k - 1) for the true bin.
    The slide has 1 - b and b/k, which do not add up to 1; it is 1 - b + b/k for the true bin.
    Error: unbiased for the rounded values; ``docs/proofs/ustatistics.md`` derives the exact variance.
    Not covered: that somebody reported; NaN counts as ``lower``, values outside the bounds are moved there.

    >>> from hubbub.noise.testing import seeded
    >>> spread = UStatistic("gini", epsilon=1, bins=16, lower=0, upper=1)
    >>> reports = spread.randomize(np.linspace(0, 1, 100_000), rng=seeded(7))
    >>> low, high = spread.estimate(reports).interval(0.95)
    >>> low < 1 / 3 < high
    True
    """

    def __init__(
        self,
        kernel: str | Function | Sequence[Sequence[float]] | NDArray[np.float64],
        *,
        epsilon: Real,
        bins: int | None = None,
        lower: Bounds | None = None,
        upper: Bounds | None = None,
        expected: int | None = None,
        lipschitz: Real | None = None,
        density_lipschitz: Real | None = None,
    ) -> None:
        cost = float(positive(epsilon, name="epsilon"))
        self._density = (
            None if density_lipschitz is None else float(positive(density_lipschitz, name="density_lipschitz"))
        )
        self.kernel = _kernel_of(kernel, lipschitz)
        if self.kernel is None:
            self.matrix = checked_matrix(kernel)
            self._edges: tuple[tuple[float, float], ...] = ()
            self.bins = len(self.matrix)
        else:
            self._edges = _column_bounds(lower, upper, self.kernel.columns)
            self.bins = self._number_of_bins(bins, expected, cost)
            self.matrix = matrix_at(self.kernel, self._points())
        self.randomizer = KaryResponse(epsilon=epsilon, domain=len(self.matrix))
        self.event: Step = self.randomizer.event

    def codes(self, values: Sequence[Any] | NDArray[Any]) -> Codes:
        """Values as bins: a fixed map of each person's own value."""
        if not self._edges:
            return domain_codes(values, domain=self.bins, missing=0)
        columns = plain_array(column_of(values))
        if columns.ndim != (2 if len(self._edges) > 1 else 1) or (columns.ndim == 2 and columns.shape[1] != 2):
            raise WrongShape(
                f"{len(self._edges)} number{'s' * (len(self._edges) > 1)} for each person were expected.",
                why="Each row is what one person holds.",
                fix="Give a flat list, or rows of two numbers for Kendall's tau.",
            )
        codes = np.zeros(len(columns), dtype=np.int64)
        for column, (low, high) in zip(columns.reshape(len(columns), -1).T, self._edges, strict=True):
            codes = codes * self.bins + bin_values(column, lower=low, upper=high, bins=self.bins)
        return codes

    def randomize(self, values: Sequence[Any] | NDArray[Any], *, rng: noise.RandomSource | None = None) -> Codes:
        """The report of each person."""
        return np.asarray(self.randomizer.randomize(self.codes(values), rng=rng))

    def estimate(self, reports: ArrayLike) -> PairEstimate:
        """The statistic from the reports of many people."""
        return self.decode(self.randomizer.accumulate(reports))

    def decode(self, counts: NDArray[np.int64]) -> PairEstimate:
        """The statistic from how many reports name each bin: all that a collector needs to keep."""
        report_counts = counts.astype(np.float64)
        people = check_people(int(counts.sum()))
        response = Response(self.randomizer.p, self.randomizer.q)
        histogram = nearest_histogram(response.histogram(report_counts))
        return PairEstimate(
            words="the mean over pairs" if self.kernel is None else self.kernel.words,
            value=pair_mean(report_counts, self.matrix, response),
            variance=plug_in_variance(
                lambda h: pair_variance(h, self.matrix, response), response.histogram(report_counts)
            ),
            sampling=sampling_variance(histogram, self.matrix),
            count=people,
            bins=self.bins,
            epsilon=self.randomizer.epsilon,
            bound=self.bound(people),
            rounding=self._rounding(),
        )

    def bound(self, count: int) -> float | None:
        """The theorem's bound on the mean squared error for ``count`` people; None if nothing is known of rounding."""
        span = float(np.ptp(self.matrix))
        noise_part = span**2 * error_bound(
            whole(count, name="count", least=2), len(self.matrix), self._cost(), slope=0.0
        )
        if self.kernel is None:
            return noise_part
        added = rounding_bound(self.bins, slope=self._unit_slope(), density=None)
        if self._density is not None:
            added = min(added, span**2 * rounding_bound(self.bins, slope=None, density=self._density))
        return None if math.isinf(added) else noise_part + added

    def _cost(self) -> float:
        return float(self.randomizer.epsilon)

    def _unit_slope(self) -> float | None:
        """How fast the kernel changes per width of the bounds."""
        if self.kernel is None or self.kernel.slope is None:
            return None
        low, high = self._edges[0]
        return self.kernel.slope(high - low) * (high - low)

    def _rounding(self) -> float | None:
        """The most that rounding both people to the middle of their bins can move the kernel."""
        if self.kernel is None:
            return 0.0
        slope = self._unit_slope()
        return None if slope is None else slope / (math.sqrt(2) * self.bins)

    def _points(self) -> Floats:
        axes = [low + (high - low) * (np.arange(self.bins) + 0.5) / self.bins for low, high in self._edges]
        if len(axes) == 1:
            return np.asarray(axes[0])
        return np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)

    def _number_of_bins(self, bins: int | None, expected: int | None, cost: float) -> int:
        assert self.kernel is not None
        if bins is not None:
            return _check_bins(whole(bins, name="bins", least=2), self.kernel.columns)
        low, high = self._edges[0]
        slope = None if self.kernel.slope is None else self.kernel.slope(high - low) * (high - low)
        if expected is None or (slope is None and self._density is None) or self.kernel.columns > 1:
            raise MissingParameter(
                "bins= is missing, and cannot be chosen.",
                why="The best number of bins depends on how many people report and how fast the kernel changes.",
                fix="Give bins=; or expected= (people) and, for a kernel of your own, lipschitz=.",
            )
        span = float(np.ptp(matrix_at(self.kernel, np.linspace(low, high, 65)))) or 1.0
        return best_bins(expected, cost, slope=None if slope is None else slope / span, density=self._density)


def bin_values(values: Sequence[Any] | NDArray[Any], *, lower: float, upper: float, bins: int) -> Codes:
    """The bin of each value; NaN counts as ``lower``, what is outside as the nearest bin."""
    inside = np.clip(np.nan_to_num(real_column(values), nan=lower, posinf=upper, neginf=lower), lower, upper)
    return np.minimum(np.floor((inside - lower) / (upper - lower) * bins), bins - 1).astype(np.int64)


def check_people(people: int) -> int:
    """Two people at least: one has no pair."""
    if people < 2:
        raise EmptyInput(
            "a statistic over pairs needs at least two reports.",
            why="One person alone is no pair.",
            fix="Collect reports first.",
        )
    return people


def sampling_variance(histogram: Floats, matrix: Floats) -> float:
    """What the choice of the people adds to the variance, if they are a random sample: 4/n Var(mean of f(x, .))."""
    people = histogram.sum()
    shares = histogram / people
    means = matrix @ shares
    return float(4 / people * max(0.0, shares @ means**2 - (shares @ means) ** 2))


def plug_in_variance(variance: Callable[[Floats], float], histogram: Floats) -> float:
    """A variance at an estimated histogram: the larger of that at the estimate and at the nearest possible one."""
    return max(0.0, variance(histogram), variance(nearest_histogram(histogram)))


def _kernel_of(kernel: Any, lipschitz: Real | None) -> Kernel | None:
    if isinstance(kernel, str):
        return kernel_named(kernel)
    if callable(kernel):
        return custom_kernel(kernel, None if lipschitz is None else float(positive(lipschitz, name="lipschitz")))
    return None


def _column_bounds(lower: Bounds | None, upper: Bounds | None, columns: int) -> tuple[tuple[float, float], ...]:
    if lower is None or upper is None:
        raise MissingParameter(
            "lower= and upper= are missing.",
            why="Values are rounded to bins between public bounds.",
            fix="Give the bounds, from public knowledge.",
        )
    ends = [side if isinstance(side, Sequence) else [side] * columns for side in (lower, upper)]
    if any(len(side) != columns for side in ends):
        raise WrongShape(
            f"{columns} bounds on each side were expected.",
            why="Each number that a person holds has its own bounds.",
            fix="Give one number for all, or one for each.",
        )
    return tuple((float(low), float(high)) for low, high in (bounds_of(*pair) for pair in zip(*ends, strict=True)))


def _check_bins(bins: int, columns: int) -> int:
    if bins**columns > MOST_BINS:
        raise TooLarge(
            f"there are more than {MOST_BINS:,} bins.",
            why="The kernel is a matrix with that many rows, and the noise grows with their number.",
            fix="Use fewer bins; the best number is mostly below 200.",
        )
    return bins
