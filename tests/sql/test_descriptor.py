"""The descriptor is read exactly, and whatever is wrong in it is refused with its place."""

from __future__ import annotations

import re
import tomllib
from datetime import UTC, date, datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.schema import descriptor, toml_positions
from hubbub.schema.descriptor import complete, parse, read
from hubbub.schema.source_files import InDatabase
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink
from hubbub.terms import BadDescriptor, Budget, Neighbours

HOSPITAL = """\
[dataset]
name = "hospital"
engine = "duckdb"                 # duckdb | postgres | spark; source is a file, folder, URL or DSN
[privacy]
population = "hospital-patients"  # whose budget this is: descriptors that name one population share its budget
unit = "patients.patient_id"      # who is protected
neighbours = "add-remove"
budget = { epsilon = 3.0, delta = 1e-6 }
[tables.patients]
source = "patients.parquet"
key = "patient_id"
[tables.visits]
source = "visits.parquet"
unit = { patient_id = "patients.patient_id" }     # the path from a row to a person
max_rows_per_unit = 50
[tables.visits.columns]
ward = { values = ["north", "south", "east"] }    # public keys
cost = { lower = 0, upper = 5000, step = 0.01 }
day  = { type = "date", lower = 2025-01-01, upper = 2025-12-31 }
[tables.wards]
public = true
"""

SCHEMAS = {
    "patients": [("patient_id", Kind.INTEGER), ("born", Kind.DATE)],
    "visits": [
        ("patient_id", Kind.INTEGER),
        ("ward", Kind.TEXT),
        ("cost", Kind.NUMBER),
        ("day", Kind.DATE),
        ("scan", Kind.OPAQUE),
    ],
    "wards": [("ward", Kind.TEXT)],
}

SURVEY = """\
[dataset]
name = "survey"
[privacy]
unit = "row"
budget = { epsilon = 1 }
[tables.answers.columns]
"""


def hospital(old: str = "", new: str = "") -> Dataset:
    assert old in HOSPITAL
    return complete(parse(HOSPITAL.replace(old, new, 1), name="hospital.toml"), SCHEMAS)


def column(line: str, arrived: Kind = Kind.TEXT) -> Column:
    """The column x of a survey in which it is declared so."""
    return complete(parse(f"{SURVEY}x = {{ {line} }}\n"), {"answers": [("x", arrived)]}).tables[0].columns[0]


def table_of(dataset: Dataset, name: str) -> descriptor.Table:
    found = dataset.table(name)
    assert found is not None
    return found


# ---------------------------------------------------------------- what is read


def test_the_example_of_the_design_is_read_as_it_stands() -> None:
    dataset = hospital()
    assert (dataset.name, dataset.engine, dataset.version) == ("hospital", "duckdb", "1")
    assert (dataset.population, dataset.unit) == ("hospital-patients", "patients.patient_id")
    assert dataset.neighbours is Neighbours.ADD_REMOVE
    assert dataset.budget == Budget(3, Fraction(1, 10**6))
    visits = table_of(dataset, "visits")
    assert visits.link == PersonLink("patient_id", "patients", "patient_id")
    assert visits.max_rows_per_unit == 50
    assert visits.columns[1:4] == (
        Column(name="ward", kind=Kind.TEXT, values=("north", "south", "east")),
        Column(name="cost", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(5000), step=Fraction(1, 100)),
        Column(name="day", kind=Kind.DATE, lower=Fraction(20089), upper=Fraction(20453)),
    )


def test_the_table_of_the_people_has_one_row_for_each() -> None:
    patients = table_of(hospital(), "patients")
    assert patients.link == PersonLink("patient_id")
    assert patients.max_rows_per_unit == 1


def test_without_the_key_nobody_knows_how_many_rows_a_person_has() -> None:
    assert table_of(hospital('key = "patient_id"\n', ""), "patients").max_rows_per_unit is None


def test_a_cap_may_be_left_out() -> None:
    assert table_of(hospital("max_rows_per_unit = 50\n", ""), "visits").max_rows_per_unit is None


def test_a_public_table_has_no_link() -> None:
    wards = table_of(hospital(), "wards")
    assert wards.public
    assert wards.link is None


