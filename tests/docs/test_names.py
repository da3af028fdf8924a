"""The pages name files and modules that exist. Decisions and the page of renamed things are records, and exempt."""

from __future__ import annotations

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
