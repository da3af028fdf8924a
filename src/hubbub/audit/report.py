"""What an audit found: words first, then the counts, and two pictures with theory above and the audit below."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hubbub.explain import Document, Figure, Section, TextTable, attacker_bounds
from hubbub.render import Json, out_of_100, short
from hubbub.render.charts import Axis, Panel, Rule, Series, Tick, line_chart, percentage, plain
from hubbub.terms import Neighbours


@dataclass(frozen=True, slots=True)
class CountedEvent:
    """One event, counted on runs that had no part in choosing it."""

    event: str
    likelier_under: str  # "a" or "b"
    hits: tuple[int, int]  # under the likelier input, and under the other
    trials: int  # per input
    bound: float
    curve: tuple[tuple[int, float], ...]  # (trials counted, bound they give)
    most: tuple[tuple[int, float], ...]  # (trials counted, the most that so many could give)
    roc: tuple[tuple[float, float], ...]

    @property
    def other(self) -> str:
        """The input under which the event is rarer."""
        return "a" if self.likelier_under == "b" else "b"


@dataclass(frozen=True, slots=True)
class Audit(Document):
    """A lower bound on epsilon for one mechanism and one pair of inputs; or the reason why there is none."""

    name: str
    bound: float | None
    confidence: float
    delta: float
    trials: int
    claim: float | None
    neighbours: Neighbours
    counted: CountedEvent | None
    deterministic: bool
    problem: str | None

    @property
    def title(self) -> str:
        """What was audited."""
        return f"An audit of {self.name}"

    @property
    def event(self) -> str | None:
        """The event that was found, in words."""
        return self.counted.event if self.counted else None

    @property
    def refuted(self) -> bool:
        """Whether the claim was refuted: the bound is above it."""
        return self.claim is not None and self.bound is not None and self.bound > self.claim

    @property
    def verdict(self) -> str:
        """What follows, in one sentence."""
        if self.bound is None:
            return f"There is no bound: {self.problem}."
        sure = f"with {100 * self.confidence:g}% confidence"
        sentence = f"epsilon is at least {self.bound:.2f}{self._delta()}, {sure}"
        if self.claim is None:
            return f"{sentence[0].upper()}{sentence[1:]}."
        if self.refuted:
            return f"Refuted: {sentence}, and {short(self.claim)} was claimed."
        return f"Not refuted: {sentence}, and {short(self.claim)} was claimed. That proves nothing in its favour."

    def sections(self) -> tuple[Section, ...]:
        """The report, part by part."""
        if self.counted is None:
            return (Section("Verdict", (self.verdict, _NO_BOUND)),)
        parts = (self._verdict(self.counted), self._counts(self.counted), self._curves(self.counted))
        return (*parts, _FINE_PRINT)

    def to_json(self) -> dict[str, Json]:
        """The numbers as one JSON document."""
        document: dict[str, Json] = {
            "kind": "audit",
            "name": self.name,
            "bound": self.bound,
            "confidence": self.confidence,
            "delta": self.delta,
            "trials": self.trials,
            "claim": self.claim,
            "refuted": self.refuted,
            "neighbours": self.neighbours.value,
            "deterministic": self.deterministic,
            "problem": self.problem,
            "verdict": self.verdict,
        }
        if self.counted is None:
            return {**document, "event": None}
        more, less = self.counted.hits
        return {
            **document,
            "event": self.counted.event,
            "likelier_under": self.counted.likelier_under,
            "hits": {self.counted.likelier_under: more, self.counted.other: less},
            "counted_trials": self.counted.trials,
            "curve": [{"trials": n, "bound": e} for n, e in self.counted.curve],
        }

    # ---------------------------------------------------------------- parts

    def _delta(self) -> str:
        return f" at delta = {short(self.delta)}" if self.delta else ""

    def _verdict(self, counted: CountedEvent) -> Section:
        more, less = counted.hits
        sure = (more + 1) / (more + less + 2)
        words = [
            self.verdict,
            f"Toss a coin for which input is used, and run it until the event below happens. Whoever then bets on "
            f"{counted.likelier_under} is right {out_of_100(sure)} times.",
        ]
        if self.deterministic:
            words.append(
                "On each input the output is one constant, and not the same one: there is no noise at all. The bound "
                "is the most that so many trials can show; the true epsilon is infinite."
            )
        return Section("Verdict", tuple(words))

    def _counts(self, counted: CountedEvent) -> Section:
        words = f"The event: {counted.event}. It was chosen on other runs than those counted here."
        rows = tuple(
            (f"{name} ({'more' if likelier else 'less'} likely)", f"{hits:,}", f"{counted.trials:,}")
            for name, hits, likelier in zip(
                (counted.likelier_under, counted.other), counted.hits, (True, False), strict=True
            )
        )
        table = TextTable(("input", "runs with the event", "runs counted"), rows)
        caption = "Theory above, audit below: a line that climbs over the claim refutes it."
        return Section("What was seen", (words,), table, Figure("bound", self.bound_svg(), caption))

    def _curves(self, counted: CountedEvent) -> Section:
        words = (
            "Someone who sees one output guesses that it came from "
            f"{counted.likelier_under} whenever a score is high enough. The curve shows how often that is right, and "
            "how often wrong. No mechanism with the stated epsilon gets above the upper line, but for sampling error."
        )
        return Section(
            "The best test that was found",
            (words,),
            figure=Figure(
                "roc", self.roc_svg(), "Theory above, audit below: what the epsilon allows, and what was reached."
            ),
        )

    # ---------------------------------------------------------------- pictures

    def bound_svg(self) -> str:
        """The bound against the number of runs counted; and the most that so many can show, where it is near."""
        assert self.counted is not None
        shown: tuple[Series, ...] = (Series("shown by this audit", _log_points(self.counted.curve)),)
        if self.counted.bound > _NEAR * self.counted.most[-1][1]:
            shown = (Series("the most so many runs can show", _log_points(self.counted.most)), *shown)
        rules = () if self.claim is None else (Rule(self.claim, f"claimed: {short(self.claim)}"),)
        sizes = [n for n, _ in self.counted.curve]
        return line_chart(
            Panel("epsilon", shown, rules=rules, include=(0.0,), height=260),
            title=f"What is claimed, and what the audit shows: {self.name}",
            description=f"{self.verdict} The bound grows with the number of trials, to {self.counted.bound:.3g}.",
            x=_decade_axis(sizes[0], sizes[-1]),
        )

    def roc_svg(self) -> str:
        """Right against wrong guesses of the audit's score, and the most that the epsilon allows."""
        assert self.counted is not None
        assert self.bound is not None
        epsilon = self.claim if self.claim is not None else self.bound
        turn, _ = attacker_bounds.roc_corner(epsilon=epsilon, delta=self.delta)
        bent = sorted({0.0, turn, max(0.0, 1 - self.delta), 1.0})
        allowed = tuple((f, attacker_bounds.true_positives(f, epsilon=epsilon, delta=self.delta)) for f in bent)
        name = "allowed by the claim" if self.claim is not None else f"allowed by epsilon = {epsilon:.2f}"
        reached = Series("reached by the audit", self.counted.roc)
        return line_chart(
            Panel("right", (Series(name, allowed), reached), show=percentage, height=280),
            title=f"Guessing {self.counted.likelier_under} from one output of {self.name}",
            description=f"Right guesses against wrong ones; the curve of the audit's score, and what is {name}.",
            x=Axis.over((0.0, 1.0), label="wrong", show=percentage, count=6),
        )


def _log_points(points: tuple[tuple[int, float], ...]) -> tuple[tuple[float, float], ...]:
    return tuple((math.log10(n), value) for n, value in points)


def _decade_axis(low: int, high: int) -> Axis:
    """An axis of powers of ten."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    ticks = tuple(Tick(float(power), plain(10.0**power, 0)) for power in range(first, last + 1))
    return Axis("runs counted on each input", float(first), float(max(last, first + 1)), ticks)


_NEAR = 0.6  # a bound above this share of the most that could be shown is limited by the number of runs
_NO_BOUND = (
    "An audit counts how often an outcome happens on two inputs. What was returned gives nothing to count, so nothing "
    "is said about privacy, neither good nor bad."
)
_FINE_PRINT = Section(
    "How to read this",
    (
        "An audit can refute a claim and never prove one: it speaks of this pair of inputs and of the events it "
        "thought of. A proof speaks of all.",
        "The bound is wrong (too high) with at most the stated probability, for each audit. Whoever runs many audits "
        "and shows the highest must count them all.",
    ),
)
