"""``hubbub gopa``: plans, keys, agreements, certificates and simulations. Runs between processes are in tests/gopa."""

from __future__ import annotations

import io
import json
import math
import re
import stat
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

from hubbub.cli.options.gopa_files import read_roster, write_identity
from hubbub.cli.output.gopa_progress import Phases
from hubbub.gopa import Agreement, Identity, Sensitivity, plan
from hubbub.gopa.in_process import RunResult, people, run
from hubbub.gopa.network.board_server import Standing
from hubbub.gopa.network.party_log import Diary
from tests.cli._shell import Shell

NAMES = ("ann", "bob", "cat", "dan", "eve")
AGREE = "gopa agree a.json --roster roster --epsilon 2 --delta 1e-3 --honest 0.8 --dropouts 0.2"


@pytest.fixture(scope="module")
def told() -> RunResult:
    """A run in which one party leaves before its reveal, made without a network."""
    agreed = plan(20, 0.2, 7, honest=Fraction(5, 7), dropouts=Fraction(2, 7), steps=3)
    return run(people(7, planned=agreed), [[place % 4] for place in range(7)], drops={6: "reveal"})


@pytest.fixture
def log(shell: Shell, told: RunResult) -> Path:
    path = shell.folder / "run.log"
    path.write_bytes(b"".join(line + b"\n" for line in told.log))
    return path


@pytest.fixture
def board_key(shell: Shell) -> str:
    """Five identities with a roster, and a board's; gives the board's public key."""
    made = {name: Identity.new(name) for name in (*NAMES, "board")}
    for name, identity in made.items():
        write_identity(shell.folder / f"{name}.key", identity)
    roster = "".join(f"{name} {made[name].member.key.hex()}\n" for name in NAMES)
    (shell.folder / "roster").write_text("# who takes part\n\n" + roster)
    return made["board"].member.key.hex()


# ---------------------------------------------------------------- before a run


def test_a_plan_says_what_is_needed_and_how_far_the_mean_is_off(shell: Shell) -> None:
    line = "gopa plan --epsilon 1 --delta 1e-6 --parties 1000"
    said, made = shell(f"{line} --json").json, plan(1, 1e-6, 1000)
    assert f"off by about {math.sqrt(made.variance):.2g} of the range" in shell(line).out
    assert (said["noise_bits"], said["steps"], said["neighbours"]) == (made.noise_bits, made.steps, made.degree)
    assert said["delta_noise"] + said["delta_graph"] <= said["delta"] == 1e-6


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--parties 10 --honest 0.1", 3),
        ("--parties 10 --kind nonsense", 2),
        ("--parties 1", 2),
        ("--parties 10 --honest x", 2),
        ("--parties 1000 --epsilon 0", 2),
        ("--parties 1000 --delta 2", 2),
    ],
)
def test_a_plan_that_cannot_be_is_refused(shell: Shell, options: str, code: int) -> None:
    assert shell(f"gopa plan --epsilon 1 --delta 1e-6 {options}").code == code


def test_a_choice_is_planned_with_one_step_and_a_ball_by_its_norm(shell: Shell) -> None:
    line = "gopa plan --epsilon 1 --delta 1e-6 --parties 200 --honest 0.8 --coordinates 4 --json --kind"
    assert shell(f"{line} one-hot").json["steps"] == 1
    assert shell(f"{line} ball").json["noise_bits"] > 0


def test_an_identity_keeps_its_key_to_its_owner_and_is_never_overwritten(shell: Shell) -> None:
    said = shell("gopa identity ann")
    assert re.fullmatch(r"ann [0-9a-f]{64}\n", said.out)
    path = shell.folder / "ann.key"
    kept = path.read_bytes()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    again = shell("gopa identity ann")
    assert (again.code, "there already" in again.err, path.read_bytes()) == (2, True, kept)
    assert json.loads(kept)["secret"] not in said.out
    elsewhere = shell("gopa identity ann --key other.key --json").json
    assert elsewhere["key"] not in said.out and (shell.folder / "other.key").exists()
    assert shell("gopa identity", "no name").code == 2
    listed = [shell(f"gopa identity {name} --roster roster").out for name in ("bob", "cat")]
    assert (shell.folder / "roster").read_text() == "".join(listed)
    assert shell("gopa identity dan --roster no/folder/roster").code == 2


def test_an_agreement_names_everybody_and_what_is_averaged(shell: Shell, board_key: str) -> None:
    said = shell(f"{AGREE} --board {board_key} --lower -10 --upper 90.5 --name minutes --title", "Waiting at the desk")
    made = Agreement.read((shell.folder / "a.json").read_text().rstrip("\n"))
    assert said.out.startswith(f"run {made.run.hex()}\n")
    assert [member.name for member in made.roster] == list(NAMES)
    assert (made.quantity.lower, made.quantity.upper) == (-10, Fraction(181, 2))
    assert (made.title, made.quantity.name, made.board.hex()) == ("Waiting at the desk", "minutes", board_key)
    assert shell(f"{AGREE} --board {board_key}").code == 2  # the file is there


