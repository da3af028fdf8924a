"""Hierarchies: every level is coarser than the one before, nothing is lost on the way, and mistakes are told."""

from __future__ import annotations

from datetime import date, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.publish import Categories, Hierarchy, Intervals, Periods, Prefixes, read_hierarchies
from hubbub.publish.anonymize.coded_columns import code_column
from hubbub.publish.anonymize.hierarchies import Flat, HierarchyLevels
from hubbub.terms import BadDescriptor, HubbubError, OutOfRange, WrongShape


def on(hierarchy: Hierarchy, values: list[object], kind: pa.DataType | None = None) -> HierarchyLevels:
    return hierarchy.on(code_column("x", pa.array(values, kind)))


def names(levels: HierarchyLevels, level: int) -> list[str]:
    return [levels.names[level][code] for code in levels.codes[level]]


def test_whole_numbers_lie_in_closed_intervals_and_others_in_half_open_ones() -> None:
    ages = on(Intervals([5, 10]), [17, 20, 24, 25])
    assert names(ages, 1) == ["15 to 19", "20 to 24", "20 to 24", "25 to 29"]
    assert names(ages, 2) == ["10 to 19", "20 to 29", "20 to 29", "20 to 29"]
    assert names(on(Intervals([0.5], start=0.25), [0.3, 0.8]), 1) == ["[0.25, 0.75)", "[0.75, 1.25)"]
    assert names(on(Intervals([1]), [3, 4]), 1) == ["3", "4"]
    assert names(on(Intervals([5]), [-3, 3]), 1) == ["-5 to -1", "0 to 4"]


def test_dates_lie_in_periods() -> None:
    days = on(Periods(["month", "quarter", "year", "decade"]), [date(1999, 12, 31), date(2000, 2, 29)])
    assert names(days, 1) == ["[1999-12-01, 1999-12-31]", "[2000-02-01, 2000-02-29]"]
    assert names(days, 2) == ["[1999-10-01, 1999-12-31]", "[2000-01-01, 2000-03-31]"]
    assert names(days, 4) == ["[1990-01-01, 1999-12-31]", "[2000-01-01, 2009-12-31]"]
    times = on(Periods(["year"]), [datetime(2020, 5, 1, 23, 59), datetime(2021, 1, 1)])
    assert names(times, 1) == ["[2020-01-01, 2020-12-31]", "[2021-01-01, 2021-12-31]"]


def test_texts_lose_their_last_characters() -> None:
    assert names(on(Prefixes([3, 2]), ["02139", "02141", "9"]), 1) == ["021**", "021**", "9"]


def test_a_leaf_that_is_less_deep_stays_itself_for_longer() -> None:
    tree = Categories({"public": {"army": ["soldier"], "school": ["teacher"]}, "other": ["baker"]})
    jobs = on(tree, ["baker", "soldier", "teacher"])
    assert [names(jobs, level) for level in range(4)] == [
        ["baker", "soldier", "teacher"],
        ["baker", "army", "school"],
        ["other", "public", "public"],
        ["*", "*", "*"],
    ]


@pytest.mark.parametrize(
    ("hierarchy", "values"),
    [
        (Intervals([5, 10]), [None, 3, 17]),
        (Prefixes([1]), [None, "ab", "b"]),
        (Periods(["year"]), [None, date(2020, 1, 1)]),
        (Categories({"any": ["a", "b"]}), [None, "a", "b"]),
        (Flat(), [None, "a"]),
    ],
)
def test_a_missing_value_joins_the_others_at_the_top_only(hierarchy: Hierarchy, values: list[object]) -> None:
    levels = on(hierarchy, values)
    for level in range(levels.height):
        assert names(levels, level).count("(missing)") == 1
        assert names(levels, level)[0] == "(missing)"
        assert levels.widths[level][levels.codes[level][0]] == 0
    assert set(names(levels, levels.height)) == {"*"}


