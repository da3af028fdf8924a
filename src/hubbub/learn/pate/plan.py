"""Everything about a PATE fit that is decided before a private value is read."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.fit_plan import Watch, nobody
from hubbub.learn.base.inputs import private_table
from hubbub.learn.base.targets import class_numbers
from hubbub.learn.pate.aggregation import CHECKS, Ballot, ballot_for, mu_of_price
from hubbub.learn.pate.query_selection import cluster_middles
from hubbub.learn.pate.smooth_sensitivity import CostReport, report_for
from hubbub.learn.pate.teachers import Factory
from hubbub.learn.pate.votes import shards_of, vote_histograms
from hubbub.learn.training.network import Floats, Labels
from hubbub.terms import Compose, Guarantee, Neighbours, OutOfRange, Repeat, Unit, fraction_of, identity_of, whole

_NOISE = 6  # teachers per standard deviation of noise, where the number of answers is chosen for them
_LEAST = 2  # answers per class, where they are chosen
_MORE = Fraction(5, 4)  # questions per answer, where some are not answered


@dataclass(frozen=True, slots=True)
class Wishes:
    """What the parameters of an estimator ask for; None is left to us."""

    teachers: int | None
    aggregator: str
    threshold: Any
    queries: int | None
    answers: int | None
    data_dependent: Any

    @property
    def confident(self) -> bool:
        """Whether questions on which teachers disagree stay unanswered."""
        if self.aggregator not in ("confident", "gnmax"):
            raise OutOfRange(
                f"aggregator must be 'confident' or 'gnmax' and is {self.aggregator!r}.",
                why="Votes are counted with noise, with or without a check that teachers agree.",
                fix='Write aggregator="confident" or aggregator="gnmax".',
            )
        return self.aggregator == "confident"

    def teachers_for(self, rows: int) -> int:
        """As many teachers as each has rows, unless said otherwise."""
        return max(2, math.isqrt(rows)) if self.teachers is None else whole(self.teachers, name="teachers")

    def votes_needed(self, teachers: int) -> int | None:
        """The threshold in votes; None for GNMax."""
        if not self.confident:
            return None
        return math.ceil(fraction_of(self.threshold, name="threshold", one=True) * teachers)

    def numbers(self, teachers: int, classes: int, public: int, price: tuple[Fraction, Fraction]) -> tuple[int, int]:
        """(questions, answers at most): as many answers as the budget gives a clear noise margin to."""
        confident = self.confident
        left = float(1 - CHECKS) if confident else 1.0
        clear = int(left * (teachers * mu_of_price(*price) / _NOISE) ** 2 / 2)
        most = public if self.queries is None else whole(self.queries, name="queries")
        answers = (
            min(most, max(_LEAST * classes, clear)) if self.answers is None else whole(self.answers, name="answers")
        )
        asked = min(most, math.ceil(_MORE * answers) if confident else answers) if self.queries is None else most
        if not answers <= asked <= public:
            raise OutOfRange(
                f"{answers} answers to {asked} questions about {public} public rows are impossible.",
                why="A question is about one public row, and has one answer at most.",
                fix="Give more public rows, or smaller queries= and answers=.",
            )
        return asked, answers


@dataclass(frozen=True, slots=True)
class OwnedLabels:
    """Labels with the name of the unit that each row belongs to; it has the shape of the labels."""

    labels: ArrayLike
    groups: ArrayLike

    @property
    def shape(self) -> tuple[int]:
        """One label per row; whether that is so was checked when they came."""
        return (len(self.groups),)  # type: ignore[arg-type]


@dataclass(frozen=True, slots=True)
class PatePlan:
    """A fit that was decided on."""

    ballot: Ballot
    report: CostReport | None
    answers_price: tuple[Fraction, Fraction]
    teachers: int
    factory: Factory
    public: Floats
    places: Labels  # of the public rows that are asked about, in order
    classes: NDArray[Any]
    guarantee: Guarantee
    facts: Mapping[str, object]

    @property
    def event(self) -> Repeat:
        """What will be done."""
        events = self.ballot.events if self.report is None else (*self.ballot.events, self.report.event)
        return Repeat(Compose(events), 1)

    @property
    def size(self) -> int:
        """How many numbers are stored: an answer to each question, and the report."""
        return self.ballot.asked + (self.report is not None)

    @property
    def identity(self) -> Mapping[str, object]:
        """What, beside the event, makes two fits the same."""
        return {
            "teachers": self.teachers,
            "threshold": self.ballot.threshold,
            "questions": hashlib.sha256(self.public[self.places].tobytes()).hexdigest(),
            "classes": identity_of(self.classes.tolist()),  # 1 is not "1"
            **self.facts,
        }

    def train(self, X: ArrayLike, y: ArrayLike | None, watch: Watch = nobody) -> Floats:
        """Deal the rows to teachers, let them vote, and answer with noise."""
        labels, groups = (y.labels, y.groups) if isinstance(y, OwnedLabels) else (y, None)
        assert labels is not None  # the estimator needs a target
        table = private_table(X)
        counts = vote_histograms(
            self.factory,
            table,
            class_numbers(labels, self.classes, len(table)),
            shards_of(groups, len(table), teachers=self.teachers),
            self.public[self.places],
            teachers=self.teachers,
            classes=len(self.classes),
            watch=watch,
        )
        answers = self.ballot.release(counts).astype(np.float64)
        return answers if self.report is None else np.append(answers, float(self.report.release(counts)))

    def learned(self, values: Floats) -> dict[str, object]:
        """The questions, the answers, and the report where one was paid for."""
        report = None
        if self.report is not None:
            cost = self.report.instance_cost(self.ballot, float(values[-1]), self.answers_price)
            report = cost.epsilon, cost.delta, cost.order
        answers = values[: self.ballot.asked]
        return {"classes_": self.classes, "asked_": self.places, "answers_": answers, "report_": report}


def plan_votes(
    wishes: Wishes,
    *,
    rows: int,
    public: Floats,
    classes: NDArray[Any],
    factory: Factory,
    price: tuple[Fraction, Fraction],
    guarantee: Guarantee,
    facts: Mapping[str, object],
) -> PatePlan:
    """All decisions, from public facts.

    Guarantee: answers and report together keep the price, for the guarantee's unit and neighbours.
    Because: each part keeps its share, and shares add up [DR14, Thm. 3.16]; the event's own accounting is no worse.
    """
    relation, unit = guarantee.neighbours, guarantee.unit
    share = Fraction(0) if wishes.data_dependent is None else fraction_of(wishes.data_dependent, name="data_dependent")
    left = price[0] * (1 - share), price[1] * (1 - share)
    teachers = wishes.teachers_for(rows)
    asked, answered = wishes.numbers(teachers, len(classes), len(public), left)
    ballot = ballot_for(
        asked=asked,
        answered=answered,
        classes=len(classes),
        threshold=wishes.votes_needed(teachers),
        epsilon=left[0],
        delta=left[1],
        neighbours=relation,
        unit=unit,
    )
    report = _plan_report(ballot, teachers, share, price, relation, unit) if share else None
    return PatePlan(
        ballot, report, left, teachers, factory, public, cluster_middles(public, asked), classes, guarantee, facts
    )


def _plan_report(
    ballot: Ballot, teachers: int, share: Fraction, price: tuple[Fraction, Fraction], relation: Neighbours, unit: Unit
) -> CostReport:
    return report_for(
        ballot,
        teachers=teachers,
        epsilon=price[0] * share,
        delta=price[1] * share,
        answers_delta=price[1] * (1 - share),
        neighbours=relation,
        unit=unit,
    )


def on_public(places: Labels, answers: Floats, rows: int) -> Labels:
    """Released answers as one class number per public row, -1 where there is none."""
    labels = np.full(rows, -1)
    labels[places] = answers.astype(np.int64)
    return labels
