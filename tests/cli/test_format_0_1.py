"""Folders and files that ``hubbub`` of version 0.1 wrote, on today's command line. The fixtures are never edited."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.cli._shell import Shell

FIXTURES = Path(__file__).parents[1] / "fixtures"
GOPA = FIXTURES / "gopa" / "format-1" / "cli"
LOCAL = FIXTURES / "local" / "format-1"


@pytest.fixture
def run(tmp_path: Path) -> dict[str, object]:
    """The files of a run, in the folder of the shell; what ``hubbub gopa verify`` of 0.1 said of them."""
    for path in GOPA.iterdir():
        shutil.copy(path, tmp_path / path.name)
    document: dict[str, object] = json.loads((GOPA / "verified.json").read_text())
    return document


def test_a_log_verifies_against_agreement_roster_and_run(shell: Shell, run: dict[str, object]) -> None:
    for pin in ("--agreement agreement.json", "--roster roster.txt", f"--run {run['run']}"):
        found = shell(f"gopa verify run.log {pin} --json")
        assert found.code == 0
        assert {name: found.json[name] for name in run.keys() - {"achieved"}} == {
            name: run[name] for name in run.keys() - {"achieved"}
        }
        assert found.json["achieved"] == pytest.approx(run["achieved"])


def test_a_board_reads_the_log_and_key_of_its_run(shell: Shell, run: dict[str, object]) -> None:
    """The run is over: the board says so, and the log stays as it was."""
    before = Path("run.log").read_bytes()
    found = shell("gopa board agreement.json --key board.key --log run.log --port 0 --linger 0.1")
    assert found.code == 0 and str(run["run"]) in found.out + found.err
    assert Path("run.log").read_bytes() == before


def test_a_collectors_folder_is_gone_on_with(shell: Shell, tmp_path: Path) -> None:
    shutil.copytree(LOCAL / "fruit", tmp_path / "fruit")
    expected = json.loads((LOCAL / "fruit.json").read_text())
    found = shell("collect estimate fruit --json").json
    same = ("collection", "digest", "question", "epoch", "reports", "minimum_batch", "epochs", "refused", "receipt")
    assert {name: found[name] for name in same} == {name: expected[name] for name in same}
    assert found["estimate"]["values"] == pytest.approx(expected["estimate"]["values"])
    assert found["epsilon"] == expected["epsilon"]
    assert len(shell("collect tokens fruit --count 2").out.split()) == 2
    assert shell("collect export fruit reports.parquet").code == 0
