"""People who have several rows: classes are counted in people, and who has many rows is no crowd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pyarrow as pa
import pytest

from hubbub.attacks import background, differences, differencing, homogeneity
from hubbub.publish import (
    DistinctL,
    EntropyL,
    Intervals,
    KAnonymity,
    RecursiveL,
    TCloseness,
    check,
    full_domain,
    mondrian,
)
from hubbub.terms import OutOfRange

WAYS = {
    "mondrian": mondrian,
    "relaxed": lambda table, **asked: mondrian(table, relaxed=True, **asked),
    "full-domain": lambda table, **asked: full_domain(
        table, hierarchies={"age": Intervals([5, 10, 20])}, suppression=0.3, **asked
    ),
}


def visits(people: int = 60, seed: int = 0) -> pa.Table:
    """People with one to twelve rows each, whose ages differ a little from row to row."""
    chance = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), chance.integers(1, 13, people))
    age = 20 + who % 60 + chance.integers(0, 3, who.size)
    ill = chance.choice(["flu", "gout", "asthma"], who.size)
    order = chance.permutation(who.size)
    return pa.table({"id": [f"p{i}" for i in who[order]], "age": age[order], "ill": ill[order]})


def crowds(table: pa.Table, ids: list[Any]) -> list[int]:
    """By a plain loop: how many different people each published age has."""
    whom: dict[str, set[Any]] = {}
    for age, person in zip(table["age"].to_pylist(), ids, strict=True):
        whom.setdefault(age, set()).add(person)
    return [len(each) for each in whom.values()]


def test_a_person_with_twelve_rows_is_no_class_of_twelve() -> None:
    table = pa.table({"id": ["a"] * 12 + [f"p{i}" for i in range(12)], "age": [30] * 12 + [70] * 12})
    assert mondrian(table.drop(["id"]), quasi_identifiers=["age"], k=10).metrics.classes == 2
    made = mondrian(table, quasi_identifiers=["age"], k=10, unit="id")
    assert (made.metrics.classes, made.k, made.table.column_names) == (1, 13, ["age"])


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("k", [2, 5, 10])
def test_every_class_has_k_different_people(way: str, k: int) -> None:
    table = visits()
    made = WAYS[way](table, quasi_identifiers=["age"], k=k, unit="id", keep=["ill"])
    ids = table["id"].take(pa.array(made.kept)).to_pylist()
    assert min(crowds(made.table, ids)) == made.k >= k
    assert "id" not in made.table.column_names and made.metrics.classes > 1
    assert len(set(zip(ids, made.people.tolist(), strict=True))) == len(set(ids))
    told = made.text(width=1000)
    assert f"the smallest of {made.k} people" in told and f"at least {k} people" in told
    assert "Each row counts as a person" not in told
    assert made.manifest.models == (f"Every combination of the quasi-identifiers has at least {k} people.",)


@pytest.mark.parametrize("way", WAYS)
def test_without_a_unit_rows_are_counted_and_the_page_says_so(way: str) -> None:
    made = WAYS[way](visits().drop(["id"]), quasi_identifiers=["age"], k=5, keep=["ill"])
    told = made.text(width=1000)
    assert "at least 5 rows" in told and "Each row counts as a person" in told and " people." not in made.headline


@pytest.mark.parametrize("way", WAYS)
def test_with_one_row_each_a_unit_changes_nothing_but_the_word(way: str) -> None:
    table = visits(400)
    _, first = np.unique(table["id"].to_pylist(), return_index=True)
    single = table.take(pa.array(np.sort(first)))
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "models": [KAnonymity(8), EntropyL(2, "ill")]}
    by_rows, by_people = WAYS[way](single.drop(["id"]), **asked), WAYS[way](single, unit="id", **asked)
    assert by_people.table.equals(by_rows.table)
    assert by_people.headline.replace("people", "rows") == by_rows.headline


@pytest.mark.parametrize("ids", [[None] * 10, [float("nan")] * 10, [2.0**60] * 5 + [2.0**61] * 5])
def test_rows_without_an_id_hide_nobody(ids: list[Any]) -> None:
    table = pa.table({"id": pa.array(ids, pa.float64()), "age": [30] * 10})
    assert check(table, quasi_identifiers=["age"], unit="id").k == 1
    with pytest.raises(OutOfRange, match="k=2 is more than the table's 1 people"):
        mondrian(table, quasi_identifiers=["age"], k=2, unit="id")


def test_pandas_tables_have_people_too() -> None:
    frame = pandas.DataFrame({"id": [1, 1, 1, 2, 3], "age": [30, 30, 30, 30, 30]})
    assert check(frame, quasi_identifiers=["age"], unit="id").k == 3


def test_a_unit_is_a_column_and_nothing_else() -> None:
    for asked in ({"unit": "shoe"}, {"unit": "id", "keep": ["id"]}, {"unit": "age"}):
        with pytest.raises(OutOfRange, match="no column"):
            mondrian(visits(), quasi_identifiers=["age"], k=2, **asked)


def test_a_number_of_one_person_with_many_rows_is_an_identifier() -> None:
    people = np.repeat(np.arange(100), 12)
    table = pa.table(
        {"id": people, "age": people % 5, "phone": [f"+44 {i}" if i < 20 else "none" for i in people.tolist()]}
    )
    mondrian(table.drop(["id"]), quasi_identifiers=["age"], k=10)  # twelve rows each: by rows it divides nobody
    with pytest.raises(OutOfRange, match="phone: the values differ"):
        mondrian(table, quasi_identifiers=["age"], k=10, unit="id")
    kept = mondrian(table, quasi_identifiers=["age"], k=10, unit="id", keep=["phone"])
    assert "Kept on purpose" in kept.text(width=1000)


# ---------------------------------------------------------------- diversity and checks


def test_diversity_counts_the_people_who_have_a_value() -> None:
    """One person has nine rows of flu: by rows the class is nearly all flu, by people it is even."""
    table = pa.table({"id": [1] * 9 + [2], "age": [30] * 10, "ill": ["flu"] * 9 + ["gout"]})
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    [rows], [people] = check(table.drop(["id"]), **asked).measures, check(table, unit="id", **asked).measures
    assert rows.entropy_l == pytest.approx(np.exp(-0.9 * np.log(0.9) - 0.1 * np.log(0.1)))
    assert people.entropy_l == pytest.approx(2)
    assert (rows.recursive_c, people.recursive_c) == (9, 1)
    assert rows.distinct_l == people.distinct_l == 2
    assert rows.t == people.t == 0  # the rows of the only class are those of the table


def test_diversity_of_one_person_with_every_value_is_not_taken_for_many() -> None:
    table = pa.table({"id": [1, 1, 1, 2, 3, 4], "age": [30] * 6, "ill": ["flu", "gout", "cold", "flu", "flu", "flu"]})
    found = check(table, quasi_identifiers=["age"], sensitive="ill", models=[RecursiveL(2, 2, "ill")], unit="id")
    assert (found.k, found.measures[0].recursive_c) == (4, 2)  # four people have flu, one each the others
    assert not found.holds
    assert "times as many people as" in found.text(width=1000)


@pytest.mark.parametrize("model", [DistinctL(2, "ill"), EntropyL(1.9, "ill"), TCloseness(0.4, "ill")])
@pytest.mark.parametrize("way", WAYS)
def test_what_is_made_holds_where_it_is_checked(way: str, model: Any) -> None:
    table = visits()
    made = WAYS[way](table, quasi_identifiers=["age"], models=[KAnonymity(4), model], unit="id")
    again = made.table.append_column("id", pa.array(made.people))
    found = check(again, quasi_identifiers=["age"], models=[KAnonymity(4), model], unit="id")
    assert found.holds and found.k == made.k
    assert "people" in found.text(width=1000)


def test_somebody_alone_with_many_rows_is_alone() -> None:
    table = pa.table({"id": [1, 1, 1], "age": [30, 30, 30]})
    assert "One person is alone" in check(table, quasi_identifiers=["age"], unit="id").text(width=1000)


# ---------------------------------------------------------------- attacks


def test_attacks_say_people_where_they_count_people() -> None:
    wards = {"id": [1, 1, 1, 2, 3], "age": ["20", "20", "20", "70", "70"], "ill": ["flu", "flu", "flu", "gout", "flu"]}
    asked: dict[str, Any] = {"quasi_identifiers": ["age"], "sensitive": "ill"}
    rows, people = homogeneity(wards, **asked), homogeneity(wards, person="id", **asked)
    assert (rows.k, rows.exposed, people.k, people.exposed, people.classes.people) == (2, 3, 1, 1, 3)
    assert "at least 2 rows" in rows.headline
    assert "they are alone in their group" in people.headline
    assert (people.before, people.after) == (pytest.approx(2 / 3), pytest.approx(2 / 3))
    known = background(wards, person=wards["id"], **asked)
    assert known.exposed_now == 1 and "people who remain" in known.headline
    assert "rows that remain" in background(wards, **asked).headline


def test_differencing_counts_people_if_it_knows_them() -> None:
    asked: list[str] = []

    class Ward:
        def sql(self, text: str) -> int:
            asked.append(text)
            return 5

    found = differencing(Ward(), table="visits", victim="age = 26", secret="ill = 'flu'", person='"id"')
    assert all('COUNT(DISTINCT "id")' in text for text in asked)
    assert "how many people with" in found.text(width=1000) and "5 people fit" in found.headline
    assert "5 rows fit" in differencing(Ward(), table="visits", victim="age = 26", secret="ill = 'flu'").headline


def test_a_difference_about_one_person_with_many_rows_is_about_one_person() -> None:
    table = {"id": [1] * 6 + [2, 3], "age": [26] * 6 + [40, 50], "ill": ["flu"] * 6 + ["flu", "gout"]}
    log = [({"ill = 'flu'"}, 7), ({"ill = 'flu'", "age <> 26"}, 1)]
    assert not differences(log, table=table).small_pairs  # six rows are not few
    [found] = differences(log, table=table, person="id").small_pairs
    assert found.people == 1
