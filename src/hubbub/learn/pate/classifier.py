"""PATE as an estimator."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hubbub.learn.base.fit_plan import FitFacts, FitPlan, Watch, nobody
from hubbub.learn.base.inputs import table_of
from hubbub.learn.base.parameters import ONE_ROW
from hubbub.learn.base.private_estimator import PrivateClassifier, need_fit
from hubbub.learn.base.shapes import (
    TableColumns,
    check_same_columns,
    check_target,
    columns_of,
    need_target,
    shape_of,
    width_of_rows,
    with_width,
)
from hubbub.learn.base.targets import class_target
from hubbub.learn.pate.plan import OwnedLabels, PatePlan, Wishes, on_public, plan_votes
from hubbub.learn.pate.smooth_sensitivity import InstanceCost
from hubbub.learn.pate.student import GraphStudent, Student, teach_student
from hubbub.learn.pate.teachers import Factory, Teacher, factory_of, try_teacher
from hubbub.learn.stored_words import identity_of_step
from hubbub.learn.training.network import Floats, Labels
from hubbub.ledger import AccountLike
from hubbub.terms import MissingParameter, Neighbours, Real, Receipt, WrongShape

_PUBLIC = "Public rows and teachers count as chosen without looking at X."


class PATEClassifier(PrivateClassifier):
    """Teachers vote on public rows, noise hides every single teacher, and a student learns from the answers.

    The rows of X are dealt into shards, each unit at random into one. Every shard trains a teacher, without noise; the
    teachers vote on rows of ``public``, unlabelled rows that tell nothing about anybody in X; noisy counts of the votes
    answer. The student, which is what predicts, sees the public rows and the answers alone.

    ``teacher`` is any estimator with fit and predict, or a function that makes one; ``student`` is another. There are
    about as many ``teachers`` as each has rows. ``aggregator`` "confident" answers only where a noisy count reaches
    ``threshold`` of the teachers, "gnmax" always; at most ``answers`` of ``queries`` questions are answered. With
    ``fit(..., groups=...)`` all rows of one unit have one teacher. ``data_dependent``, a share of the price, buys a
    report in ``data_dependent_`` of what the answers cost on this very data.

    Guarantee: (epsilon, delta)-DP for the given unit and neighbours: whatever the teachers are, and for both relations
    alike.
    Because: one unit moves one vote per question, sqrt(2) in L2 [PSMRTE18, Prop. 8]; Gaussians compose as one [DRS22,
    Cor. 2]; the student is post-processing [DR14, Prop. 2.1]. ``docs/proofs/pate.md``.
    Error: an answer is the teachers' choice if its margin is several times the sigma in ``event_``.
    Not covered: running time; teachers that are no functions of their shard; the number of rows and the set of labels,
    where they are not declared.

    >>> import numpy as np
    >>> from hubbub.learn import PATEClassifier
    >>> generator = np.random.default_rng(1)
    >>> y = generator.integers(0, 2, 40_000)
    >>> X = generator.normal(y[:, None], 0.2, (40_000, 3))
    >>> public = generator.normal(generator.integers(0, 2, (300, 1)), 0.2, (300, 3))
    >>> model = PATEClassifier(public=public, epsilon=1, delta=1e-6).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    asked_: Labels
    answers_: Floats
    report_: tuple[float, float, float] | None

    def __init__(
        self,
        *,
        public: ArrayLike | None = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        teachers: int | None = None,
        teacher: Teacher | Factory | None = None,
        student: Student | None = None,
        aggregator: str = "confident",
        threshold: Real = 0.6,
        queries: int | None = None,
        answers: int | None = None,
        data_dependent: Real | None = None,
        classes: ArrayLike | None = None,
        rows: int | str | None = None,
        neighbours: Neighbours | str = "add-remove",
        unit: str = "",
        account: AccountLike | None = None,
        population: str | None = None,
        dataset: str | None = None,
    ) -> None:
        self.public, self.epsilon, self.delta = public, epsilon, delta
        self.teachers, self.teacher, self.student = teachers, teacher, student
        self.aggregator, self.threshold, self.queries, self.answers = aggregator, threshold, queries, answers
        self.data_dependent = data_dependent
        self.classes, self.rows, self.neighbours, self.unit = classes, rows, neighbours, unit
        self.account, self.population, self.dataset = account, population, dataset

    # ------------------------------------------------------------ fitting

    def fit(
        self, X: ArrayLike, y: ArrayLike | None = None, *, groups: ArrayLike | None = None, watch: Watch = nobody
    ) -> Self:
        """Learn from the rows of X with the classes y; ``groups`` names the unit of each row.

        ``watch`` is told the number of each teacher that is done.
        """
        table = with_width(X, self._declared_width())
        if self.public is not None:
            check_same_columns(columns_of(table), self.public, name="public=")
        if groups is None:
            return super().fit(X, y, watch=watch)
        if not self.unit:
            raise MissingParameter(
                "groups= needs unit=, the name of those who are protected.",
                why="The guarantee says whose rows go together.",
                fix='Write PATEClassifier(..., unit="people.id").',
            )
        rows, _ = shape_of(table, empty=self.rows is not None)
        need_target(y)
        check_target(y, rows)
        if len(groups) != rows:  # type: ignore[arg-type]
            raise WrongShape(
                "groups= and X have different numbers of rows.",
                why="Each row belongs to one unit.",
                fix="Give one name per row of X.",
            )
        return super().fit(X, OwnedLabels(y, groups), watch=watch)  # type: ignore[arg-type]

    def _declared_width(self) -> int | None:
        return width_of_rows(self.public)

    def _plan(self, facts: FitFacts) -> FitPlan:
        if facts.private_rows and self.teachers is None:
            raise MissingParameter(
                'rows="private" needs teachers=.',
                why="The number of teachers would follow from the number of rows.",
                fix="Write PATEClassifier(..., teachers=100).",
            )
        grouped = isinstance(facts.y, OwnedLabels)
        if grouped:
            facts = replace(facts, y=facts.y.labels)  # type: ignore[union-attr]
        caveats = [caveat for caveat in facts.guarantee.caveats if not (grouped and caveat == ONE_ROW)]
        guarantee = replace(facts.guarantee, caveats=(*caveats, _PUBLIC))
        public, classes = self._public_rows(facts.columns), class_target(self, facts).classes
        factory = factory_of(self.teacher)
        try_teacher(factory, public, len(classes))
        return plan_votes(
            self._wishes(),
            rows=1 if facts.private_rows else facts.row_count.expected,
            public=public,
            classes=classes,
            factory=factory,
            price=facts.price,
            guarantee=guarantee,
            facts={"teacher": identity_of_step(self.teacher), "grouped": grouped},
        )

    def _wishes(self) -> Wishes:
        return Wishes(self.teachers, self.aggregator, self.threshold, self.queries, self.answers, self.data_dependent)

    def _public_rows(self, columns: int) -> Floats:
        if self.public is None:
            raise MissingParameter(
                "PATEClassifier needs public=, rows without labels that are no secret.",
                why="Teachers answer questions about public rows, and a student learns from these answers.",
                fix="Write PATEClassifier(..., public=rows), with the columns of X.",
            )
        table = table_of(self.public, name="public=")
        if shape_of(table)[1] != columns:
            raise WrongShape(
                f"public= has {table.shape[1]} columns and X has {columns}.",
                why="Teachers that learn from X vote on public rows.",
                fix="Give public rows with the columns of X, in the same order.",
            )
        return table

    def _learn(self, plan: FitPlan, values: Floats, receipt: Receipt | None, columns: TableColumns) -> Self:
        super()._learn(plan, values, receipt, columns)
        assert isinstance(plan, PatePlan)
        self._taught = self._teach(plan.public)
        return self

    # ------------------------------------------------------------ after the release

    def _teach(self, public: Floats) -> Any:
        """A student of the public rows and the answers."""
        labels = on_public(self.asked_, self.answers_, len(public))
        student = GraphStudent() if self.student is None else copy.deepcopy(self.student)
        return teach_student(student, public, labels, len(self.classes_))

    @property
    def student_(self) -> Any:
        """The student, which knows classes by their numbers."""
        if not hasattr(self, "_taught"):  # read from a file
            self._taught = self._teach(table_of(self.public))
        return self._taught

    @property
    def data_dependent_(self) -> InstanceCost:
        """What the answers cost on this very data, as it was released with noise; only if it was asked for."""
        need_fit(self)
        if self.report_ is None:
            raise MissingParameter(
                "no report about this data was paid for.",
                why="What answers cost on given data tells about it, so it is released with noise or not at all.",
                fix="Write PATEClassifier(..., data_dependent=0.2), a share of epsilon and delta.",
            )
        return InstanceCost(*self.report_)

    # ------------------------------------------------------------ predicting

    def predict_proba(self, X: ArrayLike) -> Floats:
        """The probability of each class, if the student gives any."""
        table = self._rows_to_answer(X)
        chances = np.zeros((len(table), len(self.classes_)))
        chances[:, self.student_.classes_] = self.student_.predict_proba(table)
        return chances

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """The student's class of each row."""
        table = self._rows_to_answer(X)
        return np.asarray(self.classes_[np.asarray(self.student_.predict(table), dtype=np.int64)])
