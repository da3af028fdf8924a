"""``hubbub fit`` and ``hubbub predict`` from the outside: what they need, charge, print and write."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import parquet

from hubbub.cli.output.fit_progress import show_steps
from hubbub.learn import StandardScaler, load, save
from hubbub.ledger import Ledger
from hubbub.terms import Budget

from ._shell import Said, Shell

DESCRIPTOR = """
[dataset]
name = "clinic"
[privacy]
unit = "{unit}"
budget = {{ epsilon = 3, delta = 1e-4 }}
[tables.people]
source = "people.csv"
[tables.people.columns]
age = {{ lower = 0, upper = 100 }}
ward = {{ values = ["north", "south"] }}
seen = {{ lower = 2025-01-01, upper = 2025-12-31 }}
ill = {{ values = ["no", "yes"] }}
cost = {{ lower = 0, upper = 1000 }}
"""
FACTS = ("--bound", "age=0:100", "--key", "ward=north,south", "--key", "ill=no,yes")
PRICE = "--epsilon 2 --delta 1e-5"
NAMES = "age,ward"


def people(rows: int = 2000, seed: int = 3) -> list[dict[str, object]]:
    generator = np.random.default_rng(seed)
    ages = generator.integers(0, 100, rows)
    odd = generator.uniform(size=rows) < 0.05
    return [
        {
            "id": i,
            "age": int(age),
            "ward": ("north", "south")[i % 2],
            "seen": "2025-05-06",
            "ill": "yes" if (age > 60) != odd[i] else "no",
            "cost": int(age) * 10,
        }
        for i, age in enumerate(ages)
    ]


def write(path: Path, rows: list[dict[str, object]]) -> None:
    if path.suffix == ".parquet":
        parquet.write_table(pyarrow.Table.from_pylist(rows), path)
        return
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.fixture
def clinic(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("HUBBUB_LEDGER", raising=False)
    write(tmp_path / "people.csv", people())
    write(tmp_path / "public.csv", people(500, seed=4))
    (tmp_path / "clinic.toml").write_text(DESCRIPTOR.format(unit="row"))
    return Shell(tmp_path, capsys)


def charges(place: Path) -> int:
    with Ledger(place, create=False) as ledger:
        return sum(entry.fields()["kind"] == "charge" for entry in ledger.log())


def fitted(shell: Shell, *more: str) -> Said:
    return shell(f"fit people.csv --target ill {PRICE} --columns {NAMES}", *FACTS, *more)


# ---------------------------------------------------------------- training


def test_a_file_with_typed_facts_becomes_a_model_with_a_card(clinic: Shell) -> None:
    said = fitted(clinic, "--test", "public.csv", "--out", "model.hubbub", "--card", "card.html")
    assert said.code == 0, said.err
    text = " ".join(said.out.split())
    assert "Model card: ill, by LogisticRegression" in text and "88 out of 100" in text
    assert "Charged to no ledger." in text and "charged to no ledger" in said.err
    assert "Always saying no would be right for" in text
    page = (clinic.folder / "card.html").read_text()
    assert "<svg" in page and "north, south" in page and "<script" not in page
    model = load(clinic.folder / "model.hubbub")
    assert model.score.value > 0.85 and model.receipt is None
    assert model.predict({"age": [10, 90], "ward": ["north", "?"]}).tolist() == ["no", "yes"]


def test_a_descriptor_charges_its_ledger_once_and_a_repeat_is_free(clinic: Shell) -> None:
    line = f"fit clinic.toml --target ill --epsilon 0.5 --delta 1e-5 --columns {NAMES} --json"
    first = clinic(line)
    assert first.code == 0, first.err
    told = first.json
    assert told["receipt"]["population"] == "clinic" and "Charged to no ledger" not in told["guarantee"]["words"]
    again = clinic(line).json
    assert again["receipt"] == told["receipt"]
    assert charges(clinic.folder / "clinic.ledger.db") == 1
    assert clinic(line.replace("age,ward", "age")).json["receipt"] != told["receipt"]
    assert clinic(f"{line} --fresh").json["receipt"] != told["receipt"]
    assert charges(clinic.folder / "clinic.ledger.db") == 3


def test_an_empty_budget_says_no(clinic: Shell) -> None:
    line = "fit clinic.toml --target ill --delta 1e-5 --columns age --epsilon"
    assert clinic(line, "2.8").code == 0
    assert clinic(f"{line} 2.8 --fresh").code == 4


def test_a_named_ledger_is_charged_in_its_population(clinic: Shell) -> None:
    with Ledger(clinic.folder / "book.db") as ledger:
        for name in ("people", "others"):
            ledger.open_population(name, Budget(3, 1e-4), plans=Budget(2.5, 5e-5), by="board", why="a test")
        ledger.declare_disjoint("people", "others", by="board", why="a test")
    assert fitted(clinic, "--ledger", "book.db").code == 2  # which people, was not said
    said = fitted(clinic, "--ledger", "book.db", "--population", "others", "--json")
    assert said.json["receipt"]["population"] == "others", said.err
    assert charges(clinic.folder / "book.db") == 1


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_private_bounds_and_a_private_score_need_nothing_but_lists(clinic: Shell, ending: str) -> None:
    write(clinic.folder / f"people.{ending}", people())
    said = clinic(
        f"fit people.{ending} --target ill {PRICE} --columns {NAMES} --bounds private --holdout private --json",
        "--key",
        "ward=north,south",
        "--key",
        "ill=no,yes",
    )
    assert said.code == 0, said.err
    assert said.json["score"]["value"] > 0.75 and "held out" in said.json["score"]["how"]
    assert re.fullmatch(r"\d+ to (64|128|256)", said.json["columns"][0]["known"])


def test_numbers_are_predicted_too(clinic: Shell) -> None:
    said = clinic(f"fit clinic.toml --target cost {PRICE} --columns {NAMES} --model ridge --holdout private --json")
    assert said.json["score"]["kind"] == "mean absolute error" and said.json["score"]["value"] < 120, said.err


@pytest.mark.parametrize("model", ["svm", "mlp", "trees", "nb"])
def test_every_model_can_be_asked_for(clinic: Shell, model: str) -> None:
    said = fitted(clinic, "--model", model, "--rows", "2000", "--test", "public.csv", "--json")
    assert said.json["score"]["value"] > 0.75, said.err


def test_dates_are_left_out_and_said_to_be(clinic: Shell) -> None:
    (clinic.folder / "clinic.toml").write_text(DESCRIPTOR.format(unit="row") + "id = { lower = 0, upper = 9999 }\n")
    said = clinic(f"fit clinic.toml --target ill {PRICE} --json")
    assert [column["name"] for column in said.json["columns"]] == ["id", "age", "ward", "cost", "ill"], said.err
    assert "seen" in said.err


def test_one_row_of_each_person_counts(clinic: Shell) -> None:
    rows = people(600)
    (clinic.folder / "clinic.toml").write_text(DESCRIPTOR.format(unit="people.id"))
    write(clinic.folder / "people.csv", [row for row in rows for _ in range(5)])
    said = clinic(f"fit clinic.toml --target ill {PRICE} --columns {NAMES} --json")
    counted = json.loads(said.out)
    assert said.code == 0, said.err
    assert counted["guarantee"]["unit"] == {"path": "people.id"}
    clinic(f"fit clinic.toml --target ill {PRICE} --columns {NAMES} --fresh --out model.hubbub")
    assert load(clinic.folder / "model.hubbub").estimator.rows_ < 1200  # 3,000 rows of 600 people


def test_with_a_unit_the_card_says_that_one_row_of_each_was_used(clinic: Shell) -> None:
    (clinic.folder / "clinic.toml").write_text(DESCRIPTOR.format(unit="people.id"))
    said = clinic(f"fit clinic.toml --target ill {PRICE} --columns {NAMES} --card card.md")
    assert said.code == 0, said.err
    card = (clinic.folder / "card.md").read_text()
    assert "One row of each is used, picked from their own rows alone." in card
    assert "Of somebody with several rows one was used" in card
    assert "Each has one row" not in card and "only if one of them was used" not in card


def test_two_spellings_of_an_id_are_one_person(clinic: Shell) -> None:
    rows = [row | {"id": float(row["id"])} for row in people(600)]  # type: ignore[arg-type]
    odd = [row | {"id": None if row["id"] else -0.0} for row in rows]  # nobody's, and the other zero
    write(clinic.folder / "people.parquet", [*rows, *odd, *odd])
    text = DESCRIPTOR.format(unit="people.id").replace("people.csv", "people.parquet")
    (clinic.folder / "clinic.toml").write_text(text)
    said = clinic(f"fit clinic.toml --target ill {PRICE} --columns {NAMES} --out model.hubbub")
    assert said.code == 0, said.err
    assert load(clinic.folder / "model.hubbub").estimator.rows_ < 1200  # 1,800 rows of 600 people


def test_rows_from_another_place_are_another_question(clinic: Shell) -> None:
    line = f"fit clinic.toml --target ill --epsilon 0.5 --delta 1e-5 --columns {NAMES} --json"
    first = clinic(line).json
    write(clinic.folder / "others.csv", people(seed=5))
    (clinic.folder / "clinic.toml").write_text(DESCRIPTOR.format(unit="row").replace("people.csv", "others.csv"))
    assert clinic(line).json["receipt"] != first["receipt"]


# ---------------------------------------------------------------- refusals


def test_what_nobody_declared_is_refused_with_the_lines_to_add(clinic: Shell) -> None:
    said = clinic(f"fit people.csv --target ill {PRICE}")
    assert said.code == 2 and "P107" in said.err
    assert "[tables.people.columns]" in said.err
    assert 'ward = { lower = ..., upper = ... }   or   ward = { values = ["...", "..."] }' in said.err
    write(clinic.folder / "people.parquet", people())
    typed = clinic(f"fit people.parquet --target ill {PRICE}").err
    assert "\n    age = { lower = ..., upper = ... }\n" in typed


@pytest.mark.parametrize(
    ("more", "code"),
    [
        ("--target nothing", 3),
        ("--columns age,nothing", 3),
        ("--columns seen,age", 2),
        ("--epsilon abc", 2),
        ("--epsilon 0", 2),
        ("--delta 2", 2),
        ("--model linear", 2),
        ("--rows many", 2),
        ("--rows 0", 2),
        ("--test absent.csv", 5),
        ("--test card.txt", 5),
        ("--test public.csv --holdout private", 2),
        ("--card card.pdf", 2),
        ("--out absent/model.hubbub", 2),
        ("--table nothing", 3),
    ],
)
def test_mistakes_are_found_before_a_charge(clinic: Shell, more: str, code: int) -> None:
    (clinic.folder / "card.txt").write_text("no table")
    line = f"fit clinic.toml --target ill {PRICE} --columns {NAMES}"
    said = clinic(f"{line} {more}")
    assert said.code in {code, 6}, said.err  # a source that is not there is the backend's
    place = clinic.folder / "clinic.ledger.db"
    assert not place.exists() or charges(place) == 0


def test_rows_make_no_difference_to_what_is_said(clinic: Shell) -> None:
    def odd(row: dict[str, object], i: int) -> dict[str, object]:
        return {**row, "age": "secret" if i % 3 == 0 else row["age"], "ill": "perhaps" if i % 5 == 0 else row["ill"]}

    plain = fitted(clinic)
    for changed in (
        [odd(row, i) for i, row in enumerate(people())],
        [{**row, "ill": "no"} for row in people()],
        people(1),
    ):
        write(clinic.folder / "people.csv", changed)
        said = fitted(clinic)
        assert (said.code, said.err) == (plain.code, plain.err)
        assert "secret" not in said.out + said.err


def test_a_wrong_number_of_rows_is_not_noticed(clinic: Shell) -> None:
    said = []
    for rows in (40, 41, 400):
        write(clinic.folder / "people.csv", people(rows))
        said.append(fitted(clinic, "--rows", "20"))
    assert {(each.code, each.err) for each in said} == {(0, said[0].err)}


# ---------------------------------------------------------------- predicting


def test_predictions_come_in_the_order_of_the_rows(clinic: Shell) -> None:
    fitted(clinic, "--out", "model.hubbub")
    write(clinic.folder / "new.csv", [{"AGE": age, "ward": "north"} for age in (5, 95, 10, 90)])
    said = clinic("predict model.hubbub new.csv --chances")
    rows = list(csv.DictReader(io.StringIO(said.out)))
    assert [row["ill"] for row in rows] == ["no", "yes", "no", "yes"], said.err
    assert all(float(row["ill=no"]) + float(row["ill=yes"]) == pytest.approx(1) for row in rows)
    assert "epsilon = 2" in said.err
    assert clinic("predict model.hubbub new.csv --json").json["rows"][1] == {"ill": "yes"}
    assert "Model card" in clinic("predict model.hubbub new.csv --card").out


def test_what_is_no_model_or_has_other_columns_is_refused(clinic: Shell) -> None:
    assert clinic("predict people.csv people.csv").code == 5
    rows = np.random.default_rng(1).uniform(0, 1, (50, 1))
    save(StandardScaler(epsilon=1, delta=1e-5, bounds=(0, 1)).fit(rows), clinic.folder / "scaler.hubbub")
    said = clinic("predict scaler.hubbub people.csv")
    assert said.code == 5 and "no model of a table" in said.err
    fitted(clinic, "--out", "model.hubbub")
    write(clinic.folder / "new.csv", [{"age": 5}])
    said = clinic("predict model.hubbub new.csv")
    assert said.code == 3 and "ward" in said.err


# ---------------------------------------------------------------- cards and bars


@pytest.mark.parametrize(
    ("ending", "check"),
    [
        ("md", lambda text: text.startswith("# Model card: ill") and "| age | number | 0 to 100 |" in text),
        ("json", lambda text: json.loads(text)["kind"] == "model-card"),
        ("txt", lambda text: "What it does not promise" in text),
    ],
)
def test_cards_are_written_as_their_name_says(clinic: Shell, ending: str, check: Callable[[str], bool]) -> None:
    assert fitted(clinic, "--model", "trees", "--card", f"card.{ending}").code == 0
    assert check((clinic.folder / f"card.{ending}").read_text())


def test_a_bar_is_shown_on_a_terminal_only(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    seen = Terminal()
    monkeypatch.setattr("sys.stderr", seen)
    with show_steps("training") as watch:
        watch.begin(3)
        for step in (1, 2, 3):
            watch(step)
    assert "training" in seen.getvalue() and "3/3" in seen.getvalue()
    quiet = io.StringIO()
    monkeypatch.setattr("sys.stderr", quiet)
    with show_steps("training") as watch:
        watch(1)
    assert quiet.getvalue() == ""
