"""Differencing: two counts that differ in one person, asked of any interface that has ``.sql``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import hypot
from typing import ClassVar

import sqlglot
from sqlglot import exp

from hubbub.attacks.queries.asking import SqlInterface, ask_interface, read_scalar
from hubbub.attacks.queries.guess_margin import SURE, chance_right, error_margin
from hubbub.attacks.report import Attack
from hubbub.explain import Figure, TextTable
from hubbub.releases import Release
from hubbub.render import Json, out_of_100, percent, short
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Real, Unsuitable, exact


def differencing(
    interface: SqlInterface,
    *,
    table: str,
    victim: str,
    secret: str,
    person: str | None = None,
    noise: Real | None = None,
    asking: Mapping[str, object] | None = None,
) -> Differencing:
    """Ask three harmless counts, and conclude from their difference whether the victim has the secret [All23].

    ``victim`` and ``secret`` are SQL conditions: what is known about one person, and what is not. The interface is
    anything with ``.sql(text)``: a DuckDB connection, ``hubbub.connect(...)``, a class of your own. ``person`` is the
    column that tells people apart, where they have several rows: then people are counted, and else rows. ``asking``
    goes along with each question ({"epsilon": 0.5}). How much noise an answer carries is read from a release of Hubbub;
    for others ``noise`` is the standard deviation of each answer (nothing: they are exact).

    What an attacker concludes from noisy answers is worked out as if noise were normal: the two possible worlds are
    1 apart, and the difference of two answers has the standard deviation sqrt(sd2^2 + sd3^2).

    >>> class Ward:
    ...     def sql(self, text):
    ...         return 1 if "flu" not in text else 99 if "NOT" in text else 100
    >>> found = differencing(Ward(), table="patients", victim="age = 26 AND zip = 12345", secret="diagnosis = 'flu'")
    >>> found.has_secret, found.chance
    (True, 1.0)
    """
    who, what = _parse_condition(victim, called="victim"), _parse_condition(secret, called="secret")
    counting = _counting_query(table, person)
    texts = [counting.where(part).sql("duckdb") for part in (who, what, exp.and_(exp.not_(who), what))]
    given = None if noise is None else float(exact(noise, name="noise"))
    answers = tuple(_ask_count(interface, text, given, asking or {}) for text in texts)
    return Differencing(victim, secret, answers, "rows" if person is None else "people")


@dataclass(frozen=True, slots=True)
class NoisyAnswer:
    """A question, its answer, and the standard deviation of the noise in it."""

    text: str
    value: float
    std_dev: float


@dataclass(frozen=True, slots=True)
class Differencing(Attack):
    """Three answers (who fits the victim, who has the secret, who has it and is not the victim), and what they tell."""

    kind: ClassVar[str] = "differencing"
    name: ClassVar[str] = "Differencing"

    victim: str
    secret: str
    answers: tuple[NoisyAnswer, ...]
    counted: str = "rows"  # or people

    @property
    def difference(self) -> float:
        """The second answer less the third: 1 if the victim has the secret, and 0 if not, but for noise."""
        return self.answers[1].value - self.answers[2].value

    @property
    def std_dev(self) -> float:
        """The standard deviation of the noise in the difference."""
        return hypot(self.answers[1].std_dev, self.answers[2].std_dev)

    @property
    def separation(self) -> float:
        """How many standard deviations the two possible worlds are apart; infinite for exact answers."""
        return 1 / self.std_dev if self.std_dev else float("inf")

    @property
    def chance(self) -> float:
        """How often the best guess is right, if both worlds were equally likely before: 1 is certain, 0.5 blind."""
        return chance_right(self.std_dev)

    @property
    def has_secret(self) -> bool:
        """What the attacker concludes."""
        return self.difference > 0.5

    @property
    def alone(self) -> bool:
        """Whether one person fits the victim's description, as far as the first answer tells."""
        return abs(self.answers[0].value - 1) <= max(0.5, error_margin(self.answers[0].std_dev))

    @property
    def succeeded(self) -> bool:
        """Whether the conclusion is about one person and right at least 95 times out of 100."""
        return self.alone and self.chance >= SURE

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        seen = f"The two counts differ by {short(self.difference)}"
        if not self.std_dev:
            crowd = "one person fits" if self.alone else f"{short(self.answers[0].value)} {self.counted} fit"
            return f"{seen}, and {crowd}: {self._conclusion}."
        return (
            f"{seen}, with noise of ±{short(error_margin(self.std_dev))} (95%): a guess from it is right "
            f"{out_of_100(self.chance)} times, and 50 without any answer."
        )

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "questions": [{"sql": a.text, "answer": a.value, "std_dev": a.std_dev} for a in self.answers],
            "difference": self.difference,
            "std_dev": self.std_dev,
            "separation": self.separation if self.std_dev else None,
            "chance_right": self.chance,
            "concludes": self.has_secret,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        return tuple((a.text.partition(" WHERE ")[2], _noisy_text(a.value, a.std_dev)) for a in self.answers)

    def table(self) -> TextTable:
        """The three counts and their difference."""
        rows = (*self.facts(), ("the second less the third", _noisy_text(self.difference, self.std_dev)))
        return TextTable((f"how many {self.counted} with", "answer"), rows)

    def figure(self) -> Figure:
        """The difference and its interval, beside the two possible worlds."""
        off = error_margin(self.std_dev)
        bars = [
            Bar("the victim does not have it", 0.0, shown="0"),
            Bar("the victim has it", 1.0, shown="1"),
            Bar(
                "the difference seen",
                self.difference,
                self.difference - off if off else None,
                self.difference + off if off else None,
                _noisy_text(self.difference, self.std_dev),
            ),
        ]
        svg = bar_chart(
            bars,
            title="What the difference should be, and what it is",
            description="; ".join(f"{bar.label}: {bar.shown}" for bar in bars) + ".",
            label="difference of two counts",
        )
        return Figure(self.kind, svg, "The whisker holds the exact difference 95 times out of 100.")

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if self.succeeded:
            return (
                "Nobody asked for the victim's secret. Two counts over many people, each harmless, differ in one "
                "person, and their difference is that person's secret. A rule that forbids small counts does not "
                "help: both are large.",
            )
        if not self.std_dev:
            return (f"The difference tells how many of the {short(self.answers[0].value)} who fit have the secret.",)
        return (
            f"The two possible worlds are {short(self.separation)} standard deviations of the noise apart, so the "
            f"difference hardly tells them apart. Guesses are right in {percent(self.chance)} of cases, at 50% blind.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Noise helps if it is as large as one person's share, and if asking again does not average it away: that "
            "is what a privacy budget is for. Checking questions for pairs that differ in one person (`differences`) "
            "finds some; in general it cannot be decided, and a refusal tells something, too.",
        )

    @property
    def _conclusion(self) -> str:
        if not self.alone:
            return f"so many of them have the secret ({self.secret})"
        return f"the victim {'has' if self.has_secret else 'does not have'} the secret ({self.secret})"


