"""A private score on rows held out: what it costs, how far it strays, and that rows stay apart."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.learn import LinearRegression, LogisticRegression
from hubbub.learn.composition.held_out_score import ModelScore, WithHeldOutScore, noisy_misses, public_score, row_errors
from hubbub.ledger import Ledger
from hubbub.noise.testing import seeded
from hubbub.terms import Budget, GaussianNoise, MissingParameter, OutOfRange, WrongNeighbours

from .contract import DELTA, Unread, Watched

PRICE: dict[str, Any] = {"epsilon": 1, "delta": DELTA}
STEP = GaussianNoise(sigma=Fraction(4), sensitivity=Fraction(1), grid=Fraction(1, 1 << 16), dimension=2)


def people(rows: int = 3000) -> tuple[Any, Any]:
    X = np.random.default_rng(2).uniform(-0.5, 0.5, (rows, 3))
    return X, (X[:, 0] > X[:, 1]).astype(int)


def measured(**more: Any) -> WithHeldOutScore:
    classifier = LogisticRegression(norm=1.0, classes=[0, 1], max_iter=40)
    return WithHeldOutScore(classifier, **(PRICE | {"rows": 3000} | more))


@pytest.mark.parametrize("rows", [None, 3000, "private"])
def test_model_and_score_together_cost_what_the_model_does(rows: Any) -> None:
    found = measured(rows=rows).fit(*people())
    assert 0.95 < epsilon(found.event_, delta=DELTA) <= 1.000001
    assert 500 < found.score_.rows < 700
    assert found.score_.value > 0.9


def test_the_score_is_that_of_other_rows() -> None:
    X, y = people(20_000)
    found = measured(rows=20_000).fit(X[:10_000], y[:10_000])
    fresh = public_score(found.estimator_, X[10_000:], y[10_000:])
    low, high = found.score_.interval
    assert low - 0.02 < fresh.value < high + 0.02
    assert fresh.noise == 0 and fresh.rows == 10_000


def test_regressors_have_a_mean_absolute_error() -> None:
    X, _ = people()
    regression = LinearRegression(norm=1.0, target_bounds=(-1, 3))
    found = WithHeldOutScore(regression, **PRICE, rows=3000).fit(X, 2 * X[:, 0])
    assert found.score_.kind == "mean absolute error" and found.score_.width == 4
    assert 0 <= found.score_.value < 0.2
    assert found.predict(X).shape == (3000,)


def test_one_row_moves_the_sums_by_at_most_one() -> None:
    errors = np.append(np.random.default_rng(1).uniform(0, 1, 40), [0.0, 1.0])
    quiet = GaussianNoise(sigma=Fraction(1, 1 << 20), sensitivity=Fraction(1), grid=Fraction(1, 1 << 16), dimension=2)
    moved = [noisy_misses(errors, quiet) - noisy_misses(np.delete(errors, i), quiet) for i in range(42)]
    assert max(map(np.linalg.norm, moved)) == 1
    assert {float(each.sum()) for each in moved} == {1.0}


@pytest.mark.parametrize(("scale", "held"), [(1, True), (0.9, False), (1.1, False)])
def test_the_noise_is_that_of_the_event(scale: float, held: bool) -> None:
    source = seeded(5)
    drawn = np.concatenate([noisy_misses(np.zeros(0), STEP, rng=source) for _ in range(2000)])
    assert (abs(drawn.std() / (4 * scale) - 1) < 0.05) == held


def test_a_row_is_asked_alone() -> None:
    class Odd:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            return np.full(len(X), int(len(X) > 1))  # another answer in company

    assert row_errors(Odd(), np.zeros((5, 2)), np.zeros(5)).tolist() == [0.0] * 5


def test_intervals_widen_with_noise_and_stay_in_range() -> None:
    quiet, loud = ModelScore(0.1, 100), ModelScore(0.1, 100, noise=5)
    assert loud.interval[0] < quiet.interval[0] < 0.9 < quiet.interval[1] < loud.interval[1] <= 1
    assert ModelScore(0.0, 1, noise=100).interval == (0.0, 1.0)
    assert ModelScore(0.25, 100, width=40).value == 10


@pytest.mark.parametrize("rows", [1, 3])
def test_hardly_any_rows_do_not_make_it_fail(rows: int) -> None:
    X, y = people(rows)
    found = measured(rows="private").fit(X, y)
    assert 0 <= found.score_.value <= 1


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(3, 1e-4), by="board", why="a test")
        yield opened


def test_it_is_charged_once_before_reading_and_questions_can_pay(ledger: Ledger) -> None:
    X, y = people()
    rows = Watched(X, ledger)
    classifier = LogisticRegression(norm=1.0, classes=[0, 1], max_iter=10, sampling="full")
    first = WithHeldOutScore(classifier, **PRICE, rows="private", account=ledger, dataset="people 1").fit(rows, y)
    assert all(kinds[-1] == "charge" for kinds in rows.entries)
    assert first.receipt_ is not None and first.estimator_.receipt_ == first.receipt_
    same = WithHeldOutScore(classifier, **PRICE, rows="private", account=ledger, dataset="people 1")
    assert same.fit(Unread(9, 3), Unread(9)).score_ == first.score_


def test_what_cannot_be_measured_is_refused() -> None:
    with pytest.raises(WrongNeighbours):
        measured(neighbours="replace").fit(*people())
    with pytest.raises(OutOfRange):
        measured(share=1.5).fit(*people())


def test_without_an_estimator_there_is_nothing_to_measure() -> None:
    with pytest.raises(MissingParameter, match="needs an estimator"):
        WithHeldOutScore(**PRICE).fit(*people(20))
