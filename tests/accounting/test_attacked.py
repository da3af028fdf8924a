"""Faults that attacks on the accounting found: each stays found."""

from __future__ import annotations

import contextlib
import itertools
import resource
import warnings
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hubbub.accounting import delta, epsilon, noise_for, renyi
from hubbub.accounting.conversions import pure_divergence
from hubbub.accounting.filters import (
    AdvancedFilter,
    ConcentratedFilter,
    ConcentratedOdometer,
    PureFilter,
    PureOdometer,
    RenyiFilter,
)
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from hubbub.terms import (
    ApproximateStep,
    Compose,
    GaussianNoise,
    HubbubError,
    LaplaceNoise,
    MixedUnits,
    Neighbours,
    OutOfRange,
    Poisson,
    PureStep,
    Repeat,
    TooLarge,
    Unit,
)

TINY = Fraction(1, 10**8)


def sampled(sigma: object, rate: Fraction) -> Poisson:
    return Poisson(Gaussian(sensitivity=1, sigma=sigma).event, rate)


# ---------------------------------------------------------------- tiny steps are not free


@pytest.mark.parametrize("order", [1.1, 2, 17, 1024])
@pytest.mark.parametrize("cost", [1e-12, 1e-8, 1e-3, 0.3, 2, 40])
def test_the_divergence_of_a_pure_step_is_the_closed_form(order: float, cost: float) -> None:
    with mpmath.workdps(60):
        a, e = mpmath.mpf(order), mpmath.mpf(cost)
        exact = mpmath.log(mpmath.cosh((a - 0.5) * e) / mpmath.cosh(e / 2)) / (a - 1)
    assert exact <= pure_divergence(order, cost) <= exact * (1 + 1e-9)


@pytest.mark.parametrize("scale, steps", [(1e8, 1), (1e12, 3), (2.0**40, 2**10), (50, 7), (2.0**40, 2**40)])
def test_the_divergence_of_laplace_noise_never_falls_below_the_sum(scale: float, steps: int) -> None:
    event = LaplaceNoise(scale=Fraction(scale), sensitivity=Fraction(steps), grid=Fraction(1))
    curve = renyi.curve(event, Neighbours.ADD_REMOVE, (1.5, 2.0, 64.0))
    assert curve is not None
    with mpmath.workdps(60):
        for order, told in zip(curve.orders, curve.epsilons, strict=True):
            exact = _laplace_divergence(mpmath.mpf(order), mpmath.mpf(scale), steps)
            assert exact <= told <= exact * (1 + 1e-3) + 1e-10


def _laplace_divergence(order: mpmath.mpf, scale: mpmath.mpf, steps: int) -> mpmath.mpf:
    p = 1 / scale
    front = (1 - mpmath.exp(-p)) / (1 + mpmath.exp(-p))
    sides = (mpmath.exp((order - 1) * steps * p) + mpmath.exp(-order * steps * p)) / (1 - mpmath.exp(-p))
    ratio = mpmath.exp(-(2 * order - 1) * p)  # between neighbouring outputs
    inside = mpmath.exp((order - 1) * steps * p) * ratio * (1 - ratio ** (steps - 1)) / (1 - ratio)
    return mpmath.log(front * (sides + inside)) / (order - 1)


@pytest.mark.parametrize(
    "event",
    [
        PureStep(mechanism="x", epsilon=TINY),
        Laplace(sensitivity=1, epsilon=TINY).event,
        Geometric(sensitivity=1, epsilon=TINY).event,
        sampled(1, Fraction(1, 10**9)),
    ],
    ids=["pure", "laplace", "geometric", "sampled"],
)
def test_very_many_tiny_steps_cost_something(event) -> None:
    assert epsilon(Repeat(event, 10**18), delta=1e-6) > 90


# ---------------------------------------------------------------- lower bounds are lower bounds


@pytest.mark.parametrize(
    "event, truth",
    [
        (LaplaceNoise(scale=Fraction(2), sensitivity=Fraction(3, 2), grid=Fraction(1)), 0.5),
        (LaplaceNoise(scale=Fraction(2), sensitivity=Fraction(1, 2), grid=Fraction(1)), 0.0),
        (GaussianNoise(sigma=Fraction(2), sensitivity=Fraction(1, 2), grid=Fraction(1)), 0.0),
    ],
)
def test_data_on_a_coarse_grid_move_by_whole_steps(event, truth: float) -> None:
    assert epsilon(event, delta=1e-5).lower <= truth
    if isinstance(event, LaplaceNoise):
        assert epsilon(event, delta=0).lower <= truth


