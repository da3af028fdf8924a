"""Mondrian: every class fulfils the models, equal values stay together, and what is published is true."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.publish import (
    Anonymized,
    Categories,
    DistinctL,
    EntropyL,
    Intervals,
    KAnonymity,
    PrivacyModel,
    RecursiveL,
    TCloseness,
    check,
    full_domain,
    mondrian,
)
from hubbub.terms import EmptyInput, MissingParameter, NotANumber, OutOfRange, SourceUnavailable

QI = ["age", "zip", "sex"]
JOBS = Categories({"care": {"ward": ["nurse", "doctor"], "home": ["carer"]}, "craft": ["baker", "smith"]})


def people(n: int, seed: int = 3) -> pa.Table:
    chance = np.random.default_rng(seed)
    return pa.table(
        {
            "age": chance.integers(18, 90, n),
            "zip": [f"12{code:03d}" for code in chance.integers(0, 300, n)],
            "sex": chance.choice(["f", "m"], n),
            "job": chance.choice(list(JOBS.paths), n, p=[0.5, 0.2, 0.1, 0.15, 0.05]),
            "ill": chance.choice(["flu", "hay", "none", "gout"], n, p=[0.4, 0.2, 0.3, 0.1]),
        }
    )


def sizes(table: pa.Table, names: list[str]) -> Counter[tuple[object, ...]]:
    return Counter(zip(*(table[name].to_pylist() for name in names), strict=True))


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("k", [2, 7, 50])
def test_every_combination_that_is_published_has_k_rows(k: int, relaxed: bool) -> None:
    made = mondrian(people(1000), quasi_identifiers=QI, k=k, relaxed=relaxed)
    assert min(sizes(made.table, QI).values()) >= k
    assert made.k == np.bincount(made.classes).min() >= k


def cuts_left(table: pa.Table, made: Anonymized, k: int) -> int:
    """How many classes could be cut once more between two values of a column."""
    found = 0
    for number in range(made.metrics.classes):
        inside = table.take(pa.array(made.kept[made.classes == number])).select(list(made.quasi_identifiers))
        for name in inside.column_names:
            values = sorted(inside[name].to_pylist())
            found += any(values[i - 1] != values[i] for i in range(k, len(values) - k + 1))
    return found


def test_no_part_could_be_cut_further() -> None:
    table = people(400)
    assert cuts_left(table, mondrian(table, quasi_identifiers=QI, k=5), 5) == 0
    assert cuts_left(table, mondrian(table, quasi_identifiers=QI, k=20), 5) > 0  # the count notices what is left


def test_a_relaxed_partition_cuts_where_a_strict_one_cannot() -> None:
    table = pa.table({"a": [1, *[5] * 8, 9]})
    assert mondrian(table, quasi_identifiers=["a"], k=5).metrics.classes == 1
    made = mondrian(table, quasi_identifiers=["a"], k=5, relaxed=True)
    assert sizes(made.table, ["a"]) == {("1 to 5",): 5, ("5 to 9",): 5}


def test_a_relaxed_partition_leaves_rows_that_are_all_alike_together() -> None:
    assert mondrian(pa.table({"a": [7] * 20}), quasi_identifiers=["a"], k=2, relaxed=True).metrics.classes == 1


def test_relaxed_costs_no_more() -> None:
    table = people(3000)
    strict, relaxed = (mondrian(table, quasi_identifiers=QI, k=10, relaxed=way).metrics for way in (False, True))
    assert relaxed.gcp <= strict.gcp
    assert relaxed.classes >= strict.classes


def test_what_is_published_contains_what_was_there_and_the_rest_is_untouched() -> None:
    table = people(300)
    for relaxed in (False, True):
        made = mondrian(table, quasi_identifiers=["age"], k=10, relaxed=relaxed, keep=["zip"])
        before = table.take(pa.array(made.kept))
        for age, told in zip(before["age"].to_pylist(), made.table["age"].to_pylist(), strict=True):
            low, _, high = told.partition(" to ")
            assert int(low) <= age <= int(high or low)
        assert made.table.drop(["age"]).equals(before.drop(["age"]))
        assert sorted(made.kept) == list(range(300))


@pytest.mark.parametrize("make", [mondrian, full_domain])
def test_a_row_s_place_says_nothing_about_its_place_in_the_file(make: Callable[..., Anonymized]) -> None:
    """Files are sorted by name: whoever has the list of names must not find each row at its person's place."""
    table = people(300).select(["age", "sex", "ill"])
    table = table.append_column("words", pa.array([[ill] for ill in table["ill"].to_pylist()]))
    wanted = {"quasi_identifiers": ["age", "sex"], "k": 10}
    made = make(table, **wanted)
    told, real = made.table["ill"].to_pylist(), table["ill"].to_pylist()
    by_place = sum(one == other for one, other in zip(told, real, strict=True))
    assert by_place < 150  # 300 if the order stayed, about 90 by chance
    mixed = table.take(pa.array(np.random.default_rng(5).permutation(300)))
    assert make(mixed, **wanted).table.equals(made.table)
    assert made.table["ill"].equals(table.take(pa.array(made.kept))["ill"])


