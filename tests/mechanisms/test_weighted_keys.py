"""Weights, noise and threshold of weighted key selection: each as large as the proof asks for, and no larger."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy.special import ndtr

from hubbub.accounting import costs, epsilon
from hubbub.accounting.either_way import basic_cost, own_delta, without_own
from hubbub.mechanisms import WeightedPartitionSelection
from hubbub.mechanisms.common import KeyWeights
from hubbub.noise.testing import seeded
from hubbub.terms import GaussianKeys, MissingParameter, Neighbours, NoBound, OutOfRange

from .contract import BAD_NUMBERS
from .laws import gaussian_masses
from .test_keys import KeysContract

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
OWN = Fraction(1, 10**8)


class TestWeightedPartitionSelection(KeysContract):
    """Of one key a person counts 1; an outcome is the key's noisy number, or None."""

    kind = WeightedPartitionSelection
    standard = {"epsilon": 1, "delta": 0.04, "max_keys_per_unit": 1}
    data = 6
    neighbours = (5, 6)
    bad = {
        **KeysContract.bad,
        "epsilon": [*BAD_NUMBERS, (None, MissingParameter)],
        "rho": [(1, MissingParameter)],
        "sigma": [(1, MissingParameter)],
        "own": [(0, OutOfRange), (1, OutOfRange)],
    }

    def masses(self):
        mechanism = self.make()
        masses = gaussian_masses(float(mechanism.scale), center=6)
        return {x: mass for x, mass in masses.items() if x >= mechanism.threshold}

    def test_a_person_alone_is_named_with_probability_delta_at_most(self, soak) -> None:
        """With all keys that are allowed, each with its weight; the threshold is hardly higher than that asks for."""
        trials = 400_000 * soak
        for keys in (1, 3):
            mechanism = self.make(max_keys_per_unit=keys, epsilon=keys, delta=0.01, own=0.05)
            chances = []
            for j, weight in mechanism.weights.steps:
                each = self.named(mechanism, weight, trials, 64)
                chances.append(1 - (1 - each) ** j)
            assert max(chances) <= 0.05 + 15 * math.sqrt(0.05 / trials)
            assert keys == 1 or max(chances) >= 0.045  # of whole numbers near 2, a step is more than that

    def test_a_threshold_a_tenth_lower_would_be_seen(self, soak) -> None:
        mechanism = self.make(max_keys_per_unit=4, own=0.05)
        worst = max(mechanism.weights.steps, key=lambda step: _alone(mechanism, *step))
        trials = 200_000 * soak
        keys, weight = worst
        assert 1 - (1 - self.named(mechanism, weight, trials, 65)) ** keys < 0.05 + 0.004
        mechanism.threshold = math.floor(0.9 * mechanism.threshold)
        assert 1 - (1 - self.named(mechanism, weight, trials, 66)) ** keys > 0.06

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_count_error_holds(self, confidence: float, soak) -> None:
        mechanism, trials = self.make(max_keys_per_unit=4), 20_000 * soak
        noisy = np.array([*mechanism.release(dict.fromkeys(range(trials), 10**9), rng=seeded(68)).values()]) - 10**9
        inside = np.mean(np.abs(noisy) <= mechanism.count_error(confidence))
        assert abs(inside - confidence) <= 4 * math.sqrt(confidence * (1 - confidence) / trials)


def _tails(sigma: Fraction) -> tuple[Any, int]:
    """P(X >= x) of the discrete Gaussian at x + reach."""
    reach = math.ceil(12 * float(sigma))
    masses = np.exp(-0.5 * (np.arange(-reach, reach + 1) / float(sigma)) ** 2)
    return np.append(np.cumsum(masses[::-1])[::-1], 0.0) / masses.sum(), reach


