"""``hubbub ledger``: the book can be read, checked, taken elsewhere and brought back."""

from __future__ import annotations

import json
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hubbub.cli import exit_codes
from hubbub.ledger import Ledger, verify_export
from hubbub.terms import errors
from tests.charging import ask
from tests.cli._shell import COUNT, Shell, question
from tests.postgres import Server

RHO = float(COUNT.event.rho)


def spoil(file: Path, *statements: str) -> None:
    """Change the database behind the ledger's back, past its guards."""
    with sqlite3.connect(file) as connection:
        for verb in ("update", "delete"):
            connection.execute(f"DROP TRIGGER entries_{verb}")
        for statement in statements:
            connection.execute(statement)
    connection.close()


# ---------------------------------------------------------------- exit codes


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (errors.UnknownPopulation, 4),
        (errors.BudgetConflict, 4),
        (errors.RequestChanged, 2),
        (errors.Superseded, 4),
        (errors.NoAnswer, 4),
        (errors.ClockBackwards, 6),
        (errors.LedgerUnavailable, 6),
        (errors.MissingExtra, 6),
        (errors.LedgerDamaged, 7),
        (errors.BehindAnchor, 7),
        (errors.MissingKey, 5),
    ],
)
def test_every_error_of_a_ledger_has_its_exit_code(kind: type[errors.HubbubError], code: int) -> None:
    assert exit_codes.code_of(kind("what", why="why", fix="fix")) == code


# ---------------------------------------------------------------- log


def test_the_log_has_a_line_for_each_entry(shell: Shell) -> None:
    shell.open(rules="--lifetime 2,2e-6")
    shell.open("staff")
    shell("budget disjoint patients staff --by board --why declared")
    shell.ask("men of 26")
    with shell.ledger() as ledger:
        ledger.declare_dataset("hospital", version="1", population="patients", by="board", why="data")
        ledger.change_rules("patients", shares="optional", by="board", why="as it was")
        ledger.reserve(question("dies"))
        ledger.reserve(question("dies"))
        held = ledger.reserve(question("slow"))
        ledger.fail(held, "timeout")  # type: ignore[arg-type]
    shell("budget grant patients --epsilon 0.5 --delta 1e-7 --project beds --analyst ben --by board --why share")
    shell("budget revoke patients --project beds --analyst ben --by board --why gone")
    number = shell("budget request patients --epsilon 0.5 --delta 1e-7 --by ben --why winter").out.strip()
    shell(f"budget refuse {number} --by board --why no")
    shell("ledger erase --before 2999-01-01 --by board --why retention")
    shell("ledger clock --by board --why", "it was wrong")
    told = shell("ledger log")
    lines = [line.split(maxsplit=4) for line in told.out.splitlines()]
    assert [int(line[0]) for line in lines] == list(range(1, len(lines) + 1))
    kinds = [entry["says"]["kind"] for entry in shell("ledger log --json").json["entries"]]
    assert [line[3] for line in lines] == kinds
    assert set(kinds) == {
        *("ledger", "population", "disjoint", "dataset", "rules", "charge", "answer", "attempt", "failure"),
        *("grant", "revoke", "plea", "refusal", "erase", "clock"),
    }
    for words in (
        "public key",
        "patients opened with epsilon = 1, delta = 1e-06: yearly report",
        "patients, staff share nobody: declared",
        "hospital 1 is about patients: data",
        "ana in flu        patients: epsilon = 0.206458, delta = 4.69484e-09 for questions (men of 26)",
        "to charge #5",
        "attempt 2",
        "timeout",
        "patients, project beds, analyst ben, questions: epsilon = 0.5, delta = 1e-07 granted: share",
        "patients, project beds, analyst ben, questions: all of it taken back: gone",
        f"request #{number} refused: no",
        "the answers to charges #5 (1): retention",
        "it was wrong",
    ):
        assert words in told.out


