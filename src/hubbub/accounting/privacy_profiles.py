"""Privacy profiles: delta as a function of epsilon, for all real epsilon and both directions.

The profile of a pair of output distributions (P, Q) is delta(epsilon) = sup_S P(S) - e^epsilon Q(S). A profile that
lies above a mechanism's own, for every epsilon, *dominates* it, and composing dominating profiles dominates
the composition, also when later mechanisms look at earlier answers [ZDW22, Thm. 10]. So one formula per
mechanism is all that accounting needs; everything is rounded up.

    Gaussian             [CKS20, Thm. 7] for one integer; [BW18, Thm. 8] through docs/proofs/discrete-gaussian.md
    Laplace              docs/proofs/laplace-vector.md: discrete noise, any split of the L1 sensitivity
    pure, approximate    randomized response is the worst case [KOV15, Thm. 3.3]
    exponential          bounded range [DDR20, Lem. 3.2], as the maximum over its worst pairs
    Poisson sampling     the mixture of a pair with itself [ZDW22, Thm. 11]
    fixed-size sampling  [BBG18, Thm. 9]
    disjoint parts       the maximum, since a unit lies in one part only
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import reduce

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Curve = Callable[[Floats], Floats]

_FINE = 1 << 20  # grid steps per scale from which the discrete Laplace profile is bounded by a shift


@dataclass(frozen=True, slots=True)
class PrivacyProfile:
    """delta(epsilon) when a unit is removed and when one is added; ``reach`` bounds the finite losses."""

    remove: Curve
    add: Curve
    reach: float
    slack: float = 0.0  # to be added to epsilon in the end

    @classmethod
    def symmetric(cls, curve: Curve, *, reach: float, slack: float = 0.0) -> PrivacyProfile:
        """A profile that is the same in both directions."""
        return cls(curve, curve, reach, slack)


def gaussian_profile(mu: float, *, slack: float = 0.0) -> PrivacyProfile:
    """Two unit Gaussians ``mu`` apart."""

    def curve(epsilon: Floats) -> Floats:
        from scipy.special import log_ndtr

        first = log_ndtr(mu / 2 - epsilon / mu)
        second = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
        return _as_probability(-np.exp(first) * np.expm1(np.minimum(0.0, second - first)))

    return PrivacyProfile.symmetric(curve, reach=mu * (mu / 2 + 9.5), slack=slack)


def discrete_gaussian(sigma: float, sensitivity: int) -> PrivacyProfile:
    """One discrete Gaussian of ``sigma`` grid steps, moved by ``sensitivity`` of them [CKS20, Thm. 7]."""
    last = int(40 * sigma) + 2 * sensitivity + 2
    masses = np.exp(-0.5 * (np.arange(-last, last + 1) / sigma) ** 2)
    tails = np.append(np.cumsum(masses[::-1])[::-1], 0.0) / masses.sum()  # P(Y >= k) at k + last

    def tail(k: Floats) -> Floats:
        return np.asarray(tails[np.clip(k + last, 0, 2 * last + 1).astype(np.int64)], dtype=np.float64)

    def curve(epsilon: Floats) -> Floats:
        first = np.floor(epsilon * sigma**2 / sensitivity - sensitivity / 2) + 1  # the least y whose loss is above
        grown = np.exp(np.minimum(epsilon, 700.0))  # beyond that the tail it is multiplied with is 0
        return _as_probability(tail(first) - grown * tail(first + sensitivity))

    mu = sensitivity / sigma
    return PrivacyProfile.symmetric(curve, reach=mu * (mu / 2 + 9.5))


def laplace_profile(scale: Fraction, sensitivity: int) -> PrivacyProfile:
    """Discrete Laplace noise of ``scale`` grid steps and an L1 sensitivity of so many steps."""
    top = sensitivity / scale

    def smooth(epsilon: Floats) -> Floats:
        inside = -np.expm1(np.minimum(0.0, epsilon - float(top)) / 2)
        return _as_probability(np.where(epsilon < -float(top), -np.expm1(np.minimum(0.0, epsilon)), inside))

    if scale >= _FINE:
        shift = 2 / float(scale)
        return PrivacyProfile.symmetric(lambda e: smooth(e - shift), reach=float(top) + shift)

    def stepped(epsilon: Floats) -> Floats:
        """The smooth curve at the possible losses (sensitivity - 2k) / scale, and chords in e^epsilon between."""
        place = np.clip((sensitivity - epsilon * float(scale)) / 2, 0, sensitivity)
        high, low = ((sensitivity - 2 * k) / float(scale) for k in (np.floor(place), np.ceil(place)))
        weight = np.divide(np.expm1(epsilon - low), np.expm1(high - low), out=np.zeros_like(low), where=high > low)
        chord = smooth(low) + np.clip(weight, 0, 1) * (smooth(high) - smooth(low))
        return np.where(np.abs(epsilon) >= float(top), smooth(epsilon), _as_probability(chord))

    return PrivacyProfile.symmetric(stepped, reach=float(top))


def pure_profile(epsilon: float) -> PrivacyProfile:
    """Anything that is epsilon-DP: randomized response."""

    def curve(at: Floats) -> Floats:
        inside = -np.expm1(np.minimum(0.0, at - epsilon)) / (1 + np.exp(-epsilon))
        return _as_probability(np.where(at < -epsilon, -np.expm1(np.minimum(0.0, at)), inside))

    return PrivacyProfile.symmetric(curve, reach=epsilon)


def approximate_profile(epsilon: float, delta: float) -> PrivacyProfile:
    """Anything that is (epsilon, delta)-DP."""
    inner = pure_profile(epsilon).remove
    return PrivacyProfile.symmetric(lambda at: delta + (1 - delta) * inner(at), reach=epsilon)


def leaky_profile(profile: PrivacyProfile, leak: float) -> PrivacyProfile:
    """A pair of which a share ``leak`` may be anything, and the rest has this profile."""
    return PrivacyProfile(
        lambda at: leak + (1 - leak) * profile.remove(at),
        lambda at: leak + (1 - leak) * profile.add(at),
        profile.reach,
        profile.slack,
    )


def bounded_range(epsilon: float) -> PrivacyProfile:
    """A mechanism whose losses on any pair span at most epsilon, as the exponential mechanism's do."""

    def curve(at: Floats) -> Floats:
        inside = np.expm1(np.minimum(0.0, at - epsilon) / 2) ** 2 / -np.expm1(-epsilon)
        return _as_probability(np.where(at < -epsilon, -np.expm1(np.minimum(0.0, at)), inside))

    return PrivacyProfile.symmetric(curve, reach=epsilon)


