"""Two more ways to choose the best candidate: report noisy max, and permute-and-flip."""

from __future__ import annotations

import math
from fractions import Fraction

from hubbub import noise
from hubbub.mechanisms.common.grid_values import grid_for
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.selection_scores import ScoreReader, Scores, least_gap, noisy_race, rivals_of, spread_of
from hubbub.terms import Neighbours, PureStep, Real, Unit, positive, sensitivity_of


class ReportNoisyMax(Mechanism):
    """Add Laplace noise to every score and name the candidate with the highest noisy one.

    Guarantee: epsilon-DP for the given unit and neighbours, if ``sensitivity`` bounds how far one unit moves any
    one score (after NaN and infinities were replaced by ``missing``); only the index is released. The noise has
    scale 2 * sensitivity / epsilon, or half of that with ``monotone=True``, which claims that adding a unit
    lowers no score (or raises none).
    Because: [DR14, Claim 3.9] through ``docs/proofs/report-noisy-max.md``, for discrete noise, scores rounded to a
    public grid and ties that go to the lower index.
    Error: with the given confidence the chosen score is at most ``error(confidence, candidates=...)`` below the best.
    Not covered: running time, and whether the declared sensitivity is true.

    >>> from hubbub.noise.testing import seeded
    >>> ReportNoisyMax(sensitivity=1, epsilon=2).release([3, 40, 5], rng=seeded(7))
    1
    """

    def __init__(
        self,
        *,
        sensitivity: Real,
        epsilon: Real,
        monotone: bool = False,
        missing: object = None,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        cost = positive(epsilon, name="epsilon")
        times = spread_of(sensitivity, monotone=monotone, neighbours=relation) / sensitivity_of(sensitivity)
        self._grid = grid_for(sensitivity_of(sensitivity) / cost)
        moved = math.floor(sensitivity_of(sensitivity) / self._grid) + 1  # grid steps, after rounding
        self._scale = times * moved / cost
        self._reader = ScoreReader(rate=1 / (self._scale * self._grid), missing=missing)
        self.event: PureStep = PureStep(
            mechanism="report-noisy-max", epsilon=cost, neighbours=relation, unit=unit or Unit()
        )

    @property
    def scale(self) -> float:
        """The noise scale in the scores' own units."""
        return float(self._scale * self._grid)

    def release(self, scores: Scores, *, rng: noise.RandomSource | None = None) -> int:
        """The index of the chosen candidate."""
        steps = [round(score / self._grid) for score in self._reader.read(scores)]
        drawn = noise.discrete_laplace(self._scale, len(steps), rng=rng).tolist()
        noisy = [step + draw for step, draw in zip(steps, drawn, strict=True)]
        return noisy.index(max(noisy))  # ties go to the lower index, whatever the data

    def error(self, confidence: Real, *, candidates: int) -> float:
        """How far the chosen score may lie below the best one, with that confidence, among so many candidates."""
        return least_gap(noisy_race(rivals_of(candidates)), confidence) * self.scale


class PermuteAndFlip(Mechanism):
    """Visit the candidates in random order and take one with probability exp(-rate * (best - score)).

    Guarantee: epsilon-DP for the given unit and neighbours, if ``sensitivity`` bounds how far one unit moves any
    one score (after NaN and infinities were replaced by ``missing``); rate is epsilon / (2 * sensitivity), or
    twice that with ``monotone=True``. Never worse than the exponential mechanism at the same epsilon, but
    not of bounded range: in concentrated terms it costs epsilon^2/2 and not epsilon^2/8.
    Because: [MS20]; ``docs/proofs/report-noisy-max.md`` has a pair of inputs over whose outcomes the loss varies by
    more than epsilon.
    Error: with the given confidence the chosen score is at most ``error(confidence, candidates=...)`` below the best.
    Not covered: running time, and whether the declared sensitivity is true.

    >>> from hubbub.noise.testing import seeded
    >>> PermuteAndFlip(sensitivity=1, epsilon=2).release([3, 40, 5], rng=seeded(7))
    1
    """

    def __init__(
        self,
        *,
        sensitivity: Real,
        epsilon: Real,
        monotone: bool = False,
        missing: object = None,
        neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
        unit: Unit | None = None,
    ) -> None:
        relation = Neighbours.parse(neighbours)
        cost = positive(epsilon, name="epsilon")
        self.rate = cost / spread_of(sensitivity, monotone=monotone, neighbours=relation)
        self._reader = ScoreReader(rate=self.rate, missing=missing)
        self.event: PureStep = PureStep(
            mechanism="permute-and-flip", epsilon=cost, neighbours=relation, unit=unit or Unit()
        )

    def release(self, scores: Scores, *, rng: noise.RandomSource | None = None) -> int:
        """The index of the chosen candidate."""
        exact = self._reader.read(scores)
        best = max(exact)
        left = list(range(len(exact)))
        while True:
            place = noise.uniform(len(left), rng=rng)
            left[place], left[-1] = left[-1], left[place]
            candidate = left.pop()
            if _is_taken(self.rate * (best - exact[candidate]), rng):  # the best is always taken, so this ends
                return candidate

    def error(self, confidence: Real, *, candidates: int) -> float:
        """How far the chosen score may lie below the best one, with that confidence, among so many candidates.

        Worst are rivals that all lie exactly that far below.
        """
        count = rivals_of(candidates) + 1

        def miss_beyond(t: float) -> float:
            chance = math.exp(-t)
            return 1 - (1 - (1 - chance) ** count) / (count * chance) if chance > 1e-12 else count * chance

        return least_gap(miss_beyond, confidence) / float(self.rate)


def _is_taken(exponent: Fraction, rng: noise.RandomSource | None) -> bool:
    return exponent == 0 or bool(noise.bernoulli_exp(exponent, rng=rng))
