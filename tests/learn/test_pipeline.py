"""Pipelines: one price, one event and one charge for several steps."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.learn import PCA, GaussianNB, LinearRegression, LogisticRegression, Pipeline, StandardScaler, make_pipeline
from hubbub.learn.composition import stages
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.ledger import Ledger
from hubbub.terms import (
    Budget,
    EmptyInput,
    MissingParameter,
    MixesPeople,
    NotANumber,
    OutOfRange,
    Unreachable,
    WrongShape,
)

from .contract import DELTA, EXCEPTIONS, Unread, Watched
from .sums_contract import NAMED

PRICE: dict[str, Any] = {"epsilon": 1, "delta": DELTA}


def people(rows: int = 2000) -> tuple[Any, Any]:
    generator = np.random.default_rng(6)
    X = generator.normal([50, 0, 5], [10, 1, 2], (rows, 3))
    return X, (X[:, 0] + 5 * X[:, 1] > 50).astype(int)


def three(**more: Any) -> Pipeline:
    return make_pipeline(
        StandardScaler(bounds=[(0, 100), (-5, 5), (-5, 15)]),
        PCA(2, norm=3.0),
        LogisticRegression(norm=3.0, max_iter=20, classes=[0, 1]),
        **(PRICE | more),
    )


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(3, 1e-4), plans=Budget(2, 5e-5), by="board", why="a test")
        yield opened


def charges(ledger: Ledger) -> int:
    return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())


@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_all_steps_together_cost_what_was_promised(relation: str) -> None:
    model = three(neighbours=relation).fit(*people())
    assert 0.95 < epsilon(model.event_, delta=DELTA, neighbours=relation) <= 1
    assert len(list(model.event_.steps())) == 3


def test_shares_decide_who_gets_the_noise() -> None:
    def first_noise(shares: list[float] | None) -> float:
        return float(next(three(shares=shares).fit(*people(300)).event_.steps()).sigma)  # type: ignore[attr-defined]

    assert first_noise([8, 1, 1]) < first_noise([1, 1, 1]) < first_noise(None)


def test_it_learns_and_answers_as_its_last_step() -> None:
    X, y = people(6000)
    model = make_pipeline(
        StandardScaler(bounds=[(0, 100), (-5, 5), (-5, 15)]), LogisticRegression(norm=3.0), epsilon=2, delta=DELTA
    ).fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.predict_proba(X).shape == (6000, 2) and model.decision_function(X).shape == (6000,)
    assert list(model.classes_) == [0, 1] and model.n_features_in_ == 3
    ends = make_pipeline(StandardScaler(bounds=(-10, 100)), PCA(2, norm=3.0), **PRICE).fit(X)
    assert ends.transform(X).shape == (6000, 2)


def test_the_whole_is_charged_once_and_before_reading(ledger: Ledger) -> None:
    X, y = people()
    rows = Watched(X, ledger)
    model = three(account=ledger, dataset="people-2026").fit(rows, y)
    assert rows.entries and all(kinds[-1] == "charge" for kinds in rows.entries)
    assert charges(ledger) == 1 and ledger.check(model.receipt_)  # type: ignore[arg-type]
    again = three(account=ledger, dataset="people-2026").fit(Unread(2000, 3), Unread(2000))
    assert charges(ledger) == 1 and np.array_equal(again.predict(X), model.predict(X))


def test_public_steps_may_be_frozen_or_without_a_fit() -> None:
    from sklearn.decomposition import PCA as Public  # noqa: N811
    from sklearn.frozen import FrozenEstimator
    from sklearn.preprocessing import FunctionTransformer

    X, y = people()
    frozen = FrozenEstimator(Public(2).fit(people(100)[0]))
    model = make_pipeline(FunctionTransformer(np.tanh), frozen, GaussianNB(bounds=(-60, 60)), **PRICE).fit(X, y)
    assert model.predict(X).shape == (2000,)


def test_steps_that_would_leak_are_refused_before_a_charge(ledger: Ledger) -> None:
    from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

    last = GaussianNB(bounds=(0, 1), classes=[0, 1])
    for step, error in (
        (MinMaxScaler(), NotANumber),
        (FunctionTransformer(lambda X: X - X.mean(axis=0)), MixesPeople),
        (FunctionTransformer(lambda X: X[:1]), WrongShape),
        (StandardScaler(bounds=(0, 1), epsilon=1), OutOfRange),
        (StandardScaler(bounds=(0, 1), account=ledger), OutOfRange),
        (StandardScaler(), MissingParameter),
        (object(), NotANumber),
    ):
        with pytest.raises(error):
            make_pipeline(step, last, **PRICE, account=ledger).fit(Unread(20, 3), Unread(20))
    assert charges(ledger) == 0


def test_prices_shares_and_steps_are_checked() -> None:
    for model, error in (
        (three(epsilon=None), MissingParameter),
        (three(shares=[1, 1]), OutOfRange),
        (three(shares=[1, 1, -1]), OutOfRange),
        (make_pipeline(**PRICE), EmptyInput),
    ):
        with pytest.raises(error):
            model.fit(Unread(20, 3), Unread(20))


def test_it_can_be_cloned_and_says_when_it_is_not_fitted() -> None:
    from sklearn.base import clone
    from sklearn.exceptions import NotFittedError

    model = clone(three())
    with pytest.raises(NotFittedError):
        model.predict(people(5)[0])
    assert model.set_params(epsilon=2).get_params()["epsilon"] == 2


def test_one_step_has_the_whole_budget() -> None:
    X, y = people()
    alone = LinearRegression(norm=60, target_bounds=(0, 1), **PRICE).fit(X, y)
    lined = make_pipeline(LinearRegression(norm=60, target_bounds=(0, 1)), **PRICE).fit(X, y)
    assert float(next(lined.event_.steps()).sigma) == pytest.approx(  # type: ignore[attr-defined]
        float(next(alone.event_.steps()).sigma),  # type: ignore[attr-defined]
        rel=0.01,
    )


# ---------------------------------------------------------------- one row, one promise


@pytest.mark.parametrize("odd", [np.nan, np.inf, "x"])
def test_no_row_makes_a_declared_fit_fail(odd: Any) -> None:
    X, y = people(50)
    X = X.astype(object)
    X[7, 1] = odd
    assert three(rows=50).fit(X, y).predict(people(5)[0]).shape == (5,)
    assert three().fit(X, y).predict(people(5)[0]).shape == (5,)


@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_a_public_step_makes_of_a_row_does_not_fail_a_declared_fit() -> None:
    from sklearn.preprocessing import FunctionTransformer

    X, y = people(50)
    X[3] = 0.0
    logged = FunctionTransformer(far_log)
    last = LogisticRegression(norm=2.0, classes=[0, 1], max_iter=5)
    model = make_pipeline(logged, StandardScaler(bounds=(0, 5)), last, rows=50, **PRICE).fit(X, y)
    assert len(model.steps_) == 3


def far_log(X: Any) -> Any:
    return np.log(np.abs(X))


def test_a_promise_that_no_plan_keeps_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def dear(*args: object, **more: object) -> float:
        asked.append(more)
        assert len(asked) <= 200, "it never ends"
        return np.inf

    monkeypatch.setattr(stages, "cost_of_run", dear)
    with pytest.raises(Unreachable):
        make_pipeline(StandardScaler(bounds=(0, 1)), PCA(2, norm=1.0), **PRICE).fit(Unread(20, 3))
    with pytest.raises(Unreachable):
        stages.epsilon_for(Fraction(1, 2), 0.1)


def test_large_batches_are_paid_from_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each Poisson fit may take a millionth of delta."""
    asked: list[Fraction] = []

    def told(event: Any, *, delta: Fraction, **more: Any) -> float:
        asked.append(delta)
        return epsilon(event, delta=delta, **more)

    monkeypatch.setattr(stages, "cost_of_run", told)
    three().fit(*people(100))
    assert asked and all(0.9999 * DELTA < delta <= DELTA * (1 - 3e-6) for delta in asked)