def test_an_agreement_may_be_about_a_choice_or_rest_on_an_earlier_run(shell: Shell, board_key: str) -> None:
    said = shell(f"{AGREE} --board {board_key} --kind one-hot --coordinates 3 --previous {'ab' * 32} --json")
    made = Agreement.read((shell.folder / "a.json").read_text().rstrip("\n"))
    assert said.json["run"] == made.run.hex()
    assert made.quantity.one_hot and made.plan.steps == 1 and made.previous == bytes.fromhex("ab" * 32)


@pytest.mark.parametrize(
    ("roster", "options", "code"),
    [
        ("ann", "", 5),
        ("ann xyz", "", 5),
        ("ann {key}", "", 5),
        ("", "", 2),
        (None, "--board 12", 2),
        (None, "--lower 2 --upper 1", 2),
        (None, "--previous zz", 2),
        (None, "--honest 0.2", 3),
    ],
)
def test_an_agreement_that_makes_no_sense_is_refused_and_nothing_written(
    shell: Shell, board_key: str, roster: str | None, options: str, code: int
) -> None:
    if roster is not None:
        (shell.folder / "roster").write_text(roster.format(key="12" * 5))
    said = shell(f"{AGREE} --board {board_key} {options}")
    assert said.code == code, said.err
    assert not (shell.folder / "a.json").exists()


# ---------------------------------------------------------------- certificates


def test_verify_tells_the_result_its_privacy_and_who_left(shell: Shell, log: Path, told: RunResult) -> None:
    said = shell(f"gopa verify run.log --run {told.board.agreement.run.hex()}")
    words = " ".join(said.out.split())
    assert (said.code, "self-consistent only" in words) == (0, False)
    assert f"The mean over 6 parties is {float(told.certificate.means[0]):.5g};" in words
    assert "epsilon = 20" in words and re.search(r"p6 +reveal +said nothing", said.out)
    data = shell("gopa verify run.log --json").json
    assert data["exact_means"] == [str(told.certificate.means[0])] and data["complete"]
    assert data["named"] == [{"party": "p6", "phase": "reveal", "fault": "silent", "words": "said nothing"}]
    assert data["achieved"]["enough"] and data["achieved"]["delta"] <= data["agreed"]["delta"]
    written = shell("gopa verify run.log --html page.html --svg pictures")
    assert written.err.count("wrote") == 2 and "<svg" in (shell.folder / "page.html").read_text()


def test_a_log_is_self_consistent_only_unless_it_is_said_which_run_is_meant(
    shell: Shell, log: Path, told: RunResult
) -> None:
    """Somebody who plays all parties under the same names has a log in which everything is right."""
    agreed = told.board.agreement
    (shell.folder / "a.json").write_text(agreed.text() + "\n")
    (shell.folder / "people").write_text("".join(f"{one.name} {one.key.hex()}\n" for one in agreed.roster))
    alone = shell("gopa verify run.log --json")
    assert (alone.code, alone.json["self_consistent_only"], alone.json["pinned"]) == (8, True, [])
    assert "self-consistent only" in (words := " ".join(shell("gopa verify run.log").out.split()))
    assert all(one["fingerprint"] in words for one in alone.json["keys"])
    pins = ("--agreement a.json", f"--run {agreed.run.hex()}", "--roster people")
    for pin in pins:
        said = shell(f"gopa verify run.log --json {pin}")
        assert (said.code, said.json["self_consistent_only"]) == (0, False)
    forged = run(people(7, planned=agreed.plan), [[place % 4] for place in range(7)])
    log.write_bytes(b"".join(line + b"\n" for line in forged.log))
    assert shell("gopa verify run.log").code == 8
    for pin in pins:
        said = shell(f"gopa verify run.log {pin}")
        assert (said.code, "P932" in said.err, said.out) == (7, True, "")


def test_an_agreement_is_shown_in_plain_words(shell: Shell, ready: Agreement) -> None:
    words = " ".join(shell("gopa show a.json").out.split())
    for part in ("All that one party has", "epsilon = 2", "4 must keep their secrets", "ann", ready.fingerprint):
        assert part in words
    data = shell("gopa show a.json --json").json
    assert (data["run"], data["sound"], data["epsilon"], data["unit"]["share"]) == (ready.run.hex(), True, 2.0, "1")
    liar = replace(ready, plan=replace(ready.plan, noise_bits=2, delta_noise=1e-9))
    (shell.folder / "liar.json").write_text(liar.text() + "\n")
    assert shell("gopa show liar.json").code == 3
    assert shell("gopa show roster").code == 5


