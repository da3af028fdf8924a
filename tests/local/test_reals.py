"""Means of bounded numbers."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hubbub.local import Duchi, Hybrid, LocalLaplace, OneBitMean, Piecewise, SignResponse
from hubbub.local.randomizers import bounded_means
from hubbub.local.randomizers.common.exact_words import WORD, fewest_words, most_words
from hubbub.local.randomizers.mean_base import MeanRandomizer
from hubbub.noise.testing import seeded
from hubbub.terms import OutOfRange

from .contract import MeanContract, exp, loosen

SMALL = {"epsilon": 1, "lower": -1, "upper": 1}


class TestDuchi(MeanContract):
    kind = Duchi
    small = SMALL
    looser = {"_top": 1}
    spreads = {(0.5, 0): 16.67, (0.5, 1): 15.67, (1, 0): 4.68, (1, 1): 3.68, (2, 0): 1.72, (2, 1): 0.72, (4, 1): 0.08}
    bad_payload = b"\x02"


class Grid(MeanContract):
    """On a grid of 64 places the whole law can be written down."""

    @pytest.fixture(autouse=True)
    def few_places(self, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
        if "literature" not in request.node.name:
            monkeypatch.setattr(bounded_means, "CELLS", 64)


class TestPiecewise(Grid):
    kind = Piecewise
    small = SMALL
    spreads = {(0.5, 0): 17.70, (0.5, 1): 21.22, (1, 0): 3.68, (1, 1): 5.22, (2, 0): 0.65, (2, 1): 1.23, (4, 0): 0.085}
    bad_payload = b"\x40"
    centre = 0.4

    def test_a_threshold_too_high_is_noticed(self) -> None:
        randomizer = self.make()
        loosen(randomizer._window, "sets", 2)
        assert reals_ratio(randomizer) > exp(randomizer.epsilon)


class TestHybrid(Grid):
    kind = Hybrid
    small = SMALL
    looser = {"_top": 1}
    spreads = {(0.5, 0): 16.67, (0.5, 1): 15.67, (1, 0): 4.29, (1, 1): 4.29, (2, 0): 1.04, (2, 1): 1.04, (4, 0): 0.22}
    bad_payload = b"\x42"


def reals_ratio(randomizer: Piecewise) -> Fraction:
    """The largest ratio of the piecewise law, from the number of words that lead to a place."""
    window = randomizer._window
    inside = Fraction(window.sets.keep * most_words(window.size), WORD**2)
    outside = Fraction((WORD - window.sets.keep) * fewest_words(window.steps), WORD**2)
    return inside / outside


@pytest.mark.parametrize("epsilon", [Fraction(1, 100), Fraction(1, 2), 1, 4, 10])
def test_the_full_grid_keeps_epsilon_and_wastes_nothing(epsilon: object) -> None:
    survey = Piecewise(epsilon=epsilon, lower=0, upper=1)
    assert exp(survey.epsilon) * (1 - Fraction(1, 10**9)) <= reals_ratio(survey) <= exp(survey.epsilon)


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid])
@pytest.mark.parametrize("epsilon", [0.2, 1, 5])
def test_scores_have_the_value_as_their_mean(kind: type, epsilon: float) -> None:
    """From the closed law of each: no draws."""
    survey = kind(epsilon=epsilon, lower=-3, upper=5)
    for code in (0, 1, survey.steps // 3, survey.steps):
        chances = law(survey, code)
        value = -3 + 8 * code / survey.steps
        assert chances.sum() == pytest.approx(1)
        assert chances @ survey._scores == pytest.approx(value, abs=1e-9)
        spread = chances @ (survey._scores - value) ** 2
        assert survey.variance(count=1, frequency=value) == pytest.approx(spread, rel=1e-6)


def law(survey: Duchi | Piecewise | Hybrid, code: int) -> np.ndarray:
    bit = bounded_means.line_threshold(survey._top, code, survey.steps) / WORD if hasattr(survey, "_top") else 0.0
    bits = np.array([1 - bit, bit])
    if isinstance(survey, Duchi):
        return bits
    window = survey._window
    places = np.full(bounded_means.CELLS, (1 - window.sets.keep / WORD) / window.steps)
    places[code : code + window.size] = window.sets.keep / WORD / window.size
    if isinstance(survey, Piecewise):
        return places
    share = survey._mix / WORD
    return np.concatenate([(1 - share) * bits, share * places])


def test_thresholds_lie_on_a_line_also_in_bulk() -> None:
    generator = np.random.default_rng(1)
    for steps in (1, 7, 64, 40_793, 1 << 20, (1 << 31) - 1):
        top = (1 << 63) + int(generator.integers(1 << 62))
        codes = np.unique(np.append(generator.integers(0, steps + 1, 50), [0, steps]))
        line = [WORD - top + (2 * top - WORD) * int(code) // steps for code in codes]
        assert [bounded_means.line_threshold(top, int(code), steps) for code in codes] == line
        assert bounded_means.line_threshold(top, codes, steps).tolist() == line
        assert (line[0], line[-1]) == (WORD - top, top)


def test_the_hybrid_is_never_worse_than_both_at_their_worst() -> None:
    for epsilon in (0.3, 0.7, 1, 2, 4):
        worst = {
            kind: max(kind(epsilon=epsilon, lower=-1, upper=1).variance(count=1, frequency=x) for x in (-1, 0, 1))
            for kind in (Duchi, Piecewise, Hybrid, LocalLaplace)
        }
        assert worst[Hybrid] <= min(worst.values()) + 1e-3


def test_the_bounded_coin_of_the_lectures_beats_laplace_noise() -> None:
    """The lectures' variance 2 / (n epsilon^2) on [0, 1] is right; the coin has (c^2/4 - (f - 1/2)^2) / n."""
    c = (math.e + 1) / (math.e - 1)
    coin, laplace = Duchi(epsilon=1, lower=0, upper=1), LocalLaplace(epsilon=1, lower=0, upper=1)
    for f in (0, 0.3, 0.5, 1):
        assert coin.variance(count=1, frequency=f) == pytest.approx(c**2 / 4 - (f - 0.5) ** 2)
    assert laplace.variance(count=1) == pytest.approx(2, rel=1e-6)
    assert coin.variance(count=1, frequency=0.5) == pytest.approx(1.17, abs=0.005)


