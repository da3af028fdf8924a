"""Tables with named columns: each cell by itself, public facts alone, and models and cards made from them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import polars
import pyarrow
import pytest

from hubbub.accounting import epsilon
from hubbub.learn.tables.features import (
    BINS,
    MISSING,
    Category,
    NumberFeature,
    Style,
    code_bounds,
    codes_of,
    features_of,
    norm_of,
    width_of,
    word_of,
)
from hubbub.learn.tables.fit_table import TableModelKind, design_model, fit_table
from hubbub.learn.tables.model_card import ModelCard
from hubbub.terms import EmptyInput, MissingParameter, OutOfRange, UnknownName

from .contract import DELTA

PRICE: dict[str, Any] = {"epsilon": 2, "delta": DELTA}
AGE, WARD, ILL = NumberFeature("age", 0, 100), Category("ward", ("north", "south")), Category("ill", ("no", "yes"))
COLUMNS = (AGE, WARD)


def people(rows: int = 3000) -> dict[str, Any]:
    generator = np.random.default_rng(8)
    age, ward = generator.integers(0, 100, rows), generator.choice(["north", "south"], rows)
    ill = np.where((age > 60) ^ (generator.uniform(size=rows) < 0.05), "yes", "no")
    return {"age": age, "ward": ward, "ill": ill, "cost": age * 10.0}


@pytest.mark.parametrize(
    ("one", "other"), [(1, "1"), (1.0, " 1 "), (True, "true"), (np.int64(3), 3), (np.bool_(False), "false")]
)
def test_values_are_compared_as_words(one: Any, other: Any) -> None:
    assert word_of(one) == word_of(other)
    assert word_of(1.5) != word_of(1)


class Rude:
    """A cell that answers no question."""

    def __str__(self) -> str:
        raise RuntimeError("secret")

    __float__ = __array__ = __eq__ = __str__  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


ODD = [None, "", "abc", float("nan"), float("inf"), 10**400, 10**5000, "east", b"\xff", 1j, (1, 2), Rude(), object()]


@pytest.mark.parametrize("odd", ODD, ids=lambda odd: type(odd).__name__)
@pytest.mark.parametrize("made", [list, tuple, np.ndarray])
def test_an_odd_cell_is_missing_and_changes_no_other(odd: Any, made: Any) -> None:
    def column(*cells: Any) -> Any:
        return np.fromiter(cells, dtype=object) if made is np.ndarray else made(cells)

    codes = codes_of({"age": column(10, odd, "30"), "ward": column("north", odd, " south")}, COLUMNS)
    assert codes.tolist() == [[10, 1], [MISSING, 0], [30, 2]]
    assert codes_of({"age": column(odd), "ward": column(odd)}, COLUMNS).tolist() == [[MISSING, 0]]
    assert not features_of(codes, COLUMNS, Style.BINS)[1].any()
    assert not features_of(codes, COLUMNS, Style.SCALED)[1].any()


@pytest.mark.parametrize("made", [pandas.DataFrame, polars.DataFrame, pyarrow.table, dict])
def test_frames_of_every_kind_are_read(made: Any) -> None:
    codes = codes_of(made({"age": [10, 20], "ward": ["south", "north"]}), COLUMNS)
    assert codes.tolist() == [[10, 2], [20, 1]]


def test_features_lie_within_their_norm_and_widths() -> None:
    codes = codes_of({"age": [-50, 0, 99.9, 100, 1e9], "ward": ["north"] * 5}, COLUMNS)
    for style in (Style.BINS, Style.SCALED):
        features = features_of(codes, COLUMNS, style)
        assert features.shape == (5, width_of(COLUMNS, style))
        assert (np.linalg.norm(features, axis=1) <= norm_of(COLUMNS)).all()
    bins = features_of(codes, COLUMNS, Style.BINS)[:, :BINS].argmax(axis=1)
    assert bins.tolist() == [0, 0, BINS - 1, BINS - 1, BINS - 1]
    assert code_bounds(COLUMNS) == ([(0, 100), (-0.5, 2.5)], [2 * BINS, 3])


def test_a_missing_column_is_named() -> None:
    with pytest.raises(UnknownName, match="ward"):
        codes_of({"age": [1]}, COLUMNS)


# ---------------------------------------------------------------- models


@pytest.mark.parametrize("kind", ["logistic", "svm", "mlp", "trees", "nb"])
def test_every_classifier_learns_from_a_table(kind: str) -> None:
    table = people()
    model = fit_table(table, columns=COLUMNS, target=ILL, model=kind, **PRICE)
    assert model.measured(table).value > (0.8 if kind == "nb" else 0.88)
    assert set(model.predict({"age": [5, 95], "ward": ["north", None]})) <= {"no", "yes"}
    assert "number of rows" not in model.guarantee.describe()
    assert 1.8 < epsilon(model.event, delta=DELTA) <= 2


@pytest.mark.parametrize("kind", ["linear", "ridge", "mlp", "trees"])
def test_every_regressor_learns_from_a_table(kind: str) -> None:
    table = people()
    model = fit_table(table, columns=COLUMNS, target=NumberFeature("cost", 0, 1000), model=kind, **PRICE)
    score = model.measured(table)
    assert score.kind == "mean absolute error" and score.value < 120  # the middle is off by 250


@pytest.mark.parametrize("kind", ["logistic", "trees", "nb"])
def test_bounds_are_found_privately_and_paid_for(kind: str) -> None:
    table = people()
    columns = (NumberFeature("age"), WARD)
    model = fit_table(table, columns=columns, target=ILL, model=kind, measure=True, **PRICE)
    [age, ward] = model.columns
    assert isinstance(age, NumberFeature) and age.bounded and 64 <= age.ends[1] <= 256 and ward == WARD
    assert model.score is not None and model.score.value > 0.75
    assert epsilon(model.event, delta=DELTA) <= 2.000001
    assert model.predict(table).shape == (3000,)


@pytest.mark.parametrize("kind", ["logistic", "nb", "trees"])
def test_a_column_of_zeros_has_bounds_too(kind: str) -> None:
    table = {"gain": np.zeros(1500), "ill": ["no", "yes"] * 750}
    model = fit_table(table, columns=(NumberFeature("gain"),), target=ILL, model=kind, **PRICE)
    assert model.columns == (NumberFeature("gain", 0.0, 1.0),)
    assert set(model.predict({"gain": [0, 1, 5]})) <= {"no", "yes"}


def test_the_widest_bounds_do_not_overflow() -> None:
    far = float(np.finfo(np.float64).max) / 1.5
    wide = (NumberFeature("x", -far, far),)
    assert features_of(codes_of({"x": [-far, 0, far]}, wide), wide, Style.SCALED).ravel().tolist() == [0, 0.5, 1]


@pytest.mark.parametrize("measure", [False, True])
@pytest.mark.parametrize("known", [AGE, NumberFeature("age")], ids=["declared", "private"])
@pytest.mark.parametrize("rows", [500, "private"])
@pytest.mark.parametrize("kind", ["logistic", "nb", "trees"])
def test_a_table_may_be_empty_where_the_number_of_rows_is_not_public(
    kind: str, rows: Any, known: NumberFeature, measure: bool
) -> None:
    empty = {"age": [], "ill": []}
    model = fit_table(empty, columns=(known,), target=ILL, model=kind, rows=rows, measure=measure, **PRICE)
    assert set(model.predict({"age": [5, 95]})) <= {"no", "yes"}


def test_nothing_is_read_before_everything_is_decided() -> None:
    def unread() -> Any:
        raise AssertionError("a row was read")

    given: dict[str, Any] = {"columns": COLUMNS, "target": ILL}
    for changes, error in (
        ({"model": "linear"}, OutOfRange),
        ({"columns": ()}, EmptyInput),
        ({"target": NumberFeature("cost")}, MissingParameter),
        ({"epsilon": None}, MissingParameter),
        ({"epsilon": -1}, OutOfRange),
        ({"rows": "many"}, OutOfRange),
        ({"rows": None}, MissingParameter),
    ):
        with pytest.raises(error):
            fit_table(unread, **(PRICE | given | changes))


def test_a_design_is_known_by_its_columns() -> None:
    first = design_model(COLUMNS, ILL)
    assert (
        first.kind is TableModelKind.LOGISTIC
        and design_model(COLUMNS, NumberFeature("cost", 0, 1)).kind is TableModelKind.LINEAR
    )
    others = [
        design_model((AGE,), ILL),
        design_model((NumberFeature("agf", 0, 100), WARD), ILL),
        design_model(COLUMNS, ILL, "svm"),
    ]
    assert len({each.digest for each in (first, *others)}) == 4


# ---------------------------------------------------------------- cards


def test_a_card_says_what_holds_what_was_known_and_how_good_it_is() -> None:
    card = ModelCard(fit_table(people(), columns=COLUMNS, target=ILL, measure=True, **PRICE))
    text = " ".join(card.text().split())
    for said in ("88 out of 100", "epsilon = 2, delta = 1e-05", "Accuracy:", "held out", "0 to 100", "north, south"):
        assert said in text
    assert "<svg" in card.html() and "<script" not in card.html()
    assert "| age | number | 0 to 100 |" in card.markdown() and card.markdown().startswith("# Model card: ill")
    told = card.to_json()
    assert told["score"]["low"] <= told["score"]["value"] <= told["score"]["high"]  # type: ignore[index, call-overload, operator]
    assert told["receipt"] is None and "Charged to no ledger" in text


def test_a_card_without_a_score_says_so() -> None:
    text = ModelCard(fit_table(people(300), columns=COLUMNS, target=ILL, model="trees", **PRICE)).text()
    assert "Nobody measured it." in text


def test_a_bar_in_a_name_does_not_break_the_table() -> None:
    odd = Category("a|b", ("x|y", "z"))
    model = fit_table({"a|b": ["z", "x|y"], "ill": ["no", "yes"]}, columns=(odd,), target=ILL, **PRICE)
    assert "| a\\|b | values | 2 values: x\\|y, z |" in ModelCard(model).markdown()


def test_a_name_is_no_markup() -> None:
    table = {"<script>": ["<b>", "z"], "<i>": ["<u>", "no"]}
    columns, target = (Category("<script>", ("<b>", "z")),), Category("<i>", ("<u>", "no"))
    text = ModelCard(fit_table(table, columns=columns, target=target, measure=True, **PRICE)).markdown()
    assert "&lt;script&gt;" in text and "<" not in text
