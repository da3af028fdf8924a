"""Linkage: names come back where the columns are fine, and do not where they are coarse."""

from __future__ import annotations

from datetime import date

import numpy as np
import pandas
import polars
import pyarrow
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hubbub.attacks import governor, link, populations, uniqueness
from hubbub.attacks.populations import GOVERNOR, QUASI_IDENTIFIERS, InventedState
from hubbub.publish import mondrian
from hubbub.terms import Unsuitable


@pytest.fixture(scope="module")
def state() -> InventedState:
    return populations.classroom()


# ---------------------------------------------------------------- the two populations


def alone(people: pyarrow.Table) -> float:
    """Counted by Arrow, without the code under test."""
    groups = people.group_by(list(QUASI_IDENTIFIERS)).aggregate([([], "count_all")])
    return groups.column("count_all").to_pylist().count(1) / people.num_rows


def test_87_in_100_are_alone_in_the_classroom(state: InventedState) -> None:
    assert alone(state.people) == pytest.approx(0.87, abs=0.02)
    assert uniqueness(state.people, on=QUASI_IDENTIFIERS).share == pytest.approx(alone(state.people))


def test_60_in_100_are_alone_where_zip_codes_are_as_unequal_as_real_ones() -> None:
    people = populations.skewed().people
    assert alone(people) == pytest.approx(0.6, abs=0.02)
    assert uniqueness(people, on=QUASI_IDENTIFIERS).share == pytest.approx(alone(people))


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_the_shares_do_not_depend_on_the_seed(seed: int) -> None:
    assert uniqueness(populations.classroom(seed=seed).people, on=QUASI_IDENTIFIERS).share == pytest.approx(
        0.87, abs=0.02
    )


def test_the_same_seed_makes_the_same_people_and_another_seed_others(state: InventedState) -> None:
    again, other = populations.classroom(), populations.classroom(seed=1)
    for name in ("people", "voters", "hospital", "truth"):
        assert getattr(state, name).equals(getattr(again, name))
        assert not getattr(state, name).equals(getattr(other, name))


def test_names_are_different_and_the_hospital_has_none(state: InventedState) -> None:
    assert len(set(state.people.column("name").to_pylist())) == state.people.num_rows
    assert "name" not in state.hospital.column_names


# ---------------------------------------------------------------- the governor


@pytest.mark.parametrize("seed", range(5))
def test_the_governor_is_found_in_every_state(seed: int) -> None:
    story = governor(populations.classroom(40_000, seed=seed))
    assert story.succeeded
    assert story.diagnoses == ("cancer",)
    assert story.voters_left[-1] == 1
    assert list(story.voters_left) == sorted(story.voters_left, reverse=True)


def test_the_governor_hides_in_coarse_records(state: InventedState) -> None:
    story = governor(state, coarse=True)
    assert not story.succeeded
    assert story.records > 100
    assert story.diagnoses.count("cancer") < story.records / 5


def test_the_governor_is_among_the_matches_by_name(state: InventedState) -> None:
    found = link(state.hospital, state.voters, on=QUASI_IDENTIFIERS, identity="name", truth=state.truth)
    [match] = [row for row in found.matches.to_pylist() if row["identity"] == GOVERNOR]
    assert state.hospital.column("diagnosis")[match["released_row"]].as_py() == "cancer"


# ---------------------------------------------------------------- link


def test_half_of_the_hospital_gets_its_names_back(state: InventedState) -> None:
    found = link(state.hospital, state.voters, on=QUASI_IDENTIFIERS, identity="name", truth=state.truth)
    assert found.succeeded
    assert found.share > 0.5
    assert found.precision is not None
    assert found.precision > 0.95


def test_coarse_records_keep_everybody_hidden(state: InventedState) -> None:
    released = state.coarse(state.hospital)
    found = link(released, state.voters, on=QUASI_IDENTIFIERS, identity="name", truth=state.truth, generalized=True)
    assert not found.succeeded
    assert found.matched == 0


def test_whoever_is_in_a_k_anonymous_table_fits_k_people(state: InventedState) -> None:
    names = ["zip", "birth_date", "sex"]
    records = state.people.slice(0, 2_000)
    released = mondrian(records, quasi_identifiers=names, k=10, keep=records.column_names).table
    found = link(released, records, on=names, generalized=True)
    assert found.candidates.min() >= 10
    assert link(records, records, on=names).share > 0.9


