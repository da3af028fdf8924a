"""Every Python example of the README and the documentation runs, page by page, from top to bottom."""

from __future__ import annotations

import doctest
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(p for p in (ROOT / "docs").rglob("*.md") if "_build" not in p.parts)]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]

BLOCK = re.compile(
    r"(?P<skip><!-- not run: (?P<reason>.*?)-->\s*\n)?"
    r"^(?P<indent> *)```(?P<language>[\w+-]*)[^\n]*\n(?P<body>.*?)^ *```",
    re.DOTALL | re.MULTILINE,
)


@dataclass(frozen=True)
class Block:
    body: str
    line: int
    reason: str | None  # why it is not run


def blocks(text: str) -> Iterator[Block]:
    """The Python blocks of a page."""
    for found in BLOCK.finditer(text):
        if found["language"] in {"python", "pycon"}:
            reason = found["reason"].strip() if found["skip"] else None
            yield Block(_dedent(found["body"], len(found["indent"])), text.count("\n", 0, found.start("body")), reason)


def _dedent(body: str, indent: int) -> str:
    return "".join(line[indent:] if line[:indent].isspace() else line for line in body.splitlines(keepends=True))


def run(text: str, name: str) -> None:
    """Run a page's blocks in one namespace; blocks with prompts must print what they show."""
    names: dict[str, object] = {"__name__": "__main__"}
    for block in blocks(text):
        if block.reason is not None:
            assert block.reason, f"{name}:{block.line}: a skipped example says why"
        elif ">>>" in block.body:
            _compare(block, names, name)
        else:
            exec(compile("\n" * block.line + block.body, name, "exec"), names)


def _compare(block: Block, names: dict[str, object], name: str) -> None:
    test = doctest.DocTestParser().get_doctest(block.body, names, name, name, block.line)
    test.globs = names  # the parser copies; the next block goes on with what this one defines
    told: list[str] = []
    runner = doctest.DocTestRunner(verbose=False)
    runner.run(test, out=told.append, clear_globs=False)
    assert not runner.summarize(verbose=False).failed, "".join(told)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_examples_of_a_page_run(page: Path) -> None:
    run(page.read_text(encoding="utf-8"), str(page.relative_to(ROOT)))


def test_blocks_share_a_namespace() -> None:
    run(
        "```python\nx = 1\n```\ntext\n```python\n>>> y = x + 1\n>>> y\n2\n```\n\n```python\nassert y == 2\n```\n",
        "page",
    )


def test_a_wrong_output_is_noticed() -> None:
    with pytest.raises(AssertionError, match="Expected"):
        run("```python\n>>> 1 + 1\n3\n```\n", "page")


def test_an_example_that_fails_is_noticed() -> None:
    with pytest.raises(NameError):
        run("```python\nnot_defined\n```\n", "page")


def test_a_block_is_skipped_only_with_a_reason() -> None:
    run("<!-- not run: needs a server -->\n```python\nnot_defined\n```\n", "page")
    with pytest.raises(AssertionError, match="says why"):
        run("<!-- not run: -->\n```python\nnot_defined\n```\n", "page")


def test_other_languages_are_left_alone() -> None:
    assert list(blocks("```console\n$ hubbub\n```\n\n```{toctree}\nstart\n```\n")) == []


def test_the_pages_have_examples() -> None:
    assert sum(1 for page in PAGES for _ in blocks(page.read_text(encoding="utf-8"))) > 40
