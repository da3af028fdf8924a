"""Full-domain generalization: the best levels of all, few rows left out, and the same each time."""

from __future__ import annotations

from collections import Counter
from itertools import product
from math import inf

import numpy as np
import pyarrow as pa
import pytest

from hubbub.publish import (
    Categories,
    DistinctL,
    EntropyL,
    Hierarchy,
    Intervals,
    KAnonymity,
    Prefixes,
    PrivacyModel,
    TCloseness,
    check,
    full_domain,
)
from hubbub.publish.anonymize import lattice as lattices
from hubbub.publish.anonymize.hierarchies import Flat
from hubbub.publish.anonymize.lattice import Lattice, Node, lattice_of, search
from hubbub.publish.anonymize.request import anonymization_request
from hubbub.terms import OutOfRange

STEPS: dict[str, Hierarchy] = {
    "age": Intervals([5, 10, 40]),
    "zip": Prefixes([4, 3, 2]),
    "job": Categories({"care": {"ward": ["nurse", "doctor"], "home": ["carer"]}, "craft": ["baker", "smith"]}),
}
QI = ["age", "zip", "job", "sex"]


def people(n: int, seed: int = 3) -> pa.Table:
    chance = np.random.default_rng(seed)
    jobs = chance.choice(["nurse", "doctor", "carer", "baker", "smith"], n, p=[0.5, 0.2, 0.1, 0.15, 0.05])
    return pa.table(
        {
            "age": np.minimum(18 + chance.gamma(2, 12, n).astype(int), 90),
            "zip": [f"12{code:03d}" for code in (chance.random(n) ** 3 * 200).astype(int)],
            "job": [None if miss else job for job, miss in zip(jobs, chance.random(n) < 0.03, strict=True)],
            "sex": chance.choice(["f", "m"], n),
            "ill": chance.choice(["flu", "hay", "gout"], n, p=[0.6, 0.3, 0.1]),
        }
    )


def lattice(table: pa.Table, models: list[PrivacyModel], most: int = 0, names: list[str] = QI) -> Lattice:
    steps = {name: step for name, step in STEPS.items() if name in names}
    task = anonymization_request(table, quasi_identifiers=names, models=models, hierarchies=steps)
    levels = [steps.get(column.name, Flat()).on(column) for column in task.columns]
    return lattice_of(task, levels, top=tuple(of.height for of in levels), most=most)[0]


def every_node(of: Lattice) -> dict[Node, float]:
    """The loss of every node, by looking at each."""
    return {node: of.outcome(node).loss for node in product(*(range(top + 1) for top in of.top))}


CASES: list[tuple[list[PrivacyModel], float]] = [
    ([KAnonymity(5)], 0),
    ([KAnonymity(5)], 0.02),
    ([KAnonymity(20)], 0.1),
    ([KAnonymity(3), DistinctL(2, "ill")], 0.1),
    ([KAnonymity(3), EntropyL(1.8, "ill")], 0.1),
    ([KAnonymity(3), TCloseness(0.3, "ill")], 0.2),
    ([TCloseness(0.2, "ill")], 0),
]


@pytest.mark.parametrize(("models", "share"), CASES, ids=str)
def test_small_lattices_are_searched_to_the_optimum(models: list[PrivacyModel], share: float) -> None:
    table = people(400)
    best = min(every_node(lattice(table, models, int(share * 400))).values())
    found = search(lattice(table, models, int(share * 400)), effort=10_000)
    assert found.loss == best < inf
    assert found.optimal
    made = full_domain(table, quasi_identifiers=QI, models=models, hierarchies=STEPS, suppression=share)
    assert made.metrics.gcp == pytest.approx(best)


@pytest.mark.parametrize(("models", "share"), CASES[:3], ids=str)
def test_tags_and_bounds_spare_most_of_the_looks(models: list[PrivacyModel], share: float) -> None:
    of = lattice(people(400), models, int(share * 400))
    assert search(of, effort=10_000).looked_at < of.size / 2