def poisson_profile(profile: PrivacyProfile, rate: float) -> PrivacyProfile:
    """On a Poisson sample: (1-q) Q + q P against Q when a unit is removed, the reverse when one is added."""
    if rate == 1:
        return profile

    def remove(epsilon: Floats) -> Floats:
        inner, possible = _before_sampling(epsilon, rate)
        return _as_probability(np.where(possible, rate * profile.remove(inner), -np.expm1(np.minimum(0.0, epsilon))))

    def add(epsilon: Floats) -> Floats:
        room = 1 - np.exp(np.minimum(epsilon, 700.0)) * (1 - rate)
        inner = epsilon + np.log(rate / np.maximum(room, 1e-300))
        return _as_probability(np.where(room > 0, room * profile.add(inner), 0.0))

    reach = max(np.log1p(rate * np.expm1(min(profile.reach, 700.0))), 1e-12)
    return PrivacyProfile(remove, add, float(min(max(reach, -np.log1p(-rate)), profile.reach)), profile.slack)


def fixed_size(profile: PrivacyProfile, rate: float) -> PrivacyProfile:
    """On a sample of fixed size, under replacement of one unit; a share ``rate`` is sampled."""

    def positive(epsilon: Floats) -> Floats:
        return rate * profile.remove(_before_sampling(epsilon, rate)[0])

    def curve(epsilon: Floats) -> Floats:
        above = positive(np.abs(epsilon))
        return _as_probability(
            np.where(epsilon >= 0, above, -np.expm1(np.minimum(0.0, epsilon)) + np.exp(np.minimum(0, epsilon)) * above)
        )

    reach = np.log1p(rate * np.expm1(min(profile.reach, 700.0)))
    return PrivacyProfile.symmetric(curve, reach=float(min(reach, profile.reach)), slack=profile.slack)


def _before_sampling(epsilon: Floats, rate: float) -> tuple[Floats, NDArray[np.bool_]]:
    """ln((e^epsilon - (1 - q)) / q), the loss that sampling turns into epsilon, and where there is one."""
    part = -np.expm1(-epsilon.clip(-700.0)) + rate * np.exp(-epsilon.clip(-700.0))  # (e^epsilon - (1-q)) / e^epsilon
    return epsilon + np.log(np.maximum(part, 1e-300) / rate), part > 0


def largest_profile(profiles: list[PrivacyProfile]) -> PrivacyProfile:
    """Disjoint parts: whichever part the unit lies in."""
    return PrivacyProfile(
        lambda epsilon: reduce(np.maximum, [p.remove(epsilon) for p in profiles]),
        lambda epsilon: reduce(np.maximum, [p.add(epsilon) for p in profiles]),
        max(p.reach for p in profiles),
        max(p.slack for p in profiles),
    )


def _as_probability(values: Floats) -> Floats:
    """Values as probabilities, a little up for the error of the arithmetic."""
    return np.clip(values * (1 + 2e-14), 0.0, 1.0)
