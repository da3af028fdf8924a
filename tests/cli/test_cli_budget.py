"""``hubbub budget``: owners decide, analysts ask for more, everybody can look."""

from __future__ import annotations

import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli._shell import COUNT, Shell, question

RHO = float(COUNT.event.rho)


def test_help_of_the_ledger_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom hubbub.cli import main\n"
        "for command in ('budget', 'ledger'):\n"
        "    try: main([command, '--help'])\n    except SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'sqlalchemy', 'cryptography', 'hubbub.explain', 'hubbub.ledger'}\n"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (told.returncode, told.stderr) == (0, "")


# ---------------------------------------------------------------- open


def test_open_begins_a_ledger_and_names_its_public_key(shell: Shell) -> None:
    said = shell.open()
    with shell.ledger() as ledger:
        assert ledger.public_key in said.err
        assert str(ledger.state) in said.err
        assert ledger.populations()["patients"].promised.measure().describe() == "epsilon = 1, delta = 1e-06"
    assert "epsilon = 1, delta = 1e-06" in said.out
    assert shell.open("staff").err == ""


def test_open_takes_every_rule(shell: Shell) -> None:
    shell.open(
        budget="--epsilon 3 --delta 1e-6",
        rules="--plans 1,5e-7 --lifetime 6,2e-6 --plans-lifetime 2,5e-7 --each 0.5,1e-7 --window month=1,1e-7 "
        "--neighbours replace --unit patients.id --shares required --share-answers",
    )
    with shell.ledger() as ledger:
        who = ledger.populations()["patients"]
    words = {pool.value: budget.measure().describe() for pool, budget in who.pools.items() if budget}
    assert words == {"questions": "epsilon = 2, delta = 5e-07", "plans": "epsilon = 1, delta = 5e-07"}
    lifetimes = {pool.value: budget.measure().describe() for pool, budget in who.lifetimes.items() if budget}
    assert lifetimes == {"questions": "epsilon = 4, delta = 1.5e-06", "plans": "epsilon = 2, delta = 5e-07"}
    assert who.each is not None
    assert who.each.measure().describe() == "epsilon = 0.5, delta = 1e-07"
    assert who.window is not None
    assert (who.window.every, who.window.budget.measure().describe()) == ("month", "epsilon = 1, delta = 1e-07")
    assert (who.neighbours, who.unit, who.shares, who.share_answers) == ("replace", "patients.id", "required", True)


def test_amounts_of_a_rho_budget_are_rhos(shell: Shell) -> None:
    shell.open(budget="--rho 0.5", rules="--plans 0.1 --each 0.01 --window day=0.02")
    with shell.ledger() as ledger:
        who = ledger.populations()["patients"]
    assert who.each is not None
    assert who.window is not None
    assert (who.each.rho, who.window.budget.rho) == (Fraction("0.01"), Fraction("0.02"))


def test_numbers_are_the_decimals_that_were_typed(shell: Shell) -> None:
    shell.open(budget="--epsilon 0.1")
    entry = shell("ledger log --newest 1 --json").json["entries"][0]
    assert entry["says"]["budget"]["epsilon"] == "0.1"


def test_who_is_logged_in_decides_unless_said_otherwise(shell: Shell) -> None:
    assert shell("budget open patients --epsilon 1 --why report").code == 0
    assert shell("ledger log --newest 1 --json").json["entries"][0]["says"]["by"] == "olga"


