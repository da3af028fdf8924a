"""What a question may cost, as it was asked for: in a currency that the budget counts."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from hubbub.relations import limits
from hubbub.terms import Budget, MissingParameter, Real, fraction_of, positive


@dataclass(frozen=True, slots=True)
class Price:
    """What a question may cost: rho; or epsilon with delta (0 for a pure budget)."""

    epsilon: Fraction | None = None
    delta: Fraction = Fraction(0)
    rho: Fraction | None = None


def price_of(
    budget: Budget, *, epsilon: Real | None = None, delta: Real | None = None, rho: Real | None = None
) -> Price:
    """The price that was asked for, in a currency that the budget counts."""
    limits.check_ordinary(epsilon=epsilon, delta=delta, rho=rho)
    if (epsilon is None) == (rho is None):
        raise MissingParameter(
            "a question says what it may cost: epsilon or rho, or how exact it should be (within).",
            why="There is no default price.",
            fix="Write epsilon=0.5, or within=20 for an error of at most 20 with 95% confidence.",
        )
    if budget.epsilon is not None and budget.delta == 0:
        return _pure_price(epsilon, delta)
    if rho is not None:
        if delta is not None:
            raise MissingParameter(
                "rho goes without delta.", why="A price is stated in one way.", fix="Leave delta out."
            )
        return Price(rho=positive(rho, name="rho"), delta=budget.delta / 100)
    own = budget.delta / 100 if delta is None else fraction_of(delta, name="delta")
    if own == 0:
        raise MissingParameter(
            "epsilon goes with a delta here, and the budget names none.",
            why="A budget in rho uses Gaussian noise.",
            fix="Write epsilon=..., delta=..., or rho=...",
        )
    return Price(epsilon=positive(epsilon, name="epsilon"), delta=own)


def _pure_price(epsilon: Real | None, delta: Real | None) -> Price:
    if epsilon is None or delta not in (None, 0):
        raise MissingParameter(
            "a budget without delta is spent in epsilon alone.",
            why="Every answer under it is epsilon-DP, with Laplace noise.",
            fix="Write epsilon=...",
        )
    return Price(epsilon=positive(epsilon, name="epsilon"))