def test_the_log_is_the_newest_fifty_unless_asked(shell: Shell) -> None:
    shell.open()
    with shell.ledger() as ledger:
        for i in range(26):
            ask(ledger, question(f"q{i}"), lambda _: "0")
    numbers = [int(line.split()[0]) for line in shell("ledger log").out.splitlines()]
    assert numbers == list(range(5, 55))
    assert len(shell("ledger log --newest 3").out.splitlines()) == 3
    assert [e["sequence"] for e in shell("ledger log --from 52 --json").json["entries"]] == [52, 53, 54]
    assert [e["sequence"] for e in shell("ledger log --from 2 --newest 1 --json").json["entries"]] == [54]


def test_the_log_of_one_population_counts_its_own_entries(shell: Shell) -> None:
    shell.open()
    shell.open("staff")
    shell("budget disjoint patients staff --why declared")
    shell.ask("flu", of="staff")
    shell.ask("flu", of="staff", project="beds")
    said = shell("ledger log --population patients --json").json
    assert [entry["says"]["kind"] for entry in said["entries"]] == ["population", "disjoint"]
    newest = shell("ledger log --population staff --newest 1 --json").json["entries"]
    assert [entry["says"]["kind"] for entry in newest] == ["answer"]


@pytest.mark.parametrize("line", ["ledger log --newest 0", "ledger log --from 0", "ledger log --from x"])
def test_wrong_numbers_are_usage_errors(shell: Shell, line: str) -> None:
    shell.open()
    assert shell(line).code == 2


# ---------------------------------------------------------------- verify


def test_a_whole_ledger_verifies(shell: Shell) -> None:
    shell.open()
    shell.ask("flu")
    said = shell("ledger verify")
    assert (said.code, said.err) == (0, "")
    assert said.out.endswith("ok\n")
    found = shell("ledger verify --json").json
    assert (found["ok"], found["entries"], found["anchored_to"]) == (True, 4, 4)
    assert shell("ledger verify --without-anchor --json").json["anchored_to"] is None


def test_verify_lists_what_is_wrong_with_a_book_that_no_longer_opens(shell: Shell) -> None:
    shell.open()
    shell.ask("flu")
    spoil(shell.file, "UPDATE entries SET body = replace(body, 'ana', 'bob') WHERE sequence = 3")
    said = shell("ledger verify")
    assert (said.code, said.err) == (7, "")
    assert "PROBLEM entry 3 is altered" in said.out
    assert shell("ledger verify --json").json["ok"] is False


def test_verify_notices_a_cut_tail_unless_told_to_do_without_the_anchor(shell: Shell) -> None:
    shell.open()
    shell("budget grant patients --epsilon 0.1 --delta 1e-8 --project flu --why share")
    spoil(shell.file, "DELETE FROM entries WHERE sequence = 3", "DELETE FROM totals WHERE account LIKE '%/flu/%'")
    assert shell("budget show").code == 7
    said = shell("ledger verify")
    assert said.code == 7
    assert "entry 3 was anchored and is gone" in said.out
    assert shell("ledger verify --without-anchor").code == 0


def test_verify_of_a_book_without_its_first_entry_is_no_crash(shell: Shell) -> None:
    shell.open()
    spoil(shell.file, "DELETE FROM entries WHERE sequence = 1")
    said = shell("ledger verify")
    assert said.code == 7
    assert "PROBLEM" in said.out


def test_verify_compares_the_public_key(shell: Shell) -> None:
    shell.open()
    with shell.ledger() as ledger:
        key = ledger.public_key
    assert shell(f"ledger verify --public-key {key.upper()}").code == 0
    said = shell(f"ledger verify --public-key {'0' * 64}")
    assert said.code == 7
    assert "another public key" in said.out


def test_a_file_that_is_no_ledger_fails_the_check(shell: Shell) -> None:
    shell.file.write_text("something else")
    assert shell("ledger verify").code == 7
    assert shell("budget show").code == 7


# ---------------------------------------------------------------- export


