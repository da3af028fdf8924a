"""hubbub describe, prepare, dataset and init: public facts in and out, and no row read."""

from __future__ import annotations

import os
import pty
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from tests.cli._data import FACTS, PEOPLE, write
from tests.cli._shell import Shell

WHOLE = "--unit patient_id --max-rows 2 --budget 3,1e-6 --bound cost=0:1000:0.01 --key ward=north,south,east"


@pytest.fixture
def desk(shell: Shell) -> Shell:
    """A shell in a folder with visits."""
    write(shell.folder)
    return shell


def test_describe_tells_public_facts_and_leaves_no_trace(desk: Shell) -> None:
    said = desk(f"describe visits.parquet {FACTS}")
    assert said.code == 0
    assert "No budget is declared" in said.out
    assert "north, south, east" in said.out
    assert desk(f"describe visits.parquet {FACTS} --json").json["kind"] == "dataset"
    assert not list(desk.folder.glob("*.db"))


def test_describe_names_the_open_budget(desk: Shell) -> None:
    desk(f"query visits.parquet {FACTS} --budget 2,1e-6 --epsilon 0.1", PEOPLE)
    assert "is epsilon = 2, delta = 1e-06" in desk(f"describe visits.parquet {FACTS}").out


def test_a_draft_is_a_descriptor_with_blanks(desk: Shell) -> None:
    text = desk("dataset draft visits.parquet").out
    assert tomllib.loads(text)["tables"]["visits"]["source"] == "visits.parquet"
    assert "# cost = " in text
    assert desk("dataset draft visits.parquet --json --name hospital").json["descriptor"].count('"hospital"') == 2


def test_paths_in_a_draft_start_from_where_it_is_written(desk: Shell) -> None:
    (desk.folder / "declared").mkdir()
    said = desk("dataset draft visits.csv --unit patient_id --out declared/v.toml")
    assert (said.code, said.out) == (0, "")
    text = (desk.folder / "declared" / "v.toml").read_text()
    assert tomllib.loads(text)["tables"]["visits"]["source"] == str(Path("..", "visits.csv"))
    assert desk("dataset draft visits.csv --unit patient_id --out declared/v.toml").code == 2


def test_two_files_of_one_name_cannot_be_two_tables(desk: Shell) -> None:
    refused = desk("dataset draft visits.csv visits.parquet --header yes")
    assert refused.code == 2 and "the same name" in refused.err


RECORD = "138,2025-10-19,north,161.58,gout"
UNSAID = (
    "dataset draft nohead.csv",
    "dataset draft nohead.csv --unit patient_id",
    "init nohead.csv",
    "init nohead.csv --unit patient_id",
    "init nohead.csv --unit row --header no",
    "init nohead.csv --unit patient_id --header yes",
    "dataset draft nohead.csv --unit patient_id --header yes",
    "describe nohead.csv --unit patient_id",
    "describe nohead.csv --unit patient_id --header yes",
    "describe nohead.csv --unit row --bound cost=0:5 --header yes",
    "describe nohead* --unit patient_id",
    "describe nohead.csv --unit patient_id --header no",
    "dataset check checked.toml",
    "prepare nohead.csv --unit patient_id --out out.parquet",
    "publish nohead.csv --method mondrian --k 5 --out out.csv",
    "publish nohead.csv --method mondrian --k 5 --quasi-identifiers region --out out.csv",
    "publish nohead.csv --method mondrian --k 5 --quasi-identifiers region --header yes --out out.csv",
    "publish nohead.csv --method mst --epsilon 1 --delta 1e-6 --domain private --out out.csv",
)


@pytest.mark.parametrize("line", UNSAID)
def test_a_first_line_is_not_shown_before_it_is_known_to_be_a_header(desk: Shell, line: str) -> None:
    (desk.folder / "nohead.csv").write_text(f"{RECORD}\n139,2025-10-20,south,1.5,flu\n" * 20)
    (desk.folder / "checked.toml").write_text(
        """dataset.name = "nohead"
        privacy = { unit = "nohead.patient_id", budget = { epsilon = 1 } }
        tables.nohead = { source = "nohead.csv", header = true, max_rows_per_unit = 5 }"""
    )
    files = set(desk.folder.iterdir())
    said = desk(line)
    assert said.code != 0 and said.out == ""
    assert not any(cell in said.err for cell in RECORD.split(",")), said.err
    assert "first line" in said.err or "--header" in said.err
    assert {file.name for file in set(desk.folder.iterdir()) - files} <= {"nohead.ledger.db"}