def _alone(mechanism: WeightedPartitionSelection, keys: int, weight: int, threshold: int | None = None) -> float:
    """The exact chance that a unit alone under so many keys has any of them named."""
    beyond = (mechanism.threshold if threshold is None else threshold) - weight
    if mechanism.scale > 1000:  # the continuous tail from half a step before, to a millionth
        each = float(ndtr((0.5 - beyond) / float(mechanism.scale)))
    else:
        tails, reach = _tails(mechanism.scale)
        each = float(tails[beyond + reach])
    return -math.expm1(keys * math.log1p(-each))


@pytest.mark.parametrize("most", [1, 2, 5, 20, 200])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_unit_of_any_number_of_keys_alone_is_named_with_own_at_most(most: int, relation: Neighbours) -> None:
    """Exactly, for every number of keys; and the worst of them nearly reaches it, so that 10% less is too little."""
    mechanism = WeightedPartitionSelection(max_keys_per_unit=most, epsilon=1, delta=1e-6, own=OWN, neighbours=relation)
    numbers = range(1, most + 1)
    chances = [_alone(mechanism, keys, mechanism.weights.of(keys)) for keys in numbers]
    assert max(chances) <= OWN
    assert max(chances) >= float(OWN) * 0.5 or most == 1  # whole people are coarse
    lower = math.floor(0.9 * mechanism.threshold)
    assert max(_alone(mechanism, keys, mechanism.weights.of(keys), lower) for keys in numbers) > OWN


@pytest.mark.parametrize("most", [1, 2, 3, 20, 128, 129, 700, 10**6, 2**32])
def test_no_unit_is_longer_than_all_keys_at_one(most: int) -> None:
    """Weights are rounded down, and one part more would be too long: the noise is for exactly this length."""
    weights = KeyWeights(most, weighted=True)
    length = weights.length(ADD_REMOVE)
    assert weights.steps[-1] == (most, weights.one)
    for keys, weight in weights.steps:
        assert keys * weight**2 <= weights.one**2 * most <= length**2
        assert keys * (weight + 1) ** 2 > weights.one**2 * most
    assert length - Fraction(1, 512) <= weights.one * math.isqrt(most * 4**40) / Fraction(2**40) + Fraction(1, 512)


@pytest.mark.parametrize("most", [1, 7, 128, 300, 5000])
def test_a_number_of_keys_between_two_steps_has_the_weight_of_the_next(most: int) -> None:
    weights = KeyWeights(most, weighted=True)
    known = [weights.of(keys) for keys in range(1, most + 1)]
    assert known == sorted(known, reverse=True)
    for keys, weight in enumerate(known, start=1):
        assert keys * weight**2 <= weights.one**2 * most
        assert weight >= weights.one * math.sqrt(most / keys) * 0.98 - 1
    assert len(KeyWeights(2**32, weighted=True).steps) < 1000


def test_unweighted_everybody_counts_one() -> None:
    weights = KeyWeights(20, weighted=False)
    assert (weights.one, weights.steps, weights.of(3)) == (1, ((20, 1),), 1)
    assert weights.length(ADD_REMOVE) ** 2 >= 20 > (weights.length(ADD_REMOVE) - Fraction(1, 1024)) ** 2


@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_the_noise_costs_what_was_asked_for_and_a_tenth_less_would_cost_more(relation: Neighbours) -> None:
    asked = {"max_keys_per_unit": 20, "own": OWN, "neighbours": relation}
    by_rho = WeightedPartitionSelection(rho=0.1, **asked).event
    rho, own = costs.concentrated(by_rho, relation)  # type: ignore[misc]
    assert own == OWN
    assert Fraction(999, 10_000) < rho <= Fraction(1, 10)
    event = WeightedPartitionSelection(epsilon=1, delta=1e-6, **asked).event
    tail = Fraction(1, 10**6)
    cost = basic_cost(event, relation, tail=tail, stated=Fraction(1))
    assert cost is not None and cost.epsilon == 1
    less = GaussianKeys(
        sigma=event.sigma * 9 / 10, sensitivity=event.sensitivity, grid=event.grid, own=OWN, neighbours=relation
    )
    assert basic_cost(less, relation, tail=tail).epsilon > 1.1  # type: ignore[union-attr]
    ratio = float(event.sensitivity) / KeyWeights(20, weighted=True).one
    assert math.isclose(ratio**2, 20 if relation is ADD_REMOVE else 40, rel_tol=1e-6)


