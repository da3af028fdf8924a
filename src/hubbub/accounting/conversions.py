"""From one currency to another, always rounding against us.

pure epsilon        -> rho = epsilon tanh(epsilon/2)             [KOV15], [KS98]; see ``costs.pure_rho``
rho                 -> Renyi curve alpha rho                     [BS16, Def. 1.1]
Renyi curve         -> (epsilon, delta)                          [CKS20, Prop. 12]
rho (+ delta)       -> (epsilon, delta), tight                   [CKS20, Prop. 12 over all orders]
mu                  -> (epsilon, delta), exact                   [BW18, Thm. 8], rho = mu^2/2 [DRS22]
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import lru_cache

from hubbub.accounting import gaussian_tradeoff
from hubbub.accounting.costs import pure_rho
from hubbub.terms import (
    ApproximateDP,
    GaussianDP,
    NoBound,
    PrivacyBound,
    PureDP,
    Real,
    RenyiDP,
    ZeroConcentratedDP,
    fraction_of,
    round_up,
    shown,
)

_TINY = 1e-12  # relative; far above the error of a handful of double operations


def renyi_epsilon(order: float, divergence: float, delta: float) -> float:
    """epsilon at ``delta`` of a mechanism with that Renyi divergence at that order."""
    epsilon = divergence + math.log1p(-1 / order) - math.log(delta * order) / (order - 1)
    return max(0.0, epsilon + _TINY * (1 + abs(epsilon)))


def rho_epsilon(rho: float, delta: float) -> float:
    """epsilon at ``delta`` of rho-zCDP: the best order, found by a search over one convex function.

    >>> round(rho_epsilon(1.25, 1e-5), 4)
    8.0784
    """

    def at(u: float) -> float:
        order = 1 + math.exp(u)
        return renyi_epsilon(order, rho * order, delta)

    return 0.0 if rho <= 0 else _golden_minimum(at)


def rho_delta(rho: float, epsilon: float) -> float:
    """delta at ``epsilon`` of rho-zCDP: exp((a-1)(a rho - epsilon)) / a (1 - 1/a)^(a-1), over the best order a."""
    if rho <= 0:
        return 0.0
    return _delta_up(_golden_minimum(lambda u: _log_delta(rho, epsilon, math.exp(u))))


def _log_delta(rho: float, epsilon: float, gap: float) -> float:
    """The logarithm of delta by one order, ``gap`` above one; every order gives a valid bound."""
    return gap * ((1 + gap) * rho - epsilon) - math.log1p(gap) + gap * (math.log(gap) - math.log1p(gap))


def _delta_up(log_delta: float) -> float:
    return min(1.0, math.exp(min(0.0, log_delta)) * (1 + 1e-9))


@lru_cache(maxsize=1024)  # 8 ms, and asked for each charge to a budget: a third of a small question's time
def rho_for(epsilon: float, delta: float) -> float:
    """The largest rho that is (epsilon, delta)-DP, rounded down."""
    low, high = 0.0, epsilon
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if rho_epsilon(middle, delta) <= epsilon else (low, middle)
    return low


@lru_cache(maxsize=1024)
def pure_epsilon_for(rho: Fraction) -> Fraction:
    """The largest epsilon at which anything that is epsilon-DP costs at most ``rho``, rounded down."""
    low, high = 0.0, 2 * float(rho) + math.sqrt(2 * float(rho)) + 1  # e tanh(e/2) >= rho there
    while high - low > 1e-15 * high:
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if pure_rho(Fraction(middle)) <= rho else (low, middle)
    return Fraction(low)


def curve_epsilon(curve: RenyiDP, delta: float) -> float:
    """epsilon at ``delta`` of a Renyi curve, at its best order."""
    return min(
        (renyi_epsilon(a, e, delta) for a, e in zip(curve.orders, curve.epsilons, strict=True) if a > 1),
        default=math.inf,
    )


def to_approximate(measure: PrivacyBound, delta: Real) -> ApproximateDP:
    """Any measure as (epsilon, delta)-DP at the given delta."""
    asked = fraction_of(delta, name="delta", zero=True)
    slack = getattr(measure, "delta", Fraction(0))
    left = float(asked - slack) * (1 - 1e-12)
    if left < 0 or (left == 0 and not isinstance(measure, PureDP | ApproximateDP)):
        raise NoBound(
            f"this guarantee does not hold at delta = {shown(asked)}.",
            why=f"It already needs delta = {shown(slack)}, and a conversion needs some above that.",
            fix="Ask at a larger delta.",
        )
    if isinstance(measure, PureDP | ApproximateDP):
        return ApproximateDP(measure.epsilon, asked)
    return ApproximateDP(round_up(_epsilon_of(measure, left)), asked)


def _epsilon_of(measure: PrivacyBound, delta: float) -> float:
    if isinstance(measure, ZeroConcentratedDP):
        return rho_epsilon(float(measure.rho), delta)
    if isinstance(measure, GaussianDP):
        return gaussian_tradeoff.epsilon_of(delta, float(measure.mu))
    assert isinstance(measure, RenyiDP)
    return curve_epsilon(measure, delta)


def to_concentrated(measure: PureDP | ApproximateDP | GaussianDP) -> ZeroConcentratedDP:
    """Pure, approximate and Gaussian DP as (approximate) zCDP."""
    if isinstance(measure, GaussianDP):
        return ZeroConcentratedDP(measure.mu**2 / 2)
    return ZeroConcentratedDP(pure_rho(measure.epsilon), getattr(measure, "delta", Fraction(0)))


def to_renyi(measure: PureDP | ZeroConcentratedDP | GaussianDP, orders: tuple[float, ...]) -> RenyiDP:
    """Pure DP, zCDP and Gaussian DP as a Renyi curve at the given orders."""
    if isinstance(measure, PureDP):
        e = float(measure.epsilon)
        return RenyiDP(orders, tuple(pure_divergence(a, e) for a in orders))
    rho = float(measure.rho if isinstance(measure, ZeroConcentratedDP) else measure.mu**2 / 2)
    return RenyiDP(orders, tuple(a * rho for a in orders))


def pure_divergence(order: float, epsilon: float) -> float:
    """The largest Renyi divergence of an epsilon-DP mechanism: that of randomized response [BS16]."""
    # ln[(e^(a e) + e^((1-a) e)) / (1 + e^e)] / (a - 1), the fraction being cosh((a-1/2) e) / cosh(e/2)
    if order * epsilon > 100:
        top = order * epsilon + math.log1p(math.exp((1 - 2 * order) * epsilon))
        return min(epsilon, (top - epsilon - math.log1p(math.exp(-epsilon))) / (order - 1) * (1 + _TINY))
    # the same as 1 plus what is above 1, by a product: a difference of logarithms would cancel to zero for small steps
    above = 2 * math.sinh(order * epsilon / 2) * math.sinh((order - 1) * epsilon / 2) / math.cosh(epsilon / 2)
    return min(epsilon, math.log1p(above) / (order - 1) * (1 + _TINY))


def _golden_minimum(function: Callable[[float], float]) -> float:
    """The least value of a function of u = ln(order - 1) that falls and then rises (golden section)."""
    low, high = -12.0, 28.0
    ratio = (math.sqrt(5) - 1) / 2
    a, b = high - ratio * (high - low), low + ratio * (high - low)
    at_a, at_b = function(a), function(b)
    for _ in range(60):
        if at_a <= at_b:
            high, b, at_b = b, a, at_a
            a = high - ratio * (high - low)
            at_a = function(a)
        else:
            low, a, at_a = a, b, at_b
            b = low + ratio * (high - low)
            at_b = function(b)
    return min(at_a, at_b)
