"""The terminal: what is drawn for eyes, and what a pipe gets."""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import termios
import time
from pathlib import Path

import pytest

import hubbub
from hubbub.cli.output import streams, terminal
from hubbub.render import TextTable, format_table
from tests.cli._shell import Shell

SOURCE = Path(hubbub.__file__).parent
TABLE = TextTable(
    ("ward", "how many people", "cost"),
    (("north [red]x[/red]", "1,520,694 ±273,809", "0.0051270001"), (":smile: [/]", "-3 ±39", "12 (epsilon 0.4422)")),
)


class Screen(io.StringIO):
    """A terminal that keeps what is written."""

    def isatty(self) -> bool:
        return True


def look(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stdout be a terminal; in the test itself, since pytest sets its own stdout after fixtures."""
    monkeypatch.setattr("sys.stdout", Screen())
    for name in ("NO_COLOR", "FORCE_COLOR", "COLORTERM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm-256color")


def unstyled(text: str) -> str:
    return re.sub(r"\x1b\[[0-9;]*m", "", text)


# ---------------------------------------------------------------- tables


@pytest.mark.parametrize("columns", [1, 20, 31, 40, 60, 80, 200])
def test_no_digit_is_cut_or_broken_at_any_width(columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch)
    monkeypatch.setenv("COLUMNS", str(columns))
    drawn = unstyled(terminal.draw_table(TABLE)).split()
    assert "─" in " ".join(drawn)
    for cell in (*TABLE.header, *(cell for row in TABLE.rows for cell in row)):
        assert all(word in drawn for word in cell.split()), drawn


def test_a_table_on_a_terminal_has_a_rule_and_bold_headings(monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch)
    drawn = terminal.draw_table(TABLE)
    assert "\x1b[1" in drawn.splitlines()[0]
    assert set(drawn.splitlines()[1]) == {"─"}


def test_words_of_others_are_not_read_as_markup(monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch)
    for text in (terminal.draw_table(TABLE), terminal.emphasize("north [red]x[/red] :smile: [/]")):
        assert "north [red]x[/red]" in unstyled(text)
        assert ":smile:" in unstyled(text)


@pytest.mark.parametrize("name", ["NO_COLOR", "TERM"])
def test_without_colours_there_is_not_one_code(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    look(monkeypatch)
    monkeypatch.setenv(name, "dumb")
    assert "\x1b" not in terminal.draw_table(TABLE) + terminal.emphasize("a")


def test_a_pipe_gets_plain_text_whatever_the_environment_says(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in ("FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE"):
        monkeypatch.setenv(name, "1")
    assert terminal.draw_table(TABLE) == format_table(TABLE)
    assert terminal.emphasize("a") == "a"
    with terminal.ProgressLine("working") as line:
        line.begin(2)
        line.step(1)
    assert capsys.readouterr() == ("", "")


def test_a_sentence_in_plain_text_takes_several_lines_and_no_number_does() -> None:
    sentence = "off by at most 101 rows in rank where values lie densely, and with fewer rows perhaps more than that"
    table = TextTable(("column", "error", "how many"), (("m", sentence, "12"), ("a number " * 5, "±1", "1,234")))
    first, rule, *rows = format_table(table).splitlines()
    assert max(map(len, (first, rule, *rows))) < 120
    assert " ".join(row[47:107].strip() for row in rows[:2]) == sentence
    assert [row.split()[-1] for row in (rows[0], rows[-1])] == ["12", "1,234"]


# ---------------------------------------------------------------- progress


def test_an_answer_that_is_printed_meanwhile_goes_to_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Screen()
    monkeypatch.setattr("sys.stderr", seen)
    with terminal.ProgressLine("working [bold]now[/bold]") as line:
        streams.print_data("1,2,3")
        streams.talk("on the side")
        line.say("nearly there")
    assert capsys.readouterr().out == "1,2,3\n"
    assert "working [bold]now[/bold]" in seen.getvalue()
    assert "on the side" in seen.getvalue()
    assert "1,2,3" not in seen.getvalue()
    assert seen.getvalue().endswith("\x1b[2K")  # the line is taken away
    assert sys.stderr is seen


def test_what_is_quick_shows_no_line(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Screen()
    monkeypatch.setattr("sys.stderr", seen)
    with terminal.ProgressLine("working", patience=60) as line:
        line.say("nearly there")
    assert not re.search("[a-z]{3}", seen.getvalue())


def test_a_line_is_taken_away_when_something_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = Screen()
    monkeypatch.setattr("sys.stderr", seen)
    with pytest.raises(KeyboardInterrupt), terminal.ProgressLine("working"):
        raise KeyboardInterrupt
    assert "\x1b[?25h" in seen.getvalue()  # the cursor is back
    assert sys.stderr is seen


# ---------------------------------------------------------------- prompts


def typed(code: str, *answers: bytes, hidden: bool = False) -> tuple[int, str]:
    """Run a program on a terminal of its own, type each time it asks, and see how it ends and what is on the screen."""
    master, slave = pty.openpty()
    command = [sys.executable, "-c", code]
    with subprocess.Popen(command, stdin=slave, stdout=slave, stderr=slave, start_new_session=True) as process:
        os.close(slave)
        seen = b""
        for number, answer in enumerate(answers, 1):
            while seen.count(b"? ") < number:
                seen += os.read(master, 4096)
            while hidden and termios.tcgetattr(master)[3] & termios.ECHO:
                time.sleep(0.01)
            os.write(master, answer)
        while chunk := _read(master):
            seen += chunk
    os.close(master)
    return process.returncode, seen.decode()


def _read(descriptor: int) -> bytes:
    try:
        return os.read(descriptor, 4096)
    except OSError:  # Linux says so when the other side is closed
        return b""


ASK = "from hubbub.cli.output import terminal; print('got', {call}('[b]Who[/b]?'))"


def test_a_hidden_answer_is_not_shown_and_is_asked_for_again() -> None:
    code, seen = typed(ASK.format(call="len(terminal.ask_hidden") + ")", b"\n", b"secret\n", hidden=True)
    assert code == 0, seen
    assert "got 6" in seen
    assert seen.count("[b]Who[/b]?") == 2
    assert "secret" not in seen


def test_an_empty_answer_is_none() -> None:
    assert "got None" in typed(ASK.format(call="terminal.ask"), b"  \n")[1]
    assert "got ann" in typed(ASK.format(call="terminal.ask"), b"ann\n")[1]


def test_the_end_of_input_aborts_without_a_traceback(shell: Shell) -> None:
    (shell.folder / "visits.csv").write_text("patient_id,cost\n1,2\n")
    code, seen = typed("from hubbub.cli import main; main(['init', 'visits.csv', '--header', 'yes'])", b"\x04")
    assert code == 1
    assert "Aborted" in seen
    assert "bug" not in seen and "Traceback" not in seen
    assert not (shell.folder / "visits.toml").exists()


# ---------------------------------------------------------------- rich, once


def test_one_module_knows_of_rich() -> None:
    users = [path for path in SOURCE.rglob("*.py") if re.search(r"^\s*(from|import) rich\b", path.read_text(), re.M)]
    assert users == [SOURCE / "cli" / "output" / "terminal.py"]


@pytest.mark.parametrize("line", [["--help"], ["explain", "epsilon", "1"]])
def test_a_pipe_loads_no_rich(line: list[str]) -> None:
    script = (
        f"import sys\nfrom hubbub.cli import main\ntry: main({line!r})\nexcept SystemExit: pass\n"
        "sys.exit('rich' if 'rich' in sys.modules else 0)"
    )
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, check=False).returncode == 0
