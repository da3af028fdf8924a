"""``hubbub publish`` from the outside: what it charges, writes and tells, and what it refuses before a charge."""

from __future__ import annotations

import csv
import json
import re
from html import unescape
from pathlib import Path

import numpy as np
import pyarrow
import pytest
from pyarrow import csv as arrow_csv
from pyarrow import parquet

from hubbub.cli.exit_codes import guard
from hubbub.publish import Categorical, Date, Numeric, SurrogateKey, check, mondrian, read_domain, unread_table
from hubbub.publish.unread_table import unread_of
from hubbub.terms import BadDescriptor, OutOfRange

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
    asked = f"publish people.csv --method mondrian --k 5 {KNOWN} --out alike.parquet"
    refused = clinic(asked)
    assert refused.code == 2 and "id, cost: the values differ from row to row" in refused.err
    assert "--keep id,cost" in refused.err and not (clinic.folder / "alike.parquet").exists()
    said = clinic(f"{asked} --columns age,ward,seen,ill,cost --keep cost")
    assert said.code == 0, said.err
    made = parquet.read_table(clinic.folder / "alike.parquet")
    assert check(made, quasi_identifiers=["age", "ward", "seen"]).k >= 5
    assert json.loads((clinic.folder / "alike.manifest.json").read_text())["suppressed"] == 0
    assert "ledger" not in said.err
    assert "None of this is differential privacy" in re.sub(r"\s+", " ", said.out)


def test_all_methods_stand_side_by_side_with_utility_and_attacks(clinic: Shell) -> None:
    said = clinic(
        f"publish people.csv --method all {PRICE.replace('epsilon 2', 'epsilon 8')} --k 5 {KNOWN} --keep cost "
        "--holdout public.csv --out tables "
        "--report report.html --json"
    )
    assert said.code == 0, said.err
    told = said.json
    names = {"mondrian", "full-domain", "aim", "mst", "marginals", "tables"}
    assert {each["method"] for each in told["tables"]} == names
    assert all(each["model"] and each["mechanism"] and each["not_protected"] for each in told["tables"])
    utility = {each["table"]: each["metrics"] for each in told["utility"]["tables"]}
    assert set(utility) == names and len(told["utility"]["baselines"]) == 2
    assert utility["mst"]["auc"]["value"] > 0.7
    assert utility["mst"]["auc"]["value"] > utility["marginals"]["auc"]["value"] + 0.08
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


