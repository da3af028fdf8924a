from __future__ import annotations

import math

import numpy as np
import pytest
from scipy import stats

from hubbub.audit._confidence_limits import BOLD, SAFE, at_least, at_most, epsilon_of, largest_bound


@pytest.mark.parametrize(("hits", "trials"), [(0, 10), (1, 10), (10, 10), (37, 100), (3, 100_000)])
def test_limits_are_those_of_clopper_and_pearson(hits: int, trials: int) -> None:
    interval = stats.binomtest(hits, trials).proportion_ci(0.9, method="exact")
    assert at_least(hits, trials, error=0.05) == pytest.approx(interval.low, abs=1e-12)
    assert at_most(hits, trials, error=0.05) == pytest.approx(interval.high, abs=1e-12)


def chance_of_a_wrong_bound(p: float, q: float, trials: int, *, delta: float, error: float) -> float:
    """P(bound > the event's true epsilon), summed over all counts: no sampling."""
    true = math.log((p - delta) / q)
    counts = np.arange(trials + 1)
    more, less = stats.binom.pmf(counts, trials, p), stats.binom.pmf(counts, trials, q)
    told = epsilon_of(counts[:, None], counts[None, :], trials, delta=delta, error=error)
    return float(more @ (told > true + 1e-12) @ less)


@pytest.mark.parametrize(("p", "q"), [(0.5, 0.2), (0.9, 0.5), (0.1, 0.02), (0.3, 0.29), (1.0, 0.3)])
@pytest.mark.parametrize("delta", [0.0, 0.01])
def test_the_bound_is_wrong_no_more_often_than_it_may_be(p: float, q: float, delta: float) -> None:
    assert chance_of_a_wrong_bound(p, q, 150, delta=delta, error=0.05) <= 0.05


def test_limits_at_three_times_the_error_would_be_seen() -> None:
    assert chance_of_a_wrong_bound(1.0, 0.3, 150, delta=0.0, error=0.15) > 0.05


def test_ceilings_are_the_known_ones() -> None:
    """Perfect separation at joint 95%, within what the split of the error between the two sides changes."""
    for trials, known in ((100, 3.28), (1_000, 5.60), (10_000, 7.90), (100_000, 10.21), (1_000_000, 12.51)):
        assert known < largest_bound(trials) < known + 0.2


def test_nothing_is_shown_by_events_that_are_no_likelier() -> None:
    assert epsilon_of(50, 50, 100) == 0
    assert epsilon_of(0, 0, 100) == 0
    assert epsilon_of(100, 0, 100, delta=0.999) == 0


def test_a_larger_delta_shows_less() -> None:
    told = [float(epsilon_of(900, 10, 1000, delta=d)) for d in (0.0, 0.1, 0.5)]
    assert told == sorted(told, reverse=True)
    assert told[0] > told[2] > 0


def test_caution_prefers_events_with_many_hits() -> None:
    more, less = np.array([4000.0, 40.0]), np.array([1500.0, 4.0])
    safe, bold = (caution.promise(more, less, 10_000, 80_000, delta=0.0) for caution in (SAFE, BOLD))
    assert safe[0] > safe[1]
    assert bold[1] - bold[0] > safe[1] - safe[0]