def test_numbers_are_the_decimals_that_were_typed() -> None:
    told = column("lower = 0.1, upper = 0.7, step = 0.1")
    assert (told.lower, told.upper, told.step) == (Fraction(1, 10), Fraction(7, 10), Fraction(1, 10))


def test_a_ratio_stands_in_quotes() -> None:
    assert column('lower = 0, upper = 1, step = "1/3"').step == Fraction(1, 3)


def test_people_can_be_told_apart_without_a_table_of_people() -> None:
    text = HOSPITAL.replace('"patients.patient_id"      #', '"visits.patient_id"  #')
    text = text.replace('unit = { patient_id = "patients.patient_id" }', "")
    text = text.replace('key = "patient_id"', 'unit = "patient_id"\nkey = "patient_id"')
    dataset = complete(parse(text), SCHEMAS)
    assert table_of(dataset, "visits").link == PersonLink("patient_id")
    assert table_of(dataset, "visits").max_rows_per_unit == 50
    assert table_of(dataset, "patients").link == PersonLink("patient_id")
    assert table_of(dataset, "patients").max_rows_per_unit == 1


def test_a_way_to_the_person_can_have_several_steps() -> None:
    drugs = '[tables.drugs]\nunit = { visit = "visits.visit" }\n'
    text = HOSPITAL.replace('source = "visits.parquet"', 'key = "VISIT"') + drugs
    schemas = {**SCHEMAS, "visits": [*SCHEMAS["visits"], ("Visit", Kind.INTEGER)], "drugs": [("visit", Kind.INTEGER)]}
    dataset = complete(parse(text), schemas)
    assert table_of(dataset, "drugs").link == PersonLink("visit", "visits", "Visit")
    assert table_of(dataset, "drugs").max_rows_per_unit is None
    assert table_of(dataset, "visits").key == "Visit"


def test_names_take_the_spelling_of_the_source() -> None:
    schemas = {**SCHEMAS, "patients": [("Patient_ID", Kind.INTEGER)]}
    dataset = complete(parse(HOSPITAL), schemas)
    assert dataset.unit == "patients.Patient_ID"
    assert table_of(dataset, "visits").link == PersonLink("patient_id", "patients", "Patient_ID")


def test_reasons_and_who_declared_it_are_kept() -> None:
    text = SURVEY + 'x = { lower = 0, upper = 9, why = """\nthe scale\n  of the form""" }\n'
    declared = parse(text + '[declared]\nby = "data board"\non = 2026-05-04\n')
    assert declared.facts == {"by": "data board", "on": "2026-05-04"}
    assert declared.tables[0].columns[0].why == "the scale of the form"


def test_each_row_can_be_protected_by_itself() -> None:
    dataset = complete(parse(SURVEY), {"answers": []})
    assert dataset.unit == ""
    assert dataset.tables[0].link is None
    assert dataset.tables[0].max_rows_per_unit is None


def test_what_is_not_said_has_the_defaults_of_the_guide() -> None:
    declared = parse(SURVEY)
    assert (declared.engine, declared.version, declared.population) == ("duckdb", "1", "survey")
    assert (declared.neighbours, declared.ledger, declared.tables[0].source) == (Neighbours.ADD_REMOVE, "", "")


@pytest.mark.parametrize(
    ("line", "kind"),
    [
        ("lower = 0, upper = 9", Kind.NUMBER),
        ("lower = 0, upper = 9, step = 1", Kind.INTEGER),
        ("lower = 0, upper = 9, step = 0.5", Kind.NUMBER),
        ("lower = 0.5, upper = 9, step = 0.5", Kind.NUMBER),
        ("lower = 2025-01-01, upper = 2025-01-02", Kind.DATE),
        ("lower = 2025-01-01T00:00:00, upper = 2025-01-02T00:00:00", Kind.TIMESTAMP),
        ("values = [1, 2]", Kind.INTEGER),
        ("values = [1, 0.5]", Kind.NUMBER),
        ("values = [1.0, 2]", Kind.INTEGER),
        ("values = [true, false]", Kind.BOOLEAN),
        ('values = ["1", "2"]', Kind.TEXT),
        ("values = [2025-01-01]", Kind.DATE),
        ("values = [2025-01-01 10:00:00]", Kind.TIMESTAMP),
        ("values = [2, 4], lower = 0, upper = 9", Kind.INTEGER),
        ("step = 0.5", Kind.NUMBER),
        ("max_per_unit = 3", Kind.TEXT),
        ('type = "integer", lower = 0.5, upper = 9', Kind.INTEGER),
        ('type = "number", values = [1, 2]', Kind.NUMBER),
        ('type = "opaque"', Kind.OPAQUE),
    ],
)
def test_text_becomes_what_was_declared_of_it(line: str, kind: Kind) -> None:
    assert column(line).kind is kind


