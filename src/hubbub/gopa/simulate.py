"""A run of GOPA in one process: the same numbers as in a real run, without messages and proofs.

Noise and masks come from the operating system, since the values may be real. But a simulation protects nobody from the
machine that runs it, which sees all values: it shows what a run would publish, and how accurate that is.
"""

from __future__ import annotations

import math
import secrets
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub import noise
from hubbub.explain import Document, Section, TextTable
from hubbub.gopa.lectures import gaussian_gopa
from hubbub.gopa.lectures.random_graphs import pairs, picks
from hubbub.gopa.privacy.calibration import Achieved, RunPlan, achieved, plan
from hubbub.render import Json, short
from hubbub.terms import (
    EmptyInput,
    NotANumber,
    OutOfRange,
    Real,
    ReversedBounds,
    WrongShape,
    exact,
    fraction_of,
    plain_array,
    positive,
    shown,
)

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Words = NDArray[np.uint64]
Profile = Literal["verifiable", "classic"]
_FINE = 1 << 53
_MODULUS = 1 << 64


@dataclass(frozen=True, slots=True, eq=False)
class Simulation(Document):
    """What a run would publish. ``reveals`` is what each included party shows: only the sum of them tells something."""

    mean: float
    variance: float
    achieved: Achieved
    profile: Profile
    parameters: RunPlan | gaussian_gopa.Setting
    bounds: tuple[float, float]
    included: Integers
    edges: int
    repaired: int
    reveals: Words | Integers

    @property
    def title(self) -> str:
        """What is shown."""
        return f"GOPA among {self.parameters.parties:,} parties, simulated ({self.profile})"

    def interval(self, confidence: Real = 0.95) -> tuple[float, float]:
        """Where the mean of the included values lies, at that confidence, as far as noise and rounding go."""
        level = float(fraction_of(confidence, name="confidence"))
        reach = -NormalDist().inv_cdf((1 - level) / 2) * math.sqrt(self.variance)
        return self.mean - reach, self.mean + reach

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        low, high = self.interval()
        sentences = (
            f"The mean of {len(self.included):,} values is {self.mean:.5g}, and 95 times out of 100 the exact one lies "
            f"between {low:.5g} and {high:.5g}. {self._describe_dropouts()}No value was shown to anybody: each party "
            "showed one number that looks random, and their masks cancel in the sum.",
            f"{self.achieved.honest:,} parties that are honest and stay are enough for epsilon = "
            f"{short(self.achieved.epsilon)} with delta = {self.achieved.delta:.1e}.",
            "This was a simulation on one machine, which saw all values: it protects nobody from that machine, and no "
            "ledger was charged.",
        )
        return (Section("The mean", sentences, self._table()),)

    def _describe_dropouts(self) -> str:
        lost, parties = self.parameters.parties - len(self.included), self.parameters.parties
        return f"{lost:,} of {parties:,} dropped out, as many as dropouts= (--dropouts) allows. " if lost else ""

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "gopa-simulation",
            "profile": self.profile,
            "mean": self.mean,
            "variance": self.variance,
            "interval_95": list(self.interval()),
            "epsilon": float(self.achieved.epsilon),
            "delta": self.achieved.delta,
            "parties": self.parameters.parties,
            "included": len(self.included),
            "edges": self.edges,
            "repaired": self.repaired,
        }

    def _table(self) -> TextTable:
        rows = (
            ("parties", f"{self.parameters.parties:,}"),
            ("dropped out", f"{self.parameters.parties - len(self.included):,}"),
            ("in the mean", f"{len(self.included):,}"),
            ("pairs with a mask", f"{self.edges:,}"),
            ("masks repaired", f"{self.repaired:,}"),
            ("standard deviation of the mean", f"{math.sqrt(self.variance):.3g}"),
        )
        return TextTable(("what", "how many"), rows)


def simulate(
    values: ArrayLike,
    epsilon: Real,
    delta: Real,
    honest: Real = Fraction(1, 2),
    *,
    dropouts: Real = Fraction(1, 20),
    lower: Real = 0,
    upper: Real = 1,
    profile: Profile = "verifiable",
    degree: int | None = None,
    repair: bool = True,
) -> Simulation:
    """Average the values of many parties as a run of GOPA would, with as many dropouts as ``dropouts`` allows.

    ``verifiable`` is the protocol of ``hubbub gopa``: whole numbers, uniform masks, binomial noise. ``classic`` is the
    algorithm of the lectures; there, without ``repair``, the masks of lost parties stay in the sum. ``degree`` is
    how many others each party picks, if not as many as the plan wants.

    Guarantee: what is returned is (epsilon, delta)-DP for replacing one party's value, even towards somebody who knows
    values, noise and masks of all but the ``honest`` share of the parties; with ``degree``, as ``achieved`` says.
    Because: [SBR22], with the exact numbers of ``plan`` or ``HonestGraph``: docs/proofs/gopa.md.
    Error: unbiased; the variance is at most the one returned. Values outside of the bounds are clamped.
    Not covered: this machine, which sees everything; running time; a ledger, since none is charged.

    >>> told = simulate([0.2, 0.4, 0.9] * 100, epsilon=1, delta=1e-6, honest=0.8)
    >>> 0.3 < told.mean < 0.7, round(told.variance, 5), told.achieved.enough
    (True, 0.00029, True)
    """
    low, high = exact(lower, name="lower"), exact(upper, name="upper")
    if low >= high:
        raise ReversedBounds(
            f"lower is {shown(low)} and upper is {shown(high)}.",
            why="Values lie between the two.",
            fix="Give a lower bound below the upper one.",
        )
    shares = _range_shares(values, float(low), float(high))
    if profile == "classic":
        result = _run_classic(shares, epsilon, delta, honest, dropouts, degree, repair)
    elif profile == "verifiable":
        agreed = plan(epsilon, delta, len(shares), honest, dropouts)
        result = _run_verifiable(shares, replace(agreed, degree=degree or agreed.degree))
    else:
        raise OutOfRange(
            f"there is no profile {profile!r}.", why="A run is verifiable or classic.", fix='Give "verifiable".'
        )
    return _scale_result(result, float(low), float(high))