def test_the_environment_names_the_ledger(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUBBUB_LEDGER", "other.db")
    shell.open()
    assert (shell.folder / "other.db").exists()
    assert not shell.file.exists()
    assert shell("budget show --ledger hubbub.db").code == 6


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("budget open patients --epsilon 1", "--why"),
        ("budget open patients --why x", "--epsilon"),
        ("budget open patients --delta 1e-6 --why x", "--epsilon"),
        ("budget open patients --epsilon 1 --rho 1 --why x", "--rho"),
        ("budget open patients --epsilon 0 --why x", "P102"),
        ("budget open patients --epsilon much --why x", "P101"),
        ("budget open patients --epsilon 1 --delta 1 --why x", "P102"),
        ("budget open pat/ients --epsilon 1 --why x", "P102"),
        ("budget open patients --epsilon 1 --window 0.5 --why x", "EVERY=AMOUNT"),
        ("budget open patients --epsilon 1 --window month= --why x", "EVERY=AMOUNT"),
        ("budget open patients --epsilon 1 --window fortnight=0.5 --why x", "fortnight"),
        ("budget open patients --epsilon 1 --each , --why x", "P101"),
        ("budget open patients --epsilon 1 --neighbours cousins --why x", "cousins"),
        ("budget open patients --epsilon 1 --shares some --why x", "some"),
        ("budget grant patients --why x", "--epsilon"),
        ("budget grant patients --epsilon 1 --pool car --why x", "car"),
        ("budget refuse one --why x", "NUMBER"),
        ("budget disjoint patients --why x", "P104"),
        ("budget show --svg pictures", "--svg"),
    ],
)
def test_wrong_input_is_a_usage_error_and_writes_nothing(shell: Shell, line: str, words: str) -> None:
    shell.open("there", budget="--epsilon 1")
    before = shell("ledger log --json").out
    said = shell(line)
    assert (said.code, said.out) == (2, "")
    assert words in said.err
    assert "Traceback" not in said.err
    assert shell("ledger log --json").out == before


def test_a_population_cannot_be_opened_twice_with_another_budget(shell: Shell) -> None:
    shell.open()
    said = shell("budget open patients --epsilon 2 --delta 1e-6 --why more")
    assert (said.code, said.out) == (4, "")
    assert "P404" in said.err


@pytest.mark.parametrize(
    "line",
    [
        "budget show",
        "budget show patients",
        "budget history",
        "budget grant patients --epsilon 1 --why x",
        "budget revoke patients --why x",
        "budget request patients --epsilon 1 --why x",
        "budget refuse 1 --why x",
        "budget disjoint a b --why x",
        "ledger log",
        "ledger verify",
        "ledger export",
        "ledger backup new.db",
        "ledger restore no.db --why x",
        "ledger erase --before 2025-01-01 --why x",
        "ledger clock --why x",
    ],
)
def test_only_open_makes_a_ledger(shell: Shell, line: str) -> None:
    said = shell(line)
    assert (said.code, said.out) == (6, "")
    assert "P414" in said.err
    assert list(shell.folder.iterdir()) == []


# ---------------------------------------------------------------- look


def test_show_lists_every_population_and_what_is_asked_for(shell: Shell) -> None:
    shell.open()
    shell.open("staff", budget="--rho 0.5")
    shell("budget disjoint patients staff --why", "nobody is both")
    shell.ask("flu")
    shell("budget request staff --rho 0.1 --project beds --analyst ben --by ben --why", "winter is coming")
    told = shell("budget show")
    assert (told.code, told.err) == (0, "")
    spent = {line.split()[0]: line for line in told.out.splitlines() if "questions" in line}
    assert f"rho {RHO:.4g}" in spent["patients"]
    assert f"rho {RHO:.4g}" not in spent["staff"]
    assert "ben in beds" in told.out
    assert "winter is coming" in told.out
    document = shell("budget show --json").json
    assert [one["population"] for one in document["populations"]] == ["patients", "staff"]
    assert document["populations"][1]["requests"][0]["why"] == "winter is coming"


def test_show_without_populations_says_so(shell: Shell) -> None:
    shell.ledger().close()
    assert shell("budget show").out.startswith("No populations")
    assert shell("budget show --json").json["populations"] == []


def test_what_is_reserved_has_a_column_only_if_there_is_some(shell: Shell) -> None:
    shell.open()
    assert "reserved" not in shell("budget show").out
    with shell.ledger() as ledger:
        ledger.reserve(question("dies"))
    assert f"rho {RHO:.4g}" in shell("budget show").out
    assert "reserved" in shell("budget show").out


