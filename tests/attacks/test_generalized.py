"""Cells as our own k-anonymous tables print them: the attack reads each as what it may stand for."""

from __future__ import annotations

import numpy as np
import pyarrow
import pytest

from hubbub.attacks import link
from hubbub.attacks.linkage.generalized_values import fitting_values
from hubbub.attacks.plain_tables import encode_column
from hubbub.publish import Anonymized, mondrian

KNOWN = ["name", "weight", "smokes", "seen"]


def people(count: int = 1200) -> pyarrow.Table:
    """Names by the hundred, some of them with commas; weights, of which some are missing; truth values; times."""
    chance = np.random.default_rng(4)
    names = [f"{letter}{rest:02d}{', Jr' if rest % 7 == 0 else ''}" for letter in "ABCDE" for rest in range(60)]
    weight = pyarrow.array(np.round(chance.normal(70, 12, count)), mask=chance.random(count) < 0.15)
    return pyarrow.table(
        {
            "name": chance.choice(names, count),
            "weight": weight,
            "smokes": chance.random(count) < 0.3,
            "seen": (np.datetime64("2025-01-01") + chance.integers(0, 90, count)).astype("datetime64[us]"),
            "ill": chance.choice(["flu", "gout"], count),
        }
    )


@pytest.fixture(scope="module")
def alike() -> tuple[pyarrow.Table, Anonymized]:
    rows = people()
    return rows, mondrian(rows, quasi_identifiers=KNOWN, k=5)


def test_every_cell_that_mondrian_prints_fits_the_person_behind_it(alike: tuple[pyarrow.Table, Anonymized]) -> None:
    rows, made = alike
    names = set(made.table["name"].to_pylist())
    assert any(" to " in name for name in names) and any(name.startswith("{") for name in names)
    assert "(missing)" in set(made.table["weight"].to_pylist())
    for column in KNOWN:
        fits = fitting_values(made.table[column], rows[column])
        assert fits[encode_column(made.table[column]), encode_column(rows[column])[made.kept]].all(), column


def test_the_attack_on_a_partition_finds_whole_classes_and_not_everybody(
    alike: tuple[pyarrow.Table, Anonymized],
) -> None:
    rows, made = alike
    found = link(made.table, rows, on=KNOWN, truth=made.kept.tolist(), generalized=True)
    sizes = np.bincount(made.classes)[made.classes]
    assert (found.candidates >= sizes).all()
    assert np.median(found.candidates) < 20
    assert not found.succeeded


@pytest.mark.parametrize(
    ("cell", "fits"),
    [
        ("Adams to Baker", ["Adams", "Allen", "Baker"]),
        ("Road to Rome to Zoo", ["Rome", "Yard", "Road to Rome"]),
        ("{Baker, J., Carr}", ["Carr", "Baker, J.", "Baker"]),
        ("(missing)", [None]),
        ("Baker to Adams", []),
    ],
)
def test_words_and_missing_values(cell: str, fits: list[str | None]) -> None:
    every = ["Adams", "Allen", "Baker", "Carr", "Baker, J.", "Rome", "Yard", "Road to Rome", "Zz", None]
    found = fitting_values(pyarrow.chunked_array([[cell]]), pyarrow.chunked_array([every]))[0]
    told = [value for value, fit in zip(every, found, strict=True) if fit]
    assert sorted(map(str, told)) == sorted(map(str, fits))


def test_a_title_that_looks_like_a_range_is_itself() -> None:
    titles = pyarrow.chunked_array([["back to school", "maths", "rowing"]])
    assert fitting_values(pyarrow.chunked_array([["back to school"]]), titles).tolist() == [[True, False, False]]


def test_a_missing_cell_says_nothing_where_everybody_is_known() -> None:
    assert fitting_values(pyarrow.chunked_array([["(missing)"]]), pyarrow.chunked_array([[1, 2]])).all()