def test_matches_to_shuffled_records_are_wrong_and_it_is_told(state: InventedState) -> None:
    order = pyarrow.array(np.random.default_rng(0).permutation(state.hospital.num_rows))
    found = link(state.hospital.take(order), state.voters, on=QUASI_IDENTIFIERS, identity="name", truth=state.truth)
    assert found.matched > 1_000
    assert found.precision is not None
    assert found.precision < 0.01
    assert not found.succeeded


RELEASED = {"zip": ["1", "1", "2", None], "born": [date(2000, 1, 1)] * 4, "ill": ["a", "b", "c", "d"]}
KNOWN = {"zip": ["1", "2", "3", None], "born": [date(2000, 1, 1)] * 4, "name": ["x", "y", "z", "w"]}


@pytest.mark.parametrize("kind", [dict, pyarrow.table, pandas.DataFrame, polars.DataFrame])
def test_every_kind_of_table_is_read(kind: type) -> None:
    found = link(kind(RELEASED), kind(KNOWN), on=["zip", "born"], identity="name")
    assert found.matches.column("identity").to_pylist() == ["x", "x", "y"]
    assert found.to_pandas()["released_row"].tolist() == [0, 1, 2]


def test_a_missing_value_agrees_with_nothing() -> None:
    assert link(RELEASED, KNOWN, on=["zip"]).candidates.tolist() == [1, 1, 1, 0]


def test_numbers_dates_and_texts_are_compared_across_kinds() -> None:
    assert link({"n": [1, 2]}, {"n": [1.0, 5.0]}, on=["n"]).matched == 1
    assert link({"n": [1, 2]}, {"n": ["1", "5"]}, on=["n"]).matched == 1
    assert link({"d": ["2000-01-01"]}, {"d": [date(2000, 1, 1)]}, on=["d"]).matched == 1
    assert link({"a": [1, 2]}, {"b": [1, 5]}, on={"a": "b"}).matched == 1


def test_somebody_listed_twice_is_one_person() -> None:
    twice = {"zip": ["1", "1"], "name": ["x", "x"]}
    assert link({"zip": ["1"]}, twice, on=["zip"], identity="name").matched == 1
    assert link({"zip": ["1"]}, twice, on=["zip"]).matched == 0


@pytest.mark.parametrize(
    ("cell", "fits"),
    [
        ("*", 4),
        ("20-29", 2),
        ("20 to 29", 2),
        ("[20, 29)", 1),
        ("(20, 29]", 1),
        ("2*", 2),
        ("{20, 31}", 2),
        ("20", 1),
        ("99", 0),
    ],
)
def test_a_generalized_cell_fits_all_it_may_stand_for(cell: str, fits: int) -> None:
    found = link({"age": [cell, "*"]}, {"age": [20, 29, 31, 310]}, on=["age"], generalized=True)
    assert found.candidates.tolist() == [fits, 4]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20),
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 2)), min_size=1, max_size=20),
)
def test_candidates_are_those_of_a_nested_loop(ours: list[tuple[int, int]], theirs: list[tuple[int, int]]) -> None:
    expected = [sum(row == other for other in theirs) for row in ours]
    released, known = ({"a": [a for a, _ in rows], "b": [b for _, b in rows]} for rows in (ours, theirs))
    if not any(expected):
        with pytest.raises(Unsuitable, match="no released row agrees"):
            link(released, known, on=["a", "b"])
        return
    assert link(released, known, on=["a", "b"]).candidates.tolist() == expected
    assert link(released, known, on=["a", "b"], generalized=True).candidates.tolist() == expected


# ---------------------------------------------------------------- uniqueness


def test_the_search_finds_the_columns_that_identify(state: InventedState) -> None:
    found = uniqueness(state.people, on=["sex", "zip", "birth_date"])
    assert [set(columns) for columns, _ in found.best] == [
        {"birth_date"},
        {"zip", "birth_date"},
        {"sex", "zip", "birth_date"},
    ]
    shares = [share for _, share in found.best]
    assert shares == sorted(shares)
    assert len(found.subsets) == 7