def test_an_attack_on_a_sample_of_the_rows_says_so(clinic: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hubbub.studies.publication.attacked.MOST_LINKED", 100)
    columns = "--columns age,ward,seen,ill,cost --keep cost"
    said = clinic(f"publish people.csv --method mondrian --k 5 {KNOWN} {columns} --out a.csv --report a.html --json")
    assert said.code == 0, said.err
    assert {each.get("sampled_from") for each in said.json["attacks"] if each["attack"] == "Linkage"} == {600}
    page = unescape((clinic.folder / "a.html").read_text())
    assert "Of 100 released rows" in page and "These rows are a sample of the table's 600." in page


def test_names_are_never_published(clinic: Shell) -> None:
    assert (
        clinic(f"publish people.csv --method mondrian,marginals {PRICE} --k 5 {KNOWN} --keep cost --out tables").code
        == 0
    )
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


# ---------------------------------------------------------------- places and days


@pytest.fixture
def towns(shell: Shell) -> Shell:
    chance = np.random.default_rng(8)
    with (shell.folder / "visits.csv").open("w", newline="") as file:
        lines = [("person", "town", "age", "when")]
        for i in range(3000):
            day = f"2026-01-{int(chance.integers(5, 9)):02d}"
            town = chance.choice(["aston", "barrow", "corby", "nowhere"], p=[0.4, 0.3, 0.2, 0.1])
            lines.append((f"p{i // 3}", town, int(chance.integers(18, 91)), day))
        csv.writer(file).writerows(lines)
    (shell.folder / "places.csv").write_text("region,town\nnorth,aston\nnorth,barrow\nsouth,corby\n")
    (shell.folder / "domain.toml").write_text("age = { lower = 18, upper = 90, bins = 3 }\n")
    return shell


PLACES = "--epsilon 2 --delta 1e-6 --places places.csv"
SERIES = f"--method daily {PLACES} --unit person --day when --first 2026-01-05 --days 4"


def test_every_place_of_a_tree_is_counted_and_adds_up(towns: Shell) -> None:
    said = towns(f"publish visits.csv --method top-down {PLACES} --by age --domain domain.toml --out tree")
    assert said.code == 0, said.err
    regions, below = (arrow_csv.read_csv(towns.folder / "tree" / f"{name}.csv") for name in ("region", "town"))
    assert regions.column_names == ["region", "age", "count", "noisy", "margin"]
    assert below.column_names == ["region", "town", "age", "count", "noisy", "margin"]
    assert below.num_rows == 4 * 3  # and elsewhere, by three ages
    told = {name: sum(table["count"].to_pylist()) for name, table in (("regions", regions), ("towns", below))}
    assert told["regions"] == told["towns"] == pytest.approx(3000, abs=60)
    assert json.loads((towns.folder / "tree" / "methods.json").read_text())["guarantee"]
    assert "Differential privacy" in re.sub(r"\s+", " ", said.out) and "--holdout" not in said.out


def test_counts_in_a_folder_may_be_parquet(towns: Shell) -> None:
    line = f"publish visits.csv --method top-down {PLACES} --unit person --max-rows 3 --format parquet --out tree"
    assert towns(line).code == 0
    assert sorted(path.name for path in (towns.folder / "tree").iterdir()) == [
        "methods.html", "methods.json", "region.parquet", "town.parquet",
    ]  # fmt: skip
    assert parquet.read_table(towns.folder / "tree" / "town.parquet").num_rows == 4


@pytest.mark.parametrize("most", [1, 2])
def test_all_days_of_a_series_are_one_release(towns: Shell, most: int) -> None:
    towns.open(budget="--epsilon 3 --delta 1e-4 --plans 2.5,5e-5")
    said = towns(f"publish visits.csv {SERIES} --max-places {most} --ledger hubbub.db --dataset v1 --out days --json")
    assert said.code == 0, said.err
    made = arrow_csv.read_csv(towns.folder / "days" / "daily.csv")
    assert made.column_names == ["day", "place", "count", "noisy", "margin"] and made.num_rows == 4 * 3
    assert f"at no more than {most} of the places" in said.json["tables"][0]["promise"]
    assert charges(towns) == ["daily counts"]
    assert towns(f"publish visits.csv {SERIES} --max-places {most} --ledger hubbub.db --dataset v1 --out d2").code == 0
    assert (towns.folder / "d2" / "daily.csv").read_text() == (towns.folder / "days" / "daily.csv").read_text()


PLACE_REFUSALS = [
    ("--method top-down --epsilon 2 --delta 1e-6 --header yes", "top-down needs --places"),
    ("--method daily --epsilon 2 --delta 1e-6 --header yes", "daily needs --places"),
    (f"--method daily {PLACES} --unit person --first 2026-01-05 --days 4", "daily needs --unit, --day"),
    (SERIES.replace("--day when", "--day tag"), "and not 'tag'"),
    (SERIES.replace("2026-01-05", "soon"), "'soon' is no day"),
    (f"--method top-down {PLACES} --by age", "1 columns have no domain: age"),
    (f"--method top-down {PLACES} --by shoe", "and not 'shoe'"),
    (f"--method top-down {PLACES} --holdout visits.csv", "no table that could be compared"),
    (f"--method top-down {PLACES} --unit person", "--unit needs --max-rows"),
    ("--method top-down --epsilon 2 --delta 1e-6 --places gaps.csv", "lists no places"),
    ("--method top-down --epsilon 2 --delta 1e-6 --places other.csv", "does not name 'city'"),
]


@pytest.mark.parametrize(("line", "words"), PLACE_REFUSALS, ids=[words for _, words in PLACE_REFUSALS])
def test_bad_places_are_refused_before_a_charge_and_before_a_row_is_read(
    towns: Shell, line: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    towns.open(budget="--epsilon 30 --delta 1e-4")
    (towns.folder / "gaps.csv").write_text("region,town\nnorth,\n")
    (towns.folder / "other.csv").write_text("region,city\nnorth,aston\n")
    forbid_reading(monkeypatch, "visits.csv", but="--holdout" in line)
    said = towns(f"publish visits.csv {line} --ledger hubbub.db --out out")
    assert said.code == (6 if " not " in words else 2), said.err
    assert words in said.err and charges(towns) == []


def forbid_reading(monkeypatch: pytest.MonkeyPatch, name: str, *, but: bool = False) -> None:
    """Let nobody read the rows of a file; its first line is public."""
    really = unread_table._csv

    def guarded(path: str, *more: object) -> pyarrow.Table:
        assert but or Path(path).name != name, "the rows were read"
        return really(path, *more)  # type: ignore[arg-type]

    monkeypatch.setattr(unread_table, "_csv", guarded)


# ---------------------------------------------------------------- what it costs


def test_the_charge_stands_in_the_ledger_when_the_file_is_read(clinic: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    clinic.open(budget="--epsilon 30 --delta 1e-4")
    really, seen = unread_table._csv, []

    def watched(*given: object) -> pyarrow.Table:
        seen.append(charges(clinic))
        return really(*given)  # type: ignore[arg-type]

    monkeypatch.setattr(unread_table, "_csv", watched)
    assert clinic(f"publish people.csv --method tables {PRICE} --ledger hubbub.db --no-attacks --out out").code == 0
    assert seen == [["tables of counts"]]  # read once, after the charge


def test_what_stands_in_the_rows_decides_nothing_that_is_said_before_the_charge(clinic: Shell) -> None:
    said = []
    for last in ("p600,44,north,1.5,2025-01-03,flu", "p600,old,9,many,soon,\x00", "p600", '"p600'):
        with (clinic.folder / "people.csv").open("a") as file:
            file.write(last + "\n")
        line = f"publish people.csv --method mst,tables {PRICE} --of age,shoe --no-attacks --out out"
        said.append(clinic(line).err)
        made = clinic(f"publish people.csv --method marginals {PRICE} --rows 9 --no-attacks --out out.csv --json")
        assert made.code == 0, made.err
    assert len(set(said)) == 1 and "no column 'shoe'" in said[0]


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
    ("--method mst --epsilon 1 --delta 1e-6 --domain private --header yes", 2, "6 columns have no domain"),
    ("--method mst --domain domain.toml", 2, "--epsilon and --delta are missing"),
    ("--method mst --epsilon 0.0001 --delta 1e-9 --domain domain.toml --about-rows 600", 2, "It fits with"),
    ("--method tables,marginals --epsilon 0.01 --delta 1e-9 --domain domain.toml --about-rows 600", 2, "It fits with"),
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
    ("--method mst --epsilon 1 --delta 1e-6 --domain odd.toml", 5, "Did you mean 'lower'? At odd.toml:1:31"),
    ("--method mst --epsilon 1 --delta 1e-6 --domain nowhere.toml", 5, "cannot be opened"),
    (f"--method dust {PRICE}", 2, "none of aim, mst"),
    (f"--method mst {PRICE} --holdout public.csv --measure 1", 2, "not both"),
]  # fmt: skip


@pytest.mark.parametrize(("line", "code", "words"), REFUSALS, ids=[words for *_, words in REFUSALS])
def test_bad_input_is_refused_before_a_charge(
    clinic: Shell, line: str, code: int, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    partition = any(name in line for name in ("mondrian", "full-domain"))
    forbid_reading(monkeypatch, "people.csv", but=partition)  # a partition is made of rows, and comes first
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


def test_the_price_of_counts_that_would_fit_does(clinic: Shell) -> None:
    line = (
        "publish people.csv --method tables --delta 1e-6 --domain domain.toml --about-rows 600 --no-attacks --out out"
    )
    said = clinic(f"{line} --epsilon 0.01")
    assert said.code == 2 and "too small for the cells" in said.err
    enough = re.search(r"--epsilon ([\d.]+)", said.err)
    assert enough and clinic(f"{line} --epsilon {enough[1]}").code == 0
    assert clinic(f"{line} --epsilon {float(enough[1]) / 2}").code == 2


# ---------------------------------------------------------------- the domain file


def test_the_domain_file_says_types(tmp_path: Path) -> None:
    (tmp_path / "d.toml").write_text(DOMAIN + 'gain = { bounds = "private" }\ntown = { values = "private" }\n')
    found = read_domain(tmp_path / "d.toml")
    assert [type(column) for column in found.values()] == [
        SurrogateKey,
        Numeric,
        Categorical,
        Numeric,
        Date,
        Categorical,
        Numeric,
        Categorical,
    ]
    (tmp_path / "t.csv").write_text("age,cost,seen,ill\n30,1.5,2025-01-03,flu\nold,,soon,\n1e99,nan,2025-01-04,x\n")
    rows = unread_of(tmp_path / "t.csv", found).read()
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


ESCAPED = ("ev\x1b[31mil", "two\nlines", "\u202eturned", "bell\x07")


@pytest.mark.parametrize("name", ESCAPED)
def test_a_column_name_that_steers_a_terminal_is_refused_and_not_shown(shell: Shell, name: str) -> None:
    ages = [20 + i % 40 for i in range(60)]
    table = pyarrow.table({"age": ages, name: [str(i) for i in range(60)], "ill": ["a", "b"] * 30})
    parquet.write_table(table, shell.folder / "people.parquet")
    fit = "--unit row --bound age=20:60 --key ill=a,b --target ill --epsilon 1 --delta 1e-6 --out model.json"
    for command in (
        "publish people.parquet --method mondrian --k 5 --quasi-identifiers age --out made.csv",
        "publish people.parquet --method mst --epsilon 1 --delta 1e-6 --out made.csv",
        f"fit people.parquet {fit}",
        f"fit people.parquet {fit} --columns age",
    ):
        said = shell(command)
        assert said.code == 2 and name not in said.err + said.out and "\x1b" not in said.err + said.out
        assert "a column's name is one line" in said.err, said.err
    for make in (
        lambda: check(table, quasi_identifiers=["age"]),
        lambda: mondrian(table, quasi_identifiers=["age"], k=5),
        lambda: unread_of(table),
    ):
        with pytest.raises(OutOfRange, match="a column's name"):
            make()


def test_no_message_steers_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    def fails() -> None:
        raise OutOfRange("ev\x1b[31mil\x07.", why="Because.", fix="Mend it.")

    guard(fails)
    told = capsys.readouterr().err
    assert "ev?[31mil?." in told and "\x1b" not in told and told.count("\n") == 4
