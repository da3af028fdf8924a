"""Filters and odometers: accounting while somebody chooses each next step after seeing the answers so far.

A **filter** has a budget fixed in advance and says, before each step, whether the step still fits; everything
it lets through is together within the budget, however the steps were chosen. An **odometer** gives a running
total that is valid at every time at once, and pays a little for that. Each append takes constant time.

    PureFilter, PureOdometer      the sum of epsilons                     [RRUV16]
    AdvancedFilter                advanced composition, same constants    [WRRW23, Thm. 1]
    EitherWayFilter               epsilons or rho, whichever fits         docs/proofs/either-way.md
    ConcentratedFilter            sums of rho and delta                   [WRRW23, Thm. 1 via zCDP]
    RenyiFilter                   one order, fixed when it is opened      [FZ21], [Lec21]
    ConcentratedOdometer          a time-uniform bound                    docs/proofs/odometer.md

Composing loss distributions and stopping at the line is *not* a filter, and is not offered as one.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np

from hubbub.accounting import costs, renyi
from hubbub.accounting.budget_limits import UNKNOWN, Amount, Currency, Limit, cost_in, require_cost
from hubbub.accounting.either_way import FIRST_SPLIT, SPLIT, DeltaSplit
from hubbub.accounting.epsilon_bounds import mixed_units, one_event
from hubbub.terms import (
    ApproximateDP,
    Budget,
    BudgetExceeded,
    Event,
    MissingParameter,
    Neighbours,
    OutOfRange,
    PureDP,
    Real,
    Step,
    Unit,
    fraction_of,
    positive,
    shown,
)


class _OneUnit:
    """Counts for one unit, that of the first event: costs for a row and for a person do not add up."""

    _unit: Unit | None = None

    def _same_unit(self, event: Event) -> Unit:
        unit = event.unit if isinstance(event, Step) else next(one_event(event).steps()).unit
        if self._unit not in (None, unit):
            raise mixed_units({unit, self._unit or unit})
        return unit


class PureFilter(_OneUnit):
    """Lets steps through while their epsilons add up to at most ``epsilon``.

    Guarantee: everything let through is together epsilon-DP, for steps chosen adaptively in every way.
    Because: [RRUV16, Thm. 3.6]; sums are exact, so ten steps of 0.1 fit a budget of 1.
    """

    def __init__(self, *, epsilon: Real, neighbours: Neighbours | str = Neighbours.ADD_REMOVE) -> None:
        self._limit = positive(epsilon, name="epsilon")
        self._neighbours = Neighbours.parse(neighbours)
        self._spent = Fraction(0)

    @property
    def spent(self) -> PureDP:
        """What was let through so far."""
        return PureDP(self._spent)

    @property
    def left(self) -> Fraction:
        """The epsilon that still fits."""
        return self._limit - self._spent

    def append(self, event: Event) -> None:
        """Let ``event`` through, or raise and stay as before."""
        unit = self._same_unit(event)
        cost = require_cost(costs.pure_epsilon(event, self._neighbours), "pure")
        if self._spent + cost > self._limit:
            raise budget_exceeded(f"epsilon = {shown(cost)}", f"epsilon = {shown(self.left)}")
        self._spent += cost
        self._unit = unit


class PureOdometer(_OneUnit):
    """The running sum of epsilons.

    Guarantee: at every time, also one chosen after looking, everything so far is ``epsilon``-DP.
    Because: [RRUV16, Thm. 3.6]: the bound on the loss holds for every outcome, not only for most.
    """

    def __init__(self, *, neighbours: Neighbours | str = Neighbours.ADD_REMOVE) -> None:
        self._neighbours = Neighbours.parse(neighbours)
        self._spent = Fraction(0)

    @property
    def spent(self) -> PureDP:
        """What everything so far costs."""
        return PureDP(self._spent)

    def append(self, event: Event) -> None:
        """Count ``event``."""
        unit = self._same_unit(event)
        self._spent += require_cost(costs.pure_epsilon(event, self._neighbours), "pure")
        self._unit = unit


class ConcentratedFilter(_OneUnit):
    """Lets steps through while their rho and delta add up to what (epsilon, delta), or rho, allows.

    Of an (epsilon, delta) budget a quarter of delta is for the deltas of steps, the rest converts their rho; see
    ``budget_limits.Limit``.

    Guarantee: everything let through is together (epsilon, delta)-DP, or delta-approximately rho-zCDP, for steps
    chosen adaptively in every way.
    Because: [WRRW23, Thm. 1] for approximate zCDP; [CKS20, Prop. 12] converts the budget.
    """

    def __init__(
        self,
        *,
        epsilon: Real | None = None,
        delta: Real = 0,
        rho: Real | None = None,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    ) -> None:
        if (epsilon is None) == (rho is None):
            raise MissingParameter(
                "give epsilon and delta, or rho.",
                why="A filter needs exactly one budget.",
                fix="Write epsilon=..., delta=... or rho=...",
            )
        budget = Budget(epsilon, fraction_of(delta, name="delta", zero=rho is not None), rho)  # type: ignore[arg-type]
        self._limit = Limit(budget, Currency.EITHER if rho is None else Currency.CONCENTRATED, FIRST_SPLIT)
        self._neighbours = Neighbours.parse(neighbours)
        self._spent = Amount(epsilon=UNKNOWN)  # by rho alone: the basic account is closed

    @property
    def spent(self) -> tuple[Fraction, Fraction]:
        """(rho, delta) let through so far."""
        return self._spent.parts()

    @property
    def left(self) -> Fraction:
        """The rho that still fits."""
        return self._limit.left(self._spent).parts()[0]

    def append(self, event: Event) -> None:
        """Let ``event`` through, or raise and stay as before."""
        unit = self._same_unit(event)
        cost = cost_in(Currency.CONCENTRATED, event, self._neighbours)
        total = self._spent + cost
        if not self._limit.fits(total):
            rho, delta = map(float, cost.parts())
            raise budget_exceeded(f"rho = {rho:g} and delta = {delta:g}", f"rho = {shown(self.left)}")
        self._spent = total
        self._unit = unit


class EitherWayFilter(_OneUnit):
    """Lets steps through while own deltas fit and either epsilons and tails add up within the budget, or rho does.

    Both accounts go on counting after one of them is exceeded. A step's tail delta is its share of the budget's tails
    (by rho), unless ``tail`` says another.

    Guarantee: everything let through is together (epsilon, delta)-DP, for steps chosen adaptively in every way.
    Because: docs/proofs/either-way.md, from [RRUV16, Thm. 3.6], [WRRW23, Thm. 1] and [CKS20, Prop. 12].

    >>> from hubbub.mechanisms import Laplace
    >>> budget = EitherWayFilter(epsilon=3, delta=1e-6)
    >>> for _ in range(3):
    ...     budget.append(Laplace(sensitivity=1, epsilon=1).event)
    >>> budget.left
    Fraction(0, 1)
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        delta: Real,
        split: DeltaSplit = SPLIT,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    ) -> None:
        shares = (split.converts, split.own, split.tail)
        if min(shares) < 0 or sum(shares) > 1:
            raise OutOfRange(
                f"the shares of delta must not be below 0 or add up to more than 1, and are {split.describe()}.",
                why="Both accounts can be used at once, so what each may spend of delta adds up.",
                fix="Leave the split out, or give shares that add up to 1.",
            )
        budget = Budget(positive(epsilon, name="epsilon"), fraction_of(delta, name="delta"))
        self._limit = Limit(budget, Currency.EITHER, split)
        self._neighbours = Neighbours.parse(neighbours)
        self._spent = Amount()

    @property
    def spent(self) -> Amount:
        """The totals of both accounts."""
        return self._spent

    @property
    def left(self) -> Fraction:
        """The epsilon that still fits in the basic account."""
        return self._limit.left(self._spent).basic_parts()[0]

    def append(self, event: Event, *, tail: Real | None = None, stated: Real | None = None) -> None:
        """Let ``event`` through, or raise and stay as before."""
        unit = self._same_unit(event)
        cost = cost_both_ways(self._limit, event, self._neighbours, tail=tail, stated=stated)
        total = self._spent + cost
        if not self._limit.fits(total):
            split = self._limit.delta_words(self._spent, cost)
            raise budget_exceeded(*self._limit.refusal_words(self._spent, cost), split=split)
        self._spent = total
        self._unit = unit


