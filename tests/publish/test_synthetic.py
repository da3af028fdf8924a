"""Synthetic tables as a user meets them: what they keep, what they never hold, and how many rows they have."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pyarrow.compute as pc
import pytest

import hubbub
from hubbub.publish import Categorical, ForeignKey, Numeric, SurrogateKey, synthesize, synthesize_linked
from hubbub.terms import MissingExtra, MissingParameter, OutOfRange, Unreadable

from ._synthetic import DOMAIN, distance, people, seed_noise

ADULT = Path(__file__).parents[3] / "shared" / "data" / "adult-train.csv.gz"


@pytest.fixture(autouse=True)
def _same_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    seed_noise(monkeypatch, 21)


@pytest.mark.parametrize("method", ["mst", "aim"])
def test_columns_that_go_together_still_do(method: str) -> None:
    private = people()
    made = synthesize(private, epsilon=1, delta=1e-6, method=method, domain=DOMAIN).table
    alone = synthesize(private, epsilon=1, delta=1e-6, method="marginals", domain=DOMAIN).table
    for pair in (["smokes", "ward"], ["sex", "ward"]):
        assert distance(private, made, pair) < 0.05
    assert distance(private, alone, ["smokes", "ward"]) > 0.1
    assert distance(private, alone, ["smokes"]) < 0.03


def test_the_table_has_the_private_one_s_columns_types_and_nearly_its_rows() -> None:
    private = people()
    made = hubbub.publish.synthesize(private, epsilon=1, delta=1e-6, domain=DOMAIN)
    assert made.table.schema.names == private.schema.names
    assert made.table.schema.field("age").type == pyarrow.int64()
    assert abs(made.table.num_rows - private.num_rows) < 200
    assert made.to_pandas().shape == made.to_arrow().shape


def test_a_pandas_frame_without_any_domain_is_understood() -> None:
    frame = people().to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    made = synthesize(frame, epsilon=2, delta=1e-6)
    assert set(made.source.measured.found_domains) == {"age", "sex", "smokes", "ward"}
    assert distance(people(), made.table, ["sex", "smokes"]) < 0.1


def test_values_of_few_people_are_not_found() -> None:
    private = people(3000)
    rare = pyarrow.array(["Zoe's own ward" if i == 5 else "north" for i in range(3000)])
    made = synthesize(private.set_column(3, "ward", rare), epsilon=1, delta=1e-6)
    assert made.source.measured.found_domains["ward"] == ["north"]
    assert set(made.table["ward"].to_pylist()) <= {"north", None}


def test_keys_are_made_up_and_never_copied() -> None:
    private = people(500).append_column("name", pyarrow.array([f"secret {i}" for i in range(500)]))
    made = synthesize(private, epsilon=5, delta=1e-6, domain={**DOMAIN, "name": SurrogateKey("person")}).table
    names = made["name"].to_pylist()
    assert len(set(names)) == len(names)
    assert names[0] == "person-1"
    assert not any("secret" in name for name in names)


def test_any_number_of_rows_comes_in_batches() -> None:
    made = synthesize(people(), epsilon=1, delta=1e-6, method="mst", domain=DOMAIN, rows=123)
    assert made.table.num_rows == 123
    sizes = [batch.num_rows for batch in made.batches(25_000, chunk=10_000)]
    assert sizes == [10_000, 10_000, 5_000]
    first = next(made.batches(10**12, chunk=777))
    assert first.num_rows == 777
    assert next(made.batches(10**12, chunk=777)).equals(first)


def test_an_empty_table_gives_rows_as_well() -> None:
    assert synthesize(people().slice(0, 0), epsilon=1, delta=1e-6, domain=DOMAIN, rows=10).table.num_rows == 10


# ---------------------------------------------------------------- structural zeros


@pytest.mark.parametrize("method", ["marginals", "mst", "aim"])
def test_what_cannot_be_is_never_made(method: str) -> None:
    rules: list[Any] = [{"sex": ["m"], "smokes": ["yes"]}, {"age": (0, 59), "ward": "north"}]
    made = synthesize(people(), epsilon=1, delta=1e-6, method=method, domain=DOMAIN, impossible=rules).to_pandas()
    free = synthesize(people(), epsilon=1, delta=1e-6, method=method, domain=DOMAIN).to_pandas()
    for table, many in ((made, False), (free, True)):
        bad = ((table.sex == "m") & (table.smokes == "yes")) | ((table.age <= 59) & (table.ward == "north"))
        assert bool(bad.any()) == many


def test_zeros_that_leave_nothing_are_refused() -> None:
    private = pyarrow.table({"a": ["x"] * 50, "b": ["u"] * 50})
    domain = {"a": Categorical(["x", "y"], other="x"), "b": Categorical(["u", "v"], other="u")}
    rule = [{"a": ["x", "y"], "b": ["u", "v"]}]
    with pytest.raises(OutOfRange, match="no combination"):
        synthesize(
            private, epsilon=1, delta=1e-6, domain=domain, impossible=rule, method="mst", account="never looked at"
        )


# ---------------------------------------------------------------- units


def test_a_person_with_many_rows_counts_with_few() -> None:
    owners = [0] * 3000 + list(range(1, 1001))
    table = pyarrow.table({"who": owners, "ward": ["north"] * 3000 + ["south"] * 1000})
    domain = {"ward": Categorical(["north", "south"])}
    made = synthesize(table, epsilon=5, delta=1e-6, domain=domain, unit="who", max_rows_per_unit=2)
    assert pc.sum(pc.equal(made.table["ward"], "north")).as_py() < 50
    assert "At most 2 rows of one person count." in made.guarantee.describe()
    assert set(made.table.column_names) == {"who", "ward"}


@pytest.mark.parametrize("method", ["marginals", "mst"])
def test_rows_of_people_may_be_stored_in_any_way(method: str) -> None:
    """Views of strings, and dictionaries that differ from chunk to chunk and name the same person twice."""
    twice = pyarrow.DictionaryArray.from_arrays(
        pyarrow.array([0, 1] * 500, pyarrow.int32()), pyarrow.array(["ann", "ann"])
    )
    others = pyarrow.array([f"{i}" for i in range(1000)]).dictionary_encode()
    ward = pyarrow.array(["north"] * 1000 + ["south"] * 1000, pyarrow.string_view())
    cost = pyarrow.array([*["1"] * 1999, "no number"], pyarrow.string_view())
    table = pyarrow.table({"who": pyarrow.chunked_array([twice, others]), "ward": ward, "cost": cost})
    domain = {"ward": Categorical(["north", "south"]), "cost": Numeric(lower=0, upper=9, bins=2)}
    told: dict[str, Any] = {"epsilon": 5, "delta": 1e-6, "domain": domain, "method": method}
    made = synthesize(table, unit="who", max_rows_per_unit=2, **told).table
    assert pc.sum(pc.equal(made["ward"], "north")).as_py() < 50
    assert made.num_rows > 900


# ---------------------------------------------------------------- engines


def test_a_missing_package_is_named_before_anything_is_charged(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mbi", None)
    with pytest.raises(MissingExtra):
        synthesize(people(50), epsilon=1, delta=1e-6, domain=DOMAIN, engine="mbi", account="never looked at")
    assert synthesize(people(50), epsilon=1, delta=1e-6, domain=DOMAIN).table.num_rows > 0


def test_a_stored_answer_that_is_none_is_refused() -> None:
    from hubbub.publish.measured_marginals import read_text

    with pytest.raises(Unreadable):
        read_text("{}")


# ---------------------------------------------------------------- linked tables

VISITS = {
    "ward": Categorical(["north", "south"]),
    "cost": Numeric(lower=0, upper=500, bins=10),
    "id": SurrogateKey("visit"),
}


def family(count: int = 3000) -> dict[str, pyarrow.Table]:
    """The old have more visits, and have them in the north; one row points to nobody."""
    generator = np.random.default_rng(2)
    age = generator.integers(18, 90, count)
    owners = np.repeat(np.arange(count), generator.poisson(np.where(age >= 60, 3, 1)))
    north = generator.random(len(owners)) < np.where(age[owners] >= 60, 0.9, 0.1)
    visits = {
        "id": np.arange(len(owners) + 1),
        "person": np.append(owners, 10**6),
        "ward": np.append(np.where(north, "north", "south"), "north"),
        "cost": np.append(generator.integers(0, 500, len(owners)), 5),
    }
    sex = generator.choice(["f", "m"], count)
    return {"people": pyarrow.table({"id": np.arange(count), "age": age, "sex": sex}), "visits": pyarrow.table(visits)}


PEOPLE = {"age": Numeric(lower=0, upper=99), "sex": Categorical(["f", "m"])}


def linked(**changed: Any) -> Any:
    given: dict[str, Any] = {
        "parent": "people",
        "key": "id",
        "links": [ForeignKey("visits", "person", 6)],
        "epsilon": 2,
        "delta": 1e-6,
        "domain": {"people": PEOPLE, "visits": VISITS},
    }
    return synthesize_linked(changed.pop("tables", None) or family(), **{**given, **changed})


def test_visits_belong_to_made_up_people_and_go_with_them() -> None:
    made = linked()
    persons, visits = (made.tables[name].to_pandas() for name in ("people", "visits"))
    assert set(visits.person) <= set(persons.id)
    assert len(set(visits.id)) == len(visits)
    assert visits.groupby("person").size().max() <= 6
    both = visits.merge(persons, left_on="person", right_on="id")
    old = both.age >= 60
    assert (both[old].ward == "north").mean() > 0.8
    assert (both[~old].ward == "north").mean() < 0.2
    assert old.mean() > 0.5
    assert list(persons.columns) == ["id", "age", "sex"]
    assert "everything about one person (people.id)" in made.guarantee.describe()


def test_linked_tables_come_in_batches_of_people() -> None:
    parts = list(linked().batches(2500, chunk=1000))
    assert [part["people"].num_rows for part in parts] == [1000, 1000, 500]
    names = [name for part in parts for name in part["visits"]["person"].to_pylist()]
    assert set(names) <= {f"id-{i}" for i in range(1, 2501)}


@pytest.mark.parametrize(
    ("changed", "error"),
    [
        ({"links": []}, MissingParameter),
        ({"links": [ForeignKey("visits", "who", 3)]}, OutOfRange),
        ({"links": [ForeignKey("visits", "person", 0)]}, OutOfRange),
        ({"domain": {"people": PEOPLE}}, MissingParameter),
        ({"domain": {"people": {**PEOPLE, "age": Numeric(bounds="private")}, "visits": VISITS}}, MissingParameter),
        ({"people": 0}, OutOfRange),
    ],
)
def test_families_that_do_not_fit_together_are_refused(changed: dict[str, Any], error: Any) -> None:
    with pytest.raises(error):
        linked(account="never looked at", **changed)


# ---------------------------------------------------------------- real people


@pytest.mark.skipif(not ADULT.exists(), reason="Adult is not shipped with the project")
def test_adult_keeps_its_pairs(soak: int) -> None:
    from bench.publish.synthetic import adult, domain, mean_pair_distance

    train, _ = adult()
    far = {
        method: mean_pair_distance(
            train, synthesize(train, epsilon=1, delta=1e-9, domain=domain(), method=method).table
        )
        for method in ("marginals", "mst", *(["aim"] if soak > 1 else []))
    }
    assert far["mst"] < 0.060 < far["marginals"]
    assert far.get("aim", 0.0) < far["mst"]
