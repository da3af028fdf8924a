"""Each error code has a page, and the page's example really raises that error with that message."""

from __future__ import annotations

import doctest
import re
from functools import cache
from pathlib import Path

import pytest

from hubbub.terms import HubbubError, errors

FOLDER = Path(__file__).parents[2] / "docs" / "errors"
HEADINGS = ("## What happened", "## Why", "## What to do")


def concrete(kind: type[HubbubError] = HubbubError) -> dict[str, type[HubbubError]]:
    """Every error class with a code, by its code."""
    found = {kind.code: kind} if vars(kind).get("code") else {}
    for below in kind.__subclasses__():
        found |= concrete(below)
    return found


CLASSES = {code: kind for code, kind in concrete().items() if kind.__module__ == errors.__name__}


def page_of(code: str) -> str:
    return (FOLDER / f"{code}.md").read_text(encoding="utf-8")


@cache
def raised_by(page: str) -> HubbubError:
    """The error that the page's one example raises, at its last line."""
    [block] = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    *before, last = doctest.DocTestParser().get_examples(block)
    names: dict[str, object] = {}
    for example in before:
        exec(compile(example.source, "page", "single"), names)
    with pytest.raises(HubbubError) as caught:
        exec(compile(last.source, "page", "single"), names)
    return caught.value


def test_every_code_has_a_page_and_every_page_a_code() -> None:
    assert {path.stem for path in FOLDER.glob("P*.md")} == set(CLASSES)


def test_the_tree_in_the_docstring_names_every_code() -> None:
    drawn = dict(re.findall(r"(\w+) +(P\d{3})", errors.__doc__ or ""))
    assert drawn == {kind.__name__: code for code, kind in CLASSES.items()}


def test_codes_are_given_once() -> None:
    classes = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, HubbubError)]
    codes = [kind.code for kind in classes if kind.code]
    assert len(codes) == len(set(codes)) == len(CLASSES)


def test_the_map_links_every_page() -> None:
    told = (FOLDER / "index.md").read_text(encoding="utf-8")
    for code, kind in CLASSES.items():
        assert f"[{code}]({code}.md) | `{kind.__name__}`" in told


@pytest.mark.parametrize("code", sorted(CLASSES))
def test_the_example_raises_exactly_that_error(code: str) -> None:
    error = raised_by(page_of(code))
    assert type(error) is CLASSES[code]
    assert error.code == code


@pytest.mark.parametrize("code", sorted(CLASSES))
def test_the_page_shows_the_message_as_it_is_printed(code: str) -> None:
    page = page_of(code)
    assert str(raised_by(page)) in page


@pytest.mark.parametrize("code", sorted(CLASSES))
def test_the_message_says_what_why_and_what_to_do(code: str) -> None:
    error = raised_by(page_of(code))
    what, *place = error.what.splitlines()
    if place:  # the place in a text or file: its line, and a mark under it
        what, at, where = what.rpartition(" At ")
        assert at
        assert where.endswith(":")
        assert set(place[-1]) == {" ", "^"}
    for part in (what, error.why, error.fix):
        assert len(part) > 10
        assert part.rstrip().endswith((".", "...", "?"))
    assert str(error).startswith(f"{type(error).__name__} [{code}]: {error.what}\n")
    assert str(error).splitlines()[-1].strip() == f"docs: errors/{code}"


@pytest.mark.parametrize("code", sorted(CLASSES))
def test_a_page_has_the_cause_the_reason_and_the_fix(code: str) -> None:
    page = page_of(code)
    assert page.startswith(f"# {code}: {CLASSES[code].__name__}\n")
    places = [page.find(heading) for heading in HEADINGS]
    assert -1 not in places
    assert places == sorted(places)


def test_a_page_whose_example_raises_nothing_is_noticed() -> None:
    with pytest.raises(pytest.fail.Exception):
        raised_by("```python\n>>> 1 + 1\n2\n```\n")


def test_a_page_with_another_error_is_noticed() -> None:
    page = page_of("P102")
    assert type(raised_by(page)) is not CLASSES["P101"]
    assert str(raised_by(page)) not in page.replace("P102", "P101")
