"""The pages about the command line: their commands print what they show, and they name every option."""

from __future__ import annotations

import io
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest
import typer

from hubbub.cli import _build_app, main

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "cli-ledger.md").read_text(encoding="utf-8")
FIT_PAGE = (DOCS / "cli-fit.md").read_text(encoding="utf-8")
PUBLISH_PAGE = (DOCS / "cli-publish.md").read_text(encoding="utf-8")
SQL_PAGE = (DOCS / "cli-sql.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(python|console)\n(.*?)^```", re.DOTALL | re.MULTILINE)
SECOND_PLACE = "/mnt/other-disk/hubbub"  # as the page calls it
CHANGING = {
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d:\d\d": "<time>",
    r"\b[0-9a-f]{32,}\b": "<hash>",
}
NOISY = {  # where a page shows answers, noise differs from run to run, and so do the widths of tables
    r"-?[\d,]+ ±": "<number> ±",
    r"^-?\d+,-?\d+,-?\d+$": "<row>",
    r"--+": "--",
    r" +": " ",
}
TRAINED = {  # where a page shows a model's card
    r"\d+\.\d%": "<share>",
    r"(on about|rows in a step, about|rows, by a noisy count) +[\d,]+": "<rows>",
    r"[0-9a-f]{16}\.\.\.": "<head>",
    r"\.\d+Z": "",
}


def same(text: str, changing: Mapping[str, str] = CHANGING) -> str:
    """The text without what differs from run to run."""
    for pattern, name in changing.items():
        text = re.sub(pattern, name, text, flags=re.MULTILINE)
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


@pytest.mark.parametrize(
    ("page", "changing", "least"),
    [
        (PAGE, CHANGING, 20),
        (SQL_PAGE, CHANGING | NOISY, 14),
        (FIT_PAGE, CHANGING | TRAINED, 2),
        (PUBLISH_PAGE, CHANGING, 2),
    ],
    ids=["ledger", "sql", "fit", "publish"],
)
def test_the_commands_print_what_the_page_shows(
    page: str, changing: Mapping[str, str], least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = tmp_path / "state"
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    monkeypatch.setenv("HUBBUB_STATE", str(state))
    monkeypatch.delenv("HUBBUB_LEDGER", raising=False)
    seen, names = 0, dict[str, object]()
    for language, body in BLOCK.findall(page):
        if language == "python":
            exec(body, names)
            continue
        for line, printed in commands(body):
            assert same(run(line).replace(str(state), SECOND_PLACE), changing) == same(printed, changing), line
            seen += 1
    assert seen > least


def options(group: str = "") -> Iterator[tuple[str, str]]:
    """(command, option) for all that a group takes, or all commands of the first floor."""
    root = typer.main.get_command(_build_app())
    commands = root.commands[group].commands if group else root.commands  # type: ignore[attr-defined]
    for name, command in commands.items():
        for parameter in command.params:
            for option in (*parameter.opts, *parameter.secondary_opts):
                if option.startswith("--"):
                    yield " ".join(filter(None, ("hubbub", group, name))), option


def unnamed(page: str, found: Sequence[tuple[str, str]], everywhere: set[str]) -> list[tuple[str, str]]:
    """The options that a page does not name beside their command, nor for all commands."""
    rows = {row.split("`")[1]: row for row in page.splitlines() if row.startswith("| `hubbub ")}
    missing = []
    for command, option in found:
        row = next(row for name, row in rows.items() if f"{name} ".startswith(f"{command} "))
        if option not in everywhere and not re.search(rf"`{option}\b", row):
            missing.append((command, option))
    return missing


@pytest.mark.parametrize("group", ["budget", "ledger"])
def test_the_page_names_every_option_beside_its_command(group: str) -> None:
    everywhere = {"--ledger", "--state", "--json", "--help"}
    found = list(options(group))
    assert len(found) > 30
    assert unnamed(PAGE, found, everywhere) == []
    assert all(f"`{option}`" in PAGE for option in everywhere - {"--help"})


def asking() -> list[tuple[str, str]]:
    """The options of everything about SQL."""
    names = {"query", "preview", "describe", "prepare", "init"}
    return [pair for pair in options() if pair[0].split()[1] in names] + list(options("dataset"))


def test_the_page_of_sql_names_every_option_beside_its_command() -> None:
    facts = set(re.findall(r"^\| `(--[a-z-]+) ", SQL_PAGE, flags=re.MULTILINE))
    assert facts == {
        "--unit",
        "--max-rows",
        "--bound",
        "--key",
        "--rows",
        "--name",
        "--version",
        "--header",
        "--budget",
        "--population",
        "--neighbours",
    } | {"--ledger"}
    found = asking()
    assert len(found) > 50
    assert unnamed(SQL_PAGE, found, facts | {"--json", "--help"}) == []
    assert unnamed(SQL_PAGE.replace("`--fresh`", ""), found, facts | {"--json", "--help"}) != []


def test_every_command_has_json() -> None:
    found = [*options("budget"), *options("ledger"), *asking()]
    assert {command for command, _ in found} == {command for command, option in found if option == "--json"}


@pytest.mark.parametrize(
    ("command", "page"),
    [
        ("attack", "red-team.md"),
        ("audit", "audit.md"),
        ("collect", "cli-collect.md"),
        ("fit", "cli-fit.md"),
        ("predict", "cli-fit.md"),
        ("publish", "cli-publish.md"),
        ("gopa", "cli-gopa.md"),
    ],
)
def test_the_other_pages_name_every_option_of_their_command(command: str, page: str) -> None:
    root = typer.main.get_command(_build_app()).commands[command]  # type: ignore[attr-defined]
    found = list(options(command)) if hasattr(root, "commands") else [p for p in options() if p[0].endswith(command)]
    text = (DOCS / page).read_text(encoding="utf-8")
    assert found
    assert [pair for pair in found if pair[1] != "--help" and not re.search(rf"`{pair[1]}\b", text)] == []
    servers = {
        "hubbub collect serve",
        "hubbub collect show",
        "hubbub collect shuffle",
        "hubbub gopa board",
    }  # they run until they are stopped
    assert {name for name, _ in found} - servers == {name for name, option in found if option == "--json"}