def test_an_export_is_json_lines_that_verify_anywhere(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.open()
    shell.ask("flu")
    told = shell("ledger export")
    lines = [json.loads(line) for line in told.out.splitlines()]
    assert (lines[0], told.err) == ({"form": "hubbub-ledger/1"}, "")
    assert not any("answer_to" in line for line in lines)
    said = shell("ledger export --answers --out book.jsonl")
    assert said.out == f"wrote {len(lines) + 1} lines into book.jsonl\n"
    assert verify_export(Path("book.jsonl")).ok
    with shell.ledger() as ledger:
        key = ledger.public_key
    shell.file.unlink()
    monkeypatch.setenv("HUBBUB_STATE", str(shell.folder / "elsewhere"))
    assert shell(f"ledger verify book.jsonl --public-key {key}").code == 0
    assert shell(f"ledger verify book.jsonl --public-key {'0' * 64}").code == 7


def test_an_export_is_one_document_if_asked(shell: Shell) -> None:
    shell.open()
    lines = [json.loads(line) for line in shell("ledger export").out.splitlines()]
    assert shell("ledger export --json").json == {"kind": "export", "content": lines}
    assert shell("ledger export --json --out x.jsonl").json == {
        "kind": "export",
        "file": "x.jsonl",
        "lines": len(lines),
    }


def test_an_altered_or_foreign_export_fails(shell: Shell) -> None:
    shell.open()
    shell("ledger export --out book.jsonl")
    book = Path("book.jsonl")
    book.write_text(book.read_text().replace("yearly", "weekly"))
    said = shell("ledger verify book.jsonl")
    assert (said.code, "altered" in said.out) == (7, True)
    book.write_text("{}\n")
    assert shell("ledger verify book.jsonl").code == 5
    assert shell("ledger verify missing.jsonl").code == 5


def test_an_export_that_cannot_be_written_leaves_nothing_behind(shell: Shell) -> None:
    shell.open()
    Path("folder").mkdir()
    said = shell("ledger export --out folder")
    assert (said.code, said.out) == (2, "")
    assert "cannot write folder" in said.err
    assert list(shell.folder.glob("*.part")) == []


def test_a_closed_pipe_is_no_traceback(shell: Shell) -> None:
    shell.open(budget="--epsilon 50 --delta 1e-6")
    with shell.ledger() as ledger:
        for i in range(200):
            ask(ledger, question(f"q{i}", project="p" * 90), lambda _: "0")
    command = [sys.executable, "-m", "hubbub.cli", "ledger", "export"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(60)


# ---------------------------------------------------------------- backup and restore


def test_a_backup_never_overwrites(shell: Shell) -> None:
    shell.open()
    assert shell("ledger backup copy.db --json").json == {"kind": "backup", "file": "copy.db", "last_entry": 2}
    said = shell("ledger backup copy.db")
    assert (said.code, said.out) == (6, "")


def test_an_old_backup_put_in_place_is_refused_and_restored_with_the_gap_as_spent(shell: Shell) -> None:
    shell.open()
    shell("ledger backup copy.db")
    shell.ask("flu")
    shell.ask("asthma")
    spent = shell("budget show patients --json").json["accounts"][0]["spent"]["loss"]
    shell.file.unlink()
    shutil.copyfile("copy.db", shell.file)
    said = shell("budget show")
    assert (said.code, "P416" in said.err) == (7, True)
    assert shell("ledger restore copy.db --why again").code == 6  # the place holds a ledger
    shell.file.unlink()
    said = shell("ledger restore copy.db --by board --why", "the disk died")
    assert said.code == 0
    assert "entries 3 to 6 are lost; what patients (questions) spent since then is counted: the disk died" in said.out
    assert shell("budget show patients --json").json["accounts"][0]["spent"]["loss"] == spent == pytest.approx(2 * RHO)
    assert shell("ledger verify").code == 0
    step = shell("budget history patients --json").json["steps"][-1]
    assert (step["what"], step["number"]) == ("restored", 7)


@pytest.mark.parametrize(
    ("grants", "words"),
    [(0, "no entry is lost; nothing was spent since then"), (1, "entry 3 is lost; nothing was spent since then")],
)
def test_a_restore_says_what_is_lost(shell: Shell, grants: int, words: str) -> None:
    shell.open(rules="--lifetime 2,2e-6")
    shell("ledger backup copy.db")
    for _ in range(grants):
        shell("budget grant patients --epsilon 0.1 --delta 1e-8 --why more")
    shell.file.unlink()
    assert words in shell("ledger restore copy.db --why died").out


def test_without_an_anchor_only_spending_all_restores(shell: Shell) -> None:
    shell.open()
    shell("ledger backup copy.db")
    shell.file.unlink()
    for anchor in Path("state").rglob("*.anchor"):
        anchor.unlink()
    said = shell("ledger restore copy.db --why died")
    assert (said.code, "--spend-all" in said.err) == (7, True)
    entry = shell("ledger restore copy.db --spend-all --why died --json").json["entry"]
    assert entry["says"]["kind"] == "restore"
    assert shell("budget show patients --json").json["accounts"][0]["left"]["loss"] == 0


def test_nothing_is_written_without_the_key(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    shell.open()
    monkeypatch.setenv("HUBBUB_STATE", str(shell.folder / "elsewhere"))
    said = shell("budget grant patients --epsilon 0.1 --delta 1e-8 --project flu --why x")
    assert (said.code, said.out) == (5, "")
    assert shell("budget show").code == 0
    assert shell("ledger verify").code == 7  # no anchor there
    assert shell(f"ledger verify --state {shell.folder / 'state'}").code == 0


# ---------------------------------------------------------------- erase and clock


def test_answers_are_erased_by_date_or_by_charge(shell: Shell) -> None:
    shell.open()
    shell.ask("flu")
    shell.ask("asthma")
    assert shell("ledger erase --before 2001-01-01T12:00+02:00 --why old --json").json["answers"] == 0
    assert shell("ledger erase --charge 3 --why", "asked to").out == "erased 1 answer\n"
    assert shell("ledger erase --before 2999-01-01 --why retention").out == "erased 1 answer\n"
    assert '"record":"' not in shell("ledger export --answers").out
    assert shell("ledger verify").code == 0


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ledger erase --why x", "--charge"),
        ("ledger erase --before 2025-01-01 --charge 3 --why x", "--charge"),
        ("ledger erase --before yesterday --why x", "yesterday"),
        ("ledger erase --before 2025-01-01", "--why"),
        ("ledger erase --charge 2 --why x", "P102"),
        ("ledger erase --charge 99 --why x", "P102"),
    ],
)
def test_erasing_must_say_what_and_why(shell: Shell, line: str, words: str) -> None:
    shell.open()
    shell.ask("flu")
    said = shell(line)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert '"record":"' in shell("ledger export --answers").out


def test_a_clock_that_went_back_stops_the_ledger_until_it_is_accepted(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hubbub.ledger import open_ledger

    shell.open()
    now = open_ledger.time.time_ns()
    monkeypatch.setattr(open_ledger.time, "time_ns", lambda: now - 3600 * 10**9)
    grant = "budget grant patients --epsilon 0.1 --delta 1e-8 --project flu --why x"
    said = shell(grant)
    assert (said.code, "P413" in said.err) == (6, True)
    assert shell("ledger clock --why", "it was an hour ahead").code == 0
    assert shell(grant).code == 0


# ---------------------------------------------------------------- PostgreSQL


@pytest.fixture
def database(component: Callable[[str], str]) -> Iterator[str]:
    """The URL of an empty database of a real server."""
    server = Server(component("postgres"))
    try:
        server.make()
        yield server.new_database()
    finally:
        server.remove()


def test_a_ledger_in_postgresql_is_named_by_its_url(
    shell: Shell, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HUBBUB_LEDGER", database)
    shell.open()
    with Ledger(database) as ledger:
        ask(ledger, question("flu"), lambda _: "0")
    assert shell("budget show patients --json").json["accounts"][0]["spent"]["loss"] == pytest.approx(RHO)
    assert len(shell("ledger log").out.splitlines()) == 4
    assert shell("ledger verify").code == 0
    assert shell("ledger backup copy.db").code == 0
    assert shell("ledger verify --ledger copy.db").code == 0