def test_a_log_that_was_changed_or_cut_has_no_result_and_says_so_by_its_exit_code(shell: Shell, log: Path) -> None:
    whole = log.read_bytes()
    log.write_bytes(whole.replace(b'"own":"', b'"own":"A', 1))
    changed = shell("gopa verify run.log")
    assert (changed.code, "signatures do not fit" in " ".join(changed.out.split())) == (7, True)
    lines = whole.split(b"\n")
    log.write_bytes(b"\n".join(lines[:20]))
    cut = shell("gopa verify run.log --json")
    assert (cut.code, cut.json["complete"], cut.json["ended"], cut.json["achieved"]) == (7, False, None, None)
    assert "the log ends before the phase share was closed" in " ".join(shell("gopa verify run.log").out.split())


@pytest.mark.parametrize(("content", "code"), [(b"", 2), (b"nonsense\n", 5), (None, 2)])
def test_what_is_no_log_is_refused(shell: Shell, content: bytes | None, code: int) -> None:
    if content is not None:
        (shell.folder / "run.log").write_bytes(content)
    assert shell("gopa verify run.log").code == code


# ---------------------------------------------------------------- parties and boards that cannot start


@pytest.fixture
def ready(shell: Shell, board_key: str) -> Agreement:
    agreed = plan(2, 1e-3, len(NAMES), honest=0.8, dropouts=0.2)
    made = Agreement(read_roster(shell.folder / "roster"), bytes.fromhex(board_key), agreed)
    (shell.folder / "a.json").write_text(made.text() + "\n")
    return made


PARTY = "gopa party a.json --board http://127.0.0.1:9 --give-up 0.1 --key"


@pytest.mark.parametrize(
    ("line", "code"),
    [
        (f"{PARTY} ann.key", 2),  # no value, and nothing begun
        (f"{PARTY} ann.key --value 1.5", 2),
        (f"{PARTY} ann.key --value 0.1,0.2", 2),
        (f"{PARTY} ann.key --value x", 2),
        (f"{PARTY} ann.key --value nan", 2),
        (f"{PARTY} board.key --value 0.5", 2),  # not on the roster
        (f"{PARTY} roster --value 0.5", 5),
        (f"{PARTY} missing.key --value 0.5", 2),
        (f"{PARTY} ann.key --value 0.5 --ledger book.db", 2),
        (f"{PARTY} ann.key --value 0.5 --ledger book.db --population me", 6),
        (f"{PARTY} ann.key --value 0.5 --previous-diary x", 2),
        (f"{PARTY} ann.key --value 0.5", 6),  # nobody answers
        ("gopa board a.json --key ann.key --log run.log", 2),  # not the board's key
        ("gopa board a.json --key board.key --log no/folder/run.log", 6),
        ("gopa board a.json --key board.key --log run.log --port 99999", 2),
        ("gopa board a.json --key board.key --log run.log --host 203.0.113.1", 6),
    ],
)
def test_a_party_or_board_that_cannot_start_says_why(shell: Shell, ready: Agreement, line: str, code: int) -> None:
    said = shell(line)
    assert said.code == code, said.err
    assert said.err.strip() and "bug in Hubbub" not in said.err


def test_a_board_leaves_the_program_s_own_log_alone(
    shell: Shell, ready: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("logging.config.dictConfig", lambda _: pytest.fail("the program's own log was changed"))
    shell("gopa board a.json --key board.key --log run.log --host 203.0.113.1")


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ("--epsilon-at-most 1.9", 3),
        ("--delta-at-most 1e-4", 3),
        ("--honest-at-most 0.5", 3),
        ("--roster strangers", 3),
        (f"--run {'ab' * 32}", 3),
        ("--run zz", 2),
        ("--share-at-least 1/0", 2),
        ("--share-at-least 2", 2),
        ("--epsilon-at-most nan", 2),
        ("--attempts-at-most 0", 2),
        ("--epsilon-at-most 2 --delta-at-most 1e-3 --honest-at-most 4/5 --roster roster", 6),  # only nobody answers
    ],
)
def test_a_party_takes_no_part_beyond_what_it_said(shell: Shell, ready: Agreement, options: str, code: int) -> None:
    (shell.folder / "strangers").write_text(f"ann {Identity.new('ann').member.key.hex()}\n")
    said = shell(f"{PARTY} ann.key --value 0.5 {options}")
    assert said.code == code, said.err
    assert [*shell.folder.glob("*.diary")] == [] or code == 6
    assert ("P931" in said.err) == (code == 3)


