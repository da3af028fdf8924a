"""The page about collecting: its commands print what it shows, with a real collector, and it names every option."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli._typed import Typed, elsewhere
from tests.cli.test_cli_pages import BLOCK, CHANGING, DOCS, SECOND_PLACE, commands, options, same, unnamed

PAGE = (DOCS / "cli-collect.md").read_text(encoding="utf-8")
PORT = "8765"  # as the page calls it
NOISY = {
    r"-?\d+\.\d+": "<number>",  # estimates
    r"^[\w-]{107}$": "<token>",
    r"--+": "--",
    r" +": " ",
}


def test_the_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state, changing, seen = elsewhere(tmp_path, monkeypatch), CHANGING | NOISY, 0
    typed = Typed(tmp_path, port=PORT, told=r"Clients need this key.*: {}", used="--key {}")
    try:
        for language, body in BLOCK.findall(PAGE):
            if language == "python":
                exec(body.replace(PORT, typed.port), {})
                continue
            for line, shown in commands(body):
                printed = typed(line).replace(str(state), SECOND_PLACE)
                assert same(printed, changing) == same(shown, changing), line
                seen += 1
    finally:
        typed.end()
    assert seen == 10


def test_the_page_names_every_option_beside_its_command() -> None:
    found = list(options("collect"))
    assert len(found) > 35
    assert unnamed(PAGE, found, {"--help"}) == []
    assert unnamed(PAGE.replace("`--per-token`,", ""), found, {"--help"}) != []


def test_every_command_that_ends_has_json() -> None:
    found = list(options("collect"))
    ending = {command for command, _ in found} - {
        "hubbub collect serve",
        "hubbub collect show",
        "hubbub collect shuffle",
    }
    assert {command for command, option in found if option == "--json"} == ending
