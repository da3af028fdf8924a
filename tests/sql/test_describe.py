"""The public page of a dataset says what was declared, and where the data are stays unsaid."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from hubbub.schema.description import NULL_RULE, describe
from hubbub.schema.descriptor import complete, parse
from hubbub.schema.tables import Dataset, Kind

TEXT = """\
[dataset]
name = "hospital"
engine = "postgres"
source = "postgresql://hubbub:secret@db.example.org/hospital"
[declared]
by = "data board"
on = 2026-05-04
why = "report 2026"
[privacy]
unit = "patients.patient_id"
budget = { epsilon = 3, delta = 1e-6 }
ledger = "postgresql://hubbub:secret@db.example.org/ledger"
[tables.patients]
key = "patient_id"
[tables.visits]
unit = { patient_id = "patients.patient_id" }
max_rows_per_unit = 50
rows = 100000
why = "one row for each stay"
[tables.visits.columns]
ward = { values = ["a", "b", "c", "d", "e", "f<i>"], max_per_unit = 3 }
cost = { lower = 0, upper = 5000, step = 0.01, why = "the insurer pays no more" }
day = { lower = 2025-01-01, upper = 2025-12-31, step = 7 }
seen = { lower = 2025-01-01T00:00:00, upper = 2025-12-31T00:00:00, step = 0.5, max_rows_per_unit = 2 }
[tables.wards]
public = true
"""

SCHEMAS = {
    "patients": [("patient_id", Kind.INTEGER)],
    "visits": [
        ("patient_id", Kind.INTEGER),
        *((name, Kind.TEXT) for name in ("ward", "cost", "day", "seen", "no\x1bte")),
    ],
    "wards": [("ward", Kind.TEXT)],
}


@pytest.fixture
def hospital() -> Dataset:
    return complete(parse(TEXT), SCHEMAS)


def flat(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize(
    "told",
    [
        "Protected: everything about one person (patients.patient_id).",
        "is epsilon = 3, delta = 1e-06",
        "right at most about 95 out of 100 times",
        NULL_RULE,
        "patient_id is the person; at most 1",
        "patient_id refers to patients.patient_id; at most 50 of one person's rows count.",
        "No two rows share patient_id.",
        "about 100000 rows, says the owner",
        "Why: one row for each stay",
        "0 to 5000 0.01",
        "2025-01-01 to 2025-12-31 7 days",
        "2025-01-01T00:00:00 to 2025-12-31T00:00:00 0.5 s",
        "a, b, c, d, e, ... (6 in all) 3 values",
        "2 rows per value",
        "the insurer pays no more",
        "Public: nobody in this table is protected.",
        "by data board",
        "on 2026-05-04",
        "why report 2026",
    ],
)
def test_the_page_says_what_was_declared(hospital: Dataset, told: str) -> None:
    assert told in flat(describe(hospital).text(width=400))


def test_sources_and_passwords_are_not_shown(hospital: Dataset) -> None:
    page = describe(hospital)
    for shown in (page.text(), page.html(), json.dumps(page.to_json())):
        assert "secret" not in shown
        assert "example.org" not in shown


def test_text_html_and_json_come_from_one_object(hospital: Dataset) -> None:
    page = describe(hospital)
    told = json.loads(json.dumps(page.to_json()))
    assert told["unit"] == "patients.patient_id"
    assert told["tables"][1]["unit"] == {"column": "patient_id", "table": "patients", "key": "patient_id"}
    ward, cost = told["tables"][1]["columns"][1:3]
    assert ward["values"] == ["a", "b", "c", "d", "e", "f<i>"]
    assert (cost["type"], cost["lower"], cost["upper"], cost["step"]) == ("number", "0", "5000", "0.01")
    assert cost["why"] == "the insurer pays no more"
    assert "the insurer pays no more" in page.html()
    assert "<i>" not in page.html()


def test_names_cannot_rewrite_the_terminal(hospital: Dataset) -> None:
    assert "\x1b" not in describe(hospital).text()
    assert "no?te" in describe(hospital).text()


def test_rows_can_be_the_unit_and_a_budget_can_be_missing() -> None:
    text = '[dataset]\nname = "s"\n[privacy]\nunit = "row"\nbudget = { rho = 1 }\n[tables.t]\n'
    survey = complete(parse(text), {"t": [("x", Kind.INTEGER)]})
    assert "Each row is protected by itself." in describe(survey).text()
    assert "rho = 1" in describe(survey).text()
    assert "Toss a coin" not in describe(survey).text()
    assert describe(survey).to_json()["unit"] == "row"
    unfunded = replace(survey, budget=None)
    assert "nothing can be asked yet" in describe(unfunded).text()
    assert describe(unfunded).to_json()["budget"] is None
    assert "no cap" not in describe(survey).text()


def test_a_missing_cap_is_told(hospital: Dataset) -> None:
    uncapped = complete(parse(TEXT.replace("max_rows_per_unit = 50\n", "")), SCHEMAS)
    assert "no cap on one person's rows is declared" in flat(describe(uncapped).text())
    assert "no cap on one person's rows is declared" not in flat(describe(hospital).text())
