"""Whatever stands in the rows: a fit is refused by types and shapes alone, and says nothing about values otherwise."""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest
import scipy.sparse
from sklearn.preprocessing import FunctionTransformer

from hubbub import learn
from hubbub.learn.base.inputs import private_table, table_of
from hubbub.learn.base.targets import labels_of
from hubbub.learn.composition.held_out_score import WithHeldOutScore
from hubbub.learn.tables.features import NumberFeature
from hubbub.learn.tables.table_model import PrivateColumns
from hubbub.ledger import Ledger
from hubbub.terms import AS_GIVEN, Budget, HubbubError

ROWS = 40
PRICE: dict[str, Any] = {"epsilon": 1, "delta": 1e-5}
BOUNDED: dict[str, Any] = {"bounds": (-1, 1)}
PUBLIC = np.random.default_rng(2).uniform(-1, 1, (30, 3))
CLASSES = {"classes": [0, 1]}
FEW = {"max_iter": 2}

TREES = {"rounds": 2}
MAKERS: dict[str, Callable[..., Any]] = {
    "LogisticRegression": lambda **k: learn.LogisticRegression(norm=1.0, **CLASSES, **FEW, **PRICE, **k),
    "LinearSVC": lambda **k: learn.LinearSVC(norm=1.0, **CLASSES, **FEW, **PRICE, **k),
    "MLPClassifier": lambda **k: learn.MLPClassifier(norm=1.0, **CLASSES, **FEW, **PRICE, **k),
    "MLPRegressor": lambda **k: learn.MLPRegressor(norm=1.0, target_bounds=(0, 1), **FEW, **PRICE, **k),
    "BipartiteRanker": lambda **k: learn.BipartiteRanker(norm=1.0, **CLASSES, **FEW, **PRICE, **k),
    "MetricLearner": lambda **k: learn.MetricLearner(norm=1.0, **CLASSES, **FEW, **PRICE, **k),
    "LinearRegression": lambda **k: learn.LinearRegression(norm=1.0, target_bounds=(0, 1), **PRICE, **k),
    "Ridge": lambda **k: learn.Ridge(norm=1.0, target_bounds=(0, 1), **PRICE, **k),
    "GaussianNB": lambda **k: learn.GaussianNB(**BOUNDED, **CLASSES, **PRICE, **k),
    "AdditiveTreesClassifier": lambda **k: learn.AdditiveTreesClassifier(**BOUNDED, **CLASSES, **TREES, **PRICE, **k),
    "AdditiveTreesRegressor": lambda **k: learn.AdditiveTreesRegressor(
        **BOUNDED, target_bounds=(0, 1), **TREES, **PRICE, **k
    ),
    "PCA": lambda **k: learn.PCA(norm=1.0, **PRICE, **k),
    "CentreScaler": lambda **k: learn.CentreScaler(norm=1.0, **PRICE, **k),
    "KMeans": lambda **k: learn.KMeans(2, **BOUNDED, **PRICE, **k),
    "StandardScaler": lambda **k: learn.StandardScaler(bounds="private", **PRICE, **k),
    "PrivateColumns": lambda **k: PrivateColumns(
        [NumberFeature("a"), NumberFeature("b"), NumberFeature("c")], **PRICE, **k
    ),
    "PATEClassifier": lambda **k: learn.PATEClassifier(public=PUBLIC, teachers=5, **CLASSES, **PRICE, **k),
    "Pipeline": lambda **k: learn.Pipeline(
        [
            learn.StandardScaler(**BOUNDED),
            FunctionTransformer(_roots),
            learn.LogisticRegression(norm=1.0, **CLASSES, **FEW),
        ],
        **PRICE,
        **k,
    ),
    "Measured": lambda **k: WithHeldOutScore(learn.LogisticRegression(norm=1.0, **CLASSES, **FEW), **PRICE, **k),
    "PrivateSearch": lambda **k: learn.PrivateSearch(
        learn.LogisticRegression(norm=1.0, sampling="full", **CLASSES, **FEW),
        [{"clip": 0.1}, {"clip": 1.0}],
        validation=(PUBLIC, (PUBLIC[:, 0] > 0).astype(int)),
        trials=2,
        **PRICE,
        **k,
    ),
}
NO_LEDGER = ("PATEClassifier", "PrivateSearch")  # slow to plan: their charge is tried elsewhere


