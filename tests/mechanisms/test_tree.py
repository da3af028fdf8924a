from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from hubbub.mechanisms import TreeCounter
from hubbub.noise.testing import seeded
from hubbub.terms import (
    GaussianNoise,
    LaplaceNoise,
    MechanismExhausted,
    MissingParameter,
    NotANumber,
    OutOfRange,
    SecretState,
    WrongShape,
)

from .contract import BAD_NUMBERS, BAD_PROBABILITIES, Contract
from .laws import NoSource, laplace_masses
from .test_sparse_vector import refused_in_a_child


class TestTreeCounter(Contract):
    kind = TreeCounter
    standard = {"horizon": 4, "epsilon": 1}
    data = [0, 0, 0, 0]
    neighbours = ([0, 0, 0, 0], [1, 0, 0, 0])
    trials = 3_000
    bad = {
        "epsilon": [*BAD_NUMBERS, (None, MissingParameter)],
        "delta": BAD_PROBABILITIES,
        "rho": [(1, MissingParameter)],
        "horizon": [(0, OutOfRange), (1.5, OutOfRange), ("1", NotANumber)],
        "max_change": [(0, OutOfRange), (1.5, OutOfRange)],
    }
    bad_data = [([1.0], NotANumber), ([math.nan], NotANumber), (["1"], NotANumber), ([[1, 2]], WrongShape)]
    odd_data = [
        [2**63, -1],
        [np.int64(3)],
        [10**30, -(10**30), 2**63, 0],
        [],
        [2**63 - 1] * 4,
        np.array([2**63 - 1, -(2**63)]),
    ]

    def sums(self, data, rng, **changes):
        """The four noisy partial sums, of 1, 2, 1 and 4 elements, from the four totals."""
        y = self.make(**changes).release(data, rng=rng).tolist()
        return y[0], y[1], y[2] - y[1], y[3]

    def outcomes(self, data, trials, rng, **changes):
        return [x for _ in range(trials) for x in self.sums(data, rng, **changes)]

    def masses(self):
        return laplace_masses(3)  # an element is part of three sums

    def test_neighbours_cannot_be_told_apart_beyond_epsilon(self, soak) -> None:
        # the first element is in the sums of 1, 2 and 4: how many of the three came out at least 1 tells most
        a, b = ([self.signs(d, rng) for _ in range(self.repeats(soak))] for d, rng in self.pairs())
        from .laws import breach

        assert not breach(a, b, epsilon=1)

    def test_half_the_noise_would_be_seen(self, soak) -> None:
        a, b = ([self.signs(d, rng, epsilon=2) for _ in range(3 * self.repeats(soak))] for d, rng in self.pairs())
        from .laws import breach

        assert breach(a, b, epsilon=1)

    def pairs(self):
        return [(d, seeded(71 + i)) for i, d in enumerate(self.neighbours)]

    def signs(self, data, rng, **changes):
        first, second, _, fourth = self.sums(data, rng, **changes)
        return tuple(x >= 1 for x in (first, second, fourth))

    def errors(self, trials, rng):
        counters = [self.make(horizon=7, epsilon=0.2) for _ in range(trials)]
        return [int(c.release([0] * 7, rng=rng)[-1]) for c in counters], counters[0].error

    def test_gaussian_error_holds_too(self, soak) -> None:
        counters = [self.make(horizon=7, epsilon=None, rho=0.01) for _ in range(3000 * soak)]
        rng = seeded(73)
        errors = np.array([int(c.release([0] * 7, rng=rng)[-1]) for c in counters])
        told = counters[0].error(0.9)
        assert np.mean(np.abs(errors) <= told) >= 0.9 - 4 * 0.3 / math.sqrt(errors.size)
        assert np.mean(np.abs(errors) <= 0.8 * told) < 0.9 - 4 * 0.3 / math.sqrt(errors.size)

    @pytest.mark.parametrize("horizon", [1, 2, 3, 4, 7, 8, 13, 16])
    def test_no_element_moves_the_partial_sums_by_more_than_the_sensitivity(self, horizon) -> None:
        released = []
        for t in range(1, horizon + 1):  # the sum completed at t runs over the last (t & -t) elements
            released.append(range(t - (t & -t), t))
        touched = max(sum(element in span for span in released) for element in range(horizon))
        event = self.make(horizon=horizon, max_change=2).event
        assert isinstance(event, LaplaceNoise)
        assert event.sensitivity == 2 * touched
        assert event.dimension == len(released)
        gaussian = self.make(horizon=horizon, max_change=2, epsilon=None, rho=1).event
        assert isinstance(gaussian, GaussianNoise)
        assert 4 * touched <= gaussian.sensitivity**2 <= 4 * touched * 1.002

    @pytest.mark.parametrize("horizon", [1, 5, 8, 100])
    def test_totals_are_prefix_sums(self, horizon) -> None:
        values = np.random.default_rng(5).integers(-1000, 1000, horizon)
        counter = TreeCounter(horizon=horizon, epsilon=200)
        totals = [counter.add(int(v), rng=seeded(i)) for i, v in enumerate(values)]
        assert np.abs(np.array(totals) - np.cumsum(values)).max() <= 3

    def test_release_continues_where_add_stopped(self) -> None:
        counter = TreeCounter(horizon=4, epsilon=500)
        rng = seeded(74)
        assert counter.add(5, rng=rng) == 5
        assert counter.release([1, 1], rng=rng).tolist() == [6, 7]
        assert counter.time == 3

    def test_a_stream_ends_at_its_horizon(self) -> None:
        counter = self.make()
        counter.release([1, 1, 1], rng=seeded(75))
        with pytest.raises(MechanismExhausted):
            counter.release([1, 1], rng=NoSource())
        counter.add(1, rng=seeded(76))
        with pytest.raises(MechanismExhausted):
            counter.add(1, rng=NoSource())

    def test_secret_state_is_not_shared(self) -> None:
        counter = self.make()
        counter.add(123456, rng=seeded(77))
        for share in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(SecretState):
                share(counter)
        assert repr(counter) == "TreeCounter(horizon=4, time=1)"

    def test_a_child_process_cannot_add(self) -> None:
        assert refused_in_a_child(lambda counter: counter.add(1), self.make())
