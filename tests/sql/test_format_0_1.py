"""What SQL of version 0.1 wrote: descriptor, stored answers, prepared copies. The fixtures are never edited."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from hubbub.ledger import Ledger
from hubbub.releases import Release
from hubbub.sql import Connection, connect, quote
from hubbub.sql.prepare_copy import prepare
from hubbub.terms import Budget, BudgetConflict, RequestChanged, SourceUnavailable, from_json

from ..frozen import FrozenAnswers, by_rho_alone

FIXTURES = Path(__file__).parents[1] / "fixtures"
FOLDER = FIXTURES / "sql" / "format-1"
EXPECTED = json.loads((FOLDER / "ledger.json").read_text())
QUESTIONS = json.loads((FOLDER / "questions.json").read_text())
RELEASES = FIXTURES / "releases" / "format-1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The data, the descriptor and the ledger of 0.1, in a place of its own."""
    place = tmp_path_factory.mktemp("hospital")
    for name in ("hospital.toml", "patients.csv", "visits.csv", "wards.csv"):
        shutil.copy(FOLDER / name, place / name)
    shutil.copytree(FOLDER / "state", place / "state")  # key and anchors
    (place / "ledger.db").write_bytes(gzip.decompress((FOLDER / "ledger.db.gz").read_bytes()))
    return place


@pytest.fixture(scope="module")
def ledger(folder: Path) -> Iterator[Ledger]:
    """The ledger of 0.1."""
    with Ledger(folder / "ledger.db", state=folder / "state", create=False) as opened:
        yield opened


@pytest.fixture(scope="module")
def book(folder: Path) -> Iterator[FrozenAnswers]:
    """A ledger of today that stores what 0.1 had stored."""
    with FrozenAnswers(folder / "new.db", state=folder / "new") as opened:
        yield opened


@pytest.fixture(scope="module")
def db(folder: Path, book: FrozenAnswers) -> Iterator[Connection]:
    """The data of 0.1, declared by its descriptor."""
    with connect(folder / "hospital.toml", ledger=book, analyst="ann", project="study") as connection:
        yield connection


def test_the_ledger_verifies_and_says_what_it_said(ledger: Ledger) -> None:
    checked = ledger.verify().to_json()
    assert {name: checked[name] for name in EXPECTED["verification"]} == EXPECTED["verification"]
    assert by_rho_alone(ledger.budget("hospital-patients").to_json()) == EXPECTED["budget"]
    assert ledger.public_key == EXPECTED["public_key"]


@pytest.mark.parametrize("name", sorted(EXPECTED["stored"]))
def test_an_answer_is_read_by_its_receipt(name: str, ledger: Ledger) -> None:
    stored = EXPECTED["stored"][name]
    receipt = from_json(stored["receipt"])
    assert ledger.behind(receipt) == (stored["charge"], stored["answer"])
    with pytest.raises(RequestChanged):
        ledger.behind(replace(receipt, head="0" * 64))


def test_the_descriptor_declares_what_it_declared(db: Connection) -> None:
    assert db.describe().to_json() == json.loads((FOLDER / "described.json").read_text())


def test_keys_that_0_1_chose_are_read_by_receipt_and_as_a_release(ledger: Ledger) -> None:
    """Keys are chosen otherwise today (CHANGELOG), so no question of today has the stored answer."""
    stored = EXPECTED["stored"]["unknown"]
    charge, answer = ledger.behind(from_json(stored["receipt"]))
    keys = [key for (key,) in json.loads(answer)["parts"][0]["keys"]]
    before = read_release("unknown")
    assert charge == stored["charge"]
    assert [row[0] for row in before] == keys
    assert all(low <= n <= high for n, low, high in zip(before["n"].values, *before["n"].interval(), strict=True))


@pytest.mark.parametrize("name", sorted(QUESTIONS.keys() - {"unknown"}))
def test_a_stored_answer_makes_the_same_release(
    name: str, db: Connection, book: FrozenAnswers, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The text that a ledger of 0.1 holds, stored in one of today, is shown with the same numbers and keys.

    Its totals were sums of the finest groups, as they still are where that is better.
    """
    monkeypatch.setattr(quote, "measure_levels", lambda plan, neighbours, *, gaussian: None)
    book.answer = EXPECTED["stored"][name]["answer"]
    price = QUESTIONS[name]["price"]
    if "epsilon" in price:
        price = {"delta": 1e-6} | price  # a hundredth of the budget's, where none was stated
    release = db.sql(QUESTIONS[name]["sql"], **price, noise="gaussian")  # a budget with delta knew no other
    before = read_release(name)
    assert (release.keys, release.columns_names) == (before.keys, before.columns_names)
    assert release.measures == before.measures
    assert list(release) == list(before)
    assert release.guarantee == before.guarantee


def test_a_stored_workload_and_suggestion_mean_the_same(db: Connection, book: FrozenAnswers) -> None:
    book.answer = EXPECTED["stored"]["workload"]["answer"]
    queries = [
        "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward",
        "SELECT COUNT(*) AS n FROM visits WHERE urgent",
    ]
    made = db.workload(queries, epsilon=1, delta=1e-7, noise="gaussian", names=["by ward", "urgent"])
    assert [list(each) for each in made] == [list(read_release(f"workload-{i}")) for i in range(2)]
    book.answer = EXPECTED["stored"]["suggestion"]["answer"]
    suggestion = db.suggest_bounds("patients", columns=["born"], epsilon=0.5, delta=1e-7, noise="gaussian").to_json()
    assert {**suggestion, "receipt": None} == {**EXPECTED["suggestion"], "receipt": None}


def test_asking_again_pays_once_more_and_the_old_answer_stays(folder: Path, tmp_path: Path) -> None:
    """Fingerprints changed once, on purpose (CHANGELOG): what was paid to 0.1 is read by receipt, and not repeated."""
    shutil.copy(folder / "ledger.db", tmp_path / "ledger.db")
    shutil.copytree(FOLDER / "state", tmp_path / "state")
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state", create=False) as book:
        with connect(folder / "hospital.toml", ledger=book, analyst="ann", project="study") as db:
            again = db.sql(QUESTIONS["within"]["sql"], **QUESTIONS["within"]["price"])
            with pytest.raises(BudgetConflict, match="same question"):
                db.remeasure(read_release("counts"), epsilon=2, delta=1e-7)
        stored = EXPECTED["stored"]["within"]
        assert not again.repeated
        assert book.behind(from_json(stored["receipt"])) == (stored["charge"], stored["answer"])


def test_a_prepared_copy_of_0_1_is_refused(tmp_path: Path) -> None:
    """It carries no digest of itself (CHANGELOG): the table it was made of is still read, and prepared again."""
    given = {"unit": "patient_id", "budget": Budget(3, 1e-6)}
    with pytest.raises(SourceUnavailable, match="earlier version"):
        connect(FOLDER / "prepared.parquet", ledger=tmp_path / "a.db", **given)
    assert not (tmp_path / "a.db").exists()
    prepare(FOLDER / "visits.parquet", unit="patient_id", out=tmp_path / "visits.parquet")
    with (
        Ledger(tmp_path / "b.db", state=tmp_path / "state") as book,
        connect(tmp_path / "visits.parquet", ledger=book, **given) as db,
    ):
        assert db.dataset.tables[0].prepared


def read_release(name: str) -> Release:
    """A release of 0.1."""
    return Release.from_json(json.loads((RELEASES / f"{name}.json").read_text()))
