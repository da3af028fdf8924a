"""Isolation: every person whom some weighted sum of the asked counts singles out, by linear algebra."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.attacks.queries.guess_margin import NORMAL_95
from hubbub.attacks.report import Attack, count_of
from hubbub.attacks.requirements import finite_array
from hubbub.explain import Figure
from hubbub.render import Json
from hubbub.render import bars as text_bars
from hubbub.render.charts import Bar, bar_chart
from hubbub.terms import Real, Unsuitable, exact

_CLOSE = 1e-7  # rounding of the decomposition; a person who is not isolated is further off in all but freak cases
_LARGEST = 4_000  # questions, and different patterns of people


def isolate(masks: ArrayLike, answers: ArrayLike | None = None, *, noise: Real = 0) -> Isolation:
    """Name everybody whose value follows from the answers, where ``masks`` has a row per question, a column per person.

    A question is a row of 0 and 1 (or other weights): whose values it adds up. Person j is isolated if some weights w
    give w @ masks = (0, ..., 1 at j, ..., 0); then w @ answers is the value of j, exactly. People whom every question
    treats alike cannot be told apart. With ``noise``, the standard deviation of each answer, the value comes with
    that of w @ answers.

    >>> isolate([[1, 1, 1], [0, 1, 1]], [5, 3]).values
    {0: 2.0}
    """
    rows = _mask_matrix(masks)
    numbers = None if answers is None else _check_answers(answers, len(rows))
    patterns, first, sizes = np.unique(rows, axis=1, return_index=True, return_counts=True)
    if max(patterns.shape) > _LARGEST:
        raise Unsuitable(
            f"there are more than {_LARGEST:,} questions or patterns of people.",
            why="The system of equations is decomposed as a whole.",
            fix="Give a part of the questions.",
        )
    _, scales, basis = np.linalg.svd(patterns, full_matrices=False)
    basis = basis[scales > _CLOSE * scales.max()] if scales.max() else basis[:0]
    within = np.abs((basis**2).sum(axis=0) - 1) < _CLOSE  # a unit vector lies in the row space iff its leverage is 1
    alone = np.flatnonzero(within & (sizes == 1))
    people, order = first[alone], np.argsort(first[alone])
    weights = np.asarray(np.linalg.pinv(patterns, rcond=_CLOSE)[alone], dtype=np.float64)
    return Isolation(
        rows.shape[1], len(rows), len(basis), people[order], weights[order], numbers, float(exact(noise, name="noise"))
    )


@dataclass(frozen=True, slots=True, eq=False)
class Isolation(Attack):
    """The isolated people, and for each the weights of the answers that make up their value."""

    kind: ClassVar[str] = "isolation"
    name: ClassVar[str] = "Isolation"

    size: int
    questions: int
    rank: int
    people: NDArray[np.int64]
    weights: NDArray[np.float64]
    answers: NDArray[np.float64] | None = None
    noise: float = 0.0

    @property
    def values(self) -> dict[int, float]:
        """The value of each isolated person, worked out from the answers; nothing if none were given."""
        if self.answers is None:
            return {}
        guesses = self.weights @ self.answers
        return {int(person): round(float(value), 6) for person, value in zip(self.people, guesses, strict=True)}

    @property
    def std_devs(self) -> NDArray[np.float64]:
        """The standard deviation of the noise in each value."""
        return np.asarray(self.noise * np.sqrt((self.weights**2).sum(axis=1)))

    @property
    def certain(self) -> int:
        """How many values are told apart from the next whole number 95 times out of 100 in spite of the noise."""
        return int(np.count_nonzero(NORMAL_95 * self.std_devs < 0.5))

    @property
    def succeeded(self) -> bool:
        """Whether anybody is isolated beyond the noise."""
        return self.certain > 0

    @property
    def headline(self) -> str:
        """What was found, in one sentence."""
        sentence = f"{self.questions:,} counts isolate {count_of(len(self.people), self.size)} of {self.size:,} people"
        return f"{sentence}." if not self.noise else f"{sentence}, {self.certain:,} of them beyond the noise."

    def numbers(self) -> dict[str, Json]:
        """What was found, for programs."""
        return {
            "people": self.size,
            "questions": self.questions,
            "rank": self.rank,
            "isolated": [int(person) for person in self.people],
            "values": {str(person): value for person, value in self.values.items()},
            "certain": self.certain,
        }

    def facts(self) -> tuple[tuple[str, str], ...]:
        """What was found, for people."""
        rows = (
            ("people", f"{self.size:,}"),
            ("questions", f"{self.questions:,}"),
            ("questions that tell something new", f"{self.rank:,}"),
            ("isolated", count_of(len(self.people), self.size)),
        )
        return (*rows, ("of these, beyond the noise", f"{self.certain:,}")) if self.noise else rows

    def figure(self) -> Figure:
        """People, questions that tell something new, and isolated people."""
        bars = [("people", self.size), ("independent questions", self.rank), ("isolated people", len(self.people))]
        svg = bar_chart(
            [Bar(name, float(count), shown=f"{count:,}") for name, count in bars],
            title="What the questions amount to",
            description="; ".join(f"{name}: {count:,}" for name, count in bars) + ".",
            label="number",
        )
        plain = text_bars([(name, float(count), f"{count:,}") for name, count in bars])
        return Figure(self.kind, svg, "As many independent questions as people isolate everybody.", plain)

    def meaning(self) -> tuple[str, ...]:
        """What it means for the people in the data."""
        if not len(self.people):
            return ("No weighted sum of these answers is about one person alone. The next question may change that.",)
        return (
            "Each answer is an equation. Nobody is asked about alone, and still the equations together can be solved "
            "for these people: their values are as good as published.",
        )

    def remedy(self) -> tuple[str, ...]:
        """What would have helped."""
        return (
            "Refusing questions that would isolate somebody (query auditing) is possible for sums alone, costs more "
            "with each question, and refusals tell something. Noise, with a budget for how often it may be drawn, "
            "bounds what all answers tell together, whatever they are combined to.",
        )


def _mask_matrix(masks: ArrayLike) -> NDArray[np.float64]:
    try:
        rows = np.asarray(masks, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        rows = np.zeros(0)
    if rows.ndim != 2 or not rows.size or not np.isfinite(rows).all():
        raise Unsuitable(
            "masks is not a table of numbers.",
            why="It has a row for each question and a column for each person.",
            fix="Give lists of 0 and 1, all of one length.",
        )
    return rows


def _check_answers(answers: ArrayLike, count: int) -> NDArray[np.float64]:
    numbers = finite_array(answers, name="answers", axes=1)
    if numbers.shape != (count,):
        raise Unsuitable(
            f"there are {count:,} questions and answers of shape {numbers.shape}.",
            why="Each question has one answer.",
            fix="Give one number for each row of masks.",
        )
    return numbers
