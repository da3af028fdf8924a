"""The page about the command line of the ledger: its commands print what it shows, and it names every option."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from hubbub.cli import _build, main

PAGE = (Path(__file__).parents[2] / "docs" / "cli-ledger.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SECOND_PLACE = "/mnt/other-disk/hubbub"  # as the page calls it
CHANGING = {
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d": "<time>",
    r"\b[0-9a-f]{32,}\b": "<hash>",
}


def same(text: str) -> str:
    """The text without what differs from run to run."""
    for pattern, name in CHANGING.items():
        text = re.sub(pattern, name, text)
    return text.rstrip("\n")


def commands(body: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, with what it printed."""
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        line, _, printed = part.partition("\n")
        yield line, printed


def run(line: str) -> str:
    """Run one line of the page; everything it prints, in order."""
    program, *arguments = shlex.split(line)
    if program in {"mv", "cp", "rm"}:
        subprocess.run([program, *arguments], check=True)
    if program != "hubbub":
        return ""
    printed = io.StringIO()
    with pytest.MonkeyPatch.context() as patch, pytest.raises(SystemExit):
        patch.setattr(sys, "stdout", printed)
        patch.setattr(sys, "stderr", printed)
        main(arguments)
    return printed.getvalue()


def test_the_commands_print_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    state = tmp_path / "state"
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HUBBUB_STATE", str(state))
    monkeypatch.delenv("HUBBUB_LEDGER", raising=False)
    seen, names = 0, dict[str, object]()
    for language, body in BLOCK.findall(PAGE):
        if language == "python":
            exec(body, names)
            continue
        for line, printed in commands(body):
            assert same(run(line).replace(str(state), SECOND_PLACE)) == same(printed), line
            seen += 1
    assert seen > 20


def options(group: str) -> Iterator[tuple[str, str]]:
    """(command, option) for all that a group takes."""
    root = typer.main.get_command(_build())
    for name, command in root.commands[group].commands.items():  # type: ignore[attr-defined]
        for parameter in command.params:
            for option in parameter.opts:
                if option.startswith("--"):
                    yield f"hubbub {group} {name}", option


@pytest.mark.parametrize("group", ["budget", "ledger"])
def test_the_page_names_every_option_beside_its_command(group: str) -> None:
    rows = {row.split("`")[1]: row for row in PAGE.splitlines() if row.startswith("| `hubbub ")}
    everywhere = {"--ledger", "--state", "--json", "--help"}
    found = list(options(group))
    assert len(found) > 30
    for command, option in found:
        row = next(row for name, row in rows.items() if f"{name} ".startswith(f"{command} "))
        assert option in everywhere or re.search(rf"`{option}\b", row), (command, option)
    assert all(f"`{option}`" in PAGE for option in everywhere - {"--help"})


def test_every_command_has_json() -> None:
    found = [*options("budget"), *options("ledger")]
    assert {command for command, _ in found} == {command for command, option in found if option == "--json"}
