"""rows="private": a noisy count first, and a run whose cost does not depend on how many rows there really are."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub.accounting import epsilon
from hubbub.learn import (
    AdditiveTreesClassifier,
    GaussianNB,
    LinearRegression,
    LogisticRegression,
    MLPRegressor,
    StandardScaler,
    make_pipeline,
)
from hubbub.learn.base.private_count import PrivateCount, RowCount
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.learn.training.calibration import _quick_cost
from hubbub.learn.training.sampling import batches
from hubbub.ledger import Ledger
from hubbub.noise.testing import seeded
from hubbub.terms import (
    ApproximateStep,
    Budget,
    Compose,
    GaussianNoise,
    LaplaceNoise,
    Neighbours,
    OutOfRange,
    Poisson,
    Repeat,
    Unit,
    WrongShape,
)

from .contract import DELTA, Unread, Watched, plan_of

PRICE: dict[str, Any] = {"epsilon": 1, "delta": DELTA}
FREE: dict[str, Any] = {"epsilon": None, "delta": None, "rows": None}  # inside something that pays
COUNTING = PrivateCount((Fraction(1), Fraction(1, 10**5)), Neighbours.ADD_REMOVE, Unit())


def people(rows: int = 1200) -> tuple[Any, Any]:
    X = np.random.default_rng(2).uniform(-0.5, 0.5, (rows, 3))
    return X, (X[:, 0] > X[:, 1]).astype(int)


def logistic(**more: Any) -> LogisticRegression:
    return LogisticRegression(**(PRICE | {"norm": 1.0, "classes": [0, 1], "max_iter": 20, "rows": "private"} | more))


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(3, 1e-4), plans=Budget(2, 5e-5), by="board", why="a test")
        yield opened


@pytest.mark.parametrize(
    "model",
    [
        logistic(),
        logistic(sampling="full"),
        MLPRegressor(**PRICE, norm=1.0, target_bounds=(0, 1), max_iter=4, hidden_layer_sizes=(4,), rows="private"),
        make_pipeline(StandardScaler(bounds=(-1, 1)), logistic(epsilon=None, delta=None), **PRICE, rows="private"),
    ],
    ids=["poisson", "full", "regressor", "pipeline"],
)
@pytest.mark.parametrize("relation", ["add-remove", "replace"])
def test_the_count_and_the_run_together_cost_what_was_promised(model: Any, relation: str) -> None:
    X, y = people()
    model.set_params(neighbours=relation).fit(X, y)
    assert 0.9 < epsilon(model.event_, delta=DELTA, neighbours=relation) <= 1
    assert abs(model.rows_ - 1200) < 400
    assert "number of rows" not in model.guarantee_.describe()
    first = next(model.event_.steps())
    assert isinstance(first, LaplaceNoise) and first.mechanism == "count"


def test_the_same_event_is_charged_whatever_the_number_of_rows() -> None:
    events = [logistic(batch_size=300, max_iter=40).fit(*people(rows)).event_ for rows in (5, 600)]
    assert len(set(events)) == 1


def test_the_run_samples_by_the_count_and_pays_for_the_rate_that_it_uses() -> None:
    model = logistic(batch_size=500, max_iter=40)
    plan = plan_of(model, (1, 3))
    for counted in (300, 5000):  # with 300 rows a batch of 500 is all of them
        inner = plan.plan_for(counted)
        if counted < 500:
            assert isinstance(inner.event.event, GaussianNoise)
            continue
        assert isinstance(inner.event.event, Poisson) and inner.event.event.rate == Fraction(500, counted)
        assert _quick_cost(inner.event, DELTA, Neighbours.ADD_REMOVE) <= COUNTING.left[0]
        sampled = [len(rows) for rows in batches(inner.event, 700, rng=seeded(1)) if rows is not None]
        assert abs(np.mean(sampled) - 700 * 500 / counted) < 0.15 * 700 * 500 / counted + 1  # 700 rows came


def test_a_run_that_cost_all_of_the_price_would_be_noticed() -> None:
    dear = ApproximateStep(epsilon=Fraction(1), delta=Fraction(9, 10**6), mechanism="training")
    assert epsilon(Repeat(Compose((COUNTING.step, dear)), 1), delta=DELTA) > 1


def test_the_count_has_the_noise_of_its_event() -> None:
    drawn = np.array([COUNTING.draw(1000, rng=source) for source in [seeded(3)] for _ in range(4000)])
    assert COUNTING.step.scale == 20
    assert abs(drawn.mean() - 1000) < 2
    assert 0.93 < drawn.std() / (20 * 2**0.5) < 1.07
    assert COUNTING.draw(0, rng=seeded(1)) >= 1


def test_more_rows_than_planned_for_come_with_a_millionth_of_delta() -> None:
    above = COUNTING.rows(500).most - 500
    assert np.exp(-above / 20) < 1e-11 < np.exp(-above / 20) * 1.2
    assert RowCount.public(10).most == 20


@pytest.mark.parametrize("rows", [1, 7, 40])
def test_few_rows_never_make_it_fail(rows: int) -> None:
    X, y = people(rows)
    for _ in range(5):
        assert np.isfinite(logistic(max_iter=3).fit(X, y).weights_).all()
        both = make_pipeline(StandardScaler(bounds=(-1, 1)), LogisticRegression(norm=1.0, classes=[0, 1], max_iter=3))
        assert both.set_params(**PRICE, rows="private").fit(X, y).rows_ >= 1


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(**PRICE, bounds=(-1, 1), classes=[0, 1], rows="private"),
        LinearRegression(**PRICE, norm=1.0, target_bounds=(0, 1), rows="private"),
        AdditiveTreesClassifier(**PRICE, bounds=(-1, 1), classes=[0, 1], rounds=3, rows="private"),
        StandardScaler(**PRICE, bounds=(-1, 1), rows="private"),
    ],
    ids=lambda model: type(model).__name__,
)
def test_sums_need_no_count_and_spend_nothing_on_one(model: Any) -> None:
    X, y = people()
    model.fit(X, y)
    assert not hasattr(model, "rows_") and "number of rows" not in model.guarantee_.describe()
    assert 0.95 < epsilon(model.event_, delta=DELTA) <= 1
    assert len(set(map(repr, (model.fit(*people(rows)).event_ for rows in (9, 2000))))) == 1


def test_it_is_charged_first_and_once_and_a_repeat_is_free(ledger: Ledger) -> None:
    X, y = people()
    rows, labels = Watched(X, ledger), Watched(y, ledger)
    first = logistic(account=ledger, dataset="people 1").fit(rows, labels)
    assert all(kinds[-1] == "charge" for kinds in (*rows.entries, *labels.entries))
    again = logistic(account=ledger, dataset="people 1").fit(Unread(9, 3), Unread(9))
    assert again.rows_ == first.rows_ and np.array_equal(again.weights_, first.weights_)
    assert first.receipt_ is not None and first.receipt_.event == first.event_


def test_questions_can_pay_for_full_batches(tmp_path: Path) -> None:
    with Ledger(tmp_path / "other.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(3, 1e-4), by="board", why="a test")
        assert logistic(account=ledger, sampling="full").fit(*people()).receipt_ is not None


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ({"rows": "many"}, OutOfRange),
        ({"sampling": "fixed", "neighbours": "replace"}, OutOfRange),
        ({"max_iter": 0}, OutOfRange),
        ({"clip": -1}, OutOfRange),
    ],
)
def test_what_is_wrong_is_refused_before_a_charge(
    changes: dict[str, Any], error: type[Exception], ledger: Ledger
) -> None:
    with pytest.raises(error):
        logistic(account=ledger, **changes).fit(Unread(9, 3), Unread(9))
    assert not [entry for entry in ledger.log() if entry.fields()["kind"] == "charge"]


def test_a_huge_epsilon_works() -> None:
    X, y = people()
    found = logistic(epsilon=10**6, sampling="full").fit(X, y)
    assert found.score(X, y) > 0.95 and abs(found.rows_ - 1200) < 40


# ---------------------------------------------------------------- declared numbers


DECLARED = PrivateCount((Fraction(1), Fraction(1, 10**5)), Neighbours.ADD_REMOVE, Unit(), declared=32_000)


@pytest.mark.parametrize(
    "model",
    [
        logistic(rows=100, max_iter=3),
        logistic(rows=100, max_iter=3, batch_size=60),
        MLPRegressor(**PRICE, norm=1.0, target_bounds=(0, 1), max_iter=3, hidden_layer_sizes=(4,), rows=100),
        make_pipeline(StandardScaler(bounds=(-1, 1)), logistic(**FREE, max_iter=3), **PRICE, rows=100),
        WithHeldOutScore(logistic(**FREE, max_iter=3), **PRICE, rows=100),
        GaussianNB(**PRICE, bounds=(-1, 1), classes=[0, 1], rows=100),
    ],
    ids=["full", "poisson", "regressor", "pipeline", "measured", "sums"],
)
def test_nobody_is_told_whether_a_declared_number_was_right(model: Any) -> None:
    told = set()
    for rows in (0, 1, 100, 200, 201, 1200):
        X, y = people(1200)
        model.fit(X[:rows], y[:rows])
        told.add((repr(model.event_), model.guarantee_, hasattr(model, "rows_")))
    assert len(told) == 1


def test_where_the_number_is_public_far_more_rows_are_refused() -> None:
    model = logistic(rows=None, max_iter=3)
    plan = plan_of(model, (100, 3))
    with pytest.raises(WrongShape):
        plan.train(*people(201))


def test_a_count_beside_a_declared_number_is_rough_and_nearly_free() -> None:
    assert DECLARED.step.scale == 4000 and DECLARED.left[0] > Fraction(999, 1000)
    planned = DECLARED.rows(30_000)
    assert planned.expected == 32_000
    assert 30_000 + 4000 * np.log(1e11) < planned.most < 4.2 * 32_000
    few = replace(DECLARED, declared=1)  # then it costs what it would if nothing were declared
    assert few.step.scale == COUNTING.step.scale and few.rows(7).most == COUNTING.rows(7).most


def test_rates_follow_from_what_is_declared_and_rounding_from_the_count() -> None:
    plan = plan_of(logistic(rows=1000, batch_size=100), (1, 3))
    assert 0.9 < epsilon(plan.event, delta=DELTA) <= 1
    for counted in (10, 50_000):
        inner = plan.plan_for(counted)
        assert inner.sampling.rate == Fraction(1, 10) and inner.rows.expected == 1000
        step = next(inner.event.steps())
        assert step.sensitivity > inner.recipe.clip + 2 * inner.network.error(
            rows=counted // 10, clip=inner.recipe.clip
        )
        unit = list(plan.event.steps())[1]
        assert step.sigma / step.sensitivity >= unit.sigma / unit.sensitivity


def test_a_pipeline_tells_its_steps_what_was_declared() -> None:
    plan = plan_of(make_pipeline(logistic(**FREE, batch_size=100), **PRICE, rows=1000), (1, 3))
    assert plan.steps[0].plan.plan_for(5000).sampling.rate == Fraction(1, 10)


def test_a_fixed_sample_needs_no_count() -> None:
    X, y = people(50)
    model = logistic(rows=50, sampling="fixed", neighbours="replace", batch_size=5, max_iter=2).fit(X, y)
    assert all(isinstance(step, GaussianNoise) for step in model.event_.steps())