def test_a_party_protects_a_part_of_what_it_has_only_if_it_says_so(shell: Shell, ready: Agreement) -> None:
    parts = plan(2, 1e-3, 5, honest=0.8, dropouts=0.2, sensitivity=Sensitivity(share=Fraction(1, 2000)), steps=2000)
    (shell.folder / "a.json").write_text(replace(ready, plan=parts).text() + "\n")
    said = shell(f"{PARTY} ann.key --value 0.5")
    assert (said.code, "parts of 1/2000" in said.err) == (3, True)
    assert shell(f"{PARTY} ann.key --value 0.5 --share-at-least 1/1000").code == 3
    assert shell(f"{PARTY} ann.key --value 0.5 --share-at-least 1/2000").code == 6  # only nobody answers
    assert "NOT protected" in " ".join(shell("gopa show a.json").out.split())


def test_a_value_comes_from_a_file_or_from_stdin(
    shell: Shell, ready: Agreement, monkeypatch: pytest.MonkeyPatch
) -> None:
    (shell.folder / "value").write_text("0.5\n")
    assert shell(f"{PARTY} ann.key --value-file value").code == 6  # only nobody answers
    monkeypatch.setattr("sys.stdin", io.StringIO("0.5\n"))
    assert shell(f"{PARTY} bob.key --value -").code == 6
    kept = [*shell.folder.glob("ann-*.diary"), *shell.folder.glob("bob-*.diary")]
    assert len(kept) == 2 and all(b'"values"' in path.read_bytes() for path in kept)
    (shell.folder / "value").write_text("7z")
    said = shell(f"{PARTY} cat.key --value-file value")
    assert (said.code, "7z" in said.err) == (2, False)
    assert shell(f"{PARTY} cat.key --value-file value --value 1").code == 2
    assert shell(f"{PARTY} cat.key --value-file missing").code == 2


def test_a_party_that_cannot_pay_does_not_join(shell: Shell, ready: Agreement) -> None:
    shell.open("ann", budget="--epsilon 1 --delta 1e-6", rules="--neighbours replace")
    said = shell(f"{PARTY} ann.key --value 0.5 --ledger hubbub.db --population ann")
    assert (said.code, "P401" in said.err) == (4, True)
    shell.open("bob", budget="--epsilon 3 --delta 0.01", rules="--plans 2.5,0.002 --neighbours replace")
    assert shell(f"{PARTY} bob.key --value 0.5 --ledger hubbub.db --population bob").code == 6  # only nobody answers


def test_a_value_that_cannot_be_read_is_not_shown_again(shell: Shell, ready: Agreement) -> None:
    assert "4z2" not in shell(f"{PARTY} ann.key --value 4z2").err


def test_a_party_that_begun_goes_on_with_its_value_and_with_no_other(shell: Shell, ready: Agreement) -> None:
    secret = json.loads((shell.folder / "ann.key").read_text())["secret"]
    with Diary(shell.folder / "d", ready) as diary:
        diary.seat(Identity("ann", bytes.fromhex(secret)), [0])
    assert "P411" in shell(f"{PARTY} ann.key --value 0.9 --diary d").err
    assert "P702" in shell(f"{PARTY} ann.key --value 0 --diary d").err  # only nobody answers


def test_phases_are_told_one_by_one(capsys: pytest.CaptureFixture[str]) -> None:
    shown = Phases()
    for phase, posted in (("join", 0), ("join", 7), ("nonce", 0), ("nonce", 6), ("share", 0)):
        shown.board(Standing(phase, posted, 7 - posted, 0, over=False))
    assert re.findall(r"(\w+) .* (\d) spoke", capsys.readouterr().err) == [("join", "7"), ("nonce", "6")]


def test_phases_count_on_a_terminal(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    with Phases() as shown:
        shown.board(Standing("join", 3, 4, 0, over=False))
    assert "3 spoke, 4 are waited for" in capsys.readouterr().err


# ---------------------------------------------------------------- simulations


def test_a_simulation_reads_a_file_and_tells_the_mean(shell: Shell) -> None:
    (shell.folder / "values").write_text("\n".join(["20", "40", "90"] * 100))
    line = "gopa simulate values --epsilon 1 --delta 1e-6 --honest 0.8 --lower 0 --upper 100"
    said = shell(f"{line} --json").json
    assert 35 < said["mean"] < 65 and said["parties"] == 300
    classic = shell(f"{line} --profile classic --no-repair --degree 20 --json").json
    assert classic["profile"] == "classic"
    assert "simulation" in " ".join(shell(line).out.split())


def test_a_file_that_is_not_numbers_is_refused_without_showing_it(shell: Shell) -> None:
    (shell.folder / "values").write_text("1\nsecret\n")
    said = shell("gopa simulate values --epsilon 1 --delta 1e-6")
    assert (said.code, "line 2" in said.err, "secret" in said.err) == (2, True, False)
