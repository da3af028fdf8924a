"""Bounds against closed forms, brute force and an independent library, from both sides."""

from __future__ import annotations

import functools
import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub import accounting
from hubbub.accounting import (
    Compose,
    Parallel,
    Poisson,
    Repeat,
    WithoutReplacement,
    costs,
    delta,
    epsilon,
    event_classes,
    privacy_profiles,
)
from hubbub.accounting.gaussian_tradeoff import delta_of, epsilon_of
from hubbub.mechanisms import DiscreteGaussian, Gaussian, Geometric, Laplace
from hubbub.terms import (
    ApproximateStep,
    ConcentratedStep,
    ExponentialChoice,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    NoBound,
    OutOfRange,
    PureStep,
    WrongNeighbours,
    WrongShape,
)

GAUSS20 = Gaussian(sensitivity=1, sigma=20).event
LAPLACE = Laplace(sensitivity=1, epsilon=0.05).event


def test_a_thousand_gaussians_cost_their_exact_value() -> None:
    bound = epsilon(Repeat(GAUSS20, 1000), delta=1e-5)
    assert bound == pytest.approx(7.51128, abs=5e-5)
    assert bound.method == "gaussian"
    assert bound * (1 - 1e-5) <= bound.lower <= bound


def test_a_thousand_integer_gaussians_cost_the_same() -> None:
    bound = epsilon(Repeat(DiscreteGaussian(sensitivity=1, sigma=20).event, 1000), delta=1e-5)
    assert bound == pytest.approx(7.51128, abs=2e-3)


def test_dp_sgd_costs_what_loss_distributions_say() -> None:
    run = Repeat(Poisson(Gaussian(sensitivity=1, sigma=1.1).event, 0.01), 10_000)
    bound = epsilon(run, delta=1e-5)
    assert bound == pytest.approx(5.193, abs=2e-3)
    assert bound.bounds["renyi"] == pytest.approx(5.632, abs=2e-3)
    assert bound.method == "loss distribution"


def test_five_hundred_laplace_answers() -> None:
    bound = epsilon(Repeat(LAPLACE, 500), delta=1e-5)
    assert bound == pytest.approx(4.918, abs=2e-3)
    assert bound.bounds["pure"] == pytest.approx(25)
    assert bound.bounds["advanced"] == pytest.approx(6.647, abs=1e-3)
    assert bound.bounds["renyi"] == pytest.approx(5.301, abs=2e-3)


def test_the_least_bound_wins_and_is_named() -> None:
    tiny = epsilon(Repeat(Laplace(sensitivity=1, epsilon=0.1).event, 3), delta=1e-30)
    assert (tiny.method, float(tiny)) == ("pure", pytest.approx(0.3))
    assert epsilon(LAPLACE, delta=0) == 0.05
    assert "by pure" in repr(tiny)


# ---------------------------------------------------------------- single profiles against independent values


@pytest.mark.parametrize("mu", [0.1, 1.0, 3.0])
@pytest.mark.parametrize("at", [0.0, 0.5, 2.0])
def test_the_gaussian_profile_is_its_integral(mu: float, at: float) -> None:
    threshold = mu / 2 + at / mu
    with mpmath.workdps(40):
        true = mpmath.quad(
            lambda x: mpmath.npdf(x, mu, 1) - mpmath.exp(at) * mpmath.npdf(x, 0, 1),
            [threshold + 20 * (i / 30) ** 2 for i in range(31)],
        )
    assert delta_of(at, mu) == pytest.approx(float(true), rel=1e-8, abs=0)
    assert delta_of(at, mu) >= float(true)


@given(st.floats(0.05, 5), st.floats(1e-9, 0.1))
def test_epsilon_and_delta_of_a_gaussian_are_inverse(mu: float, small: float) -> None:
    found = epsilon_of(small, mu)
    assert delta_of(found, mu) <= small
    assert found < 1e-6 or delta_of(found * (1 - 1e-6), mu) > small


def brute_profile(p: dict, q: dict, at: float) -> float:
    return sum(max(0.0, p[x] - math.exp(at) * q.get(x, 0.0)) for x in p)


