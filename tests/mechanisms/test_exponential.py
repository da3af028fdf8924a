from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from hubbub.mechanisms import Exponential, PermuteAndFlip, ReportNoisyMax
from hubbub.noise.testing import seeded
from hubbub.terms import EmptyInput, ExponentialChoice, NotANumber, NotProved, OutOfRange, PureStep, WrongShape

from .contract import BAD_NUMBERS, Contract
from .laws import breach


def choice_masses(scores, rate):
    weights = np.exp(rate * (np.array(scores) - max(scores)))
    return dict(enumerate((weights / weights.sum()).tolist()))


class SelectionContract(Contract):
    """Scores move by at most 1; the pair below is the worst: the best falls while another rises."""

    standard = {"sensitivity": 1, "epsilon": 1}
    data = [4.5, 0.0]
    trials = 11_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "sensitivity": BAD_NUMBERS,
        "missing": [(math.nan, OutOfRange), ("0", NotANumber)],
    }
    bad_data = [
        ([], EmptyInput),
        (np.array([]), EmptyInput),
        (np.zeros((2, 2)), WrongShape),
        ("34", WrongShape),
        (["3", 4], NotANumber),
        ([None, 4], NotANumber),
    ]
    odd_data = [
        [math.nan, 1.0],
        [math.nan, math.nan],
        [math.inf, -math.inf, 0.0],
        np.array([np.nan, np.inf, 1e308]),
        [1e308, -1e308, 5e-324, 10**400, Fraction(1, 3)],
    ]

    def errors(self, trials, rng):
        return [], lambda confidence: self.make().error(confidence, candidates=6)

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_error_holds_and_is_not_too_wide(self, confidence, soak) -> None:
        mechanism, rng = self.make(), seeded(21)
        told = mechanism.error(confidence, candidates=6)  # worst: every rival lies just beyond what was told
        for factor, holds in ((1.001, True), (0.8, False)):
            scores = [told * factor, 0, 0, 0, 0, 0]
            trials = 2500 * soak
            missed = sum(mechanism.release(scores, rng=rng) != 0 for _ in range(trials)) / trials
            slack = 4 * math.sqrt(confidence * (1 - confidence) / trials)
            assert (missed <= 1 - confidence + slack) == holds

    def test_monotone_scores_need_no_factor_two(self) -> None:
        # sampled at the halved noise, a pair of scores that rise together stays within epsilon
        pair = [2.0, 0.0], [3.0, 0.0]
        a, b = (self.outcomes(d, self.trials, seeded(22 + i), monotone=True) for i, d in enumerate(pair))
        assert not breach(a, b, epsilon=self.epsilon)
        assert self.make(monotone=True).error(0.9, candidates=5) == pytest.approx(
            self.make().error(0.9, candidates=5) / 2, rel=1e-6
        )

    def test_claiming_monotone_scores_falsely_would_be_seen(self) -> None:
        # the slide's exp(epsilon * score): the factor 2 is missing
        a, b = (self.outcomes(d, self.trials, seeded(24 + i), monotone=True) for i, d in enumerate(self.neighbours))
        assert breach(a, b, epsilon=self.epsilon)

    def test_replacement_has_no_monotone_scores(self) -> None:
        with pytest.raises(NotProved):
            self.make(monotone=True, neighbours="replace")

    def test_a_missing_score_is_the_lowest_unless_said(self) -> None:
        mechanism, rng = self.make(), seeded(26)
        assert all(mechanism.release([math.nan, -50.0], rng=rng) == 1 for _ in range(50))
        kinder = self.make(missing=0)
        assert all(kinder.release([math.nan, -500.0], rng=rng) == 0 for _ in range(50))

    def test_one_candidate_is_chosen(self) -> None:
        assert self.make().release([3], rng=seeded(27)) == 0
        assert self.make().error(0.9, candidates=1) == 0


class TestExponential(SelectionContract):
    kind = Exponential
    neighbours = ([4.5, 0.0], [3.5, 1.0])

    def masses(self):
        return choice_masses(self.data, 1 / 2)

    def test_it_is_charged_by_its_range(self) -> None:
        assert isinstance(self.make().event, ExponentialChoice)

    def test_the_election_of_the_lectures(self, soak) -> None:
        # 15, 18 and 20 votes at a rate of 0.1 give 25%, 33.8% and 41.2%
        masses = choice_masses([15, 18, 20], 0.1)
        assert [round(m, 3) for m in masses.values()] == [0.250, 0.338, 0.412]
        assert Exponential(sensitivity=1, epsilon=0.1, monotone=True).rate == Fraction(1, 10)
        assert Exponential(sensitivity=1, epsilon=0.1).rate == Fraction(1, 20)


class TestReportNoisyMax(SelectionContract):
    kind = ReportNoisyMax
    data = [6.0, 0.0]
    neighbours = ([2.0, 0.0], [1.0, 1.0])
    trials = 12_000

    def masses(self):
        # two Laplace draws of scale t differ by more than g with probability e^(-g/t) (2 + g/t) / 4 on each side
        loses = math.exp(-3) * 5 / 4
        return {0: 1 - loses, 1: loses}

    def test_ties_go_to_the_lower_index(self) -> None:
        mechanism = ReportNoisyMax(sensitivity=1, epsilon=1)
        mechanism._scale = Fraction(1, 1000)  # so little noise that there is none
        assert mechanism.release([1, 1, 1], rng=seeded(28)) == 0


class TestPermuteAndFlip(SelectionContract):
    kind = PermuteAndFlip
    data = [3.0, 0.0]
    neighbours = ([3.0, 0.0], [2.0, 1.0])

    def masses(self):
        # the worse of two is chosen if it comes first and its coin, exp(-gap/2), falls
        worse = math.exp(-1.5) / 2
        return {0: 1 - worse, 1: worse}

    def test_it_is_not_charged_by_a_range(self) -> None:
        # from scores (0, 0) to (1, -1) the worse falls from 1/2 to e^-1/2: a loss of 1 there, below 0 elsewhere
        losses = math.log(0.5 / (math.exp(-1) / 2)), math.log(0.5 / (1 - math.exp(-1) / 2))
        assert max(losses) - min(losses) > 1.4
        assert isinstance(self.make().event, PureStep)

    def test_three_candidates_follow_the_closed_form(self, soak) -> None:
        from .laws import FALSE_ALARM, p_value

        coins = [1.0, math.exp(-0.5), math.exp(-1.0)]
        masses = dict.fromkeys(range(3), 0.0)
        for order in ((0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)):
            left = 1 / 6
            for candidate in order:
                masses[candidate] += left * coins[candidate]
                left *= 1 - coins[candidate]
        sample = self.outcomes([2, 1, 0], 10_000 * soak, seeded(29))
        assert p_value(sample, masses) > FALSE_ALARM

    def test_it_is_never_worse_than_the_exponential_mechanism(self) -> None:
        for candidates in (2, 10, 1000):
            other = Exponential(sensitivity=1, epsilon=1).error(0.95, candidates=candidates)
            assert self.make().error(0.95, candidates=candidates) <= other + 1e-6
