"""The Gaussian mechanism's exact trade-off: delta as a function of epsilon and mu = sensitivity / sigma.

Two unit Gaussians mu apart have the privacy profile [BW18, Thm. 8]

    delta(epsilon) = Phi(mu/2 - epsilon/mu) - e^epsilon Phi(-mu/2 - epsilon/mu).

Our noise is the *discrete* Gaussian. Where one unit moves a single coordinate, its own profile is summed
[CKS20, Thm. 7]. Elsewhere it is dominated by a continuous Gaussian of slightly smaller variance: rounding the
continuous one to the grid at random is post-processing and gives, almost exactly, the discrete one
(``docs/proofs/discrete-gaussian.md``).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import cache, lru_cache

import numpy as np

from hubbub.terms import GaussianNoise, NotProved, Real, Unreachable, positive, root_of, shown

FINE = 4096  # grid steps per sigma from which the noise counts as continuous


def delta_of(epsilon: float, mu: float) -> float:
    """The smallest delta at ``epsilon``, rounded up by the error of the arithmetic.

    >>> round(delta_of(1.0, 1.0), 6)
    0.126937
    """
    log_ndtr = _log_ndtr()
    first = float(log_ndtr(mu / 2 - epsilon / mu))
    second = epsilon + float(log_ndtr(-mu / 2 - epsilon / mu))
    larger = math.exp(first)
    # log_ndtr is good to a few units in the last place of its value; second cancels against first
    error = 4e-15 * (1 + abs(first) + abs(second) + abs(epsilon)) * larger
    return min(1.0, max(0.0, -larger * math.expm1(min(0.0, second - first)) + error))


@cache
def _log_ndtr() -> Callable[[float], float]:
    """Loaded once: this is asked thousands of times in a row."""
    from scipy.special import log_ndtr

    return log_ndtr


@lru_cache(maxsize=4096)
def epsilon_of(delta: float, mu: float) -> float:
    """The smallest epsilon >= 0 at ``delta``, rounded up."""
    low, high = 0.0, mu * (mu / 2 + math.sqrt(2 * math.log(1 / delta))) + 1e-9
    if delta_of(0.0, mu) <= delta:
        return 0.0
    while high - low > 1e-12 * (1 + high):
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(middle, mu) <= delta else (middle, high)
    return high


@lru_cache(maxsize=4096)
def mu_for(epsilon: float, delta: float) -> float:
    """The largest mu that is (epsilon, delta)-DP, rounded down: the analytic calibration of [BW18]."""
    low, high = 0.0, 1.0
    while delta_of(epsilon, high) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-13 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if delta_of(epsilon, middle) <= delta else (low, middle)
    if low < 1e-9:
        raise Unreachable(
            f"no Gaussian noise below 10^9 sensitivities meets epsilon = {epsilon:g}, delta = {delta:g}.",
            why="So small a delta asks for more noise than any answer could bear.",
            fix="Use a larger delta, or Laplace noise, which needs none.",
        )
    return low


def classic_sigma(*, sensitivity: Real, epsilon: Real, delta: Real) -> float:
    """The formula of the lectures, sqrt(2 ln(1.25/delta)) sensitivity / epsilon, for comparison only.

    Its proof covers epsilon up to 1 [DR14, Thm. A.1]; from about 8 on it is not private at all, so a larger
    epsilon is refused. The analytic calibration needs 10% to 35% less noise.

    >>> round(classic_sigma(sensitivity=1, epsilon=1, delta=1e-5), 3)
    4.845
    """
    eps = positive(epsilon, name="epsilon")
    if eps > 1:
        raise NotProved(
            f"the classic Gaussian formula is proved for epsilon up to 1, and epsilon is {shown(eps)}.",
            why="Beyond about 8 its noise is too small for the promise it makes.",
            fix="Use Gaussian(sensitivity=..., epsilon=..., delta=...), which is calibrated analytically.",
        )
    spread = math.sqrt(2 * math.log(1.25 / float(positive(delta, name="delta"))))
    return spread * float(positive(sensitivity, name="sensitivity")) / float(eps)


def changed_coordinates(sensitivity: Fraction, grid: Fraction, dimension: int) -> int:
    """How many coordinates one unit can change: each changed one takes at least a grid step of the L2 sensitivity."""
    return max(1, min(dimension, math.floor((sensitivity / grid) ** 2)))


def is_summed(event: GaussianNoise) -> bool:
    """Whether the event's own discrete profile is used: one coordinate changes, by few steps."""
    few = event.grid <= event.sensitivity and event.sigma < event.grid * FINE
    return few and changed_coordinates(event.sensitivity, event.grid, event.dimension) == 1


