"""From what people want, (epsilon, delta) among n parties, to what they must do: bits of noise, picks, thresholds."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache, partial

from hubbub.accounting import mu_for
from hubbub.gopa.privacy import connectivity
from hubbub.gopa.privacy.sensitivity import Sensitivity
from hubbub.terms import Real, Unreachable, fraction_of, positive, whole

_GRAPH_SHARE = Fraction(1, 10)  # of delta, for a graph that fails
_STUCK = 0.01  # how often accidental dropouts may keep a run from finishing
_MOST_STEPS = 1 << 20


@dataclass(frozen=True, slots=True)
class RunPlan:
    """What all parties of a run agree on, and what it promises.

    Guarantee: if at most ``corrupted`` parties work together, with the board or without, and at least ``survivors`` are
    in the result, then all that they and the public see is (epsilon, delta)-DP for replacing one unit of an honest
    party, towards whoever cannot break the cryptography (masks are computational, the noise is exact).
    Because: the sum has Bin(noise_bits, 1/2) from each of ``survivors - corrupted`` honest parties [SBR22], and all
    other messages look random unless the picks fail the honest, which has chance ``delta_graph``: docs/proofs/gopa.md.
    Error: the mean over m parties has at most the variance (noise_bits + 1) / (4 m steps^2), in units of the range.
    Not covered: more corrupted parties than said; parties that become corrupted after they saw the picks.
    """

    parties: int
    steps: int
    noise_bits: int
    degree: int
    share_threshold: Fraction
    quorum: int
    survivors: int
    corrupted: int
    epsilon: Fraction
    delta: Fraction
    delta_noise: float
    delta_graph: float
    sensitivity: Sensitivity
    stuck: float

    @property
    def honest(self) -> int:
        """How many honest parties are in the result at least."""
        return self.survivors - self.corrupted

    @property
    def loss(self) -> float:
        """What rounding to the grid of ``steps`` adds to the variance at most, as a share of the noise's variance."""
        return 0.0 if self.sensitivity.whole else 1 / self.noise_bits

    @property
    def variance(self) -> float:
        """At most the variance of the mean of one coordinate when everybody is in it, in squared units of the range."""
        return self.variance_of(self.parties)

    def variance_of(self, included: int) -> float:
        """The same for a result that includes so many parties."""
        return self.noise_bits * (1 + self.loss) / (4 * included * self.steps**2)

    def threshold(self, holders: int) -> int:
        """How many of the so many holders of a party's shares it takes to open a secret of it."""
        return math.floor(self.share_threshold * holders) + 1


@dataclass(frozen=True, slots=True)
class Achieved:
    """What a run with so many survivors protects: this delta at ``epsilon``.

    ``least`` works out ``least_epsilon``, which takes many deltas and is wanted by reports alone: a run never asks.
    """

    epsilon: Fraction
    delta: float
    honest: int
    enough: bool
    least: Callable[[], float] = field(repr=False, compare=False)

    @property
    def least_epsilon(self) -> float:
        """The smallest epsilon at the plan's delta, rounded up."""
        return self.least()


def plan(
    epsilon: Real,
    delta: Real,
    parties: Real,
    honest: Real = Fraction(1, 2),
    dropouts: Real = Fraction(1, 20),
    *,
    sensitivity: Sensitivity | None = None,
    loss: Real = Fraction(1, 50),
    steps: Real | None = None,
) -> RunPlan:
    """The least noise and the fewest neighbours with which a run is (epsilon, delta)-DP, or an error that says why not.

    ``honest`` is the share of the parties that do not work against the others, ``dropouts`` the share that may be lost
    on the way, by accident or because somebody wants it. Rounding real values to ``steps`` adds at most ``loss`` to the
    variance of the noise; ``steps`` may be given instead.

    >>> made = plan(1, 1e-6, 1000)
    >>> made.steps, made.noise_bits, made.quorum, made.survivors, made.corrupted
    (18, 52, 751, 950, 500)
    """
    cost, slack = positive(epsilon, name="epsilon"), fraction_of(delta, name="delta")
    count = whole(parties, name="parties", least=2)
    corrupted = count - math.ceil(fraction_of(honest, name="honest", one=True) * count)
    survivors = count - math.floor(fraction_of(dropouts, name="dropouts", zero=True) * count)
    quorum = (count + corrupted) // 2 + 1
    _require_possible(count, corrupted, survivors, quorum)
    moved = sensitivity or Sensitivity()
    net = _plan_graph(count, survivors, corrupted, float(slack * _GRAPH_SHARE))
    left = float(slack) - net.failure
    grid, bits = _plan_noise(
        moved, survivors - corrupted, float(cost), left, fraction_of(loss, name="loss", one=True), steps
    )
    return RunPlan(
        parties=count,
        steps=grid,
        noise_bits=bits,
        degree=net.degree,
        share_threshold=net.threshold,
        quorum=quorum,
        survivors=survivors,
        corrupted=corrupted,
        epsilon=cost,
        delta=slack,
        delta_noise=moved.delta(bits * (survivors - corrupted), grid, float(cost)),
        delta_graph=net.failure,
        sensitivity=moved,
        stuck=net.stuck,
    )


def achieved(agreed: RunPlan, survivors: int, *, joined: int | None = None) -> Achieved:
    """What a run protects in which ``survivors`` are left of ``joined`` parties that were in the graph.

    ``joined`` defaults to the worst that is possible. All corrupted parties are taken to be among the survivors: that
    is the worst case, and nobody can know better.
    """
    return _achieved_privacy(agreed, survivors, joined)