def laplace_pair(scale: float, shift: int, reach: int = 400) -> tuple[dict, dict]:
    r = math.exp(-1 / scale)
    mass = lambda x: (1 - r) / (1 + r) * r ** abs(x)  # noqa: E731
    return {x: mass(x) for x in range(-reach, reach)}, {x: mass(x - shift) for x in range(-reach, reach)}


@pytest.mark.parametrize("shift", [1, 2, 5])
@pytest.mark.parametrize("scale", [0.7, 3.0, 10.0])
def test_the_discrete_laplace_profile_is_the_sum_over_all_outputs(scale: float, shift: int) -> None:
    p, q = laplace_pair(scale, shift)
    at = np.linspace(-1.2, 1.2, 49) * shift / scale
    ours = privacy_profiles.laplace_profile(Fraction(scale).limit_denominator(10), shift).remove(at)
    for e, d in zip(at, ours, strict=True):
        assert d == pytest.approx(brute_profile(p, q, e), abs=1e-9)


@pytest.mark.parametrize("split", [(1, 1), (2, 1), (1, 1, 1), (3, 2)])
def test_splitting_the_sensitivity_over_coordinates_never_costs_more(split: tuple[int, ...]) -> None:
    """docs/proofs/laplace-vector.md, by brute force over the joint outputs."""
    scale = 4.0
    pairs = [laplace_pair(scale, shift, reach=60 if len(split) < 3 else 40) for shift in split]
    p, q = (_joint([[pair[side][x] for x in pair[0]] for pair in pairs]) for side in (0, 1))
    at = np.linspace(0, sum(split) / scale, 9)
    dominating = privacy_profiles.laplace_profile(Fraction(4), sum(split)).remove(at)
    for e, d in zip(at, dominating, strict=True):
        assert np.maximum(p - math.exp(e) * q, 0).sum() <= d + 1e-5  # the cut-off tails


def _joint(masses: list[list[float]]) -> np.ndarray:
    """The masses of independent coordinates together."""
    return functools.reduce(np.multiply.outer, map(np.array, masses))


def gaussian_pair(sigma: float, shift: int) -> tuple[dict, dict]:
    reach = int(40 * sigma)
    w = {x: math.exp(-x * x / (2 * sigma * sigma)) for x in range(-reach, reach)}
    total = sum(w.values())
    return {x: v / total for x, v in w.items()}, {x + shift: v / total for x, v in w.items()}


@pytest.mark.parametrize("sigma, shift", [(1.0, 1), (3.0, 1), (5.0, 3)])
def test_the_discrete_gaussian_profile_is_the_sum_over_all_outputs(sigma: float, shift: int) -> None:
    p, q = gaussian_pair(sigma, shift)
    at = np.linspace(-2, 2, 21)
    for e, d in zip(at, privacy_profiles.discrete_gaussian(sigma, shift).remove(at), strict=True):
        assert d == pytest.approx(brute_profile(p, q, e), abs=1e-12)


@pytest.mark.parametrize("sigma", [2, 3, 6])
def test_a_continuous_gaussian_dominates_the_discrete_one_in_several_coordinates(sigma: int) -> None:
    """docs/proofs/discrete-gaussian.md, by brute force for the shift (1, 1)."""
    p1, q1 = gaussian_pair(sigma, 1)
    keys = range(-8 * sigma, 8 * sigma + 1)
    p = {(x, y): p1[x] * p1[y] for x in keys for y in keys}
    q = {(x, y): q1.get(x, 0.0) * q1.get(y, 0.0) for x in keys for y in keys}
    event = GaussianNoise(
        sigma=Fraction(sigma), sensitivity=accounting.gaussian_tradeoff.root_of(2), grid=Fraction(1), dimension=2
    )
    mu, slack = accounting.gaussian_tradeoff.mu_of(event)
    for e in (0.0, 0.2, 0.5, 1.0):
        assert brute_profile(p, q, e) <= delta_of(e - slack, mu) * (1 + slack) + 1e-13
        assert brute_profile(p, q, e) >= delta_of(e, mu) * 0.3, "the domination is loose"


