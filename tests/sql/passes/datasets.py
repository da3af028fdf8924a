"""The two datasets of the fixtures: a hospital whose unit is a person, and a survey whose unit is a row."""

from __future__ import annotations

from datetime import date
from fractions import Fraction

from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.terms import Budget

PERSON = "patients.patient_id"


def _days(day: date) -> Fraction:
    return Fraction((day - date(1970, 1, 1)).days)


def _cost(name: str, upper: int) -> Column:
    return Column(name=name, kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(upper), step=Fraction(1, 100))


PATIENTS = Table(
    name="patients",
    source="patients.parquet",
    columns=(
        Column(name="patient_id", kind=Kind.INTEGER),
        Column(name="birth_year", kind=Kind.INTEGER, lower=Fraction(1900), upper=Fraction(2025)),
        Column(name="sex", kind=Kind.TEXT, values=("f", "m")),
        Column(name="town", kind=Kind.TEXT, max_per_unit=1),
    ),
    link=PersonLink("patient_id"),
    key="patient_id",
    max_rows_per_unit=1,
)
VISITS = Table(
    name="visits",
    source="visits.parquet",
    columns=(
        Column(name="visit_id", kind=Kind.INTEGER),
        Column(name="patient_id", kind=Kind.INTEGER),
        Column(name="ward", kind=Kind.TEXT, values=("north", "south", "east")),
        _cost("cost", 5000),
        Column(name="day", kind=Kind.DATE, lower=_days(date(2025, 1, 1)), upper=_days(date(2025, 12, 31))),
        Column(name="diagnosis", kind=Kind.TEXT),
        Column(name="weight", kind=Kind.NUMBER),
        Column(name="urgent", kind=Kind.BOOLEAN),
    ),
    link=PersonLink("patient_id", "patients", "patient_id"),
    key="visit_id",
    max_rows_per_unit=50,
    rows=100_000,
)
STAYS = Table(
    name="stays",
    source="stays.parquet",
    columns=(
        Column(name="visit_id", kind=Kind.INTEGER),
        Column(name="nights", kind=Kind.INTEGER, lower=Fraction(0), upper=Fraction(30)),
        Column(name="arrived", kind=Kind.TIMESTAMP),
        Column(name="scan", kind=Kind.OPAQUE),
    ),
    link=PersonLink("visit_id", "visits", "visit_id"),
    max_rows_per_unit=20,
)
DRUGS = Table(
    name="drugs",
    source="drugs.parquet",
    columns=(
        Column(name="patient_id", kind=Kind.INTEGER),
        Column(name="drug", kind=Kind.TEXT, values=("aspirin", "insulin"), max_per_unit=2, max_rows_per_unit=3),
        Column(name="maker", kind=Kind.TEXT, max_per_unit=4),
        _cost("price", 100),
    ),
    link=PersonLink("patient_id"),
)
WARDS = Table(
    name="wards",
    source="wards.parquet",
    columns=(Column(name="ward", kind=Kind.TEXT), Column(name="floor", kind=Kind.INTEGER, values=(1, 2))),
    key="ward",
    public=True,
)
ANSWERS = Table(
    name="answers",
    source="answers.parquet",
    columns=(
        Column(name="age", kind=Kind.INTEGER, lower=Fraction(0), upper=Fraction(120)),
        Column(name="ward", kind=Kind.TEXT, values=("north", "south", "east")),
        Column(name="score", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(10), step=Fraction(1, 10)),
        Column(name="town", kind=Kind.TEXT),
    ),
)
BUDGET = Budget(3, 1e-6)
HOSPITAL = Dataset(
    name="hospital", population="patients", unit=PERSON, budget=BUDGET, tables=(PATIENTS, VISITS, STAYS, DRUGS, WARDS)
)
SURVEY = Dataset(name="survey", population="answers", unit="", budget=BUDGET, tables=(ANSWERS, WARDS))
DATASETS = {"hospital": HOSPITAL, "survey": SURVEY}
