"""The exponential mechanism: choose the candidate with the best score, nearly."""

from __future__ import annotations

import math

from hubbub import noise
from hubbub.mechanisms.common.mechanism import Mechanism
from hubbub.mechanisms.common.selection_scores import ScoreReader, Scores, least_gap, rivals_of, spread_of
from hubbub.terms import ExponentialChoice, Neighbours, Real, Unit, positive


class Exponential(Mechanism):
    """Choose a candidate with probability proportional to exp(epsilon * score / (2 * sensitivity)).

    Guarantee: epsilon-DP for the given unit and neighbours, if ``sensitivity`` bounds how far one unit moves any
    one score (after NaN and infinities were replaced by ``missing``). With ``monotone=True``, which claims that
    adding a unit lowers no score (or raises none), the factor 2 falls away. The privacy loss has range
    epsilon over all candidates, so in concentrated terms the cost is epsilon^2/8.
    Because: [MT07, Thm. 6], [DR14, Thm. 3.10]; [DDR20] and [CR21] for the range. Lecture slides that sample
    by exp(epsilon * score) leave out the factor 2: that is 2 epsilon-DP unless the scores are monotone.
    Error: with the given confidence the chosen score is at most ``error(confidence, candidates=...)`` below the best.
    Not covered: running time, and whether the declared sensitivity is true.

    >>> from hubbub.noise.testing import seeded
    >>> votes = Exponential(sensitivity=1, epsilon=1, monotone=True)
    >>> votes.release([15, 18, 20], rng=seeded(7))
    2
    >>> round(votes.error(0.95, candidates=3), 2)
    3.64
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
        self.event: ExponentialChoice = ExponentialChoice(epsilon=cost, neighbours=relation, unit=unit or Unit())

    def release(self, scores: Scores, *, rng: noise.RandomSource | None = None) -> int:
        """The index of the chosen candidate."""
        return noise.choose_exp([-self.rate * score for score in self._reader.read(scores)], rng=rng)

    def error(self, confidence: Real, *, candidates: int) -> float:
        """How far the chosen score may lie below the best one, with that confidence, among so many candidates.

        Worst are rivals that all lie exactly that far below.
        """
        rivals = rivals_of(candidates)

        def miss_beyond(t: float) -> float:
            return rivals / (rivals + math.exp(min(t, 700.0)))

        return least_gap(miss_beyond, confidence) / float(self.rate)