@pytest.mark.parametrize("e", [0.1, 1.0, 4.0])
def test_the_bounded_range_profile_is_the_worst_pair(e: float) -> None:
    at = np.linspace(-e, e, 41)
    worst = np.zeros_like(at)
    for t in np.linspace(0, e, 2001):
        p = -math.expm1(t - e) / -math.expm1(-e)
        worst = np.maximum(worst, p * np.maximum(0, -np.expm1(at - t)) + (1 - p) * np.maximum(0, -np.expm1(at - t + e)))
    ours = privacy_profiles.bounded_range(e).remove(at)
    assert np.all(ours >= worst - 1e-12)
    assert np.allclose(ours, worst, atol=1e-6)


@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
@pytest.mark.parametrize("sigma", [0.8, 3.0])
def test_poisson_sampling_mixes_the_pair(rate: float, sigma: float) -> None:
    p, q = gaussian_pair(sigma, 1)
    mixed = {x: (1 - rate) * q.get(x, 0.0) + rate * p.get(x, 0.0) for x in {*p, *q}}
    at = np.linspace(-0.9, 0.9, 19)
    ours = privacy_profiles.poisson_profile(privacy_profiles.discrete_gaussian(sigma, 1), rate)
    for e, removed, added in zip(at, ours.remove(at), ours.add(at), strict=True):
        assert removed == pytest.approx(brute_profile(mixed, q, e), abs=1e-12)
        assert added == pytest.approx(brute_profile(q, mixed, e), abs=1e-12)


# ---------------------------------------------------------------- composition against dp-accounting


CASES = {
    "gaussian": (GAUSS20, lambda dp: dp.from_gaussian_mechanism(20)),
    "laplace": (LAPLACE, lambda dp: dp.from_laplace_mechanism(20)),
    "sampled gaussian": (
        Poisson(Gaussian(sensitivity=1, sigma=2).event, 0.1),
        lambda dp: dp.from_gaussian_mechanism(2, sampling_prob=0.1),
    ),
    "sampled laplace": (
        Poisson(Laplace(sensitivity=1, epsilon=0.5).event, 0.1),
        lambda dp: dp.from_laplace_mechanism(2, sampling_prob=0.1),
    ),
    "geometric": (
        Geometric(sensitivity=1, epsilon=0.5).event,
        lambda dp: dp.from_discrete_laplace_mechanism(0.5, 1),
    ),
}


@pytest.mark.parametrize("times", [1, 30])
@pytest.mark.parametrize("name", CASES)
def test_compositions_agree_with_dp_accounting(name: str, times: int) -> None:
    from dp_accounting.pld import privacy_loss_distribution as dp

    event, theirs = CASES[name]
    expected = theirs(dp).self_compose(times).get_epsilon_for_delta(1e-6)
    assert epsilon(Repeat(event, times), delta=1e-6) == pytest.approx(expected, rel=2e-3, abs=2e-4)


def test_replacing_a_unit_in_a_sampled_gaussian_agrees_with_dp_accounting() -> None:
    from dp_accounting import NeighboringRelation
    from dp_accounting.pld import privacy_loss_distribution as dp

    relation = NeighboringRelation.REPLACE_ONE
    theirs = dp.from_gaussian_mechanism(2, sampling_prob=0.1, neighboring_relation=relation)
    ours = epsilon(Repeat(Poisson(Gaussian(sensitivity=1, sigma=2).event, 0.1), 20), delta=1e-6, neighbours="replace")
    assert ours == pytest.approx(theirs.self_compose(20).get_epsilon_for_delta(1e-6), rel=1e-3)


def test_brute_force_composition_of_integer_noise_is_bracketed() -> None:
    """Every output of five geometric answers, enumerated through their exact losses."""
    p, q = laplace_pair(2.0, 1)
    losses: dict[int, float] = {}
    for x, mass in p.items():
        step = round((math.log(mass) - math.log(q[x])) * 2)
        losses[step] = losses.get(step, 0.0) + mass
    total = {0: 1.0}
    for _ in range(5):
        total = _convolve(total, losses)
    exact_delta = sum(m * max(0.0, -math.expm1(1.0 - s / 2)) for s, m in total.items())
    ours = delta(Repeat(Geometric(sensitivity=1, scale=2).event, 5), epsilon=1)
    assert exact_delta <= ours <= exact_delta * 1.01


