"""U-statistics from k-ary reports in O(n + k^2): the debiased average over pairs, and its exact variance.

A report R of a person with value x names x with probability p and each other value with probability q. With
E_R = (e_R - q 1) / (p - q), the expectation of E_R is e_x, so E_R' A E_S is an unbiased estimate of the kernel A at two
people. Summed over pairs it needs counts only. ``docs/proofs/ustatistics.md`` derives value and variance. All in
floats: n^2 (n-1)^2 is beyond the 64-bit integers already for 100,000 people.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Response:
    """k-ary randomized response: the true value with probability ``keep``, each other one with ``lie``."""

    keep: float
    lie: float

    @property
    def contrast(self) -> float:
        """p - q, which is 1 - b of the lectures."""
        return self.keep - self.lie

    def histogram(self, counts: Floats) -> Floats:
        """Unbiased numbers of people with each value."""
        return np.asarray((counts - counts.sum() * self.lie) / self.contrast)

    def distributions(self, size: int) -> Floats:
        """Row x is the distribution of the report of value x."""
        return np.full((size, size), self.lie) + self.contrast * np.eye(size)


def pair_mean(counts: Floats, matrix: Floats, response: Response) -> float:
    """The unbiased mean of the kernel over all pairs of different people."""
    people = counts.sum()
    z = response.histogram(counts)
    rows = matrix.sum(axis=1)
    own = (
        np.diag(matrix) - 2 * response.lie * rows + response.lie**2 * rows.sum()
    ) / response.contrast**2  # a report with itself
    return float((z @ matrix @ z - counts @ own) / (people * (people - 1)))


def pair_variance(histogram: Floats, matrix: Floats, response: Response) -> float:
    """The exact variance of ``pair_mean`` given that so many people hold each value."""
    people = histogram.sum()
    seen = (matrix @ histogram)[None, :] - matrix  # row x: what all others add up to for a person with value x
    linear = float(histogram @ _response_variances(seen, response))
    distributions = response.distributions(len(histogram))
    together = _pair_trace(distributions, histogram, matrix) / response.contrast**4
    return float(4 * (linear + together / 2) / (people * (people - 1.0)) ** 2)


def between_mean(first: Floats, second: Floats, matrix: Floats, response: Response) -> float:
    """The unbiased mean of the kernel over pairs of one person of each group."""
    return float(response.histogram(first) @ matrix @ response.histogram(second) / (first.sum() * second.sum()))


def between_variance(first: Floats, second: Floats, matrix: Floats, response: Response) -> float:
    """The exact variance of ``between_mean`` given that so many people of each group hold each value."""
    size = len(first)
    toward, back = matrix @ second, matrix.T @ first
    linear = first @ _response_variances(np.tile(toward, (size, 1)), response) + second @ _response_variances(
        np.tile(back, (size, 1)), response
    )
    spread_first, spread_second = _sum_covariance(first, response), _sum_covariance(second, response)
    together = float(np.sum((spread_first @ matrix) * (matrix @ spread_second)))
    return float((linear + together) / (first.sum() * second.sum()) ** 2)


def nearest_histogram(histogram: Floats) -> Floats:
    """The nearest histogram without negative numbers, of the same total: what is put into formulas of variances."""
    total = histogram.sum()
    ordered = np.sort(histogram)[::-1]
    excess = (np.cumsum(ordered) - total) / np.arange(1, len(ordered) + 1)
    cut = excess[np.flatnonzero(ordered > excess)[-1]]
    return np.asarray(np.maximum(histogram - cut, 0.0))


def nearest_shares(shares: Floats) -> Floats:
    """The nearest shares that can be: none below 0, and 1 in all."""
    return nearest_histogram(shares + (1 - shares.sum()) / len(shares))


def _response_variances(weights: Floats, response: Response) -> Floats:
    """For each value x the variance of weights[x] . E_R, R the report of x."""
    own, total = np.diag(weights), weights.sum(axis=1)
    mean = response.contrast * own + response.lie * total
    square = response.contrast * own**2 + response.lie * (weights**2).sum(axis=1)
    return np.asarray((square - mean**2) / response.contrast**2)


def _sum_covariance(histogram: Floats, response: Response) -> Floats:
    """The covariance of the sum of E_R over people with these values."""
    distributions = response.distributions(len(histogram))
    return np.asarray(
        (np.diag(histogram @ distributions) - (distributions.T * histogram) @ distributions) / response.contrast**2
    )


def _pair_trace(distributions: Floats, histogram: Floats, matrix: Floats) -> float:
    """The sum over pairs of different people of tr(A S_i A S_j), without the factor (p - q)^-4."""
    all_people = np.diag(histogram @ distributions) - (distributions.T * histogram) @ distributions
    product = matrix @ all_people
    seen = distributions @ matrix
    alone = (
        np.einsum("xi,ij,xj->x", distributions, matrix**2, distributions, optimize=True)
        - 2 * (distributions * seen**2).sum(axis=1)
        + (distributions * seen).sum(axis=1) ** 2
    )
    return float(np.sum(product * product.T) - histogram @ alone)
