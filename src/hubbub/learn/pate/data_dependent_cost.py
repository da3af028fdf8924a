"""What the answers cost on these very votes: the data-dependent bound of GNMax, as a table over the margin.

Where teachers agree, noise hardly ever changes an answer, and so the answer says less about one teacher than the worst
case does. The margin (the most votes less the second most) is a whole number that one unit moves by at most 2; a bound
that depends on it alone is a table, and every sensitivity of it is read off the table, exactly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from hubbub.accounting import renyi_epsilon
from hubbub.learn.pate.aggregation import Ballot
from hubbub.learn.training.network import Labels

STEP = 2  # how far one unit moves a margin
FINE = 1 << 20  # grid steps of the worst case of one answer
_ORDERS: list[float] = [1 + x / 10 for x in range(1, 100)] + list(range(11, 65)) + [2**k for k in range(7, 13)]
_HOPED = 0.25  # of the worst case: the order is chosen as if the answers cost so much


@dataclass(frozen=True, slots=True)
class MarginTable:
    """``steps[m]`` bounds the Renyi divergence of one answer whose margin is m, in steps of ``step``."""

    steps: Labels
    step: float

    def cost(self, margins: Labels, answered: int) -> int:
        """The most that any ``answered`` of the questions cost together."""
        return largest_sum(self.steps[margins], answered)


def largest_sum(values: Labels, count: int) -> int:
    """The sum of the ``count`` largest."""
    return int(np.sort(values)[len(values) - min(count, len(values)) :].sum())


def margins_of(counts: Labels) -> Labels:
    """The most votes less the second most, for each question."""
    if counts.shape[1] < 2:
        return np.asarray(counts[:, 0])
    ordered = np.sort(counts, axis=1)
    return np.asarray(ordered[:, -1] - ordered[:, -2])


def table_for(ballot: Ballot, *, teachers: int, order: float) -> MarginTable:
    """The table of a ballot at a Renyi order, for margins 0 to ``teachers``.

    Guarantee: the answer to a question with margin m and its law on any neighbouring data diverge by at most
    ``steps[m]`` steps, in both directions.
    Because: [PSMRTE18, Thm. 6 and Prop. 10] with the tail of [CKS20]; the direction from the neighbour has that
    theorem on the neighbour, whose margin is at least m - 2. ``docs/proofs/pate.md``.
    """
    variance, classes = float(ballot.answer.sigma) ** 2, ballot.answer.dimension
    worst = order / variance
    bounds = [likely_divergence(_log_tail(m, variance, classes), variance, order) for m in range(teachers + 1)]
    falling = np.maximum.accumulate(np.array(bounds)[::-1])[::-1]
    shifted = falling[np.maximum(np.arange(teachers + 1) - STEP, 0)]
    steps = np.ceil(shifted / worst * FINE * (1 + 1e-9)).astype(np.int64) + 1  # against the rounding of doubles
    return MarginTable(steps, worst / FINE)


def _log_tail(margin: int, variance: float, classes: int) -> float:
    """ln of a bound on the probability that noise brings another class to the top of a margin."""
    return math.log(classes - 1) - margin**2 / (4 * variance) if classes > 1 else -math.inf


def likely_divergence(log_q: float, variance: float, order: float) -> float:
    """The Renyi divergence of GNMax from its neighbours, if all but q of its mass is on one answer."""
    worst = order / variance
    if log_q >= 0:
        return worst
    second = math.sqrt(-log_q * variance)
    first = second + 1
    if first < order or second <= 1:
        return worst
    rate = second / variance
    allowed = (second - 1) * rate - second * (math.log1p(1 / second) + math.log1p(1 / (second - 1)))
    if log_q > allowed or log_q + rate >= 0:
        return worst
    kept = _log1m(log_q)
    likely = kept + (order - 1) * (kept - _log1m((log_q + rate) * (1 - 1 / second)))
    unlikely = log_q + (order - 1) * (first / variance - log_q / second)
    return min(worst, max(0.0, float(np.logaddexp(likely, unlikely)) / (order - 1)))


def _log1m(x: float) -> float:
    """ln(1 - e^x) for x below 0."""
    return math.log1p(-math.exp(x)) if x < -1 else math.log(-math.expm1(x))


def order_for(ballot: Ballot, delta: Fraction) -> float:
    """A Renyi order for the report, from public facts: the best if the answers cost a quarter of the worst case."""
    return min(
        _ORDERS, key=lambda a: renyi_epsilon(a, checks_at(ballot, a) + _HOPED * answers_at(ballot, a), float(delta))
    )


def checks_at(ballot: Ballot, order: float) -> float:
    """The Renyi divergence of all checks, in the worst case."""
    return 0.0 if ballot.check is None else order * float(ballot.check.rho) * ballot.asked


def answers_at(ballot: Ballot, order: float) -> float:
    """The Renyi divergence of all answers, in the worst case."""
    return order * float(ballot.answer.rho) * ballot.answered


def largest_jumps(table: MarginTable) -> Labels:
    """How far the bound can jump at each margin when one unit changes."""
    padded = np.pad(table.steps, STEP, mode="edge")
    falls = padded[: -2 * STEP] - table.steps  # the table falls
    return np.asarray(np.maximum(falls, table.steps - padded[2 * STEP :]))