def mu_of(event: GaussianNoise) -> tuple[float, float] | None:
    """(mu, slack) such that the event is mu-Gaussian DP up to a factor of e^slack; None for very little noise."""
    variance = (event.sigma / event.grid) ** 2
    smoothing = _smoothing_variance(event.sigma >= event.grid * FINE)
    if variance <= smoothing[0]:
        return None
    changed = changed_coordinates(event.sensitivity, event.grid, event.dimension)
    return _dominating_mu(event.sensitivity / event.grid, event.sigma / event.grid, smoothing[0]), changed * smoothing[
        1
    ]


def _dominating_mu(steps: Fraction, sigma: Fraction, smoothing: Fraction) -> float:
    """mu of a discrete Gaussian in grid steps, after the variance that the domination gives away; rounded up."""
    return float(steps) / math.sqrt(sigma**2 - smoothing) * (1 + 4e-14)


def _smoothing_variance(fine: bool) -> tuple[Fraction, float]:
    """The variance, in grid steps, that the domination gives away, and what it costs in epsilon per coordinate.

    4 * 2 e^(-2 pi^2 variance), rounded up; see the proof. On a fine grid more variance costs nothing.
    """
    return (Fraction(3), 2.0**-82) if fine else (Fraction(3, 2), 1.2e-12)


@lru_cache(maxsize=4096)
def sigma_for(epsilon: Fraction, delta: Fraction, sensitivity: Fraction, grid: Fraction, dimension: int) -> Fraction:
    """The discrete sigma, a multiple of 2^-10 grid steps rounded up, that is (epsilon, delta)-DP."""
    steps = sensitivity / grid
    fine = steps / Fraction(mu_for(float(epsilon), float(delta))) >= FINE
    variance, slack = _smoothing_variance(fine)
    slack *= changed_coordinates(sensitivity, grid, dimension)
    target = float(epsilon) - slack, float(delta) * (1 - slack)
    mu = mu_for(*target)
    safe = root_of((steps / Fraction(mu)) ** 2 + variance)
    # The accounting works out this delta again, and doubles jitter in their last digits: hence a margin in mu.
    while delta_of(target[0], _dominating_mu(steps, safe, variance) * (1 + 1e-9)) > target[1]:
        mu *= 1 - 1e-9
        safe = root_of((steps / Fraction(mu)) ** 2 + variance)
    if fine or changed_coordinates(sensitivity, grid, dimension) > 1:
        return safe * grid
    return _least_summed(float(epsilon), float(delta), math.floor(steps), safe) * grid


def _least_summed(epsilon: float, delta: float, steps: int, safe: Fraction) -> Fraction:
    """A sigma below ``safe`` whose own profile meets the target, found by bisection and checked."""
    from hubbub.accounting.privacy_profiles import discrete_gaussian

    low, high = int(safe * 1024 * Fraction(1, 2)), int(safe * 1024)
    at = np.array([epsilon])
    while high - low > 1:
        middle = (low + high) // 2
        met = float(discrete_gaussian(middle / 1024, max(1, steps)).remove(at)[0]) <= delta
        low, high = (low, middle) if met else (middle, high)
    return Fraction(high, 1024)
