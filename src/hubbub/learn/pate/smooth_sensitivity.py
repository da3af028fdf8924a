"""Telling what the answers cost on these votes, privately: smooth sensitivity, in whole numbers.

The data-dependent cost is a fact about the votes, so it is secret too. It is released with noise in proportion to its
smooth sensitivity [NRS07]: the largest change that one unit could make here, or, at a discount, on votes some units
away. Cost, sensitivity, discount and noise are integers, so that no rounding tells more than the proof allows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub import noise
from hubbub.accounting import renyi_epsilon
from hubbub.learn.pate.aggregation import Ballot
from hubbub.learn.pate.data_dependent_cost import (
    STEP,
    MarginTable,
    checks_at,
    largest_jumps,
    largest_sum,
    margins_of,
    order_for,
    table_for,
)
from hubbub.learn.training.network import Labels
from hubbub.terms import ApproximateStep, Neighbours, Unit, Unreachable

ONE = 1 << 40  # the discount at distance 0
LEAST = 1 << 10  # grid steps: the smooth sensitivity is never below
ABOVE = Fraction(5, 2)  # standard deviations that are added: e^(-2.5^2/2) < 5%
CONFIDENCE = 0.95
_RATES = [Fraction(1, 1 << k) for k in range(3, 14)]
_ORDERS = [1 + 0.05 * 1.08**k for k in range(170)]  # up to about 24,000
_SLACK = 1e-9  # for sums over integers instead of integrals, and for the arithmetic
_AGREED = 0.9  # of the teachers: the margins for which the discount is chosen


@dataclass(frozen=True, slots=True)
class InstanceCost:
    """What a report tells: on these votes the answers are (epsilon, delta)-indistinguishable from any neighbour's.

    A statement about one data set, right with probability ``confidence``; it is no guarantee of the mechanism, whose
    price stays as it was charged. The report itself was paid for beside the answers.
    """

    epsilon: float
    delta: float
    order: float
    confidence: float = CONFIDENCE

    def words(self) -> str:
        """The report as a sentence."""
        return (
            f"On this data the answers alone cost at most epsilon = {self.epsilon:.3g} at delta = {self.delta:.3g} "
            f"({self.confidence:.0%} sure)."
        )


@dataclass(frozen=True, slots=True)
class CostReport:
    """How the cost of a ballot will be told. Everything here is public."""

    table: MarginTable
    order: float
    rate: Fraction  # at distance d the discount is (1 - rate)^d, rounded up
    multiple: Fraction  # noise per smooth sensitivity
    answered: int
    event: ApproximateStep

    def release(self, counts: Labels, *, rng: noise.RandomSource | None = None) -> int:
        """The cost of the answers in grid steps, plus noise, plus a margin that makes it too large in 19 of 20 runs.

        Guarantee: the event's own (epsilon, delta)-DP, if one unit moves one teacher's votes.
        Because: Gaussian noise of smooth sensitivity [NRS07, Def. 2.2], [PSMRTE18, Thm. 23] with the constants of
        ``docs/proofs/pate.md``; exact on the integers [CKS20].
        Error: too small with probability 5% at most; else too large by about five standard deviations at most.
        """
        margins = margins_of(counts)
        spread = self.multiple * self.sensitivity(margins)
        drawn = noise.discrete_gaussian(spread, rng=rng)
        return self.table.cost(margins, self.answered) + math.ceil(ABOVE * spread) + drawn

    def sensitivity(self, margins: Labels) -> Fraction:
        """The smooth sensitivity of the cost, in grid steps.

        Guarantee: at least the change that one unit makes; on neighbouring votes at most 1/(1 - rate) times as much.
        Because: [NRS07, Def. 2.1]; ``docs/proofs/pate.md``.
        """
        return discounted_maximum(largest_changes(self.table, margins, self.answered), self.rate)

    def instance_cost(self, ballot: Ballot, steps: float, price: tuple[Fraction, Fraction]) -> InstanceCost:
        """What the released number says of answers at this price; never more than the price, the worst case."""
        worst, delta = float(price[0]), float(price[1])
        divergence = checks_at(ballot, self.order) + max(0.0, steps) * self.table.step
        return InstanceCost(min(worst, renyi_epsilon(self.order, divergence, delta)), delta, self.order)


def largest_changes(table: MarginTable, margins: Labels, answered: int) -> list[int]:
    """How much one unit can change the cost on votes that are 0, 1, 2, ... units away; constant after the last."""
    jumps = largest_jumps(table)
    most = int(jumps.max()) * min(answered, len(margins))
    sums = [largest_sum(jumps[margins], answered)]
    while sums[-1] < most:
        jumps = _widen_jumps(jumps)
        sums.append(largest_sum(jumps[margins], answered))
    return sums


def _widen_jumps(jumps: Labels) -> Labels:
    """The largest jump within the reach of one more unit."""
    wider = jumps.copy()
    for step in range(1, STEP + 1):
        np.maximum(wider[step:], jumps[:-step], out=wider[step:])
        np.maximum(wider[:-step], jumps[step:], out=wider[:-step])
    return wider


def discounted_maximum(changes: list[int], rate: Fraction) -> Fraction:
    """The largest change after discounts (1 - rate)^distance, rounded up to whole parts of ONE, and never below LEAST.

    Each discount is at most 1/(1 - rate) times the next one, exactly.
    """
    weight, largest = ONE, LEAST * ONE
    for change in changes:
        largest = max(largest, weight * change)
        weight = -((rate.numerator - rate.denominator) * weight // rate.denominator)
    return Fraction(largest, ONE)


def report_for(
    ballot: Ballot,
    *,
    teachers: int,
    epsilon: Fraction,
    delta: Fraction,
    answers_delta: Fraction,
    neighbours: Neighbours,
    unit: Unit,
) -> CostReport:
    """The report of a ballot that is itself (epsilon, delta)-DP; rate and noise are chosen for teachers that agree."""
    order = order_for(ballot, answers_delta)
    table = table_for(ballot, teachers=teachers, order=order)
    event = ApproximateStep(epsilon=epsilon, delta=delta, mechanism="smooth-gaussian", neighbours=neighbours, unit=unit)
    agreed = np.full(ballot.asked, int(_AGREED * teachers))
    ahead = largest_changes(table, agreed, ballot.answered)
    offered = []
    for rate in _RATES:
        multiple = _least_multiple(rate, epsilon, delta)
        if multiple is not None:
            report = CostReport(table, order, rate, multiple, ballot.answered, event)
            offered.append((multiple * discounted_maximum(ahead, rate), -rate, report))
    if not offered:
        raise Unreachable(
            f"no report fits into epsilon = {float(epsilon):.3g}, delta = {float(delta):.3g}.",
            why="Its noise would have to be larger than any cost.",
            fix="Give data_dependent= a larger share, or leave it out.",
        )
    return min(offered, key=lambda each: each[:2])[2]


# ---------------------------------------------------------------- the price of a report


def report_epsilon(rate: Fraction, multiple: Fraction, delta: Fraction) -> float:
    """epsilon at ``delta`` of Gaussian noise of ``multiple`` times a smooth sensitivity.

    Guarantee: a number of sensitivity S plus noise of standard deviation multiple * S is (epsilon, delta)-DP, if S
    changes by a factor of at most 1/(1 - rate) between neighbours.
    Because: the Renyi divergence of two Gaussians of different variance, at its largest; ``docs/proofs/pate.md``.
    """
    ratio = 1 / (1 - float(rate))
    far = 1 + float(ABOVE * multiple) * (ratio - 1) + 1 / LEAST
    eta = (far / float(multiple)) ** 2
    least = math.inf
    for order in _ORDERS:
        narrow = order - (order - 1) * ratio**2
        if narrow <= 0:
            break
        larger = _gaussian_divergence(order, ratio**2) + order * eta / (2 * narrow)
        smaller = _gaussian_divergence(order, ratio**-2) + order * eta / 2
        least = min(least, renyi_epsilon(order, max(larger, smaller) + _SLACK, float(delta)))
    return least


def _gaussian_divergence(order: float, ratio: float) -> float:
    """The Renyi divergence of two Gaussians with the same mean, whose variances have this ratio."""
    return -math.log(ratio) / 2 - math.log(order - (order - 1) * ratio) / (2 * (order - 1))


def _least_multiple(rate: Fraction, epsilon: Fraction, delta: Fraction) -> Fraction | None:
    """The least noise per sensitivity, to a quarter of a bit, at which a report keeps its price."""
    for quarter in range(0, 60):
        multiple = Fraction(round(1024 * 2 ** (quarter / 4)), 1024)
        if report_epsilon(rate, multiple, delta) <= epsilon * (1 - Fraction(1, 10**6)):
            return multiple
    return None
