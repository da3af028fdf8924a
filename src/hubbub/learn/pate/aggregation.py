"""Answers from votes: GNMax and Confident-GNMax, in exact integers.

GNMax adds Gaussian noise to the votes of each class and tells the class with the most. Confident-GNMax first asks
whether the largest count, with noise of its own, reaches a threshold, and answers only then. All checks come first and
the answers after them, at most as many as were paid for: so the cost is fixed before a row is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub import noise
from hubbub.accounting import quick_epsilon
from hubbub.learn.training.calibration import noise_multiplier
from hubbub.learn.training.network import Labels
from hubbub.learn.training.sampling import FullBatch
from hubbub.terms import Compose, Event, GaussianNoise, Neighbours, Repeat, Unit, root_of

UNANSWERED = -1
CHECKS = Fraction(3, 10)  # of the squared budget goes to checks, the rest to answers
_MARGIN = Fraction(999_997, 1_000_000)  # of epsilon and delta, which a ledger rounds up
_FINE = 1024  # sigma is a multiple of 1/1024 votes
_DOMINATED = Fraction(3, 2)  # variance that accounting gives away for a discrete Gaussian on whole votes


@dataclass(frozen=True, slots=True)
class Ballot:
    """What will be asked and answered, and with how much noise. The events are what is drawn."""

    asked: int
    answered: int  # at most
    answer: GaussianNoise
    check: GaussianNoise | None = None
    threshold: int = 0  # votes that the noisy largest count must reach

    @property
    def events(self) -> tuple[Event, ...]:
        """What it costs: every check, and as many answers as there may be."""
        answers = Repeat(self.answer, self.answered)
        return (answers,) if self.check is None else (Repeat(self.check, self.asked), answers)

    def release(self, counts: Labels, *, rng: noise.RandomSource | None = None) -> Labels:
        """The class number that answers each question, or UNANSWERED.

        Guarantee: what ``accounting.epsilon`` says of ``events``, if one unit moves one teacher's votes.
        Because: noisy counts of L2 sensitivity sqrt(2) and noisy maxima of sensitivity 1 [PSMRTE18, Prop. 8 and
        Sec. 4], exact on the integers [CKS20]; the largest place and the threshold are post-processing.
        Not covered: running time, and a ``rng`` given by a test.
        """
        open_ = self._passed(counts, rng)[: self.answered]
        answers = np.full(len(counts), UNANSWERED)
        drawn = noise.discrete_gaussian(self.answer.sigma, (len(open_), counts.shape[1]), rng=rng)
        answers[open_] = (counts[open_] + drawn).argmax(axis=1)
        return answers

    def _passed(self, counts: Labels, rng: noise.RandomSource | None) -> Labels:
        """The questions that may be answered, in order."""
        if self.check is None:
            return np.arange(len(counts))
        largest = counts.max(axis=1) + noise.discrete_gaussian(self.check.sigma, len(counts), rng=rng)
        return np.flatnonzero(largest >= self.threshold)


def ballot_for(
    *,
    asked: int,
    answered: int,
    classes: int,
    threshold: int | None,
    epsilon: Fraction,
    delta: Fraction,
    neighbours: Neighbours = Neighbours.ADD_REMOVE,
    unit: Unit | None = None,
) -> Ballot:
    """The ballot that is (epsilon, delta)-DP; ``threshold`` None is GNMax, else Confident-GNMax.

    Guarantee: what it releases is (epsilon, delta)-DP for the unit and neighbours, which its events name.
    Because: Gaussians compose into one [DRS22, Cor. 2], with the events' own accounting.
    """
    budget = 1 / noise_multiplier(FullBatch(), 1, epsilon, delta * _MARGIN, Neighbours.ADD_REMOVE) ** 2
    scale = Fraction(1)
    while True:
        ballot = _ballot_at(asked, answered, classes, threshold, budget / scale**2, neighbours, unit or Unit())
        cost = quick_epsilon(Compose(ballot.events), delta=delta * _MARGIN, neighbours=neighbours)
        if cost <= epsilon * _MARGIN:
            return ballot
        scale *= Fraction(1001, 1000)


def _ballot_at(
    asked: int, answered: int, classes: int, threshold: int | None, budget: Fraction, relation: Neighbours, unit: Unit
) -> Ballot:
    """Noise such that squared sensitivities over variances add up to the budget."""
    share = Fraction(0) if threshold is None else CHECKS
    answer = GaussianNoise(
        sigma=_sigma_above(2 * answered / ((1 - share) * budget)),
        sensitivity=root_of(2),
        grid=Fraction(1),
        dimension=classes,
        mechanism="gnmax",
        neighbours=relation,
        unit=unit,
    )
    if threshold is None:
        return Ballot(asked, answered, answer)
    check = GaussianNoise(
        sigma=_sigma_above(asked / (share * budget)),
        sensitivity=Fraction(1),
        grid=Fraction(1),
        mechanism="gnmax-check",
        neighbours=relation,
        unit=unit,
    )
    return Ballot(asked, answered, answer, check, threshold)


def _sigma_above(variance: Fraction) -> Fraction:
    """A standard deviation a little above that of the variance."""
    return Fraction(math.ceil(root_of(variance + _DOMINATED) * _FINE), _FINE)


def mu_of_price(epsilon: Fraction, delta: Fraction) -> float:
    """How many standard deviations one unit may move a Gaussian at this price."""
    return float(1 / noise_multiplier(FullBatch(), 1, epsilon, delta * _MARGIN, Neighbours.ADD_REMOVE))