@pytest.mark.parametrize("arrived", [kind for kind in Kind if kind is not Kind.OPAQUE])
def test_what_is_declared_wins_over_the_source(arrived: Kind) -> None:
    assert column('type = "number"', arrived=arrived).kind is Kind.NUMBER
    assert column("lower = 0, upper = 9, step = 1", arrived=arrived).kind is Kind.INTEGER
    assert column("lower = 0, upper = 9", arrived=arrived).kind is Kind.NUMBER
    assert column("values = [true]", arrived=arrived).kind is Kind.BOOLEAN
    assert column("lower = 2025-01-01, upper = 2025-12-31", arrived=arrived).kind is Kind.DATE


def test_without_a_declaration_all_numbers_are_of_one_type() -> None:
    assert column("max_per_unit = 1", arrived=Kind.INTEGER).kind is Kind.NUMBER
    assert column("max_per_unit = 1", arrived=Kind.DATE).kind is Kind.DATE


def test_nothing_can_be_declared_of_what_no_question_can_speak_of() -> None:
    with pytest.raises(BadDescriptor, match=r"x is of type opaque, and lower says number\."):
        column("lower = 0, upper = 9", arrived=Kind.OPAQUE)


def test_times_count_in_microseconds_and_zones_in() -> None:
    told = column("lower = 1970-01-01T00:00:01Z, upper = 1970-01-01T02:00:02+02:00, step = 0.5")
    assert (told.lower, told.upper, told.step) == (Fraction(10**6), Fraction(2 * 10**6), Fraction(500_000))
    assert column("values = [2025-01-01T00:00:00Z]").values == (datetime(2025, 1, 1, tzinfo=UTC),)


@given(st.dates() | st.datetimes())
def test_a_bound_in_units_of_the_schema_is_typed_again(bound: date) -> None:
    kind = Kind.TIMESTAMP if isinstance(bound, datetime) else Kind.DATE
    assert descriptor.typed_bound(descriptor.bound_units(bound), kind) == bound


# ---------------------------------------------------------------- files and sources


def test_paths_start_from_the_folder_of_the_descriptor(tmp_path: Path) -> None:
    file = tmp_path / "hospital.toml"
    text = HOSPITAL.replace('"visits.parquet"', '"https://example.org/visits.parquet"')
    file.write_text(text.replace("[privacy]", '[privacy]\nledger = "book.db"'), encoding="utf-8-sig", newline="\r\n")
    declared = read(file)
    assert declared.tables[0].source == str(tmp_path / "patients.parquet")
    assert declared.tables[1].source == "https://example.org/visits.parquet"
    assert declared.tables[2].source == ""
    assert declared.ledger == str(tmp_path / "book.db")


def test_tables_without_a_source_live_in_the_database(tmp_path: Path) -> None:
    text = HOSPITAL.replace("[privacy]", 'source = "hospital.duckdb"\n[privacy]')
    tables = parse(text, folder=tmp_path).tables
    assert tables[0].source == str(tmp_path / "patients.parquet")
    assert tables[2].source == InDatabase(str(tmp_path / "hospital.duckdb"), "wards")


def test_tables_of_a_server_have_names_there(tmp_path: Path) -> None:
    text = HOSPITAL.replace('"duckdb" ', '"postgres"\nsource = "host=db dbname=x" ').replace(
        "visits.parquet", "app.visits"
    )
    tables = parse(text, folder=tmp_path).tables
    assert tables[1].source == InDatabase("host=db dbname=x", "app.visits")
    assert tables[2].source == InDatabase("host=db dbname=x", "wards")


