"""``hubbub publish`` from the outside: what it charges, writes and tells, and what it refuses before a charge."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from hubbub.cli.publishing.domain import read_domain
from hubbub.cli.publishing.rows import read
from hubbub.publish import Categorical, Date, Key, Numeric, check
from hubbub.terms import BadDescriptor

from ._shell import Said, Shell

DOMAIN = """
id = { key = "patient" }
age = { lower = 18, upper = 90, bins = 12 }
ward = { values = ["north", "south"] }
cost = { lower = 0.0, upper = 100.0, bins = 5 }
seen = { lower = 2025-01-01, upper = 2025-01-10 }
ill = { values = ["flu", "gout", "hay fever"] }
"""
PRICE = "--epsilon 2 --delta 1e-6 --domain domain.toml"
KNOWN = "--quasi-identifiers age,ward,seen --sensitive ill"


def write(path: Path, count: int, seed: int) -> None:
    chance = np.random.default_rng(seed)
    rows = []
    for i in range(count):
        age = int(chance.integers(18, 91))
        ill = "gout" if age > 60 and chance.random() < 0.8 else str(chance.choice(["flu", "hay fever"]))
        day = f"2025-01-{int(chance.integers(1, 11)):02d}"
        rows.append((f"p{i}", age, chance.choice(["north", "south"]), f"{chance.random() * 100:.2f}", day, ill))
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("id", "age", "ward", "cost", "seen", "ill"), *rows])


@pytest.fixture
def clinic(shell: Shell) -> Shell:
    write(shell.folder / "people.csv", 600, 1)
    write(shell.folder / "public.csv", 400, 2)
    (shell.folder / "domain.toml").write_text(DOMAIN)
    return shell


def charges(shell: Shell) -> list[str]:
    with shell.ledger() as ledger:
        return [entry.fields()["title"] for entry in ledger.log() if entry.fields()["kind"] == "charge"]


# ---------------------------------------------------------------- what it makes


def test_made_up_rows_are_written_as_declared(clinic: Shell) -> None:
    said = clinic(f"publish people.csv --method mst {PRICE} --rows 250 --no-attacks --out made.csv --json")
    assert said.code == 0, said.err
    made = arrow_csv.read_csv(clinic.folder / "made.csv")
    assert made.num_rows == 250 and made.column_names == ["id", "age", "ward", "cost", "seen", "ill"]
    assert made["id"][0].as_py() == "patient-1"
    assert made.schema.field("age").type == pyarrow.int64() and made.schema.field("seen").type == pyarrow.date32()
    told = said.json
    assert told["tables"][0]["guarantee"] and told["utility"] is None and told["attacks"] == []
    assert "charged to no ledger" in said.err.lower()


def test_a_partition_has_its_classes_and_a_manifest_and_needs_no_domain(clinic: Shell) -> None:
    said = clinic(f"publish people.csv --method mondrian --k 5 {KNOWN} --out alike.parquet")
    assert said.code == 0, said.err
    made = parquet.read_table(clinic.folder / "alike.parquet")
    assert check(made, quasi_identifiers=["age", "ward", "seen"]).k >= 5
    assert json.loads((clinic.folder / "alike.manifest.json").read_text())["suppressed"] == 0
    assert "ledger" not in said.err
    assert "None of this is differential privacy" in re.sub(r"\s+", " ", said.out)


def test_all_methods_stand_side_by_side_with_utility_and_attacks(clinic: Shell) -> None:
    said = clinic(
        f"publish people.csv --method all {PRICE} --k 5 {KNOWN} --holdout public.csv --out tables --report report.html "
        "--json"
    )
    assert said.code == 0, said.err
    told = said.json
    names = {"mondrian", "full-domain", "aim", "mst", "marginals", "tables"}
    assert {each["method"] for each in told["tables"]} == names
    assert all(each["model"] and each["mechanism"] and each["not_protected"] for each in told["tables"])
    utility = {each["table"]: each["metrics"] for each in told["utility"]["tables"]}
    assert set(utility) == names and len(told["utility"]["baselines"]) == 2
    assert utility["mst"]["auc"]["value"] > 0.7 > 0.62 > utility["marginals"]["auc"]["value"]
    outcomes = {(each["attack"], each["on"]): each["outcome"] for each in told["attacks"]}
    assert outcomes["Linkage", "the table without names"] == "succeeded"
    assert outcomes["Linkage", "mondrian"] == outcomes["Linkage", "mst"] == "failed"
    assert {("Homogeneity", "mondrian"), ("Reconstruction", "tables"), ("Membership", "aim")} <= set(outcomes)
    page = (clinic.folder / "report.html").read_text()
    assert page.count("<svg") >= 4 and "for the owner of the data" in page and "p17" not in page
    assert (clinic.folder / "tables" / "mst.csv").exists() and (
        clinic.folder / "tables" / "tables" / "ill.csv"
    ).exists()
    assert "4 private methods" in said.err


def test_names_are_never_published(clinic: Shell) -> None:
    assert clinic(f"publish people.csv --method mondrian,marginals {PRICE} --k 5 {KNOWN} --out tables").code == 0
    for name in ("mondrian", "marginals"):
        text = (clinic.folder / "tables" / f"{name}.csv").read_text()
        assert not re.search(r"\bp\d+\b", text)


def test_reconstruction_reads_exact_counts_of_few_people_and_not_noisy_ones(shell: Shell) -> None:
    chance = np.random.default_rng(5)
    with (shell.folder / "few.csv").open("w", newline="") as file:
        rows = [[*chance.integers(0, 30, 3), chance.choice(["no", "yes"])] for _ in range(60)]
        csv.writer(file).writerows([["a", "b", "c", "ill"], *rows])
    lines = "".join(f"{name} = {{ lower = 0, upper = 29, bins = 30 }}\n" for name in "abc")
    (shell.folder / "domain.toml").write_text(lines + 'ill = { values = ["no", "yes"] }\n')
    said = shell(
        "publish few.csv --method tables --epsilon 1 --delta 1e-6 --domain domain.toml --sensitive ill --out t --json"
    )
    found = {each["on"]: each for each in said.json["attacks"] if each["attack"] == "Reconstruction"}
    right = {on: each["found"]["numbers"]["right"] for on, each in found.items()}
    assert found["the same counts without noise"]["outcome"] == "succeeded"
    assert found["tables"]["outcome"] == "failed"
    assert right["the same counts without noise"] > 0.85 > right["tables"]


# ---------------------------------------------------------------- what it costs


def test_every_method_and_the_comparison_are_charged(clinic: Shell) -> None:
    clinic.open(budget="--epsilon 30 --delta 1e-4")
    said = clinic(
        f"publish people.csv --method mst,tables {PRICE} --measure 1 --no-attacks --ledger hubbub.db --out out --json"
    )
    assert said.code == 0, said.err
    assert charges(clinic) == ["synthetic data (mst)", "tables of counts", "utility of tables"]
    scores = said.json["utility"]["tables"][0]["metrics"]
    assert all(score["margin"] > 0 for score in scores.values()) and "auc" not in scores
    assert said.json["tables"][0]["receipt"]


def test_the_same_dataset_again_is_free(clinic: Shell) -> None:
    clinic.open(budget="--epsilon 3 --delta 1e-4")
    line = f"publish people.csv --method mst {PRICE} --no-attacks --ledger hubbub.db --population patients"
    line += " --dataset people@1"
    assert clinic(f"{line} --out one.csv").code == clinic(f"{line} --out two.csv").code == 0
    assert len(charges(clinic)) == 1
    assert (clinic.folder / "one.csv").read_text() == (clinic.folder / "two.csv").read_text()


def test_what_all_methods_together_cannot_pay_is_refused_before_the_first(clinic: Shell) -> None:
    clinic.open(budget="--epsilon 3 --delta 1e-4")
    said = clinic(f"publish people.csv --method mst,aim,marginals,tables {PRICE} --ledger hubbub.db --out out")
    assert said.code == 4 and "together" in said.err
    assert charges(clinic) == [] and not (clinic.folder / "out").exists()


# ---------------------------------------------------------------- what it refuses


REFUSALS = [
    (f"--method mst --epsilon 1 --delta 1e-6 {KNOWN}", 2, "cost = { values"),
    ("--method mst --epsilon 1 --delta 1e-6 --domain private", 2, "6 columns have no domain"),
    ("--method mst --domain domain.toml", 2, "--epsilon and --delta are missing"),
    ("--method mst --epsilon 0.0001 --delta 1e-9 --domain domain.toml --about-rows 600", 2, "It fits with"),
    (f"--method mst,mondrian {PRICE} --k 601 {KNOWN}", 2, "more than the table's 600 rows"),
    (f"--method mst,full-domain {PRICE} --k 5 {KNOWN} --hierarchies steps.toml", 2, "misses 1 of the"),
    (f"--method mst,full-domain {PRICE} --k 5 {KNOWN} --suppression 1", 2, "suppression must be"),
    (f"--method mst,mondrian {PRICE} --l 4 {KNOWN}", 2, "no partition of this table"),
    (f"--method mst,mondrian {PRICE} --k 5", 2, "--quasi-identifiers are missing"),
    (f"--method mst,mondrian {PRICE} {KNOWN}", 2, "there is no model"),
    (f"--method mst,mondrian {PRICE} --l 2 --quasi-identifiers age", 2, "need --sensitive"),
    (f"--method mst {PRICE} --sensitive shoe", 2, "no column 'shoe'"),
    (f"--method tables,mst {PRICE} --of age,shoe", 2, "no column 'shoe'"),
    (f"--method mst {PRICE} --holdout narrow.csv", 2, "no column 'age'"),
    (f"--method mst {PRICE} --unit ward", 2, "--unit needs --max-rows"),
    (f"--method mst {PRICE} --columns age,shoe", 2, "no column 'shoe'"),
    ("--method mst --epsilon 1 --delta 1e-6 --domain odd.toml", 5, "unknown key 'low'"),
    ("--method mst --epsilon 1 --delta 1e-6 --domain nowhere.toml", 5, "cannot be read"),
    (f"--method dust {PRICE}", 2, "none of aim, mst"),
    (f"--method mst {PRICE} --holdout public.csv --measure 1", 2, "not both"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "words"), REFUSALS, ids=[words for *_, words in REFUSALS])
def test_bad_input_is_refused_before_a_charge(clinic: Shell, line: str, code: int, words: str) -> None:
    clinic.open(budget="--epsilon 30 --delta 1e-4")
    (clinic.folder / "steps.toml").write_text('[ward.tree]\nup = ["north"]\n')
    (clinic.folder / "odd.toml").write_text("age = { lower = 1, upper = 2, low = 3 }\n")
    (clinic.folder / "narrow.csv").write_text("id,ward\n" + "a,north\n" * 30)
    said = clinic(
        f"publish people.csv {line} --ledger hubbub.db --out {'out' if ',' in line.split()[1] else 'out.csv'}"
    )
    assert said.code == code, said.err
    assert words in said.err
    assert charges(clinic) == [] and "p17" not in said.err
    assert not (clinic.folder / "out.csv").exists()


@pytest.mark.parametrize(
    "place",
    ["", "--out table.xls", "--out nowhere/table.csv", "--out t.csv --report r.pdf", "--out people.csv"],
)
def test_places_that_cannot_be_written_are_refused_first(clinic: Shell, place: str) -> None:
    before = (clinic.folder / "people.csv").read_text()
    said: Said = clinic(f"publish people.csv --method mst {PRICE} {place}")
    assert said.code == 2 and "wrote" not in said.err
    assert (clinic.folder / "people.csv").read_text() == before


# ---------------------------------------------------------------- the domain file


def test_the_domain_file_says_types(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(DOMAIN + 'gain = { bounds = "private" }\ntown = { values = "private" }\n')
    found = read_domain(tmp_path / "d.toml")
    assert [type(column) for column in found.values()] == [
        Key,
        Numeric,
        Categorical,
        Numeric,
        Date,
        Categorical,
        Numeric,
        Categorical,
    ]
    (tmp_path / "t.csv").write_text("age,cost,seen,ill\n30,1.5,2025-01-03,flu\nold,,soon,\n1e99,nan,2025-01-04,x\n")
    rows = read(str(tmp_path / "t.csv"), found)
    assert rows["age"].to_pylist()[:2] == [30, None] and rows["cost"].to_pylist() == [1.5, None, None]
    assert [str(day) for day in rows["seen"].to_pylist()] == ["2025-01-03", "None", "2025-01-04"]
    assert rows["ill"].to_pylist() == ["flu", None, "x"]


@pytest.mark.parametrize(
    "line",
    [
        "age = 3",
        "age = {}",
        "age = { lower = 1 }",
        "age = { values = [] }",
        "age = [",
        "age = { lower = 2, upper = 1 }",
    ],
)
def test_a_line_that_says_nothing_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "d.toml").write_text(line)
    with pytest.raises(BadDescriptor):
        read_domain(tmp_path / "d.toml")
