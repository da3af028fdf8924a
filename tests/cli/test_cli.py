"""The command line as people run it: real processes for the outer behaviour, in-process for the details."""

from __future__ import annotations

import json
import os
import pty
import signal
import subprocess
import sys
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest

import hubbub
from hubbub import terms
from hubbub.cli import exit_codes, main
from hubbub.terms import errors

CLI = [sys.executable, "-m", "hubbub.cli"]


def run(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*CLI, *arguments],
        capture_output=True,
        text=True,
        encoding="utf-8",
        check=False,
        env={**os.environ, "PYTHONUTF8": "1", **environment},
        timeout=60,
    )


def leave(*arguments: str) -> int:
    """Run in this process and return the exit code."""
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    return int(leaving.value.code or 0)


def test_help_lists_the_exit_codes() -> None:
    told = run("--help")
    assert told.returncode == 0
    for code in exit_codes.Exit:
        assert f"{code.value}  {code.words}" in told.stdout


def test_help_loads_nothing_heavy() -> None:
    script = (
        "import sys\nfrom hubbub.cli import main\n"
        "try: main(['--help'])\nexcept SystemExit: pass\n"
        "heavy = {'numpy', 'scipy', 'dp_accounting', 'cryptography', 'numba', 'hubbub.explain'}\n"
        "sys.exit(','.join(sorted(heavy & set(sys.modules))) or 0)"
    )
    told = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert told.stderr == ""
    assert told.returncode == 0


def test_version_is_the_packages() -> None:
    assert run("--version").stdout == f"hubbub {hubbub.__version__}\n"


def test_the_version_is_shown_and_never_stored() -> None:
    source = Path(hubbub.__file__).parent
    readers = {path.relative_to(source).parts[0] for path in source.rglob("*.py") if "__version__" in path.read_text()}
    assert readers == {"__init__.py", "cli", "studies"}


def test_the_installed_script_is_the_same_program() -> None:
    script = Path(sys.executable).with_name("hubbub")
    told = subprocess.run([script, "--version"], capture_output=True, text=True, check=True)
    assert told.stdout == f"hubbub {hubbub.__version__}\n"


def test_explain_epsilon_prints_odds_and_icons() -> None:
    told = run("explain", "epsilon", "1", "--delta", "1e-6")
    assert (told.returncode, told.stderr) == (0, "")
    assert "about 73 out of 100" in told.stdout
    assert told.stdout.count("●") == 50 + 73


def test_explain_prints_one_json_document() -> None:
    told = run("explain", "epsilon", "0.5", "--json")
    assert json.loads(told.stdout)["right_guesses_out_of_100"] == 62


