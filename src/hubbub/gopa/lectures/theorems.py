"""The theorem and the corollary of the lectures on GOPA, as a reference: noise and masks that suffice by proof.

The numbers that the runs use come from the exact formulas (``privacy``, ``binomial``), which need less; these are the
printed conditions of [SBR22], for the three kinds of graph of its table: complete, random k-out, and any connected one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from hubbub.terms import NotProved, OutOfRange, Real, Unreachable, fraction_of, positive, whole

Kind = Literal["complete", "k-out", "connected"]
_LEAST_HONEST = 81
_COST = {"complete": 1.25, "k-out": 3.75, "connected": 1.25}  # the factor of delta in the corollary


@dataclass(frozen=True, slots=True)
class Masked:
    """What the corollary asks for: standard deviations of each party's own noise and of each mask, and kappa."""

    noise: float
    mask: float
    kappa: float


def theta_max(epsilon: Real, delta: Real) -> float:
    """The largest theta that the theorem allows.

    epsilon >= theta/2 + sqrt(theta), and (epsilon - theta/2)^2 >= 2 theta ln(2/(delta sqrt(2 pi))).

    >>> round(theta_max(1, 1e-6), 4)
    0.0355
    """
    eps, log = float(positive(epsilon, name="epsilon")), math.log(2 / (_parse_delta(delta) * math.sqrt(2 * math.pi)))
    if log <= 0:
        raise _not_proved("delta must be below 0.79")
    half = eps + 2 * log  # theta^2/4 - half theta + epsilon^2 >= 0 holds up to the smaller root
    return min(2 * eps**2 / (half + math.sqrt(half**2 - eps**2)), (math.sqrt(1 + 2 * eps) - 1) ** 2)


def least_neighbours(parties: Real, honest: Real, delta: Real | None) -> int:
    """The least k for which the theorem on random k-out graphs holds.

    >>> least_neighbours(1_000, 0.5, 1e-6)
    157
    """
    share, slack, count = _honest_shares(parties, honest, delta)
    need = max(
        4 * math.log(2 * share * count / (3 * slack)),
        6 * math.log(share * count / 3),
        1.5 + 2.25 * math.log(2 * math.e / slack),
    )
    return math.ceil(need / share)


def bracket(kind: Kind, parties: Real, honest: Real, *, k: Real | None = None, delta: Real | None = None) -> float:
    """What the inverse variance of a mask is multiplied with: theta <= 1/(honest noise) + bracket / mask variance."""
    if kind not in get_args(Kind):
        raise OutOfRange(
            f"the theorem knows no graph of the kind {kind!r}.",
            why="It is about complete, random k-out and any connected graphs.",
            fix='Give "complete", "k-out" or "connected".',
        )
    count, share = whole(parties, name="parties", least=2), float(fraction_of(honest, name="honest", one=True))
    inside = share * count
    if kind == "complete":
        return 1 / inside
    if kind == "connected":
        return inside / 3
    picked = whole(k, name="k")
    if picked < least_neighbours(parties, honest, delta):
        raise _not_proved(f"k must be at least {least_neighbours(parties, honest, delta)} and is {picked}")
    return 1 / (math.floor((picked - 1) * share / 3) - 1) + (12 + 6 * math.log(inside)) / inside


def corollary(
    kind: Kind, *, epsilon: Real, delta: Real, inner: Real, parties: Real, honest: Real, k: Real | None = None
) -> Masked:
    """Noise and masks that are (epsilon, delta)-DP, with noise as a curator needs for (epsilon, ``inner``).

    se^2 = 2 ln(1.25/inner) / (epsilon^2 H) for H honest parties, and the variance of a mask is kappa se^2 H times the
    bracket, with delta = a (inner/1.25)^(kappa/(kappa + 1)).
    """
    eps = float(positive(epsilon, name="epsilon"))
    if eps >= 1:
        raise _not_proved(f"epsilon must be below 1 and is {eps:g}")
    share, slack, count = _honest_shares(parties, honest, delta)
    power = math.log(slack / _COST[kind]) / math.log(float(positive(inner, name="inner")) / 1.25)
    if not 0 < power < 1:
        raise Unreachable(
            "no masks close the gap between the two deltas.",
            why=f"delta has to be above {_COST[kind]} times inner / 1.25, by which the noise alone is calibrated.",
            fix="Give a larger delta or a smaller inner.",
        )
    kappa, inside = power / (1 - power), share * count
    noise = 2 * math.log(1.25 / float(positive(inner, name="inner"))) / (eps**2 * inside)
    part = bracket(kind, parties, honest, k=k, delta=slack / _COST["k-out"] if kind == "k-out" else None)
    return Masked(math.sqrt(noise), math.sqrt(kappa * noise * inside * part), kappa)


def _honest_shares(parties: Real, honest: Real, delta: Real | None) -> tuple[float, float, int]:
    count, share = whole(parties, name="parties", least=2), float(fraction_of(honest, name="honest", one=True))
    if share * count < _LEAST_HONEST:
        raise _not_proved(f"at least {_LEAST_HONEST} parties must be honest and {share * count:g} are")
    return share, _parse_delta(delta), count


def _parse_delta(delta: Real | None) -> float:
    return float(fraction_of(delta, name="delta"))


def _not_proved(what: str) -> NotProved:
    return NotProved(
        f"the theorem does not speak of this: {what}.",
        why="Outside its conditions nothing is proved by it.",
        fix="Use plan(...), whose numbers come from exact formulas.",
    )
