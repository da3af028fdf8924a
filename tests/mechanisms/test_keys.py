from __future__ import annotations

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hubbub.mechanisms import OptimalPartitionSelection, ThresholdPartitionSelection
from hubbub.mechanisms.common.thresholds import gaussian_threshold, laplace_threshold, share_of
from hubbub.mechanisms.partition_selection import keep_chances
from hubbub.noise.testing import seeded
from hubbub.terms import ApproximateStep, ConcentratedStep, MissingParameter, NotANumber, OutOfRange, TooLarge

from .contract import BAD_NUMBERS, BAD_PROBABILITIES, Contract
from .laws import gaussian_masses, laplace_mass


class KeysContract(Contract):
    """One key; an outcome is its noisy count, or that it was named, or None."""

    standard = {"epsilon": 1, "delta": 0.05, "max_keys_per_unit": 1}
    delta = 0.05
    needs = ("epsilon", "delta", "max_keys_per_unit")
    width = None
    trials = 30_000
    bad = {
        "epsilon": BAD_NUMBERS,
        "delta": BAD_PROBABILITIES,
        "max_keys_per_unit": [(0, OutOfRange), (1.5, OutOfRange), ("1", NotANumber)],
    }
    bad_data = [({"a": 1.0}, NotANumber), ({"a": "1"}, NotANumber), ({"a": math.nan}, NotANumber)]
    odd_data = [{}, {"a": 0, "b": -3}, {"a": 10**30}, {("a", 1): 5, 3: 5, None: 5, "x": np.int64(7)}]

    def run(self, mechanism, data, rng):
        return mechanism.release({"a": data} if isinstance(data, int) else data, rng=rng)

    def outcomes(self, data, trials, rng, **changes):
        named = self.make(**changes).release(dict.fromkeys(range(trials), data), rng=rng)
        return [named[k] if isinstance(named, dict) else 1 for k in named] + [None] * (trials - len(named))

    def named(self, mechanism, count, trials, seed):
        return len(mechanism.release(dict.fromkeys(range(trials), count), rng=seeded(seed))) / trials

    def errors(self, trials, rng):
        return [], self.make().error

    @pytest.mark.parametrize("confidence", [0.8, 0.95])
    def test_error_holds_and_is_not_too_wide(self, confidence, soak) -> None:
        mechanism, trials = self.make(), 40_000 * soak
        slack = 4 * math.sqrt(confidence * (1 - confidence) / trials)
        people = mechanism.error(confidence)
        assert self.named(mechanism, people, trials, 61) >= confidence - slack
        assert self.named(mechanism, people - 1, trials, 62) < confidence - slack

    def test_nobody_is_never_named(self) -> None:
        assert not self.make().release(dict.fromkeys(range(1000), 0), rng=seeded(63))

    def test_a_person_alone_is_named_with_probability_delta_at_most(self, soak) -> None:
        trials = 200_000 * soak
        for keys in (1, 3):
            mechanism = self.make(max_keys_per_unit=keys, epsilon=keys)
            each = self.named(mechanism, 1, trials, 64)
            assert 1 - (1 - each + 5 * math.sqrt(0.05 / trials)) ** keys <= 0.05 + 10 * math.sqrt(0.05 / trials)

    def test_the_order_does_not_tell_the_order_of_the_input(self) -> None:
        counts = dict.fromkeys(("d", "b", 3, "a", ("t", 1)), 1000)
        mixed = dict(reversed(counts.items()))
        assert list(self.make().release(counts)) == list(self.make().release(mixed))


class TestThresholdPartitionSelection(KeysContract):
    kind = ThresholdPartitionSelection
    data = 6
    neighbours = (5, 6)
    bad = {
        **KeysContract.bad,
        "epsilon": [*BAD_NUMBERS, (None, MissingParameter)],
        "rho": [(1, MissingParameter)],
        "noise": [("cauchy", OutOfRange), (None, OutOfRange)],
    }

    def masses(self):
        mass = laplace_mass(1)
        return {6 + x: mass(x) for x in range(self.make().threshold - 6, 60)}

    def test_mass_at_the_threshold_counts(self) -> None:
        # delta = 0.05 and epsilon = 1: P(1 + X >= 4) = 0.036, and P(1 + X >= 3) = 0.099 would be too much
        assert self.make().threshold == 4
        p = math.exp(-1)
        assert p**3 / (1 + p) <= 0.05 < p**2 / (1 + p)

    def test_a_threshold_one_lower_would_be_seen(self, soak) -> None:
        mechanism = self.make()
        assert self.named(mechanism, 1, 100_000 * soak, 65) < 0.05
        mechanism.threshold -= 1
        assert self.named(mechanism, 1, 100_000 * soak, 66) > 0.08

    def test_half_the_noise_would_be_seen_even_at_the_right_threshold(self, soak) -> None:
        mechanism = self.make(delta=0.001)
        mechanism.scale /= 2
        named = [[*mechanism.release(dict.fromkeys(range(60000), n), rng=seeded(67 + n)).values()] for n in (8, 9)]
        low = mechanism.threshold
        a, b = (sum(v <= low for v in values) / 60_000 for values in named)
        assert a > math.e * b + 0.001

    def test_gaussian_noise_keeps_delta_for_both(self) -> None:
        mechanism = self.make(noise="gaussian", delta=1e-6, max_keys_per_unit=4)
        assert isinstance(mechanism.event, ApproximateStep)
        masses = gaussian_masses(float(mechanism.scale))
        tail = sum(mass for x, mass in masses.items() if 1 + x >= mechanism.threshold)
        assert 1 - (1 - tail) ** 4 <= 0.5e-6

    def test_rho_goes_with_gaussian_noise(self) -> None:
        event = self.make(epsilon=None, rho=0.1, noise="gaussian").event
        assert event == ConcentratedStep(mechanism="threshold-keys", rho=Fraction(1, 10), delta=Fraction(1, 20))
        with pytest.raises(MissingParameter):
            self.make(epsilon=None, rho=0.1)

    def test_replacement_moves_twice_as_many_keys(self) -> None:
        one, two = self.make(neighbours="replace"), self.make(max_keys_per_unit=2)
        assert (one.scale, one.threshold) == (two.scale, two.threshold)

    @pytest.mark.parametrize("noise", ["laplace", "gaussian"])
    def test_count_error_holds(self, noise, soak) -> None:
        mechanism, trials = self.make(noise=noise), 20_000 * soak
        noisy = np.array([*mechanism.release(dict.fromkeys(range(trials), 10**6), rng=seeded(68)).values()]) - 10**6
        w = mechanism.count_error(0.9)
        assert np.mean(np.abs(noisy) <= w) >= 0.9 - 4 * 0.3 / math.sqrt(trials)
        assert np.mean(np.abs(noisy) <= w - 1) < 0.9