def test_a_missing_file_is_refused_by_its_name(tmp_path: Path) -> None:
    with pytest.raises(BadDescriptor, match=r"the descriptor 'none\.toml' cannot be opened\."):
        read(tmp_path / "none.toml")


def test_a_file_that_is_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadDescriptor, match="is not UTF-8 text"):
        read(tmp_path / "x.toml")


# ---------------------------------------------------------------- what is refused, and where

REFUSED = [  # what is replaced in the example; what the message says; what is underlined
    ("upper = 5000", "upper = -1", "upper must be above lower", "-1"),
    ("upper = 5000", "upper = 0", "upper must be above lower", "0"),
    ("upper = 5000, ", "", "has a bound 'lower' and none 'upper'", "0"),
    ("lower = 0, ", "", "has a bound 'upper' and none 'lower'", "5000"),
    ("upper = 5000", "upper = 2025-01-01", "are of different kinds", "2025-01-01"),
    ("upper = 5000", 'upper = "5000"', "upper must be a number", '"5000"'),
    ("upper = 5000", "upper = true", "upper must be a number", "true"),
    ("upper = 5000", "upper = 10:30:00", "upper must be a number", "10:30:00"),
    ("upper = 5000", "upper = inf", "upper must be finite", "inf"),
    ("upper = 5000", "upper = 1e9999", "more than 5000 digits", "1e9999"),
    ("upper = 5000", "uper = 5000", "Did you mean 'upper'?", "uper"),
    ("step = 0.01", "step = 0", "step must be above 0", "0"),
    ("step = 0.01", "step = -0.01", "step must be above 0", "-0.01"),
    ("step = 0.01", "step = 0.03", "no whole number of steps", "0.03"),
    ("step = 0.01", "step = 10000", "no whole number of steps", "10000"),
    ("upper = 2025-12-31", "upper = 2025-12-31, step = 0.5", "finer than its type", "0.5"),
    ("upper = 2025-12-31", "upper = 2025-12-31, step = 1000", "no whole number of steps", "1000"),
    ('"north", "south", "east"', "", "at least one key", "[]"),
    ('["north", "south", "east"]', '"north"', "at least one key", '"north"'),
    ('"east"', '"north"', "stands in the list twice", '"north"'),
    ('"east"', "3", "of another kind than the first", "3"),
    ('"east"', "[3]", "this is no key", "[3]"),
    ('"north", "south", "east"', "1, true", "of another kind than the first", "true"),
    ('"north", "south", "east"', "1.00000000000000000001", "this is no key", "1.00000000000000000001"),
    ('"north", "south", "east"', "nan", "this is no key", "nan"),
    ('values = ["north"', 'lower = 0, upper = 1, values = ["north"', "lies outside its bounds", '"north"'),
    ('"north", "south", "east"]', "1, 2], lower = 0, upper = 1", "lies outside its bounds", "2"),
    ('type = "date"', 'type = "dates"', "Did you mean 'date'?", '"dates"'),
    ('type = "date"', 'type = "text"', "day is of type text, and lower says date", "2025-01-01"),
    ('{ values = ["north"', '{ type = "opaque", values = ["north"', "is of type opaque", '["north", "south", "east"]'),
    ("day  =", "DAY = { step = 1 }\nday  =", "is declared twice", "day"),
    ("day  =", "days =", "visits has no column 'days'. Did you mean 'day'?", "days"),
    ("neighbours", "neighbors", "privacy has no key 'neighbors'. Did you mean 'neighbours'?", "neighbors"),
    ('"add-remove"', '"add"', "neighbours must be one of", '"add"'),
    ('"duckdb"', '"duck"', "Did you mean 'duckdb'?", '"duck"'),
    ("[privacy]", "[privcy]", "the descriptor has no key 'privcy'. Did you mean 'privacy'?", "privcy"),
    ('"patients.patient_id"', '""', "a column of a table is written as table.column", '""'),
    ('"patients.patient_id"', '"patients."', "a column of a table is written as table.column", '"patients."'),
    ('"hospital-patients"', '"/patients"', "the name of a population starts with", '"/patients"'),
    ('"hospital-patients"', "7", "population must be one line of text", "7"),
    ('name = "hospital"', 'name = ""', "the name of a dataset starts with", '""'),
    ('name = "hospital"\n', "", "dataset.name is missing", "dataset"),
    ('name = "hospital"', 'name = "hospital"\nversion = 2', "version must be one line of text", "2"),
    ("budget =", "# budget =", "privacy.budget is missing", "privacy"),
    ("{ epsilon = 3.0, delta = 1e-6 }", "3", "budget must be a table", "3"),
    ("epsilon = 3.0, ", "", "given by epsilon or by rho", "{ delta = 1e-6 }"),
    ("delta = 1e-6", "rho = 1", "given by epsilon or by rho", "{ epsilon = 3.0, rho = 1 }"),
    ("epsilon = 3.0", "epsilon = 0", "epsilon must be above 0", "0"),
    ("delta = 1e-6", "delta = 1", "delta must lie in [0, 1)", "1"),
    ("delta = 1e-6", "delat = 1", "Did you mean 'delta'?", "delat"),
    ('unit = "patients.patient_id"', "", "privacy.unit is missing", "privacy"),
    ('"patients.patient_id" ', '"patient.patient_id" ', "Did you mean 'patients'?", '"patient.patient_id"'),
    ('"patients.patient_id" ', '"patients" ', "is written as table.column", '"patients"'),
    ('"patients.patient_id" ', '"patients.id" ', "patients has no column 'id'", '"patients.id"'),
    ('"patients.patient_id" ', '"wards.ward" ', "wards is public, and the unit is a column of it", '"wards.ward"'),
    ('"patients.patient_id" ', '"row" ', "whose unit is the row, so unit has no meaning here", "unit"),
    ('= "patients.patient_id" }', '= "patient.patient_id" }', "there is no table 'patient'", '"patient.patient_id"'),
    ('= "patients.patient_id" }', '= "patients.born" }', "has another key than 'born'", '"patients.born"'),
    ('= "patients.patient_id" }', '= "wards.ward" }', "is public and leads to nobody", '"wards.ward"'),
    ('= "patients.patient_id" }', "= 7 }", "patient_id must be one line of text", "7"),
    ('{ patient_id = "patients.patient_id" }', "{}", "one column, or one column and what it refers to", "{}"),
    ('{ patient_id = "patients.patient_id" }', "7", "one column, or one column and what it refers to", "7"),
    ('{ patient_id = "patients.patient_id" }', '"who"', "visits has no column 'who'", '"who"'),
    ('key = "patient_id"', 'key = "id"', "patients has no column 'id'", '"id"'),
    ('key = "patient_id"', 'unit = "born"', "the unit is patients.patient_id itself", '"born"'),
    ('key = "patient_id"', 'key = "patient_id"\nmax_rows_per_unit = 2', "so a person has one row", "2"),
    ("public = true", "", "from a row of wards no way leads to the person", "tables.wards"),
    ("public = true", "public = 1", "public must be true or false", "1"),
    ("public = true", 'public = true\nunit = "ward"', "is public, so unit has no meaning here", "unit"),
    ("public = true", "public = true\nmax_rows_per_unit = 3", "max_rows_per_unit has no meaning", "max_rows_per_unit"),
    ("[tables.wards]", "[tables.Visits]", "differs from the others in more than case", "tables.Visits"),
    ("[tables.wards]", '[tables."a.b"]', "has no dot", 'tables."a.b"'),
    ("[tables.wards]", "[tables.rooms]", "table rooms was not found at its source", "tables.rooms"),
    ("max_rows_per_unit = 50", "max_rows_per_unit = 0", "a whole number of at least 1", "0"),
    ("max_rows_per_unit = 50", "max_rows_per_unit = 1.5", "a whole number of at least 1", "1.5"),
    ("max_rows_per_unit = 50", "max_rows_per_unti = 50", "Did you mean 'max_rows_per_unit'?", "max_rows_per_unti"),
    ("max_rows_per_unit = 50", 'why = "a\\u001bb"', "why must be one line of text", '"a\\u001bb"'),
    ("delta = 1e-6", "delta = ?", "a blank is not filled in yet", "?"),
    ("public = true", "public = yes", "this is not TOML: invalid value", "y"),
    ("public = true", "public = true\npublic = true", "this is not TOML: cannot overwrite a value", None),
    ("public = true", 'why = """', "this is not TOML: unterminated string", None),
    ("upper = 5000", "upper = 1e99999999999999999999", "too many digits", None),
    ("upper = 5000", f"upper = {'9' * 5000}", "too many digits", None),
]