@pytest.mark.parametrize("sigma", ["0.8", "1", "1.8", "7", "82.6"])
@pytest.mark.parametrize("steps", [1, 3])
def test_lower_bounds_of_discrete_gaussians_lie_below_their_own_sum(sigma: str, steps: int) -> None:
    event = DiscreteGaussian(sensitivity=steps, sigma=Fraction(sigma), dimension=1).event
    bound = epsilon(event, delta=1e-5)  # the discrete profile, summed: exact
    assert 0.97 * bound - 0.01 <= bound.lower <= bound


def exact_epsilon(sigma: Fraction, apart: int, delta: float) -> float:
    """Of one discrete Gaussian answer whose data lie so many steps apart, in 50 digits."""
    with mpmath.workdps(50):
        width = mpmath.mpf(sigma.numerator) / sigma.denominator
        mass = {x: mpmath.exp(-((x / width) ** 2) / 2) for x in range(-40 - apart, 41 + apart)}
        total = mpmath.fsum(mass.values())
        low, high = mpmath.mpf(0), mpmath.mpf(5000)
        for _ in range(60):
            middle = (low + high) / 2
            factor = mpmath.exp(middle)
            spent = mpmath.fsum(max(0, mass[x] - factor * mass[x - apart]) for x in range(-40, 41)) / total
            low, high = (low, middle) if spent <= delta else (middle, high)
        return float(high)


@pytest.mark.parametrize(
    ("sigma", "sensitivity", "relation"), [("33/100", 3, "replace"), ("33/100", 3, "add-remove"), ("1/4", 1, "replace")]
)
def test_lower_bounds_lie_below_the_truth_where_tails_are_cut(sigma: str, sensitivity: int, relation: str) -> None:
    """A tail that dp-accounting cuts off is no infinite loss."""
    noise = GaussianNoise(sigma=Fraction(sigma), sensitivity=sensitivity, grid=1)
    bound = epsilon(noise, delta=1e-9, neighbours=relation)
    truth = exact_epsilon(Fraction(sigma), sensitivity * (2 if relation == "replace" else 1), 1e-9)
    assert 0.1 * truth <= bound.lower <= truth <= bound


# ---------------------------------------------------------------- numbers beyond all doubles


