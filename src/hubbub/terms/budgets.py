"""What may be spent (budget), and the proof in the ledger that it was (receipt)."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hubbub.terms.errors import MissingParameter
from hubbub.terms.events import Event
from hubbub.terms.guarantees import ApproximateDP, PrivacyBound, PureDP, ZeroConcentratedDP
from hubbub.terms.numbers import fraction_of, positive


@dataclass(frozen=True, slots=True)
class Budget:
    """What may be spent on a population: (epsilon, delta), pure epsilon, or rho (with an optional delta).

    >>> Budget(3, 1e-6).measure().describe()
    'epsilon = 3, delta = 1e-06'
    """

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None

    def __post_init__(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise MissingParameter(
                "a budget is given by epsilon or by rho, and one of them is needed.",
                why="There is no default budget, and two caps would contradict each other.",
                fix="Write Budget(epsilon, delta) or Budget(rho=...).",
            )
        for name in ("epsilon", "rho"):
            if (value := getattr(self, name)) is not None:
                object.__setattr__(self, name, positive(value, name=name))
        object.__setattr__(self, "delta", fraction_of(self.delta, name="delta", zero=True))

    def measure(self) -> PrivacyBound:
        """The budget as a privacy measure."""
        if self.rho is not None:
            return ZeroConcentratedDP(self.rho, self.delta)
        assert self.epsilon is not None
        return ApproximateDP(self.epsilon, self.delta) if self.delta else PureDP(self.epsilon)


@dataclass(frozen=True, slots=True)
class Receipt:
    """Proof that an event stands in a ledger: its place, and the head of the hash chain that covers it."""

    population: str
    sequence: int
    head: str
    fingerprint: str
    event: Event
    charged: PrivacyBound
    at: str
