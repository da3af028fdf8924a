"""Which keys may be named, when the list of keys is itself private."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from fractions import Fraction
from typing import TypeVar

import numpy as np

from hubbub import noise as raw
from hubbub.mechanisms.common.error_quantiles import gaussian_error, laplace_error
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.price_arguments import one_of
from hubbub.mechanisms.common.thresholds import gaussian_threshold, laplace_threshold, share_of
from hubbub.mechanisms.gaussian import DiscreteGaussian
from hubbub.noise import enclose_exp_neg
from hubbub.terms import (
    ApproximateStep,
    ConcentratedStep,
    MissingParameter,
    Neighbours,
    NotANumber,
    OutOfRange,
    Real,
    TooLarge,
    Unit,
    WrongShape,
    fraction_of,
    positive,
    root_of,
    whole,
)

K = TypeVar("K", bound=Hashable)

_MOST_KEYS = 2**32  # of one unit
_LONGEST_TABLE = 1 << 22


class ThresholdPartitionSelection(Mechanism):
    """Name the keys whose noisy number of people reaches a threshold, with that noisy number.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, or delta-approximate rho-zCDP if ``rho`` is
    given, if the counts are of units per key and one unit counts under at most ``max_keys_per_unit`` keys (the
    caller bounds that; this class does not).
    Because: [KKMN09] through ``docs/proofs/keys.md``: noise of L1 (Laplace) or L2 (Gaussian) sensitivity for the keys
    that both data sets have; a key that one person alone has is named with probability at most
    1 - (1 - delta)^(1/k) each, the mass at the threshold included.
    Error: a key of ``error(confidence)`` people is named with at least that confidence; its noisy count is within
    ``count_error(confidence)`` before the threshold is applied, and biased upwards near it.
    Not covered: running time. Keys that nobody has are never named.

    >>> from hubbub.noise.testing import seeded
    >>> words = ThresholdPartitionSelection(epsilon=1, delta=1e-6, max_keys_per_unit=1)
    >>> words.threshold
    15
    >>> words.release({"flu": 120, "rare": 2}, rng=seeded(7))
    {'flu': 120}
    """

    def __init__(
        self,
        *,
        delta: Real,
        max_keys_per_unit: int,
        epsilon: Real | None = None,
        rho: Real | None = None,
        noise: str = "laplace",
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        way, cost = one_of(epsilon=epsilon, rho=rho)
        self._gaussian = _is_gaussian(noise, way)
        chance = fraction_of(delta, name="delta")
        keys = _moved_counts(max_keys_per_unit, relation)
        if way == "rho":
            self.scale = root_of(keys / (2 * cost))
            left = chance
        elif self._gaussian:
            left = chance / 2  # half for the noise, half for the keys of one person alone
            noisy = DiscreteGaussian(sensitivity=root_of(keys), epsilon=cost, delta=left, dimension=keys)
            self.scale = noisy.event.sigma
        else:
            self.scale = keys / cost
            left = chance
        threshold = gaussian_threshold if self._gaussian else laplace_threshold
        self.threshold = 1 + threshold(self.scale, tries=keys, chance=left)  # a person alone has a count of 1
        name, whom = "threshold-keys", unit or Unit()
        self.event: ApproximateStep | ConcentratedStep = (
            ConcentratedStep(mechanism=name, rho=cost, delta=chance, neighbours=relation, unit=whom)
            if way == "rho"
            else ApproximateStep(mechanism=name, epsilon=cost, delta=chance, neighbours=relation, unit=whom)
        )

    def release(self, counts: Mapping[K, int], *, rng: raw.RandomSource | None = None) -> dict[K, int]:
        """The named keys with their noisy counts, in an order that tells nothing about the input's."""
        people = present_keys(counts)
        draw = raw.discrete_gaussian if self._gaussian else raw.discrete_laplace
        noisy = zip(people, draw(self.scale, len(people), rng=rng).tolist(), strict=True)
        kept = {key: people[key] + drawn for key, drawn in noisy if people[key] + drawn >= self.threshold}
        return {key: kept[key] for key in sorted(kept, key=public_order)}

    def error(self, confidence: Real) -> int:
        """How many people a key needs to be named with that confidence."""
        level = fraction_of(confidence, name="confidence")
        one_sided = 2 * level - 1  # noise that falls by more than the two-sided error does so half as often
        return self.threshold + (self.count_error(one_sided) if one_sided > 0 else 0)

    def count_error(self, confidence: Real) -> int:
        """The distance that a noisy count stays within, with that confidence, before the threshold is applied."""
        return (gaussian_error if self._gaussian else laplace_error)(self.scale, confidence)


