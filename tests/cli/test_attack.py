"""``hubbub attack``: what leaks from exact and k-anonymous faces, and does not from private ones."""

from __future__ import annotations

import datetime
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import csv, parquet

from hubbub.schema.tables import Column, Kind
from hubbub.studies.redteam import attempts, example
from hubbub.studies.redteam.target import _choose_value

from ._shell import Shell


@pytest.fixture(scope="session")
def report(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[str, Any], str]:
    """The made-up clinic, attacked by the real command: its JSON and its page."""
    page = tmp_path_factory.mktemp("attack") / "report.html"
    ended = subprocess.run(
        [sys.executable, "-m", "hubbub.cli", "attack", "--json", "--html", str(page)],
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(ended.stdout), page.read_text(encoding="utf-8")


def outcomes(report: dict[str, Any], face: str) -> dict[str, str]:
    return {each["attack"]: each["outcome"] for each in report["attempts"] if each["face"] == face}


def test_exact_answers_and_tables_without_names_fall_to_every_attack(report: tuple[dict[str, Any], str]) -> None:
    assert outcomes(report[0], attempts.DEIDENTIFIED) == {"Uniqueness": "succeeded", "Linkage": "succeeded"}
    assert outcomes(report[0], attempts.EXACT) == dict.fromkeys(
        ("Differencing", "Reconstruction", "Asking again", "Membership"), "succeeded"
    )


def test_k_anonymity_stops_linkage_and_nothing_else(report: tuple[dict[str, Any], str]) -> None:
    assert outcomes(report[0], attempts.GROUPED) == {
        "Linkage": "failed",
        "Homogeneity": "succeeded",
        "Background knowledge": "succeeded",
    }


def test_private_answers_give_nothing_away(report: tuple[dict[str, Any], str]) -> None:
    told = outcomes(report[0], attempts.PRIVATE)
    assert set(told.values()) == {"failed"} and len(told) == 4
    [bits] = [a for a in report[0]["attempts"] if a["attack"] == "Reconstruction" and a["face"] == attempts.PRIVATE]
    assert bits["found"]["numbers"]["right"] < 0.731  # e / (1 + e), and far above one half with such luck as 1 in 10^6


def test_page_stands_alone_and_shows_every_attack(report: tuple[dict[str, Any], str]) -> None:
    page = report[1]
    assert page.count("<svg") >= 13
    assert "http://" not in page.replace("http://www.w3.org", "") and "<script" not in page
    for attempt in report[0]["attempts"]:
        assert f"{attempt['attack'].split()[0]}" in page


@pytest.fixture
def shell(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Shell:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(attempts, "MOST_PEOPLE", 30)
    monkeypatch.setattr(attempts, "REPEATS", 5)
    parquet.write_table(pa.Table.from_pylist(example.invent_patients()[:60]), tmp_path / "patients.parquet")
    (tmp_path / "clinic.toml").write_text(DESCRIPTOR)
    return Shell(tmp_path, capsys)


DESCRIPTOR = """
[dataset]
name = "clinic"
[privacy]
population = "patients"
unit = "patients.patient"
budget = { epsilon = 100, delta = 1e-6 }
[tables.patients]
source = "patients.parquet"
key = "patient"
unit = "patient"
max_rows_per_unit = 1
[tables.patients.columns]
diagnosis = { values = ["flu", "injury", "asthma", "diabetes", "legionnaires"] }
"""


def test_a_large_epsilon_protects_nobody_and_the_report_says_so(shell: Shell) -> None:
    said = shell("attack clinic.toml --known age,district --secret diagnosis=flu --json")
    assert said.code == 0, said.err
    told = outcomes(said.json, attempts.PRIVATE)
    assert told["Differencing"] == told["Reconstruction"] == "succeeded"
    assert told["Membership"] == "does not apply"
    assert not (shell.folder / "patients.ledger.db").exists()  # nobody's budget was touched


TYPED = (
    DESCRIPTOR
    + """
age = { lower = 0, upper = 120, step = 1 }
gender = { values = ["f", "m"] }
insured = { type = "boolean" }
born = { type = "date", lower = 1900-01-01, upper = 2025-12-31 }
weight = { lower = 0.0, upper = 300.0, step = 0.1, type = "number" }
"""
)


def test_the_same_attacks_apply_to_a_csv_file_and_to_a_parquet_file(shell: Shell) -> None:
    people = [
        {**person, "insured": i % 2 == 0, "born": datetime.date(1950 + i, 1, 2), "weight": 50.5 + i}
        for i, person in enumerate(example.invent_patients()[:60])
    ]
    told = []
    for file in ("patients.parquet", "patients.csv"):
        table = pa.Table.from_pylist(people)
        if file.endswith("csv"):
            csv.write_csv(table, shell.folder / file)
            with (shell.folder / file).open("a") as lines:  # what is no number is no number in any answer
                lines.write('"9999","old","x","f","north","0","Alba","flu","maybe","long ago","heavy"\n')
        else:
            parquet.write_table(table, shell.folder / file)
        (shell.folder / "clinic.toml").write_text(TYPED.replace("patients.parquet", file))
        said = shell("attack clinic.toml --known age,gender,insured,born,weight --secret diagnosis=flu --json")
        assert said.code == 0, said.err
        told.append({(each["attack"], each["face"]): each["outcome"] for each in said.json["attempts"]})
    assert told[0] == told[1]
    assert told[1]["Differencing", attempts.PRIVATE] == told[1]["Differencing", attempts.EXACT] == "succeeded"


def test_a_smaller_budget_can_be_tried_on_the_same_descriptor(shell: Shell) -> None:
    said = shell("attack clinic.toml --known age,district --secret diagnosis=flu --budget 0.1 --json")
    assert said.code == 0, said.err
    assert outcomes(said.json, attempts.PRIVATE)["Differencing"] == "failed"


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ("--table nowhere", "no private table 'nowhere'"),
        ("--secret age", "'age' is no column with declared values"),
        ("--secret diagnosis=gout", "'gout' is no declared value"),
        ("--known shoe", "lacks one of the columns"),
    ],
)
def test_what_cannot_be_attacked_is_refused(shell: Shell, options: str, told: str) -> None:
    said = shell(f"attack clinic.toml {options}")
    assert said.code == 2
    assert told in said.err and "P911" in said.err