def test_strict_classes_keep_equal_rows_together() -> None:
    table = people(500)
    made = mondrian(table, quasi_identifiers=QI, k=5)
    before = table.take(pa.array(made.kept))
    together = Counter(zip(*(before[name].to_pylist() for name in QI), made.classes.tolist(), strict=True))
    assert len(together) == len(sizes(table, QI))


def test_all_values_alike_are_one_class_and_cost_nothing() -> None:
    made = mondrian(pa.table({"a": [7] * 9}), quasi_identifiers=["a"], k=2)
    assert (made.metrics.classes, made.metrics.gcp, set(made.table["a"].to_pylist())) == (1, 0, {"7"})


def test_values_too_close_for_a_float_are_still_told_apart() -> None:
    table = pa.table({"a": [0.0, 0.0, 1e-320, 1e-320, 1e300, 1e300]})
    assert mondrian(table, quasi_identifiers=["a"], k=2).metrics.classes == 3


# --- missing values


def test_rows_that_miss_a_value_are_a_class_of_their_own_or_hide_among_stars() -> None:
    made = mondrian(pa.table({"a": [None, None, 1, 1]}), quasi_identifiers=["a"], k=2)
    assert sorted(made.table["a"].to_pylist()) == ["(missing)", "(missing)", "1", "1"]
    mixed = mondrian(pa.table({"a": [None, 1, 2, 2]}), quasi_identifiers=["a"], k=3)
    assert set(mixed.table["a"].to_pylist()) == {"*"}
    assert mixed.metrics.gcp == 1
    lost = mondrian(pa.table({"a": pa.array([None] * 4, pa.int64())}), quasi_identifiers=["a"], k=2)
    assert set(lost.table["a"].to_pylist()) == {"(missing)"}


@pytest.mark.parametrize("kind", ["numbers", "words", "tree"])
def test_missing_values_never_stand_behind_a_known_range(kind: str) -> None:
    chance = np.random.default_rng(2)
    values = people(600)["job" if kind == "tree" else "zip"].to_pylist()
    values = [int(v) for v in values] if kind == "numbers" else values
    holes = [None if miss else value for miss, value in zip(chance.random(600) < 0.1, values, strict=True)]
    table = pa.table({"a": holes, "sex": people(600)["sex"]})
    trees = {"a": JOBS} if kind == "tree" else None
    made = mondrian(table, quasi_identifiers=["a", "sex"], k=4, hierarchies=trees)
    lost = [holes[row] is None for row in made.kept]
    shown = {told for told, gone in zip(made.table["a"].to_pylist(), lost, strict=True) if gone}
    assert shown <= {"*", "(missing)"}
    assert min(sizes(made.table, ["a", "sex"]).values()) >= 4  # missing is a value like others
    for told, told_sex in sizes(made.table, ["a", "sex"]):  # and also if it may be anything
        fits = [s for (a, s) in sizes(made.table, ["a", "sex"]).elements() if a in (told, "(missing)", "*")]
        assert fits.count(told_sex) >= 4