def test_pictures_and_page_are_written_and_told_on_stderr(tmp_path: Path) -> None:
    page, pictures = tmp_path / "new" / "page.html", tmp_path / "pictures"
    told = run("explain", "epsilon", "1", "--json", "--svg", str(pictures), "--html", str(page))
    json.loads(told.stdout)
    assert told.stderr.count("wrote ") == 4
    assert page.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")
    assert sorted(path.name for path in pictures.iterdir()) == ["belief.svg", "icons.svg", "roc.svg"]
    for path in pictures.iterdir():
        ElementTree.parse(path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["charlie", "0.5"], "Charlie in the crowd"),
        (["charlie", "0.5", "--count", "5000", "--sensitivity", "100"], "5000"),
        (["election", "0.1", "--votes", "A=15", "--votes", "B=18", "--votes", "C=20"], "41.2%"),
        (["election", "0.1", "--votes", "A=15", "--votes", "B=18", "--general"], "2 sensitivity"),
        (["election", "1", "--votes", "x=y=3"], "x=y, 3 votes"),
        (["auction", "1"], "3.01"),
        (["auction", "1", "--bid", "2", "--bid", "3.5", "--ceiling", "4", "--step", "0.5"], "best price is 2 and"),
        (["limits"], "smoker"),
    ],
)
def test_every_story_can_be_told(arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert leave("explain", *arguments) == 0
    told = capsys.readouterr()
    assert words in " ".join(told.out.split())
    assert told.err == ""
    assert leave("explain", *arguments, "--json") == 0
    assert json.loads(capsys.readouterr().out)["kind"]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["explain", "epsilon", "0"], "P102"),
        (["explain", "epsilon", "nan"], "P102"),
        (["explain", "epsilon", "much"], "P101"),
        (["explain", "epsilon", "1e999999999"], "P105"),
        (["explain", "epsilon", "1", "--delta", "1"], "P102"),
        (["explain", "epsilon"], "EPSILON"),
        (["explain", "auction"], "EPSILON"),
        (["explain", "epsilon", "1", "--nonsense"], "--nonsense"),
        (["explain", "election", "1"], "--votes"),
        (["explain", "election", "1", "--votes", "A"], "NAME=VOTES"),
        (["explain", "election", "1", "--votes", "=3"], "NAME=VOTES"),
        (["explain", "election", "1", "--votes", "A=1", "--votes", "A=2"], "twice"),
        (["explain", "election", "1", "--votes", "A=-1"], "P102"),
        (["explain", "auction", "1", "--bid", "-1"], "P102"),
        (["explain", "charlie", "0.5", "--sensitivity", "0"], "P102"),
        (["no-such-command"], "no-such-command"),
    ],
)
def test_wrong_input_is_a_usage_error_on_stderr(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert leave(*arguments) == 2
    told = capsys.readouterr()
    assert words in told.err
    assert told.out == ""
    assert "Traceback" not in told.err


def test_a_file_that_cannot_be_written_is_a_usage_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("in the way")
    assert leave("explain", "limits", "--html", str(tmp_path / "file" / "page.html")) == 2
    told = capsys.readouterr()
    assert "cannot write" in told.err
    assert told.out == ""


def test_a_real_process_shows_an_error_without_a_traceback() -> None:
    told = run("explain", "epsilon", "-0.0")
    assert (told.returncode, told.stdout) == (2, "")
    assert "Traceback" not in told.stderr


def test_every_error_of_the_tree_has_an_exit_code() -> None:
    expected = {
        terms.OutOfRange: 2,
        terms.NoBound: 3,
        terms.Unreachable: 3,
        terms.BudgetExceeded: 4,
        terms.MechanismExhausted: 4,
        terms.Unreadable: 5,
        terms.SecretState: 1,
    }
    for kind, code in expected.items():
        assert exit_codes.code_of(kind("what", why="why", fix="fix")) == code


def test_no_branch_of_the_error_tree_is_forgotten() -> None:
    covered = tuple(kind for kind, _ in exit_codes._CODES)
    leaves = [kind for kind in vars(errors).values() if isinstance(kind, type) and getattr(kind, "code", "")]
    assert len(leaves) > 20
    assert [kind.__name__ for kind in leaves if not issubclass(kind, covered)] == []


def test_an_error_of_ours_is_told_whole(capsys: pytest.CaptureFixture[str]) -> None:
    def fail() -> None:
        raise terms.BudgetExceeded("it does not fit.", why="Too little is left.", fix="Ask for less.")

    assert exit_codes.guard(fail) == exit_codes.Exit.BUDGET
    assert capsys.readouterr().err.startswith("BudgetExceeded [P401]: it does not fit.\n  Too little is left.")


def test_a_bug_tells_its_kind_and_not_its_message(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail() -> None:
        raise KeyError("a secret row")

    monkeypatch.delenv(exit_codes.TRACEBACK, raising=False)
    assert exit_codes.guard(fail) == exit_codes.Exit.OUR_FAULT
    told = capsys.readouterr().err
    assert "KeyError" in told
    assert "secret" not in told
    monkeypatch.setenv(exit_codes.TRACEBACK, "1")
    exit_codes.guard(fail)
    assert "Traceback" in capsys.readouterr().err


def test_an_interrupted_command_leaves_with_130() -> None:
    script = (
        "import time\nimport hubbub.studies.installation as d\nfrom hubbub.cli import main\n"
        "def wait():\n    print('ready', flush=True)\n    time.sleep(60)\n"
        "d.examine_installation = wait\nmain(['doctor'])"
    )
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        assert process.stdout.readline() == b"ready\n"
        time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 130
        assert b"Traceback" not in process.stderr.read()


def test_a_closed_pipe_is_no_traceback() -> None:
    with subprocess.Popen(
        [*CLI, "explain", "auction", "1", "--json", "--step", "0.001"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(10)
        process.stdout.close()
        assert process.stderr.read() == b""
        process.wait(30)


def on_a_terminal(*arguments: str, **environment: str) -> str:
    """What the command prints when stdout is a terminal."""
    master, slave = pty.openpty()
    known = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    subprocess.run([*CLI, *arguments], stdout=slave, check=True, env={**known, "TERM": "xterm", **environment})
    os.close(slave)
    shown = b""
    while chunk := _read(master):
        shown += chunk
    os.close(master)
    return shown.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 65536)
    except OSError:  # Linux says so when the other side is closed
        return b""


def test_colours_are_on_in_a_terminal_and_off_elsewhere() -> None:
    assert "\x1b[" in on_a_terminal("doctor")
    assert "\x1b[" not in on_a_terminal("doctor", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal("doctor", TERM="dumb")
    assert "\x1b[" not in run("explain", "limits").stdout


def test_a_terminal_without_the_signs_still_gets_an_answer() -> None:
    told = run("explain", "epsilon", "1", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert told.returncode == 0
    assert "? ? ?" in told.stdout
