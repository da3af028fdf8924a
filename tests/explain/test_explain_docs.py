"""What the page and the docstrings show was really produced, and the page names every option and exit code."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
import re
import shlex
from pathlib import Path

import pytest

import hubbub.explain
from hubbub.cli import main
from hubbub.cli.exit_codes import Exit

PAGE = Path(__file__).parents[2] / "docs" / "explain.md"
MODULES = [m.name for m in pkgutil.walk_packages(hubbub.explain.__path__, "hubbub.explain.")]


def blocks(language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)


def leave(*arguments: str) -> int:
    with pytest.raises(SystemExit) as leaving:
        main(arguments)
    return int(leaving.value.code or 0)


def test_the_examples_of_the_page_run() -> None:
    session = "\n".join(blocks("python"))
    test = doctest.DocTestParser().get_doctest(session, {}, "explain.md", str(PAGE), 0)
    assert len(test.examples) > 10
    assert doctest.DocTestRunner().run(test).failed == 0


def test_the_commands_of_the_page_print_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    for block in blocks("console"):
        command, _, expected = block.removeprefix("$ hubbub ").partition("\n")
        assert leave(*shlex.split(command)) == 0
        assert capsys.readouterr().out == expected


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_run(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_the_page_names_every_option(capsys: pytest.CaptureFixture[str]) -> None:
    page = PAGE.read_text(encoding="utf-8")
    for command in ("epsilon", "charlie", "election", "auction", "models", "limits"):
        assert leave("explain", command, "--help") == 0
        options = set(re.findall(r"^\s+(--[a-z-]+)", capsys.readouterr().out, re.MULTILINE))
        assert options
        assert {option for option in options if option not in page} == set()


def test_the_page_lists_every_exit_code() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for code in Exit:
        assert f"| {code.value} | {code.words} |" in page
