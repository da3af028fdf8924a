"""An audit from one training run: plant many canaries, each by a coin, and guess afterwards which were in.

One run of a training costs hours, so it cannot be repeated 100,000 times. But the coins of m canaries are m
experiments in one run [SNJ23].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hubbub.explain import Document, Figure, Section, TextTable
from hubbub.render import Json, out_of_100, short
from hubbub.render.charts import Axis, Mark, Panel, Rule, Series, line_chart
from hubbub.terms import OutOfRange, Real, fraction_of, positive, whole

Train = Callable[[NDArray[np.bool_]], Any]
_FEWEST = 8  # canaries


def one_run_p_value(epsilon: float, *, canaries: int, guesses: int, correct: int, delta: float = 0.0) -> float:
    """How likely ``correct`` or more right guesses are, at most, if the training is (epsilon, delta)-DP.

    Guarantee: an upper bound on that probability, for canaries that were each put in by a fair coin of its own and
    for a number of guesses that was fixed beforehand; guesses may depend on everything that the training released.
    Because: [SNJ23, Cor. 5.4]: right guesses are dominated by a binomial of rate e^epsilon / (1 + e^epsilon), up to
    2 m delta max_i P(v - i <= binomial < v) / i.
    Error: float64 rounding.
    Not covered: guesses that use more than the training's output, such as the coins themselves.
    """
    from scipy.stats import binom

    rate = 1 / (1 + math.exp(-epsilon))
    likely = float(binom.sf(correct - 1, guesses, rate))
    if delta == 0 or correct == 0:
        return min(1.0, likely)
    steps = np.arange(1, correct + 1)
    below = binom.cdf(correct - 1, guesses, rate) - binom.cdf(correct - 1 - steps, guesses, rate)
    return min(1.0, likely + 2 * canaries * delta * float(np.max(below / steps)))


def one_run_bound(canaries: int, guesses: int, correct: int, *, delta: Real = 0, confidence: Real = 0.95) -> float:
    """The largest epsilon that so many right guesses refute, at that confidence.

    Guarantee: above the true epsilon with probability at most 1 - ``confidence``.
    Because: [SNJ23, Cor. 5.4]; every refuted epsilon bounds the true one from below, see docs/proofs/audit.md.

    >>> round(one_run_bound(1000, 100, 75, delta=1e-4), 3)
    0.673
    """
    m, r = whole(canaries, name="canaries"), whole(guesses, name="guesses", least=0)
    v, slack = whole(correct, name="correct", least=0), float(fraction_of(delta, name="delta", zero=True))
    if not v <= r <= m:
        raise OutOfRange(
            f"there are {m} canaries, {r} guesses and {v} right ones.",
            why="Each canary is guessed at most once, and right guesses are guesses.",
            fix="Give canaries >= guesses >= correct.",
        )
    error = 1 - float(fraction_of(confidence, name="confidence"))

    def refuted(epsilon: float) -> bool:
        return one_run_p_value(epsilon, canaries=m, guesses=r, correct=v, delta=slack) < error

    if not refuted(0.0):
        return 0.0
    low, high = 0.0, 1.0
    while refuted(high) and high < 700:
        low, high = high, 2 * high
    for _ in range(50):
        middle = (low + high) / 2
        low, high = (middle, high) if refuted(middle) else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class Guessed:
    """One number of guesses that was tried, how many were right, and what follows."""

    guesses: int
    correct: int
    bound: float


@dataclass(frozen=True, slots=True)
class OneRun(Document):
    """A lower bound on epsilon from one training run; or the reason why there is none."""

    name: str
    canaries: int
    tried: tuple[Guessed, ...]
    confidence: float
    delta: float
    claim: float | None
    problem: str | None = None

    @property
    def title(self) -> str:
        """What was audited."""
        return f"An audit of {self.name} from one run"

    @property
    def best(self) -> Guessed | None:
        """The number of guesses that showed most."""
        return max(self.tried, key=lambda each: each.bound, default=None)

    @property
    def bound(self) -> float | None:
        """The lower bound; None if there is none."""
        return self.best.bound if self.best else None

    @property
    def refuted(self) -> bool:
        """Whether the claim was refuted."""
        return self.claim is not None and self.bound is not None and self.bound > self.claim

    @property
    def verdict(self) -> str:
        """What follows, in one sentence."""
        if self.bound is None:
            return f"There is no bound: {self.problem}."
        slack = f" at delta = {short(self.delta)}" if self.delta else ""
        sentence = f"epsilon is at least {self.bound:.2f}{slack}, with {100 * self.confidence:g}% confidence"
        if self.claim is None:
            return f"{sentence[0].upper()}{sentence[1:]}."
        return f"{'Refuted' if self.refuted else 'Not refuted'}: {sentence}, and {short(self.claim)} was claimed."

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        best = self.best
        if best is None:
            return (Section("Verdict", (self.verdict,)),)
        odds = (
            f"{self.canaries:,} canaries were each put into the training data or not by the toss of a coin. Of "
            f"{best.guesses:,} guesses afterwards, {best.correct:,} were right: "
            f"{out_of_100(best.correct / max(1, best.guesses))}. Without the trained model it would be 50."
        )
        rows = tuple((f"{t.guesses:,}", f"{t.correct:,}", f"{t.bound:.2f}") for t in self.tried)
        table = TextTable(("guesses", "right", "epsilon at least"), rows)
        caption = "Theory above, audit below; the line is what all-right guesses would show."
        return (
            Section("Verdict", (self.verdict, odds)),
            Section("The guesses", (_SURE,), table, Figure("one-run", self.svg(), caption)),
        )

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        return {
            "kind": "one-run-audit",
            "name": self.name,
            "canaries": self.canaries,
            "bound": self.bound,
            "confidence": self.confidence,
            "delta": self.delta,
            "claim": self.claim,
            "refuted": self.refuted,
            "problem": self.problem,
            "tried": [{"guesses": t.guesses, "correct": t.correct, "bound": t.bound} for t in self.tried],
        }

    def svg(self) -> str:
        """What each number of guesses showed, below the claim and below what all-right guesses would show."""
        level = 1 - (1 - self.confidence) / len(self.tried)
        sizes = sorted({max(1, round(self.canaries * i / 24)) for i in range(1, 25)})
        most = Series(
            "if all guesses were right",
            tuple((n, one_run_bound(self.canaries, n, n, delta=self.delta, confidence=level)) for n in sizes),
        )
        marks = tuple(Mark(t.guesses, t.bound, f"{t.bound:.2f}") for t in self.tried)
        rules = () if self.claim is None else (Rule(self.claim, f"claimed: {short(self.claim)}"),)
        return line_chart(
            Panel("epsilon", (most,), rules=rules, marks=marks, include=(0.0,), height=260),
            title=f"What is claimed, and what the guesses show: {self.name}",
            description=f"{self.verdict} Bounds by number of guesses.",
            x=Axis.over((0.0, 1.3 * self.canaries), label="guesses", snap=False),
        )


def one_run(
    train: Train,
    canaries: int,
    *,
    guesses: int | Sequence[int] | None = None,
    delta: Real = 0,
    confidence: Real = 0.95,
    claim: Real | None = None,
    name: str | None = None,
    rng: np.random.Generator | None = None,
) -> OneRun:
    """Train once with canaries that coins put in, guess by their scores which were in, and bound epsilon.

    ``train(included)`` gets an array of truth values, one per canary, trains on the data and those canaries, and
    returns a score for every canary: the higher, the likelier it was in. The highest half of the guesses say "in", the
    lowest half "out", and the rest is left open. Several numbers of guesses share the allowed error; without
    ``guesses`` three are tried: all canaries, a quarter and a sixteenth. ``rng`` tosses the coins of the canaries.

    Guarantee: if the training is (epsilon, delta)-DP for adding or removing one canary, the bound exceeds epsilon with
    probability at most 1 - ``confidence``.
    Because: [SNJ23, Cor. 5.4], and a union bound over the numbers of guesses; see docs/proofs/audit.md.
    Error: not tight: canaries disturb each other, and one run has only so many coins.
    Not covered: neighbours by replacement (a canary that is swapped for another may cost twice as much).
    """
    m = whole(canaries, name="canaries", least=_FEWEST)
    level = float(fraction_of(confidence, name="confidence"))
    slack = float(fraction_of(delta, name="delta", zero=True))
    counts = _guess_counts(guesses, m)
    title = name or str(getattr(train, "__name__", type(train).__name__))
    claimed = None if claim is None else float(positive(claim, name="claim"))
    included = (rng or np.random.default_rng()).random(m) < 0.5
    try:
        scores = _canary_scores(train, included)
    except _NoScores as problem:
        return OneRun(title, m, (), level, slack, claimed, str(problem))
    shared = 1 - (1 - level) / len(counts)
    tried = tuple(_score_guesses(scores, included, count, delta=slack, confidence=shared) for count in counts)
    return OneRun(title, m, tried, level, slack, claimed)


class _NoScores(Exception):
    """A training that gave nothing to guess from."""


def _guess_counts(guesses: int | Sequence[int] | None, canaries: int) -> list[int]:
    if guesses is None:
        return sorted({max(2, canaries // share) for share in (1, 4, 16)})
    asked = [guesses] if isinstance(guesses, int) else list(guesses)
    counts = sorted({whole(count, name="guesses", least=2) for count in asked})
    if not counts or counts[-1] > canaries:
        raise OutOfRange(
            f"guesses must be between 2 and the number of canaries, {canaries}.",
            why="Each canary is guessed at most once.",
            fix="Leave guesses out, or give fewer.",
        )
    return counts


def _canary_scores(train: Train, included: NDArray[np.bool_]) -> NDArray[np.float64]:
    try:
        scores = np.asarray(train(included.copy()), dtype=np.float64)
    except Exception as error:  # somebody else's code may raise anything
        raise _NoScores(f"the training raised {type(error).__name__}") from error
    if scores.shape != included.shape:
        raise _NoScores(f"it returned scores of shape {scores.shape} for {len(included)} canaries")
    if np.isnan(scores).any():
        raise _NoScores("some scores are NaN")
    if np.all(scores == scores[0]):
        raise _NoScores("all scores are the same, so there is nothing to guess by")
    return scores


def _score_guesses(
    scores: NDArray[np.float64], included: NDArray[np.bool_], count: int, *, delta: float, confidence: float
) -> Guessed:
    order = np.argsort(scores, kind="stable")
    out, inside = order[: count // 2], order[len(order) - (count - count // 2) :]
    correct = int(np.sum(~included[out]) + np.sum(included[inside]))
    bound = one_run_bound(len(scores), count, correct, delta=delta, confidence=confidence)
    return Guessed(count, correct, bound)


_SURE = "The highest scores are guessed in, the lowest out; the canaries in between are left open."
