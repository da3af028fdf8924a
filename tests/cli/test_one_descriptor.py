"""One descriptor serves query, fit, publish and attack; what it declares is not typed again."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from hubbub.engines import DuckDB
from hubbub.ledger import Ledger
from hubbub.publish import described_table, synthesize, table_domain
from hubbub.schema import choose_table
from hubbub.sql import declare
from hubbub.studies.redteam import target
from hubbub.studies.redteam.target import TargetSecret
from hubbub.terms import NotProved

from ._shell import Shell

CLINIC = """
[dataset]
name = "clinic"
[privacy]
unit = "visits.patient"
budget = { epsilon = 30, delta = 1e-4 }
[tables.visits]
source = "visits.csv"
unit = "patient"
max_rows_per_unit = 2
rows = 600
[tables.visits.columns]
patient = { key = "patient" }
note = { key = "note" }
age = { lower = 18, upper = 90, step = 1, bins = 12 }
gain = { bounds = "private", bins = 8 }
ward = { values = ["north", "south"] }
seen = { lower = 2025-01-01, upper = 2025-01-10, missing = true }
ill = { values = ["flu", "gout"], sensitive = true }
door = { values = ["left", "right"], other = "left" }
"""
PRICE = "--epsilon 2 --delta 1e-6"


@pytest.fixture
def clinic(shell: Shell) -> Shell:
    chance = random.Random(4)
    with (shell.folder / "visits.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["patient", "note", "age", "gain", "ward", "seen", "ill", "door"])
        for number in range(600):
            age = chance.randint(18, 90)
            ill = "gout" if age > 60 else "flu"
            day = f"2025-01-{chance.randint(1, 10):02d}"
            row = [f"p{number // 2}", f"n{number}", age, chance.random() * 50, chance.choice(["north", "south"])]
            lines.writerow([*row, day, ill, chance.choice(["left", "right"])])
    (shell.folder / "clinic.toml").write_text(CLINIC)
    return shell


def charges(shell: Shell) -> list[str]:
    with Ledger(shell.folder / "clinic.ledger.db") as ledger:
        return [entry.fields()["title"] for entry in ledger.log() if entry.fields()["kind"] == "charge"]


def test_one_file_serves_every_command_and_every_command_charges_its_ledger(clinic: Shell) -> None:
    asked = clinic("query clinic.toml --epsilon 1", "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ward")
    fitted = clinic(f"fit clinic.toml --target ill {PRICE} --json")
    some = "--columns age,ward,seen,ill,door"  # gain has no public bounds, which tables of counts need
    published = clinic(f"publish clinic.toml --method marginals,tables {PRICE} {some} --no-attacks --out out --json")
    for said in (asked, fitted, published):
        assert said.code == 0, said.err
    card = json.dumps(fitted.json)
    assert "gain" in card and "north" in card and '"note"' not in card
    assert [title.split(" (")[0] for title in charges(clinic)][-2:] == ["synthetic data", "tables of counts"]
    assert len(charges(clinic)) == 4
    promise = published.json["tables"][0]["promise"]
    assert "everything about one person (visits.patient)" in promise and "At most 2 rows of one person count" in promise


def test_what_is_published_has_the_declared_cells_and_no_names(clinic: Shell) -> None:
    said = clinic(f"publish clinic.toml --table visits --method mst {PRICE} --rows 300 --no-attacks --out made.csv")
    assert said.code == 0, said.err
    made = arrow_csv.read_csv(clinic.folder / "made.csv")
    assert made.column_names == ["patient", "note", "age", "gain", "ward", "seen", "ill", "door"]
    assert made["patient"][0].as_py() == "patient-1" and made["note"][0].as_py() == "note-1"
    assert made.schema.field("age").type == pyarrow.int64() and made.schema.field("seen").type == pyarrow.date32()
    assert min(made["age"].to_pylist()) >= 18 and max(made["age"].to_pylist()) <= 90
    assert set(made["door"].to_pylist()) == {"left", "right"}


def test_the_same_again_is_free_and_gives_the_same_rows(clinic: Shell) -> None:
    line = f"publish clinic.toml --method marginals {PRICE} --no-attacks --rows 50 --out"
    assert clinic(f"{line} one.csv").code == clinic(f"{line} two.csv").code == 0
    assert charges(clinic) == ["synthetic data (marginals)"]
    assert (clinic.folder / "one.csv").read_text() == (clinic.folder / "two.csv").read_text()


def test_rows_made_alike_take_the_sensitive_column_and_open_no_ledger(clinic: Shell) -> None:
    line = "publish clinic.toml --method mondrian --k 5 --l 2 --quasi-identifiers age,ward --keep gain,seen,door"
    said = clinic(f"{line} --no-attacks --out alike.csv")
    assert said.code == 0, said.err
    made = arrow_csv.read_csv(clinic.folder / "alike.csv")
    assert not {"patient", "note"} & set(made.column_names) and "ill" in made.column_names
    assert not (clinic.folder / "clinic.ledger.db").exists()


def test_classes_of_a_described_table_have_k_people(clinic: Shell) -> None:
    """A person with twelve rows of one age would be a class of twelve."""
    with (clinic.folder / "visits.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["patient", "note", "age", "gain", "ward", "seen", "ill", "door"])
        for number in range(600):
            person = number // 12
            ill = "flu" if number % 2 else "gout"
            lines.writerow([f"p{person}", f"n{number}", 20 + person, 1, "north", "2025-01-02", ill, "left"])
    said = clinic("publish clinic.toml --method mondrian --k 10 --quasi-identifiers age --out alike.csv --json")
    assert said.code == 0, said.err
    [table] = said.json["tables"]
    assert "4 classes, the smallest of 12 people" in table["promise"]
    assert table["manifest"]["models"][0].endswith("has at least 10 people.")
    made = arrow_csv.read_csv(clinic.folder / "alike.csv")
    ages = made["age"].to_pylist()
    assert min(ages.count(age) for age in set(ages)) == 12 * 12  # twelve people with twelve rows each
    told = {(each["attack"], each["on"]): each for each in said.json["attacks"]}
    assert told["Linkage", "the table without names"]["outcome"] == "succeeded"  # everybody has an age of their own
    assert told["Linkage", "mondrian"]["outcome"] == "failed"
    assert told["Homogeneity", "mondrian"]["found"]["numbers"]["people"] == 50
    rows = clinic(
        "publish visits.csv --method mondrian --k 10 --quasi-identifiers age --columns age,ill --out rows.csv"
    )
    assert rows.code == 0 and "the smallest of 12 rows" in " ".join(rows.out.split())


def test_some_columns_are_published_alone(clinic: Shell) -> None:
    line = f"publish clinic.toml --method tables {PRICE} --columns age,ill --no-attacks --out out"
    assert clinic(line).code == 0
    names = {path.stem for path in (clinic.folder / "out").glob("*.csv")}
    assert names == {"ill", "ill-age"}


REFUSALS = [
    ("--method mst --domain other.toml", 2, "--domain stands in the descriptor"),
    ("--method mst --unit age", 2, "--unit stands in the descriptor"),
    ("--method mst --max-rows 3", 2, "--max-rows stands in the descriptor"),
    ("--method mst --population x", 2, "--population stands in the descriptor"),
    ("--method mst --header yes", 2, "--header stands in the descriptor"),
    ("--method mst --neighbours replace", 2, "--neighbours stands in the descriptor"),
    ("--method mst --dataset x", 2, "--dataset stands in the descriptor"),
    ("--method mst --table shoes", 3, "there is no table 'shoes'"),
    ("--method mst --columns age,shoe", 2, "no column 'shoe'"),
    ("--method mst --sensitive shoe", 2, "no column 'shoe'"),
]


@pytest.mark.parametrize(("line", "code", "words"), REFUSALS, ids=[words for *_, words in REFUSALS])
def test_what_the_descriptor_declares_is_not_typed_beside_it(
    clinic: Shell, line: str, code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(*_: object, **__: object) -> None:
        raise AssertionError("the rows were read")

    monkeypatch.setattr(DuckDB, "arrays", unread)
    (clinic.folder / "other.toml").write_text('age = { key = "x" }\n')
    said = clinic(f"publish clinic.toml {PRICE} {line} --out made.csv")
    assert said.code == code and words in said.err, said.err
    assert not (clinic.folder / "clinic.ledger.db").exists() or charges(clinic) == []


def test_a_column_without_a_domain_is_refused_with_the_line_and_where_it_goes(clinic: Shell) -> None:
    (clinic.folder / "clinic.toml").write_text(CLINIC.replace('ward = { values = ["north", "south"] }\n', ""))
    said = clinic(f"publish clinic.toml --method mst {PRICE} --out made.csv")
    assert said.code == 2 and "1 columns have no domain: ward" in said.err
    assert "[tables.visits.columns] in clinic.toml" in said.err and charges(clinic) == []


def test_an_attack_takes_the_secret_and_what_is_known_from_the_descriptor(clinic: Shell) -> None:
    dataset, engine = declare(clinic.folder / "clinic.toml")
    aimed = target.choose_target(dataset, engine, table=None, known=(), secret=None, value=None)
    assert aimed.known == ("age", "ward", "seen", "door")  # not names, nor what is sensitive
    assert aimed.secret == TargetSecret("ill", "flu")  # though door comes last
    engine.close()


# ---------------------------------------------------------------- people, as in every question


PEOPLE = """
[dataset]
name = "hospital"
[privacy]
unit = "patients.id"
budget = { epsilon = 3, delta = 1e-6 }
[tables.patients]
source = "patients.parquet"
key = "id"
[tables.visits]
source = "visits-*.parquet"
unit = { patient = "patients.id" }
max_rows_per_unit = 1
[tables.visits.columns]
ward = { values = ["n", "s"] }
[tables.notes]
source = "notes.parquet"
unit = { visit = "visits.visit" }
"""


@pytest.fixture
def hospital(tmp_path: Path) -> Path:
    """Ids are whole numbers in one table, and doubles with a missing one in the other; its files are a glob."""
    parquet.write_table(pyarrow.table({"id": pyarrow.array([1, 2, 3], pyarrow.int64())}), tmp_path / "patients.parquet")
    for part, ids in enumerate(([1.0, 1.0, 2.0], [1.0, None, 3.0])):
        rows = {"visit": [f"v{part}{place}" for place in range(3)], "patient": ids, "ward": ["n", "s", "n"]}
        parquet.write_table(pyarrow.table(rows), tmp_path / f"visits-{part}.parquet")
    parquet.write_table(pyarrow.table({"visit": ["v00"], "text": ["?"]}), tmp_path / "notes.parquet")
    text = PEOPLE.replace('unit = { patient = "patients.id" }', 'unit = { patient = "patients.id" }\nkey = "visit"')
    (tmp_path / "hospital.toml").write_text(text)
    return tmp_path / "hospital.toml"


def test_rows_of_one_person_are_told_as_in_every_question(hospital: Path) -> None:
    dataset, engine = declare(hospital)
    table = choose_table(dataset, "visits")
    private = described_table(engine, dataset, table, table_domain(table))
    assert private.unit("patient").path == "patients.id" and private.schema.names == ["visit", "patient", "ward"]
    rows = private.read()
    assert (
        sorted(rows["patient"].to_pylist()) == sorted(["1.0", "1.0", "1.0", "2.0", "3.0"])
        or len(set(rows["patient"].to_pylist())) == 3
    )
    assert rows.num_rows == 5  # the row without an id is nobody's
    made = synthesize(
        private,
        epsilon=50,
        delta=1e-6,
        method="marginals",
        domain=table_domain(table),
        unit="patient",
        max_rows_per_unit=1,
    )
    assert made.guarantee.unit.path == "patients.id" and abs(made.table.num_rows - 3) <= 1
    engine.close()


def test_a_row_that_does_not_say_whose_it_is_is_refused(hospital: Path) -> None:
    dataset, engine = declare(hospital)
    with pytest.raises(NotProved, match="does not itself say whose it is"):
        described_table(engine, dataset, choose_table(dataset, "notes"), {})
    engine.close()


def test_no_value_decides_a_type_or_fails(tmp_path: Path) -> None:
    """Columns are read as declared, and undeclared ones as they are stored; whatever stands there, nothing fails."""
    text = CLINIC.replace('unit = "visits.patient"', 'unit = "row"').replace(
        'unit = "patient"\nmax_rows_per_unit = 2\n', ""
    )
    (tmp_path / "clinic.toml").write_text(text)
    head = "patient,note,age,gain,ward,seen,ill,door\n"
    schemas = []
    for row in ("p,n,20,1.5,north,2025-01-02,flu,left\n", "p,n,old,1e999,\x00,9999-99-99,,\n", ",,,,,,,\n"):
        (tmp_path / "visits.csv").write_text(head + row)
        dataset, engine = declare(tmp_path / "clinic.toml")
        table = choose_table(dataset, None)
        private = described_table(engine, dataset, table, table_domain(table))
        assert private.read().schema.names == private.schema.names
        schemas.append((private.schema, private.read().schema))
        engine.close()
    assert schemas[0] == schemas[1] == schemas[2]