def _roots(rows: Any) -> Any:
    """A public step that raises for some rows, and warns for others."""
    if (np.abs(rows) > 1e100).any():
        raise ValueError(f"what a value: {rows.max()}")
    if (np.abs(rows) > 10).any():
        warnings.warn(f"what a value: {rows.max()}", stacklevel=1)
    return np.sqrt(np.abs(rows))


def test_every_estimator_is_here() -> None:
    public = {name for name in learn.__all__ if hasattr(getattr(learn, name), "fit")}
    assert public <= set(MAKERS)


def good() -> tuple[Any, Any]:
    chance = np.random.default_rng(1)
    return chance.uniform(-0.5, 0.5, (ROWS, 3)), np.arange(ROWS) % 2


@pytest.fixture(autouse=True)
def _loudly() -> Iterator[None]:
    """A warning that depends on values tells about them."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with np.errstate(all="raise"):
            yield


# ---------------------------------------------------------------- values never refuse

HUGE = [1e308, -1e308, 5e-324, -0.0, 10**30, -(10**30), 2**63, 10**400]
ODD = [float("nan"), float("inf"), float("-inf"), None, "text", "", "1_000", b"x", 2j, Decimal("NaN"), Decimal("1e999"),
       Decimal("sNaN"), pandas.NA, pandas.NaT, datetime.date(2025, 1, 1), [1, 2], {"a": 1}, object(), True,
       np.float32(3), np.datetime64("2025-01-01"), np.ma.masked]  # fmt: skip


class Rude:
    """A value that ends the program when somebody looks at it."""

    def __float__(self) -> float:
        raise SystemExit("seen")

    def __eq__(self, other: object) -> bool:
        raise ValueError("seen")

    __hash__ = None  # type: ignore[assignment]


def with_value(value: object) -> Iterator[tuple[str, Any]]:
    """The same rows in several forms, with one odd value."""
    table, _ = good()
    plain = table.tolist()
    plain[7][1] = value
    objects = table.astype(object)
    objects[7, 1] = value
    yield "a list", plain
    yield "objects", objects
    yield (
        "a frame",
        pandas.DataFrame({name: pandas.Series(list(objects[:, j]), dtype=object) for j, name in enumerate("abc")}),
    )
    if isinstance(value, float):
        floats = table.copy()
        floats[7, 1] = value
        yield "doubles", floats


def facts(model: Any) -> tuple[Any, ...]:
    """All that a fit tells beside its noisy numbers."""
    shapes = {
        name: (np.shape(value), getattr(value, "dtype", type(value)))
        for name, value in sorted(vars(model).items())
        if name.endswith("_") and name != "feature_names_in_" and isinstance(value, np.ndarray | float | int)
    }
    return model.event_, model.guarantee_, repr(shapes)


@pytest.mark.parametrize("name", list(MAKERS))
def test_no_value_of_x_refuses_warns_or_changes_what_is_said(name: str) -> None:
    table, y = good()
    expected = facts(MAKERS[name]().fit(table, y))
    values = (
        [*HUGE, *ODD, Rude()]
        if name in ("LogisticRegression", "LinearRegression", "StandardScaler")
        else [1e308, *ODD[:5], 10**400]
    )
    for value in values:
        for form, rows in with_value(value):
            assert facts(MAKERS[name]().fit(rows, y)) == expected, (form, value)


@pytest.mark.parametrize("name", list(MAKERS))
def test_no_value_of_y_refuses_warns_or_changes_what_is_said(name: str) -> None:
    table, y = good()
    expected = facts(MAKERS[name]().fit(table, y))
    for value in ("text", None, 2j, Rude()) if name == "PrivateSearch" else (*HUGE[::3], *ODD, Rude()):
        labels = y.astype(object)
        labels[7] = value
        for form in (labels, labels.tolist(), pandas.Series(list(labels), dtype=object)):
            if isinstance(form, list) and isinstance(value, list):
                continue  # that is a shape
            assert facts(MAKERS[name]().fit(table, form)) == expected, value


def test_one_odd_value_changes_no_other_value() -> None:
    for value in (*HUGE, *ODD, Rude()):
        for form, rows in with_value(value):
            found = private_table(rows)
            others = np.ones(found.shape, dtype=bool)
            others[7, 1] = False
            assert np.array_equal(found[others], good()[0][others]) and np.isfinite(found).all(), (form, value)
    words = np.array([["1_0", " 2 "], ["3", "x"]])
    assert private_table(words).tolist() == [[10, 2], [3, 0]]
    assert private_table(words[:1]).tolist() == [[10, 2]]


# ---------------------------------------------------------------- types and shapes do, in our own words

Torch = pytest.importorskip("torch")


def wrong() -> dict[str, Any]:
    table, _ = good()
    return {
        "one dimension": table[:, 0],
        "three dimensions": table[None],
        "no columns": np.zeros((ROWS, 0)),
        "no rows": np.zeros((0, 3)),
        "nothing": None,
        "a word": "abc",
        "a number": 5.0,
        "a dict": {"a": [1, 2]},
        "complex": table * 1j,
        "dates": np.full((ROWS, 3), np.datetime64("2025-01-01")),
        "times": np.full((ROWS, 3), np.timedelta64(1, "D")),
        "a frame with dates": pandas.DataFrame(table, columns=list("abc")).assign(b=pandas.Timestamp("2025-01-01")),
        "records": np.zeros((ROWS, 3), dtype=[("a", "f8")]),
        "a mask": np.ma.masked_less(table, 0),
        "a mask that hides nothing": np.ma.array(table),
        "sparse": scipy.sparse.csr_array(table),
        "a sparse matrix": scipy.sparse.coo_matrix(table),
        "a complex tensor": Torch.zeros(ROWS, 3, dtype=Torch.complex64),
        "rows of several shapes": [np.zeros((2, 3)), np.zeros((2, 2))],
    }


@pytest.mark.parametrize("case", list(wrong()))
@pytest.mark.parametrize("name", list(MAKERS))
def test_types_and_shapes_are_refused_in_our_own_words(name: str, case: str) -> None:
    with pytest.raises(HubbubError):
        MAKERS[name]().fit(wrong()[case], good()[1])


def wrong_targets() -> dict[str, Any]:
    _, y = good()
    return {
        "nothing": None,
        "too few": y[:-1],
        "two columns": np.stack([y, y], axis=1),
        "a mask": np.ma.masked_equal(y, 1),
        "a number": 1,
        "a word": "abc",
        "sparse": scipy.sparse.csr_array(y[:, None]),
    }


LEARNS_FROM_Y = [
    name for name in MAKERS if name not in ("PCA", "CentreScaler", "KMeans", "StandardScaler", "PrivateColumns")
]


@pytest.mark.parametrize("case", list(wrong_targets()))
@pytest.mark.parametrize("name", LEARNS_FROM_Y)
def test_a_target_that_is_no_column_is_refused(name: str, case: str) -> None:
    with pytest.raises(HubbubError):
        MAKERS[name]().fit(good()[0], wrong_targets()[case])


@pytest.mark.parametrize("name", [name for name in MAKERS if name not in NO_LEDGER])
def test_what_is_refused_is_refused_before_a_charge(name: str, tmp_path: Path) -> None:
    table, y = good()
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(9, 1e-3), plans=Budget(9, 1e-3), by="board", why="a test")
        for rows in wrong().values():
            with pytest.raises(HubbubError):
                MAKERS[name](account=ledger).fit(rows, y)
        if name in LEARNS_FROM_Y:
            for labels in wrong_targets().values():
                with pytest.raises(HubbubError):
                    MAKERS[name](account=ledger).fit(table, labels)
        assert not [entry for entry in ledger.log() if entry.fields()["kind"] == "charge"]


def plain_forms(tmp_path: Path) -> dict[str, Any]:
    table, _ = good()
    mapped = np.memmap(tmp_path / "rows.bin", dtype=np.float64, mode="w+", shape=table.shape)
    mapped[:] = table
    nullable = pandas.DataFrame(table, columns=list("abc")).astype("Float64")
    nullable.loc[7, "b"] = pandas.NA
    return {
        "a matrix": table.view(np.matrix),
        "a file": mapped,
        "a tensor with a gradient": Torch.tensor(table, requires_grad=True),
        "half precision": Torch.tensor(table).to(Torch.bfloat16),
        "a nullable frame": nullable,
        "integers": (table * 10).astype(np.int8),
        "truth values": table > 0,
        "text": table.astype(str),
    }


@pytest.mark.parametrize("name", ["LogisticRegression", "KMeans", "Ridge", "Pipeline", "Measured", "PATEClassifier"])
def test_other_arrays_are_read_as_what_they_hold(name: str, tmp_path: Path) -> None:
    for form, rows in plain_forms(tmp_path).items():
        model = MAKERS[name]().fit(rows, good()[1])
        assert type(getattr(model, "weights_", np.zeros(1))) is np.ndarray, form


def test_public_ways_in_refuse_a_mask_too() -> None:
    table, y = good()
    masked = np.ma.masked_less(table, 0)
    for asked in (
        lambda: learn.cross_val_score(learn.LogisticRegression(norm=1.0, **CLASSES), masked, y, **PRICE),
        lambda: learn.cross_val_score(learn.LogisticRegression(norm=1.0, **CLASSES), table, np.ma.array(y), **PRICE),
        lambda: MAKERS["Ridge"]().fit(table, y).predict(masked),
        lambda: MAKERS["PCA"]().fit(table).transform(masked),
        lambda: MAKERS["Pipeline"]().fit(table, y).predict(masked),
        lambda: learn.PATEClassifier(public=np.ma.array(PUBLIC), teachers=5, **CLASSES, **PRICE).fit(table, y),
        lambda: learn.solvers.output_perturbation(masked, 2 * y - 1, l2=0.1, norm=1.0, **PRICE),
    ):
        with pytest.raises(HubbubError):
            asked()


# ---------------------------------------------------------------- names of columns


@pytest.mark.parametrize("name", [name for name in MAKERS if name != "PrivateColumns"])
def test_swapped_columns_are_refused_and_not_answered(name: str, tmp_path: Path) -> None:
    table, y = good()
    frame = pandas.DataFrame(table, columns=["age", "height", "weight"])
    model = MAKERS[name]().fit(frame, y)
    assert model.feature_names_in_.tolist() == ["age", "height", "weight"]
    answers = used(model)(frame)
    models = [model]
    if name not in ("Pipeline", "BipartiteRanker", "MetricLearner"):  # of which there are no files
        learn.save(model, tmp_path / "model")
        models.append(learn.load(tmp_path / "model"))
    for use in map(used, models):
        assert np.array_equal(use(frame), answers)
        with pytest.raises(ValueError, match="Feature names must be in the same order as they were in fit"):
            use(frame[["height", "age", "weight"]])
        with pytest.raises(ValueError, match=r"(?s)unseen at fit time:.- shoe.*yet now missing:.- age"):
            use(frame.rename(columns={"age": "shoe"}))
        with pytest.warns(UserWarning, match="does not have valid feature names"):
            use(table)
    plain = used(MAKERS[name]().fit(table, y))
    with pytest.warns(UserWarning, match="was fitted without feature names"):
        plain(frame)


def used(model: Any) -> Any:
    """How a fitted model is asked."""
    ways = ("predict", "transform", "decision_function")
    return next(getattr(model, way) for way in ways if hasattr(model, way))


def test_public_rows_with_swapped_columns_are_refused() -> None:
    table, y = good()
    frame, public = (pandas.DataFrame(rows, columns=list("abc")) for rows in (table, PUBLIC))
    turned = public[["b", "a", "c"]]
    with pytest.raises(ValueError, match="same order"):
        learn.PATEClassifier(public=turned, teachers=5, **CLASSES, **PRICE).fit(frame, y)
    search = MAKERS["PrivateSearch"]().set_params(validation=(turned, y[:30]))
    with pytest.raises(ValueError, match="same order"):
        search.fit(frame, y)


# ---------------------------------------------------------------- what is assumed


@pytest.mark.parametrize("name", list(MAKERS))
def test_the_guarantee_says_what_it_assumes_of_what_was_done_before(name: str) -> None:
    table, y = good()
    assert AS_GIVEN in MAKERS[name]().fit(table, y).guarantee_.describe()


# --- lists: each entry is one person's, and whatever it is, it says nothing and stops nothing


class Raises:
    """Raises whatever is asked of it."""

    __hash__ = None  # type: ignore[assignment]

    def __array__(self, *args: Any, **more: Any) -> Any:
        raise RuntimeError("array")

    def __float__(self) -> float:
        raise SystemExit

    def __eq__(self, other: object) -> bool:
        raise SystemExit

    def __len__(self) -> int:
        raise RuntimeError("length")


ODD: list[Any] = [
    *([1], [1, 2], (), [], {}, "odd", b"x", None, 2**63 + 5, 10**400, 1 + 2j, Raises(), np.ma.masked),
    *(
        np.array(3),
        np.array([1, 2]),
        np.array([]),
        np.ma.array([1.0, 2.0], mask=[0, 1]),
        pandas.NA,
        [[1], 2],
        [Raises()],
    ),
]


@pytest.mark.parametrize("name", ["LogisticRegression", "Ridge", "KMeans", "AdditiveTreesClassifier"])
def test_no_entry_of_a_list_makes_a_fit_fail(name: str) -> None:
    table, y = good()
    for odd in ODD:
        rows, labels = table.tolist(), y.tolist()
        rows[7][1] = odd
        MAKERS[name]().fit(rows, labels)
        rows[7] = odd
        labels[7] = odd
        MAKERS[name]().fit(rows, labels)
        MAKERS[name]().fit(tuple(rows), tuple(labels))


def test_a_row_of_another_length_is_a_row_of_nothing_and_others_stay() -> None:
    table, _ = good()
    for odd in ([1.0], [1.0] * 7, 5, None, "abc", Raises()):
        read = private_table([*table.tolist()[:-1], odd])
        assert np.array_equal(read[:-1], table[:-1]) and not read[-1].any()
    assert np.array_equal(private_table([list(row) for row in table]), table)
    assert np.array_equal(private_table(list(table)), table)
    assert not private_table([[1, [2, 3], 4]] * 5 + [[1, 2]])[:, 1].any()
    masked = private_table([np.ma.masked_less(row, 0) for row in table])  # what is hidden is missing
    assert np.array_equal(masked, np.where(table < 0, 0.0, table))


def test_no_label_changes_the_labels_of_others() -> None:
    low, high = 2**60, 2**60 + 1
    classes = np.array([low, high])
    for odd in [*ODD, 0.5, -1, 2**64, float("nan"), np.uint64(2**63 + 5)]:
        for labels in ([low, high, high, odd], [odd, low, high, high]):
            read = labels_of(labels, classes).tolist()
            assert sorted(read) == [-1, 0, 1, 1] and labels_of(tuple(labels), classes).tolist() == read
    assert labels_of([[low], [high]], classes).tolist() == [0, 1]
    assert labels_of([True, 1.0, np.int64(0), "1"], np.array([0, 1])).tolist() == [1, 1, 0, -1]
    assert labels_of(["b", np.str_("a"), b"a", 1], np.array(["a", "b"])).tolist() == [1, 0, -1, -1]


@pytest.mark.parametrize("rows", [[[1.0], [1.0, 2.0]], [[1, [2, 3]], [1, 2]], [[[1], [2]]], [[1.0, Raises()]]])
def test_rows_to_predict_are_read_strictly(rows: Any) -> None:
    with pytest.raises(HubbubError):
        table_of(rows)