def _convolve(one: dict[int, float], other: dict[int, float]) -> dict[int, float]:
    out: dict[int, float] = {}
    for (a, pa), (b, pb) in itertools.product(one.items(), other.items()):
        out[a + b] = out.get(a + b, 0.0) + pa * pb
    return out


def test_many_different_events_are_reported_within_one_percent() -> None:
    from dp_accounting.pld import privacy_loss_distribution as dp

    levels = [Fraction(i, 100_000) for i in range(100, 1000, 2)]
    theirs = None
    for level in levels:
        one = dp.from_laplace_mechanism(1 / float(level))
        theirs = one if theirs is None else theirs.compose(one)
    assert theirs is not None
    full = theirs.get_epsilon_for_delta(1e-5)
    ours = epsilon([Laplace(sensitivity=1, epsilon=level).event for level in levels], delta=1e-5)
    assert full * (1 - 1e-3) <= ours.bounds["loss distribution"] <= full * 1.01


@settings(max_examples=60)
@given(
    st.one_of(
        st.builds(lambda e: Laplace(sensitivity=1, epsilon=e).event, st.fractions(Fraction(1, 500), 3)),
        st.builds(lambda t: Geometric(sensitivity=2, scale=t).event, st.fractions(Fraction(1, 2), 50)),
        st.builds(lambda e: PureStep(mechanism="x", epsilon=e), st.fractions(Fraction(1, 500), 3)),
        st.builds(lambda e: ExponentialChoice(epsilon=e), st.fractions(Fraction(1, 500), 3)),
        st.builds(
            lambda e: ApproximateStep(mechanism="x", epsilon=e, delta=e / 10**6), st.fractions(Fraction(1, 500), 3)
        ),
        st.builds(
            lambda s, q: Poisson(Gaussian(sensitivity=1, sigma=s).event, q),
            st.fractions(Fraction(1, 2), 20),
            st.fractions(Fraction(1, 100), 1),
        ),
    )
)
def test_a_class_dominates_its_members_by_little(event) -> None:
    """Long reports round events up to classes: never down, and never by more than two classes' worth."""
    member, above = (
        costs.dominating_profile(e, Neighbours.ADD_REMOVE) for e in (event, event_classes._class_of(event))
    )
    at = np.linspace(-1.5, 1.5, 61) * member.reach
    for direction in ("remove", "add"):
        low, high = getattr(member, direction)(at), getattr(above, direction)(at)
        assert np.all(high >= low * (1 - 1e-9) - 1e-12)
        assert np.all(high <= np.maximum(low * 1.05, low + 0.05 * (1 - low)) + 0.02)


# ---------------------------------------------------------------- laws


simple_events = st.one_of(
    st.builds(lambda e: PureStep(mechanism="x", epsilon=e), st.fractions(Fraction(1, 100), 2)),
    st.builds(lambda e: ExponentialChoice(epsilon=e), st.fractions(Fraction(1, 100), 2)),
    st.builds(lambda s: Gaussian(sensitivity=1, sigma=s).event, st.fractions(1, 50)),
    st.builds(lambda e: Laplace(sensitivity=1, epsilon=e).event, st.fractions(Fraction(1, 100), 2)),
)


@settings(max_examples=40)
@given(st.lists(simple_events, min_size=1, max_size=3), simple_events)
def test_cost_never_falls_under_composition(events: list, more) -> None:
    before, after = epsilon(events, delta=1e-6), epsilon([*events, more], delta=1e-6)
    assert after >= before * (1 - 1e-6)


@settings(max_examples=40)
@given(st.lists(simple_events, min_size=1, max_size=3))
def test_replacing_costs_at_least_as_much_as_adding(events: list) -> None:
    assert epsilon(events, delta=1e-6, neighbours="replace") >= epsilon(events, delta=1e-6) * (1 - 1e-6)


@settings(max_examples=30)
@given(st.lists(simple_events, min_size=1, max_size=3), st.floats(0.1, 3))
def test_epsilon_and_delta_agree(events: list, at: float) -> None:
    d = float(delta(events, epsilon=at))
    if 1e-9 < d < 0.5:
        assert epsilon(events, delta=d * 1.001) <= at * 1.01 + 1e-3