def test_not_a_number_is_missing() -> None:
    made = mondrian(pd.DataFrame({"a": [np.nan, np.nan, 1.5, 2.5]}), quasi_identifiers=["a"], k=2)
    assert sorted(made.table["a"].to_pylist()) == ["(missing)", "(missing)", "1.5 to 2.5", "1.5 to 2.5"]


# --- words, trees, metrics


def test_words_are_published_as_sets_and_numbers_as_ranges() -> None:
    table = pa.table({"word": ["b", "a", "c", "c"], "n": [1, 1, 2, 3]})
    made = [mondrian(table.select([name]), quasi_identifiers=[name], k=4) for name in ("word", "n")]
    assert [set(each.table.column(0).to_pylist()) for each in made] == [{"{a, b, c}"}, {"1 to 3"}]
    many = pa.table({"word": [f"w{i:03d}" for i in range(100)]})
    assert set(mondrian(many, quasi_identifiers=["word"], k=100).table["word"].to_pylist()) == {"w000 to w099"}


def test_a_tree_is_cut_along_its_branches() -> None:
    table = pa.table({"job": ["nurse"] * 4 + ["doctor"] + ["carer"] * 4 + ["baker"] * 2 + ["smith"]})
    made = mondrian(table, quasi_identifiers=["job"], k=3, hierarchies={"job": JOBS})
    assert sizes(made.table, ["job"]) == {("ward",): 5, ("carer",): 4, ("craft",): 3}
    free = mondrian(table, quasi_identifiers=["job"], k=3)  # by the alphabet, branches are torn
    assert ("ward",) not in sizes(free.table, ["job"])


def test_what_a_tree_publishes_is_above_what_was_there() -> None:
    table = people(800)
    trees = {"job": JOBS, "age": Intervals([5, 10])}
    made = mondrian(table, quasi_identifiers=["age", "job"], k=6, hierarchies=trees, keep=["zip"])
    before = table.take(pa.array(made.kept))
    for job, told in zip(before["job"].to_pylist(), made.table["job"].to_pylist(), strict=True):
        assert told in (job, *JOBS.paths[job], "*")
    assert min(sizes(made.table, ["age", "job"]).values()) >= 6


def test_penalty_is_the_mean_width_of_what_is_published() -> None:
    made = mondrian(pa.table({"a": [0, 1, 8, 10]}), quasi_identifiers=["a"], k=2)
    assert made.metrics.gcp == pytest.approx((0.1 * 2 + 0.2 * 2) / 4)
    assert (made.metrics.discernibility, made.metrics.average_size, made.metrics.suppression) == (8, 1, 0)
    jobs = pa.table({"job": ["nurse", "doctor", "baker", "baker"]})
    tree = mondrian(jobs, quasi_identifiers=["job"], k=2, hierarchies={"job": JOBS}).metrics
    assert tree.gcp == pytest.approx((2 * 1 / 4 + 0) / 4)  # a ward has 2 of 5 leaves


ADULT = Path(__file__).parents[3] / "shared" / "data"


@pytest.mark.skipif(not ADULT.exists(), reason="the census data are not shipped")
def test_little_of_the_census_data_is_lost() -> None:
    eight = [0, 1, 3, 5, 6, 8, 9, 13]
    parts = [
        pd.read_csv(ADULT / f"adult-{part}.csv.gz", header=None, skipinitialspace=True) for part in ("train", "test")
    ]
    people = pd.concat(parts)[eight].rename(columns=str)
    made = mondrian(people, quasi_identifiers=list(people), k=10).metrics
    assert (made.rows, made.smallest) == (48_842, 10)
    assert made.gcp <= 0.061
    assert made.average_size < 1.5