def _noisy_text(value: float, std_dev: float) -> str:
    return f"{value:.6g}" if not std_dev else f"{value:.6g} ±{short(error_margin(std_dev))}"


def _parse_condition(text: str, *, called: str) -> exp.Expr:
    try:
        return sqlglot.condition(text, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, ValueError, TypeError):
        raise Unsuitable(
            f"{called} is not an SQL condition.",
            why="It goes behind WHERE.",
            fix="Write one such as \"age = 26 AND gender = 'm'\".",
        ) from None


def _counting_query(table: str, person: str | None) -> exp.Select:
    counted = "COUNT(*) AS n" if person is None else f"COUNT(DISTINCT {person}) AS n"
    try:
        return sqlglot.select(counted, dialect="duckdb").from_(table, dialect="duckdb")
    except (sqlglot.errors.SqlglotError, ValueError, TypeError):
        raise Unsuitable(
            "table or person is not the name of a table or a column.",
            why="They go behind FROM, and into COUNT(DISTINCT ...).",
            fix='Write them as SQL does: patients, or "my patients" in double quotes.',
        ) from None


def _ask_count(interface: SqlInterface, text: str, noise: float | None, asking: Mapping[str, object]) -> NoisyAnswer:
    answer = ask_interface(interface, text, **asking)
    return NoisyAnswer(text, read_scalar(answer), _noise_of(answer) if noise is None else noise)


def _noise_of(answer: object) -> float:
    """The standard deviation of the noise in an answer's one number; 0 for what is not a release."""
    if not isinstance(answer, Release):
        return 0.0
    [spread] = answer[answer.columns_names[0]].std_dev
    return float(spread or 0.0)