@lru_cache(maxsize=1024)
def _achieved_privacy(agreed: RunPlan, survivors: int, joined: int | None) -> Achieved:
    honest = survivors - agreed.corrupted
    if honest < 1 or survivors < agreed.quorum:
        return Achieved(agreed.epsilon, 1.0, max(0, honest), enough=False, least=partial(float, "inf"))
    sizes = {joined} if joined else {agreed.parties, survivors}
    graph = max(graph_failure(agreed, size) for size in sizes)
    delta = min(1.0, (_noise_delta(agreed, honest, float(agreed.epsilon)) + graph) * (1 + 2.0**-50))
    least = partial(_least_epsilon, agreed, honest, float(agreed.delta) - graph)
    return Achieved(agreed.epsilon, delta, honest, enough=Fraction(delta) <= agreed.delta, least=least)


def _noise_delta(agreed: RunPlan, honest: int, epsilon: float) -> float:
    return agreed.sensitivity.delta(agreed.noise_bits * honest, agreed.steps, epsilon)


def graph_failure(agreed: RunPlan, joined: int) -> float:
    """At least the chance that the picks of one run among so many fail the honest: what each drawing of them costs."""
    holders = min(agreed.degree, joined - 1)
    return connectivity.cut_off(joined, holders, agreed.corrupted, agreed.threshold(holders))


@lru_cache(maxsize=1024)
def _least_epsilon(agreed: RunPlan, honest: int, target: float) -> float:
    """The smallest epsilon with that delta, rounded up."""
    delta = partial(_noise_delta, agreed, honest)
    low, high = 0.0, 1.0
    while delta(high) > target:
        low, high = high, 2 * high
        if high > 1e3:
            return math.inf
    while high - low > 1e-6 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta(middle) <= target else (middle, high)
    return high


def _require_possible(parties: int, corrupted: int, survivors: int, quorum: int) -> None:
    if survivors - corrupted < 2:
        raise Unreachable(
            f"of {parties} parties, {corrupted} may be corrupted and {parties - survivors} lost: fewer than two honest "
            "ones would be left.",
            why="An honest party hides among other honest ones; alone it hides behind nothing.",
            fix="Invite more parties, or plan for fewer dropouts or for more honest parties.",
        )
    if survivors < quorum:
        raise Unreachable(
            f"a cut takes {quorum} of {parties} signatures, and after the planned dropouts only {survivors} are left.",
            why="With fewer, two different cuts could both be signed, and the honest would be told different stories.",
            fix=f"Plan for at most {parties - quorum} dropouts, or for more honest parties.",
        )


@dataclass(frozen=True, slots=True)
class _Net:
    degree: int
    threshold: Fraction
    failure: float
    stuck: float


@lru_cache(maxsize=256)
def _plan_graph(parties: int, survivors: int, corrupted: int, budget: float) -> _Net:
    """The fewest picks for which the graph fails within the budget and accidents rarely block a run."""

    def failure(k: int, threshold: int) -> float:
        return max(connectivity.cut_off(n, k, corrupted, threshold) for n in {parties, survivors})

    def fits(k: int) -> _Net | None:
        low, high = 0, k + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (low, middle) if failure(k, middle) <= budget else (middle, high)
        if high > k or (blocked := connectivity.stuck_chance(parties, k, parties - survivors, high)) > _STUCK:
            return None
        return _Net(k, Fraction(high - 1, k), failure(k, high), blocked)

    low, high = 0, 1
    while high < survivors - 1 and fits(high) is None:
        low, high = high, 2 * high
    if high >= survivors - 1:
        return _complete_graph(parties, survivors, corrupted)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) is None else (low, middle)
    net = fits(high)
    assert net is not None
    return net


def _complete_graph(parties: int, survivors: int, corrupted: int) -> _Net:
    """Everybody picks everybody: nobody can be cut off, and a threshold above the number of the corrupted holds."""
    threshold = Fraction(corrupted, survivors - 1)
    needed = math.floor(threshold * (parties - 1)) + 1
    return _Net(
        parties - 1, threshold, 0.0, connectivity.stuck_chance(parties, parties - 1, parties - survivors, needed)
    )


def _plan_noise(
    moved: Sensitivity, honest: int, epsilon: float, delta: float, loss: Fraction, steps: Real | None
) -> tuple[int, int]:
    """The number of steps, and each party's bits of noise: the coarsest grid on which rounding costs at most that."""

    def bits(grid: int) -> int:
        return moved.trials(grid, epsilon, delta, each=honest) // honest

    def grid_of(shift: int) -> int:
        return math.floor(shift / moved.share)  # the finest on which a unit moves a coordinate by ``shift``

    if steps is not None:
        grid = whole(steps, name="steps")
        return grid, bits(grid)
    wanted, parts = math.ceil(1 / loss), max(1, len(moved.shifts(1)))
    low, high = 0, max(1, math.ceil(math.sqrt(wanted * honest / (4 * parts)) * mu_for(epsilon, delta)))
    while bits(grid_of(high)) < wanted:
        low, high = high, high + max(1, high // 16)
        if grid_of(high) > _MOST_STEPS:
            raise _too_fine()
    low = next((i for i in (high * 15 // 16, high * 3 // 4) if low < i and bits(grid_of(i)) < wanted), low)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bits(grid_of(middle)) >= wanted else (middle, high)
    return grid_of(high), bits(grid_of(high))


def _too_fine() -> Unreachable:
    return Unreachable(
        f"more than {_MOST_STEPS} steps would be needed.",
        why="So fine a grid makes proofs long and tells nobody anything.",
        fix="Allow a larger loss, or give steps.",
    )
