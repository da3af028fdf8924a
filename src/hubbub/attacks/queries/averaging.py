"""Asking again: noise that is drawn anew for every answer averages out.

Without a budget, k answers to the same question are together as good as one with noise smaller by the root of k; for a
count, after (2 z sd)^2 answers the truth is known. Two things stop that: an answer that is kept and given again, for
free and for nothing; and a budget that each new answer is charged to.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from hubbub.attacks.queries.asking import SqlInterface, ask
from hubbub.attacks.report import Attack
from hubbub.attacks.requirements import Floats, finite_array
from hubbub.explain import Figure
from hubbub.render import Json, short
from hubbub.render.charts import Panel, Rule, Series, line_chart
from hubbub.terms import BudgetExceeded, Real, fraction_of, positive, whole

_SURE = 0.95


def repeats_needed(std_dev: Real, *, confidence: Real = _SURE) -> int:
    """How often a count with fresh noise must be asked for until its average, rounded, is the truth.

    >>> repeats_needed(10)
    1537
    """
    from scipy.special import ndtri

    level = float(fraction_of(confidence, name="confidence"))
    spread = float(positive(std_dev, name="std_dev"))
    return math.ceil((2 * float(ndtri((1 + level) / 2)) * spread) ** 2)


def average_repeats(
    interface: SqlInterface,
    question: str,
    *,
    repeats: int = 100,
    asking: Mapping[str, object] | None = None,
    truth: float | None = None,
) -> Repeats:
    """Ask for the same count again and again, as long as answers come, and average.

    ``interface`` has ``sql(text)``; ``asking`` goes along with each question, such as ``{"epsilon": 0.1}``.
    """
    options = dict(asking or {})
    answers: list[float] = []
    refused = False
    for _ in range(whole(repeats, name="repeats", least=2)):
        try:
            answers.append(ask(interface, question, **options))
        except BudgetExceeded:
            refused = True
            break
    return Repeats.of(answers, truth=truth, refused=refused)


@dataclass(frozen=True, slots=True, eq=False)
class Repeats(Attack):
    """Answers to one question, their average, and whether that gives the truth away."""

    kind: ClassVar[str] = "repeats"
    name: ClassVar[str] = "Asking again"

    answers: Floats
    truth: float | None = None
    refused: bool = False

    @classmethod
    def of(cls, answers: ArrayLike, *, truth: float | None = None, refused: bool = False) -> Repeats:
        """From answers that were collected; ``refused`` if no more were given.

        >>> Repeats.of([101.2, 98.9, 99.7, 100.6, 99.6]).average
        100.0
        """
        return cls(finite_array(answers, name="answers", axes=1), truth, refused)

    @property
    def average(self) -> float:
        """The mean of all answers."""
        return float(self.answers.mean())

    @property
    def different(self) -> int:
        """How many different answers came."""
        return int(np.unique(self.answers).size)

    @property
    def kept(self) -> bool:
        """Whether one and the same answer came each time: an exact one, or one that was kept."""
        return self.different == 1

    @property
    def reach(self) -> float:
        """How far from the truth the average is, with 95% confidence, by the spread of the answers."""
        if self.kept:
            return math.inf  # one answer tells nothing about its own error
        return 1.96 * float(self.answers.std(ddof=1)) / math.sqrt(self.answers.size)

    @property
    def succeeded(self) -> bool:
        """Whether the average, rounded, is known to be the truth."""
        if self.truth is not None and round(self.average) != round(self.truth):
            return False
        return self.reach < 0.5 or (self.truth is not None and self.kept)

    @property
    def headline(self) -> str:
        """What was found, in one plain sentence."""
        times = f"Asked {self.answers.size:,} times"
        if self.kept:
            return f"{times}, the same answer came each time: {self.average:,.6g}."
        ended = ", and then no more" if self.refused else ""
        return f"{times}{ended}: the average is {self.average:,.2f}, give or take {short(self.reach)}."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        reach = None if self.kept else self.reach
        about: dict[str, Json] = {"asked": int(self.answers.size), "different": self.different, "refused": self.refused}
        return {**about, "average": self.average, "reach": reach, "truth": self.truth}

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = [("answers", f"{self.answers.size:,}"), ("different ones", f"{self.different:,}")]
        rows.append(("average", f"{self.average:,.2f}"))
        rows.append(("95% within", "cannot be told from one answer" if self.kept else f"±{short(self.reach)}"))
        rows.append(("ended by", "the budget" if self.refused else "the attacker"))
        return tuple(rows)

    def figure(self) -> Figure:
        """The average so far, answer by answer."""
        steps = np.arange(1, self.answers.size + 1)
        running = np.cumsum(self.answers) / steps
        shown = np.unique(np.linspace(0, self.answers.size - 1, 200).astype(int))
        line = Series("average so far", tuple((float(steps[i]), float(running[i])) for i in shown))
        rules = () if self.truth is None else (Rule(self.truth, f"the truth: {self.truth:,.6g}"),)
        panel = Panel("average so far", (line,), rules=rules, height=240)
        drawn = line_chart(panel, title="The same question again", description=self.headline, x="times asked")
        return Figure(self.kind, drawn, "Fresh noise averages out; a kept answer stays where it is.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if self.succeeded:
            return ("The noise was there, and is gone: whoever may ask often enough has the exact number.",)
        if self.kept:
            return ("Asking again gave nothing new: the first answer, with its noise, is all there is.",)
        return ("So few different answers leave the truth within their noise.",)

    def remedy(self) -> tuple[str, ...]:
        """What would have helped, and what would not."""
        return (
            "Keep answers and give them again; charge new ones to a budget, for all who may ask together.",
            "Noise alone does not help, nor does a limit per user where users can be many.",
        )
