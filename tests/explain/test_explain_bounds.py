"""The bounds against closed forms, reference values, and every test on random mechanisms."""

from __future__ import annotations

import itertools
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.explain import attacker_bounds

BELIEF_AT_EVEN_ODDS = {0.1: 0.525, 0.5: 0.622, 1: 0.731, 2: 0.881, 3: 0.953, 5: 0.993}
FOUND_AT_ONE_PERCENT = {0.1: 0.011, 0.5: 0.016, 1: 0.027, 2: 0.074, 3: 0.201, 5: 0.993}

epsilons = st.floats(0.001, 20)
deltas = st.floats(0, 0.5)
rates = st.floats(0, 1)
weights = st.lists(st.integers(0, 50), min_size=5, max_size=5).filter(any)


def spread(raw: list[int]) -> list[float]:
    return [weight / sum(raw) for weight in raw]


def smallest_delta(p: list[float], q: list[float], epsilon: float) -> float:
    """The delta for which the pair (p, q) is exactly (epsilon, delta)-DP, in both directions."""

    def one_way(a: list[float], b: list[float]) -> float:
        return sum(max(0.0, x - math.exp(epsilon) * y) for x, y in zip(a, b, strict=True))

    return max(one_way(p, q), one_way(q, p))


@pytest.mark.parametrize(("epsilon", "expected"), BELIEF_AT_EVEN_ODDS.items())
def test_even_odds_become_the_reference_belief(epsilon: float, expected: float) -> None:
    assert round(attacker_bounds.belief(0.5, epsilon=epsilon), 3) == expected


@pytest.mark.parametrize(("epsilon", "expected"), FOUND_AT_ONE_PERCENT.items())
def test_the_best_test_at_one_percent_finds_the_reference_share(epsilon: float, expected: float) -> None:
    assert round(attacker_bounds.true_positives(0.01, epsilon=epsilon), 3) == expected


@given(st.floats(1e-6, 1 - 1e-6), epsilons)
def test_a_pure_belief_is_bayes_rule_at_the_extreme_ratio(prior: float, epsilon: float) -> None:
    grown = prior * math.exp(epsilon)
    assert attacker_bounds.belief(prior, epsilon=epsilon) == pytest.approx(grown / (grown + 1 - prior), rel=1e-12)


@given(rates, epsilons, deltas)
def test_the_roc_is_the_lower_of_its_two_lines(wrong: float, epsilon: float, delta: float) -> None:
    steep = math.exp(epsilon) * wrong + delta
    flat = 1 - math.exp(-epsilon) * (1 - delta - wrong)
    expected = max(0.0, min(1.0, steep, flat))
    assert attacker_bounds.true_positives(wrong, epsilon=epsilon, delta=delta) == pytest.approx(expected, abs=1e-12)


@given(weights, weights, st.floats(0.05, 3))
def test_no_test_on_any_mechanism_beats_the_roc(p_raw: list[int], q_raw: list[int], epsilon: float) -> None:
    p, q = spread(p_raw), spread(q_raw)
    delta = smallest_delta(p, q, epsilon)
    for accused in itertools.product((0, 1), repeat=len(p)):
        found = sum(x for x, yes in zip(p, accused, strict=True) if yes)
        wrong = min(1.0, sum(x for x, yes in zip(q, accused, strict=True) if yes))
        assert found <= attacker_bounds.true_positives(wrong, epsilon=epsilon, delta=delta) + 1e-9


@given(weights, weights, st.floats(0.05, 3), st.floats(0.01, 0.99))
def test_no_mechanism_moves_a_belief_further(p_raw: list[int], q_raw: list[int], epsilon: float, prior: float) -> None:
    p, q = spread(p_raw), spread(q_raw)
    delta = smallest_delta(p, q, epsilon)
    average = sum(x * (prior * x / (prior * x + (1 - prior) * y)) for x, y in zip(p, q, strict=True) if x)
    assert average <= attacker_bounds.belief(prior, epsilon=epsilon, delta=delta) + 1e-9


@given(weights, weights, st.floats(0.05, 3))
def test_no_guesser_is_right_more_often_at_even_odds(p_raw: list[int], q_raw: list[int], epsilon: float) -> None:
    p, q = spread(p_raw), spread(q_raw)
    delta = smallest_delta(p, q, epsilon)
    right = sum(max(x, y) for x, y in zip(p, q, strict=True)) / 2
    assert right <= attacker_bounds.belief(0.5, epsilon=epsilon, delta=delta) + 1e-9


@given(st.floats(0.01, 10), deltas)
def test_the_worst_mechanism_reaches_both_bounds(epsilon: float, delta: float) -> None:
    grown = math.exp(epsilon)
    p = [delta, (1 - delta) * grown / (1 + grown), (1 - delta) / (1 + grown), 0.0]
    q = p[::-1]
    assert smallest_delta(p, q, epsilon) == pytest.approx(delta, abs=1e-9)
    right = sum(max(x, y) for x, y in zip(p, q, strict=True)) / 2
    assert right == pytest.approx(attacker_bounds.belief(0.5, epsilon=epsilon, delta=delta))
    wrong, found = attacker_bounds.roc_corner(epsilon=epsilon, delta=delta)
    assert (wrong, found) == pytest.approx((q[0] + q[1], p[0] + p[1]))
    assert found == pytest.approx(attacker_bounds.true_positives(wrong, epsilon=epsilon, delta=delta))


def test_a_bound_that_forgets_delta_would_be_caught() -> None:
    p, q = [0.2, 0.8, 0.0], [0.0, 0.8, 0.2]
    delta = smallest_delta(p, q, 0.1)
    right = sum(max(x, y) for x, y in zip(p, q, strict=True)) / 2
    assert attacker_bounds.belief(0.5, epsilon=0.1) < right <= attacker_bounds.belief(0.5, epsilon=0.1, delta=delta)


@given(rates, epsilons, epsilons, deltas, deltas)
def test_more_epsilon_or_delta_never_promises_more(rate: float, a: float, b: float, c: float, d: float) -> None:
    less, more = (min(a, b), min(c, d)), (max(a, b), max(c, d))
    for bound in (attacker_bounds.belief, attacker_bounds.true_positives):
        assert bound(rate, epsilon=less[0], delta=less[1]) <= bound(rate, epsilon=more[0], delta=more[1]) + 1e-12


@given(rates, st.floats(0.001, 1e300), deltas)
def test_bounds_stay_probabilities_at_any_size(rate: float, epsilon: float, delta: float) -> None:
    assert 0 <= attacker_bounds.belief(rate, epsilon=epsilon, delta=delta) <= 1
    assert rate - 1e-12 <= attacker_bounds.true_positives(rate, epsilon=epsilon, delta=delta) <= 1
