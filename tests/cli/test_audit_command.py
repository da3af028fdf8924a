"""``hubbub audit``: other people's code from the current folder, typed inputs, and exit codes."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path

import pytest
import typer

from hubbub.audit import zoo
from hubbub.audit._subprocess import CannotLoad, parse_literal, run_apart
from hubbub.cli import _build_app
from tests.cli._shell import Shell

DOCS = Path(__file__).parents[2] / "docs"
MINE = """
import os, subprocess, time
import numpy as np

rng = np.random.default_rng(1)

def noisy(value):
    return int(rng.geometric(1 - np.exp(-1)) - rng.geometric(1 - np.exp(-1))) + value

def quick(value, size):
    print("hello from the mechanism")
    return rng.geometric(1 - np.exp(-2), size) - rng.geometric(1 - np.exp(-2), size) + value

def total(values):
    return noisy(sum(values))

def fails(value):
    raise ValueError("secret 4711")

def leaves(value):
    os._exit(3)

def stubborn(value):
    while True:
        try:
            time.sleep(1)
        except BaseException:
            pass

def leaves_a_child(value):
    print("child", subprocess.Popen(["sleep", "600"]).pid, flush=True)
    os._exit(3)

class Inside:
    noisy = staticmethod(noisy)

number = 3
"""


@pytest.fixture
def mine(shell: Shell) -> Shell:
    (shell.folder / "mine.py").write_text(MINE, encoding="utf-8")
    (shell.folder / "broken.py").write_text("1 / 0\n", encoding="utf-8")
    return shell


def test_where_a_mechanism_prints_nothing_stderr_has_our_sentence_alone(mine: Shell) -> None:
    said = mine("audit mine:noisy --a 0 --b 1 --claim 1 --trials 400 --json")
    assert said.code == 0
    assert re.fullmatch(r"Not refuted: .*\n", said.err)


def test_a_refuted_claim_ends_with_the_code_of_a_failed_verification(mine: Shell) -> None:
    said = mine("audit mine:quick --a 0 --b 1 --claim 1 --vectorized --trials 20000 --json --html page.html")
    assert said.code == 7
    assert said.json["refuted"]
    assert 1.5 < said.json["bound"] < 2
    assert "hello from the mechanism" in said.err
    assert "Refuted" in said.err
    assert "mine:quick" in (mine.folder / "page.html").read_text(encoding="utf-8")


def test_a_claim_that_stands_ends_well(mine: Shell) -> None:
    said = mine("audit mine:noisy --a 0 --b 1 --claim 1 --trials 5000 --svg pictures")
    assert said.code == 0
    assert "Not refuted" in said.out
    assert {path.name for path in (mine.folder / "pictures").iterdir()} == {"bound.svg", "roc.svg"}


def test_without_a_claim_there_is_nothing_to_refute(mine: Shell) -> None:
    assert mine("audit mine:Inside.noisy --a 0 --b 5 --trials 2000 --json").code == 0


def test_inputs_come_from_files_too(mine: Shell) -> None:
    (mine.folder / "a.json").write_text("[1, 2, 3]\n", encoding="utf-8")
    said = mine("audit mine:total --a @a.json --trials 2000 --json --b", "(1, 2, 3, 1)")
    assert said.code == 0, said.err
    assert said.json["bound"] < 1.2


@pytest.mark.parametrize(
    ("name", "words"), [("fails", "it raised ValueError on a"), ("leaves", "ended with code 3 and no answer")]
)
def test_what_cannot_be_audited_has_no_bound_and_another_code(mine: Shell, name: str, words: str) -> None:
    said = mine(f"audit mine:{name} --a 0 --b 1 --trials 1000 --claim 1 --json")
    assert said.code == 2
    assert said.json["bound"] is None
    assert words in said.json["problem"]
    assert "4711" not in said.out + said.err


def test_processes_that_it_started_end_with_it(mine: Shell) -> None:
    said = mine("audit mine:leaves_a_child --a 0 --b 1 --trials 1000 --timeout 60 --json")
    assert said.json["bound"] is None
    started = re.search(r"child (\d+)", said.err)
    assert started is not None
    for _ in range(200):  # a signal takes a moment to arrive
        if not running(started[1]):
            break
        time.sleep(0.05)
    assert not running(started[1])


def running(process: str) -> bool:
    """Whether it is there and no zombie that nobody has asked after."""
    try:
        return Path(f"/proc/{process}/stat").read_text().split()[2] != "Z"
    except OSError:
        return False


def test_one_that_never_returns_is_ended(mine: Shell) -> None:
    options = {"trials": 1000, "delta": 0, "confidence": 0.95, "claim": 1, "neighbours": "replace", "low_bits": True}
    found, _ = run_apart("mine:stubborn", "0", "1", timeout=0.5, grace=4.0, vectorized=False, **options)
    assert found.bound is None
    assert "did not finish in time" in found.problem
    assert found.neighbours.value == "replace"


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("audit", "give MODULE:NAME"),
        ("audit mine:noisy --a 0", "give MODULE:NAME"),
        ("audit mine --a 0 --b 1", "is not MODULE:NAME"),
        ("audit mine:nothing --a 0 --b 1", "mine has no nothing"),
        ("audit mine:number --a 0 --b 1", "is not something to call"),
        ("audit nowhere:noisy --a 0 --b 1", "cannot be imported: ModuleNotFoundError"),
        ("audit broken:noisy --a 0 --b 1", "cannot be imported: ZeroDivisionError"),
        ("audit mine:noisy --a zero --b 1", "neither JSON nor a Python literal"),
        ("audit mine:noisy --a @missing --b 1", "cannot read missing"),
        ("audit mine:noisy --a 0 --b 1 --claim much", "claim must be a number"),
        ("audit mine:noisy --a 0 --b 1 --delta 2", "delta must lie in"),
        ("audit mine:noisy --a 0 --b 1 --trials 5", "trials must be a whole number"),
        ("audit mine:noisy --a 0 --b 1 --neighbours twins", "neighbours"),
    ],
)
def test_wrong_commands_are_told_apart_from_wrong_mechanisms(mine: Shell, line: str, words: str) -> None:
    said = mine(line)
    assert said.code == 2
    assert words in " ".join(said.err.split())
    assert said.out == ""


def test_inputs_are_read_as_values_and_never_run() -> None:
    assert parse_literal("{'a': (1, None)}") == {"a": (1, None)}
    assert parse_literal('{"a": [1, null]}') == {"a": [1, None]}
    for text in ("__import__('os')", "print(1)", "", "["):
        with pytest.raises(CannotLoad):
            parse_literal(text)


def test_the_zoo_is_a_table(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    few = {name: exhibit for name, exhibit in zoo.EXHIBITS.items() if "coin" in name or "two" in name}
    monkeypatch.setattr(zoo, "EXHIBITS", few)
    said = shell("audit --zoo --trials 5000 --json")
    assert said.code == 0
    assert [one["name"] for one in json.loads(said.out)["exhibits"]] == list(few)
    assert "auditing 2 broken mechanisms" in said.err
    assert "sensitivity off by two" in shell("audit --zoo --trials 1000").out


def test_the_guide_names_every_option() -> None:
    page = (DOCS / "audit.md").read_text(encoding="utf-8")
    command = typer.main.get_command(_build_app()).commands["audit"]  # type: ignore[attr-defined]
    options = [option for parameter in command.params for option in parameter.opts if option.startswith("--")]
    assert len(options) >= 14
    assert [option for option in options if not re.search(rf"`{option}\b", page)] == []