def test_public_steps_are_said_in_the_promise() -> None:
    from sklearn.preprocessing import FunctionTransformer

    said = "Public steps count as treating each row by itself; they were tried on made-up rows."
    last = GaussianNB(bounds=(-1, 1))
    model = make_pipeline(FunctionTransformer(np.tanh), last, **PRICE).fit(*people(100))
    assert said in model.guarantee_.describe()
    assert said not in make_pipeline(last, **PRICE).fit(*people(100)).guarantee_.describe()


class Times:
    """A public step whose repr does not tell what it does."""

    def __init__(self, factor: Any) -> None:
        self.factor = factor

    def __repr__(self) -> str:
        return "Times()"

    def transform(self, X: Any) -> Any:
        return X * (self.factor() if callable(self.factor) else self.factor)


def test_a_stored_answer_is_of_the_same_steps_in_the_same_order(ledger: Ledger) -> None:
    scaler, last = StandardScaler(bounds=(-1, 1)), GaussianNB(bounds=(-1, 1), classes=[0, 1])
    given: dict[str, Any] = {"epsilon": 0.1, "delta": DELTA, "account": ledger, "dataset": "people"}
    for steps, paid in (
        ((Times(0.1), scaler, last), 1),
        ((Times(0.1), scaler, last), 1),
        ((Times(0.2), scaler, last), 2),
        ((scaler, Times(0.1), last), 3),
        ((Times(lambda: 0.1), scaler, last), 4),  # cannot be pickled: nothing is known of it
        ((Times(lambda: 0.1), scaler, last), 5),
    ):
        make_pipeline(*steps, **given).fit(*people(100))
        assert charges(ledger) == paid


# ---------------------------------------------------------------- wrappers


WRAPPERS = {
    "Pipeline": lambda: make_pipeline(
        StandardScaler(bounds=(-5, 5)), LogisticRegression(norm=5.0, max_iter=3), **PRICE
    ),
    "Measured": lambda: WithHeldOutScore(LogisticRegression(norm=5.0, max_iter=3), **PRICE),
}


@pytest.mark.parametrize("name", sorted(WRAPPERS))
def test_scikit_learns_own_checks_pass_but_for_named_ones(name: str) -> None:
    from sklearn.utils.estimator_checks import check_estimator

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the checks themselves
        told = check_estimator(WRAPPERS[name](), expected_failed_checks=EXCEPTIONS, on_fail=None)
    assert {t["check_name"] for t in told if t["status"] == "failed"} == set()
    assert sum(t["status"] == "passed" for t in told) > 40


def test_the_page_names_every_check_that_is_an_exception() -> None:
    page = (Path(__file__).parents[2] / "docs" / "estimators.md").read_text(encoding="utf-8")
    assert [check for check in NAMED if f"`{check}`" not in page] == []


def test_a_wrapper_can_do_what_its_estimator_can() -> None:
    X, y = people(300)
    ends = make_pipeline(StandardScaler(bounds=(-5, 15)), PCA(2, norm=3.0), **PRICE).fit(X)
    assert ends.transform(X).shape == (300, 2) and not hasattr(ends, "predict")
    assert hasattr(three().fit(X, y), "predict_proba") and not hasattr(three(), "transform")