@pytest.mark.parametrize(("old", "new", "told", "marked"), REFUSED)
def test_what_is_wrong_is_told_with_its_place(old: str, new: str, told: str, marked: str | None) -> None:
    with pytest.raises(BadDescriptor) as caught:
        hospital(old, new)
    assert told in caught.value.what
    if marked is not None:
        assert underlined(caught.value) == marked


def underlined(error: BadDescriptor) -> str:
    """What stands over the marks."""
    *_, line, marks = error.what.split("\n")
    return line[marks.index("^") : len(marks)]


def test_a_message_names_file_line_and_column() -> None:
    with pytest.raises(BadDescriptor) as caught:
        hospital("upper = 5000", "upper = -1")
    assert caught.value.what.split("\n") == [
        "upper must be above lower, and of cost it is not. At hospital.toml:18:29:",
        "    cost = { lower = 0, upper = -1, step = 0.01 }",
        "                                ^^",
    ]


def test_opaque_columns_take_no_bounds() -> None:
    with pytest.raises(BadDescriptor, match=r"scan is of type opaque, and lower says date\.") as caught:
        hospital('day  = { type = "date", ', "scan = { ")
    assert underlined(caught.value) == "2025-01-01"


def test_links_in_a_circle_are_refused() -> None:
    extra = '[tables.a]\nkey = "x"\nunit = { x = "b.x" }\n[tables.b]\nkey = "x"\nunit = { x = "a.x" }\n'
    with pytest.raises(BadDescriptor, match="go round in a circle: a -> b -> a") as caught:
        parse(HOSPITAL + extra)
    assert underlined(caught.value) == '{ x = "b.x" }'


