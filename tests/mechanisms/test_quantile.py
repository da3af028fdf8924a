from __future__ import annotations

import itertools
import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from hubbub.mechanisms import Quantile
from hubbub.noise._weighted_choice import choose_weighted
from hubbub.noise.testing import seeded
from hubbub.terms import ExponentialChoice, NotANumber, OutOfRange, ReversedBounds, TooLarge, WrongShape

from .contract import BAD_NUMBERS, Contract
from .laws import FALSE_ALARM, p_value


def loss(candidate, values, q):
    """By how many values the candidate misses the rank q n."""
    below = sum(v < candidate for v in values)
    upto = sum(v <= candidate for v in values)
    return max(0.0, below - q * len(values), q * len(values) - upto)


class TestQuantile(Contract):
    kind = Quantile
    standard = {"q": 0.5, "lower": 0, "upper": 9, "step": 1, "epsilon": 1}
    data = [2, 2, 3, 7, 8, 8, 9, 9]
    neighbours = ([4], [4, 9])
    trials = 11_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "q": [(-0.1, OutOfRange), (1.1, OutOfRange), (math.nan, OutOfRange), ("0", NotANumber), (1e-10, OutOfRange)],
        "lower": [(9, ReversedBounds), (10, ReversedBounds), (math.nan, OutOfRange), ("0", NotANumber)],
        "upper": [(0, ReversedBounds), (math.inf, OutOfRange)],
        "step": [*BAD_NUMBERS[:-1], (10, OutOfRange), (1e-30, TooLarge)],
        "max_per_unit": [(0, OutOfRange), (1.5, OutOfRange)],
    }
    bad_data = [("123", NotANumber), (3, NotANumber), (np.zeros((2, 2)), WrongShape), (np.array(["a"]), NotANumber)]
    odd_data = [
        [],
        np.array([]),
        [math.nan, math.inf, -math.inf, 1e308, None, "x", 10**400, Decimal("NaN"), Decimal("Infinity"), Fraction(1, 3)],
        np.array([np.nan, np.inf, -np.inf, 1e308]),
        np.array([1, None, "x"], dtype=object),
        np.array([True, False]),
    ]

    def masses(self):
        weights = [math.exp(-loss(c, self.data, 0.5)) for c in range(10)]  # epsilon / (2 * 1/2) = 1
        return {float(c): w / sum(weights) for c, w in enumerate(weights)}

    def errors(self, trials, rng):
        return [], self.make().error

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_error_holds_and_is_not_too_wide(self, confidence, soak) -> None:
        median, rng = self.make(upper=99), seeded(51)
        told = median.error(confidence)
        for factor, holds in ((1.001, True), (0.7, False)):
            values = [50] * round(2 * (told * factor + 0.5))  # every other candidate misses by half of them
            trials = 2000 * soak
            missed = sum(median.release(values, rng=rng) != 50 for _ in range(trials)) / trials
            assert (missed <= 1 - confidence + 4 * math.sqrt(confidence * (1 - confidence) / trials)) == holds

    @pytest.mark.parametrize("q", [0.0, 0.1, 0.5, 0.75, 1.0])
    def test_no_unit_moves_a_loss_by_more_than_the_sensitivity(self, q) -> None:
        sensitivity = {
            relation: 1 / (2 * float(self.make(q=q, neighbours=relation).rate)) for relation in self.relations
        }
        for values in itertools.combinations_with_replacement(range(4), 4):
            for candidate in range(4):
                before = loss(candidate, values, q)
                for new in range(4):
                    added = loss(candidate, (*values, new), q)
                    replaced = loss(candidate, (*values[1:], new), q)
                    assert abs(added - before) <= sensitivity["add-remove"] + 1e-9
                    assert abs(replaced - before) <= sensitivity["replace"] + 1e-9

    def test_more_values_per_unit_cost_in_proportion(self) -> None:
        assert self.make(max_per_unit=3).rate == self.make().rate / 3

    def test_millions_of_candidates_are_fine(self) -> None:
        values = np.linspace(100, 200, 2001)
        fine = Quantile(q=0.25, lower=0, upper=1000, step=Fraction(1, 10**4), epsilon=2)
        assert fine.candidates == 10**7 + 1
        answers = [fine.release(values, rng=seeded(seed)) for seed in range(20)]
        assert all(115 < answer < 135 for answer in answers)

    def test_nothing_tells_apart_where_there_is_no_data(self) -> None:
        sample = self.outcomes([], 10_000, seeded(52))
        assert p_value(sample, {float(c): 0.1 for c in range(10)}) > FALSE_ALARM

    def test_lists_and_arrays_give_the_same(self) -> None:
        values = [0.2, 3.49, 3.51, -5.0, 77.0, math.nan]
        for seed in range(20):
            assert self.make().release(values, rng=seeded(seed)) == self.make().release(
                np.array(values), rng=seeded(seed)
            )

    def test_it_is_charged_as_a_choice(self) -> None:
        assert isinstance(self.make().event, ExponentialChoice)


@pytest.mark.parametrize("word_bits", [4, 8, 64])
def test_weighted_choice_is_exact_at_any_word_size(word_bits: int, soak: int) -> None:
    # with words of 4 bits nearly every decision goes through the certified path
    losses, weights = np.array([0, 3, 1, 60]), np.array([1, 40, 5, 2**40])
    masses = weights * np.exp(-losses * 0.5)
    expected = dict(enumerate((masses / masses.sum()).tolist()))
    rng = seeded(53)
    sample = [choose_weighted(losses, weights, Fraction(1, 2), rng, word_bits=word_bits) for _ in range(5000 * soak)]
    assert p_value(sample, expected) > FALSE_ALARM