def test_frames_of_every_kind_give_the_same_table() -> None:
    table = people(200)
    expected = mondrian(table, quasi_identifiers=QI, k=5).table.to_pylist()
    for frame in (table.to_pandas(), pl.from_arrow(table), table.to_pandas().astype({"sex": "category"})):
        assert mondrian(frame, quasi_identifiers=QI, k=5).table.to_pylist() == expected


@pytest.mark.parametrize("hierarchies", [None, {"age": Intervals([5, 20])}])
def test_order_of_rows_does_not_matter(hierarchies: dict[str, Intervals] | None) -> None:
    table = people(500).to_pandas()
    mixed = table.sample(frac=1, random_state=1)
    first, again = (
        mondrian(t, quasi_identifiers=QI, k=5, hierarchies=hierarchies).table.to_pandas() for t in (table, mixed)
    )
    pd.testing.assert_frame_equal(first, again)


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_any_table_is_cut_into_classes_of_k(data: st.DataObject) -> None:
    k = data.draw(st.integers(2, 6))
    n = data.draw(st.integers(k, 60))
    value = st.none() | st.integers(0, 5)
    columns = data.draw(st.lists(st.lists(value, min_size=n, max_size=n), min_size=1, max_size=3))
    table = pa.table([pa.array(column, pa.int64()) for column in columns], names=[f"c{i}" for i in range(len(columns))])
    hierarchies = {"c0": Intervals([2, 4])} if data.draw(st.booleans()) else None
    made = mondrian(
        table, quasi_identifiers=table.column_names, k=k, relaxed=data.draw(st.booleans()), hierarchies=hierarchies
    )
    assert np.bincount(made.classes).min() >= k
    assert check(made.table, quasi_identifiers=table.column_names).k >= k
    assert 0 <= made.metrics.gcp <= 1


# --- models as constraints

MODELS: list[PrivacyModel] = [
    DistinctL(3, "ill"),
    EntropyL(2.5, "ill"),
    RecursiveL(2, 2, "ill"),
    TCloseness(0.25, "ill"),
    TCloseness(0.1, "wage"),
    TCloseness(0.2, "job", JOBS),
]


@pytest.mark.parametrize("relaxed", [False, True])
@pytest.mark.parametrize("model", MODELS, ids=lambda model: f"{type(model).__name__}-{model.sensitive}")
def test_models_hold_in_every_class_and_k_alone_would_break_them(model: PrivacyModel, relaxed: bool) -> None:
    table = people(1500).append_column("wage", pa.array(np.random.default_rng(8).integers(10, 99, 1500)))
    made = mondrian(table, quasi_identifiers=QI, models=[KAnonymity(5), model], relaxed=relaxed)
    found = check(made.table, quasi_identifiers=QI, models=[KAnonymity(5), model])
    assert found.holds
    assert made.metrics.classes > 1
    plain = mondrian(table, quasi_identifiers=QI, k=5, relaxed=relaxed)
    assert check(plain.table, quasi_identifiers=QI, models=[model]).broken == (model,)


def test_models_combine() -> None:
    table = people(1500)
    wanted = [KAnonymity(4), EntropyL(2, "ill"), TCloseness(0.4, "ill"), DistinctL(2, "job")]
    made = mondrian(table, quasi_identifiers=QI, models=wanted, k=6)
    assert check(made.table, quasi_identifiers=QI, models=[*wanted, KAnonymity(6)]).holds
    assert made.sensitive == ("ill", "job")


# --- columns that name people