class OptimalPartitionSelection(Mechanism):
    """Name each key with the highest probability that its number of people allows; counts are not released.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours, if the counts are of units per key and one unit
    counts under at most ``max_keys_per_unit`` keys (the caller bounds that; this class does not).
    Because: [DVGM22, Thm. 1] for one key; for k keys each decision is (epsilon / k, 1 - (1 - delta)^(1/k))-DP and they
    compose [KOV15, Thm. 3.3]; ``docs/proofs/keys.md`` has the rounding of the probabilities.
    Error: a key of ``error(confidence)`` people is named with at least that confidence.
    Not covered: running time. Keys that nobody has are never named.

    >>> from hubbub.noise.testing import seeded
    >>> words = OptimalPartitionSelection(epsilon=1, delta=1e-6, max_keys_per_unit=1)
    >>> words.error(0.95), round(float(words.chance(14)), 3)
    (16, 0.7)
    >>> words.release({"flu": 120, "rare": 2}, rng=seeded(7))
    ['flu']
    """

    def __init__(
        self,
        *,
        epsilon: Real,
        delta: Real,
        max_keys_per_unit: int,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        cost, chance = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta")
        keys = _moved_counts(max_keys_per_unit, relation)
        self._chances = keep_chances(cost / keys, share_of(chance, keys))
        self.event: ApproximateStep = ApproximateStep(
            mechanism="optimal-keys", epsilon=cost, delta=chance, neighbours=relation, unit=unit or Unit()
        )

    def chance(self, people: int) -> Fraction:
        """The probability that a key of so many people is named."""
        return self._chances[min(whole(people, name="people", least=0), len(self._chances) - 1)]

    def release(self, counts: Mapping[K, int], *, rng: raw.RandomSource | None = None) -> list[K]:
        """The named keys, in an order that tells nothing about the input's."""
        by_count: dict[int, list[K]] = {}
        for key, people in present_keys(counts).items():
            by_count.setdefault(min(people, len(self._chances) - 1), []).append(key)
        kept: list[K] = []
        for people, keys in by_count.items():
            flips = raw.bernoulli(self._chances[people], len(keys), rng=rng)
            kept += [keys[i] for i in np.flatnonzero(flips)]
        return sorted(kept, key=public_order)

    def error(self, confidence: Real) -> int:
        """How many people a key needs to be named with that confidence."""
        level = fraction_of(confidence, name="confidence")
        return next(people for people, chance in enumerate(self._chances) if chance >= level)


def keep_chances(epsilon: Fraction, delta: Fraction) -> list[Fraction]:
    """The largest probabilities 0 = c(0) <= c(1) <= ... <= 1 that keep neighbouring counts (epsilon, delta)-close.

    c(n) = min(e^eps c(n-1) + delta, 1 - e^-eps (1 - c(n-1) - delta), 1), every operation rounded down: a smaller
    probability is also allowed, as long as it does not fall below the one before.
    """
    epsilon = min(epsilon, Fraction(1000))  # beyond it a second person is as good as certain to be enough
    _check_length(float(epsilon), float(delta))
    bits = 128 + 2 * delta.denominator.bit_length()
    one = 1 << bits
    high = enclose_exp_neg(epsilon, bits)[1]  # e^-eps, rounded up
    least = (delta.numerator << bits) // delta.denominator
    chances = [0]
    while chances[-1] < one:
        last = chances[-1]
        grown = (last << bits) // high + least
        shrunk = one - -(-(max(0, one - last - least) * high) // one)
        chances.append(max(last, min(grown, shrunk, one)))
    return [Fraction(chance, one) for chance in chances]


def public_order(key: object) -> tuple[str, str]:
    """A sort key that depends on the key itself and on nothing else."""
    return type(key).__name__, repr(key)


def _moved_counts(max_keys_per_unit: object, neighbours: Neighbours) -> int:
    """How many counts one unit moves: its keys, and under replacement those of its replacement as well."""
    return whole(max_keys_per_unit, name="max_keys_per_unit", most=_MOST_KEYS) * (
        2 if neighbours is Neighbours.REPLACE else 1
    )


def present_keys(counts: Mapping[K, int]) -> dict[K, int]:
    """Counts of at least one: a key of nobody is not there, whatever the caller listed."""
    if not isinstance(counts, Mapping):
        raise WrongShape(
            "counts must map each key to a number of people.",
            why="Keys are chosen by how many units have them.",
            fix="Give a dict: {key: people}.",
        )
    if not all(isinstance(count, int | np.integer) for count in counts.values()):
        raise NotANumber(
            "counts of people were expected and something else came.",
            why="Keys are chosen by how many units have them.",
            fix="Count distinct units per key and pass integers.",
        )
    return {key: int(count) for key, count in counts.items() if count >= 1}


def _is_gaussian(noise: object, way: str) -> bool:
    if noise not in ("laplace", "gaussian"):
        raise OutOfRange(
            f"noise must be 'laplace' or 'gaussian' and is {noise!r}.",
            why="These two distributions are calibrated here.",
            fix='Write noise="laplace" or noise="gaussian".',
        )
    if way == "rho" and noise == "laplace":
        raise MissingParameter(
            "rho goes with Gaussian noise.",
            why="The cost of Laplace noise is an epsilon.",
            fix='Write noise="gaussian", or epsilon=... instead of rho.',
        )
    return noise == "gaussian"


def _check_length(epsilon: float, delta: float) -> None:
    small = max(epsilon, 1e-300)
    steps = 2 * math.log1p(math.expm1(min(small, 100.0)) / (2 * max(delta, 1e-300))) / small  # nearly
    if steps > _LONGEST_TABLE:
        raise TooLarge(
            "so small an epsilon per key needs a table of more than four million probabilities.",
            why="The probability of a key grows with epsilon / max_keys_per_unit from one person to the next.",
            fix="Use a larger epsilon, fewer keys per unit, or ThresholdPartitionSelection.",
        )