def test_columns_that_differ_in_case_only_are_refused() -> None:
    with pytest.raises(BadDescriptor, match="table wards has columns that differ in case only"):
        complete(parse(HOSPITAL), {**SCHEMAS, "wards": [("ward", Kind.TEXT), ("WARD", Kind.TEXT)]})


def test_an_empty_text_is_refused_at_its_first_sign() -> None:
    with pytest.raises(BadDescriptor, match=r"dataset\.name is missing: .* At descriptor\.toml:1:1:"):
        parse("")


def test_a_password_on_the_line_is_not_quoted() -> None:
    line = '[dataset]\nname = "x"\n[privacy]\nx = 1 # postgresql://me:secret@host/db password=secret\n'
    with pytest.raises(BadDescriptor) as caught:
        parse(line)
    assert "secret" not in str(caught.value)
    assert "://*********@host/db" in str(caught.value)


@given(st.text(max_size=60))
def test_any_text_is_read_or_refused_as_a_bad_descriptor(text: str) -> None:
    with pytest.raises(BadDescriptor):
        parse(text)


@given(st.integers(0, len(HOSPITAL)), st.integers(0, 30), st.text("[]{}\"'=#.,\n ab1-", max_size=6))
def test_a_damaged_descriptor_is_read_or_refused_as_a_bad_descriptor(start: int, length: int, put: str) -> None:
    try:
        complete(parse(HOSPITAL[:start] + put + HOSPITAL[start + length :]), SCHEMAS)
    except BadDescriptor as error:
        assert "At descriptor.toml:" in error.what


# ---------------------------------------------------------------- the JSON Schema

VALIDATOR = jsonschema.Draft202012Validator(descriptor.json_schema())
SEEN_BY_BOTH = {
    *("has a bound 'lower' and none 'upper'", "has a bound 'upper' and none 'lower'"),
    *("step must be above 0", "at least one key", "stands in the list twice", "of another kind than the first"),
    *("neighbours must be one of", "Did you mean 'duckdb'?", "Did you mean 'date'?", "Did you mean 'upper'?"),
    *("the name of a population starts with", "population must be one line of text", "dataset.name is missing"),
    *("the name of a dataset starts with", "version must be one line of text", "privacy.budget is missing"),
    *("budget must be a table", "given by epsilon or by rho", "epsilon must be above 0", "delta must lie in [0, 1)"),
    *("Did you mean 'delta'?", "privacy.unit is missing", "is written as table.column", "has no dot"),
    *("patient_id must be one line of text", "one column, or one column and what it refers to"),
    *("public must be true or false", "is public, so unit has no meaning here", "max_rows_per_unit has no meaning"),
    *("a whole number of at least 1", "Did you mean 'max_rows_per_unit'?"),
}


