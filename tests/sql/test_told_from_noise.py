"""Averages, variances and ratios that are only noise: said before, from public facts, and after, from numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy
import pandas
import pytest

import hubbub as hb
from hubbub.sql import Connection, connect

MEAN, SPREAD = "SELECT AVG(x) AS f FROM t", "SELECT STDDEV(x) AS f FROM t"
RATIO = "SELECT SUM(x) / COUNT(*) AS f FROM t"


def opened(place: Path, rows: int) -> Connection:
    frame = pandas.DataFrame({"pid": numpy.arange(rows), "x": numpy.arange(rows) % 100})
    facts = {"unit": "pid", "max_rows_per_unit": 1, "bounds": {"x": (0, 99)}, "name": "t"}
    return connect(frame, budget=hb.Budget(50, 1e-6), ledger=place / "ledger.db", **facts)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with opened(tmp_path, 5_000) as connection:
        yield connection


def said(notes: object) -> list[str]:
    return [note for note in notes if "cannot be told from noise" in note]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("text", "least"),
    [(MEAN, 30), (SPREAD, 40), ("SELECT VAR_POP(x) AS f FROM t", 40), ("SELECT AVG(x) + STDDEV(x) AS f FROM t", 40)],
)
def test_a_preview_says_how_many_rows_it_takes(db: Connection, text: str, least: int) -> None:
    [note] = said(db.preview(text, epsilon=0.1).notes)
    rows = int(note.split("fewer than ")[1].split(" ")[0])
    assert least <= rows <= 3 * least
    [dearer] = said(db.preview(text, epsilon=1).notes)
    assert int(dearer.split("fewer than ")[1].split(" ")[0]) < rows / 5


def test_a_preview_says_that_what_is_reckoned_with_is_not_enough(db: Connection) -> None:
    [note] = said(db.preview(SPREAD, epsilon=0.1, assume=10).notes)
    assert "at this price" in note and note.endswith("for 10.")


def test_a_preview_names_what_a_ratio_is_divided_by(db: Connection) -> None:
    [note] = said(db.preview(RATIO, epsilon=0.1).notes)
    assert "what divides it (" in note
    assert said(db.preview("SELECT SUM(x) / 2 AS f, COUNT(*) AS n FROM t", epsilon=0.1).notes) == []


def test_a_preview_says_the_same_of_any_data(tmp_path: Path) -> None:
    notes = []
    for rows in (3, 5_000):
        place = tmp_path / str(rows)
        place.mkdir()
        with opened(place, rows) as db:
            notes.append(db.preview(SPREAD, epsilon=0.1).notes)
    assert notes[0] == notes[1]


@pytest.mark.parametrize("text", [MEAN, SPREAD, RATIO])
def test_an_answer_says_it_of_its_own_numbers(tmp_path: Path, text: str) -> None:
    """Of 3 rows nothing is told at this price; of 5,000 all is, at a hundred times it."""
    for rows, epsilon, lost in ((3, 0.01, True), (5_000, 1, False)):
        place = tmp_path / str(rows)
        place.mkdir()
        with opened(place, rows) as db:
            kept = sum(bool(said(db.sql(text, epsilon=epsilon, fresh=True).remarks())) for _ in range(5))
        assert kept >= 2 if lost else kept == 0


def test_equal_values_have_a_spread_that_cannot_be_told(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"pid": numpy.arange(5_000), "x": 50, "w": numpy.where(numpy.arange(5_000) % 2, "a", "b")})
    facts = {"unit": "pid", "max_rows_per_unit": 1, "bounds": {"x": (0, 99)}, "keys": {"w": ["a", "b"]}, "name": "t"}
    with connect(frame, budget=hb.Budget(50, 1e-6), ledger=tmp_path / "l.db", **facts) as db:
        text = "SELECT w, STDDEV(x) AS f, AVG(x) AS a FROM t GROUP BY w"
        found = [note for _ in range(5) for note in said(db.sql(text, epsilon=1, fresh=True).remarks())]
    assert found and all(note.startswith("f cannot") and " of 2 rows" in note for note in found)