@settings(max_examples=20)
@given(simple_events, st.integers(1, 20))
def test_repeating_is_composing(event, times: int) -> None:
    repeated, written_out = epsilon(Repeat(event, times), delta=1e-5), epsilon(Compose((event,) * times), delta=1e-5)
    assert repeated == pytest.approx(written_out, rel=1e-9)


def test_parallel_costs_the_largest_part_and_twice_that_under_replacement() -> None:
    """The inexact statement of the slide: the maximum holds for adding or removing, not for replacing."""
    half, quarter = (Laplace(sensitivity=1, epsilon=e).event for e in (0.5, 0.25))
    assert epsilon(Parallel((half, quarter)), delta=0) == 0.5
    assert epsilon(Parallel((half, half)), delta=0, neighbours="replace") == 1.0
    assert epsilon(Parallel((half, quarter)), delta=0, neighbours="replace") == 1.0  # a change inside the first part
    moved = Parallel((PureStep(mechanism="x", epsilon=Fraction(1)), PureStep(mechanism="x", epsilon=Fraction(1))))
    assert epsilon(moved, delta=0, neighbours="replace") == 2.0


def test_parallel_gaussians_take_the_largest_in_every_currency() -> None:
    parts = (Gaussian(sensitivity=1, sigma=5).event, Gaussian(sensitivity=1, sigma=10).event)
    assert epsilon(Parallel(parts), delta=1e-6) <= epsilon(parts[0], delta=1e-6) * 1.001
    both = epsilon(Parallel(parts), delta=1e-6, neighbours="replace")
    assert both >= epsilon(Compose(parts), delta=1e-6)


def test_sampling_everything_changes_nothing_and_sampling_less_costs_less() -> None:
    event = Gaussian(sensitivity=1, sigma=2).event
    whole = epsilon(event, delta=1e-6)
    assert epsilon(Poisson(event, 1), delta=1e-6) == pytest.approx(float(whole), rel=1e-3)
    assert epsilon(Poisson(event, 0.1), delta=1e-6) < epsilon(Poisson(event, 0.5), delta=1e-6) < whole


def test_fixed_size_samples_are_accounted_under_replacement_only() -> None:
    event = Gaussian(sensitivity=1, sigma=20, neighbours="replace").event
    full = Repeat(WithoutReplacement(event, 100, 100), 100)
    assert epsilon(full, delta=1e-5, neighbours="replace") == pytest.approx(
        float(epsilon(Repeat(event, 100), delta=1e-5, neighbours="replace")), rel=2e-3
    )
    small = Repeat(WithoutReplacement(event, 1, 100), 100)
    assert epsilon(small, delta=1e-5, neighbours="replace") < 0.2
    added = WithoutReplacement(Gaussian(sensitivity=1, sigma=20).event, 1, 100)
    with pytest.raises(NoBound):
        epsilon(added, delta=1e-5)


def test_a_replace_guarantee_says_nothing_about_adding() -> None:
    with pytest.raises(WrongNeighbours):
        epsilon(Laplace(sensitivity=1, epsilon=1, neighbours="replace").event, delta=0)


def test_an_approximate_step_costs_its_own_epsilon_and_delta() -> None:
    step = ApproximateStep(mechanism="keys", epsilon=Fraction(1), delta=Fraction(1, 10**6))
    assert epsilon(step, delta=2e-6) <= 1.0000001
    with pytest.raises(NoBound):
        epsilon(step, delta=0)
    both = epsilon(Repeat(step, 2), delta=3e-6, neighbours="add-remove")
    assert both <= 2.0000001
    pair = epsilon(step, delta=1e-5, neighbours="replace")
    assert pair == pytest.approx(2, rel=1e-3)


def test_a_concentrated_step_adds_its_rho_and_delta() -> None:
    step = ConcentratedStep(mechanism="x", rho=Fraction(1, 8), delta=Fraction(1, 10**7))
    assert epsilon(Repeat(step, 10), delta=1e-5).method == "zcdp"
    with pytest.raises(NoBound):
        epsilon(Repeat(step, 10), delta=1e-6)


