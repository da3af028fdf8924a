"""Black-box audits: run a mechanism on two neighbouring inputs and show that its epsilon cannot be small."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.audit._confidence_limits import epsilon_of, largest_bound
from hubbub.audit._outcomes import Incomparable, OutcomeFeature, Outcomes, tabulate_outcomes
from hubbub.audit._rejection_sets import RejectionSet, choose_events
from hubbub.audit._sampling import Mechanism, Unusable, draw_outcomes
from hubbub.audit._scores import learn_scores
from hubbub.audit.report import Audit, CountedEvent
from hubbub.terms import Neighbours, NotAuditable, Real, exact, fraction_of, positive, whole

Floats = NDArray[np.float64]
Features = Callable[[Outcomes], Any]
FEWEST = 200  # trials below which nothing is worth counting
MOST = 100_000_000  # trials whose outcomes a machine can hold
_SAFE_SHARE = 0.3  # of the allowed error: the safe bet's; the bold bet has the rest
_CURVE = 14  # numbers of trials at which the picture shows the bound


def lower_bound(
    mechanism: Mechanism,
    a: object,
    b: object,
    trials: int = 100_000,
    delta: Real = 0,
    confidence: Real = 0.95,
    *,
    vectorized: bool = False,
    features: Features | None = None,
    low_bits: bool = True,
    timeout: float | None = None,
) -> float:
    """An epsilon that the mechanism exceeds on the neighbouring inputs ``a`` and ``b``, at that confidence.

    Parameters and promise are those of ``examine``. Raises ``NotAuditable`` where ``examine`` would give no bound.

    >>> from hubbub.mechanisms import RandomizedResponse
    >>> coin = RandomizedResponse(epsilon=1)
    >>> 0.8 < lower_bound(lambda x, size: coin.release([x] * size), 0, 1, trials=20_000, vectorized=True) < 1.2
    True
    """
    audit = examine(
        mechanism,
        a,
        b,
        trials=trials,
        delta=delta,
        confidence=confidence,
        vectorized=vectorized,
        features=features,
        low_bits=low_bits,
        timeout=timeout,
    )
    if audit.bound is None:
        raise NotAuditable(
            f"there is no bound for {audit.name}: {audit.problem}.",
            why="An audit counts outcomes on two inputs; here there is nothing that could be counted.",
            fix="Run the mechanism once on each input by hand; examine(...) tells the same without raising.",
        )
    return audit.bound


def examine(
    mechanism: Mechanism,
    a: object,
    b: object,
    *,
    trials: int = 100_000,
    delta: Real = 0,
    confidence: Real = 0.95,
    claim: Real | None = None,
    neighbours: Neighbours | str = Neighbours.ADD_REMOVE,
    vectorized: bool = False,
    features: Features | None = None,
    low_bits: bool = True,
    timeout: float | None = None,
    name: str | None = None,
) -> Audit:
    """Run a mechanism many times on two neighbouring inputs and report what its epsilon must at least be.

    ``mechanism(input)`` returns one outcome; with ``vectorized``, ``mechanism(input, size)`` returns that many.
    Outcomes may be numbers, symbols, vectors, tuples, lists, strings, sets or dictionaries. ``features`` may add
    numbers: it gets all outcomes of one input and returns an array with a row for each. ``low_bits=False`` leaves the
    low-order bits of floats alone, as if the mechanism computed with reals. ``neighbours`` is only written into the
    report: which inputs are neighbours is the caller's to know. After ``timeout`` seconds there is no bound.

    Guarantee: if the mechanism's runs are independent and it is (epsilon, delta)-DP for this pair of inputs, the
    bound exceeds epsilon with probability at most 1 - ``confidence``, whatever the outcomes look like.
    Because: [JUO20, DWWZK18]: the event is chosen on other runs than those that are counted, and counted by [CP34]; the
    two bets share the allowed error. See docs/proofs/audit.md.
    Error: at 100,000 trials within a few per cent where the worst event is likely; never above ln(trials) - 1.
    Not covered: other pairs of inputs; that a small bound would mean privacy; running time as a leak.
    """
    plan = AuditPlan.checked(
        name or str(getattr(mechanism, "__name__", type(mechanism).__name__)),
        trials=trials,
        delta=delta,
        confidence=confidence,
        claim=claim,
        neighbours=neighbours,
        low_bits=low_bits,
    )
    until = time.monotonic() + (float("inf") if timeout is None else float(exact(timeout, name="timeout")))
    try:
        first = draw_outcomes(mechanism, a, plan.trials, name="a", vectorized=vectorized, until=until)
        second = draw_outcomes(mechanism, b, plan.trials, name="b", vectorized=vectorized, until=until)
        columns = _outcome_columns(plan.mixed(first), plan.mixed(second), features, learned=plan.parts[0])
    except (Unusable, Incomparable) as problem:
        return plan.refuse(str(problem))
    except RecursionError:
        return plan.refuse("its outputs are nested too deeply")
    return _audit_outcomes(plan, columns)


@dataclass(frozen=True, slots=True)
class AuditPlan:
    """What was asked for, checked."""

    name: str
    trials: int
    delta: float
    error: float
    claim: float | None
    neighbours: Neighbours
    low_bits: bool

    @classmethod
    def checked(
        cls,
        name: str,
        *,
        trials: int,
        delta: Real,
        confidence: Real,
        claim: Real | None,
        neighbours: Neighbours | str,
        low_bits: bool,
    ) -> AuditPlan:
        """The plan, or an error that says which parameter makes no sense."""
        return cls(
            name=name,
            trials=whole(trials, name="trials", least=FEWEST, most=MOST),
            delta=float(fraction_of(delta, name="delta", zero=True)),
            error=1 - float(fraction_of(confidence, name="confidence")),
            claim=None if claim is None else float(positive(claim, name="claim")),
            neighbours=Neighbours.parse(neighbours),
            low_bits=low_bits,
        )

    @property
    def parts(self) -> tuple[int, int]:
        """Up to which trial of each side scores are learned, and up to which events are chosen; the rest is counted."""
        part = max(self.trials // 10, min(2_000, self.trials // 4))
        return min(part, 40_000), min(part, 40_000) + min(part, 200_000)

    def mixed(self, outcomes: Outcomes) -> Outcomes:
        """The outcomes of one side in another order, which none of them decides: a bulk may come sorted."""
        order = np.random.default_rng(0).permutation(self.trials)
        return outcomes[order] if isinstance(outcomes, np.ndarray) else [outcomes[i] for i in order]

    def refuse(self, problem: str) -> Audit:
        """No bound, and why."""
        return self.report(None, None, problem)

    def report(
        self, bound: float | None, counted: CountedEvent | None, problem: str | None, leak: bool = False
    ) -> Audit:
        """What was found."""
        return Audit(
            name=self.name,
            bound=bound,
            confidence=round(1 - self.error, 12),
            delta=self.delta,
            trials=self.trials,
            claim=self.claim,
            neighbours=self.neighbours,
            counted=counted,
            deterministic=leak,
            problem=problem,
        )


def _outcome_columns(
    first: Outcomes, second: Outcomes, features: Features | None, *, learned: int
) -> list[OutcomeFeature]:
    columns = tabulate_outcomes(first, second, learned=learned)
    if features is None:
        return columns
    try:
        extra = np.concatenate(
            [np.asarray(features(side), dtype=np.float64).reshape(len(side), -1) for side in (first, second)]
        )
    except Exception as error:  # somebody else's code may raise anything, and return anything
        raise Incomparable(f"the features that were given raise {type(error).__name__}") from error
    if np.isnan(extra).any():
        raise Incomparable("the features that were given are NaN somewhere")
    return [*columns, *(OutcomeFeature(f"feature {i + 1}", extra[:, i].copy()) for i in range(extra.shape[1]))]


def _audit_outcomes(plan: AuditPlan, columns: list[OutcomeFeature]) -> Audit:
    table = np.stack([column.values for column in columns])
    sides = table[:, : plan.trials].copy(), table[:, plan.trials :].copy()
    constant = [bool(np.all(_equals_first(side))) for side in sides]
    if all(constant) and np.array_equal(sides[0][:, 0], sides[1][:, 0], equal_nan=True):
        return plan.refuse("it returns the same constant on a and b, so nothing was measured")
    one, two = plan.parts
    learned, fresh, rest = (
        (sides[0][:, low:high], sides[1][:, low:high]) for low, high in ((0, one), (one, two), (two, plan.trials))
    )
    ahead = plan.trials - two
    scores = learn_scores(columns, *learned, low_bits=plan.low_bits)
    events = choose_events(scores, learned, fresh, ahead=ahead, delta=plan.delta)
    shares = [1.0] if len(events) == 1 else [_SAFE_SHARE, 1 - _SAFE_SHARE]
    counts = [_count_event(plan, event, share, rest) for event, share in zip(events, shares, strict=True)]
    best = max(counts, key=lambda counted: counted.bound)
    return plan.report(best.bound, best, None, leak=all(constant))


def _equals_first(side: Floats) -> NDArray[np.bool_]:
    return np.asarray((side == side[:, :1]) | (np.isnan(side) & np.isnan(side[:, :1])))


def _count_event(plan: AuditPlan, event: RejectionSet, share: float, rest: tuple[Floats, Floats]) -> CountedEvent:
    """Count one event on the runs that had no part in choosing it."""
    scores = [event.score.of(side) for side in rest]
    more, less = (event.meets(side) for side in (reversed(scores) if event.swapped else scores))
    trials, error = len(more), share * plan.error
    sizes = np.unique(np.geomspace(min(100, trials), trials, _CURVE).astype(np.int64))
    along = epsilon_of(np.cumsum(more)[sizes - 1], np.cumsum(less)[sizes - 1], sizes, delta=plan.delta, error=error)
    return CountedEvent(
        event=event.words(),
        likelier_under="b" if event.swapped else "a",
        hits=(int(more.sum()), int(less.sum())),
        trials=trials,
        bound=float(along[-1]),
        curve=tuple(zip(sizes.tolist(), along.tolist(), strict=True)),
        most=tuple((int(n), largest_bound(int(n), delta=plan.delta, error=error)) for n in sizes),
        roc=_roc_points(scores, event),
    )


def _roc_points(scores: list[Floats], event: RejectionSet) -> tuple[tuple[float, float], ...]:
    """(share on the other input, share on the input for which the event speaks), as its threshold moves."""
    sign, trials = (1.0 if event.above else -1.0), len(scores[0])
    more, less = (np.sort(sign * side[~np.isnan(side)]) for side in (reversed(scores) if event.swapped else scores))
    both = np.sort(np.concatenate([more, less]))
    marks = np.unique(both[np.linspace(0, len(both) - 1, 61).astype(np.int64)]) if len(both) else both
    shares = [(len(side) - np.searchsorted(side, marks)) / trials for side in (less, more)]
    points = {(0.0, 0.0), (1.0, 1.0), *zip(shares[0].tolist(), shares[1].tolist(), strict=True)}
    return tuple(sorted(points))