def as_json(value: object) -> object:
    """A TOML document as an editor shows it to a schema."""
    if isinstance(value, dict):
        return {key: as_json(inside) for key, inside in value.items()}
    if isinstance(value, list):
        return [as_json(inside) for inside in value]
    if isinstance(value, Decimal):
        return float(value)
    return value.isoformat() if isinstance(value, date) else value


def fits(text: str) -> bool:
    return VALIDATOR.is_valid(as_json(tomllib.loads(text, parse_float=Decimal)))


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(descriptor.json_schema())


@pytest.mark.parametrize(
    "text",
    [
        HOSPITAL,
        SURVEY,
        SURVEY
        + 'x = { lower = 0, upper = 1, step = "1/3" }\ny = { values = [1, 0.5], max_per_unit = 2, why = "form" }\n',
        SURVEY + "x = { lower = 2025-01-01T00:00:00Z, upper = 2025-01-02T00:00:00Z }\ny = { values = [true] }\n",
        SURVEY + 'x = { type = "opaque", max_rows_per_unit = 3 }\n[declared]\nby = "me"\non = 2026-05-04\n',
        SURVEY.replace("{ epsilon = 1 }", '{ rho = "1/3", delta = 0 }\nledger = "book.db"\nneighbours = "replace"'),
        HOSPITAL.replace('{ patient_id = "patients.patient_id" }', '"patient_id"\nrows = 100000\npublic = false'),
    ],
)
def test_good_descriptors_fit_the_schema(text: str) -> None:
    parse(text)
    assert fits(text)


@pytest.mark.parametrize(("old", "new", "told"), [case[:3] for case in REFUSED if case[2] in SEEN_BY_BOTH])
def test_bad_shapes_are_refused_by_the_schema_too(old: str, new: str, told: str) -> None:
    assert not fits(HOSPITAL.replace(old, new, 1))


def test_the_schema_knows_the_keys_of_the_parser_and_no_others() -> None:
    schema = descriptor.json_schema()
    assert tuple(schema["$defs"]["table"]["properties"]) == descriptor.TABLE_KEYS
    assert tuple(schema["$defs"]["column"]["properties"]) == descriptor.COLUMN_KEYS
    assert tuple(schema["properties"]["dataset"]["properties"]["engine"]["enum"]) == descriptor.ENGINES
    assert schema["$defs"]["column"]["properties"]["type"]["enum"] == [kind.value for kind in Kind]


# ---------------------------------------------------------------- places

TANGLED = '''\
# [not.a.table] x = 1
top."a.b".'c d' = """one "quote", ] and # no comment
[nor.a.table]""""
"\\u0061" = \'\'\'it''s\'\'\'  # ]
many = [ # first
  1, [2, 3,], { x = 4, y.z = [5] }, # second
  "a]b", 2025-01-01 10:00:00, 2025-01-01,
]
[ spaced . "out" ]
key = { a = { b = -1_000.5e-3 }, "c,}" = 'd}' }
[[list]]
v = 1
[list.below]
w = 2
[[list]]
v = 3
[list.below]
w = 4
'''


