"""What a budget allows, in the currency in which it is counted; the arithmetic under filters and the ledger.

    PURE          epsilons add up                             pure budgets
    CONCENTRATED  rho and own deltas add up                   rho budgets
    EITHER        both ways at once: epsilons and tails, or rho; own deltas once     (epsilon, delta) budgets
    BASIC         epsilons and deltas of whole plans add up, each plan by its tightest bound

An ``Amount`` counts in whole units of 10^-24 (epsilon or rho) and 10^-40 (delta), each cost rounded up: the decimals
that people type are exact, sums never grow longer, and an amount reads as a plain decimal for ever.
"""

from __future__ import annotations

import math
from enum import StrEnum
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple, TypeVar

from hubbub.accounting import costs, epsilon_bounds
from hubbub.accounting.conversions import rho_epsilon, rho_for
from hubbub.accounting.either_way import MARGIN, SPLIT, DeltaSplit, basic_cost, own_delta
from hubbub.terms import (
    ApproximateDP,
    Budget,
    Event,
    HubbubError,
    Neighbours,
    NoBound,
    PrivacyBound,
    PureDP,
    TooLarge,
    ZeroConcentratedDP,
    shown,
)

T = TypeVar("T")
LOSS_UNIT = 10**24
UNKNOWN = 1 << 240  # units: a cost that an account does not know, and a total that has one; nothing fits it
DELTA_UNIT = 10**40
_LEAST_DELTA = 1e-300  # that a double holds in full; what is below it converts no rho


class Currency(StrEnum):
    """In what a limit counts."""

    PURE = "pure"
    CONCENTRATED = "concentrated"
    EITHER = "either"
    BASIC = "basic"


class Amount(NamedTuple):
    """A cost or a total in whole units: ``loss`` and ``delta`` of the currency, ``epsilon`` and ``tail`` beside them.

    In PURE and BASIC the loss is an epsilon, elsewhere a rho. EITHER counts a rho and own deltas, and beside them the
    epsilons and tail deltas of the basic account; the other currencies leave these at 0.
    """

    loss: int = 0
    delta: int = 0
    epsilon: int = 0
    tail: int = 0

    @classmethod
    def of(
        cls,
        loss: Fraction | None,
        delta: Fraction = Fraction(0),
        epsilon: Fraction | None = Fraction(0),
        tail: Fraction = Fraction(0),
    ) -> Amount:
        """The amount, each part rounded up to a whole unit; None is a cost that is not known."""
        return cls(
            _units_up(loss, LOSS_UNIT),
            _units_up(delta, DELTA_UNIT),
            _units_up(epsilon, LOSS_UNIT),
            _units_up(tail, DELTA_UNIT),
        )

    def __add__(self, other: Amount) -> Amount:  # type: ignore[override]
        return Amount(*(min(UNKNOWN, a + b) for a, b in zip(self, other, strict=True)))

    def __sub__(self, other: Amount) -> Amount:
        """What is in this total and not in that earlier one; never negative."""
        return Amount(*(max(0, a - b) for a, b in zip(self, other, strict=True)))

    def parts(self) -> tuple[Fraction, Fraction]:
        """(loss, delta) as rational numbers."""
        return Fraction(self.loss, LOSS_UNIT), Fraction(self.delta, DELTA_UNIT)

    def basic_parts(self) -> tuple[Fraction, Fraction]:
        """(epsilon, tail) of the basic account as rational numbers."""
        return Fraction(self.epsilon, LOSS_UNIT), Fraction(self.tail, DELTA_UNIT)

    def measure(self, currency: Currency) -> PrivacyBound:
        """The amount as a privacy measure; counted both ways, in epsilon where that is known.

        Deltas of a total that is beyond its limit may add up to more than 1, which promises as little as 1 does.
        """
        loss, delta = self.parts()
        if currency is Currency.PURE:
            return PureDP(loss)
        if currency is Currency.EITHER and self.epsilon < UNKNOWN:
            loss, tail = self.basic_parts()
            return ApproximateDP(loss, min(Fraction(1), delta + tail)) if delta + tail else PureDP(loss)
        delta = min(Fraction(1), delta)
        return ApproximateDP(loss, delta) if currency is Currency.BASIC else ZeroConcentratedDP(loss, delta)


