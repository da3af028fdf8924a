"""Filters never let more through than their budget, odometers never say too little."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.accounting import conversions, epsilon
from hubbub.accounting.filters import (
    AdvancedFilter,
    ConcentratedFilter,
    ConcentratedOdometer,
    PureFilter,
    PureOdometer,
    RenyiFilter,
)
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Laplace
from hubbub.terms import ApproximateStep, BudgetExceeded, HubbubError, MissingParameter, NoBound, OutOfRange, PureStep

TENTH = Laplace(sensitivity=1, epsilon=0.1).event
KEYS = ApproximateStep(mechanism="keys", epsilon=Fraction(1, 10), delta=Fraction(1, 10**7))


def fill(budget, event, most: int = 10_000) -> int:
    for count in range(most):
        try:
            budget.append(event)
        except BudgetExceeded:
            return count
    raise AssertionError("the filter never stops")


def test_ten_questions_at_a_tenth_fit_a_budget_of_one_exactly() -> None:
    budget = PureFilter(epsilon=1)
    assert fill(budget, TENTH) == 10
    assert budget.left == 0
    assert budget.spent.epsilon == 1


def test_a_refused_step_changes_nothing() -> None:
    for budget in (
        PureFilter(epsilon=1),
        ConcentratedFilter(epsilon=1, delta=1e-6),
        AdvancedFilter(epsilon=1, delta=1e-6),
        RenyiFilter(order=20, epsilon=2, delta=1e-6),
    ):
        budget.append(TENTH)
        before = budget.spent
        with pytest.raises(BudgetExceeded):
            budget.append(PureStep(mechanism="x", epsilon=Fraction(50)))
        assert budget.spent == before
        budget.append(TENTH)


def test_a_concentrated_filter_goes_as_far_as_its_conversion_allows() -> None:
    step = DiscreteGaussian(sensitivity=1, sigma=82.6).event
    count = fill(ConcentratedFilter(epsilon=1, delta=1e-5), step)
    assert conversions.rho_epsilon(count * float(step.rho), 0.75e-5) <= 1
    assert conversions.rho_epsilon((count + 1) * float(step.rho), 0.75e-5) > 1
    assert count >= 100


def test_the_split_of_delta_does_not_move_with_what_is_spent() -> None:
    """Trading delta for rho by what the answers were is an attack: a budget of (3, 1e-6) once let 1.19e-6 through."""
    budget = ConcentratedFilter(epsilon=3, delta=1e-6)
    before = budget.left
    budget.append(ApproximateStep(mechanism="keys", epsilon=Fraction(1, 10**9), delta=Fraction(1, 4 * 10**6)))
    assert before - budget.left < Fraction(1, 10**17)
    with pytest.raises(BudgetExceeded):
        budget.append(ApproximateStep(mechanism="keys", epsilon=Fraction(1, 10**9), delta=Fraction(1, 10**15)))
    fresh = ConcentratedFilter(epsilon=3, delta=1e-6)
    with pytest.raises(BudgetExceeded):
        fresh.append(ApproximateStep(mechanism="keys", epsilon=Fraction(1, 10**9), delta=Fraction(26, 10**8)))


def test_how_far_a_budget_goes() -> None:
    """Total (1, 1e-5) and COUNT queries with sigma 82.6: the exact Gaussian limit is 489."""
    step = DiscreteGaussian(sensitivity=1, sigma=82.6).event
    assert fill(ConcentratedFilter(epsilon=1, delta=1e-5), step) >= 400
    wider = DiscreteGaussian(sensitivity=1, sigma=91.8).event
    assert fill(ConcentratedFilter(epsilon=3, delta=1e-5), wider) >= 3600


def test_what_a_filter_lets_through_is_within_its_budget_by_every_other_account() -> None:
    for budget, event in (
        (ConcentratedFilter(epsilon=1, delta=1e-5), Gaussian(sensitivity=1, sigma=30).event),
        (AdvancedFilter(epsilon=1, delta=1e-5), TENTH),
        (RenyiFilter(order=30, epsilon=1, delta=1e-5), Gaussian(sensitivity=1, sigma=30).event),
        (PureFilter(epsilon=1), TENTH),
    ):
        count = fill(budget, event)
        assert count > 0
        assert epsilon([event] * count, delta=1e-5) <= 1


def test_deltas_of_steps_are_taken_from_the_budget() -> None:
    budget = ConcentratedFilter(epsilon=3, delta=1e-6)
    assert fill(budget, KEYS) <= 10
    assert budget.spent[1] <= Fraction(1, 10**6)
    advanced = AdvancedFilter(epsilon=3, delta=1e-6)
    assert fill(advanced, KEYS) <= 5, "half of delta is slack"


def test_a_rho_budget_is_spent_exactly() -> None:
    step = DiscreteGaussian(sensitivity=1, sigma=10).event  # rho = 1/200
    assert fill(ConcentratedFilter(rho=Fraction(1, 20)), step) == 10


@given(st.lists(st.fractions(Fraction(1, 1000), Fraction(1, 2)), min_size=1, max_size=40))
def test_whatever_is_let_through_adds_up_to_at_most_the_budget(costs: list[Fraction]) -> None:
    budget, taken = PureFilter(epsilon=1), Fraction(0)
    for cost in costs:
        try:
            budget.append(PureStep(mechanism="x", epsilon=cost))
            taken += cost
        except BudgetExceeded:
            assert taken + cost > 1
    assert taken <= 1


def test_filters_count_replacement_twice() -> None:
    assert fill(PureFilter(epsilon=1, neighbours="replace"), TENTH) == 5


def test_a_step_without_the_filters_currency_is_refused() -> None:
    with pytest.raises(NoBound):
        PureFilter(epsilon=1).append(Gaussian(sensitivity=1, sigma=1).event)


def test_odometers_run_ahead_of_filters_but_not_far() -> None:
    exact, running = PureOdometer(), ConcentratedOdometer(delta=1e-5, expected=0.1)
    step = Gaussian(sensitivity=1, sigma=20).event
    for _ in range(80):
        exact.append(TENTH)
        running.append(step)
    assert exact.spent.epsilon == 8
    fixed = conversions.rho_epsilon(80 * float(step.rho), 1e-5)
    assert fixed < running.spent.epsilon < 1.4 * fixed


def test_the_odometer_holds_at_a_time_chosen_to_break_it() -> None:
    """Stop whenever the realized loss exceeds the running bound: it may happen with probability delta only."""
    rng, delta, sigma = np.random.default_rng(1), 0.05, 2.0
    steps, runs = 400, 4_000
    losses = rng.normal(1 / (2 * sigma**2), 1 / sigma, (runs, steps)).cumsum(axis=1)
    meter, bound = ConcentratedOdometer(delta=delta, expected=5), []
    event = Gaussian(sensitivity=1, sigma=sigma).event
    for _ in range(steps):
        meter.append(event)
        bound.append(float(meter.spent.epsilon))
    ever = np.mean((losses > np.array(bound)).any(axis=1))
    assert ever <= delta
    fixed_time = [conversions.rho_epsilon((i + 1) * float(event.rho), delta) for i in range(steps)]
    assert np.mean((losses > np.array(fixed_time)).any(axis=1)) > delta, "a bound for one time does not hold for all"


@pytest.mark.parametrize(
    "make",
    [
        lambda: PureFilter(epsilon=0),
        lambda: PureFilter(epsilon="1"),
        lambda: ConcentratedFilter(epsilon=1),
        lambda: ConcentratedFilter(epsilon=1, delta=1e-6, rho=1),
        lambda: ConcentratedFilter(delta=1e-6),
        lambda: AdvancedFilter(epsilon=1, delta=1e-6, slack=1e-5),
        lambda: AdvancedFilter(epsilon=1, delta=0),
        lambda: RenyiFilter(order=1, epsilon=1, delta=1e-6),
        lambda: RenyiFilter(order=1.01, epsilon=0.1, delta=1e-6),
        lambda: ConcentratedOdometer(delta=0),
        lambda: PureFilter(epsilon=1, neighbours="siblings"),
    ],
)
def test_nonsense_budgets_are_refused(make) -> None:
    with pytest.raises(HubbubError):
        make()


def test_nonsense_is_refused_with_the_right_words() -> None:
    with pytest.raises(MissingParameter):
        ConcentratedFilter()
    with pytest.raises(OutOfRange):
        PureFilter(epsilon=math.nan)