IDENTIFYING = {
    "a name each": lambda n: [f"person {i}" for i in range(n)],
    "a number each": lambda n: list(range(n)),
    "a name that few share": lambda n: [f"person {i % (n - n // 50)}" for i in range(n)],
    "a person with several rows": lambda n: [f"person {i // 4}" for i in range(n)],
    "money to the cent": lambda n: [round(i * 1.37, 2) for i in range(n)],
    "a text of some": lambda n: [f"called on day {i}" if i % 10 == 0 else None for i in range(n)],
    "a number of one in five": lambda n: [f"+41 79 {i:07}" if i % 5 == 0 else "n/a" for i in range(n)],
    "a name of one in fifteen": lambda n: [f"person {i}" if i % 15 == 0 else f"group {i % 2}" for i in range(n)],
    "money of some": lambda n: [i * 1.37 if i % 4 == 0 else 0.0 for i in range(n)],
    "a list each": lambda n: [[i, 1] for i in range(n)],
    "numbers of as many as the root": lambda n: [f"+44 20 {i:06}" if i < 20 else "none" for i in range(n)],
    "numbers of a few": lambda n: [f"+44 20 {i:06}" if i < 5 else "none" for i in range(n)],
}


@pytest.mark.parametrize("make", [mondrian, full_domain])
@pytest.mark.parametrize("kind", list(IDENTIFYING))
def test_a_column_that_tells_rows_apart_is_published_on_purpose_or_not_at_all(kind: str, make: Any) -> None:
    table = people(400).append_column("who", pa.array(IDENTIFYING[kind](400)))
    with pytest.raises(OutOfRange, match="who: the values differ from row to row") as caught:
        make(table, quasi_identifiers=QI, k=10)
    assert "keep=['who']" in str(caught.value)
    assert "person 7" not in str(caught.value)
    assert "who" in make(table, quasi_identifiers=QI, k=10, keep=["who"]).table.column_names
    assert "Kept on purpose" in make(table, quasi_identifiers=QI, k=10, keep=["who"]).text(width=1000)
    if kind != "a list each":
        assert make(table, quasi_identifiers=[*QI, "who"], k=10).k >= 10
        assert make(table, quasi_identifiers=QI, models=[KAnonymity(2), DistinctL(2, "who")]).k >= 2


@pytest.mark.parametrize("make", [mondrian, full_domain])
def test_a_column_that_many_rows_share_is_published(make: Any) -> None:
    table = people(400).append_column("none", pa.nulls(400)).append_column("all", pa.array([1] * 400))
    assert {"job", "ill", "none", "all"} <= set(make(table, quasi_identifiers=QI, k=10).table.column_names)
    few = pa.table({"age": [21, 24, 25, 60, 61, 65], "sex": ["f", "f", "m", "f", "m", "m"]})
    assert make(few, quasi_identifiers=["age"], k=3).table["sex"].to_pylist().count("f") == 3
    with pytest.raises(OutOfRange, match="no column 'shoe'"):
        make(few, quasi_identifiers=["age"], k=3, keep=["shoe"])


@pytest.mark.parametrize(("rows", "rare"), [(2000, 44), (2000, 21), (400, 20), (400, 5), (100, 10), (100, 2), (50, 2)])
def test_names_of_a_few_beside_a_common_value_are_not_published(rows: int, rare: int) -> None:
    values = [f"+44 20 {i:06d}" if i < rare else "none" for i in range(rows)]
    table = pa.table({"zip": [i % 10 for i in range(rows)], "phone": values})
    with pytest.raises(OutOfRange, match="phone: the values differ from row to row"):
        mondrian(table, quasi_identifiers=["zip"], k=5)
    allowed = rows // 100  # one row in 100 may hold a rare value
    fewer = [value if i < allowed else "none" for i, value in enumerate(values)]
    assert mondrian(table.set_column(1, "phone", pa.array(fewer)), quasi_identifiers=["zip"], k=5).k >= 5


@pytest.mark.parametrize("counts", [[60, 36, 4], [7, 3], [6, 2, 2], [49, 1], [90, 4, 3, 3], [3, 3]])
def test_small_groups_of_a_small_table_name_nobody(counts: list[int]) -> None:
    wards = [f"ward {ward}" for ward, count in enumerate(counts) for _ in range(count)]
    table = pa.table({"zip": [1] * len(wards), "ward": wards})
    assert mondrian(table, quasi_identifiers=["zip"], k=3).table["ward"].to_pylist().count("ward 0") == counts[0]


