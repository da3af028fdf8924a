"""Fingerprints of fits are pinned, and no name of a class, field or module is in them, nor in a model's file."""

from __future__ import annotations

import dataclasses
import inspect
import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from sklearn.frozen import FrozenEstimator

from hubbub import learn
from hubbub.learn import load, save, stored_words
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.learn.pate.teachers import LeastSquaresTeacher
from hubbub.learn.public import FrozenEncoder, OrientedGradients
from hubbub.learn.stored_words import identity_of_step
from hubbub.learn.tables import Category, NumberFeature
from hubbub.learn.tables.fit_table import fit_table
from hubbub.learn.torch import PrivateTrainer, lora
from hubbub.learn.torch.clipping import AdaptiveClip

from ..asked import catching, fingerprint_of, pinned
from ..renaming import renamed_classes

PRICE: dict[str, Any] = {"epsilon": 1, "delta": 1e-6}
X = np.random.default_rng(4).uniform(-0.5, 0.5, (400, 3))
Y = (X[:, 0] > 0).astype(int)


def encode(texts: list[str]) -> Any:
    return np.ones((len(texts), 3))


def paid(account: Any) -> dict[str, Any]:
    return {**PRICE, "account": account, "dataset": "trial, version 1"}


def torch_model() -> torch.nn.Module:
    torch.manual_seed(1)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2))


def fit_columns(columns: list[Any], account: Any, **more: Any) -> Any:
    target = Category("y", ("no", "yes"))
    return fit_table(lambda: pytest.fail("read"), columns=columns, target=target, **paid(account), **more)


def train(model: torch.nn.Module, account: Any, **more: Any) -> Any:
    loss = torch.nn.CrossEntropyLoss()
    return PrivateTrainer(model, loss, max_iter=3, sampling="full", **paid(account), **more).fit(X.astype("float32"), Y)