def leaves(value: object, path: toml_positions.Path = ()) -> list[tuple[toml_positions.Path, object]]:
    """Every path of a document, and what stands there."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [(path, value)] * bool(path) + [pair for key, below in inside for pair in leaves(below, (*path, key))]


def check_places(text: str) -> None:
    found = toml_positions.scan_positions(text)
    paths = leaves(tomllib.loads(text))
    assert {path for path, _ in paths} == set(found)
    for path, value in paths:
        (start, end), (first, last) = found[path].value, found[path].key
        if not isinstance(path[-1], int):
            assert last_key(tomllib.loads(f"{text[first:last]} = 0")) == path[-1]
        under_header = isinstance(value, dict | list) and text[start] not in "{["
        if not under_header:
            assert tomllib.loads(f"x = {text[start:end]}")["x"] == value


def last_key(document: object) -> str:
    [(key, below)] = document.items()  # type: ignore[attr-defined]
    return last_key(below) if isinstance(below, dict) else key


def test_places_are_found_in_a_tangled_document() -> None:
    check_places(TANGLED)


def test_a_value_is_found_behind_headers_dots_and_quotes() -> None:
    found = toml_positions.scan_positions(TANGLED)
    spans = {
        ("top", "a.b", "c d"): '"""one',
        ("a",): "'''it''s'''",
        ("many", 2, "y", "z", 0): "5",
        ("spaced", "out", "key", "a", "b"): "-1_000.5e-3",
        ("list", 1, "below", "w"): "4",
    }
    for path, start in spans.items():
        assert TANGLED[slice(*found[path].value)].startswith(start)


KEYS = st.text("abc-_1", min_size=1, max_size=3) | st.text('ab."\\\n\t #=]é', max_size=4)
WORDS = st.text("ab\"'\\\n #]}[{,=é", max_size=8)
SCALARS = st.integers() | st.booleans() | st.dates() | st.datetimes() | WORDS
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=12
)


def quoted(words: str, style: int) -> str:
    escaped = words.replace("\\", "\\\\").replace('"', '\\"')
    if style == 1 and "'" not in words and "\n" not in words:
        return f"'{words}'"
    if style == 2:
        return f'"""\n{escaped}"""'
    if style == 3 and "'" not in words:
        return f"'''\n{words}'''"
    return '"' + escaped.replace("\n", "\\n").replace("\t", "\\t") + '"'


def written(value: object, draw: st.DataObject) -> str:
    """A value in one of the ways in which TOML can write it."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key(k)} = {written(v, draw)}" for k, v in value.items()) + " }"
    if isinstance(value, list):
        gap = draw.draw(st.sampled_from([" ", "\n  ", " # ] , [\n"]))
        return f"[{gap}" + f",{gap}".join(written(v, draw) for v in value) + gap + "]"
    if isinstance(value, str):
        return quoted(value, draw.draw(st.integers(0, 3)))
    if isinstance(value, date):
        return value.isoformat(*[" "] * (isinstance(value, datetime) and draw.draw(st.booleans())))
    return str(value).lower()


def key(name: str) -> str:
    return name if name and set(name) <= set("abc-_1") else quoted(name, 0)


def document(content: dict[str, object], draw: st.DataObject, above: str = "") -> str:
    """Pairs first, then tables under headers, or as dotted keys, or inline."""
    lines, tables = [], []
    for name, value in content.items():
        if isinstance(value, dict) and (style := draw.draw(st.integers(0, 2))):
            if style == 2 and value:
                lines += [f"{key(name)} . {key(k)} = {written(v, draw)}" for k, v in value.items()]
            else:
                inside = f"{above}.{key(name)}" if above else key(name)
                tables.append(f"[{inside}] # [x]\n{document(value, draw, inside)}")
        else:
            lines.append(f"{key(name)} = {written(value, draw)}  # = ]")
    return "\n".join([*lines, "", *tables])


@given(st.dictionaries(KEYS, VALUES, max_size=4), st.data())
def test_places_are_found_in_any_document(content: dict[str, object], data: st.DataObject) -> None:
    text = document(content, data)
    assert tomllib.loads(text) == content
    check_places(text)


# ---------------------------------------------------------------- the guide


def test_the_guide_names_every_key() -> None:
    guide = (Path(__file__).parents[2] / "docs" / "descriptor.md").read_text(encoding="utf-8")
    schema = descriptor.json_schema()
    parts = [
        *(schema["properties"][name] for name in ("dataset", "privacy")),
        *(schema["$defs"][name] for name in ("table", "column")),
    ]
    told = set(re.findall(r"`(\w+)`", "\n".join(re.findall(r"^\| (`.*?) \|", guide, re.M))))
    assert told == {key for part in parts for key in part["properties"]}
