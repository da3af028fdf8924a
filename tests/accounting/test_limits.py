"""Amounts round up and read back exactly; limits let through just what their budget allows."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.accounting import Poisson, Repeat, epsilon
from hubbub.accounting.budget_limits import UNKNOWN, Amount, Currency, Limit, cost_in, covers, price_fits
from hubbub.accounting.conversions import rho_epsilon
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Laplace
from hubbub.terms import ApproximateDP, Budget, Neighbours, NoBound, PureDP, ZeroConcentratedDP

ADD, SWAP = Neighbours.ADD_REMOVE, Neighbours.REPLACE
TENTH = Laplace(sensitivity=1, epsilon=0.1).event
GAUSS = DiscreteGaussian(sensitivity=1, sigma=20).event
costs = st.fractions(min_value=0, max_value=10)


@given(costs, st.fractions(min_value=0, max_value=1))
def test_an_amount_is_never_less_than_what_it_stands_for_and_hardly_more(loss: Fraction, delta: Fraction) -> None:
    kept_loss, kept_delta = Amount.of(loss, delta).parts()
    assert 0 <= kept_loss - loss < Fraction(1, 10**24)
    assert 0 <= kept_delta - delta < Fraction(1, 10**40)


@given(st.lists(st.decimals(min_value=0, max_value=3, places=6), max_size=20))
def test_decimals_add_up_exactly(typed: list[object]) -> None:
    total = sum((Amount.of(Fraction(str(d))) for d in typed), Amount())
    assert total.parts()[0] == sum((Fraction(str(d)) for d in typed), Fraction(0))


def test_amounts_are_measures_of_their_currency() -> None:
    amount = Amount.of(Fraction(1, 2), Fraction(1, 10**6))
    assert Amount.of(Fraction(1, 2)).measure(Currency.PURE) == PureDP(Fraction(1, 2))
    assert amount.measure(Currency.BASIC) == ApproximateDP(Fraction(1, 2), Fraction(1, 10**6))
    assert amount.measure(Currency.CONCENTRATED) == ZeroConcentratedDP(Fraction(1, 2), Fraction(1, 10**6))
    assert Amount(3, 3) - Amount(5, 1) == Amount(0, 2)


@pytest.mark.parametrize("unit", [Amount(1), Amount(0, 1)])
@pytest.mark.parametrize(
    ("budget", "currency", "full"),
    [
        (Budget(1), Currency.PURE, Amount.of(Fraction(1))),
        (Budget(2, 1e-6), Currency.BASIC, Amount.of(Fraction(2), Fraction(1, 10**6))),
        (Budget(rho=Fraction(1, 3), delta=1e-9), Currency.CONCENTRATED, Amount(10**24 // 3, 10**31)),
    ],
)
def test_a_full_budget_fits_and_one_unit_more_does_not(
    budget: Budget, currency: Currency, full: Amount, unit: Amount
) -> None:
    limit = Limit(budget, currency)
    assert limit.fits(full) and not limit.fits(full + unit)
    assert limit.left(full) == Amount() and limit.left(Amount()) == full


@given(st.floats(0.05, 8), st.floats(1e-12, 1e-3))
def test_what_fits_an_epsilon_delta_budget_converts_to_no_more_than_it(asked: float, delta: float) -> None:
    limit = Limit(Budget(asked, delta), Currency.EITHER)
    full, closed = limit.left(Amount()), Amount(epsilon=UNKNOWN)
    by_rho, basic = Amount(full.loss, full.delta, UNKNOWN), Amount(UNKNOWN, full.delta, full.epsilon, full.tail)
    for way, more in ((by_rho, Amount(1)), (basic, Amount(epsilon=1)), (basic, Amount(tail=1))):
        assert limit.fits(way) and not limit.fits(way + more) and not limit.fits(way + Amount(0, 1))
    assert not limit.fits(closed + Amount(UNKNOWN))
    loss, own = full.parts()
    exact = Fraction(str(delta))
    tail = full.basic_parts()[1]
    assert own <= exact / 8 and tail <= exact / 8
    assert rho_epsilon(float(loss), float(exact - own - tail)) <= asked * (1 + 1e-12)
    assert rho_epsilon(float(loss) * (1 + 1e-6), float(exact) * 0.75) > asked * (1 - 1e-12)


def test_the_epsilon_of_a_total_is_that_of_accounting() -> None:
    limit = Limit(Budget(3, 1e-6), Currency.EITHER)
    total = Amount.of(Fraction(1, 100), epsilon=Fraction(2))
    assert limit.epsilon(total) == pytest.approx(rho_epsilon(0.01, 0.75e-6), rel=1e-9)
    assert limit.epsilon(Amount.of(Fraction(1, 100), epsilon=Fraction(1, 2))) == 0.5  # the smaller of two that hold
    assert limit.epsilon(Amount.of(Fraction(9), epsilon=None)) == 3  # never told as more than the budget
    assert Limit(Budget(rho=1), Currency.CONCENTRATED).epsilon(total) is None
    assert Limit(Budget(1), Currency.PURE).epsilon(total) == 0.01


def test_costs_follow_currency_and_neighbours() -> None:
    assert cost_in(Currency.PURE, TENTH, ADD).parts() == (Fraction(1, 10), 0)
    assert cost_in(Currency.PURE, TENTH, SWAP).parts() == (Fraction(2, 10), 0)
    assert cost_in(Currency.CONCENTRATED, GAUSS, ADD).parts() == (Fraction(1, 800), 0)
    rho, own = cost_in(Currency.CONCENTRATED, TENTH, ADD).parts()
    assert own == 0 and float(rho) == pytest.approx(0.1 * math.tanh(0.05), rel=1e-12)
    with pytest.raises(NoBound):
        cost_in(Currency.PURE, GAUSS, ADD)


def test_a_plan_is_charged_its_tightest_bound_and_a_millionth() -> None:
    plan = Repeat(Poisson(Gaussian(sensitivity=1, sigma=2).event, 0.01), 100)
    delta = Fraction(1, 10**7)
    charged = cost_in(Currency.BASIC, plan, ADD, delta)
    bound = epsilon(plan, delta=delta)
    assert bound < charged.parts()[0] < Fraction(bound) * Fraction(1000002, 1000000)
    assert charged.parts()[1] == delta
    terms = {"currency": Currency.BASIC, "neighbours": ADD, "delta": delta}
    assert covers(charged, plan, **terms)  # type: ignore[arg-type]
    assert not covers(Amount(charged.loss * 99 // 100, charged.delta), plan, **terms)  # type: ignore[arg-type]
    assert not covers(Amount(charged.loss, charged.delta - 1), plan, **terms)  # type: ignore[arg-type]


def test_a_price_tag_is_judged_by_the_tightest_bound_alone() -> None:
    asked = DiscreteGaussian(sensitivity=1, epsilon=0.5, delta=1e-8).event
    assert price_fits(Budget(0.5, 1e-8), asked, ADD)
    assert not price_fits(Budget(0.499, 1e-8), asked, ADD)
    assert price_fits(Budget(0.1), TENTH, ADD) and not price_fits(Budget(0.1), TENTH, SWAP)
    assert price_fits(Budget(rho=Fraction(1, 800)), GAUSS, ADD)
    assert not price_fits(Budget(rho=Fraction(1, 801)), GAUSS, ADD)


def test_a_limit_is_used_up_once_no_account_has_anything_left() -> None:
    limit = Limit(Budget(3, 1e-6), Currency.EITHER)
    whole = limit.whole
    assert not limit.is_used_up(Amount())
    assert not limit.is_used_up(Amount(loss=whole.loss + 1, epsilon=whole.epsilon - 1))
    assert limit.is_used_up(Amount(loss=whole.loss + 1, epsilon=whole.epsilon))
    pure = Limit(Budget(1), Currency.PURE)
    assert not pure.is_used_up(Amount(loss=pure.whole.loss - 1)) and pure.is_used_up(pure.whole)
