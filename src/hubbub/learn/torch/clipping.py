"""The clipping norm: fixed, or following a quantile of the gradients' norms, which costs a little noise of its own."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hubbub.learn.base.parameters import positive_double
from hubbub.terms import OutOfRange, Real, fraction_of, identity_of


@dataclass(frozen=True, slots=True)
class AdaptiveClip:
    """A clipping norm that moves towards a quantile of the gradients' norms [ATMR21, Alg. 1].

    With each gradient sum a count is released: how many norms lie below the clipping norm. An example's vector is
    (a gradient / norm, 2 b (below - 1/2)) with a^2 + b^2 = 1, so that it has length at most 1 as a whole: sum and
    count are one step with one noise, and the accounting knows nothing else. ``b`` is small: the count's noise is about
    ``noise`` of the expected batch.

    Guarantee: the same (epsilon, delta) as with a fixed norm, for the norms that it follows, too.
    Because: [ATMR21, Thm. 1], here as one vector of length at most 1; ``docs/proofs/networks.md``.
    """

    start: float = 1.0
    quantile: float = 0.5
    rate: float = 0.2
    noise: float = 0.05

    def __post_init__(self) -> None:
        positive_double(self.start, name="start")
        fraction_of(self.quantile, name="quantile")
        positive_double(self.rate, name="rate")
        positive_double(self.noise, name="noise")

    def identity(self) -> dict[str, object]:
        """What makes two such norms the same."""
        numbers = {"start": self.start, "quantile": self.quantile, "rate": self.rate, "noise": self.noise}
        return {"clip": "adaptive", **{key: identity_of(value) for key, value in numbers.items()}}

    def share(self, multiplier: float, batch: float) -> float:
        """b: how much of an example's length the count has, for this noise per sensitivity and expected batch."""
        return min(0.5, multiplier / (2 * self.noise * batch))

    def moved(self, clip: float, below: float) -> float:
        """The next clipping norm, after a noisy share of norms lay below this one."""
        step = max(-2.0, min(2.0, self.rate * (below - self.quantile)))
        return min(1e6 * self.start, max(1e-6 * self.start, clip * math.exp(-step)))


@dataclass(frozen=True, slots=True)
class FixedClip:
    """The same clipping norm throughout."""

    start: float

    def identity(self) -> dict[str, object]:
        """What makes two such norms the same."""
        return {"clip": "fixed", "start": identity_of(self.start)}

    def share(self, multiplier: float, batch: float) -> float:
        """There is no count."""
        return 0.0

    def moved(self, clip: float, below: float) -> float:
        """It stays."""
        return clip


Clip = AdaptiveClip | FixedClip


def clip_of(given: Real | str | AdaptiveClip) -> Clip:
    """What ``clip=`` says: a number, or an AdaptiveClip."""
    if isinstance(given, AdaptiveClip):
        return given
    if isinstance(given, str):
        raise OutOfRange(
            f"clip must be a number or an AdaptiveClip and is {given!r}.",
            why="It bounds the norm of each example's gradient.",
            fix="Write clip=1.0 or clip=AdaptiveClip().",
        )
    return FixedClip(positive_double(given, name="clip"))
