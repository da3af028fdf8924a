"""k-anonymous tables: groups with one secret expose it, and ruling out values does the rest."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from hubbub.attacks import background, homogeneity, populations, uniqueness
from hubbub.terms import OutOfRange, Unsuitable

QUASI = ["age", "zip"]
ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult-train.csv.gz"


def test_ten_anonymous_and_still_exposed() -> None:
    found = homogeneity(populations.ward(10), quasi_identifiers=QUASI, sensitive="diagnosis")
    assert (found.k, found.l) == (10, 1)
    assert found.entropy_l == pytest.approx(1)
    assert found.exposed >= 10 * found.homogeneous > 0
    assert found.succeeded


def test_a_table_that_was_not_made_alike_is_not_said_to_hide_anybody() -> None:
    alone = {"age": [20, 30, 30], "zip": ["a", "b", "b"], "diagnosis": ["flu", "gout", "gout"]}
    found = homogeneity(alone, quasi_identifiers=QUASI, sensitive="diagnosis")
    assert found.k == 1
    assert "at least" not in found.headline and "they are alone in their group" in found.headline
    assert "k-anonymous" not in found.meaning()[0]
    assert "which of 1" not in str(found)


def test_diverse_groups_expose_nobody() -> None:
    found = homogeneity(populations.ward(10, diverse=3), quasi_identifiers=QUASI, sensitive="diagnosis")
    assert (found.k, found.l) == (10, 3)
    assert found.entropy_l > 2
    assert found.exposed == 0
    assert not found.succeeded


def test_the_lectures_group_that_all_has_cancer() -> None:
    table = {
        "age": ["20-30", "20-30", "70-80", "70-80"],
        "zip": ["13***", "13***", "02***", "02***"],
        "diagnosis": ["asthma", "type-1 diabetes", "cancer", "cancer"],
    }
    found = homogeneity(table, quasi_identifiers=QUASI, sensitive="diagnosis")
    assert (found.k, found.l, found.exposed) == (2, 1, 2)
    victim = background(table, quasi_identifiers=QUASI, sensitive="diagnosis", known={"age": 76, "zip": "02110"})
    assert victim.beliefs == {"cancer": 1.0}


def test_guesses_before_and_after_are_counted() -> None:
    table = {"g": [0, 0, 0, 1, 1, 1], "s": ["a", "a", "b", "b", "b", "b"]}
    found = homogeneity(table, quasi_identifiers=["g"], sensitive="s")
    assert found.before == pytest.approx(4 / 6)
    assert found.after == pytest.approx(5 / 6)
    assert found.exposed == 3
    assert found.nearly_sure(0.6) == 2  # "a" in the first group; "b" was that likely before


def test_a_table_without_any_pattern_exposes_nobody_and_moves_no_belief() -> None:
    rng = np.random.default_rng(0)
    table = {"g": rng.integers(0, 5, 5000), "s": rng.choice(["a", "b", "c"], 5000)}
    found = homogeneity(table, quasi_identifiers=["g"], sensitive="s")
    assert found.after - found.before < 0.03
    assert not found.succeeded


def test_adult_can_be_ten_anonymous_and_not_diverse() -> None:
    if not ADULT.is_file():
        pytest.skip("the census extract of the shared data is not here; the synthetic ward shows the same")
    with gzip.open(ADULT, "rt") as file:
        rows = [[cell.strip() for cell in row] for row in csv.reader(file) if len(row) > 13]
    age = [f"{int(row[0]) // 10 * 10}" for row in rows if row[0].isdigit()]
    rows = [row for row in rows if row[0].isdigit()]
    table = pyarrow.table(
        {"age": age, "education": [r[3] for r in rows], "sex": [r[9] for r in rows], "pay": [r[-1] for r in rows]}
    )
    sizes = uniqueness(table, on=["age", "education", "sex"]).sizes
    found = homogeneity(
        table.filter(pyarrow.array(sizes >= 10)), quasi_identifiers=["age", "education", "sex"], sensitive="pay"
    )
    assert found.k >= 10
    assert found.l == 1
    assert found.exposed > 100


# ---------------------------------------------------------------- background knowledge


def test_ruling_out_values_exposes_more_and_more() -> None:
    found = background(populations.ward(10), quasi_identifiers=QUASI, sensitive="diagnosis")
    people = found.classes.people
    counts = [found.exposed(i) for i in range(8)]
    assert counts == sorted(counts)
    assert 0 < counts[0] < counts[1] < people
    assert counts[-1] == people
    assert found.least == 0


def test_diversity_is_how_many_values_must_be_ruled_out() -> None:
    found = background(populations.ward(10, diverse=3), quasi_identifiers=QUASI, sensitive="diagnosis")
    assert found.least == 2
    assert found.exposed(1) == 0 < found.exposed(2)


def test_excluded_values_leave_one() -> None:
    table = {"g": [0, 0, 0, 1, 1, 1], "s": ["a", "b", "b", "a", "b", "c"]}
    found = background(table, quasi_identifiers=["g"], sensitive="s", excluded=["a"])
    assert found.exposed_now == 2
    assert background(table, quasi_identifiers=["g"], sensitive="s", excluded=["a", "c"]).exposed_now == 3
    assert background(table, quasi_identifiers=["g"], sensitive="s").exposed_now == 0


def test_a_victim_is_narrowed_down_step_by_step() -> None:
    table = {"age": ["50-59"] * 4 + ["60-69"] * 4, "s": ["heart", "virus", "heart", "virus", *"abcd"]}
    told = {"quasi_identifiers": ["age"], "sensitive": "s", "known": {"age": 51}}
    assert background(table, **told).beliefs == {"heart": 0.5, "virus": 0.5}
    after = background(table, excluded=["heart"], **told)
    assert after.beliefs == {"virus": 1.0}
    assert after.succeeded
    assert not background(table, **told).succeeded
    assert background(table, excluded=["heart", "virus"], **told).beliefs == {}


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"sensitive": "pay"}, "no column 'pay'"),
        ({"quasi_identifiers": ["pay"]}, "no column 'pay'"),
        ({"excluded": ["plague"]}, "no value of 'diagnosis'"),
        ({"known": {"age": 7}}, "no row fits"),
        ({"known": {"diagnosis": "flu"}}, "has no column 'diagnosis'"),
        ({"sensitive": "age"}, "missing or named twice"),
    ],
)
def test_unsuitable_questions_are_refused(options: dict[str, object], told: str) -> None:
    asked = {"quasi_identifiers": QUASI, "sensitive": "diagnosis"} | options
    with pytest.raises(Unsuitable, match=told):
        background(populations.ward(), **asked)


def test_a_secret_that_all_share_is_none() -> None:
    with pytest.raises(Unsuitable, match="one value only"):
        homogeneity({"g": [0, 1], "s": ["a", "a"]}, quasi_identifiers=["g"], sensitive="s")


def test_a_ward_cannot_be_more_diverse_than_large() -> None:
    with pytest.raises(OutOfRange):
        populations.ward(2, diverse=3)
