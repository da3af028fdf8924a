"""Teachers, shards and the histogram of votes: one unit is one vote."""

from __future__ import annotations

import warnings
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from hubbub.learn.pate.teachers import ABSTAINS, LeastSquaresTeacher, factory_of, try_teacher, votes_of_one
from hubbub.learn.pate.votes import shards_of, vote_histograms
from hubbub.noise.testing import seeded
from hubbub.terms import NotANumber, WrongShape

TEACHERS, CLASSES = 7, 3


class Broken:
    """Fails in the way that it is told."""

    def __init__(self, how: str) -> None:
        self.how = how

    def fit(self, rows: Any, labels: Any) -> Broken:
        if self.how == "raises":
            raise RuntimeError(f"row {rows[0]}")
        if self.how == "warns":
            warnings.warn("a row is odd", stacklevel=1)
        return self

    def predict(self, rows: Any) -> Any:
        return {
            "raises": None,
            "warns": np.zeros(len(rows), dtype=int),
            "shape": np.zeros((len(rows), 2)),
            "unknown": np.full(len(rows), 77),
            "negative": np.full(len(rows), -3),
            "halves": np.full(len(rows), 0.5),
            "nan": np.full(len(rows), np.nan),
            "words": np.full(len(rows), "zero"),
        }[self.how]


class Touchy:
    """Whose vote hangs on the last digits of its rows."""

    def fit(self, rows: Any, labels: Any) -> Touchy:
        self.digits = int(1e6 * abs(rows.sum()))
        return self

    def predict(self, rows: Any) -> Any:
        return np.random.default_rng(self.digits).integers(0, CLASSES, len(rows))


def data(rows: int = 150) -> tuple[Any, Any]:
    generator = np.random.default_rng(3)
    labels = generator.integers(0, CLASSES, rows)
    return np.eye(4)[labels] + generator.normal(0, 0.4, (rows, 4)), labels


def counted(rows: Any, labels: Any, shards: Any, teacher: Any = None) -> Any:
    asked = np.random.default_rng(5).normal(0.3, 0.6, (40, 4))
    return vote_histograms(factory_of(teacher), rows, labels, shards, asked, teachers=TEACHERS, classes=CLASSES)


# ---------------------------------------------------------------- one unit is one vote


@pytest.mark.parametrize("teacher", [None, Touchy()], ids=["default", "touchy"])
@pytest.mark.parametrize("change", ["add", "remove", "replace"])
def test_one_unit_moves_each_histogram_by_one_vote(change: str, teacher: Any) -> None:
    rows, labels = data()
    shards = shards_of(None, len(rows), teachers=TEACHERS, rng=seeded(1))
    before = counted(rows, labels, shards, teacher)
    largest = 0.0
    for i in range(20):
        if change == "remove":
            keep = np.arange(len(rows)) != i
            after = counted(rows[keep], labels[keep], shards[keep], teacher)
        else:
            other, label, shard = 50 * np.eye(4)[i % 4], (labels[i] + 1) % CLASSES, shards[i]
            if change == "add":
                after = counted(np.vstack([rows, other]), np.append(labels, label), np.append(shards, shard), teacher)
            else:
                moved, relabelled = rows.copy(), labels.copy()
                moved[i], relabelled[i] = other, label
                after = counted(moved, relabelled, shards, teacher)
        moves = after - before
        largest = max(largest, float(np.linalg.norm(moves, axis=1).max()))
        assert np.abs(after.max(axis=1) - before.max(axis=1)).max() <= 1
        assert np.linalg.norm(moves) <= np.sqrt(2 * len(before)) + 1e-9
    assert largest == pytest.approx(np.sqrt(2))  # and no less: a sensitivity of 1 would be wrong


