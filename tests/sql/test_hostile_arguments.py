"""What is given to ``hb.connect`` is taken or refused in our words, before anything is opened or charged."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pandas
import pytest

import hubbub as hb
from hubbub.ledger import Ledger
from hubbub.sql.open_connection import connect, declare
from hubbub.sql.pricing.price import PriceTerms
from hubbub.sql.pricing.priced_statement import price_statement
from hubbub.terms import BelowLeastPrice, HubbubError, SourceUnavailable

DAY = datetime.date(2026, 1, 1)
BAD: dict[str, list[Any]] = {
    "budget": [3, (3, 1e-6), "3", [3], {}],
    "bounds": [
        *({"cost": 2000}, [("cost", 0, 1)], "cost", {"cost": "01"}, {"cost": None}, {5: (0, 1)}, {"cost": ("a", "b")}),
        *({"cost": (0, float("nan"))}, {"cost": (None, 1)}, {"cost": {0: 1, 1: 2}}, {"cost": (DAY, 5)}, {"cost": ()}),
        *({"cost": (0, 1, 0)}, {"cost": (0, 1, -1)}, {"cost": (1, 0)}, {"cost": {0, 1}}),
    ],
    "keys": [
        *(["region"], "region", {"region": "north"}, {"region": 5}, {"region": None}, {"region": b"ab"}, {5: ["a"]}),
        *({"region": {"a": 1}}, {"region": [["a"]]}, {"region": [float("nan")]}, {"region": []}, {"region": ["a", 1]}),
    ],
    "unit": [["patient_id"], 5, "", " ", ".", "visits.", "visits. ", b"x", ("patient_id",)],
    "seconds": ["5", None, -1, 0, float("nan"), float("inf"), True, [1]],
    "version": [2, ["a"], b"x", ""],
    "name": [2, ["a"], b"x", "a.b"],
    "population": [2, ["a"], ""],
    "ledger": [5, b"x", ["a"]],
    "project": [5, None, ["a"], ""],
    "analyst": [5, None, ["a"], ""],
    "neighbours": [5, "x", ["a"]],
    "max_rows_per_unit": ["x", -1, 0, 1.5, True, [1]],
    "rows": ["x", -1, [1], 0],
    "header": [["a"], "a", 5, {"a": 1}, [1], False],
    "memory": [5, "lots", "1GB'; SELECT 1", ["a"], None],
}
TEXT = "SELECT COUNT(*) AS n FROM table"


def frame() -> pandas.DataFrame:
    return pandas.DataFrame({"patient_id": [1, 2], "region": ["n", "s"], "cost": [1.0, 2.0]})


def given(folder: Path) -> dict[str, Any]:
    return {
        "unit": "patient_id",
        "max_rows_per_unit": 2,
        "budget": hb.Budget(1, 1e-6),
        "ledger": Ledger(folder / "ledger.db", state=folder / "state"),
    }


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_a_bad_argument_is_refused_in_our_words_before_a_budget_is_open(name: str, value: Any, tmp_path: Path) -> None:
    said = given(tmp_path)
    with said["ledger"] as ledger:
        with pytest.raises(HubbubError) as refusal:
            connect(frame(), **{**said, name: value})
        assert refusal.value.what and refusal.value.why and refusal.value.fix
        assert ledger.populations() == {}


def test_what_is_meant_is_written_in_the_refusal() -> None:
    for said, words in (
        ({"budget": (3, 1e-6)}, "Budget(3, 1e-6)"),
        ({"version": 2}, 'version="2"'),
        ({"keys": {"region": "north"}}, '"region": ["north", "south"]'),
        ({"bounds": {"cost": 2000}}, '"cost": (0, 2000)'),
        ({"unit": ["patient_id"]}, 'unit="patient_id"'),
    ):
        with pytest.raises(HubbubError) as refusal:
            declare(frame(), **{"unit": "patient_id", **said})
        assert words in refusal.value.fix


def test_nothing_is_asked_or_charged_after_a_connection_was_closed(tmp_path: Path) -> None:
    db = connect(frame(), **given(tmp_path))
    quote = price_statement(db, TEXT, PriceTerms(epsilon=0.1), None)[0].quote
    db.close()
    for ask in (
        lambda: db.sql(TEXT, epsilon=0.1),
        lambda: db.preview(TEXT, epsilon=0.1),
        lambda: db.explain(TEXT),
        lambda: db.suggest_bounds("table", epsilon=0.1),
        lambda: db.workload([TEXT], epsilon=0.1),
        lambda: db.answer(quote),
    ):
        with pytest.raises(SourceUnavailable, match="the connection is closed"):
            ask()
    db.close()
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        assert not ledger.balance("table").spent.loss


def test_a_preview_knows_the_least_price(tmp_path: Path) -> None:
    with connect(frame(), **given(tmp_path)) as db:
        fine, cheap = (db.preview(TEXT, epsilon=epsilon) for epsilon in (0.1, 1e-6))
        assert fine.affordable and not fine.refused and "more like it fit" in fine.text()
        assert not cheap.affordable and cheap.to_json()["affordable"] is False
        assert "at least" in cheap.refused and "It would be refused" in " ".join(cheap.text().split())
        assert "more like it fit" not in cheap.text()
        with pytest.raises(BelowLeastPrice):
            db.sql(TEXT, epsilon=1e-6)


@pytest.mark.parametrize(
    ("typed", "advised"),
    [
        ("MEDIAN(cost)", "MEDIAN(CLIP(cost, 0, 100))"),
        ("QUANTILE(cost, 0.9)", "QUANTILE(CLIP(cost, 0, 100), 0.9)"),
        ("PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY cost)", "QUANTILE(CLIP(cost, 0, 100), 0.25)"),
        ("SUM(cost)", "SUM(CLIP(cost, 0, 100))"),
        ("AVG(cost)", "AVG(CLIP(cost, 0, 100))"),
    ],
)
def test_advice_about_bounds_can_be_followed(typed: str, advised: str, tmp_path: Path) -> None:
    with connect(frame(), **given(tmp_path)) as db:
        with pytest.raises(HubbubError, match="needs bounds of cost") as refusal:
            db.preview(f"SELECT {typed} AS x FROM table", epsilon=0.5)
        assert f"or write {advised}." in refusal.value.fix and "--bound cost=0:100" in refusal.value.fix
        assert db.preview(f"SELECT {advised} AS x FROM table", epsilon=0.5).columns


def test_a_column_of_a_csv_file_is_text_and_the_refusal_says_what_to_declare(tmp_path: Path) -> None:
    frame().to_csv(tmp_path / "v.csv", index=False)
    with (
        connect(tmp_path / "v.csv", **given(tmp_path)) as db,
        pytest.raises(HubbubError, match="a number is needed here") as refusal,
    ):
        db.preview("SELECT SUM(cost) AS x FROM v", epsilon=0.5)
    assert "CSV" in refusal.value.why
    assert "--bound cost=0:2000" in refusal.value.fix and "bounds={'cost': (0, 2000)}" in refusal.value.fix