def test_show_of_one_is_the_leaflet(shell: Shell, tmp_path: Path) -> None:
    shell.open()
    shell.ask("flu")
    assert "out of 100" in " ".join(shell("budget show patients").out.split())
    told = shell(f"budget show patients --json --svg {tmp_path / 'pictures'} --html {tmp_path / 'page.html'}")
    assert told.json["accounts"][0]["spent"]["loss"] == pytest.approx(RHO)
    assert told.err.count("wrote ") == 2
    (picture,) = (tmp_path / "pictures").iterdir()
    ElementTree.parse(picture)
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


@pytest.mark.parametrize("line", ["budget show nobody", "budget history nobody", "ledger log --population nobody"])
def test_an_unknown_population_is_refused_with_the_known_ones(shell: Shell, line: str) -> None:
    shell.open()
    said = shell(line)
    assert (said.code, said.out) == (4, "")
    assert "Known: patients" in said.err


# ---------------------------------------------------------------- grant, revoke, request, refuse, disjoint


def test_grants_reach_the_lifetime_and_no_further_unless_the_promise_is_broken(shell: Shell) -> None:
    shell.open(rules="--lifetime 2,2e-6")
    assert "epsilon = 2, delta = 2e-06" in shell("budget grant patients --epsilon 1 --delta 1e-6 --why more").out
    assert shell("budget grant patients --epsilon 1 --delta 1e-6 --why more").code == 4
    said = shell("budget grant patients --epsilon 1 --delta 1e-6 --why more --raise-lifetime --json")
    assert said.json["lifetime_raised"] == 1


def test_a_share_binds_beneath_the_population(shell: Shell) -> None:
    shell.open()
    said = shell("budget grant patients --epsilon 0.3 --delta 1e-7 --project flu --analyst ana --why share --json")
    assert [share["account"] for share in said.json["shares"]] == ["project flu analyst ana"]
    assert said.json["accounts"][0]["budget"] == "epsilon = 1, delta = 1e-06"


def test_grants_and_revocations_name_their_pool(shell: Shell) -> None:
    shell.open(budget="--epsilon 2 --delta 2e-6", rules="--plans 1,1e-6 --lifetime 4,4e-6 --plans-lifetime 2,2e-6")
    said = shell("budget grant patients --epsilon 0.5 --delta 1e-7 --pool plans --why more --json").json
    assert {one["pool"]: one["budget"] for one in said["accounts"]} == {
        "questions": "epsilon = 1, delta = 1e-06",
        "plans": "epsilon = 1.5, delta = 1.1e-06",
    }
    said = shell("budget revoke patients --epsilon 0.5 --delta 1e-7 --pool plans --why less --json").json
    assert {one["budget"] for one in said["accounts"]} == {"epsilon = 1, delta = 1e-06"}


def test_a_revocation_takes_a_part_or_all(shell: Shell) -> None:
    shell.open()
    assert "epsilon = 0.75" in shell("budget revoke patients --epsilon 0.25 --delta 1e-7 --why less").out
    assert "nothing" in shell("budget revoke patients --why gone").out
    assert shell("budget revoke patients --why again").code == 4


def test_a_request_is_a_number_that_a_grant_answers(shell: Shell) -> None:
    shell.open()
    asked = shell("budget request patients --epsilon 0.5 --delta 1e-7 --project beds --analyst ben --why winter")
    number = int(asked.out)
    assert f"--request {number}" in asked.err
    granted = shell(f"budget grant patients --request {number} --why ok --json").json
    assert [(s["account"], s["budget"]) for s in granted["shares"]] == [
        ("project beds analyst ben", "epsilon = 0.5, delta = 1e-07")
    ]
    assert granted["requests"] == []
    assert shell(f"budget grant patients --request {number} --why ok").code == 4


def test_a_grant_may_answer_a_request_with_less(shell: Shell) -> None:
    shell.open()
    number = shell("budget request patients --epsilon 0.5 --delta 1e-7 --project beds --why winter --json").json[
        "number"
    ]
    said = shell(
        f"budget grant patients --request {number} --epsilon 0.1 --delta 1e-8 --project beds --why some --json"
    )
    assert said.json["shares"][0]["budget"] == "epsilon = 0.1, delta = 1e-08"
    assert said.json["requests"] == []