def _run_verifiable(shares: Floats, agreed: RunPlan) -> Simulation:
    """The run of a plan on values in [0, 1]; dropouts happen after the masks are shared, and are repaired."""
    count, lost = agreed.parties, agreed.parties - agreed.survivors
    stays = np.ones(count, dtype=bool)
    if lost:
        stays[np.random.default_rng().permutation(count)[:lost]] = False
    edges = pairs(picks(secrets.token_bytes(32), count, agreed.degree))
    shown = (_round_shares(shares, agreed.steps) + noise.binomial(agreed.noise_bits, Fraction(1, 2), count)).astype(
        np.uint64
    )
    masks = _random_words(len(edges))
    np.add.at(shown, edges[:, 0], masks)
    np.subtract.at(shown, edges[:, 1], masks)
    kept, cut = np.flatnonzero(stays), stays[edges[:, 0]] != stays[edges[:, 1]]
    total = (_sum_words(shown[kept]) - _left_behind(edges[cut], masks[cut], stays)) % _MODULUS
    centred = total - len(kept) * agreed.noise_bits / 2
    return Simulation(
        mean=centred / (len(kept) * agreed.steps),
        variance=agreed.variance_of(len(kept)),
        achieved=achieved(agreed, len(kept), joined=count),
        profile="verifiable",
        parameters=agreed,
        bounds=(0.0, 1.0),
        included=kept,
        edges=len(edges),
        repaired=int(cut.sum()),
        reveals=shown[kept],
    )


def _left_behind(edges: Integers, masks: Words, stays: NDArray[np.bool_]) -> int:
    """What masks between those who stay and those who left add to the sum: their seeds are shown to repair it."""
    first = stays[edges[:, 0]]
    return _sum_words(masks[first]) - _sum_words(masks[~first])


def _sum_words(words: Words) -> int:
    return int(np.sum(words, dtype=np.uint64))  # modulo 2^64


def _round_shares(shares: Floats, steps: int) -> Integers:
    """Values in [0, 1] as whole steps, up or down by a coin, so that the mean stays what it was."""
    exactly = shares * steps
    whole = np.floor(exactly)
    coin = noise.uniform(_FINE, size=len(shares)) < (exactly - whole) * _FINE
    return np.minimum(steps, whole.astype(np.int64) + coin)


def _random_words(count: int) -> Words:
    """Uniform words of 64 bits: the masks."""
    halves = noise.uniform(1 << 32, size=(2, count)).astype(np.uint64)
    return np.asarray((halves[0] << np.uint64(32)) | halves[1])


def _run_classic(
    shares: Floats, epsilon: Real, delta: Real, honest: Real, dropouts: Real, k: int | None, repair: bool
) -> Simulation:
    cost, slack = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta")
    inside = math.ceil(fraction_of(honest, name="honest", one=True) * len(shares))
    lost = math.floor(fraction_of(dropouts, name="dropouts", zero=True) * len(shares))
    if inside - lost < 2:
        raise OutOfRange(
            "fewer than two honest parties would be left.",
            why="An honest party hides among other honest ones.",
            fix="Allow fewer dropouts, or simulate more parties.",
        )
    ran = gaussian_gopa.run(shares, epsilon=cost, delta=slack, honest=inside, lost=lost, k=k, repair=repair)
    setting = ran.setting
    return Simulation(
        mean=ran.mean,
        variance=ran.variance,
        achieved=Achieved(
            cost,
            setting.delta,
            setting.honest,
            enough=Fraction(setting.delta) <= slack,
            least=partial(float, cost),
        ),
        profile="classic",
        parameters=setting,
        bounds=(0.0, 1.0),
        included=ran.included,
        edges=ran.edges,
        repaired=ran.repaired,
        reveals=ran.reveals,
    )


def _range_shares(values: ArrayLike, low: float, high: float) -> Floats:
    """The values as shares of the range, clamped."""
    given = plain_array(values)  # what a mask hides would be averaged all the same
    try:
        array = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise NotANumber(
            "values must be numbers.", why="They are averaged.", fix="Pass a list or an array of numbers."
        ) from None
    if array.ndim != 1:
        raise WrongShape(
            "values must be one number for each party.", why="Each party has one.", fix="Pass a flat list."
        )
    if len(array) < 2:
        raise EmptyInput("there are fewer than two parties.", why="One cannot hide alone.", fix="Pass more values.")
    return np.clip((np.nan_to_num(array, nan=low, posinf=high, neginf=low) - low) / (high - low), 0.0, 1.0)


def _scale_result(result: Simulation, low: float, high: float) -> Simulation:
    width = high - low
    return replace(result, mean=low + width * result.mean, variance=width**2 * result.variance, bounds=(low, high))
