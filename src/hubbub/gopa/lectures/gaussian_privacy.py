"""The exact privacy of Gaussian GOPA: what the honest parties' graph, masks and noise leave of one party's value.

Given all that the corrupted parties know, the honest reveals are Gaussian around the values with the covariance

    S = noise I + mask Laplacian(honest graph)        (both variances),

so one value that moves by 1 is seen with theta = max_i (S^-1)_ii: two Gaussians sqrt(theta) apart. With masks of
infinite variance on a connected graph theta is 1 / (all honest noise), as if a curator had added that to the sum.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hubbub.accounting import delta_of, mu_for
from hubbub.gopa.lectures.random_graphs import Graph
from hubbub.terms import EmptyInput, OutOfRange, Real, TooLarge, Unreachable, positive, whole

Floats = NDArray[np.float64]
_MOST = 3_000  # honest parties whose Laplacian is taken apart
_UP = 1 + 1e-6  # eigenvalues are good to about 1e-12 of the largest


@dataclass(frozen=True, slots=True, eq=False)
class HonestGraph:
    """The graph between the honest parties, taken apart once: eigenvalues of its Laplacian, and squared eigenvectors.

    Guarantee: Gaussian GOPA with these honest parties is (epsilon, delta)-DP for replacing one honest value in [0, 1],
    for every epsilon with ``delta(epsilon, ...)``; corrupted parties know the graph and all they sent and received.
    Because: the covariance above; two Gaussians have the profile of [BW18, Thm. 8], in which only the length of their
    difference in S^-1 counts.
    Not covered: parties that leave the protocol; numbers that are rounded (``classic`` rounds to a fine grid).
    """

    eigenvalues: Floats
    weights: Floats  # row i: how much of each eigenvector lies on party i

    @classmethod
    def of(cls, drawn: Graph, honest: Iterable[int]) -> HonestGraph:
        """The honest part of a graph. Edges to corrupted parties hide nothing, and are left out."""
        inside = sorted(set(honest))
        if not inside:
            raise EmptyInput("nobody is honest.", why="There is nobody to protect.", fix="Name the honest parties.")
        if len(inside) > _MOST:
            raise TooLarge(
                f"the exact formula takes a matrix of {len(inside):,} rows apart, and {_MOST:,} is the most.",
                why="It would take minutes and gigabytes.",
                fix="Use the theorem for large graphs, or the binomial noise of the verifiable profile.",
            )
        ends = drawn.edges[np.isin(drawn.edges, inside).all(axis=1)]
        first, second = np.searchsorted(inside, ends).T
        laplacian = np.zeros((len(inside), len(inside)))
        laplacian[first, second] = laplacian[second, first] = -1.0
        np.fill_diagonal(laplacian, -laplacian.sum(axis=1))
        values, vectors = np.linalg.eigh(laplacian)
        return cls(np.maximum(values, 0.0), vectors**2)

    @property
    def connected(self) -> bool:
        """Whether the honest are one piece: the second eigenvalue is above zero."""
        return len(self.eigenvalues) < 2 or bool(self.eigenvalues[1] > 1e-9 * len(self.eigenvalues))

    def theta(self, *, noise_variance: Real, mask_variance: Real) -> float:
        """The largest diagonal entry of the inverse covariance, rounded up."""
        own = float(positive(noise_variance, name="noise_variance"))
        shared = float(positive(mask_variance, name="mask_variance"))
        return float(np.max(self.weights @ (1 / (own + shared * self.eigenvalues)))) * _UP

    def delta(self, epsilon: Real, *, noise_variance: Real, mask_variance: Real) -> float:
        """At least the delta at ``epsilon`` for one value that moves by at most 1."""
        theta = self.theta(noise_variance=noise_variance, mask_variance=mask_variance)
        return delta_of(float(positive(epsilon, name="epsilon")), theta**0.5)

    def mask_variance(self, epsilon: Real, delta: Real, *, noise_variance: Real) -> float:
        """The least variance of the masks that makes a run (epsilon, delta)-DP with this noise of each party."""
        target = theta_for(epsilon, delta)
        low, high = 0.0, 1.0
        while self.theta(noise_variance=noise_variance, mask_variance=high) > target:
            low, high = high, 2 * high
            if high > 1e18:
                raise Unreachable(
                    "no masks make up for too little noise, or for honest parties in several pieces.",
                    why="Masks cancel within a piece; what remains is the honest noise of that piece alone.",
                    fix="Add noise, or neighbours so that the honest graph is connected.",
                )
        while high - low > 1e-9 * high:
            middle = (low + high) / 2
            enough = self.theta(noise_variance=noise_variance, mask_variance=middle) <= target
            low, high = (low, middle) if enough else (middle, high)
        return high


def theta_complete(honest: Real, *, noise_variance: Real, mask_variance: Real) -> float:
    """The same theta in closed form where all honest parties share masks with each other.

    >>> round(theta_complete(500, noise_variance=0.04, mask_variance=4), 6)
    0.050499
    """
    count = whole(honest, name="honest")
    own = float(positive(noise_variance, name="noise_variance"))
    shared = float(positive(mask_variance, name="mask_variance"))
    return 1 / (count * own) + (1 - 1 / count) / (own + count * shared)


def theta_for(epsilon: Real, delta: Real) -> float:
    """The largest theta that is (epsilon, delta)-DP: the analytic calibration, with no loss."""
    return mu_for(float(positive(epsilon, name="epsilon")), _parse_delta(delta)) ** 2


def _parse_delta(delta: Real) -> float:
    value = float(positive(delta, name="delta"))
    if value >= 1:
        raise OutOfRange(f"delta must be below 1 and is {value:g}.", why="It is a chance.", fix="Give a small delta.")
    return value