def test_rows_dealt_by_position_would_move_many_votes() -> None:
    rows, labels = data()
    before = counted(rows, labels, np.arange(150) * TEACHERS // 150, Touchy())
    after = counted(rows[1:], labels[1:], np.arange(149) * TEACHERS // 149, Touchy())  # the first leaves, all move up
    assert np.linalg.norm(after - before, axis=1).max() > np.sqrt(2) + 1e-9


def test_a_unit_with_many_rows_has_one_teacher() -> None:
    groups = np.repeat(np.arange(30), 5)
    shards = shards_of(groups, 150, teachers=TEACHERS, rng=seeded(2))
    assert all(len(set(shards[groups == unit])) == 1 for unit in range(30))
    assert len(set(shards)) == TEACHERS


def test_odd_names_of_units_are_names_too() -> None:
    names = [None, "a", float("nan"), ["list"], None, "a", {"x": 1}]
    shards = shards_of(names, 7, teachers=1000, rng=seeded(3))
    assert shards[0] == shards[4] and shards[1] == shards[5]


def test_equal_numbers_are_one_name_whatever_their_type() -> None:
    names = [1, 1.0, True, np.float32(1), np.bool_(True), Decimal("1.00"), Fraction(1)]
    assert len(set(shards_of(names, 7, teachers=10**6, rng=seeded(3)))) == 1
    missing = [float("nan"), np.float64("nan"), Decimal("nan")]
    assert len(set(shards_of(missing, 3, teachers=10**6, rng=seeded(3)))) == 1
    assert len(set(shards_of([1, 1.5, 2, "a"], 4, teachers=10**6, rng=seeded(3)))) == 4


class Scribe:
    """Writes what it knows of its shard into the questions, as a scaler in place does."""

    def fit(self, rows: Any, labels: Any) -> Scribe:
        self.mean = rows.mean(axis=0)
        return self

    def predict(self, rows: Any) -> Any:
        rows -= self.mean
        return (rows[:, 0] > 0).astype(int)


def test_what_a_teacher_writes_into_the_questions_no_other_reads() -> None:
    rows, labels = data()
    shards = shards_of(None, len(rows), teachers=TEACHERS, rng=seeded(1))
    moved = rows.copy()
    moved[np.flatnonzero(shards == 0)[0]] = 1e6
    before, after = (counted(each, labels, shards, Scribe()) for each in (rows, moved))
    assert np.abs(after - before).max() == 1


def test_names_for_other_rows_are_refused() -> None:
    with pytest.raises(WrongShape):
        shards_of([1, 2], 3, teachers=2)


def test_shards_are_uniform_and_independent() -> None:
    shards = shards_of(None, 70_000, teachers=TEACHERS, rng=seeded(4))
    assert np.abs(np.bincount(shards, minlength=TEACHERS) - 10_000).max() < 5 * np.sqrt(70_000 / 7 * 6 / 7)
    same = np.mean(shards[1:] == shards[:-1])
    assert abs(same - 1 / 7) < 5 * np.sqrt(6 / 49 / 70_000)


# ---------------------------------------------------------------- what is wrong in a shard stays there


@pytest.mark.parametrize("how", ["raises", "shape", "unknown", "negative", "halves", "nan", "words"])
def test_a_teacher_that_fails_abstains(how: str) -> None:
    rows, labels = data(20)
    votes = votes_of_one(lambda: Broken(how), rows, labels, rows[:5], CLASSES)
    assert (votes == ABSTAINS).all()


def test_a_teacher_that_warns_says_nothing() -> None:
    rows, labels = data(20)
    votes = votes_of_one(lambda: Broken("warns"), rows, labels, rows[:5], CLASSES)
    assert (votes == 0).all()


def test_what_is_wrong_with_a_teacher_shows_on_public_rows() -> None:
    rows, _ = data(20)
    with pytest.raises(NotANumber, match="fails on public rows"):
        try_teacher(lambda: Broken("raises"), rows, CLASSES)
    with pytest.raises(WrongShape):
        try_teacher(lambda: Broken("shape"), rows, CLASSES)
    try_teacher(lambda: Broken("warns"), rows, CLASSES)
    try_teacher(lambda: Broken("raises"), rows[:1], CLASSES)  # too few to try it on


def test_no_rows_and_one_class_are_no_failures() -> None:
    rows, labels = data(20)
    never = factory_of(Broken("raises"))
    assert (votes_of_one(never, rows[:0], labels[:0], rows[:5], CLASSES) == ABSTAINS).all()
    assert (votes_of_one(never, rows, np.full(20, 2), rows[:5], CLASSES) == 2).all()


def test_huge_values_spoil_one_vote_only() -> None:
    rows, labels = data()
    shards = shards_of(None, len(rows), teachers=TEACHERS, rng=seeded(1))
    before = counted(rows, labels, shards)
    rows[0] = 1e300
    assert np.abs(counted(rows, labels, shards) - before).sum(axis=1).max() <= 2


def test_rows_of_no_known_class_teach_nobody() -> None:
    rows, labels = data()
    shards = shards_of(None, len(rows), teachers=TEACHERS, rng=seeded(1))
    labels[:20] = -1
    assert np.array_equal(counted(rows, labels, shards), counted(rows[20:], labels[20:], shards[20:]))


# ---------------------------------------------------------------- making teachers


def test_every_shard_has_a_fresh_teacher() -> None:
    given = LeastSquaresTeacher()
    made = factory_of(given)()
    assert made is not given and isinstance(made, LeastSquaresTeacher)
    assert isinstance(factory_of(LeastSquaresTeacher)(), LeastSquaresTeacher)
    with pytest.raises(NotANumber):
        factory_of(3)


def test_the_default_teacher_learns_whether_rows_are_many_or_few() -> None:
    for rows, columns in ((60, 100), (400, 4)):
        generator = np.random.default_rng(7)
        labels = generator.integers(0, 3, rows)
        table = 3 * np.eye(columns)[labels] + generator.normal(0, 0.1, (rows, columns))
        assert np.mean(LeastSquaresTeacher().fit(table, labels).predict(table) == labels) > 0.98


def test_any_scikit_learn_estimator_can_teach() -> None:
    from sklearn.naive_bayes import GaussianNB

    rows, labels = data()
    shards = shards_of(None, len(rows), teachers=TEACHERS, rng=seeded(1))
    assert (counted(rows, labels, shards, GaussianNB()).sum(axis=1) == TEACHERS).all()
