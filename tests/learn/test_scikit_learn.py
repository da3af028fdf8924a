"""scikit-learn's own tools work with private estimators, and what it looks at in a fit are names and shapes."""

from __future__ import annotations

import copy
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
from sklearn.base import clone, is_classifier, is_clusterer, is_regressor
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import hubbub
from hubbub import learn
from hubbub.learn.base import shapes
from hubbub.ledger import Account, Ledger
from hubbub.terms import Budget, WrongShape

from .test_hostile_rows import MAKERS

PRICE: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
X = np.random.default_rng(1).uniform(-0.5, 0.5, (200, 3))
Y = (X[:, 0] > 0).astype(int)


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as opened:
        opened.open_population("people", Budget(60, 1e-2), by="board", why="a test")
        yield opened


def charges(ledger: Ledger) -> int:
    return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())


# ---------------------------------------------------------------- clones and searches


def test_a_ledger_and_a_connection_are_not_copied(ledger: Ledger, tmp_path: Path) -> None:
    pandas.DataFrame({"id": [1, 2], "a": [0.5, 1.0]}).to_parquet(tmp_path / "t.parquet")
    with hubbub.connect(
        str(tmp_path / "t.parquet"),
        unit="id",
        bounds={"a": (0, 1)},
        max_rows_per_unit=1,
        budget=Budget(1),
        ledger=ledger,
    ) as db:
        for book in (ledger, db):
            assert copy.copy(book) is book and copy.deepcopy([book])[0] is book
            assert clone(learn.Ridge(account=book)).account is book
    assert copy.deepcopy(Account(ledger=ledger, population="people")).ledger is ledger


@pytest.mark.parametrize("name", sorted(MAKERS))
def test_every_estimator_is_cloned_with_all_its_parameters(name: str, ledger: Ledger) -> None:
    model = MAKERS[name](account=ledger)
    again = clone(model)
    assert type(again) is type(model) and again.account is ledger
    assert set(again.get_params(deep=False)) == set(model.get_params(deep=False))


def test_a_grid_search_is_charged_for_every_fit(ledger: Ledger) -> None:
    ridge = learn.Ridge(norm=1.0, target_bounds=(0, 1), account=ledger, **PRICE)
    search = GridSearchCV(ridge, {"alpha": [0.1, 10.0]}, cv=2).fit(X, Y.astype(float))
    assert search.best_params_["alpha"] in (0.1, 10.0)
    assert charges(ledger) == 2 * 2 + 1  # each fold of each candidate, and the last fit


def test_kinds_are_told_by_scikit_learns_own_tags() -> None:
    assert is_classifier(MAKERS["LogisticRegression"]()) and is_classifier(MAKERS["Pipeline"]())
    assert is_regressor(MAKERS["Ridge"]()) and is_clusterer(MAKERS["KMeans"]())
    assert not is_classifier(MAKERS["BipartiteRanker"]())


def test_transformers_give_frames_where_they_are_told_to() -> None:
    frame = pandas.DataFrame(X, columns=list("abc"))
    scaler = learn.StandardScaler(bounds=(-1, 1), **PRICE).set_output(transform="pandas").fit(frame)
    assert list(scaler.transform(frame).columns) == ["a", "b", "c"]
    components = learn.PCA(2, norm=1.0, **PRICE).set_output(transform="pandas").fit(frame).transform(frame)
    assert list(components.columns) == ["pca0", "pca1"]
    centred = make_pipeline(learn.CentreScaler(norm=1.0, **PRICE), learn.KMeans(2, bounds=(-1, 1), **PRICE)).fit(frame)
    assert centred.predict(frame).shape == (200,)


def test_a_pipeline_of_ours_is_not_confused_by_steps_that_give_frames() -> None:
    scaler = learn.StandardScaler(bounds=(-1, 1)).set_output(transform="pandas")
    last = learn.LogisticRegression(norm=3.0, max_iter=3)
    model = learn.make_pipeline(scaler, last, **PRICE).fit(X, Y)
    model.steps_[0].set_output(transform="pandas")
    assert model.predict(X).shape == (200,)


# ---------------------------------------------------------------- what a fit looks at


def test_in_a_fit_scikit_learn_sees_names_and_shapes_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    real, seen = shapes.validate_data, []

    def watched(estimator: Any, table: Any, **options: Any) -> Any:
        seen.append((type(table).__name__, options))
        return real(estimator, table, **options)

    monkeypatch.setattr(shapes, "validate_data", watched)
    model = MAKERS["LogisticRegression"]()
    model.fit(X, Y)
    model.fit(X.tolist(), Y.tolist())
    assert seen == [("ndarray", {"skip_check_array": True}), ("TableShape", {"skip_check_array": True})]


@pytest.mark.parametrize("first", [[1.0], [1.0, 2.0, 3.0, 4.0], "abcde", {"a": 1}, None, object()])
def test_the_first_row_of_a_list_decides_nothing(first: Any) -> None:
    model = MAKERS["LogisticRegression"](rows=200).fit([first, *X.tolist()], [0, *Y.tolist()])
    assert model.n_features_in_ == 3 and not hasattr(model, "feature_names_in_")


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "text", None, 2j, pandas.NaT])
def test_names_of_columns_do_not_depend_on_values(value: Any) -> None:
    frame = pandas.DataFrame(X, columns=list("abc")).astype(object)
    frame.iloc[0, 0] = value
    model = MAKERS["LogisticRegression"]().fit(frame, Y)
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_names_that_are_partly_text_are_refused_before_a_charge(ledger: Ledger) -> None:
    frame = pandas.DataFrame(X, columns=["a", 1, "b"])
    for name in ("LogisticRegression", "StandardScaler", "Pipeline"):
        with pytest.raises(WrongShape, match="names"):
            MAKERS[name](account=ledger).fit(frame, Y)
    assert charges(ledger) == 0


def test_a_fit_that_is_refused_leaves_the_model_as_it_was(ledger: Ledger) -> None:
    frame = pandas.DataFrame(X, columns=list("abc"))
    model = learn.Ridge(norm=1.0, target_bounds=(0, 1), **PRICE).fit(frame, Y)
    before = model.predict(frame)
    model.set_params(account=ledger, population="nobody")
    with pytest.raises(hubbub.terms.UnknownPopulation):
        model.fit(X[:, :2], Y)
    assert model.n_features_in_ == 3 and np.array_equal(model.predict(frame), before)


def test_swapped_columns_are_found_when_a_model_predicts() -> None:
    frame = pandas.DataFrame(X, columns=list("abc"))
    for name in ("LogisticRegression", "Ridge", "GaussianNB", "KMeans", "PATEClassifier"):
        model = MAKERS[name]().fit(frame, Y)
        with pytest.raises(WrongShape, match="same order"):
            model.predict(frame[["b", "a", "c"]])


# ---------------------------------------------------------------- imports


def _python(code: str) -> str:
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def test_scikit_learn_is_imported_by_learn_alone() -> None:
    assert _python("import hubbub, hubbub.cli, hubbub.sql, sys; print('sklearn' in sys.modules)") == "False"


def test_without_scikit_learn_the_door_says_what_to_install() -> None:
    text = _python(
        "import sys; sys.modules['sklearn'] = None\n"
        "try:\n    import hubbub.learn\nexcept Exception as error:\n    print(error)"
    )
    assert "P601" in text and "pip install -e '.[learn]'" in text
