"""What is promised: a measure of privacy loss, for a unit and a pair of neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import ClassVar

from hubbub.terms.errors import WrongShape
from hubbub.terms.numbers import exact, fraction_of
from hubbub.terms.units import Neighbours, Unit


@dataclass(frozen=True, slots=True)
class PrivacyBound:
    """A bound on the privacy loss, in one of the field's currencies."""

    kind: ClassVar[str] = ""

    def describe(self) -> str:
        """The bound as it reads in a sentence."""
        raise AssertionError("every bound can be described")  # pragma: no cover


@dataclass(frozen=True, slots=True)
class PureDP(PrivacyBound):
    """epsilon-DP: no event becomes more than e^epsilon times likelier [DMNS06]."""

    kind: ClassVar[str] = "pure-dp"
    epsilon: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, name="epsilon"))

    def describe(self) -> str:
        return f"epsilon = {_short_number(self.epsilon)}"


@dataclass(frozen=True, slots=True)
class ApproximateDP(PrivacyBound):
    """(epsilon, delta)-DP: the same, but for events of probability delta."""

    kind: ClassVar[str] = "approximate-dp"
    epsilon: Fraction
    delta: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", exact(self.epsilon, name="epsilon"))
        object.__setattr__(self, "delta", fraction_of(self.delta, name="delta", zero=True, one=True))

    def describe(self) -> str:
        return f"epsilon = {_short_number(self.epsilon)}, delta = {_short_number(self.delta)}"


@dataclass(frozen=True, slots=True)
class ZeroConcentratedDP(PrivacyBound):
    """delta-approximate rho-zCDP: Renyi divergence at most rho alpha for every order alpha [BS16]."""

    kind: ClassVar[str] = "zcdp"
    rho: Fraction
    delta: Fraction = Fraction(0)

    def __post_init__(self) -> None:
        object.__setattr__(self, "rho", exact(self.rho, name="rho"))
        object.__setattr__(self, "delta", fraction_of(self.delta, name="delta", zero=True, one=True))

    def describe(self) -> str:
        slack = f", delta = {_short_number(self.delta)}" if self.delta else ""
        return f"rho = {_short_number(self.rho)}{slack}"


@dataclass(frozen=True, slots=True)
class RenyiDP(PrivacyBound):
    """A Renyi-DP curve: divergence at most ``epsilons[i]`` at order ``orders[i]`` [Mir17]."""

    kind: ClassVar[str] = "renyi-dp"
    orders: tuple[float, ...]
    epsilons: tuple[float, ...]

    def __post_init__(self) -> None:
        if len(self.orders) != len(self.epsilons):
            raise WrongShape(
                f"{len(self.orders)} orders came with {len(self.epsilons)} values.",
                why="A curve has one value for each order.",
                fix="Give two sequences of the same length.",
            )

    def describe(self) -> str:
        return f"a Renyi curve at {len(self.orders)} orders"


@dataclass(frozen=True, slots=True)
class GaussianDP(PrivacyBound):
    """mu-Gaussian DP: as hard to tell apart as two unit Gaussians mu apart [DRS22]."""

    kind: ClassVar[str] = "gaussian-dp"
    mu: Fraction

    def __post_init__(self) -> None:
        object.__setattr__(self, "mu", exact(self.mu, name="mu"))

    def describe(self) -> str:
        return f"mu = {_short_number(self.mu)}"


AS_GIVEN = "Rows are taken as given: what was learned from them before (scaling, selection, encoding) is not covered."


@dataclass(frozen=True, slots=True)
class Guarantee:
    """A promise in full: the bound, whom it protects, against which difference, and what it leaves out."""

    holds: PrivacyBound
    unit: Unit = field(default_factory=Unit)
    neighbours: Neighbours = Neighbours.ADD_REMOVE
    caveats: tuple[str, ...] = ()

    def describe(self) -> str:
        """The promise as sentences."""
        promise = f"Whether {self.neighbours.describe(self.unit)} changes little: {self.holds.describe()}."
        return " ".join([promise, *self.caveats])


def added_bounds(bounds: Sequence[PrivacyBound]) -> PrivacyBound:
    """Basic composition: losses of one currency and their deltas add up."""
    if len(bounds) == 1:
        return bounds[0]
    concentrated = [each for each in bounds if isinstance(each, ZeroConcentratedDP)]
    if concentrated:
        assert len(concentrated) == len(bounds)  # one price is shared out, so all are said in its currency
        return ZeroConcentratedDP(
            sum((each.rho for each in concentrated), Fraction(0)),
            min(Fraction(1), sum((each.delta for each in concentrated), Fraction(0))),
        )
    epsilon = sum((each.epsilon for each in bounds if isinstance(each, PureDP | ApproximateDP)), Fraction(0))
    delta = sum((each.delta for each in bounds if isinstance(each, ApproximateDP)), Fraction(0))
    return ApproximateDP(epsilon, min(Fraction(1), delta)) if delta else PureDP(epsilon)


def _short_number(value: Fraction) -> str:
    return f"{float(value):.6g}"
