"""GNMax and Confident-GNMax: the exact law of an answer, what it costs, and that a wrong scale would be noticed."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hubbub.accounting import Compose, epsilon
from hubbub.audit import examine
from hubbub.learn.pate.aggregation import UNANSWERED, Ballot, ballot_for
from hubbub.noise.testing import seeded
from hubbub.terms import GaussianNoise, Neighbours, root_of

FALSE_ALARM = 1e-6
COUNTS = np.array([9, 12, 5, 12])


def ballot(sigma: object, *, asked: int, answered: int, check: object = None, threshold: int = 0) -> Ballot:
    one = Fraction(1)
    answer = GaussianNoise(sigma=Fraction(sigma), sensitivity=root_of(2), grid=one, dimension=4)  # type: ignore[arg-type]
    if check is None:
        return Ballot(asked, answered, answer)
    first = GaussianNoise(sigma=Fraction(check), sensitivity=one, grid=one)  # type: ignore[arg-type]
    return Ballot(asked, answered, answer, first, threshold)


def masses(sigma: float) -> Any:
    """(places, masses, distribution) of the discrete Gaussian, far enough out."""
    places = np.arange(-int(12 * sigma) - 40, int(12 * sigma) + 41)
    mass = np.exp(-(places**2) / (2 * sigma**2))
    mass /= mass.sum()
    return places, mass, np.cumsum(mass)


def law(counts: Any, sigma: float) -> Any:
    """The exact probability of each answer; ties go to the first class."""
    places, mass, below = masses(sigma)
    found = np.zeros(len(counts))
    for c, own in enumerate(counts):
        chance = mass.copy()
        for j, other in enumerate(counts):
            if j != c:  # an earlier class must lie below, a later one may be level
                at = np.clip(np.arange(len(places)) + int(own - other) - (j < c), -1, len(places) - 1)
                chance *= np.where(at >= 0, below[at], 0.0)
        found[c] = chance.sum()
    return found


def divergence(p: Any, q: Any, order: float) -> float:
    return float(np.log(np.sum(p**order * q ** (1 - order))) / (order - 1))


# ---------------------------------------------------------------- the law of an answer


@pytest.mark.parametrize("sigma", [2, Fraction(13, 2)])
def test_an_answer_has_the_law_of_the_noisy_largest_count(sigma: Any, soak: int) -> None:
    draws = 40_000 * soak

    def misfit(noisy: Any) -> float:
        answers = ballot(noisy, asked=draws, answered=draws).release(np.tile(COUNTS, (draws, 1)), rng=seeded(11))
        return float(stats.chisquare(np.bincount(answers, minlength=4), law(COUNTS, float(sigma)) * draws).pvalue)

    assert law(COUNTS, float(sigma)).sum() == pytest.approx(1)
    assert misfit(sigma) > FALSE_ALARM
    assert misfit(sigma * Fraction(9, 10)) < FALSE_ALARM  # and a scale that is off is noticed
    assert misfit(sigma * Fraction(11, 10)) < FALSE_ALARM


def test_a_check_has_the_law_of_the_noisy_maximum(soak: int) -> None:
    draws, sigma, threshold = 40_000 * soak, 5, 20
    places, mass, _ = masses(sigma)
    exact = mass[places + COUNTS.max() >= threshold].sum()

    def misfit(noisy: Any) -> float:
        made = ballot(3, asked=draws, answered=draws, check=noisy, threshold=threshold)
        passed = np.count_nonzero(made.release(np.tile(COUNTS, (draws, 1)), rng=seeded(12)) != UNANSWERED)
        return float(stats.binomtest(passed, draws, exact).pvalue)

    assert misfit(sigma) > FALSE_ALARM
    assert misfit(sigma * Fraction(9, 10)) < FALSE_ALARM
    assert misfit(sigma * Fraction(11, 10)) < FALSE_ALARM


def test_checked_answers_have_fresh_noise() -> None:
    """If the noise of the check were used again, answers after a high check would not follow their own law."""
    draws = 40_000
    made = ballot(4, asked=draws, answered=draws, check=4, threshold=16)
    answers = made.release(np.tile(COUNTS, (draws, 1)), rng=seeded(13))
    answers = answers[answers != UNANSWERED]
    expected = law(COUNTS, 4) * len(answers)
    assert stats.chisquare(np.bincount(answers, minlength=4), expected).pvalue > FALSE_ALARM


def test_no_more_is_answered_than_was_paid_for() -> None:
    made = ballot(3, asked=50, answered=20, check=1, threshold=-100)
    answers = made.release(np.tile(COUNTS, (50, 1)), rng=seeded(14))
    assert (answers[:20] != UNANSWERED).all() and (answers[20:] == UNANSWERED).all()


def test_nothing_is_answered_below_the_threshold() -> None:
    made = ballot(3, asked=50, answered=50, check=1, threshold=100)
    assert (made.release(np.tile(COUNTS, (50, 1)), rng=seeded(15)) == UNANSWERED).all()


# ---------------------------------------------------------------- what it costs


def pairs(teachers: int, classes: int) -> Any:
    """All histograms, each with all that one changed, added or removed vote makes of it."""
    for counts in product(range(teachers + 1), repeat=classes):
        if sum(counts) <= teachers:
            for lost, won in product(range(-1, classes), repeat=2):
                other = list(counts)
                other[lost] -= lost >= 0
                other[won] += won >= 0
                if lost != won and min(other) >= 0:
                    yield np.array(counts), np.array(other)


@pytest.mark.parametrize("order", [1.5, 4.0, 16.0])
def test_no_pair_of_neighbours_diverges_more_than_the_event_says(order: float) -> None:
    sigma = 3.0
    largest = max(divergence(law(a, sigma), law(b, sigma), order) for a, b in pairs(5, 3))
    assert largest <= order / sigma**2  # rho = 2 / (2 sigma^2)
    assert order > 4 or largest > order / (2 * sigma**2)  # a sensitivity of 1 would promise too much


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("threshold", [None, 30])
@pytest.mark.parametrize("price", [(1, 1e-5), (8, 1e-3), (Fraction(1, 10), 1e-9)])
def test_a_ballot_costs_what_was_asked_for(price: Any, threshold: int | None, neighbours: Neighbours) -> None:
    wanted, delta = Fraction(price[0]), Fraction(price[1])
    made = ballot_for(
        asked=60, answered=40, classes=10, threshold=threshold, epsilon=wanted, delta=delta, neighbours=neighbours
    )
    cost = epsilon(Compose(made.events), delta=delta, neighbours=neighbours)
    assert 0.98 * wanted < cost <= wanted
    assert [step.neighbours for step in Compose(made.events).steps()] == [neighbours] * (1 + (threshold is not None))


def test_replacing_costs_no_more_than_adding() -> None:
    given = {
        "asked": 60,
        "answered": 60,
        "classes": 3,
        "threshold": None,
        "epsilon": Fraction(1),
        "delta": Fraction("1e-5"),
    }
    sigmas = {ballot_for(neighbours=each, **given).answer.sigma for each in Neighbours}  # type: ignore[arg-type]
    assert len(sigmas) == 1


def test_both_relations_have_their_sensitivity_in_the_event() -> None:
    made = ballot_for(asked=9, answered=9, classes=3, threshold=2, epsilon=Fraction(1), delta=Fraction("1e-5"))
    assert made.answer.sensitivity**2 >= 2 and made.check is not None and made.check.sensitivity == 1
    assert made.answer.grid == made.check.grid == 1 and made.answer.dimension == 3


# ---------------------------------------------------------------- an audit


@pytest.mark.parametrize(("share", "refuted"), [(1, False), (Fraction(1, 4), True)])
def test_an_audit_refutes_a_ballot_with_too_little_noise(share: Fraction, refuted: bool, soak: int) -> None:
    made = ballot_for(asked=40, answered=40, classes=2, threshold=None, epsilon=Fraction(1), delta=Fraction("1e-3"))
    noisy = ballot(made.answer.sigma * share, asked=40, answered=40)
    source = seeded(16)

    def draw(votes: int, size: int) -> Any:
        counts = np.tile([votes, 20 - votes], (40 * size, 1))
        many = Ballot(40 * size, 40 * size, noisy.answer)
        return many.release(counts, rng=source).reshape(size, 40).sum(axis=1)

    found = examine(draw, 10, 11, trials=20_000 * soak, delta=1e-3, confidence=0.9999, claim=1.0, vectorized=True)
    assert found.problem is None
    assert found.refuted == refuted