def _units_up(value: Fraction | None, unit: int) -> int:
    if value is None:
        return UNKNOWN
    return _require_finite(-(-value.numerator * unit // value.denominator))


def _units_down(value: Fraction, unit: int) -> int:
    return _require_finite(value.numerator * unit // value.denominator)


def _require_finite(units: int) -> int:
    """A limit that reached ``UNKNOWN`` would let costs through that nobody knows."""
    if units >= UNKNOWN:
        raise TooLarge(
            "a cost or budget is beyond 10^48.",
            why="Totals are kept in records of a fixed size, and no promise of that size means anything.",
            fix="Give an epsilon or rho that means something: at most a few tens.",
        )
    return units


class Limit:
    """A budget, ready to say whether a total fits.

    An (epsilon, delta) budget is counted both ways. Its delta is split once and for all, when it is opened: a share
    converts the rho, one pays for steps that bring a delta of their own (choosing keys), one for the tails of the basic
    account. A split that moved with what was spent would be no filter: somebody who spends delta in some histories and
    rho in others could pass the line. Nor may both accounts have the whole delta.

    Guarantee: while every step is let through only if the total with it ``fits``, all steps together are within the
    budget, however each was chosen after the answers before it; in BASIC, each plan's own steps are fixed in advance.
    Because: [RRUV16, Thm. 3.6] for PURE; [WRRW23, Thm. 1] for CONCENTRATED; docs/proofs/either-way.md for EITHER, from
    both of them and [CKS20, Prop. 12]; [DR14, Thm. 3.16] for BASIC, where the sum of the epsilons and of the deltas
    bounds every adaptive order of plans [RRUV16].
    """

    __slots__ = ("_converts", "_most", "budget", "currency", "split")

    def __init__(self, budget: Budget, currency: Currency, split: DeltaSplit = SPLIT) -> None:
        self.budget, self.currency, self.split = budget, currency, split
        self._converts = 0.0
        loss = (budget.epsilon if budget.rho is None else budget.rho) or Fraction(0)
        most = _units_down(loss, LOSS_UNIT)
        if currency is not Currency.EITHER:
            self._most = Amount(most, _units_down(budget.delta, DELTA_UNIT))
            return
        self._converts = float(budget.delta * split.converts) * (1 - 1e-12)
        rho = Fraction(rho_for(float(loss), self._converts)) if self._converts >= _LEAST_DELTA else Fraction(0)
        self._most = Amount(
            _units_down(rho, LOSS_UNIT),
            _units_down(budget.delta * split.own, DELTA_UNIT),
            most,
            _units_down(budget.delta * split.tail, DELTA_UNIT),
        )

    @property
    def whole(self) -> Amount:
        """All of the budget, in each account."""
        return self._most

    def fits(self, total: Amount) -> bool:
        """Whether the total stays within the budget."""
        return self.fits_own(total) and (self.fits_loss(total) or self.fits_basic(total))

    def fits_own(self, total: Amount) -> bool:
        """Whether the deltas that steps brought by themselves are within their share; nothing fits if they are not."""
        return total.delta <= self._most.delta

    def fits_loss(self, total: Amount) -> bool:
        """Whether the currency's own account (in EITHER: the concentrated one) is within its limit."""
        return total.loss <= self._most.loss

    def fits_basic(self, total: Amount) -> bool:
        """Whether epsilons and tails are within theirs; False for a budget that is not counted both ways."""
        return (
            self.currency is Currency.EITHER and total.epsilon <= self._most.epsilon and total.tail <= self._most.tail
        )

    def left(self, total: Amount) -> Amount:
        """What still fits, in each account; nothing in one that is exceeded, or at all if own deltas are."""
        left = self._most - total
        if not self.fits_own(total):
            return Amount()
        if self.currency is not Currency.EITHER:
            return left
        loss = left.loss if self.fits_loss(total) else 0
        basic = (left.epsilon, left.tail) if self.fits_basic(total) else (0, 0)
        return Amount(loss, left.delta, *basic)

    def is_used_up(self, total: Amount) -> bool:
        """Whether nothing fits any more, however little it costs."""
        left = self.left(total)
        return left.loss == 0 and left.epsilon == 0

    def counts_in_rho(self, total: Amount) -> bool:
        """Whether a budget in epsilon goes on in its account of rho alone: epsilons have added up to more than it."""
        return self.currency is Currency.EITHER and self.fits_loss(total) and not self.fits_basic(total)

    def epsilon_left(self, total: Amount) -> float:
        """What is left of a budget counted both ways, in epsilon: the basic account's if that is open.

        Else rho alone is counted, and what is left is the budget's epsilon less that of everything told so far.
        """
        if not self.counts_in_rho(total):
            return self.left(total).epsilon / LOSS_UNIT
        return max(0.0, self._most.epsilon / LOSS_UNIT - rho_epsilon(total.loss / LOSS_UNIT, self._converts))

    def left_words(self, total: Amount) -> str:
        """What still fits, as people read it: in epsilon where the budget is in epsilon, with rho in brackets."""
        left = self.left(total)
        if self.currency is not Currency.EITHER:
            return left.measure(self.currency).describe()
        if not self.fits(total):
            return "nothing"
        epsilon, rho = f"epsilon = {self.epsilon_left(total):g}", f"rho = {left.loss / LOSS_UNIT:g}"
        if self.counts_in_rho(total):
            return f"{epsilon} ({rho})"
        return f"{epsilon} (or {rho})" if self.fits_loss(total) else epsilon

    def refusal_words(self, total: Amount, cost: Amount) -> tuple[str, str]:
        """A cost that does not fit, and what is left, as people read them: own deltas if it is these that refuse.

        Both are told in one currency; where rho alone is counted, with it in brackets.
        """
        if self.fits_own(total + cost):
            price = cost.measure(self.currency).describe()
            if self.counts_in_rho(total) and max(cost.loss, cost.epsilon) < UNKNOWN:
                price += f" (rho = {cost.loss / LOSS_UNIT:g})"
            return price, self.left_words(total)
        own, left = (f"own delta = {amount.delta / DELTA_UNIT:g}" for amount in (cost, self.left(total)))
        return own, left

    def delta_words(self, total: Amount, cost: Amount) -> tuple[str, str] | None:
        """If a part of delta refuses a cost: how delta was split, with what is left of that part, and the way on."""
        after, left = total + cost, self.left(total)
        if self.currency is not Currency.EITHER:
            return None
        if not self.fits_own(after):
            part, units, of = self.split.own, left.delta, "steps with a delta of their own, such as choosing keys"
            way = "Ask with a smaller delta (keys that are declared need none), or"
        elif after.epsilon <= self._most.epsilon and after.tail > self._most.tail:
            part, units, of = self.split.tail, left.tail, "the tails of Gaussian noise where epsilons are added up"
            way = "Ask with a smaller delta, with Laplace noise (which needs none), or"
        else:
            return None
        why = (
            f"Of delta = {shown(self.budget.delta)} a part of {shown(part)} is for {of}, and {units / DELTA_UNIT:g} of "
            f"it is left: delta was split when the budget was opened, {self.split.describe()}; nothing was charged."
        )
        return why, way

    def how_many(self, total: Amount, cost: Amount) -> int:
        """How many steps of that cost still fit: as many as the account that holds more of them."""
        left = self.left(total)
        own = _times(left.delta, cost.delta) if self.fits_own(total) else 0
        ways = [_times(left.loss, cost.loss) if self.fits_loss(total) else 0]
        if self.fits_basic(total):
            ways.append(min(_times(left.epsilon, cost.epsilon), _times(left.tail, cost.tail)))
        return min(own, max(ways))

    def default_tail(self, *, epsilon: Fraction | None = None, rho: Fraction | None = None) -> Fraction:
        """The tail delta of a step that names none: its share of the budget's, by epsilon or by rho.

        In whole units, rounded down: n steps of an n-th of the budget fit it.
        """
        return Fraction(math.floor(self._most.tail * self._share_of(epsilon, rho)), DELTA_UNIT)

    def default_own(self, *, epsilon: Fraction | None = None, rho: Fraction | None = None) -> Fraction:
        """The own delta of a step that names none, in the same way."""
        return Fraction(math.floor(self._most.delta * self._share_of(epsilon, rho)), DELTA_UNIT)

    def _share_of(self, epsilon: Fraction | None, rho: Fraction | None) -> Fraction:
        most, part = self._most.loss, rho or Fraction(0)
        if epsilon is not None and self.currency is Currency.EITHER:
            most, part = self._most.epsilon, epsilon
        elif epsilon is not None:
            part = costs.pure_rho(epsilon) if self.currency is Currency.CONCENTRATED else epsilon
        return min(Fraction(1), part * LOSS_UNIT / most) if most else Fraction(0)

    def epsilon(self, total: Amount) -> float | None:
        """The total as an epsilon at the budget's delta; None for a rho budget, which names no delta."""
        if self.budget.epsilon is None:
            return None
        if self.currency is not Currency.EITHER:
            return total.loss / LOSS_UNIT
        ways = [float(self.budget.epsilon)]
        if self.fits_loss(total):
            ways.append(rho_epsilon(total.loss / LOSS_UNIT, self._converts))
        if self.fits_basic(total):
            ways.append(total.epsilon / LOSS_UNIT)
        return min(ways)


def _times(left: int, cost: int) -> int:
    return left // cost if cost else UNKNOWN


@lru_cache(maxsize=4096)
def cost_in(
    currency: Currency,
    event: Event,
    neighbours: Neighbours,
    delta: Fraction = Fraction(0),
    stated: Fraction | None = None,
) -> Amount:
    """What the event costs.

    ``delta`` is where a plan's epsilon is worked out (BASIC), and the tail at which a step's is (EITHER). ``stated`` is
    the epsilon that the event was calibrated for, if that was said.
    """
    if currency is Currency.EITHER:
        return _cost_both_ways(event, neighbours, delta, stated)
    if currency is Currency.BASIC:
        return Amount.of(Fraction(epsilon_bounds.epsilon(event, delta=delta, neighbours=neighbours)) * MARGIN, delta)
    if currency is Currency.PURE:
        return Amount.of(require_cost(costs.pure_epsilon(event, neighbours), "pure"))
    rho = require_cost(costs.concentrated(event, neighbours), "zCDP")
    return Amount.of(*rho)


def _cost_both_ways(event: Event, neighbours: Neighbours, tail: Fraction, stated: Fraction | None) -> Amount:
    basic = basic_cost(event, neighbours, tail=tail, stated=stated)
    concentrated = costs.concentrated(event, neighbours)
    if basic is None:
        rho, own = require_cost(concentrated, "zCDP or (epsilon, delta)")
        return Amount.of(rho, own, None)
    own = own_delta(event, neighbours) if concentrated is None else concentrated[1]
    return Amount.of(None if concentrated is None else concentrated[0], own, basic.epsilon, basic.tail)


def covers(charged: Amount, event: Event, *, currency: Currency, neighbours: Neighbours, delta: Fraction) -> bool:
    """Whether an amount charged long ago pays for the event, by today's accounting.

    An epsilon that was worked out in doubles may be charged a millionth less: another machine's end elsewhere. What
    has no cost, as at a tail that was not charged, is covered by nothing.
    """
    try:
        return _pays_for(charged, event, currency, neighbours, delta)
    except HubbubError:
        return False


def _pays_for(charged: Amount, event: Event, currency: Currency, neighbours: Neighbours, delta: Fraction) -> bool:
    if currency is Currency.EITHER:
        return _pays_both_ways(charged, event, neighbours)
    due = cost_in(currency, event, neighbours, delta)
    loss = due.loss if currency is not Currency.BASIC else int(due.loss / MARGIN)
    return charged.loss >= loss and charged.delta >= due.delta


def _pays_both_ways(charged: Amount, event: Event, neighbours: Neighbours) -> bool:
    """In each account by itself: one in which nothing was known was charged beyond all limits."""
    stated, tail = charged.basic_parts()
    known = charged.epsilon < UNKNOWN
    due = cost_in(Currency.EITHER, event, neighbours, tail, stated * MARGIN if known else None)
    jitter = MARGIN if due.tail else 1  # pure costs are exact
    basic = not known or (due.epsilon <= math.ceil(charged.epsilon * jitter) and due.tail <= charged.tail)
    return basic and charged.loss >= due.loss and charged.delta >= due.delta


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