class TestOptimalPartitionSelection(KeysContract):
    kind = OptimalPartitionSelection
    data = 3
    neighbours = (1, 2)

    def masses(self):
        chance = 0.0
        for _ in range(3):
            chance = min(math.e * chance + 0.05, 1 - (1 - chance - 0.05) / math.e, 1)
        return {1: chance, None: 1 - chance}

    @pytest.mark.parametrize(("epsilon", "delta"), [(1, 0.05), (0.1, 1e-6), (3, 1e-12), (20, 0.5)])
    def test_probabilities_are_the_largest_that_are_allowed(self, epsilon, delta) -> None:
        chances = keep_chances(Fraction(str(epsilon)), Fraction(str(delta)))
        with mpmath.workdps(80):
            grow, d = mpmath.exp(mpmath.mpf(str(epsilon))), mpmath.mpf(str(delta))
            exact = mpmath.mpf(0)
            for before, chance in itertools.pairwise(chances):
                p, c = (mpmath.mpf(x.numerator) / x.denominator for x in (before, chance))
                assert p <= c <= grow * p + d
                assert 1 - p <= grow * (1 - c) + d
                exact = min(grow * exact + d, 1 - (1 - exact - d) / grow, 1)
                assert exact - mpmath.mpf(10) ** -25 <= c <= exact
        assert chances[0] == 0
        assert chances[-1] == 1

    def test_a_table_without_end_is_refused(self) -> None:
        with pytest.raises(TooLarge):
            self.make(epsilon=1e-7, delta=1e-12)

    def test_no_threshold_names_more(self) -> None:
        best, other = self.make(delta=1e-6), ThresholdPartitionSelection(epsilon=1, delta=1e-6, max_keys_per_unit=1)
        p = math.exp(-1)
        for people in range(1, 30):
            below = other.threshold - people
            named = p**below / (1 + p) if below >= 0 else 1 - p ** (1 - below) / (1 + p)
            assert float(best.chance(people)) >= named - 1e-12


@pytest.mark.parametrize("scale", [Fraction(1, 2), Fraction(1), Fraction(10), Fraction(12345, 7)])
@pytest.mark.parametrize("tries", [1, 2, 1000])
@pytest.mark.parametrize("chance", [Fraction(1, 20), Fraction(1, 10**6), Fraction(1, 10**40)])
def test_the_laplace_threshold_is_the_least(scale: Fraction, tries: int, chance: Fraction) -> None:
    with mpmath.workdps(120):
        p = mpmath.exp(-mpmath.mpf(scale.denominator) / scale.numerator)
        allowed = mpmath.mpf(chance.numerator) / chance.denominator
        m = laplace_threshold(scale, tries=tries, chance=chance)
        assert 1 - (1 - p**m / (1 + p)) ** tries <= allowed
        assert m == 1 or 1 - (1 - p ** (m - 1) / (1 + p)) ** tries > allowed


@pytest.mark.parametrize("sigma", [Fraction(1, 2), Fraction(10), Fraction(3000)])
@pytest.mark.parametrize("chance", [Fraction(1, 20), Fraction(1, 10**9)])
def test_the_gaussian_threshold_is_at_most_two_steps_above_the_least(sigma: Fraction, chance: Fraction) -> None:
    m = gaussian_threshold(sigma, tries=5, chance=chance)
    masses = gaussian_masses(float(sigma))

    def passes(at: int) -> float:
        return 1 - (1 - math.fsum(mass for x, mass in masses.items() if x >= at)) ** 5  # type: ignore[operator]

    assert passes(m) <= chance
    assert m <= 2 or passes(m - 3) > chance


def test_a_tiny_delta_asks_for_laplace_noise() -> None:
    with pytest.raises(OutOfRange):
        gaussian_threshold(Fraction(1), tries=1, chance=Fraction(1, 10**300))


@pytest.mark.parametrize("tries", [1, 2, 7, 1000])
def test_a_share_of_delta_adds_up_to_at_most_delta(tries: int) -> None:
    share = share_of(Fraction(1, 10**6), tries)
    with mpmath.workdps(100):
        s = mpmath.mpf(share.numerator) / share.denominator
        assert 1 - (1 - s) ** tries <= mpmath.mpf(10) ** -6
        assert 1 - (1 - s) ** tries >= mpmath.mpf(10) ** -6 * (1 - mpmath.mpf(10) ** -20)