def cost_both_ways(
    limit: Limit, event: Event, neighbours: Neighbours, *, tail: Real | None, stated: Real | None
) -> Amount:
    """What an event costs a budget that is counted both ways; a tail that was not said is the event's share by rho."""
    asked = None if stated is None else positive(stated, name="stated")
    if tail is not None:
        given = fraction_of(tail, name="tail", zero=True)
    else:
        rho = costs.concentrated(event, neighbours)
        given = limit.default_tail(epsilon=asked, rho=None if rho is None else rho[0])
    return cost_in(Currency.EITHER, event, neighbours, given, asked)


class AdvancedFilter(_OneUnit):
    """Lets (epsilon, delta) steps through under advanced composition with the constants of the theorem.

    Guarantee: everything let through is together (epsilon, delta)-DP, for steps chosen adaptively in every way;
    ``slack`` of the delta pays for the composition.
    Because: [WRRW23, Thm. 1]: sqrt(2 ln(1/slack) sum e^2) + sum e^2/2 stays below epsilon.
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        delta: Real,
        slack: Real | None = None,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    ) -> None:
        self._epsilon = float(positive(epsilon, name="epsilon"))
        self._delta = fraction_of(delta, name="delta")
        self._slack = self._delta / 2 if slack is None else fraction_of(slack, name="slack")
        self._neighbours = Neighbours.parse(neighbours)
        if self._slack > self._delta:
            raise OutOfRange(
                f"slack is {shown(self._slack)} and delta only {shown(self._delta)}.",
                why="The slack is the part of delta that pays for the composition itself.",
                fix="Give a slack below delta, or leave it out for half of it.",
            )
        self._squares, self._deltas = 0.0, Fraction(0)

    @property
    def spent(self) -> ApproximateDP:
        """What everything let through so far is bounded by."""
        return ApproximateDP(Fraction(self._together(self._squares)), self._deltas + self._slack)

    def append(self, event: Event) -> None:
        """Let ``event`` through, or raise and stay as before."""
        unit = self._same_unit(event)
        epsilon, delta = require_cost(costs.approximate_cost(event, self._neighbours), "(epsilon, delta)")
        squares = self._squares + float(epsilon) ** 2 * (1 + 1e-12)
        deltas = self._deltas + delta
        if self._together(squares) > self._epsilon or deltas + self._slack > self._delta:
            left = max(0.0, self._epsilon - self._together(self._squares))
            raise budget_exceeded(f"epsilon = {shown(epsilon)} and delta = {shown(delta)}", f"epsilon = {left:g}")
        self._squares, self._deltas = squares, deltas
        self._unit = unit

    def _together(self, squares: float) -> float:
        return (math.sqrt(2 * math.log(1 / float(self._slack)) * squares) + squares / 2) * (1 + 1e-12)


class RenyiFilter(_OneUnit):
    """Lets steps through while their Renyi divergences at one order add up to at most what the budget allows.

    Guarantee: everything let through is together (epsilon, delta)-DP, for steps chosen adaptively in every way; the
    order is fixed when the filter is opened.
    Because: [FZ21, Thm. 4.3]; converted by [CKS20, Prop. 12].
    """

    def __init__(
        self, *, order: object, epsilon: Real, delta: Real, neighbours: Neighbours | str = Neighbours.ADD_REMOVE
    ) -> None:
        self._order = float(positive(order, name="order"))
        if self._order <= 1:
            raise OutOfRange(
                f"order must be above 1 and is {self._order:g}.",
                why="Renyi divergence converts to (epsilon, delta) at orders above 1 only.",
                fix="A good order is about 1 + sqrt(ln(1/delta) / rho) for the rho you expect to spend.",
            )
        self._neighbours = Neighbours.parse(neighbours)
        bound = float(positive(epsilon, name="epsilon"))
        tail = math.log1p(-1 / self._order) - math.log(float(fraction_of(delta, name="delta")) * self._order) / (
            self._order - 1
        )
        self._limit = (bound - tail) * (1 - 1e-12)
        self._spent = 0.0
        if self._limit <= 0:
            raise budget_exceeded("any step", "nothing: at this order the conversion alone takes the budget")

    @property
    def spent(self) -> float:
        """The divergence let through so far, at the filter's order."""
        return self._spent

    def append(self, event: Event) -> None:
        """Let ``event`` through, or raise and stay as before."""
        unit = self._same_unit(event)
        cost = require_cost(_renyi_divergence(event, self._neighbours, self._order), "Renyi")
        total = (self._spent + cost) * (1 + 1e-15)
        if total > self._limit:
            left = self._limit - self._spent
            raise budget_exceeded(f"a divergence of {cost:g}", f"{left:g} at order {self._order:g}")
        self._spent = total
        self._unit = unit