JOBS: dict[str, Callable[[Any], object]] = {
    "logistic regression": lambda account: learn.LogisticRegression(
        norm=1.0, classes=[0, 1], batch_size=50, max_iter=5, **paid(account)
    ).fit(X, Y),
    "logistic regression, full batches, words": lambda account: learn.LogisticRegression(
        norm=1.0, classes=["no", "yes"], sampling="full", max_iter=5, rows="private", unit="person", **paid(account)
    ).fit(X, Y),
    "MLP classifier": lambda account: learn.MLPClassifier(
        norm=1.0, classes=[0, 1], hidden_layer_sizes=(4, 3), batch_size=50, max_iter=3, **paid(account)
    ).fit(X, Y),
    "MLP regressor": lambda account: learn.MLPRegressor(
        norm=1.0, target_bounds=(0, 1), hidden_layer_sizes=(4,), max_iter=3, **paid(account)
    ).fit(X, Y),
    "linear SVC": lambda account: learn.LinearSVC(norm=1.0, classes=[0, 1], max_iter=3, **paid(account)).fit(X, Y),
    "ridge": lambda account: learn.Ridge(alpha=2, norm=1.0, target_bounds=(0, 1), **paid(account)).fit(X, Y),
    "naive Bayes": lambda account: learn.GaussianNB(bounds=(-1, 1), classes=[0.5, 1.5], **paid(account)).fit(X, Y),
    "k-means": lambda account: learn.KMeans(2, bounds=(-1, 1), **paid(account)).fit(X),
    "scaler, private bounds": lambda account: learn.StandardScaler(bounds="private", **paid(account)).fit(X),
    "trees": lambda account: learn.AdditiveTreesClassifier(
        bounds=(-1, 1), bins=4, rounds=2, classes=[0, 1], **paid(account)
    ).fit(X, Y),
    "PATE": lambda account: learn.PATEClassifier(
        public=X[:50], teachers=20, classes=[0, 1], teacher=LeastSquaresTeacher(0.5), **paid(account)
    ).fit(X, Y),
    "pipeline": lambda account: learn.make_pipeline(
        learn.StandardScaler(bounds=(-1, 1)),
        learn.LogisticRegression(norm=2.0, classes=[0, 1], max_iter=5),
        **paid(account),
    ).fit(X, Y),
    "held-out score": lambda account: WithHeldOutScore(
        learn.LogisticRegression(norm=1.0, classes=[0, 1], max_iter=5), **paid(account)
    ).fit(X, Y),
    "search": lambda account: learn.PrivateSearch(
        learn.Ridge(norm=1.0, target_bounds=(0, 1)),
        [{"alpha": 1}, {"alpha": 2.5, "fit_intercept": False}],
        validation=(X[:40], Y[:40]),
        trials=2,
        **paid(account),
    ).fit(X, Y),
    "cross-validation": lambda account: learn.cross_val_score(
        learn.GaussianNB(bounds=(-1, 1), classes=[0, 1]), X, Y, cv=3, **paid(account)
    ),
    "table": lambda account: fit_columns([NumberFeature("a", 0, 2.5), Category("b", ("x", "z"))], account, model="svm"),
    "table, private bounds": lambda account: fit_columns([NumberFeature("a")], account, measure=True, rows=400),
    "network": lambda account: train(torch_model(), account, clip=0.5),
    "network with adapters": lambda account: train(
        lora(torch_model(), rank=1, scale=0.5), account, clip=AdaptiveClip(quantile=0.25)
    ),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    torch.manual_seed(1)
    with catching(tmp_path_factory.mktemp("asked")) as ledger:
        return {name: fingerprint_of(job, ledger) for name, job in JOBS.items()}


def test_no_fingerprint_has_changed(asked: dict[str, str]) -> None:
    assert asked == pinned("learn")
    assert len(set(asked.values())) == len(JOBS)


def test_no_class_name_is_in_a_fingerprint(asked: dict[str, str], tmp_path: Path) -> None:
    with catching(tmp_path) as ledger, renamed_classes():
        assert {name: fingerprint_of(job, ledger) for name, job in JOBS.items()} == asked


def test_a_derived_class_is_another_estimator(asked: dict[str, str], tmp_path: Path) -> None:
    class Ridge(learn.Ridge):
        """It may do anything."""

    with catching(tmp_path) as ledger:
        other = fingerprint_of(
            lambda account: Ridge(alpha=2, norm=1.0, target_bounds=(0, 1), **paid(account)).fit(X, Y), ledger
        )
    assert other != asked["ridge"]


# ---------------------------------------------------------------- the tables


def test_every_parameter_and_field_has_its_stored_key() -> None:
    assert set(stored_words._PARAMETERS) == set(stored_words.stored_estimators())
    for tag, kind in stored_words.stored_estimators().items():
        assert list(stored_words._PARAMETERS[tag].values()) == list(inspect.signature(kind).parameters), tag
    assert set(stored_words._FIELDS) == set(stored_words.stored_values())
    for tag, kind in stored_words.stored_values().items():
        assert list(stored_words._FIELDS[tag].values()) == [field.name for field in dataclasses.fields(kind)], tag
    assert set(stored_words._PUBLIC) == set(stored_words._public_parts())
    for tag, kind in stored_words._public_parts().items():
        assert set(stored_words._PUBLIC[tag].values()) == set(kind.__init__.__code__.co_varnames) - {"self"}, tag


def test_every_estimator_of_the_room_has_a_stored_name() -> None:
    public = [getattr(learn, name) for name in learn.__all__]
    ours = {each for each in public if isinstance(each, type) and issubclass(each, PrivateEstimator)}
    assert ours <= set(stored_words.stored_estimators().values())


def test_a_renamed_parameter_keeps_old_files_readable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As it is done: the class has another parameter, the table says so, and no byte changes."""
    model = learn.LogisticRegression(norm=1.0, max_iter=3, **PRICE).fit(X, Y)
    save(model, tmp_path / "old.hubbub")
    keys = stored_words._PARAMETERS["LogisticRegression"]
    assert (keys["steps"], keys["batch"]) == ("max_iter", "batch_size")  # 0.1 had these names
    assert b'"steps": 3' in document(tmp_path / "old.hubbub") and b"max_iter" not in document(tmp_path / "old.hubbub")
    monkeypatch.setitem(stored_words._PARAMETERS, "LogisticRegression", {**keys, "steps": "rounds"})

    class Later(learn.LogisticRegression):
        """What has rounds= for max_iter=."""

        def __init__(self, *, rounds: Any = None, epsilon: Any = None, delta: Any = None, **more: Any) -> None:
            super().__init__(epsilon=epsilon, delta=delta, **more)
            self.rounds = rounds

    monkeypatch.setitem(stored_words.stored_estimators(), "LogisticRegression", Later)
    stored_words._tags_by_class.cache_clear()
    try:
        again = load(tmp_path / "old.hubbub")
        save(again, tmp_path / "new.hubbub")
    finally:
        stored_words._tags_by_class.cache_clear()
    assert (type(again), again.rounds) == (Later, 3)
    assert document(tmp_path / "new.hubbub") == document(tmp_path / "old.hubbub")


def document(path: Path) -> bytes:
    with zipfile.ZipFile(path) as archive:
        return archive.read("model.json")


def test_no_class_name_is_in_a_file(tmp_path: Path) -> None:
    table = {"a": X[:, 0], "y": Y}
    target = Category("y", ("0", "1"))
    models = [
        fit_table(table, columns=[NumberFeature("a")], target=target, model="logistic", **PRICE),
        fit_table(table, columns=[NumberFeature("a", -1, 1)], target=target, model="trees", **PRICE),
        WithHeldOutScore(learn.Ridge(norm=1.0, target_bounds=(0, 1)), **PRICE).fit(X, Y),
    ]
    for number, model in enumerate(models):
        save(model, tmp_path / f"{number}.hubbub")
    with renamed_classes():
        for number, model in enumerate(models):
            save(model, tmp_path / "again.hubbub")
            assert document(tmp_path / "again.hubbub") == document(tmp_path / f"{number}.hubbub")
            assert type(load(tmp_path / f"{number}.hubbub")) is type(model)
    stored = [json.loads(document(tmp_path / f"{number}.hubbub")) for number in range(len(models))]
    assert _learned(stored) <= set(stored_words._LEARNED)


def _learned(told: Any) -> set[str]:
    inner = told.values() if isinstance(told, dict) else told if isinstance(told, list) else ()
    own = set(told["learned"]) if isinstance(told, dict) and "estimator" in told and "learned" in told else set()
    return own.union(*map(_learned, inner))


# ---------------------------------------------------------------- public steps


def test_public_steps_are_told_by_what_they_hold() -> None:
    scaler = learn.StandardScaler(bounds=(-1, 1), **PRICE).fit(X)
    steps = [
        FrozenEncoder(encode, name="ones"),
        FrozenEncoder(encode, name="other"),
        OrientedGradients((8, 8)),
        OrientedGradients((8, 9)),
        LeastSquaresTeacher(0.3),
        LeastSquaresTeacher,
        FrozenEstimator(scaler),
        FrozenEstimator(learn.StandardScaler(bounds=(-1, 1), **PRICE).fit(X)),
    ]
    told = [identity_of_step(step) for step in steps]
    assert all("public" in each for each in told)
    assert len({each["public"] for each in told}) == len(steps)
    with renamed_classes():
        assert [identity_of_step(step) for step in steps] == told


def test_what_cannot_be_pickled_is_like_no_other() -> None:
    step = FrozenEncoder(lambda texts: encode(texts)[:], name="ones")
    assert "once" in identity_of_step(step)
    assert identity_of_step(step) != identity_of_step(step)
