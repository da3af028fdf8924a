from __future__ import annotations

import copy
import math
import multiprocessing
import os
import pickle
from fractions import Fraction

import numpy as np
import pytest

from hubbub.mechanisms import AboveThreshold
from hubbub.mechanisms.sparse_vector import split_epsilon
from hubbub.noise.testing import seeded
from hubbub.terms import MechanismExhausted, NotANumber, NotProved, OutOfRange, SecretState, WrongShape

from .contract import BAD_NUMBERS, Contract
from .laws import NoSource


def answer_masses(values, *, threshold_scale, value_scale, count):
    """P(each list of answers): given the noisy threshold the answers are independent."""
    z = np.linspace(-40, 40, 80_001) * threshold_scale
    weights = np.exp(-np.abs(z) / threshold_scale)
    weights /= weights.sum()

    def above(value):
        x = (z - value) / value_scale
        return np.where(x > 0, 0.5 * np.exp(-np.abs(x)), 1 - 0.5 * np.exp(-np.abs(x)))

    masses = {}

    def walk(answers, chance):
        if len(answers) == len(values) or sum(answers) == count:
            masses[tuple(answers)] = float(np.dot(weights, chance))
            return
        p = above(values[len(answers)])
        walk([*answers, True], chance * p)
        walk([*answers, False], chance * (1 - p))

    walk([], np.ones_like(z))
    return masses


class TestAboveThreshold(Contract):
    kind = AboveThreshold
    standard = {"threshold": 10, "sensitivity": 1, "epsilon": 2}
    data = [6.0] * 4
    # the worst pair: one unit moves the threshold's side of all noes one way and the yes the other way
    neighbours = ([10.0] * 8 + [11.0], [11.0] * 8 + [10.0])
    trials = 8_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "sensitivity": BAD_NUMBERS,
        "threshold": [(math.nan, OutOfRange), (math.inf, OutOfRange), ("1", NotANumber)],
        "count": [(0, OutOfRange), (1.5, OutOfRange), ("1", NotANumber)],
        "missing": [(math.nan, OutOfRange)],
    }
    bad_data = [(["3"], NotANumber), ([None], NotANumber), ([[1.0, 2.0]], WrongShape), ([np.array([1.0])], WrongShape)]
    odd_data = [[math.nan, math.inf, -math.inf, 1e308, -1e308, 5e-324, 10**400, np.float64("nan")]]

    def scales(self, epsilon=2.0, *, count=1, times=2):
        first, second = split_epsilon(Fraction(epsilon), times * count)
        return {"threshold_scale": 1 / float(first), "value_scale": times * count / float(second), "count": count}

    def loss(self, pair, **how):
        """The largest log ratio over all lists of answers, from the closed form."""
        a, b = (answer_masses([v - 10 for v in values], **self.scales(**how)) for values in pair)
        return max(abs(math.log(a[answers] / b[answers])) for answers in a)

    def outcomes(self, data, trials, rng, **changes):
        return [tuple(self.make(**changes).release(data, rng=rng)) for _ in range(trials)]

    def masses(self):
        return answer_masses([v - 10 for v in self.data], **self.scales())

    def errors(self, trials, rng):
        mechanism = self.make(count=4)

        def bound(confidence):
            return mechanism.error(confidence, questions=4)

        return [], bound

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_error_holds_and_is_not_too_wide(self, confidence, soak) -> None:
        rng, trials = seeded(31), 1500 * soak
        told = self.make(count=4).error(confidence, questions=4)
        for factor, holds in ((1.001, True), (0.6, False)):
            values = [10 + told * factor, 10 - told * factor] * 2
            wrong = sum(self.make(count=4).release(values, rng=rng) != [True, False] * 2 for _ in range(trials))
            assert (wrong / trials <= 1 - confidence + 4 * math.sqrt(confidence * (1 - confidence) / trials)) == holds

    @pytest.mark.parametrize("count", [1, 2, 3])
    def test_no_list_of_answers_is_likelier_by_more_than_epsilon(self, count) -> None:
        pair = [10.0] * 6 + [11.0] * 4, [11.0] * 6 + [10.0] * 4
        assert 1.3 < self.loss(pair, count=count) <= 2
        assert self.loss(pair, count=count, times=1) > 2  # noise of c instead of 2c: claimed monotone, and is not
        assert self.loss((pair[0], [v + 1 for v in pair[0]]), count=count, times=1) <= 2  # monotone indeed

    def test_half_the_noise_would_be_seen(self, soak) -> None:
        assert self.loss(self.neighbours) <= 2 < self.loss(self.neighbours, epsilon=4.0)

    def test_it_stops_after_so_many_yeses(self) -> None:
        alarm = self.make(count=2)
        assert alarm.release([1000] * 5, rng=seeded(33)) == [True, True]
        assert alarm.left == 0
        with pytest.raises(MechanismExhausted):
            alarm.ask(1000, rng=NoSource())

    def test_noes_are_free(self) -> None:
        alarm = self.make(count=1)
        assert not any(alarm.release([-1000] * 500, rng=seeded(34)))
        assert alarm.left == 1

    def test_the_threshold_is_drawn_once(self) -> None:
        alarm = self.make(count=3)
        rng = seeded(35)
        seen = set()
        for _ in range(3):
            alarm.ask(1000, rng=rng)
            seen.add(alarm._noisy_threshold)
        assert len(seen) == 1

    def test_the_split_adds_up_exactly(self) -> None:
        for times in (1, 2, 3, 7, 200):
            first, second = split_epsilon(Fraction(1, 10), times)
            assert first + second == Fraction(1, 10)
            assert second / first == pytest.approx(times ** (2 / 3), rel=1e-3)

    def test_monotone_values_need_half_the_noise(self) -> None:
        assert self.make(monotone=True)._value_scale < self.make()._value_scale
        with pytest.raises(NotProved):
            self.make(monotone=True, neighbours="replace")

    def test_secret_state_is_not_shared(self) -> None:
        alarm = self.make()
        alarm.ask(0, rng=seeded(36))
        for share in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(SecretState):
                share(alarm)
        assert str(alarm._noisy_threshold) not in repr(alarm)
        assert repr(alarm) == "AboveThreshold(epsilon=2, left=1)"

    def test_a_child_process_cannot_ask(self) -> None:
        assert refused_in_a_child(lambda alarm: alarm.ask(0), self.make())


def refused_in_a_child(use, secret) -> bool:
    """Whether using the object after a fork raises SecretState there."""
    reader, writer = os.pipe()
    context = multiprocessing.get_context("fork")

    def child() -> None:
        try:
            use(secret)
        except SecretState:
            os.write(writer, b"refused")
        else:
            os.write(writer, b"answered")

    process = context.Process(target=child)
    process.start()
    process.join()
    told = os.read(reader, 100)
    os.close(reader)
    os.close(writer)
    return told == b"refused"
