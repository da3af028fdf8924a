"""Privacy amplification in the shuffle model: reports that arrive mixed protect better than each by itself.

The shuffler must strip everything that tells reports apart but their content (senders, addresses, times), hold them
until the batch is complete, and permute them. Whoever works with the shuffler gains nothing: then the epsilon of each
single report is what holds.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TypeAlias

from hubbub.local.amplification.clones import Clones, clones_epsilon, closed_form, least_epsilon
from hubbub.local.amplification.privacy_blanket import blanket_epsilon, pairs_of, two_levels
from hubbub.local.amplification.pure_epsilon import pure_epsilon
from hubbub.local.randomizers.base import Randomizer
from hubbub.local.randomizers.binary import BinaryResponse, SignResponse
from hubbub.local.randomizers.bounded_means import Duchi
from hubbub.local.randomizers.common.values import epsilon_of
from hubbub.local.randomizers.finite import FiniteRandomizer
from hubbub.local.randomizers.hadamard import HadamardResponse, OneBitHadamard
from hubbub.local.randomizers.kary import KaryResponse
from hubbub.local.randomizers.local_hashing import LocalHashing
from hubbub.local.randomizers.projective import ProjectiveGeometry
from hubbub.local.randomizers.subset import SubsetSelection
from hubbub.render import Document, Figure, Json, Section, TextTable, short
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import ApproximateDP, ApproximateStep, Neighbours, OutOfRange, Real, fraction_of, round_up, whole

What: TypeAlias = "Randomizer | Real"  # a randomizer, or the epsilon of any


@dataclass(frozen=True, slots=True)
class ShuffleBound:
    """One way to bound what shuffling leaves, and for which randomizers it holds."""

    name: str
    epsilon: float
    holds_for: str


def amplify(what: What, *, n: int, delta: Real, n_honest: int | None = None) -> ApproximateDP:
    """What ``n`` shuffled reports protect together: the least of all bounds that hold for this randomizer.

    ``what`` is a randomizer, or the epsilon of any. ``n_honest`` is how many of the reports come from people who
    really randomize and keep their coins to themselves: only those hide anybody (default: all).

    Guarantee: (epsilon, delta)-DP for the value of one honest person (neighbours: replace), against whoever sees the
    shuffled reports and all reports and secrets of those who are not honest.
    Because: [FMT21, Sec. 3] for any randomizer, [BBGN19] for one whose distribution is known, through
    ``docs/proofs/shuffle.md``; all bounds are computed from above.
    Not covered: a shuffler that tells, reports that carry anything but their content, several reports of a person.

    >>> round(float(amplify(1, n=100_000, delta=1e-6).epsilon), 4)
    0.0153
    >>> round(float(amplify(BinaryResponse(epsilon=1), n=100_000, delta=1e-6).epsilon), 4)
    0.0124
    """
    slack = fraction_of(delta, name="delta")
    best = min(bounds(what, n=n, delta=slack, n_honest=n_honest), key=lambda bound: bound.epsilon)
    if best.name == "alone":
        return ApproximateDP(pure_epsilon(what), slack)
    return ApproximateDP(min(pure_epsilon(what), round_up(best.epsilon, steps=4)), slack)


def bounds(what: What, *, n: int, delta: Real, n_honest: int | None = None) -> tuple[ShuffleBound, ...]:
    """Every bound that holds for this randomizer; the first is the report alone, without a shuffler."""
    epsilon, slack = float(pure_epsilon(what)), float(fraction_of(delta, name="delta"))
    people = _honest_count(n, n_honest)
    holding = [ShuffleBound("alone", epsilon, "any randomizer, without a shuffler")]
    formula = closed_form(epsilon, honest=people, delta=slack)
    if formula is not None:
        holding.append(ShuffleBound("closed form", formula, "any randomizer, if epsilon <= ln(n / (16 ln(4/delta)))"))
    if people > 1:
        holding.append(ShuffleBound("clones", clones_epsilon(epsilon, honest=people, delta=slack), "any randomizer"))
        if isinstance(what, Randomizer) and (known := _blanket_of(what, people, slack)) is not None:
            holding.append(ShuffleBound("blanket", known, f"{what.protocol} only"))
    return tuple(holding)


def event(what: What, *, n: int, delta: Real, n_honest: int | None = None) -> ApproximateStep:
    """What a shuffled collection leaves in a ledger: it holds as long as the shuffler does."""
    protection = amplify(what, n=n, delta=delta, n_honest=n_honest)
    name = what.protocol if isinstance(what, Randomizer) else "report"
    return ApproximateStep(
        mechanism=f"shuffled-{name}", epsilon=protection.epsilon, delta=protection.delta, neighbours=Neighbours.REPLACE
    )


def local_epsilon(epsilon: Real, *, n: int, delta: Real) -> float:
    """The largest epsilon that each report may have by itself, so that ``n`` shuffled ones have this one together.

    >>> round(local_epsilon(0.5, n=100_000, delta=1e-6), 2)
    5.92
    """
    goal, slack = float(epsilon_of(epsilon)), float(fraction_of(delta, name="delta"))
    people = whole(n, name="n")
    low, high = goal, goal + math.log(max(2, people))
    if people < 2:
        return goal
    for _ in range(16):
        middle = (low + high) / 2
        pair = Clones(middle, people - 1, math.exp(-middle), tail=slack * 1e-6)
        low, high = (middle, high) if pair.delta(goal) <= slack else (low, middle)
    return low


def lower_bound(epsilon: Real, *, n: int, delta: Real) -> float:
    """What ``n`` shuffled answers of two-valued randomized response leave at least: no bound for all may lie below.

    The exact profile of one such collection, in which all others have the same value.
    """
    import numpy as np
    from scipy.stats import binom

    alone, slack = float(epsilon_of(epsilon)), float(fraction_of(delta, name="delta"))
    others, lie = whole(n, name="n") - 1, 1 / (1 + math.exp(alone))
    low, high = int(binom.ppf(1e-18, others, lie)), int(binom.isf(1e-18, others, lie))
    counts = np.arange(max(0, low - 1), high + 3)
    same, more = binom.pmf(counts, others, lie), binom.pmf(counts - 1, others, lie)
    yes, no = (1 - lie) * more + lie * same, lie * more + (1 - lie) * same

    def profile(loss: float) -> float:
        factor = math.exp(loss)
        return max(float(np.maximum(0, yes - factor * no).sum()), float(np.maximum(0, no - factor * yes).sum()))

    return least_epsilon(profile, delta=slack, most=alone)


@dataclass(frozen=True, slots=True)
class Amplification(Document):
    """All bounds for one collection side by side, with what no bound can get below."""

    n: int
    honest: int
    delta: Fraction
    bounds: tuple[ShuffleBound, ...]
    least: float

    @property
    def title(self) -> str:
        """What is told."""
        return f"{self.n:,} reports, shuffled"

    @property
    def best(self) -> ShuffleBound:
        """The smallest bound."""
        return min(self.bounds, key=lambda bound: bound.epsilon)

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        words = (
            f"Each report alone has epsilon = {short(self.bounds[0].epsilon)}. Mixed with those of {self.honest - 1:,} "
            f"other honest people it has epsilon = {short(self.best.epsilon)} at delta = {short(self.delta)}, as long "
            "as nobody learns who sent what.",
        )
        rows = tuple((bound.name, f"{bound.epsilon:.4g}", bound.holds_for) for bound in self.bounds)
        rows += (("no bound for all can be below", f"{self.least:.4g}", "two-valued randomized response"),)
        figure = Figure("shuffle", self._chart(), "The shorter, the better the protection that is proved.")
        return (Section("What shuffling adds", words, TextTable(("bound", "epsilon", "holds for"), rows), figure),)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "shuffle",
            "n": self.n,
            "n_honest": self.honest,
            "delta": float(self.delta),
            "bounds": [{"name": b.name, "epsilon": b.epsilon, "holds_for": b.holds_for} for b in self.bounds],
            "lower_bound": self.least,
        }

    def _chart(self) -> str:
        bars = [Bar(bound.name, bound.epsilon) for bound in self.bounds]
        return bar_chart(bars, title=self.title, description="Epsilon by bound.", label="epsilon")


def compare(what: What, *, n: int, delta: Real, n_honest: int | None = None) -> Amplification:
    """All bounds side by side, as a report for people."""
    people = _honest_count(n, n_honest)
    return Amplification(
        n=whole(n, name="n"),
        honest=people,
        delta=fraction_of(delta, name="delta"),
        bounds=bounds(what, n=n, delta=delta, n_honest=n_honest),
        least=lower_bound(pure_epsilon(what), n=people, delta=delta),
    )


def _honest_count(n: int, n_honest: int | None) -> int:
    people = whole(n, name="n")
    honest = people if n_honest is None else whole(n_honest, name="n_honest")
    if honest > people:
        raise OutOfRange(
            f"n_honest is {honest} and n is {people}.",
            why="The honest people are among those who report.",
            fix="Give n_honest of at most n.",
        )
    return honest


@dataclass(frozen=True, slots=True)
class _Design:
    """A report is e^epsilon times likelier in the value's own set of reports than outside it.

    ``support``: the share of all reports in one such set; ``overlap``: in two at once. Counting the second as 0 is
    always allowed: it makes two values easier to tell apart. ``grain``: 64-bit words move the ideal probability of a
    report by at most this times 2^-64, relatively.
    """

    support: float
    overlap: float = 0.0
    grain: int = 1


def _blanket_of(randomizer: Randomizer, honest: int, delta: float) -> float | None:
    """The bound by the randomizer's own blanket; None where its shape is not known or delta is too small."""
    epsilon = float(randomizer.epsilon)
    if isinstance(randomizer, FiniteRandomizer):
        known, grain = pairs_of(randomizer.matrix), 0
    elif design := _find_design(randomizer):
        known, grain = [two_levels(epsilon, support=design.support, overlap=design.overlap)], design.grain
    else:
        return None
    rounding = (1 + math.exp(epsilon)) * honest * (grain + 1) * 2.0**-64  # of all reports, on both sides
    if rounding > delta / 2:
        return None
    return blanket_epsilon(known, honest=honest, delta=delta - rounding, most=epsilon)


def _find_design(randomizer: Randomizer) -> _Design | None:
    design: _Design | None = None
    match randomizer:
        case KaryResponse(sets=sets) | LocalHashing(sets=sets):
            design = _Design(sets.share, grain=sets.draws)
        case BinaryResponse(sets=sets) | SignResponse(sets=sets):
            design = _Design(sets.share)
        case Duchi():
            design = _Design(0.5)  # a bit whose coin follows the value: two reports
        case HadamardResponse(sets=sets) | OneBitHadamard(sets=sets):
            design = _Design(sets.share, 0.25)
        case ProjectiveGeometry(sets=sets, space=space):
            design = _Design(sets.share, space.common / space.points, grain=sets.draws)
        case SubsetSelection(size=size, domain=domain):
            design = _Design(size / domain, size * (size - 1) / (domain * (domain - 1)), grain=2 * size * domain)
    return design
