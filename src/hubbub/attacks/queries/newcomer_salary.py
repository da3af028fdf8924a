"""The newcomer's salary: an average before and after somebody joins (or leaves) [Bel21]."""

from __future__ import annotations

from dataclasses import dataclass
from math import hypot
from typing import ClassVar

from hubbub.attacks.queries.guess_margin import error_margin
from hubbub.attacks.report import Attack
from hubbub.explain import Figure
from hubbub.render import Json
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Real, Unsuitable, exact, whole


def newcomer(before: tuple[int, Real], after: tuple[int, Real], *, rounded_to: Real = 0, noise: Real = 0) -> Newcomer:
    """Work out one person's value from two averages, each given as (number of people, average).

    The numbers of people differ by one: somebody joined, or left. ``rounded_to`` is the step to which the averages
    were rounded (0.01 for cents), ``noise`` the standard deviation of the noise in each; both widen what is learned
    by about the number of people.

    >>> newcomer(before=(10, 3000), after=(11, 3100)).value
    4100.0
    """
    (few, low), (many, high) = sorted([_read_average(before), _read_average(after)])
    if many != few + 1:
        raise Unsuitable(
            f"the numbers of people are {few:,} and {many:,}.",
            why="One person is told from the others if the two averages differ in one person.",
            fix="Give averages of n and of n + 1 people.",
        )
    step, spread = (float(exact(x, name=n)) for x, n in ((rounded_to, "rounded_to"), (noise, "noise")))
    return Newcomer(few, low, high, abs(step), abs(spread))


@dataclass(frozen=True, slots=True)
class Newcomer(Attack):
    """The averages without and with one person, how they were rounded, and the noise in each."""

    kind: ClassVar[str] = "newcomer"
    name: ClassVar[str] = "Before and after"

    people: int  # without the newcomer
    without: float
    with_: float
    rounded_to: float
    noise: float

    @property
    def title(self) -> str:
        """What was tried."""
        return "What does the newcomer earn?"

    @property
    def value(self) -> float:
        """The value of the one person: (n + 1) times the average with, less n times the average without."""
        return (self.people + 1) * self.with_ - self.people * self.without

    @property
    def margin(self) -> float:
        """How far off it may be: surely by rounding, and 95 times out of 100 by noise."""
        rounding = (2 * self.people + 1) * self.rounded_to / 2
        return rounding + error_margin(self.noise * hypot(self.people + 1, self.people))

    @property
    def succeeded(self) -> bool:
        """Whether the value is known to a tenth of the average or better."""
        return self.margin <= abs(self.without) / 10

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        sentence = f"From the averages of {self.people:,} and {self.people + 1:,} people follows the value of the one"
        return f"{sentence}: {self._told}{'' if self.margin else ', exactly'}."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "people": self.people,
            "without": self.without,
            "with": self.with_,
            "value": self.value,
            "margin": self.margin,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        return (
            (f"average of {self.people:,} people", f"{self.without:,.10g}"),
            (f"average of {self.people + 1:,} people", f"{self.with_:,.10g}"),
            ("value of the one", self._told),
        )

    def figure(self) -> Figure:
        """The two averages and the one value."""
        bars = [
            Bar("average before", self.without, shown=f"{self.without:,.6g}"),
            Bar("average after", self.with_, shown=f"{self.with_:,.6g}"),
            Bar("the newcomer", self.value, *self._ends, self._told),
        ]
        svg = bar_chart(
            bars,
            title="Two averages, and the one value between them",
            description="; ".join(f"{bar.label}: {bar.shown}" for bar in bars) + ".",
            label="value",
        )
        return Figure(self.kind, svg, "The whisker is what rounding and noise leave open.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if self.succeeded:
            return (
                "An average is a sum, and a sum tells one person's part to whoever has it without that person. Being "
                "one of many does not help: the exact answer keeps every part.",
            )
        return ("The two averages differ by less than their rounding and noise, so the newcomer's value stays open.",)

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Rounding helps by accident: the step is multiplied by the number of people, which may be much or little. "
            "Noise of differential privacy is made so that one person's largest share drowns in it, before and after, "
            "and each average is paid for out of one budget.",
        )

    @property
    def _ends(self) -> tuple[float | None, float | None]:
        return (self.value - self.margin, self.value + self.margin) if self.margin else (None, None)

    @property
    def _told(self) -> str:
        return f"{self.value:,.6g}" + (f" ±{float(f'{self.margin:.3g}'):,.10g}" if self.margin else "")


def _read_average(average: tuple[int, Real]) -> tuple[int, float]:
    try:
        count, mean = average
    except (TypeError, ValueError):
        raise Unsuitable(
            "an average is given as (number of people, average).",
            why="Both are needed to get back the sum.",
            fix="Write before=(10, 3000), after=(11, 3100).",
        ) from None
    return whole(count, name="number of people"), float(exact(mean, name="average"))