def test_a_table_without_people_is_refused(shell: Shell) -> None:
    table = parquet.read_table(shell.folder / "patients.parquet")
    parquet.write_table(table.slice(0, 0), shell.folder / "patients.parquet")
    said = shell("attack clinic.toml")
    assert said.code == 2
    assert "there is nobody in 'patients'" in said.err and "P911" in said.err


def test_bits_are_not_reconstructed_from_counts_of_several_rows(shell: Shell) -> None:
    table = parquet.read_table(shell.folder / "patients.parquet")
    parquet.write_table(pa.concat_tables([table, table]), shell.folder / "patients.parquet")
    several = DESCRIPTOR.replace('key = "patient"\n', "").replace("max_rows_per_unit = 1", "max_rows_per_unit = 2")
    (shell.folder / "clinic.toml").write_text(several)
    said = shell("attack clinic.toml --known age,district --json")
    assert said.code == 0, said.err
    assert outcomes(said.json, attempts.EXACT)["Reconstruction"] == "does not apply"
    assert outcomes(said.json, attempts.PRIVATE)["Reconstruction"] == "does not apply"


def test_a_secret_may_be_spelled_as_descriptors_spell_it() -> None:
    column = Column(name="smoker", kind=Kind.BOOLEAN, values=(True, False))
    assert [_choose_value(column, text).value for text in ("true", "True", "false")] == [True, True, False]


def test_too_large_a_k_is_reported_and_the_rest_goes_on(shell: Shell) -> None:
    said = shell("attack clinic.toml --known age,district --k 1000 --json")
    assert said.code == 0, said.err
    assert set(outcomes(said.json, attempts.GROUPED).values()) == {"does not apply"}
    assert "k=1000" in said.json["attempts"][2]["reason"]
