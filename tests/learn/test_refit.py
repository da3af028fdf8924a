"""A second fit: nothing of the first one stays, and one that fails leaves the first as it was."""

from __future__ import annotations

from typing import Any

import pytest

from hubbub import learn
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.terms import HubbubError

from .test_hostile_rows import MAKERS, good


def learned(model: Any) -> set[str]:
    return {name for name in vars(model) if name.endswith("_")}


@pytest.mark.parametrize("name", list(MAKERS))
def test_nothing_of_an_earlier_fit_stays(name: str) -> None:
    table, y = good()
    model = MAKERS[name]().fit(table, y)
    expected = learned(model)
    model.stale_ = 1
    model.rows_ = 5
    assert learned(model.fit(table[:30], y[:30])) == expected


def test_a_count_that_was_paid_for_does_not_outlive_its_fit() -> None:
    table, y = good()
    model = learn.LogisticRegression(epsilon=1, delta=1e-6, norm=1.0, classes=[0, 1], rows="private").fit(table, y)
    assert model.rows_ >= 0
    assert not hasattr(model.set_params(rows=None).fit(table, y), "rows_")


def test_names_of_columns_do_not_outlive_their_fit() -> None:
    pandas = pytest.importorskip("pandas")
    table, y = good()
    model = MAKERS["Ridge"]().fit(pandas.DataFrame(table, columns=list("abc")), y)
    assert hasattr(model, "feature_names_in_") and not hasattr(model.fit(table, y), "feature_names_in_")


@pytest.mark.parametrize("name", list(MAKERS))
def test_a_refit_that_is_refused_leaves_the_model_as_it_was(name: str) -> None:
    table, y = good()
    model = MAKERS[name]().fit(table, y)
    before = dict(vars(model))
    with pytest.raises(HubbubError):
        model.fit(table * 1j, y)
    assert vars(model) == before or all(vars(model)[each] is before[each] for each in before)


def test_a_refit_that_fails_after_its_release_leaves_model_and_guarantee_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    table, y = good()
    model = MAKERS["PATEClassifier"]()
    before = dict(vars(model.fit(table, y)))

    def fails(*given: object) -> None:
        raise RuntimeError("a bad day")

    monkeypatch.setattr("hubbub.learn.pate.classifier.teach_student", fails)
    with pytest.raises(RuntimeError):
        model.set_params(epsilon=2).fit(table, y)
    assert vars(model).keys() == before.keys() and model.guarantee_ is before["guarantee_"]
    assert all(vars(model)[name] is before[name] for name in [*learned(model), "_taught"])


def test_what_stands_inside_is_fitted_anew() -> None:
    table, y = good()
    inside = learn.LogisticRegression(norm=1.0, classes=[0, 1], max_iter=2)
    model = WithHeldOutScore(inside, epsilon=1, delta=1e-5, rows="private").fit(table, y)
    first = model.estimator_
    assert model.fit(table, y).estimator_ is not first and not learned(inside)
