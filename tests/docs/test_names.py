"""The pages name files and modules that exist. Decisions and old names of the page of renamed things are records."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

from .test_lectures import exists

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = [
    *(page for page in sorted(DOCS.glob("*.md")) if page.name != "renamed.md"),
    *sorted((DOCS / "proofs").glob("*.md")),
    ROOT / "CONTRIBUTING.md",
]
OURS = ("src", "tests", "bench", "tools", "docs")
A_READERS_OWN = {"mymodule.py"}
SRC = ROOT / "src" / "hubbub"
ROOMS = {path.name for path in SRC.iterdir() if path.is_dir()}


@cache
def files() -> list[str]:
    below = (path for folder in OURS for path in (ROOT / folder).rglob("*.py"))
    return [f"/{path.relative_to(ROOT)}" for path in (*ROOT.glob("*.py"), *below)]


def missing(text: str) -> list[str]:
    """The files and modules in backticks that are not there."""
    named = set(re.findall(r"`([\w/]+\.py)`", text)) - A_READERS_OWN
    modules = set(re.findall(r"`(hubbub\.[a-z_]+(?:\.\w+)*)`", text)) - {"hubbub.db", "hubbub.js"}
    absent = {name for name in named if not any(path.endswith(f"/{name}") for path in files())}
    return sorted(absent | {module for module in modules if not exists(module)})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_what_a_page_names_exists(page: Path) -> None:
    assert missing(page.read_text(encoding="utf-8")) == []


def test_what_does_not_exist_is_noticed() -> None:
    assert missing("`noise/samplers.py` `samplers.py` `hubbub.noise.samplers` `hubbub.noise.uniform`") == []
    assert missing("`noise/sampler.py` and `hubbub.noise.sampler`") == ["hubbub.noise.sampler", "noise/sampler.py"]


def lost_successors(text: str) -> list[str]:
    """What the last column of a table of renamed things names by a dotted path, and does not exist; and classes that
    no module of their room has."""
    lost = []
    for line in text.splitlines():
        *before, after = [cell.strip() for cell in line.strip().strip("|").split("|")] if line.startswith("|") else [""]
        paths = re.findall(r"`([a-z_]+(?:\.\w+)+)`", after)
        full = [f"hubbub.{path}" if path.split(".")[0] in ROOMS else path for path in paths]
        lost += [path for path in full if path.startswith("hubbub.") and not exists(path)]
        if len(before) == 2 and before[0] in ROOMS:
            lost += [name for name in re.findall(r"`(\w+)`", after) if name not in defined_in(before[0])]
    return lost


@cache
def defined_in(room: str) -> set[str]:
    """The classes of a room, and its names for types."""
    names: set[str] = set()
    for path in (SRC / room).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ClassDef):
                names.add(node.name)
            elif isinstance(node, ast.Assign | ast.AnnAssign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
    return names


def test_what_took_the_place_of_something_exists() -> None:
    assert lost_successors((DOCS / "renamed.md").read_text(encoding="utf-8")) == []


def test_a_successor_that_is_not_there_is_noticed() -> None:
    assert lost_successors("| `hubbub.noise.draw` | `hubbub.noise.samplers` |\n| `x` | `noise.uniform` |") == []
    assert lost_successors("| `x` | `noise.unform` |\n| noise | `Source` | `RandomWell` |") == [
        "hubbub.noise.unform",
        "RandomWell",
    ]
