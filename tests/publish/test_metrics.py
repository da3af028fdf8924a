"""Utility metrics on public rows: they are what they say, and stand between their two baselines."""

from __future__ import annotations

import json

import numpy as np
import pyarrow
import pytest

from hubbub.publish import (
    Categorical,
    Categories,
    Date,
    Numeric,
    Published,
    compare,
    full_domain,
    marginals,
    mondrian,
    read_hierarchies,
    synthesize,
)
from hubbub.publish.cells import coding_of
from hubbub.publish.marginal_counts import CodedRows
from hubbub.publish.metrics import model_scores
from hubbub.publish.metrics.candidates import CountTables, RowTable
from hubbub.publish.metrics.comparison_cells import ComparisonCells
from hubbub.publish.metrics.generalized_values import cell_shares, spread_values
from hubbub.publish.metrics.scores import INDEPENDENT, REAL
from hubbub.terms import EmptyInput, MissingParameter, NotANumber, OutOfRange

from ._synthetic import DOMAIN, distance, people

COARSE = DOMAIN | {"age": Numeric(lower=0, upper=99, bins=10)}


def tens(table: pyarrow.Table) -> pyarrow.Table:
    return table.set_column(0, "age", pyarrow.array(np.asarray(table["age"]) // 10))


def shuffled(table: pyarrow.Table) -> pyarrow.Table:
    chance = np.random.default_rng(3)
    return pyarrow.table(
        {name: table[name].take(pyarrow.array(chance.permutation(len(table)))) for name in table.column_names}
    )


def reference(table: pyarrow.Table) -> pyarrow.Table:
    """The half with which ``compare`` compares: a fixed shuffle of public rows."""
    order = np.random.default_rng(len(table)).permutation(len(table))
    return table.take(pyarrow.array(np.array_split(order, 2)[1]))


# ---------------------------------------------------------------- numbers


def test_distances_are_total_variation_over_all_combinations() -> None:
    real, made = people(1000, seed=2), people(700, seed=3)
    found = compare(made, holdout=real, domain=COARSE)["table"]
    half, ours = tens(reference(real)), tens(made)
    single = [distance(ours, half, [name]) for name in DOMAIN]
    pairs = [distance(ours, half, [a, b]) for i, a in enumerate(DOMAIN) for b in list(DOMAIN)[:i]]
    assert found["tvd1_mean"] == pytest.approx(np.mean(single))
    assert found["tvd1_max"] == pytest.approx(max(single))
    assert found["tvd2_mean"] == pytest.approx(np.mean(pairs))
    assert found["tvd2_max"] == pytest.approx(max(pairs))


def test_a_real_sample_is_as_good_as_real_and_independent_columns_are_not() -> None:
    found = compare({"real": people(2000, seed=5), "shuffled": shuffled(people(2000, seed=5))},
                    holdout=people(4000, seed=6), domain=DOMAIN, target="smokes")  # fmt: skip
    good, bad = found["real"], found["shuffled"]
    real, independent = found[REAL], found[INDEPENDENT]
    assert [scores.name for scores in found.baselines] == [REAL, INDEPENDENT]
    assert abs(good["tvd2_mean"] - real["tvd2_mean"]) < 0.01
    assert abs(bad["tvd2_mean"] - independent["tvd2_mean"]) < 0.02 and bad["tvd2_max"] > 3 * good["tvd2_max"]
    assert bad["absolute"] > 2 * good["absolute"] and bad["relative"] > 2 * good["relative"]
    assert 0.8 < good["pmse_ratio"] < 1.3 and bad["pmse_ratio"] > 2 and real["pmse_ratio"] == 1
    assert good["auc"] > 0.8 > 0.6 > bad["auc"]
    assert bad.worst in ("age x smokes", "age x ward", "smokes x ward")


def test_questions_of_ones_own_are_counted_in_their_ranges() -> None:
    real = people(1000, seed=2)
    none = pyarrow.table({name: real[name].slice(0, 0) for name in real.column_names})
    empty = pyarrow.concat_tables([none, real.slice(0, 1)])
    asked = [{"age": (20, 29), "sex": ["f"]}]
    found = compare(empty, holdout=real, domain=DOMAIN, bins=100, workload=asked)["table"]
    half = reference(real).to_pandas()
    inside = float(((half.age >= 20) & (half.age <= 29) & (half.sex == "f")).mean())
    first = empty.to_pandas().iloc[0]
    told = float(20 <= first.age <= 29 and first.sex == "f")
    assert found["absolute"] == pytest.approx(abs(told - inside))
    assert found["relative"] == pytest.approx(min(1.0, abs(told - inside) / max(inside, 0.01)))


def test_ranking_is_the_auc_of_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    chance = np.random.default_rng(4)
    scores, yes = chance.integers(0, 20, 300) / 20, chance.random(300) < 0.3
    assert model_scores._rank_auc(scores, yes) == pytest.approx(metrics.roc_auc_score(yes, scores))


def test_a_target_of_several_values_and_one_that_the_table_lacks() -> None:
    real = people(1500, seed=7)
    lacking = real.set_column(3, "ward", pyarrow.array(["east"] * 1500))
    found = compare({"good": people(1500, seed=8), "lacking": lacking}, holdout=real, domain=DOMAIN, target="ward")
    assert found["good"]["auc"] > 0.8
    assert found["lacking"]["auc"] == pytest.approx(0.5)


# ---------------------------------------------------------------- whatever is handed out


def test_synthetic_tables_counts_and_partitions_stand_side_by_side() -> None:
    rows = people(2000)
    steps = read_hierarchies(
        {"age": {"intervals": [10, 20]}, "ward": {"tree": {"far": ["north", "east"], "near": ["south"]}}}
    )
    made = {
        "synthetic": synthesize(rows, epsilon=4, delta=1e-6, domain=DOMAIN, method="mst"),
        "counts": marginals(rows, of=[["age", "smokes"], ["sex"], ["ward"]], domain=DOMAIN, epsilon=4, delta=1e-6),
        "cut": mondrian(rows, quasi_identifiers=["age", "sex", "ward"], k=10),
        "levels": full_domain(rows, quasi_identifiers=["age", "sex", "ward"], k=10, hierarchies=steps),
    }
    found = compare(made, holdout=people(2000, seed=9), domain=DOMAIN, hierarchies=steps)
    assert [scores.name for scores in found.candidates] == list(made)
    assert found["cut"].partition == made["cut"].metrics  # type: ignore[union-attr]
    assert found["synthetic"].partition is None
    assert all(found[name]["tvd1_mean"] < 0.12 for name in made)
    assert "pmse" not in found["counts"].values and "pmse" in found["cut"].values
    assert found["counts"]["tvd2_max"] > found["synthetic"]["tvd2_max"]  # nobody counted age by ward
    told = json.loads(json.dumps(found.to_json()))
    assert {each["table"] for each in told["baselines"]} == {REAL, INDEPENDENT} and told["guarantee"] is None
    assert "public rows, which costs nothing" in found.text() and set(found.svgs()) == {"distances"}


def test_without_a_domain_a_synthetic_table_brings_the_one_it_paid_for() -> None:
    rows = people(3000)
    made = synthesize(rows, epsilon=4, delta=1e-6, method="marginals")
    assert compare(made, holdout=people(500, seed=9))["table"]["tvd1_mean"] < 0.2
    with pytest.raises(MissingParameter):
        compare(rows, holdout=rows)


AGE = coding_of(Numeric(lower=0, upper=99, bins=10))
WEIGHT = coding_of(Numeric(lower=0.0, upper=10.0, bins=4, missing=True))
BORN = coding_of(Date(lower="2000-01-01", upper="2000-01-10", bins=10))
ZIP = coding_of(Categorical(["0213", "0214", "0311"]))


@pytest.mark.parametrize(
    ("text", "coding", "wanted"),
    [
        ("15 to 24", AGE, {1: 0.5, 2: 0.5}),
        ("42", AGE, {4: 1}),
        ("90 to 200", AGE, {9: 1}),
        ("*", AGE, dict.fromkeys(range(10), 0.1)),
        ("[0, 5)", WEIGHT, {0: 0.5, 1: 0.5}),
        ("(missing)", WEIGHT, {4: 1}),
        ("[2000-01-03, 2000-01-04]", BORN, {2: 0.5, 3: 0.5}),
        ("021*", ZIP, {0: 0.5, 1: 0.5}),
        ("{0213, 0311}", ZIP, {0: 0.5, 2: 0.5}),
        ("0214 to 0311", ZIP, {1: 0.5, 2: 0.5}),
        ("0311", ZIP, {2: 1}),
        ("elsewhere", ZIP, {3: 1}),
        (None, ZIP, {3: 1}),
    ],
)
def test_a_generalized_value_is_spread_over_what_it_stands_for(
    text: str, coding: object, wanted: dict[int, float]
) -> None:
    found = cell_shares(text, coding, None)  # type: ignore[arg-type]
    assert {cell: share for cell, share in enumerate(found) if share} == pytest.approx(wanted)


def test_a_node_of_a_tree_stands_for_its_leaves() -> None:
    tree = Categories({"far": ["0213", "0311"], "near": ["0214"]})
    assert cell_shares("far", ZIP, tree).tolist() == [0.5, 0, 0.5, 0]


def test_rows_that_say_the_same_are_spread_evenly() -> None:
    told = pyarrow.chunked_array([["0 to 99"] * 1000 + ["30 to 39"] * 7])
    counts = np.bincount(spread_values(told, AGE, None), minlength=10)
    assert counts.tolist() == [100, 100, 100, 107, 100, 100, 100, 100, 100, 100]


def test_what_no_table_counts_is_put_together_as_if_independent() -> None:
    chance = np.random.default_rng(0)
    codes = np.stack([chance.integers(0, size, 500) for size in (2, 3, 4)], axis=1)
    rows = RowTable(CodedRows(codes, (2, 3, 4)))
    tables = CountTables({(0, 2): rows.counts((0, 2)).astype(float), (1,): rows.counts((1,)).astype(float)}, (2, 3, 4))
    assert np.allclose(tables.counts((2,)), rows.counts((2,)))
    expected = np.einsum("ik,j->ijk", rows.counts((0, 2)), rows.counts((1,)) / 500)
    assert np.allclose(tables.counts((0, 1, 2)), expected)
    assert tables.total == 500
    few = CountTables({(0,): rows.counts((0,)).astype(float)}, (2, 3, 4))
    assert np.allclose(few.counts((1,)), 500 / 3)


def test_very_many_marginals_are_a_fixed_choice() -> None:
    codings = {f"c{i}": coding_of(Categorical(["a", "b"])) for i in range(20)}
    cells = ComparisonCells.of(codings, bins=20)
    assert len(cells.marginals(2)) == 190 and len(cells.marginals(3)) == 300
    assert cells.marginals(3) == ComparisonCells.of(codings, bins=20).marginals(3)


# ---------------------------------------------------------------- refusals


@pytest.mark.parametrize(
    ("more", "refusal"),
    [
        ({"workload": []}, EmptyInput),
        ({"workload": [{"shoe": [1]}]}, OutOfRange),
        ({"widths": (4,)}, OutOfRange),
        ({"sanity": 0}, OutOfRange),
        ({"target": "age"}, OutOfRange),
        ({"target": "shoe"}, OutOfRange),
        ({"bins": 1}, OutOfRange),
        ({"domain": DOMAIN | {"age": Numeric(bounds="private")}}, MissingParameter),
        ({"holdout": people(10)}, EmptyInput),
        ({"holdout": people(100).drop(["age"])}, OutOfRange),
    ],
)
def test_what_cannot_be_compared_is_refused(more: dict[str, object], refusal: type[Exception]) -> None:
    with pytest.raises(refusal):
        compare(people(50), **({"holdout": people(100), "domain": DOMAIN} | more))  # type: ignore[arg-type]


@pytest.mark.parametrize("candidate", [{}, {"a": people(50).drop(["sex"])}, {"a": [1, 2]}])
def test_what_is_no_table_of_these_columns_is_refused(candidate: object) -> None:
    with pytest.raises((EmptyInput, OutOfRange, NotANumber)):
        compare(candidate, holdout=people(100), domain=DOMAIN)


def test_counts_of_other_columns_are_refused() -> None:
    other = pyarrow.table({"town": ["a"], "count": [1.0], "noisy": [1], "margin": [1]})
    made = marginals(people(100), of=[["sex"]], domain=DOMAIN, epsilon=1, delta=1e-6)
    strange = Published({"town": other}, made.guarantee, None, made.event, {"town": 1}, "")
    with pytest.raises(OutOfRange):
        compare(strange, holdout=people(100), domain=DOMAIN)
