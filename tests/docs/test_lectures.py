"""The index of the lectures is true: what a finished row names exists, and what is missing names its room."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "lectures.md"
ROOMS = {"ledger", "releases", "engines", "sql", "learn", "publish", "local", "gopa", "attacks", "audit", "server"}


@dataclass(frozen=True)
class Row:
    item: str
    status: str
    here: str
    test: str


def rows(text: str) -> Iterator[Row]:
    """The rows of the tables whose second column is the status."""
    inside = False
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            inside = False
        elif cells[1:2] == ["status"]:
            inside = True
        elif inside and not set(line) <= set("|-"):
            assert len(cells) == 4, f"four columns: {line}"
            yield Row(*cells)


def problems(text: str) -> list[str]:
    """What the table claims and is not so."""
    return [f"{row.item}: {problem}" for row in rows(text) for problem in _problems(row)]


def _problems(row: Row) -> Iterator[str]:
    if row.status.startswith("not yet"):
        named = set(re.findall(r"`(\w+)`", row.status))
        if not named or not named <= ROOMS:
            yield "says not yet and no room"
        if row.here or row.test:
            yield "says not yet and names something"
        return
    if row.status != "done":
        yield f"has the status {row.status!r}"
    paths = re.findall(r"`(hubbub(?:\.\w+)+)`", row.here)
    if not paths:
        yield "is done and names nothing"
    yield from (f"{path} does not exist" for path in paths if not exists(path))
    tests = re.findall(r"`(tests/[\w/.:]+)`", row.test)
    if not tests:
        yield "is done and names no test"
    yield from (f"{test} does not exist" for test in tests if not has_test(test))


def exists(path: str) -> bool:
    """Whether a dotted path is a module or something inside one."""
    parts = path.split(".")
    for end in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:end]))
        except ModuleNotFoundError:
            continue
        for name in parts[end:]:
            if not hasattr(found, name):
                return False
            found = getattr(found, name)
        return True
    return False


def has_test(test: str) -> bool:
    file, _, names = test.partition("::")
    return (ROOT / file).is_file() and set(names.split("::")) <= definitions(ROOT / file)


@cache
def definitions(path: Path) -> set[str]:
    """Every function and class of a file."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.ClassDef)}


def test_every_row_is_true() -> None:
    assert problems(PAGE.read_text(encoding="utf-8")) == []


def test_all_four_lectures_are_listed() -> None:
    told = list(rows(PAGE.read_text(encoding="utf-8")))
    assert len(told) > 100
    assert sum(row.status == "done" for row in told) > 40
    headings = re.findall(r"^## (.+)$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert [heading.split()[0].strip(":,") for heading in headings[:4]] == ["Bellet", "Allard", "Kamath", "CS"]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        ("| x | done | `hubbub.noise.no_such` | `tests/docs/test_lectures.py::rows` |", "no_such does not exist"),
        ("| x | done | `hubbub.noise.uniform` | `tests/docs/test_lectures.py::no_such` |", "no_such does not exist"),
        ("| x | done | `hubbub.noise.uniform` | `tests/no_such.py::rows` |", "tests/no_such.py::rows does not exist"),
        ("| x | done | `hubbub.noise.uniform` |  |", "names no test"),
        ("| x | done | words | `tests/docs/test_lectures.py::rows` |", "names nothing"),
        ("| x | not yet | |  |", "no room"),
        ("| x | not yet: `cellar` | |  |", "no room"),
        ("| x | not yet: `local` | `hubbub.noise.uniform` |  |", "names something"),
        ("| x | soon | |  |", "has the status"),
    ],
)
def test_an_untrue_row_is_noticed(row: str, told: str) -> None:
    found = problems(f"| in the lecture | status | here | test |\n|---|---|---|---|\n{row}\n")
    assert any(told in problem for problem in found)


def test_a_true_row_passes() -> None:
    row = "| x | done | `hubbub.noise.uniform` | `tests/docs/test_lectures.py::rows` |"
    assert problems(f"| in the lecture | status | here | test |\n|---|---|---|---|\n{row}\n") == []