@pytest.mark.parametrize(("models", "share"), CASES[:3], ids=str)
def test_steps_alone_come_within_a_tenth_of_the_optimum(
    models: list[PrivacyModel], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lattices, "_DRAWN", 0)  # as if the lattice were too large to be kept
    for seed in range(4):
        table = people(400, seed)
        best = min(every_node(lattice(table, models, int(share * 400))).values())
        found = search(lattice(table, models, int(share * 400)), effort=10_000)
        assert found.bound <= best <= found.loss <= 1.1 * best
        assert found.looked_at < 160


def test_little_effort_is_told_with_how_far_the_optimum_may_be() -> None:
    table = people(400)
    best = min(every_node(lattice(table, [KAnonymity(5)], 8)).values())
    found = search(lattice(table, [KAnonymity(5)], 8), effort=5)
    assert found.looked_at <= 10 and not found.optimal
    assert found.bound <= best <= found.loss
    made = full_domain(table, quasi_identifiers=QI, k=5, hierarchies=STEPS, suppression=0.02, effort=5)
    assert "The best of all loses at least" in made.search[0]


@pytest.mark.parametrize(("models", "share"), CASES, ids=str)
def test_what_is_published_fulfils_the_models_and_suppresses_no_more_than_allowed(
    models: list[PrivacyModel], share: float
) -> None:
    table = people(600, 9)
    made = full_domain(table, quasi_identifiers=QI, models=models, hierarchies=STEPS, suppression=share)
    assert check(made.table, quasi_identifiers=QI, models=models).holds
    assert made.metrics.suppressed == 600 - made.table.num_rows <= share * 600
    assert made.table["ill"].equals(table["ill"].take(pa.array(made.kept)))
    assert np.bincount(made.classes).size == check(made.table, quasi_identifiers=QI).number


NULLS = {
    "nan and null": pa.array([float("nan")] * 2 + [None] + [1.0] * 5),
    "null and the word for it": pa.array([None] * 2 + ["(missing)"] + ["a"] * 5),
    "two zeros": pa.array([0.0] * 2 + [-0.0] + [1.0] * 5),
    "stars": pa.array(["*"] * 2 + ["b"] + ["a"] * 5),
    "a dictionary that names a value twice": pa.DictionaryArray.from_arrays(
        pa.array([0, 0, 1, 2, 2, 2, 2, 2]), pa.array(["b", "b", "a"])
    ),
    "no value at all": pa.array([None] * 8),
    "views": pa.array(["b"] * 3 + ["a"] * 5, pa.string_view()),
    "halves": pa.array(np.array([2] * 3 + [1] * 5, np.float16)),
}


@pytest.mark.parametrize("suppression", [0, 0.4])
@pytest.mark.parametrize("case", NULLS)
def test_the_table_is_k_anonymous_as_it_is_published(case: str, suppression: float) -> None:
    made = full_domain(pa.table({"a": NULLS[case]}), quasi_identifiers=["a"], k=3, suppression=suppression)
    written = Counter(map(repr, made.table["a"].to_pylist()))
    assert made.k == min(written.values()) == check(made.table, quasi_identifiers=["a"]).k >= 3
    assert len(written) == made.metrics.classes


def test_a_sensitive_value_is_not_a_number_or_missing_but_not_both() -> None:
    """Classes of NaN and of null look alike to the distance, so they must look alike to the reader."""
    ill = pa.array([float("nan"), float("nan"), None, None])
    made = full_domain(
        pa.table({"a": [1, 1, 2, 2], "ill": ill}), quasi_identifiers=["a"], models=[TCloseness(0, "ill")]
    )
    assert made.table["ill"].null_count == 4


def test_every_row_of_a_column_is_at_the_same_level() -> None:
    table = people(600)
    made = full_domain(table, quasi_identifiers=QI, k=5, hierarchies=STEPS, suppression=0.05)
    assert sum(one.level or 0 for one in made.manifest.columns) > 0
    for one in made.manifest.columns:
        shown = made.table[one.name].to_pylist()
        plain = [table[one.name][int(row)].as_py() for row in made.kept]
        mapped: dict[object, set[object]] = {}
        for value, told in zip(plain, shown, strict=True):
            mapped.setdefault(value, set()).add(told)
        assert all(len(told) == 1 for told in mapped.values())
        assert (shown == plain) == (one.level == 0)
        assert one.level is not None and one.height is not None and one.level <= one.height


