"""Models in files: the same predictions, guarantee and receipt again, and nothing else can be in a file."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import random
import warnings
import zipfile
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hubbub import learn
from hubbub.learn import load, save
from hubbub.learn.base.private_estimator import PrivateEstimator
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.learn.stored_words import stored_estimators as _estimators
from hubbub.learn.stored_words import stored_values
from hubbub.learn.tables import Category, NumberFeature
from hubbub.learn.tables.fit_table import fit_table
from hubbub.learn.tables.model_form import field_forms, learned_forms
from hubbub.ledger import Ledger
from hubbub.terms import Budget, EmptyInput, HubbubError, NewerFormat, TooLarge, Unreadable, WrongShape

from .contract import DELTA

PRICE: dict[str, Any] = {"epsilon": 1, "delta": DELTA}
X = np.random.default_rng(4).uniform(-0.5, 0.5, (400, 3))
Y = (X[:, 0] > 0).astype(int)
FITTED: dict[str, Callable[[], Any]] = {
    "LogisticRegression": lambda: learn.LogisticRegression(**PRICE, norm=1.0, max_iter=5).fit(X, Y),
    "MLPClassifier": lambda: learn.MLPClassifier(**PRICE, norm=1.0, max_iter=3, hidden_layer_sizes=(4, 3)).fit(X, Y),
    "LinearSVC": lambda: learn.LinearSVC(**PRICE, norm=1.0, max_iter=5).fit(X, Y + (X[:, 1] > 0)),
    "MLPRegressor": lambda: learn.MLPRegressor(**PRICE, norm=1.0, max_iter=3, target_bounds=(0, 1)).fit(X, Y),
    "LinearRegression": lambda: learn.LinearRegression(**PRICE, norm=1.0, target_bounds=(0, 1)).fit(X, Y),
    "Ridge": lambda: learn.Ridge(**PRICE, norm=1.0, target_bounds=(0, 1)).fit(X, Y),
    "GaussianNB": lambda: learn.GaussianNB(**PRICE, bounds=(-1, 1)).fit(X, np.where(Y, "yes", "no")),
    "KMeans": lambda: learn.KMeans(2, **PRICE, bounds=(-1, 1)).fit(X),
    "PCA": lambda: learn.PCA(2, **PRICE, norm=1.0).fit(X),
    "StandardScaler": lambda: learn.StandardScaler(**PRICE, bounds="private").fit(X),
    "AdditiveTreesClassifier": lambda: learn.AdditiveTreesClassifier(**PRICE, bounds=(-1, 1), rounds=2).fit(X, Y),
    "AdditiveTreesRegressor": lambda: learn.AdditiveTreesRegressor(
        **PRICE, bounds=(-1, 1), target_bounds=(0, 1), rounds=2
    ).fit(X, Y),
    "Pipeline": lambda: learn.make_pipeline(
        learn.StandardScaler(bounds=(-1, 1)), learn.LogisticRegression(norm=2.0, max_iter=5), **PRICE
    ).fit(X, Y),
    "PATEClassifier": lambda: learn.PATEClassifier(**PRICE, public=X[:40], teachers=5, classes=[0, 1]).fit(X, Y),
    "Measured": lambda: WithHeldOutScore(learn.LogisticRegression(norm=1.0, max_iter=5), **PRICE).fit(X, Y),
    "PrivateSearch": lambda: learn.PrivateSearch(
        learn.Ridge(norm=1.0, target_bounds=(0, 1)), [{"alpha": 1}], validation=(X, Y), trials=2, **PRICE
    ).fit(X, Y),
    "PrivateColumns": lambda: table_model("logistic", NumberFeature("a")),
    "TableModel of codes": lambda: table_model("trees", NumberFeature("a", -1, 1)),
    "TableModel of numbers": lambda: table_model("nb", NumberFeature("a", -1, 1)),
}


def table_model(kind: str, column: NumberFeature) -> Any:
    table = {"a": X[:, 0], "y": Y}
    return fit_table(table, columns=[column], target=Category("y", ("0", "1")), model=kind, **PRICE)


def answers(model: Any) -> Any:
    if hasattr(model, "columns"):
        return model.predict({"a": X[:, 0]})
    return model.transform(X) if hasattr(model, "transform") and not hasattr(model, "predict") else _predicted(model)


def _predicted(model: Any) -> Any:
    return model.predict(X)


@pytest.mark.parametrize("kind", sorted(FITTED))
def test_a_model_comes_back_as_it_was(kind: str, tmp_path: Path) -> None:
    model = FITTED[kind]()
    save(model, tmp_path / "model.hubbub")
    again = load(tmp_path / "model.hubbub")
    assert type(again) is type(model)
    assert np.array_equal(answers(again), answers(model))
    if isinstance(model, PrivateEstimator):
        assert (again.guarantee_, again.event_, again.receipt_) == (
            model.guarantee_,
            model.event_,
            model.receipt_,
        )
        assert again.get_params(deep=False).keys() == model.get_params(deep=False).keys()


def test_every_estimator_of_the_room_is_tried_here() -> None:
    assert set(FITTED) >= {
        name for name in _estimators() if name in learn.__all__ and _estimators()[name].__module__ in _MINE
    }


_MINE = {f"hubbub.learn.{name}" for name in ("logistic", "mlp", "svm", "linear", "bayes", "kmeans", "pca", "trees")}


def test_the_receipt_travels_and_the_account_does_not(tmp_path: Path) -> None:
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(3, 1e-4), plans=Budget(2, 5e-5), by="board", why="a test")
        model = learn.LogisticRegression(
            epsilon=Decimal("1"), delta=DELTA, norm=1.0, max_iter=5, classes=[0, 1], account=ledger
        )
        save(model.fit(X, Y), tmp_path / "model.hubbub")
        again = load(tmp_path / "model.hubbub")
        assert ledger.check(again.receipt_)
    assert again.account is None and again.epsilon == 1
    assert b"ledger.db" not in (tmp_path / "model.hubbub").read_bytes()


def test_a_file_can_be_read_without_hubbub(tmp_path: Path) -> None:
    model = FITTED["LogisticRegression"]()
    save(model, tmp_path / "model.hubbub")
    with zipfile.ZipFile(tmp_path / "model.hubbub") as archive:
        told = json.loads(archive.read("model.json"))
        place = told["model"]["learned"]["weights_"]["array"]
        weights = np.load(io.BytesIO(archive.read(f"{place}.npy")), allow_pickle=False)
    assert told["hubbub"] == "model/1" and told["model"]["estimator"] == "LogisticRegression"
    assert np.array_equal(weights, model.weights_)


# ---------------------------------------------------------------- what is refused


TABLE = ("columns", "target", "style", "estimator", "guarantee", "event")


class Evil:
    """Something whose unpickling would do harm."""

    def __reduce__(self) -> Any:
        return (pytest.fail, ("code from a file was run",))


def forged(path: Path, document: Any, arrays: tuple[bytes, ...] = ()) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model.json", json.dumps(document))
        for number, content in enumerate(arrays):
            archive.writestr(f"{number}.npy", content)
    return path


def pickled() -> bytes:
    held = io.BytesIO()
    np.save(held, np.array([Evil()], dtype=object), allow_pickle=True)
    return held.getvalue()


@pytest.mark.parametrize(
    "model",
    [
        {"array": 0},
        {"estimator": "os.system", "parameters": {}, "learned": {}},
        {"estimator": "Ledger", "parameters": {}, "learned": {}},
        {"estimator": "Ridge", "parameters": {}, "learned": {"predict": 3}},
        {"estimator": "Ridge", "parameters": {}, "learned": {"__class__": 3}},
        {"estimator": "Ridge", "parameters": {"alpha_": 1}, "learned": {}},
        {"value": "Path", "fields": {}},
        {"call": "print"},
        {"term": {"hubbub": "event/1", "kind": "unheard-of"}},
        {"tuple": 3},
        {"list": [1]},
        "a word",
        {"fraction": "1/3"},
        {"estimator": "Ridge", "parameters": {"account": "ledger.db"}, "learned": {}},
        {"estimator": "Ridge", "parameters": {"alpha": {"fraction": "1e30000000"}}, "learned": {}},
        {"estimator": "Ridge", "parameters": {"alpha": {"term": ["1_0E+3_0000000"]}}, "learned": {}},
        {"value": "TableModel", "fields": dict.fromkeys(TABLE, 1) | {"style": "bins", "columns": {"tuple": []}}},
    ],
)
def test_a_forged_file_runs_nothing(model: Any, tmp_path: Path) -> None:
    path = forged(tmp_path / "forged.hubbub", {"hubbub": "model/1", "model": model}, (pickled(),))
    with pytest.raises(Unreadable):
        load(path)


def packed(path: Path, rows: int, method: int, *, said: int | None = None, times: int = 1) -> Path:
    """A small file with an array of so many zeros that is used several times; it may say to have fewer bytes."""
    with zipfile.ZipFile(saved("PATEClassifier", path.with_name("whole.hubbub"))) as whole:
        document, arrays = json.loads(whole.read("model.json")), {name: whole.read(name) for name in whole.namelist()}
    held = io.BytesIO()
    np.save(held, np.zeros((rows, 3)))
    document["model"]["parameters"]["public"] = {"list": [{"array": 99}] * times} if times > 1 else {"array": 99}
    with zipfile.ZipFile(path, "w", method) as archive:
        archive.writestr("99.npy", held.getvalue())
        for name, content in {**arrays, "model.json": json.dumps(document)}.items():
            archive.writestr(name, content)
        if said is not None:
            archive.getinfo("99.npy").file_size = said
    return path


def saved(kind: str, path: Path) -> Path:
    save(FITTED[kind](), path)
    return path


def test_a_small_file_does_not_fill_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.learn.tables.model_file._MOST", 1 << 20)
    monkeypatch.setattr("hubbub.learn.tables.model_file._MOST_JSON", 1 << 16)
    deflated, path = zipfile.ZIP_DEFLATED, tmp_path / "large.hubbub"
    assert load(packed(path, 1 << 14, deflated)).public.nbytes == 3 << 17
    for forgery in (
        {"rows": 1 << 16, "method": deflated},
        {"rows": 1 << 14, "method": deflated, "times": 3},
        {"rows": 1 << 16, "method": deflated, "said": 1 << 10},
        {"rows": 1 << 10, "method": zipfile.ZIP_BZIP2},
    ):
        with pytest.raises(Unreadable):
            load(packed(path, **forgery))  # type: ignore[arg-type]


# ---------------------------------------------------------------- what is loaded can be used

HOSTILE: list[Any] = [
    *(None, True, -1, 0, 10**400, 1e308, "NaN", "9" * 5000, [], {}, {"array": -1}, {"array": 10**9}, {"array": True}),
    *({"array": "../0"}, {"fraction": "1/0"}, {"fraction": "1e9999"}, {"decimal": "1e999999999"}, {"decimal": "NaN"}),
    *({"term": {}}, {"value": "TableModel", "fields": {}}, {"estimator": "Pipeline", "parameters": {}, "learned": {}}),
    *({"estimator": "Ridge", "parameters": {}, "learned": {}}, {"list": [{"list": []}]}, {"dict": {"__class__": 1}}),
    *({"objects": [1, {"list": [2]}]}, {"tuple": 5}, {"tuple": []}, {"value": "Number", "fields": {"name": 1}}),
]


def places_in(document: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    inner = (
        document.items() if isinstance(document, dict) else enumerate(document) if isinstance(document, list) else ()
    )
    for key, value in inner:
        yield from places_in(value, (*path, key))


def changed(document: Any, path: tuple[Any, ...], value: Any) -> Any:
    if not path:
        return value
    if isinstance(document, dict):
        return document | {path[0]: changed(document[path[0]], path[1:], value)}
    return [changed(each, path[1:], value) if place == path[0] else each for place, each in enumerate(document)]


@pytest.mark.parametrize("kind", sorted(FITTED))
def test_a_file_with_one_thing_changed_is_refused_or_can_be_used(kind: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved(kind, tmp_path / "model.hubbub")) as archive:
        document = json.loads(archive.read("model.json"))
        arrays = {name: archive.read(name) for name in archive.namelist() if name != "model.json"}
    chance = random.Random(kind)
    loaded = 0
    for path in places_in(document["model"]):
        for value in chance.sample(HOSTILE, 3):
            with zipfile.ZipFile(tmp_path / "forged.hubbub", "w") as archive:
                archive.writestr(
                    "model.json", json.dumps(document | {"model": changed(document["model"], path, value)})
                )
                for name, content in arrays.items():
                    archive.writestr(name, content)
            with contextlib.suppress(HubbubError), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model = load(tmp_path / "forged.hubbub")
                loaded += 1
                answers(model), repr(model)
                str(model.guarantee_ if isinstance(model, PrivateEstimator) else model.guarantee)
    assert loaded  # a parameter that may be anything


def header(shape: str, kind: str) -> bytes:
    """An array that says to be of a shape and a type, and has no content."""
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".encode().ljust(117) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text


@pytest.mark.parametrize(
    ("shape", "kind"),
    [("(100000000000,)", "|V0"), ("(100000000000,)", "|S0"), ("(3,)", "<f8"), ("(-1,)", "<f8"), ("(0, 10)", "<c16")],
)
def test_an_array_without_its_bytes_is_refused(shape: str, kind: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved("Ridge", tmp_path / "model.hubbub")) as archive:
        document = json.loads(archive.read("model.json"))
    document["model"]["parameters"]["epsilon"] = {"array": 0}
    with pytest.raises(Unreadable):
        load(forged(tmp_path / "forged.hubbub", document, (header(shape, kind),)))


@pytest.mark.parametrize("key", ["coef_", "intercept_", "guarantee_", "norm_", "target_bounds_", "n_features_in_"])
def test_a_model_without_a_part_or_with_another_is_refused(key: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved("Ridge", tmp_path / "model.hubbub")) as archive:
        document, content = json.loads(archive.read("model.json")), archive.read("0.npy")
    learned = document["model"]["learned"]
    for other in ({name: value for name, value in learned.items() if name != key}, learned | {"more_": 1}, {}):
        changed_model = document["model"] | {"learned": other}
        with pytest.raises(Unreadable):
            load(forged(tmp_path / "forged.hubbub", document | {"model": changed_model}, (content,)))


@pytest.mark.parametrize(
    "version", ["model/-1", "model/0", "model/01", "model/+1", "model/1_0", "model/ 1", "model/1.0"]
)
def test_a_version_that_never_was_is_refused(version: str, tmp_path: Path) -> None:
    with zipfile.ZipFile(saved("Ridge", tmp_path / "model.hubbub")) as archive:
        document, content = json.loads(archive.read("model.json")), archive.read("0.npy")
    assert load(forged(tmp_path / "same.hubbub", document, (content,))).coef_.shape == (3,)
    with pytest.raises(Unreadable):
        load(forged(tmp_path / "forged.hubbub", document | {"hubbub": version}, (content,)))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_a_model_that_is_not_finite_is_not_written(value: float, tmp_path: Path) -> None:
    model = FITTED["Ridge"]()
    model.coef_[1] = value
    with pytest.raises(WrongShape, match="cannot be saved"):
        save(model, tmp_path / "model.hubbub")
    assert not list(tmp_path.iterdir())


def test_what_could_not_be_read_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = FITTED["Ridge"]()
    monkeypatch.setattr("hubbub.learn.tables.model_file._MOST_JSON", 100)
    with pytest.raises(TooLarge):
        save(model, tmp_path / "model.hubbub")
    assert not list(tmp_path.iterdir())


def test_the_trap_would_have_gone_off() -> None:
    with pytest.raises(pytest.fail.Exception):
        np.load(io.BytesIO(pickled()), allow_pickle=True)
    with pytest.raises(pytest.fail.Exception):
        pickle.loads(pickle.dumps(Evil()))


def test_other_files_and_newer_ones_are_told_apart(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no model")
    for path in (
        tmp_path / "text",
        tmp_path / "absent",
        forged(tmp_path / "a", {"hubbub": "event/1"}),
        forged(tmp_path / "b", []),
    ):
        with pytest.raises(Unreadable):
            load(path)
    with pytest.raises(NewerFormat):
        load(forged(tmp_path / "c", {"hubbub": "model/2", "model": None}))


def test_what_is_not_ours_is_not_saved(tmp_path: Path) -> None:
    from sklearn.frozen import FrozenEstimator
    from sklearn.preprocessing import StandardScaler as Plain

    frozen = FrozenEstimator(Plain().fit(X))
    model = learn.make_pipeline(frozen, learn.LogisticRegression(norm=3.0, max_iter=3), **PRICE).fit(X, Y)
    with pytest.raises(WrongShape, match="FrozenEstimator"):
        save(model, tmp_path / "model.hubbub")
    with pytest.raises(EmptyInput):
        save(learn.Ridge(), tmp_path / "model.hubbub")
    assert not list(tmp_path.iterdir())


def test_every_class_of_which_there_are_files_has_a_form() -> None:
    pairs = {"BipartiteRanker", "MetricLearner"}  # whose networks are no values of files
    assert learned_forms().keys() == _estimators().keys() - pairs
    assert field_forms().keys() == stored_values().keys()
