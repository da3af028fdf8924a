"""A budget counted both ways: questions add up as people expect, and many small ones cost what their noise costs."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hubbub.accounting import Parallel, Poisson, Repeat
from hubbub.accounting.budget_limits import DELTA_UNIT, LOSS_UNIT, UNKNOWN, Amount, Currency, Limit, cost_in, covers
from hubbub.accounting.costs import pure_rho
from hubbub.accounting.either_way import FIRST_SPLIT, SPLIT, BasicCost, DeltaSplit, basic_cost, own_delta
from hubbub.accounting.filters import EitherWayFilter, cost_both_ways
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from hubbub.terms import (
    ApproximateStep,
    Budget,
    BudgetExceeded,
    Compose,
    ConcentratedStep,
    Event,
    GaussianNoise,
    Neighbours,
    NoBound,
    OutOfRange,
    PureStep,
    TooLarge,
)

ADD, SWAP = Neighbours.ADD_REMOVE, Neighbours.REPLACE
EITHER = Currency.EITHER
LAPLACE = Laplace(sensitivity=1, epsilon=1).event
NARROW = DiscreteGaussian(sensitivity=1, sigma=82.6).event
WIDE = DiscreteGaussian(sensitivity=1, sigma=91.8).event
SAMPLED = Poisson(Gaussian(sensitivity=1, sigma=5).event, Fraction(1, 100))
TAIL = Fraction(1, 10**8)


def keys(*, epsilon: Fraction = Fraction(1, 100), own: Fraction) -> ApproximateStep:
    return ApproximateStep(mechanism="keys", epsilon=epsilon, delta=own)


def fill(budget: EitherWayFilter, event: Event, *, tail: Fraction | None = None, most: int = 5000) -> int:
    for count in range(most):
        try:
            budget.append(event, tail=tail)
        except BudgetExceeded:
            return count
    raise AssertionError("the filter never stops")


# ---------------------------------------------------------------- the rho of a pure step


@given(st.floats(1e-6, 30), st.floats(1e-6, 1e4))
def test_no_order_of_the_worst_pure_step_is_above_its_rho(epsilon: float, above_one: float) -> None:
    with mpmath.workdps(60):
        e, order = mpmath.mpf(epsilon), 1 + mpmath.mpf(above_one)
        divergence = mpmath.log(mpmath.cosh((order - 0.5) * e) / mpmath.cosh(e / 2)) / (order - 1)
        rho = pure_rho(Fraction(epsilon))
        assert divergence <= order * mpmath.mpf(rho.numerator) / rho.denominator


def test_the_rho_of_a_pure_step_is_reached_as_the_order_falls_to_one() -> None:
    for epsilon in (0.1, 1.0, 3.0):
        with mpmath.workdps(40):
            e, order = mpmath.mpf(epsilon), 1 + mpmath.mpf(10) ** -12
            divergence = mpmath.log(mpmath.cosh((order - 0.5) * e) / mpmath.cosh(e / 2)) / (order - 1)
        assert float(pure_rho(Fraction(epsilon))) == pytest.approx(float(divergence), rel=1e-10)


@given(st.fractions(Fraction(1, 10**12), 800), st.fractions(Fraction(1, 10**12), 800))
def test_the_rho_of_a_pure_step_rises_and_never_beyond_half_the_square(one: Fraction, other: Fraction) -> None:
    low, high = sorted([one, other])
    assert pure_rho(low) <= pure_rho(high)
    assert 0 < pure_rho(low) <= min(low, low**2 / 2)


@given(st.fractions(Fraction(1, 10**6), 60))
def test_the_rho_of_a_pure_step_is_rounded_up_and_no_further_than_decimals_go(epsilon: Fraction) -> None:
    with mpmath.workdps(100):
        e = mpmath.mpf(epsilon.numerator) / epsilon.denominator
        exact, rho = e * mpmath.tanh(e / 2), pure_rho(epsilon)
        assert exact <= mpmath.mpf(rho.numerator) / rho.denominator <= exact * (1 + mpmath.mpf(10) ** -50)


def test_a_pure_step_is_charged_the_same_to_the_last_digit_on_every_machine() -> None:
    assert cost_in(EITHER, LAPLACE, ADD).loss == 462117157260009758502319  # tanh(1/2) to 24 places, rounded up


# ---------------------------------------------------------------- how far a budget goes


def test_three_questions_at_epsilon_one_fit_a_budget_of_three() -> None:
    budget = EitherWayFilter(epsilon=3, delta=1e-6)
    assert fill(budget, LAPLACE) == 3
    assert budget.left == 0
    assert budget.spent.basic_parts() == (3, 0)


@pytest.mark.parametrize("tail", [None, Fraction(0), Fraction(1, 10**9)])
def test_many_small_questions_cost_what_gaussian_noise_costs(tail: Fraction | None) -> None:
    assert fill(EitherWayFilter(epsilon=1, delta=1e-5), NARROW, tail=tail) == 404
    assert fill(EitherWayFilter(epsilon=3, delta=1e-5), WIDE, tail=tail) == 3682


def test_after_a_laplace_answer_questions_are_added_up_in_epsilon_only() -> None:
    budget = EitherWayFilter(epsilon=3, delta=1e-6)
    budget.append(LAPLACE)
    assert fill(budget, WIDE, tail=Fraction(2, 10**9)) == 38


def test_an_account_goes_on_counting_after_it_is_exceeded() -> None:
    by_rho = EitherWayFilter(epsilon=1, delta=1e-5)
    for _ in range(100):
        by_rho.append(NARROW, tail=Fraction(1, 10**8))
    assert by_rho.spent.basic_parts()[0] > 1 and by_rho.spent.basic_parts()[1] == Fraction(100, 10**8)
    with pytest.raises(BudgetExceeded):
        by_rho.append(PureStep(mechanism="x", epsilon=Fraction(9, 10)))
    by_epsilon = EitherWayFilter(epsilon=3, delta=1e-6)
    by_epsilon.append(LAPLACE)
    by_epsilon.append(LAPLACE)
    assert by_epsilon.spent.loss == 2 * cost_in(EITHER, LAPLACE, ADD).loss
    with pytest.raises(BudgetExceeded):
        by_epsilon.append(WIDE, tail=Fraction(0))  # cheap in rho, and that account is closed


def test_own_deltas_are_counted_once_for_both_accounts() -> None:
    own = Fraction(1, 4 * 10**7)  # five of them are an eighth of 10^-6
    budget = EitherWayFilter(epsilon=3, delta=1e-6)
    assert fill(budget, keys(own=own)) == 5
    assert budget.spent.parts()[1] == 5 * own and budget.spent.basic_parts()[1] == 0
    with pytest.raises(BudgetExceeded, match=r"own delta = 2\.5e-08, and own delta = 0 is"):
        budget.append(keys(own=own))
    budget.append(LAPLACE)  # what brings none still fits


def test_a_step_of_unknown_epsilon_closes_the_basic_account() -> None:
    budget = EitherWayFilter(epsilon=3, delta=1e-6)
    budget.append(ConcentratedStep(mechanism="x", rho=Fraction(1, 1000)), tail=Fraction(0))
    assert budget.spent.epsilon == UNKNOWN and budget.left == 0
    with pytest.raises(BudgetExceeded):
        budget.append(LAPLACE)
    budget.append(PureStep(mechanism="x", epsilon=Fraction(1, 10)))
    assert budget.spent.epsilon == UNKNOWN


def test_a_step_of_unknown_rho_closes_the_concentrated_account() -> None:
    budget = EitherWayFilter(epsilon=3, delta=1e-6)
    budget.append(SAMPLED, tail=TAIL)
    assert budget.spent.loss == UNKNOWN
    assert fill(budget, WIDE, tail=Fraction(2, 10**9)) < 60
    with pytest.raises(NoBound):
        EitherWayFilter(epsilon=3, delta=1e-6).append(SAMPLED, tail=Fraction(0))


def test_own_deltas_are_counted_where_no_rho_is_known() -> None:
    cost = cost_in(EITHER, Compose((keys(own=TAIL), Repeat(SAMPLED, 2))), ADD, TAIL)
    assert cost.loss == UNKNOWN and cost.parts()[1] == TAIL
    apart = Parallel((keys(epsilon=Fraction(1), own=TAIL), keys(epsilon=Fraction(1), own=2 * TAIL), SAMPLED))
    assert own_delta(apart, ADD) == 2 * TAIL
    flat = Parallel((ConcentratedStep(mechanism="x", rho=Fraction(1), delta=TAIL),) * 2)
    assert own_delta(flat, SWAP) == 2 * TAIL, "a unit that moves is in two parts"


@pytest.mark.parametrize("count", [1, 2, 3, 7, 12, 50])
def test_questions_of_an_nth_of_epsilon_always_fit(count: int) -> None:
    """In whole units, as a share is: tails and own deltas never run out before the epsilon."""
    budget = EitherWayFilter(epsilon=3, delta=1e-6)
    limit = Limit(Budget(3, 1e-6), EITHER)
    part = Fraction(3 * LOSS_UNIT // count, LOSS_UNIT)
    tail, own = limit.default_tail(epsilon=part), limit.default_own(epsilon=part)
    asked = DiscreteGaussian(sensitivity=1, epsilon=part, delta=tail).event
    for _ in range(count):
        budget.append(Compose((asked,)), stated=part)
        assert limit.default_tail(epsilon=part) <= budget.spent.basic_parts()[1]
    fresh = EitherWayFilter(epsilon=3, delta=1e-6)
    for _ in range(count):
        fresh.append(keys(epsilon=part, own=own))
    with pytest.raises(BudgetExceeded):
        fresh.append(LAPLACE)


def test_what_is_stated_is_the_cost_if_it_holds_and_only_then() -> None:
    asked = DiscreteGaussian(sensitivity=1, epsilon=0.5, delta=TAIL).event
    half, less = Fraction(1, 2), Fraction(49, 100)
    assert cost_in(EITHER, asked, ADD, TAIL, half).basic_parts() == (half, TAIL)
    assert cost_in(EITHER, Parallel((asked, LAPLACE)), ADD, TAIL, half).basic_parts() == (1, TAIL)
    assert cost_in(EITHER, Parallel((asked, asked)), ADD, TAIL, half).basic_parts() == (half, TAIL)
    assert cost_in(EITHER, asked, ADD, TAIL, less).basic_parts()[0] > less
    assert cost_in(EITHER, asked, ADD, TAIL / 2, half).basic_parts()[0] > half
    assert cost_in(EITHER, LAPLACE, ADD, TAIL, less).basic_parts() == (1, 0), "pure steps cost what they are"


def test_budgets_of_the_first_version_are_counted_with_a_tail_of_zero() -> None:
    assert (FIRST_SPLIT.converts, FIRST_SPLIT.own, FIRST_SPLIT.tail) == (Fraction(3, 4), Fraction(1, 4), 0)
    first = lambda: EitherWayFilter(epsilon=3, delta=1e-6, split=FIRST_SPLIT)  # noqa: E731
    assert fill(first(), LAPLACE) == 3
    assert fill(first(), keys(own=Fraction(1, 4 * 10**7))) == 10
    budget = first()
    budget.append(WIDE)
    assert budget.spent.epsilon == UNKNOWN, "no tail is left for it"
    assert fill(EitherWayFilter(epsilon=1, delta=1e-5, split=FIRST_SPLIT), NARROW) == 404
    with_tail = first()
    with_tail.append(WIDE, tail=TAIL)
    with pytest.raises(BudgetExceeded):
        with_tail.append(LAPLACE)


@pytest.mark.parametrize("shares", [(1, 0, 1), (Fraction(3, 4), Fraction(1, 4), Fraction(1, 8)), (2, -1, 0)])
def test_shares_of_more_than_delta_are_refused(shares: tuple[Fraction, Fraction, Fraction]) -> None:
    with pytest.raises(OutOfRange, match="shares of delta"):
        EitherWayFilter(epsilon=1, delta=1e-6, split=DeltaSplit(*map(Fraction, shares)))


# ---------------------------------------------------------------- disjoint parts


def coin(epsilon: float, own: float) -> tuple[list[float], list[float]]:
    """The worst (epsilon, own) step: chances under a data set and under the one with a unit more."""
    truth = 1 / (1 + math.exp(-epsilon))
    one, other = truth * (1 - own), (1 - truth) * (1 - own)
    return [one, other, own, 0.0], [other, one, 0.0, own]


def pairs_of(parts: list[tuple[float, float]], neighbours: Neighbours):
    """All pairs of output distributions that the change of one unit can make."""
    for at in parts:
        yield coin(*at)
    if neighbours is SWAP:
        for one, other in itertools.permutations(parts, 2):
            (p, q), (r, s) = coin(*one), coin(*other)
            yield np.outer(p, r).ravel(), np.outer(q, s).ravel()


@given(
    st.lists(st.tuples(st.integers(1, 20), st.integers(0, 10)), min_size=1, max_size=4), st.sampled_from([ADD, SWAP])
)
def test_disjoint_parts_cost_what_the_worst_change_of_one_unit_costs(sizes: list, neighbours: Neighbours) -> None:
    parts = [(Fraction(e, 10), Fraction(d, 100)) for e, d in sizes]
    events = tuple(keys(epsilon=e, own=d) if d else PureStep(mechanism="x", epsilon=e) for e, d in parts)
    cost = cost_in(EITHER, Parallel(events), neighbours, TAIL)
    (epsilon, tail), (rho, own) = cost.basic_parts(), cost.parts()
    for p, q in pairs_of([(float(e), float(d)) for e, d in parts], neighbours):
        beyond = float(np.maximum(0.0, np.asarray(p) - math.exp(float(epsilon)) * np.asarray(q)).sum())
        assert beyond <= float(own) + (1 - float(own)) * float(tail) + 1e-12
        both = (np.asarray(p) > 0) & (np.asarray(q) > 0)
        clean = [np.asarray(side)[both] / np.asarray(side)[both].sum() for side in (p, q)]
        for order in (1.001, 2.0, 16.0):
            divergence = math.log(float((clean[0] ** order * clean[1] ** (1 - order)).sum())) / (order - 1)
            assert divergence <= order * float(rho) + 1e-9
    if neighbours is ADD:
        assert (epsilon, own) == (max(e for e, _ in parts), max(d for _, d in parts))
    else:
        assert epsilon == 2 * max(e for e, _ in parts), "who stays in the part with other values"


def test_parallel_gaussian_parts_cost_no_less_than_one_and_no_more_than_the_two_together() -> None:
    events = (NARROW, WIDE)
    apart = [cost_in(EITHER, event, ADD, TAIL) for event in events]
    both = cost_in(EITHER, Parallel(events), ADD, TAIL)
    assert both == Amount(*(max(numbers) for numbers in zip(*apart, strict=True)))
    moved = cost_in(EITHER, Parallel(events), SWAP, TAIL)
    assert 0 <= 4 * apart[0].loss - moved.loss < 4, "two steps apart: four times the rho, rounded up once"
    assert moved.tail == both.tail and moved.epsilon > both.epsilon


# ---------------------------------------------------------------- totals, limits and hostile values


units = st.one_of(st.just(0), st.integers(1, 10**25), st.just(UNKNOWN))
amounts = st.builds(Amount, units, st.integers(0, 10**34), units, st.integers(0, 10**34))


@example(Amount(delta=10**34), Amount(), SPLIT)  # own deltas beyond their share, as after a revocation: nothing fits
@given(amounts, amounts, st.sampled_from([SPLIT, FIRST_SPLIT, DeltaSplit(Fraction(1, 2), Fraction(0), Fraction(1, 2))]))
def test_as_many_fit_as_are_said_to(total: Amount, cost: Amount, split: DeltaSplit) -> None:
    limit = Limit(Budget(3, 1e-6), EITHER, split)
    count = limit.how_many(total, cost)
    scaled = lambda times: total + Amount(*(min(UNKNOWN, times * part) for part in cost))  # noqa: E731
    assert count == 0 or limit.fits(scaled(count))
    assert count >= UNKNOWN or not limit.fits(scaled(count + 1))
    left = limit.left(total)
    assert not limit.fits(total) or limit.fits(total + left)
    assert limit.fits(total) or (left == Amount(0, left.delta) and limit.left_words(total) == "nothing")


@given(amounts, amounts)
def test_nothing_that_is_not_known_ever_fits_again(total: Amount, cost: Amount) -> None:
    limit = Limit(Budget(10**40, Fraction(1, 2)), EITHER)
    after = total + cost + Amount(UNKNOWN, 0, UNKNOWN, 0)
    assert after.loss == after.epsilon == UNKNOWN and not limit.fits(after)
    assert (total - total) == Amount() and (total + cost) - total <= cost


@pytest.mark.parametrize("epsilon", [10**49, Fraction(10**400), 1e60])
@pytest.mark.parametrize("currency", [EITHER, Currency.PURE, Currency.BASIC])
def test_a_budget_so_large_that_unknown_costs_would_fit_is_refused(epsilon, currency: Currency) -> None:
    with pytest.raises(TooLarge):
        Limit(Budget(epsilon, 1e-6), currency)


@pytest.mark.parametrize("delta", [Fraction(1, 10**400), Fraction(1, 10**322), Fraction(1, 10**41)])
def test_deltas_below_all_doubles_are_no_errors(delta: Fraction) -> None:
    budget = EitherWayFilter(epsilon=1, delta=delta)
    budget.append(LAPLACE)
    with pytest.raises(BudgetExceeded):
        budget.append(NARROW)
    cost = cost_in(EITHER, NARROW, ADD, delta)
    assert cost.epsilon == UNKNOWN or cost.tail == 1, "a tail is charged a whole unit, or none is taken"


def test_costs_beyond_all_doubles_are_refused_in_our_words() -> None:
    hardly = GaussianNoise(sigma=Fraction(1, 10**200), sensitivity=Fraction(1), grid=Fraction(1, 10**300), dimension=1)
    for stated in (None, Fraction(1), Fraction(10**400)):
        with pytest.raises(TooLarge):
            cost_in(EITHER, hardly, ADD, TAIL, stated)


def test_a_stated_epsilon_is_not_checked_by_a_sum_of_gigabytes() -> None:
    hardly = GaussianNoise(sigma=Fraction(2), sensitivity=Fraction(10**12), grid=Fraction(1), dimension=1)
    assert cost_in(EITHER, hardly, ADD, TAIL, Fraction(1)).basic_parts()[0] > 10**22


def test_deltas_that_add_up_to_more_than_one_are_refused_and_shown() -> None:
    budget = EitherWayFilter(epsilon=3, delta=1e-6, neighbours="replace")
    with pytest.raises(BudgetExceeded):
        budget.append(keys(epsilon=Fraction(1), own=Fraction(9, 10)))
    for _ in range(3):
        budget.append(WIDE, tail=Fraction(1, 2))
    assert budget.spent.basic_parts()[1] == Fraction(3, 2)
    assert budget.spent.measure(EITHER).describe().endswith("delta = 1")


@pytest.mark.parametrize("neighbours", [ADD, SWAP])
@pytest.mark.parametrize(
    "event",
    [
        LAPLACE,
        NARROW,
        SAMPLED,
        keys(own=TAIL),
        Compose((LAPLACE, NARROW, keys(own=TAIL))),
        Repeat(Compose((NARROW, keys(own=TAIL))), 3),
        Parallel((LAPLACE, NARROW, keys(own=TAIL))),
        Parallel((Poisson(LAPLACE, Fraction(1, 10)), LAPLACE)),
        Compose((Parallel((keys(own=TAIL), WIDE)), LAPLACE)),
    ],
)
def test_what_was_charged_covers_the_event_and_nothing_less_does(event: Event, neighbours: Neighbours) -> None:
    limit = Limit(Budget(3, 1e-6), EITHER)
    charged = cost_both_ways(limit, event, neighbours, tail=TAIL, stated=None)
    check = lambda amount: covers(amount, event, currency=EITHER, neighbours=neighbours, delta=Fraction(0))  # noqa: E731
    assert check(charged)
    for number, name in zip(charged, charged._fields, strict=True):
        if 0 < number < UNKNOWN:
            assert not check(charged._replace(**{name: 0 if name == "tail" else number * 99 // 100})), name


def test_a_sample_of_leaky_steps_is_known_under_addition_and_removal_alone() -> None:
    sample = Poisson(keys(epsilon=Fraction(1), own=TAIL), Fraction(1, 10))
    cost = cost_in(EITHER, sample, ADD, Fraction(0))
    assert cost.parts()[1] == TAIL / 10
    assert float(cost.basic_parts()[0]) == pytest.approx(math.log1p(0.1 * math.expm1(1)), rel=1e-12)
    assert covers(cost, sample, currency=EITHER, neighbours=ADD, delta=Fraction(0))
    with pytest.raises(NoBound):
        cost_in(EITHER, sample, SWAP, Fraction(0))


def test_neighbouring_histories_are_told_the_same() -> None:
    """Refusals depend on totals alone, in whatever order steps came."""
    steps = [(LAPLACE, None), (WIDE, TAIL), (keys(own=TAIL), None), (SAMPLED, TAIL)]
    totals = set()
    for order in itertools.permutations(steps):
        budget = EitherWayFilter(epsilon=3, delta=1e-6)
        for event, tail in order:
            budget.append(event, tail=tail)
        totals.add(budget.spent)
    assert len(totals) == 1
    assert next(iter(totals)).tail == 2 * TAIL * DELTA_UNIT


@pytest.mark.parametrize(("epsilon", "pure"), [(0.3, 0.2), (1, 0.6), (2.5, 1.5)])
def test_one_gaussian_beside_pure_parts_costs_what_both_were_calibrated_for(epsilon: float, pure: float) -> None:
    """By its exact profile, which is below the formula for one coordinate; with a tenth less noise it costs more."""
    stated, part, tail = Fraction(str(epsilon)), Fraction(str(pure)), Fraction(1, 10**8)
    laplace = Geometric(sensitivity=1, epsilon=part).event
    noise = DiscreteGaussian(sensitivity=1, epsilon=stated - part, delta=tail, dimension=1).event
    both = Compose((laplace, noise))
    assert basic_cost(both, ADD, tail=tail, stated=stated) == BasicCost(stated, tail)
    less = Compose((laplace, replace(noise, sigma=noise.sigma * 9 / 10)))
    dearer = basic_cost(less, ADD, tail=tail, stated=stated)
    assert dearer is not None and dearer.epsilon > stated
    alone = basic_cost(both, ADD, tail=tail, stated=part)  # no room beside the pure part
    assert alone is not None and alone.epsilon > part
