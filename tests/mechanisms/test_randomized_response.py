from __future__ import annotations

import math

import numpy as np
import pytest

from hubbub.mechanisms import RandomizedResponse
from hubbub.noise.testing import seeded
from hubbub.terms import EmptyInput, NotANumber, OutOfRange, TooLarge, WrongNeighbours

from .contract import BAD_NUMBERS, Contract


class TestRandomizedResponse(Contract):
    kind = RandomizedResponse
    standard = {"epsilon": 1.5, "values": 4}
    data = 2
    neighbours = (2, 0)
    trials = 40_000
    relations = ("replace",)
    bad = {
        "epsilon": BAD_NUMBERS,
        "values": [(1, OutOfRange), (2.5, OutOfRange), ("2", NotANumber), (2**63, TooLarge)],
        "missing": [(-1, OutOfRange), (4, OutOfRange), ("0", NotANumber)],
        "neighbours": [("add-remove", WrongNeighbours)],
    }
    bad_data = [
        ("1", NotANumber),
        (1.0, NotANumber),
        (None, NotANumber),
        (np.array(["1"]), NotANumber),
    ]
    odd_data = [
        [0.5],
        [[0], [1, 2]],
        [2**63, -1],
        [np.int64(1)],
        -1,
        4,
        10**30,
        [0, -5, 99, 2**70],
        np.array([2**63 - 1, -(2**63)]),
        [],
    ]

    def outcomes(self, data, trials, rng, **changes):
        return self.make(**changes).release(np.full(trials, data), rng=rng).tolist()

    def masses(self):
        rest = 1 / (math.exp(1.5) + 3)
        return {code: math.exp(1.5) * rest if code == 2 else rest for code in range(4)}

    def errors(self, trials, rng):
        survey, people = self.make(), 500
        truth = np.array([0.1, 0.2, 0.3, 0.4])
        answers = np.repeat(np.arange(4), (truth * people).astype(int))
        runs = [survey.estimate(survey.release(answers, rng=rng)).values[0] - 0.1 for _ in range(trials // 20)]
        return runs, lambda confidence: survey.error(confidence, count=people)

    width = 0.6  # the bound is for the worst share, and this one is not

    def test_shape_is_kept(self) -> None:
        assert self.make().release(np.zeros((3, 5), dtype=int), rng=seeded(1)).shape == (3, 5)
        assert isinstance(self.make().release(1, rng=seeded(1)), int)

    def test_estimates_are_unbiased_with_honest_standard_errors(self, soak) -> None:
        survey, rng = self.make(), seeded(41)
        answers = np.repeat(np.arange(4), [500, 300, 150, 50])
        runs = np.array([survey.estimate(survey.release(answers, rng=rng)).values for _ in range(600 * soak)])
        told = survey.estimate(survey.release(answers, rng=rng)).standard_errors
        assert np.all(np.abs(runs.mean(axis=0) - [0.5, 0.3, 0.15, 0.05]) < 5 * told / math.sqrt(len(runs)))
        assert runs.std(axis=0) == pytest.approx(told, rel=0.15)
        assert survey.estimate([0, 1, 1]).values.sum() == pytest.approx(1)

    def test_the_binary_mean_of_the_lectures(self, soak) -> None:
        survey, rng = RandomizedResponse(epsilon=1), seeded(42)
        shrink = (math.e + 1) / (math.e - 1)
        assert survey.estimate_mean([1, 1, 1, 0]).value == pytest.approx(shrink * 0.5)
        answers = np.repeat([0, 1], [250, 750])  # mean of -1 and +1: 0.5
        runs = [survey.estimate_mean(survey.release(answers, rng=rng)) for _ in range(600 * soak)]
        values = np.array([run.value for run in runs])
        assert abs(values.mean() - 0.5) < 5 * runs[0].standard_error / math.sqrt(len(runs))
        assert values.std() == pytest.approx(runs[0].standard_error, rel=0.15)

    def test_a_mean_needs_two_values(self) -> None:
        with pytest.raises(OutOfRange):
            self.make().estimate_mean([0, 1])

    def test_reports_must_be_reports(self) -> None:
        for reports, error in (([], EmptyInput), ([4], OutOfRange), ([-1], OutOfRange), ([0.5], NotANumber)):
            with pytest.raises(error):
                self.make().estimate(reports)