@pytest.mark.parametrize(
    ("survey", "people"),
    [
        (Duchi(epsilon=4, lower=0, upper=1), 100),
        (Hybrid(epsilon=4, lower=0, upper=1), 100),
        (SignResponse(epsilon=6), 1000),
    ],
    ids=repr,
)
def test_intervals_hold_where_reports_are_nearly_all_alike(survey: MeanRandomizer, people: int, soak: int) -> None:
    """Chance often shows too little spread among few or like reports; as little as that is not believed."""
    runs, rng = 400 * soak, seeded(3)
    reports = survey.randomize(np.ones(people * runs, dtype=np.int64), rng=rng).reshape(runs, people)
    found = [survey.estimate(each) for each in reports]
    held = np.mean([low <= 1 <= high for low, high in (each.interval() for each in found)])  # type: ignore[union-attr]
    assert held > 0.95 - 3 * (0.95 * 0.05 / runs) ** 0.5
    spread = [np.std(survey._scores[each], ddof=1) / people**0.5 for each in reports]
    trusting = np.mean([abs(each.value - 1) <= 1.96 * own for each, own in zip(found, spread, strict=True)])  # type: ignore[union-attr]
    assert trusting < 0.95 - 2 * (0.95 * 0.05 / runs) ** 0.5  # what is seen alone would hold too rarely


def test_one_report_alone_has_an_error() -> None:
    for survey in (Duchi(**SMALL), Hybrid(**SMALL), Piecewise(**SMALL), SignResponse(epsilon=1)):
        assert survey.estimate([1]).variance > 0


@pytest.mark.parametrize("kind", [Duchi, Piecewise, Hybrid, LocalLaplace, OneBitMean])
def test_bounds_that_doubles_cannot_tell_apart_or_hold_are_refused(kind: type[MeanRandomizer]) -> None:
    for low, high in ((10**16, 10**16 + 1), (-(10**400), 0), (0, 10**400), (-1e308, 1e308)):
        with pytest.raises(OutOfRange):
            kind(epsilon=1, lower=low, upper=high)  # type: ignore[call-arg]
    wide = kind(epsilon=1, lower=-1e300, upper=1e300)  # type: ignore[call-arg]
    assert wide.codes([-1e300, 1e300, 1e308]).tolist() == [0, wide.steps, wide.steps]
