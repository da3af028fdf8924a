"""What a budget allows, in the currency in which it is counted; the arithmetic under filters and the ledger.

    PURE          epsilons add up                        pure budgets
    CONCENTRATED  rho and delta add up                   (epsilon, delta) and rho budgets, chosen adaptively
    BASIC         epsilons and deltas of whole plans add up, each plan by its tightest bound

An ``Amount`` counts in whole units of 10^-24 (epsilon or rho) and 10^-40 (delta), each cost rounded up: the decimals
that people type are exact, sums never grow longer, and an amount reads as a plain decimal for ever.
"""

from __future__ import annotations

from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeVar

from hubbub.accounting import costs, epsilon_bounds
from hubbub.accounting.conversions import rho_epsilon, rho_for
from hubbub.terms import (
    ApproximateDP,
    Budget,
    Event,
    Neighbours,
    NoBound,
    PrivacyBound,
    PureDP,
    TooLarge,
    ZeroConcentratedDP,
)

T = TypeVar("T")
LOSS_UNIT = 10**24
_LARGEST = 1 << 240  # units; sums of as many as a ledger could ever hold stay below 2^256
DELTA_UNIT = 10**40
OWN_DELTA = Fraction(1, 4)  # of an (epsilon, delta) budget, for steps that bring a delta of their own
_MARGIN = Fraction(1_000_001, 1_000_000)  # on a plan's bound: another machine's doubles may end a little higher


class Currency(StrEnum):
    """In what a limit counts."""

    PURE = "pure"
    CONCENTRATED = "concentrated"
    BASIC = "basic"


class Amount(NamedTuple):
    """A cost or a total: ``loss`` (epsilon or rho) in units of 10^-24, ``delta`` in units of 10^-40."""

    loss: int = 0
    delta: int = 0

    @classmethod
    def of(cls, loss: Fraction, delta: Fraction = Fraction(0)) -> Amount:
        """The amount, each part rounded up to a whole unit."""
        amount = cls(
            -(-loss.numerator * LOSS_UNIT // loss.denominator), -(-delta.numerator * DELTA_UNIT // delta.denominator)
        )
        if max(amount) >= _LARGEST:
            raise TooLarge(
                "a cost or budget is beyond 10^48.",
                why="Totals are kept in records of a fixed size, and no promise of that size means anything.",
                fix="Give an epsilon or rho that means something: at most a few tens.",
            )
        return amount

    def __add__(self, other: Amount) -> Amount:  # type: ignore[override]
        return Amount(self.loss + other.loss, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        """What is in this total and not in that earlier one; never negative."""
        return Amount(max(0, self.loss - other.loss), max(0, self.delta - other.delta))

    def parts(self) -> tuple[Fraction, Fraction]:
        """(loss, delta) as rational numbers."""
        return Fraction(self.loss, LOSS_UNIT), Fraction(self.delta, DELTA_UNIT)

    def measure(self, currency: Currency) -> PrivacyBound:
        """The amount as a privacy measure."""
        loss, delta = self.parts()
        if currency is Currency.PURE:
            return PureDP(loss)
        return ApproximateDP(loss, delta) if currency is Currency.BASIC else ZeroConcentratedDP(loss, delta)


class Limit:
    """A budget, ready to say whether a total fits.

    An (epsilon, delta) budget counted in rho is split once and for all: three quarters of delta convert the rho, one
    quarter pays for steps that bring a delta of their own (choosing keys). A split that moved with what was spent would
    be no filter: somebody who spends delta in some histories and rho in others could pass the line.

    Guarantee: while every step is let through only if the total with it ``fits``, all steps together are within the
    budget, however each was chosen after the answers before it; in BASIC, each plan's own steps are fixed in advance.
    Because: [RRUV16, Thm. 3.6] for PURE; [WRRW23, Thm. 1] with [CKS20, Prop. 12] for CONCENTRATED; [DR14, Thm. 3.16]
    for BASIC, where the sum of the epsilons and of the deltas bounds every adaptive order of plans [RRUV16].
    """

    __slots__ = ("_converts", "_delta", "_loss", "budget", "currency")

    def __init__(self, budget: Budget, currency: Currency) -> None:
        self.budget, self.currency = budget, currency
        self._converts, own = 0.0, budget.delta
        if currency is Currency.CONCENTRATED and budget.epsilon is not None:
            own = budget.delta * OWN_DELTA
            self._converts = float(budget.delta - own) * (1 - 1e-12)
            loss = Fraction(rho_for(float(budget.epsilon), self._converts)) if budget.delta else Fraction(0)
        else:
            loss = (budget.epsilon if budget.rho is None else budget.rho) or Fraction(0)
        self._loss = loss.numerator * LOSS_UNIT // loss.denominator
        self._delta = own.numerator * DELTA_UNIT // own.denominator

    def fits(self, total: Amount) -> bool:
        """Whether the total stays within the budget."""
        return total.loss <= self._loss and total.delta <= self._delta

    def left(self, total: Amount) -> Amount:
        """What still fits."""
        return Amount(self._loss, self._delta) - total

    def epsilon(self, total: Amount) -> float | None:
        """The total as an epsilon at the budget's delta; None for a rho budget, which names no delta."""
        if self.budget.epsilon is None:
            return None
        spent = total.loss / LOSS_UNIT
        return min(float(self.budget.epsilon), rho_epsilon(spent, self._converts)) if self._converts else spent


@lru_cache(maxsize=4096)
def cost_in(currency: Currency, event: Event, neighbours: Neighbours, delta: Fraction = Fraction(0)) -> Amount:
    """What the event costs; ``delta`` is where a plan's epsilon is worked out (BASIC only)."""
    if currency is Currency.BASIC:
        return Amount.of(Fraction(epsilon_bounds.epsilon(event, delta=delta, neighbours=neighbours)) * _MARGIN, delta)
    if currency is Currency.PURE:
        return Amount.of(require_cost(costs.pure_epsilon(event, neighbours), "pure"))
    rho = require_cost(costs.concentrated(event, neighbours), "zCDP")
    return Amount.of(*rho)


def covers(charged: Amount, event: Event, *, currency: Currency, neighbours: Neighbours, delta: Fraction) -> bool:
    """Whether an amount charged long ago pays for the event, by today's accounting."""
    due = cost_in(currency, event, neighbours, delta)
    loss = due.loss if currency is not Currency.BASIC else int(due.loss / _MARGIN)
    return charged.loss >= loss and charged.delta >= due.delta


@lru_cache(maxsize=4096)
def price_fits(budget: Budget, event: Event, neighbours: Neighbours) -> bool:
    """Whether the event by itself is within the budget, by the tightest bound (the price tag of one question)."""
    if budget.rho is not None:
        rho, delta = require_cost(costs.concentrated(event, neighbours), "zCDP")
        return rho <= budget.rho and delta <= budget.delta
    assert budget.epsilon is not None
    if budget.delta == 0:
        return require_cost(costs.pure_epsilon(event, neighbours), "pure") <= budget.epsilon
    alone = epsilon_bounds.epsilon(event, delta=budget.delta, neighbours=neighbours)
    return alone <= float(budget.epsilon) * (1 + 1e-9)  # a price calibrated to the very same epsilon must pass


def require_cost(cost: T | None, currency: str) -> T:
    """A cost that must exist."""
    if cost is None:
        raise NoBound(
            f"this event has no {currency} cost, so a budget in that currency cannot count it.",
            why="A budget adds up one currency, fixed when it is opened.",
            fix="Use noise that has such a cost, or a budget in a currency that the event has.",
        )
    return cost