@lru_cache(maxsize=4096)
def _renyi_divergence(event: Event, neighbours: Neighbours, order: float) -> float | None:
    values = renyi.divergences(event, neighbours, np.array([order]))
    return None if values is None else float(values[0])


class ConcentratedOdometer(_OneUnit):
    """A running (epsilon, delta) that is valid at every time at once, also one chosen after looking.

    Guarantee: at every time, everything so far is (``epsilon``, delta + the deltas of the steps)-DP.
    Because: docs/proofs/odometer.md, a normal mixture over Ville's inequality as in [WRRW23, Thm. 4].
    """

    def __init__(
        self, *, delta: Real, expected: object = 1, neighbours: Neighbours | str = Neighbours.ADD_REMOVE
    ) -> None:
        """``expected`` is the rho around which the bound is tightest; any value is valid."""
        self._delta = fraction_of(delta, name="delta")
        level = 2 * math.log(1 / float(self._delta))
        self._tuning = 2 * float(positive(expected, name="expected")) / (level + math.log1p(level))
        self._neighbours = Neighbours.parse(neighbours)
        self._rho, self._deltas = 0.0, Fraction(0)

    @property
    def spent(self) -> ApproximateDP:
        """The bound for everything so far."""
        variance = 2 * self._rho + self._tuning
        log_term = 2 * math.log(1 / float(self._delta)) + math.log(variance / self._tuning)
        epsilon = (self._rho + math.sqrt(variance * log_term)) * (1 + 1e-12)
        return ApproximateDP(Fraction(epsilon), self._delta + self._deltas)

    def append(self, event: Event) -> None:
        """Count ``event``."""
        unit = self._same_unit(event)
        rho, delta = require_cost(costs.concentrated(event, self._neighbours), "zCDP")
        self._rho = (self._rho + float(rho)) * (1 + 1e-15)
        self._deltas += delta
        self._unit = unit


def budget_exceeded(cost: str, left: str, *, split: tuple[str, str] | None = None) -> BudgetExceeded:
    """The refusal, in the words that every filter uses; ``split`` tells of a part of delta that is used up."""
    why, way = split or (
        "The budget was fixed in advance, and no later answer can raise it.",
        "Ask with more noise, or",
    )
    return BudgetExceeded(
        f"this step costs {cost}, and {left} is left.",
        why=why,
        fix=f"{way} ask the data's owner for a larger budget.",
    )