def test_permute_and_flip_pays_nearly_four_times_what_the_exponential_mechanism_pays() -> None:
    chosen = costs.concentrated(ExponentialChoice(epsilon=Fraction(1)), Neighbours.ADD_REMOVE)
    flipped = costs.concentrated(PureStep(mechanism="permute-and-flip", epsilon=Fraction(1)), Neighbours.ADD_REMOVE)
    assert chosen[0] == Fraction(1, 8)
    assert float(flipped[0]) == pytest.approx(math.tanh(0.5), rel=1e-12)


@pytest.mark.parametrize("bad", [-1e-6, 1, 1.5, float("nan"), float("inf")])
def test_a_bad_delta_is_refused(bad: float) -> None:
    with pytest.raises(OutOfRange):
        epsilon(LAPLACE, delta=bad)


def test_deltas_below_the_noise_of_the_arithmetic_fall_back_to_other_bounds() -> None:
    bound = epsilon(Repeat(Poisson(Gaussian(sensitivity=1, sigma=2).event, 0.01), 100), delta=1e-14)
    assert bound.method == "renyi"
    assert math.isinf(bound.bounds["loss distribution"])


def test_coarse_integer_noise_costs_more_than_smooth_noise_of_the_same_epsilon() -> None:
    """Rounding a profile to few losses is a chord above it: the discrete law is accounted as what it is."""
    coarse = epsilon(Repeat(LaplaceNoise(scale=Fraction(4), sensitivity=Fraction(1), grid=Fraction(1)), 20), delta=1e-6)
    smooth = epsilon(Repeat(Laplace(sensitivity=1, epsilon=0.25).event, 20), delta=1e-6)
    assert coarse > smooth * 1.02


@pytest.mark.parametrize(
    "event, close",
    [
        (Repeat(GAUSS20, 1000), 1e-5),
        (Repeat(LAPLACE, 500), 0.02),
        (Repeat(Poisson(Gaussian(sensitivity=1, sigma=1.1).event, 0.01), 1000), 0.15),
        (Compose((GAUSS20, Repeat(LAPLACE, 20))), 0.02),
    ],
    ids=["gaussian", "laplace", "sampled", "mixed"],
)
def test_upper_and_lower_bounds_bracket_the_truth_closely(event, close: float) -> None:
    bound = epsilon(event, delta=1e-5)
    assert bound * (1 - close) <= bound.lower <= bound


def test_lower_bounds_know_only_what_they_know() -> None:
    unknown = PureStep(mechanism="x", epsilon=Fraction(1))
    assert epsilon(unknown, delta=1e-5).lower == 0
    assert epsilon(Compose((unknown, LAPLACE)), delta=0).lower == pytest.approx(0.05, rel=1e-5)
    assert epsilon(LAPLACE, delta=0, neighbours="replace").lower == pytest.approx(0.1, rel=1e-5)


@pytest.mark.parametrize("own", ["0.1", "0.001", "0.00001", "0.000001", "0.000000001"])
def test_a_step_holds_at_exactly_its_own_delta(own: str) -> None:
    step = ApproximateStep(mechanism="keys", epsilon=Fraction(1), delta=Fraction(own))
    assert epsilon(step, delta=float(own)) <= 1 + 1e-12
    assert epsilon(Repeat(step, 2), delta=2 * Fraction(own)) <= 2 + 1e-12


@pytest.mark.parametrize("bad", ["x", 5, [], [1], None])
def test_what_is_no_event_is_refused(bad: object) -> None:
    with pytest.raises(WrongShape):
        epsilon(bad, delta=1e-5)


@pytest.mark.parametrize("sigma", [0.005, 0.05])
def test_hardly_any_noise_is_accounted_without_a_murmur(sigma: float) -> None:
    sampled = Repeat(Poisson(Gaussian(sensitivity=1, sigma=sigma).event, 0.5), 3)
    assert epsilon(sampled, delta=1e-5) > 100
    assert epsilon(Laplace(sensitivity=1, epsilon=800).event, delta=1e-5) > 700
