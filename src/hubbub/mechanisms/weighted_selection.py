"""Which keys may be named, when people of few keys count for more under each of theirs."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property

from hubbub import noise as raw
from hubbub.accounting import sigma_for
from hubbub.mechanisms.common.error_quantiles import gaussian_error
from hubbub.mechanisms.common.key_weights import KeyWeights
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.price_arguments import one_of
from hubbub.mechanisms.partition_selection import K, present_keys, public_order
from hubbub.noise import check_sigma
from hubbub.terms import (
    GaussianKeys,
    MissingParameter,
    Neighbours,
    Real,
    Unit,
    fraction_of,
    positive,
    root_of,
)

_LARGEST_EPSILON = Fraction(10**6)  # beyond it more is as good as no noise, and no double holds what follows


class WeightedPartitionSelection(Mechanism):
    """Name the keys whose noisy weighted number of people reaches a threshold, with that noisy number.

    A person under j keys counts ``weights.of(j)`` under each, which is sqrt(k/j) for at most k keys, in ``weights.one``
    parts and rounded down; unweighted, 1. The sums that are released come from the caller, who bounds and weighs.

    Guarantee: for the given unit and neighbours the parts of ``event``: (epsilon, delta)-close or rho-zCDP, but for a
    share ``own`` of the outputs; so (epsilon, delta + own)-DP, or own-approximate rho-zCDP; if ``sums`` adds up over
    units, one unit is under at most ``max_keys_per_unit`` keys, and counts that weight under each (the caller bounds
    that; this class does not).
    Because: ``docs/proofs/keys.md``, after [KKMN09]: sqrt(j) weights of sqrt(k/j) are sqrt(k) long for every j, so that
    discrete Gaussian noise [CKS20, Thm. 14] [BW18, Thm. 8] covers the keys that both data sets have; the threshold is
    such that a unit of j keys, each with its weight, has any of them named from its own weight alone with probability
    ``own`` at most, the mass at the threshold included.
    Error: a key with the sum ``error(confidence)`` is named with at least that confidence; its noisy sum is within
    ``count_error(confidence)`` before the threshold is applied, and biased upwards near it.
    Not covered: running time. Keys that nobody has are never named.

    >>> from hubbub.noise.testing import seeded
    >>> words = WeightedPartitionSelection(epsilon=1, delta=1e-6, max_keys_per_unit=4)
    >>> [words.weights.of(j) for j in (1, 2, 4)], words.weights.one
    ([8192, 5792, 4096], 4096)
    >>> named = words.release({"flu": 120 * 8192, "rare": 2 * 8192}, rng=seeded(7))
    >>> [*named], round(words.threshold / words.weights.one)
    (['flu'], 46)
    """

    def __init__(
        self,
        *,
        max_keys_per_unit: int,
        epsilon: Real | None = None,
        delta: Real | None = None,
        rho: Real | None = None,
        sigma: Real | None = None,
        own: Real | None = None,
        weighted: bool = True,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        """``delta`` is of the noise, and goes with epsilon; without ``own``, half of it is that."""
        relation = Neighbours.parse(neighbours)
        way, cost = one_of(epsilon=epsilon, rho=rho, sigma=sigma)
        noisy, lonely = _deltas(way, delta, own)
        self.weights = KeyWeights(max_keys_per_unit, weighted=weighted)
        length = self.weights.length(relation)
        moved = self.weights.most * (2 if relation is Neighbours.REPLACE else 1)
        self.event: GaussianKeys = GaussianKeys(
            sigma=check_sigma(_sigma(way, cost, noisy, length, moved)),
            sensitivity=length,
            grid=Fraction(1),
            own=lonely,
            dimension=moved,
            neighbours=relation,
            unit=unit or Unit(),
        )

    @cached_property
    def threshold(self) -> int:
        """The least noisy sum with which a key is named, worked out when it is asked for."""
        return self.weights.threshold(self.event.sigma, self.event.own)

    @property
    def scale(self) -> Fraction:
        """The standard deviation of the noise, in parts of a person."""
        return self.event.sigma

    def release(self, sums: Mapping[K, int], *, rng: raw.RandomSource | None = None) -> dict[K, int]:
        """The named keys with their noisy sums, in an order that tells nothing about the input's."""
        there = present_keys(sums)
        noisy = zip(there, raw.discrete_gaussian(self.scale, len(there), rng=rng).tolist(), strict=True)
        kept = {key: there[key] + drawn for key, drawn in noisy if there[key] + drawn >= self.threshold}
        return {key: kept[key] for key in sorted(kept, key=public_order)}

    def error(self, confidence: Real) -> int:
        """The sum that a key needs to be named with that confidence."""
        level = fraction_of(confidence, name="confidence")
        one_sided = 2 * level - 1  # noise that falls by more than the two-sided error does so half as often
        return self.threshold + (self.count_error(one_sided) if one_sided > 0 else 0)

    def count_error(self, confidence: Real) -> int:
        """The distance that a noisy sum stays within, with that confidence, before the threshold is applied."""
        return gaussian_error(self.scale, confidence)


def _deltas(way: str, delta: Real | None, own: Real | None) -> tuple[Fraction | None, Fraction]:
    """(that of the noise, the chance of keys of one unit alone)."""
    if (way == "epsilon") != (delta is not None) or (way != "epsilon" and own is None):
        raise MissingParameter(
            "epsilon goes with delta; rho and sigma go with own." if way == "epsilon" else f"{way} goes with own.",
            why="The keys of one unit alone are named with some chance, which is a delta.",
            fix="Write epsilon=..., delta=...; or rho=..., own=...",
        )
    if delta is None:
        return None, fraction_of(own, name="own")
    whole_delta = fraction_of(delta, name="delta")
    if own is None:
        return whole_delta / 2, whole_delta / 2
    return whole_delta, fraction_of(own, name="own")


def _sigma(way: str, cost: Fraction, delta: Fraction | None, length: Fraction, moved: int) -> Fraction:
    """The noise that the stated cost asks for, rounded up."""
    if way == "sigma":
        return cost
    if way == "rho":
        return root_of(length**2 / (2 * cost))
    assert delta is not None
    return sigma_for(min(cost, _LARGEST_EPSILON), positive(delta, name="delta"), length, Fraction(1), moved)
