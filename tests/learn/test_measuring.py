"""A private score on rows held out: what it costs, how far it strays, and that rows stay apart."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.preprocessing import FunctionTransformer

from hubbub.accounting import epsilon
from hubbub.learn import PCA, CentreScaler, LinearRegression, LogisticRegression, Pipeline, Ridge
from hubbub.learn.composition.delegation import answers_alone
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

    odd: Any = Odd()
    assert row_errors(odd, answers_alone(odd, np.zeros((5, 2))), np.zeros(5)).tolist() == [0.0] * 5


# ---------------------------------------------------------------- rows that make a model fail


def strict(rows: Any) -> Any:
    """A public step that raises, ends the program or warns for some rows, and quotes them."""
    if (rows < -9).any():
        raise SystemExit(f"what a value: {rows.min()}")
    if (rows < -7).any():
        raise ValueError(f"what a value: {rows.min()}")
    if (rows < -5).any():
        warnings.warn(f"what a value: {rows.min()}", stacklevel=1)
    return rows


INSIDE: dict[str, Any] = {
    "a public step": lambda: [FunctionTransformer(strict), LogisticRegression(norm=1.0, classes=[0, 1])],
    "a projection": lambda: [PCA(norm=1.0), LogisticRegression(norm=1.0, classes=[0, 1])],
    "a centre": lambda: [CentreScaler(norm=0.1), LogisticRegression(norm=1.0, classes=[0, 1])],
    "a regressor": lambda: [FunctionTransformer(strict), Ridge(norm=1.0, target_bounds=(0, 1))],
}
ODD_ROWS = [[-10.0, 0], [-8.125, 0], [-6.0, 0], [1.7e308, 1.7e308], [1.7e308, -1.7e308], [5e-324, -0.0]]


@pytest.mark.parametrize("case", list(INSIDE))
def test_an_odd_held_out_row_moves_the_score_by_its_own_error_alone(case: str) -> None:
    """Neighbours: some rows, and the same with one that makes the model raise or warn."""
    X, y = np.random.default_rng(1).uniform(-1, 1, (60, 2)), np.arange(61) % 2
    model = Pipeline(INSIDE[case](), epsilon=5, delta=1e-6, rows=60).fit(X, y[:60])
    without = row_errors(model, answers_alone(model, X), y[:60])
    for row in ODD_ROWS:
        with_one = row_errors(model, answers_alone(model, np.vstack([X, [row]])), y)
        assert np.array_equal(with_one[:-1], without) and 0 <= with_one[-1] <= 1


@pytest.mark.parametrize("case", list(INSIDE))
def test_no_held_out_row_makes_a_fit_fail_or_warn(case: str) -> None:
    X, y = np.random.default_rng(1).uniform(-1, 1, (30, 2)), np.arange(30) % 2
    for place, row in enumerate(ODD_ROWS):
        X[place] = row
    for _ in range(3):
        inside = Pipeline(INSIDE[case]())
        WithHeldOutScore(inside, epsilon=5, delta=1e-6, rows=30, share=0.9).fit(X, y)


def test_a_row_without_an_answer_is_missed_also_if_its_label_is_no_class() -> None:
    class Fails:
        classes_ = np.array([0, 1])

        def predict(self, X: Any) -> Any:
            raise ValueError(X)

    fails: Any = Fails()
    assert answers_alone(fails, np.zeros((3, 2))) == [None] * 3
    assert row_errors(fails, [None, 0, np.int64(1), 0], [7, 7, 1, 1]).tolist() == [1, 1, 0, 1]
    fails.target_bounds_ = (0.0, 1.0)
    assert row_errors(fails, [None, 0.5, 0.25], [0.5, 0.5, 0.5]).tolist() == [1, 0, 0.25]


def test_public_rows_are_asked_strictly() -> None:
    X, y = np.random.default_rng(1).uniform(-1, 1, (60, 2)), np.arange(60) % 2
    model = Pipeline(INSIDE["a public step"](), epsilon=5, delta=1e-6, rows=60).fit(X, y)
    with pytest.raises(ValueError, match="what a value"):
        public_score(model, np.array([[-8.0, 0.0]]), [0])


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
