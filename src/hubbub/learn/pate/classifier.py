"""PATE as an estimator."""
# ruff: noqa: N803  (X is what scikit-learn calls it)

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hubbub.learn.base.class_labels import Classifier
from hubbub.learn.base.inputs import class_numbers, private_table, table_of
from hubbub.learn.base.private_count import Price, RowCount
from hubbub.learn.base.private_estimator import Watch, nobody
from hubbub.learn.base.shapes import check_names, names_of, shape_of
from hubbub.learn.identity import identity
from hubbub.learn.pate.plan import PatePlan, Wishes, on_public, plan_for
from hubbub.learn.pate.smooth_sensitivity import InstanceCost
from hubbub.learn.pate.student import GraphStudent, taught
from hubbub.learn.pate.teachers import factory_of, try_teacher
from hubbub.learn.pate.votes import histograms, shards_of
from hubbub.learn.training.network import Floats, Labels
from hubbub.ledger import Account, AccountLike
from hubbub.terms import MissingParameter, Neighbours, Real, WrongShape

_ONE_ROW = "Each has one row."


@dataclass(frozen=True, slots=True)
class Owned:
    """Labels with the name of the unit that each row belongs to."""

    labels: Any
    groups: Any


class PATEClassifier(Classifier):
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
        public: Any = None,
        epsilon: Real | None = None,
        delta: Real | None = None,
        teachers: int | None = None,
        teacher: Any = None,
        student: Any = None,
        aggregator: str = "confident",
        threshold: Real = 0.6,
        queries: int | None = None,
        answers: int | None = None,
        data_dependent: Any = None,
        classes: Any = None,
        rows: Any = None,
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

    def fit(self, X: Any, y: Any = None, *, groups: Any = None, watch: Watch = nobody) -> Self:
        """Learn from the rows of X with the classes y; ``groups`` names the unit of each row.

        ``watch`` is told the number of each teacher that is done.
        """
        if groups is None:
            return super().fit(X, y, watch=watch)
        if not self.unit:
            raise MissingParameter(
                "groups= needs unit=, the name of those who are protected.",
                why="The guarantee says whose rows go together.",
                fix='Write PATEClassifier(..., unit="people.id").',
            )
        if len(groups) != shape_of(X, empty=self.rows is not None)[0]:
            raise WrongShape(
                "groups= and X have different numbers of rows.",
                why="Each row belongs to one unit.",
                fix="Give one name per row of X.",
            )
        return super().fit(X, Owned(y, groups), watch=watch)

    def _check(self, X: Any, y: Any) -> None:
        super()._check(X, y.labels if isinstance(y, Owned) else y)
        if names_of(X) is not None and names_of(self.public) is not None:
            check_names(names_of(X), self.public, model=type(self).__name__)

    def _plan(self, columns: int, y: Any, account: Account | None, rows: RowCount, price: Price) -> PatePlan:
        labels, guarantee = y, self._promise(price, account)
        if isinstance(y, Owned):
            labels = y.labels
            guarantee = replace(guarantee, caveats=tuple(said for said in guarantee.caveats if said != _ONE_ROW))
        public, classes, make = self._public_rows(columns), self._labels(labels, account), factory_of(self.teacher)
        try_teacher(make, public, len(classes))
        return plan_for(
            self._wishes(),
            rows=rows.expected,
            public=public,
            classes=classes,
            make=make,
            price=price,
            guarantee=guarantee,
            facts={"teacher": identity(self.teacher), "grouped": isinstance(y, Owned)},
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

    def _counts(self) -> bool:
        """Never: only the number of teachers follows from the rows. If these are private, it must be given."""
        if super()._counts() and self.teachers is None:
            raise MissingParameter(
                'rows="private" needs teachers=.',
                why="The number of teachers would follow from the number of rows.",
                fix="Write PATEClassifier(..., teachers=100).",
            )
        return False

    def _row_count(self, came: int) -> RowCount:
        return RowCount.public(1) if isinstance(self.rows, str) else super()._row_count(came)

    def _released(self, made: PatePlan, X: Any, y: Any, watch: Watch) -> Floats:
        labels, groups = (y.labels, y.groups) if isinstance(y, Owned) else (y, None)
        table = private_table(X)
        counts = histograms(
            made.make,
            table,
            class_numbers(labels, made.classes, len(table)),
            shards_of(groups, len(table), teachers=made.teachers),
            made.public[made.places],
            teachers=made.teachers,
            classes=len(made.classes),
            watch=watch,
        )
        answers = made.ballot.release(counts).astype(np.float64)
        return answers if made.report is None else np.append(answers, float(made.report.release(counts)))

    def _learned_from(self, made: PatePlan, values: Floats) -> None:
        self.n_features_in_, self.classes_ = made.public.shape[1], made.classes
        self.asked_, self.answers_ = made.places, values[: made.ballot.asked]
        self.report_ = None
        if made.report is not None:
            told = made.report.told(made.ballot, float(values[-1]), made.answers_price)
            self.report_ = told.epsilon, told.delta, told.order
        self._taught = self._teach(made.public)

    def _caveats(self, account: Account | None) -> list[str]:
        return [*super()._caveats(account), "Public rows and teachers count as chosen without looking at X."]

    # ------------------------------------------------------------ after the release

    def _teach(self, public: Floats) -> Any:
        """A student of the public rows and the answers."""
        labels = on_public(self.asked_, self.answers_, len(public))
        student = GraphStudent() if self.student is None else copy.deepcopy(self.student)
        return taught(student, public, labels, len(self.classes_))

    @property
    def student_(self) -> Any:
        """The student, which knows classes by their numbers."""
        if not hasattr(self, "_taught"):  # read from a file
            self._taught = self._teach(table_of(self.public))
        return self._taught

    @property
    def data_dependent_(self) -> InstanceCost:
        """What the answers cost on this very data, as it was released with noise; only if it was asked for."""
        self._need_fit()
        if self.report_ is None:
            raise MissingParameter(
                "no report about this data was paid for.",
                why="What answers cost on given data tells about it, so it is released with noise or not at all.",
                fix="Write PATEClassifier(..., data_dependent=0.2), a share of epsilon and delta.",
            )
        return InstanceCost(*self.report_)

    # ------------------------------------------------------------ predicting

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each class, if the student gives any."""
        table = self._known(X)
        found = np.zeros((len(table), len(self.classes_)))
        found[:, self.student_.classes_] = self.student_.predict_proba(table)
        return found

    def predict(self, X: Any) -> NDArray[Any]:
        """The student's class of each row."""
        table = self._known(X)
        return np.asarray(self.classes_[np.asarray(self.student_.predict(table), dtype=np.int64)])