def test_suppression_pays_where_few_rows_stand_apart() -> None:
    table = pa.table({"age": [30] * 50 + [31] * 50 + [90]})
    steps = {"age": Intervals([10])}
    assert full_domain(table, quasi_identifiers=["age"], k=5, hierarchies=steps).metrics.gcp == 1
    made = full_domain(table, quasi_identifiers=["age"], k=5, hierarchies=steps, suppression=0.01)
    assert (made.metrics.suppressed, made.metrics.classes) == (1, 2)
    assert made.metrics.gcp == pytest.approx(1 / 101)
    assert made.metrics.discernibility == 2 * 50**2 + 101
    assert "says nothing about them any more" in full_domain(table, quasi_identifiers=["age"], k=5).text(width=1000)


def test_order_of_rows_and_repetition_do_not_matter() -> None:
    table = people(300)
    order = np.random.default_rng(1).permutation(300)
    first = full_domain(table, quasi_identifiers=QI, k=5, hierarchies=STEPS, suppression=0.05)
    again = full_domain(table.take(pa.array(order)), quasi_identifiers=QI, k=5, hierarchies=STEPS, suppression=0.05)
    assert first.manifest.text() == again.manifest.text()
    assert sorted(map(str, first.table.to_pylist())) == sorted(map(str, again.table.to_pylist()))


def test_closeness_is_measured_against_what_is_published() -> None:
    """Rows left out change the whole table: the result must hold as published, not against the table before."""
    model = TCloseness(0.12, "ill")
    table = people(300, 5)
    made = full_domain(
        table,
        quasi_identifiers=["age", "sex"],
        models=[model],
        hierarchies={"age": STEPS["age"]},
        suppression=0.4,
        keep=["zip"],
    )
    assert made.metrics.suppressed > 0
    assert check(made.table, quasi_identifiers=["age", "sex"], models=[model]).holds


def test_eleven_columns_are_no_trouble() -> None:
    chance = np.random.default_rng(4)
    names = [f"c{i}" for i in range(11)]
    table = pa.table({name: (chance.random(800) ** 2 * 20).astype(int) for name in names})
    steps = {name: Intervals([5, 10]) for name in names}
    made = full_domain(table, quasi_identifiers=names, k=5, hierarchies=steps, suppression=0.05, effort=150)
    assert check(made.table, quasi_identifiers=names).k >= 5
    assert made.metrics.gcp < 1
    assert "4,194,304" in made.search[0]


@pytest.mark.parametrize(
    ("asked_for", "told"),
    [
        ({"suppression": 1}, "below 1"),
        ({"suppression": -0.1}, "at least 0"),
        ({"at_most": {"age": 9}}, "no level 9"),
        ({"at_most": {"shoe": 1}}, "'shoe'"),
        ({"k": 500}, "k=500"),
    ],
)
def test_what_cannot_be_done_is_refused(asked_for: dict[str, object], told: str) -> None:
    with pytest.raises(OutOfRange, match=told):
        full_domain(people(100), **{"quasi_identifiers": QI, "k": 5, "hierarchies": STEPS, **asked_for})  # type: ignore[arg-type]


def test_a_suppression_that_cannot_be_kept_is_refused_with_one_that_can() -> None:
    table, limits = people(200), {"age": 1, "zip": 1}
    wanted = {"quasi_identifiers": ["age", "zip"], "k": 5, "at_most": limits}
    steps = {name: STEPS[name] for name in ("age", "zip")}
    with pytest.raises(OutOfRange, match="cannot be fulfilled") as caught:
        full_domain(table, hierarchies=steps, suppression=0.01, **wanted)  # type: ignore[arg-type]
    enough = float(caught.value.fix.split("suppression of ")[1].split(",")[0])
    made = full_domain(table, hierarchies=steps, suppression=enough, **wanted)  # type: ignore[arg-type]
    assert made.metrics.suppression > enough - 0.01
    with pytest.raises(OutOfRange, match="nothing would be left"):
        full_domain(pa.table({"a": range(20)}), quasi_identifiers=["a"], k=2, at_most={"a": 0}, suppression=0.99)