def test_no_event_makes_accounting_fail_with_words_of_python() -> None:
    huge, deep = 10**299, PureStep(mechanism="m", epsilon=1)
    events = [
        Repeat(PureStep(mechanism="m", epsilon=huge), huge),
        ApproximateStep(mechanism="m", epsilon=1000, delta=Fraction(1, 10**6)),
        Poisson(PureStep(mechanism="m", epsilon=1000), Fraction(1, 10**9)),
        Poisson(Gaussian(sensitivity=1, sigma=1).event, Fraction(1, huge)),
        GaussianNoise(sigma=huge, sensitivity=1, grid=1),
        GaussianNoise(sigma=Fraction(1, huge), sensitivity=huge, grid=1),
        LaplaceNoise(scale=Fraction(1, huge), sensitivity=huge, grid=1),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for event, relation in itertools.product(events, Neighbours):
            with contextlib.suppress(HubbubError):
                epsilon(event, delta=1e-6, neighbours=relation)
            with contextlib.suppress(HubbubError):
                delta(event, epsilon=1, neighbours=relation)
    for value in (10**400, Fraction(1, 10**400)):
        with pytest.raises(OutOfRange):
            PureStep(mechanism="m", epsilon=value)
        with pytest.raises(OutOfRange):
            Poisson(deep, value)  # type: ignore[arg-type]
    with pytest.raises(TooLarge, match="deep"):
        for _ in range(2000):
            deep = Repeat(deep, 1)  # type: ignore[assignment]


def test_lower_bounds_in_several_coordinates() -> None:
    one = DiscreteGaussian(sensitivity=Fraction(3, 2), sigma=20, dimension=1).event
    many = DiscreteGaussian(sensitivity=Fraction(3, 2), sigma=20, dimension=9).event
    assert epsilon(many, delta=1e-5).lower > epsilon(one, delta=1e-5).lower  # two coordinates, a step each
    assert epsilon(many, delta=1e-5).lower <= epsilon(many, delta=1e-5)


# ---------------------------------------------------------------- what the discrete Gaussian's proof needs


def test_the_slack_of_coarse_noise_is_paid_in_renyi_divergences() -> None:
    wide = GaussianNoise(sigma=Fraction(100), sensitivity=Fraction(2000), grid=Fraction(1), dimension=10**6)
    narrow = GaussianNoise(sigma=Fraction(100), sensitivity=Fraction(2000), grid=Fraction(1), dimension=1)
    orders = np.array([2.0, 8.0])
    apart = renyi.divergences(Poisson(wide, Fraction(1, 10)), Neighbours.ADD_REMOVE, orders) - renyi.divergences(
        Poisson(narrow, Fraction(1, 10)), Neighbours.ADD_REMOVE, orders
    )  # type: ignore[operator]
    assert (apart >= 10**6 * 1e-12 * 0.99).all()


def test_classes_of_many_events_keep_their_slack() -> None:
    from hubbub.accounting.event_classes import simplify_event
    from hubbub.accounting.gaussian_tradeoff import mu_of

    events = [
        Poisson(GaussianNoise(sigma=s, sensitivity=Fraction(50), grid=Fraction(1), dimension=10**4), Fraction(1, 10))
        for s in (Fraction(100 + i, 1 if i % 2 else 1000) * 100 for i in range(600))
    ]
    simple = simplify_event(Compose(tuple(events)))
    kept = [step for part in simple.events for step in part.steps()]  # type: ignore[attr-defined]
    least = min(mu_of(e.event)[1] for e in events)  # type: ignore[index,arg-type]
    assert all(mu_of(step)[1] >= least for step in kept)  # type: ignore[index,arg-type]


# ---------------------------------------------------------------- units


ROWS = Laplace(sensitivity=1, epsilon=0.1).event
PEOPLE = Laplace(sensitivity=1, epsilon=0.1, unit=Unit("people.id")).event
FILTERS = [
    lambda: PureFilter(epsilon=1),
    PureOdometer,
    lambda: ConcentratedFilter(epsilon=1, delta=1e-6),
    lambda: AdvancedFilter(epsilon=1, delta=1e-6),
    lambda: RenyiFilter(order=8, epsilon=5, delta=1e-6),
    lambda: ConcentratedOdometer(delta=1e-6),
]


@pytest.mark.parametrize("events", [[ROWS, PEOPLE], Compose((ROWS, Repeat(PEOPLE, 3)))])
def test_costs_for_different_units_do_not_add_up(events) -> None:
    with pytest.raises(MixedUnits):
        epsilon(events, delta=1e-6)


@pytest.mark.parametrize("make", FILTERS)
def test_a_filter_counts_for_one_unit(make) -> None:
    account = make()
    account.append(ROWS)
    before = account.spent
    with pytest.raises(MixedUnits):
        account.append(PEOPLE)
    assert account.spent == before
    account.append(ROWS)


# ---------------------------------------------------------------- work has a ceiling


@pytest.mark.parametrize("times", [10**6, 10**7, 10**9, 10**12])
def test_no_number_of_steps_takes_gigabytes(times: int) -> None:
    event = Geometric(sensitivity=1, epsilon=Fraction(1, 1000)).event
    bound = epsilon(Repeat(event, times), delta=1e-6)
    assert times * 1e-6 / 2 < bound < 1.01 * (times * 1e-6 / 2 + np.sqrt(2 * times * 1e-6 * 13.9))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss < 4e6  # kilobytes


def test_noise_for_private_training_is_found_near_its_place() -> None:
    run = lambda sigma: Repeat(sampled(sigma, Fraction(256, 60_000)), 1400)  # noqa: E731
    found = noise_for(run, epsilon_target=1, delta=1e-5)
    assert epsilon(run(found), delta=1e-5) <= 1
    assert epsilon(run(found * Fraction(998, 1000)), delta=1e-5) > 1


# ---------------------------------------------------------------- deltas that fail together


def test_two_approximate_steps_fail_together_less_often_than_their_sum() -> None:
    steps = [ApproximateStep(mechanism="x", epsilon=e, delta=Fraction(e, 10)) for e in (1, 2)]
    assert epsilon(steps, delta=0.28) == pytest.approx(3)
    with pytest.raises(Exception, match="no finite bound"):
        epsilon(steps, delta=0.2799)
