"""The page about GOPA: its commands print what it shows, with a real board and real parties; it names every option."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli._typed import Typed, elsewhere
from tests.cli.test_cli_pages import BLOCK, CHANGING, DOCS, SECOND_PLACE, commands, options, same, unnamed

PAGE = (DOCS / "cli-gopa.md").read_text(encoding="utf-8")
PORT = "8770"  # as the page calls it
NOISY = {
    r", \d+\.\d s$": ", <time>",
    r"\s+": " ",  # where lines break depends on the numbers
    r"is -?[\d.e-]+; 95 times out of 100 the exact one lies between -?[\d.e-]+ and -?[\d.e-]+\.": "is <mean>",
    r"--+": "--",
    r"\b([0-9a-f]{4}-){7}[0-9a-f]{4}\b": "<fingerprint>",
}
VALUES = {"ann": "12.5", "bob": "21", "cat": "40", "dan": "7.5", "eve": "35"}


def test_the_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, changing, seen = elsewhere(tmp_path, monkeypatch), CHANGING | NOISY, 0
    typed = Typed(tmp_path, port=PORT, told=r"board {}", used="--board {}")
    for name, value in VALUES.items():
        Path(f"{name}.txt").write_text(value + "\n")
    try:
        for _, body in BLOCK.findall(PAGE):
            for line, shown in commands(body):
                if "values.txt" in line:
                    continue  # there is no such file; tests of the command have one
                printed = typed(line).replace(str(state), SECOND_PLACE)
                assert same(printed, changing) == same(shown, changing), line
                seen += 1
        assert [process.wait(60) for process in typed.started] == [0] * 5
    finally:
        typed.end()
    assert seen == 17


def test_the_page_names_every_option_beside_its_command() -> None:
    found = list(options("gopa"))
    assert len(found) > 60
    assert unnamed(PAGE, found, {"--help"}) == []
    assert unnamed(PAGE.replace("`--patience` (10),", ""), found, {"--help"}) != []