def test_columns_without_a_header_are_named_in_a_draft_and_by_init(desk: Shell) -> None:
    (desk.folder / "nohead.csv").write_text(f"{RECORD}\n" * 20)
    names = "patient_id,day,region,cost,ill"
    for line in ("dataset draft nohead.csv --out nohead.toml", f"init nohead.csv {WHOLE.replace('ward', 'region')}"):
        assert desk(f"{line} --header {names}").code == 0
        table = tomllib.loads((desk.folder / "nohead.toml").read_text())["tables"]["nohead"]
        assert table["header"] == names.split(",")
        (desk.folder / "nohead.toml").unlink()
    drafted = tomllib.loads(desk("dataset draft visits.csv --header yes").out)
    assert drafted["tables"]["visits"]["header"] is True


def test_check_refuses_a_draft_and_takes_a_whole_descriptor(desk: Shell) -> None:
    desk("dataset draft visits.parquet --out draft.toml")
    refused = desk("dataset check draft.toml")
    assert refused.code == 5
    assert "privacy.unit is missing" in refused.err
    assert desk(f"init visits.parquet {WHOLE}").code == 0
    taken = desk("dataset check visits.toml")
    assert (taken.code, taken.out) == (0, "visits.toml is fine: 1 table, protecting visits.patient_id.\n")
    assert "no bounds, so no sums, averages or quantiles of code" in taken.err
    assert desk("dataset check visits.toml --json").json["tables"] == ["visits"]
    assert desk("dataset check visits.parquet").code == 2


def test_check_notices_a_source_that_is_gone(desk: Shell) -> None:
    desk(f"init visits.parquet {WHOLE}")
    (desk.folder / "visits.parquet").unlink()
    assert desk("dataset check visits.toml").code == 6


def test_the_schema_is_json(desk: Shell) -> None:
    assert "properties" in desk("dataset schema").json


def test_init_goes_from_a_file_to_a_first_answer(desk: Shell) -> None:
    said = desk(f"init visits.csv {WHOLE} --epsilon 0.5")
    assert said.code == 0, said.err
    assert said.out.startswith("people\n")
    declared = tomllib.loads((desk.folder / "visits.toml").read_text())
    assert declared["privacy"]["unit"] == "visits.patient_id"
    assert declared["privacy"]["budget"] == {"epsilon": 3, "delta": 1e-6}
    assert declared["tables"]["visits"]["max_rows_per_unit"] == 2
    assert declared["tables"]["visits"]["columns"] == {
        "ward": {"values": ["north", "south", "east"]},
        "cost": {"lower": 0, "upper": 1000, "step": 0.01},
    }
    following = said.err.rpartition("Next: hubbub ")[2].strip()
    assert following.startswith("query visits.toml 'SELECT ward, COUNT(DISTINCT patient_id) AS people")
    line, sql = following.split("'")[0], following.split("'")[1]
    assert desk(line, sql, "--epsilon", "0.5").code == 0


def test_init_leaves_blanks_for_what_was_not_said(desk: Shell) -> None:
    said = desk("init visits.parquet --max-rows 2")
    assert said.code == 5
    assert "privacy.unit is missing" in said.err
    assert "max_rows_per_unit = 2" in (desk.folder / "visits.toml").read_text()
    assert desk("init visits.parquet").code == 2  # it is there already
    assert "# unit = ?" in (desk.folder / "visits.toml").read_text()


def test_init_refuses_a_column_that_is_not_there_and_writes_nothing(desk: Shell) -> None:
    said = desk("init visits.parquet --unit patient --budget 1")
    assert said.code == 2
    assert "patient_id" in said.err
    assert not (desk.folder / "visits.toml").exists()


def test_init_asks_on_a_terminal_only(desk: Shell) -> None:
    master, slave = pty.openpty()
    command = [sys.executable, "-m", "hubbub.cli", "init", "visits.parquet"]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, cwd=desk.folder) as process:
        os.write(master, b"patient_id\n2\n3,1e-6\n")
        assert process.wait(60) == 0
    os.close(slave)
    os.close(master)
    declared = tomllib.loads((desk.folder / "visits.toml").read_text())
    assert declared["privacy"]["unit"] == "visits.patient_id"
    assert declared["tables"]["visits"]["max_rows_per_unit"] == 2


def test_a_prepared_copy_answers_like_its_source(desk: Shell) -> None:
    said = desk("prepare visits.parquet --unit patient_id --out ranked.parquet")
    assert said.code == 0
    assert 'source = "ranked.parquet" in the descriptor, or ranked.parquet --name visits in place of' in said.err
    assert desk("prepare visits.parquet --unit patient_id --out ranked.parquet").code == 2  # it is there already
    desk(f"query visits.parquet {FACTS} --budget 3,1e-6 --epsilon 0.1", PEOPLE)
    (desk.folder / "ranked.parquet").replace(desk.folder / "visits.parquet")
    asked = desk(f"query visits.parquet {FACTS} --epsilon 0.1", "SELECT COUNT(*) AS n FROM visits")
    assert asked.code == 0, asked.err
    assert "Opened" not in asked.err
