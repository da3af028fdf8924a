"""Releases that version 0.1 wrote are read with the same rows, intervals and words. The fixtures are never edited."""

from __future__ import annotations

import json
import math
from datetime import date, datetime
from pathlib import Path
from typing import Any

import pytest

from hubbub.releases import Release, formulas

FIXTURES = Path(__file__).parents[1] / "fixtures" / "releases"
STORED = sorted((FIXTURES / "format-1").glob("*.json"))
EXPECTED = json.loads((FIXTURES / "format-1.json").read_text())
_TAGS = {"datetime": datetime.fromisoformat, "date": date.fromisoformat, "float": float}


def value_of(stored: Any) -> Any:
    """A value of the expectations: dates, times and infinities have a tag."""
    if isinstance(stored, dict):
        [(tag, text)] = stored.items()
        return _TAGS[tag](text)
    return stored


def test_every_fixture_has_its_expectation() -> None:
    assert {path.stem for path in STORED} == EXPECTED.keys() and len(STORED) >= 25


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
def test_a_stored_release_says_what_it_said(path: Path) -> None:
    document, expected = json.loads(path.read_text()), EXPECTED[path.stem]
    release = Release.from_json(document)
    assert release.to_json() == document
    assert list(release.columns_names) == expected["columns"]
    assert (release.guarantee.describe(), release.price()) == (expected["guarantee"], expected["price"])
    rows = [tuple(map(value_of, row)) for row in expected["rows"]]
    assert [tuple(map(type, row)) for row in release] == [tuple(map(type, row)) for row in rows]
    for row, told in zip(release, rows, strict=True):
        assert all(map(is_same, row, told)), (row, told)


def is_same(value: object, stored: object) -> bool:
    """Equal; functions such as exp may differ in the last digit from machine to machine."""
    if isinstance(value, float) and isinstance(stored, float):
        return math.isclose(value, stored, rel_tol=1e-14)
    return value == stored


@pytest.mark.parametrize("path", STORED, ids=lambda path: path.stem)
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_its_intervals_are_the_same(path: Path, confidence: float) -> None:
    release = Release.from_json(json.loads(path.read_text()))
    expected = EXPECTED[path.stem]["intervals"][str(confidence)]
    intervals = release.intervals(confidence)
    assert intervals.keys() == expected.keys()
    for name, ends in intervals.items():
        for pair, stored in zip(ends, expected[name], strict=True):
            assert all(is_near(end, value_of(told)) for end, told in zip(pair, stored, strict=True)), name


def is_near(value: object, stored: object) -> bool:
    """Equal, but for the last digits of floats."""
    if isinstance(value, float) and isinstance(stored, float):
        return math.isclose(value, stored, rel_tol=1e-9)
    return value == stored


def test_the_fixtures_hold_every_formula() -> None:
    kinds = {
        type(part).__name__
        for path in STORED
        for column in Release.from_json(json.loads(path.read_text())).columns
        for part in formulas.walk_formula(column.formula)
    }
    tags = {tag for path in STORED for tag in tags_in(json.loads(path.read_text()))}
    assert len(kinds) == len(tags) == 12
    assert tags == {
        *("function", "given", "key", "mean", "minus", "negate", "number", "over", "plus", "ref", "times", "variance")
    }


def tags_in(document: Any) -> set[str]:
    """The tags of all formulas of a stored release."""
    if isinstance(document, list):
        return {tag for item in document for tag in tags_in(item)}
    if not isinstance(document, dict):
        return set()
    own = {document["formula"]} if isinstance(document.get("formula"), str) else set()
    return own | {tag for item in document.values() for tag in tags_in(item)}