def test_a_request_of_another_population_is_not_granted_by_number(shell: Shell) -> None:
    shell.open()
    shell.open("staff")
    number = shell("budget request staff --epsilon 0.5 --delta 1e-7 --why winter").out.strip()
    assert shell(f"budget grant patients --request {number} --why ok").code == 4
    assert shell("budget show staff --json").json["requests"] != []


def test_a_refused_request_is_closed(shell: Shell) -> None:
    shell.open()
    number = shell("budget request patients --epsilon 0.5 --delta 1e-7 --why winter").out.strip()
    assert shell(f"budget refuse {number} --why no --json").json == {"kind": "refusal", "request": int(number)}
    assert shell("budget show patients --json").json["requests"] == []
    assert shell(f"budget refuse {number} --why no").code == 4


def test_disjoint_populations_pay_for_themselves_alone(shell: Shell) -> None:
    shell.open()
    shell.open("staff")
    shell.ask("both pay")
    assert shell("budget disjoint patients staff --why declared --json").json["populations"] == ["patients", "staff"]
    shell.ask("one pays")
    spent = [one["accounts"][0]["spent"]["loss"] for one in shell("budget show --json").json["populations"]]
    assert spent == [pytest.approx(2 * RHO), pytest.approx(RHO)]


# ---------------------------------------------------------------- history


def test_history_tells_every_change_with_the_total_after_it(shell: Shell) -> None:
    shell.open(rules="--lifetime 2,2e-6")
    shell.ask("flu")
    shell.ask("flu")  # free: no step
    shell.ask("flu", project="beds", analyst="ben")
    shell("budget grant patients --epsilon 0.5 --delta 1e-7 --by board --why more")
    shell("budget grant patients --epsilon 0.2 --delta 1e-7 --project beds --by board --why share")
    number = shell("budget request patients --epsilon 0.5 --delta 1e-7 --by ben --why winter").out.strip()
    shell(f"budget refuse {number} --by board --why no")
    shell("budget revoke patients --project beds --by board --why gone")
    steps = shell("budget history patients --json").json["steps"]
    assert [(step["what"], step["who"]) for step in steps] == [
        ("opened", "board"),
        ("charged", "ana in flu"),
        ("charged", "ben in beds"),
        ("granted", "board"),
        ("granted", "board"),
        ("requested", "ben"),
        ("refused", "board"),
        ("revoked", "board"),
    ]
    assert [step["kind"] for step in steps] == ["budget", "spent", "spent", "budget", "share", "", "", "share"]
    assert steps[3]["total"]["epsilon"] == "1.5"
    assert (steps[4]["share"], steps[7]["total"]) == ("beds", None)
    lines = shell("budget history patients").out.splitlines()
    assert lines[0].split()[0] == "number"
    assert [int(line.split()[0]) for line in lines[1:]] == [step["number"] for step in steps]
    assert "spent epsilon = 0.412917, delta = 9.38968e-09" in lines[3]
    assert lines[8].endswith("share of beds: nothing")


def test_history_has_json_lines(shell: Shell) -> None:
    shell.open()
    shell.ask("flu")
    lines = [json.loads(line) for line in shell("budget history --jsonl").out.splitlines()]
    assert lines == shell("budget history --json").json["steps"]


def test_history_of_one_leaves_the_others_out(shell: Shell) -> None:
    shell.open()
    shell.open("staff")
    shell.ask("flu", of="staff")
    assert {s["population"] for s in shell("budget history --json").json["steps"]} == {"patients", "staff"}
    steps = shell("budget history staff --json").json["steps"]
    assert [(s["population"], s["what"]) for s in steps] == [("staff", "opened"), ("staff", "charged")]


def test_words_of_others_cannot_steer_the_terminal(shell: Shell) -> None:
    shell.open()
    shell("budget grant patients --epsilon 0.1 --delta 1e-8 --project flu --why", "red\x1b[31m\nand a new line")
    shell("budget request patients --epsilon 0.1 --delta 1e-8 --by", "be\x1bn", "--why", "\x1b]0;title\x07")
    for line in ("budget show", "budget history", "ledger log"):
        said = shell(line)
        assert said.code == 0
        assert "\x1b" not in said.out
        assert "\x07" not in said.out
