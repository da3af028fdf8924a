"""Private search and cross-validation: what they cost, what they refuse, and that they find the better setting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from hubbub.accounting import epsilon
from hubbub.learn import GaussianNB, LogisticRegression, PrivateSearch, Ridge, cross_val_score
from hubbub.learn.composition import stages as learn_stages
from hubbub.learn.composition.cross_validation import _GRID, fold_sums
from hubbub.learn.composition.search import _ORDERS, Trials
from hubbub.ledger import Ledger
from hubbub.noise.testing import seeded
from hubbub.terms import (
    ApproximateDP,
    Budget,
    EmptyInput,
    GaussianNoise,
    MissingParameter,
    Neighbours,
    NotANumber,
    OutOfRange,
    Unreachable,
)

from .contract import DELTA, Unread, Watched, plan_of

PRICE: dict[str, Any] = {"epsilon": 2, "delta": DELTA}


def table(rows: int = 3000) -> tuple[Any, Any]:
    X = np.random.default_rng(9).uniform(-0.5, 0.5, (rows, 3))
    return X, 2 * X[:, 0] - X[:, 1]


def search(**more: Any) -> PrivateSearch:
    X, y = table(300)
    given = {"validation": (X, y), "trials": 20, **PRICE} | more
    return PrivateSearch(Ridge(norm=1.0, target_bounds=(-2, 2)), [{"alpha": 0}, {"alpha": 1e9}], **given)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(6, 1e-4), plans=Budget(4, 5e-5), by="board", why="a test")
        yield opened


def charges(ledger: Ledger) -> int:
    return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())


# ---------------------------------------------------------------- how often


def test_the_number_of_trials_has_the_logarithmic_law() -> None:
    """False alarm once in a thousand; a law whose gamma is a third off is noticed."""
    trials, rng = Trials(Fraction(1, 5)), seeded(3)
    drawn = Counter(min(12, trials.draw(rng=rng)) for _ in range(3000))

    def p_value(gamma: float) -> float:
        chances = [-((1 - gamma) ** k) / (k * np.log(gamma)) for k in range(1, 12)]
        chances.append(1 - sum(chances))
        return float(stats.chisquare([drawn[k] for k in range(1, 13)], np.array(chances) * 3000).pvalue)

    assert p_value(0.2) > 0.001 > max(p_value(0.13), p_value(0.27))
    assert Trials.of(Fraction(10)).mean == pytest.approx(10)


@pytest.mark.parametrize("sigma", [2, 5, 40])
def test_the_cost_is_that_of_an_independent_accountant(sigma: int) -> None:
    from dp_accounting.dp_event import GaussianDpEvent, RepeatAndSelectDpEvent
    from dp_accounting.rdp import RdpAccountant

    trials = Trials.of(Fraction(8))
    oracle = RdpAccountant(orders=_ORDERS.tolist())
    oracle.compose(RepeatAndSelectDpEvent(GaussianDpEvent(sigma), mean=trials.mean, shape=0))
    noise = GaussianNoise(sigma=Fraction(sigma), sensitivity=Fraction(1), grid=Fraction(1, 1 << 20))
    found = trials.cost([noise], delta=Fraction(1, 10**6), neighbours=Neighbours.ADD_REMOVE)
    assert found == pytest.approx(oracle.get_epsilon(1e-6), rel=1e-6)
    assert found > epsilon(noise, delta=Fraction(1, 10**6))  # the best of several is not free


# ---------------------------------------------------------------- search


def test_the_better_setting_is_found_and_the_promise_is_for_the_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = table()
    monkeypatch.setattr(Trials, "draw", lambda self: 40)  # few trials may miss the better one, as one in six does
    found = search().fit(X, y)
    assert found.best_params_ == {"alpha": 0} and found.score(X, y) > 0.9
    assert found.guarantee_.holds == ApproximateDP(Fraction(2), Fraction(DELTA).limit_denominator(10**6))
    assert found.best_estimator_.guarantee_ == found.guarantee_
    assert epsilon(found.event_, delta=DELTA) == pytest.approx(2)
    assert found.predict(X).shape == (3000,)


def test_each_fit_has_a_fraction_of_the_budget() -> None:
    X, y = table()
    model = search()
    stages = plan_of(model, X.shape, y).stages
    costs = [epsilon(stage.event, delta=DELTA) for stage in stages]
    assert all(0.3 < cost < 1.5 for cost in costs)
    whole = model._trials().cost(
        [stage.event for stage in stages], delta=Fraction(1, 10**5), neighbours=Neighbours.ADD_REMOVE
    )
    assert 1.95 < whole <= 2


def test_a_search_is_charged_once_and_before_reading(ledger: Ledger) -> None:
    X, y = table()
    rows = Watched(X, ledger)
    first = search(account=ledger, dataset="people").fit(rows, y)
    assert rows.entries and all(kinds[-1] == "charge" for kinds in rows.entries)
    again = search(account=ledger, dataset="people").fit(Unread(3000, 3), Unread(3000))
    assert charges(ledger) == 1 and np.array_equal(first.predict(X), again.predict(X))


def test_what_a_search_needs_is_said_before_a_charge(ledger: Ledger) -> None:
    paid = Ridge(norm=1.0, target_bounds=(-2, 2), epsilon=1)
    for model, error in (
        (search(epsilon=None), MissingParameter),
        (search(validation=None), MissingParameter),
        (search(trials=0), OutOfRange),
        (search().set_params(candidates=[]), EmptyInput),
        (search().set_params(estimator=paid), OutOfRange),
        (search().set_params(estimator=object()), NotANumber),
    ):
        with pytest.raises(error):
            model.set_params(account=ledger).fit(Unread(300, 3), Unread(300))
    assert charges(ledger) == 0


def test_the_promise_says_that_validation_rows_are_public() -> None:
    assert "The validation rows count as public." in search().fit(*table(100)).guarantee_.describe()


def test_a_stored_answer_is_of_the_same_candidates_and_validation_rows(ledger: Ledger) -> None:
    X, y = table(1200)
    swapped = [{"alpha": 1e9}, {"alpha": 0}]
    late = y.copy()
    late[600] += 0.1  # in the middle, which a shortened repr leaves out
    given: dict[str, Any] = {"epsilon": 0.5, "account": ledger, "dataset": "people", "validation": (X, y)}
    for model, paid in (
        (search(**given), 1),
        (search(**given), 1),
        (search(**given).set_params(candidates=swapped), 2),
        (search(**given | {"validation": (X + 0.1, y)}), 3),
        (search(**given | {"validation": (X, late)}), 4),
    ):
        model.fit(*table(100))
        assert charges(ledger) == paid


def test_a_candidate_is_known_by_all_its_settings() -> None:
    facts = [
        plan_of(search().set_params(candidates=[{"alpha": value}]), table(100)[0].shape).identity
        for value in (1.0, 1.0, 1.0 + 1e-12)
    ]
    assert facts[0] == facts[1] != facts[2]


def test_large_batches_of_all_trials_are_paid_from_delta(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Fraction] = []
    cost = Trials.cost

    def told(self: Trials, events: Any, *, delta: Fraction, neighbours: Neighbours) -> float:
        asked.append(delta)
        return cost(self, events, delta=delta, neighbours=neighbours)

    monkeypatch.setattr(Trials, "cost", told)
    search().fit(*table(100))
    assert asked and all(0.999 * DELTA < delta <= DELTA * (1 - 20e-6) for delta in asked)
    with pytest.raises(Unreachable):
        search(trials=10**6).fit(Unread(100, 3), Unread(100))


def test_a_score_that_is_no_number_is_the_worst(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {0: float("nan"), 1e9: -5.0}
    monkeypatch.setattr(Ridge, "score", lambda self, X, y: scores[self.alpha])
    monkeypatch.setattr(Trials, "draw", lambda self: 2)
    for order in ([0, 1], [1, 0]):
        left = iter(order)
        monkeypatch.setattr("hubbub.learn.composition.search.noise.uniform", lambda count, left=left: next(left))
        model = search()
        X, y = table(100)
        assert plan_of(model, X.shape, y).train(X, y)[0] == 1


# ---------------------------------------------------------------- cross-validation


def test_cross_validation_refuses_to_be_free() -> None:
    with pytest.raises(MissingParameter) as refusal:
        cross_val_score(LogisticRegression(norm=1.0), Unread(30, 3), Unread(30))
    assert "none of it is free" in str(refusal.value)


def test_scores_are_near_the_truth_and_paid_for_once(ledger: Ledger) -> None:
    X, y = table(1500)
    given: dict[str, Any] = {**PRICE, "cv": 3, "account": ledger, "dataset": "people"}
    model = GaussianNB(bounds=(-0.5, 0.5), classes=[False, True])
    scores = cross_val_score(model, X, y > 0, **given)
    assert scores.shape == (3,) and (np.abs(scores - 0.95) < 0.1).all()
    assert np.array_equal(cross_val_score(model, Unread(1500, 3), Unread(1500), **given), scores)
    assert charges(ledger) == 1


def test_a_row_moves_the_counts_of_one_fold() -> None:
    generator = np.random.default_rng(2)
    right, folds = generator.random(40) < 0.5, generator.integers(0, 4, 40)
    old = fold_sums(right, folds, 4)
    for i in range(40):
        moved = (old - fold_sums(np.delete(right, i), np.delete(folds, i), 4)) / _GRID.unit
        assert np.linalg.norm(moved) <= 2**0.5 and np.count_nonzero(moved) <= 2


def test_only_classifiers_are_scored() -> None:
    with pytest.raises(NotANumber):
        cross_val_score(Ridge(norm=1.0, target_bounds=(0, 1)), Unread(30, 3), Unread(30), **PRICE)


@pytest.mark.parametrize(
    "model",
    [
        GaussianNB(bounds=(-0.5, 0.5), classes=[0, 1]),
        LogisticRegression(norm=1.0, classes=[0, 1], max_iter=5),
    ],
)
def test_no_row_makes_a_declared_cross_validation_fail(model: Any) -> None:
    X, y = table(60)
    X[4, 1], X[9, 0] = np.nan, np.inf
    labels: list[Any] = (y > 0).astype(int).tolist()
    labels[5] = "x"
    assert cross_val_score(model, X, labels, cv=2, **PRICE).shape == (2,)


def test_an_odd_label_changes_no_other_row() -> None:
    X, y = table(2000)
    labels: list[Any] = (y > 0).astype(int).tolist()
    labels[5] = "x"
    model = GaussianNB(bounds=(-0.5, 0.5), classes=[0, 1])
    assert (cross_val_score(model, X, labels, cv=2, **PRICE) > 0.8).all()


def test_a_cross_validation_that_no_plan_pays_for_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Fraction] = []

    def dear(event: Any, *, delta: Fraction, neighbours: Neighbours) -> float:
        asked.append(delta)
        assert len(asked) <= 200, "it never ends"
        return np.inf

    monkeypatch.setattr(learn_stages, "cost_of_run", dear)
    with pytest.raises(Unreachable):
        cross_val_score(GaussianNB(bounds=(0, 1), classes=[0, 1]), Unread(30, 3), Unread(30), cv=5, **PRICE)
    assert all(delta <= DELTA * (1 - 5e-6) for delta in asked)


def test_fits_of_which_only_the_price_is_known_are_refused_at_once() -> None:
    sampled = LogisticRegression(norm=1.0, classes=[0, 1], max_iter=3)
    with pytest.raises(Unreachable, match="rows="):
        search(rows="private").set_params(estimator=sampled, candidates=[{"clip": 0.5}]).fit(Unread(50, 3), Unread(50))