def test_delta_is_halved_unless_own_is_given() -> None:
    halved = WeightedPartitionSelection(max_keys_per_unit=3, epsilon=1, delta=1e-6).event
    given = WeightedPartitionSelection(max_keys_per_unit=3, epsilon=1, delta=5e-7, own=5e-7).event
    assert halved == given


def test_the_own_delta_is_taken_off_once() -> None:
    event = WeightedPartitionSelection(max_keys_per_unit=3, rho=0.1, own=OWN).event
    assert own_delta(event, ADD_REMOVE) == OWN
    assert without_own(event, ADD_REMOVE) == event.noise
    assert without_own(event, REPLACE) is None
    assert costs.concentrated(event, REPLACE) is None
    assert costs.dominating_profile(event, REPLACE) is None
    with pytest.raises(NoBound):
        epsilon(event, delta=1e-6, neighbours=REPLACE)


def test_a_choice_alone_costs_its_noise_and_its_own_delta() -> None:
    asked = {"max_keys_per_unit": 20, "epsilon": 1, "delta": 1e-6, "own": 1e-7}
    event = WeightedPartitionSelection(**asked).event  # type: ignore[arg-type]
    cost = epsilon(event, delta=1.1e-6)
    assert (cost.method, 0.999 < cost <= 1) == ("keys apart", True)
    assert epsilon([event, event], delta=2.2e-6) < 2
    assert epsilon(event, delta=2e-7) > cost


@pytest.mark.parametrize("epsilon", [-1.0, 0.0, 0.3, 1.0, 2.0])
@pytest.mark.parametrize("lonely", [1, 2])
def test_the_profile_holds_on_a_mechanism_worked_out_in_full(epsilon: float, lonely: int) -> None:
    """Two keys, of which a person has one or both alone: every outcome's mass, both ways."""
    mechanism = WeightedPartitionSelection(max_keys_per_unit=2, rho=0.2, own=0.02)
    event, weight = mechanism.event, mechanism.weights.of(2)
    tails, reach = _tails(event.sigma)
    masses, threshold = tails[:-1] - tails[1:], mechanism.threshold

    def law(total: int) -> Any:
        """Masses of the noisy sums from the threshold on, and of silence; a key of nobody is silent."""
        if total == 0:
            return np.append(np.zeros(len(masses)), 1.0)
        sums = np.arange(-reach, reach + 1) + total
        shown = np.where(sums >= threshold, masses, 0.0)
        placed = np.roll(shown, total)  # by the noisy sum itself, so that two laws can be compared
        return np.append(placed, 1 - shown.sum())

    crowd = 0 if lonely == 2 else threshold
    with_person, without = law(crowd + weight), law(crowd)
    alone = float(tails[threshold - weight + reach])
    profile = costs.dominating_profile(event, ADD_REMOVE)
    assert profile is not None
    bound = float(profile.remove(np.array([epsilon]))[0])
    e = math.exp(epsilon)
    # the other key is alone: with the person it is named with chance `alone`, which nobody else can do
    out = float(np.maximum(with_person * (1 - alone) - e * without, 0).sum()) + alone
    back = float(np.maximum(without - e * with_person * (1 - alone), 0).sum())
    assert out <= bound + 1e-9
    assert back <= bound + 1e-9


def test_what_is_given_twice_or_not_at_all_is_refused() -> None:
    for given in (
        {"epsilon": 1},
        {"epsilon": 1, "own": 0.1},
        {"rho": 1},
        {"rho": 1, "delta": 0.1},
        {"sigma": 3},
        {"epsilon": 1, "rho": 1, "delta": 0.1},
        {},
    ):
        with pytest.raises(MissingParameter):
            WeightedPartitionSelection(max_keys_per_unit=2, **given)  # type: ignore[arg-type]