# --- reports and refusals


def test_the_report_says_what_is_not_protected() -> None:
    table = people(200).append_column("id", pa.array(range(200)))
    made = mondrian(table, quasi_identifiers=QI, models=[KAnonymity(5), DistinctL(2, "ill")], keep=["id"])
    told = made.text(width=1000)
    assert "homogeneity" in told and "background knowledge" in told and "None of this is differential privacy" in told
    assert "id: the values differ from row to row, so they name people. Kept on purpose." in told
    assert "job" in told and "Published as they were" in told
    assert "flu" not in repr(made)
    assert made.to_json()["not_protected"] and "<svg" in made.html()


def test_the_manifest_says_what_was_done_and_holds_no_value() -> None:
    table = people(300)
    asked = {"quasi_identifiers": ["age", "job"], "k": 5, "hierarchies": {"job": JOBS}, "keep": ["zip"]}
    made = mondrian(table, **asked)  # type: ignore[arg-type]
    age, job = made.manifest.columns
    assert (age.how, job.how) == ("by its order", "by its tree")
    assert age.published == len(set(made.table["age"].to_pylist()))
    assert 0 < age.width < 1
    assert made.manifest.untouched == ("zip", "sex", "ill")
    assert not any(job in made.manifest.text() for job in JOBS.paths)
    assert made.manifest.text() == mondrian(table, **asked).manifest.text()  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("asked", "error", "told"),
    [
        ({"quasi_identifiers": [], "k": 2}, EmptyInput, "no list"),
        ({"quasi_identifiers": "age", "k": 2}, EmptyInput, "no list"),
        ({"quasi_identifiers": ["shoe"], "k": 2}, OutOfRange, "'shoe'"),
        ({"quasi_identifiers": ["age"], "k": 1}, OutOfRange, "k"),
        ({"quasi_identifiers": ["age"], "k": 11}, OutOfRange, "k=11"),
        ({"quasi_identifiers": ["age"]}, MissingParameter, "no model"),
        ({"quasi_identifiers": ["age"], "models": [5]}, NotANumber, "no model"),
        ({"quasi_identifiers": ["age"], "models": [DistinctL(9, "ill")]}, OutOfRange, "no partition"),
        ({"quasi_identifiers": ["age"], "models": [DistinctL(2, "shoe")]}, OutOfRange, "'shoe'"),
        ({"quasi_identifiers": ["age", "ill"], "models": [DistinctL(2, "ill")]}, OutOfRange, "both"),
        ({"quasi_identifiers": ["age"], "k": 2, "hierarchies": {"job": JOBS}}, OutOfRange, "'job'"),
        (
            {"quasi_identifiers": ["sex"], "k": 2, "hierarchies": {"sex": JOBS}},
            OutOfRange,
            "misses 2 of the column's 2",
        ),
        ({"quasi_identifiers": ["sex"], "k": 2, "hierarchies": {"sex": Intervals([5])}}, OutOfRange, "no numbers"),
    ],
)
def test_what_cannot_be_done_is_refused(asked: dict[str, object], error: type[Exception], told: str) -> None:
    with pytest.raises(error, match=told):
        mondrian(people(10), keep=["age", "zip", "job", "ill"], **asked)  # type: ignore[arg-type]


def test_a_refusal_quotes_no_value() -> None:
    with pytest.raises(OutOfRange) as caught:
        mondrian(people(10), quasi_identifiers=["job"], k=2, hierarchies={"job": Categories({"any": ["pilot"]})})
    assert not any(job in str(caught.value) for job in JOBS.paths)


def test_tables_without_rows_and_columns_of_lists_are_refused() -> None:
    with pytest.raises(EmptyInput, match="no rows"):
        mondrian(people(0), quasi_identifiers=["age"], k=2)
    with pytest.raises(SourceUnavailable, match="'a'"):
        mondrian(pa.table({"a": [[1], [2]]}), quasi_identifiers=["a"], k=2)
