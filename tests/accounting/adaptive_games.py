"""Adaptive games that are played to the end: the best adversary against a rule, found exactly.

A step is a small mechanism under two neighbouring data sets: its outcomes with their chances under the first one, and
their loss, ln of the ratio of both chances, in whole multiples of one unit. Whatever an adversary sees, all that counts
later is what was spent and the loss so far. So the best way on from there, and the best event to bet on in the end, is
found by backward induction, over all losses at once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from hubbub.accounting import Limit
from hubbub.accounting.budget_limits import Amount, Currency, cost_in
from hubbub.accounting.costs import pure_rho
from hubbub.terms import ApproximateStep, Neighbours, PureStep

ADD = Neighbours.ADD_REMOVE
Rule = Callable[[Amount], bool]
Count = Callable[[Amount, Amount], Amount]


@dataclass(frozen=True)
class GameStep:
    """``outcomes`` as (chance, loss); with the chance ``leak`` the answer tells which data set it was."""

    cost: Amount
    outcomes: tuple[tuple[float, int], ...]
    leak: float = 0.0

    def without_own(self, own: float) -> GameStep:
        """The pair (P', Q'), under the same four numbers."""
        return replace(self, leak=0.0, outcomes=tuple((chance / (1 - own), loss) for chance, loss in self.outcomes))


def truth_or_lie(losses: int, unit: Fraction) -> GameStep:
    """Randomized response, the worst pure step."""
    step = PureStep(mechanism="truth or lie", epsilon=losses * unit)
    return GameStep(cost_in(Currency.EITHER, step, ADD), _coin(losses, unit))


def several_at_once(losses: int, unit: Fraction, *, times: int, basic: int) -> GameStep:
    """As many randomized responses in one answer: ``basic`` units of epsilon, and the tail that is exact there."""
    truth = _coin(losses, unit)[0][0]
    outcomes = tuple(
        (math.comb(times, true) * truth**true * (1 - truth) ** (times - true), losses * (2 * true - times))
        for true in range(times + 1)
    )
    tail = sum(chance * max(0.0, -math.expm1((basic - loss) * float(unit))) for chance, loss in outcomes)
    rho = times * pure_rho(losses * unit)
    return GameStep(Amount.of(rho, Fraction(0), basic * unit, Fraction(tail * (1 + 1e-12))), outcomes)


def leaky(losses: int, unit: Fraction, *, own: Fraction) -> GameStep:
    """The worst (epsilon, delta)-DP step: all is told with the chance delta, a delta of its own."""
    step = ApproximateStep(mechanism="leaky", epsilon=losses * unit, delta=own)
    outcomes = tuple((chance * (1 - float(own)), loss) for chance, loss in _coin(losses, unit))
    return GameStep(cost_in(Currency.EITHER, step, ADD), outcomes, leak=float(own))


def pure_leak(tail: Fraction) -> GameStep:
    """All is told with the chance ``tail``, else nothing; no rho bounds that."""
    return GameStep(Amount.of(None, Fraction(0), Fraction(0), tail), ((1 - float(tail), 0),), leak=float(tail))


def _coin(losses: int, unit: Fraction) -> tuple[tuple[float, int], tuple[float, int]]:
    truth = 1 / (1 + math.exp(-losses * float(unit)))
    return (truth, losses), (1 - truth, -losses)


@dataclass(frozen=True)
class Game:
    """Steps to choose from, again and again, up to so many; the bet is on P(S) - e^epsilon Q(S)."""

    steps: tuple[GameStep, ...]
    length: int
    unit: Fraction
    limit: Limit

    def best(self, passes: Rule, *, count: Count = Amount.__add__) -> float:
        """The largest H that an adversary can reach while the totals pass; ``count`` adds a cost to a total."""
        widest = self.length * max(abs(loss) for step in self.steps for _, loss in step.outcomes)
        losses = np.arange(-widest, widest + 1)
        assert self.limit.budget.epsilon is not None
        bet = np.maximum(0.0, -np.expm1(np.minimum(0.0, float(self.limit.budget.epsilon) - losses * float(self.unit))))
        known: dict[tuple[Amount, int], NDArray[np.float64]] = {}

        def value(total: Amount, taken: int) -> NDArray[np.float64]:
            """For each loss so far: the most that is still to be had, for each bit of chance under P."""
            if (total, taken) not in known:
                best = bet
                for step in self.steps if taken < self.length else ():
                    if passes(after := count(total, step.cost)):
                        best = np.maximum(best, step.leak + expected(step, value(after, taken + 1)))
                known[total, taken] = best
            return known[total, taken]

        def expected(step: GameStep, later: NDArray[np.float64]) -> NDArray[np.float64]:
            places = np.arange(len(later))  # those beyond the ends are never reached from a loss of 0
            return sum(  # type: ignore[return-value]
                chance * later[np.clip(places + loss, 0, len(later) - 1)] for chance, loss in step.outcomes
            )

        return float(value(Amount(), 0)[widest])

    def by_either(self) -> float:
        """Against the rule itself."""
        return self.best(self.limit.fits)

    def by_basic(self) -> float:
        """Stopped before epsilons or tails would leave their limits."""
        return self.best(lambda total: self.limit.fits_own(total) and self.limit.fits_basic(total))

    def by_rho(self) -> float:
        """Stopped before rho would leave its limit."""
        return self.best(lambda total: self.limit.fits_own(total) and self.limit.fits_loss(total))


def clean(game: Game) -> Game:
    """The same game without own deltas in the answers; they are counted as before."""
    steps = (step.without_own(float(step.cost.parts()[1])) if step.cost.delta else step for step in game.steps)
    return replace(game, steps=tuple(steps))