def test_many_columns_are_searched_greedily_and_end_with_all() -> None:
    rng = np.random.default_rng(0)
    table = {f"c{i}": rng.integers(0, 3, 200) for i in range(12)}
    found = uniqueness(table, on=list(table))
    assert len(found.subsets) == 12 * 13 // 2
    assert found.best[-1][1] == found.share


def test_nobody_is_alone_in_coarse_records(state: InventedState) -> None:
    found = uniqueness(state.coarse(state.people), on=QUASI_IDENTIFIERS)
    assert not found.succeeded
    assert found.smallest >= 10
    assert found.share_below(10) == 0


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("released", "known", "on", "told"),
    [
        ({"a": [1]}, {"a": [1]}, ["b"], "has no column 'b'"),
        ({"a": [1]}, {"b": [1]}, ["a"], "known has no column 'a'"),
        ({"a": [1]}, {"a": [1]}, [], "missing or named twice"),
        ({"a": []}, {"a": [1]}, ["a"], "released has no rows"),
        ({"a": [1]}, {"a": []}, ["a"], "known has no rows"),
        ({"a": [1]}, {"a": [2]}, ["a"], "no released row agrees"),
        ({"a": [1], "b": [1, 2]}, {"a": [2]}, ["a"], "not a table"),
        (7, {"a": [2]}, ["a"], "not a table"),
        ({"a": list(range(40))}, {"a": [2]}, ["a"], "different in every row"),
        ({"a": [[1]]}, {"a": [[1]]}, ["a"], "values of type list"),
        ({"a": [1]}, {"a": [1]}, 3.5, "missing or named twice"),
    ],
)
def test_unsuitable_tables_are_refused_with_the_reason(
    released: object, known: object, on: list[str], told: str
) -> None:
    with pytest.raises(Unsuitable, match=told) as caught:
        link(released, known, on=on)
    assert caught.value.code == "P911"


@pytest.mark.parametrize(
    ("cell", "fits", "fails"),
    [
        ("555-1234", ["555-1234", "600"], ["555-1235"]),
        ("-5--1", ["-3", "-5"], ["3", "-6"]),
        ("2020-2021", ["2020", "2020-2021"], ["2022", "2020-06-01"]),
        ("2020-06-01", ["2020-06-01"], ["2020"]),
        ("[2020-01-01, 2020-12-31]", ["2020-02-02"], ["2020-99-45", "2021-01-01"]),
        ("[2020-13-01, 2020-12-31]", ["[2020-13-01, 2020-12-31]"], ["2020-02-02"]),
        ("02**", ["0211", "02**"], ["02110"]),
        ("{a, b}", ["a", "{a, b}"], ["{a", "c"]),
    ],
)
def test_a_generalized_cell_fits_what_it_may_stand_for_and_itself(cell: str, fits: list[str], fails: list[str]) -> None:
    found = link({"x": [cell]}, {"x": [*fits, *fails]}, on=["x"], generalized=True)
    assert found.candidates.tolist() == [len(fits)]


def test_missing_cells_and_stars_fit_everybody() -> None:
    released = {"x": [None, "*", "021**", "elsewhere"]}
    found = link(released, {"x": ["02110", "02111", "13440"]}, on=["x"], generalized=True)
    assert found.candidates.tolist() == [3, 3, 2, 0]


@pytest.mark.parametrize("generalized", [True, False])
def test_who_is_listed_twice_is_one_person(generalized: bool) -> None:
    known = {"x": ["25", "25", "31"], "name": ["Ann", "Ann", "Bob"]}
    found = link({"x": ["25"]}, known, on=["x"], identity="name", generalized=generalized)
    assert found.matches["identity"].to_pylist() == ["Ann"]


def test_a_truth_of_another_length_is_refused() -> None:
    with pytest.raises(Unsuitable, match="2 values for 4 rows"):
        link(RELEASED, KNOWN, on=["zip"], identity="name", truth=["x", "y"])


def test_an_identifier_is_no_quasi_identifier() -> None:
    with pytest.raises(Unsuitable, match="column 'id'"):
        uniqueness({"id": list(range(100)), "sex": ["f", "m"] * 50}, on=["sex", "id"])