def test_widths_are_shares_of_the_column() -> None:
    ages = on(Intervals([10]), [0, 9, 10, 50])
    assert ages.widths[1][ages.codes[1]].tolist() == [9 / 50, 9 / 50, 9 / 50, 0]  # the last begins where the data end
    tree = on(Categories({"one": ["a"], "two": ["b", "c", "d", "e"]}), ["a", "b"])
    assert tree.widths[1][tree.codes[1]].tolist() == [0, 3 / 4]  # by the leaves of the tree, present or not


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(-1000, 1000), min_size=1), st.integers(1, 7), st.integers(2, 4), st.integers(-3, 3))
def test_levels_nest_and_widths_grow(values: list[int], first: int, times: int, start: int) -> None:
    levels = on(Intervals([first, first * times, first * times**2], start=start), list(values))
    for low, high in zip(range(levels.height), range(1, levels.height + 1), strict=True):
        pairs = set(zip(levels.codes[low].tolist(), levels.codes[high].tolist(), strict=True))
        assert len(pairs) == len(levels.names[low])
        assert np.all(levels.widths[high][levels.codes[high]] >= levels.widths[low][levels.codes[low]] - 1e-12)


def test_levels_that_do_not_nest_are_refused() -> None:
    class Crossed(Hierarchy):
        def _steps(self, column: object) -> list[tuple[list[str], np.ndarray]]:  # type: ignore[override]
            return [(["p", "p", "q"], np.zeros(3)), (["r", "s", "s"], np.zeros(3))]

    with pytest.raises(WrongShape, match="nest"):
        on(Crossed(), [1, 2, 3])


TOML = """
[age]
intervals = [5, 10, 20]
start = 2
[zip]
keep = [4, 3]
[born]
periods = ["month", "year"]
[workclass.tree]
government = ["Federal-gov", "State-gov"]
[workclass.tree.other]
business = ["Private"]
none = ["Never-worked"]
"""


def test_a_file_holds_one_hierarchy_for_each_column(tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(TOML)
    read = read_hierarchies(path)
    assert read == {
        "age": Intervals([5, 10, 20], start=2),
        "zip": Prefixes([4, 3]),
        "born": Periods(["month", "year"]),
        "workclass": read["workclass"],
    }
    assert isinstance(read["workclass"], Categories)
    assert read["workclass"].paths["Private"] == ("business", "other")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[age", "not TOML"),
        ("age = 5", "needs one of"),
        ("[age]\nstart = 3", "needs one of"),
        ("[age]\nintervals = [5]\nkeep = [3]", "needs one of"),
        ("[age]\nintervals = [5]\ncolour = 1", "'colour'"),
        ("[age]\nkeep = [2]\nstart = 1", "'start'"),
        ("[age]\nintervals = 5", "wrong form"),
        ("[age]\nintervals = [5, 7]", "multiple"),
        ("[age]\ntree = ['a']", "wrong form"),
        ("[age.tree]\nnorth = 'a'", "neither"),
        ("[age.tree]\nnorth = ['a']\nsouth = ['a']", "twice"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(text: str, told: str, tmp_path: Path) -> None:
    path = tmp_path / "steps.toml"
    path.write_text(text)
    with pytest.raises(BadDescriptor, match=told):
        read_hierarchies(path)
    with pytest.raises(BadDescriptor, match="cannot be opened"):
        read_hierarchies(tmp_path / "nowhere.toml")


@pytest.mark.parametrize(
    "make",
    [
        lambda: Intervals([]),
        lambda: Intervals([-5]),
        lambda: Intervals([5, 5]),
        lambda: Intervals([4, 6]),
        lambda: Periods(["year", "month"]),
        lambda: Periods(["week"]),
        lambda: Prefixes([2, 3]),
        lambda: Prefixes([]),
        lambda: Categories({}),
        lambda: on(Intervals([5]), ["a"]),
        lambda: on(Periods(["year"]), [5]),
    ],
)
def test_steps_that_make_no_sense_are_refused(make: object) -> None:
    with pytest.raises(HubbubError):
        make()  # type: ignore[operator]


def test_a_hierarchy_that_misses_values_counts_them_and_lists_them_when_asked() -> None:
    tree = Categories({"any": ["a", "b"]})
    with pytest.raises(OutOfRange, match="misses 2 of the column's 3 values") as caught:
        on(tree, ["a", "secret", "other", None])
    assert "secret" not in str(caught.value)
    assert tree.lacks(["a", "secret"]) == ("secret",)
