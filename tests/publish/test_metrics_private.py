"""The same metrics of private rows: no number without noise, a sensitivity that holds, one charge."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hubbub.accounting import epsilon as cost_of
from hubbub.ledger import Ledger
from hubbub.publish import Categorical, compare
from hubbub.publish.cells import coding_of
from hubbub.publish.marginal_counts import CodedRows, Whom
from hubbub.publish.metrics import private_metrics
from hubbub.publish.metrics.candidates import Independent, RowTable
from hubbub.publish.metrics.comparison_cells import ComparisonCells
from hubbub.publish.metrics.private_metrics import (
    MetricTask,
    ScaledCandidate,
    against_half,
    against_public,
    noise_of,
    weight_bound,
)
from hubbub.publish.metrics.range_queries import random_questions
from hubbub.publish.metrics.scores import REAL
from hubbub.publish.tables.noisy_counts import budget_of
from hubbub.publish.unread_table import unread_of
from hubbub.terms import Budget, BudgetExceeded, MissingParameter, Neighbours, OutOfRange, Unit

from ._synthetic import DOMAIN, people, seed_noise

SIZES = (3, 2, 4)
row = st.tuples(*(st.integers(0, size - 1) for size in SIZES))
crowd = st.lists(row, max_size=14)
CODINGS = {f"c{i}": coding_of(Categorical(list(range(n)), other=0)) for i, n in enumerate(SIZES)}
CELLS = ComparisonCells.of(CODINGS, bins=20)
TABLES = {width: CELLS.marginals(width) for width in (1, 2, 3)}


def table(rows: list[tuple[int, ...]]) -> RowTable:
    return RowTable(CodedRows(np.array(rows, dtype=np.int64).reshape(-1, len(SIZES)), SIZES))


def task(most: int, neighbours: Neighbours, *, rows: int = 12) -> MetricTask:
    return MetricTask(TABLES, random_questions(CELLS, 30), rows, 3, Whom(Unit("id"), neighbours, most))


# ---------------------------------------------------------------- sensitivity


@given(
    crowd, st.lists(row, max_size=2), st.lists(row, max_size=2), st.lists(row, min_size=1, max_size=9), st.booleans()
)
def test_one_unit_moves_no_number_by_more_than_its_bound(
    others: list[Any], one: list[Any], another: list[Any], made: list[Any], replaced: bool
) -> None:
    asked = task(2, Neighbours.REPLACE if replaced else Neighbours.ADD_REMOVE)
    public = ScaledCandidate.of(table(made), asked)
    before = against_public(table(others + one), public, asked)
    after = against_public(table(others + (another if replaced else [])), public, asked)
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= asked.whom.l1


@given(
    crowd,
    crowd,
    st.lists(row, max_size=2),
    st.lists(row, max_size=2),
    st.tuples(st.booleans(), st.booleans()),
    st.booleans(),
)
def test_one_unit_moves_no_number_of_two_halves_by_more_than_its_bound(
    heads: list[Any], tails: list[Any], one: list[Any], another: list[Any], coins: tuple[bool, bool], replaced: bool
) -> None:
    asked = task(2, Neighbours.REPLACE if replaced else Neighbours.ADD_REMOVE)

    def halves(rows: list[Any], coin: bool) -> list[int]:
        parts = (heads + rows, tails) if coin else (heads, tails + rows)
        return against_half((table(parts[0]), table(parts[1])), asked)

    before, after = halves(one, coins[0]), halves(another if replaced else [], coins[1])
    assert max(abs(a - b) for a, b in zip(before, after, strict=True)) <= asked.whom.l1


def test_the_bound_on_distances_is_reached() -> None:
    asked = task(1, Neighbours.ADD_REMOVE)
    public = ScaledCandidate.of(table([(0, 0, 0)]), asked)
    before, after = (against_public(table([(1, 1, 1)] * n), public, asked) for n in (1, 2))
    assert abs(before[1] - after[1]) == asked.whom.l1  # the largest one-way distance


def relative(told: int, truth: int, sanity: int) -> Fraction:
    return min(Fraction(1), Fraction(abs(told - truth), max(truth, sanity)))


def steepest(told: int, sanity: int) -> Fraction:
    return max(abs(relative(told, t + 1, sanity) - relative(told, t, sanity)) for t in range(4 * told + 4 * sanity))


@pytest.mark.parametrize("sanity", [1, 2, 7, 20])
def test_a_relative_error_is_no_steeper_than_its_slope(sanity: int) -> None:
    for told in range(60):
        assert steepest(told, sanity) <= private_metrics._error_slope(told, sanity) <= Fraction(2, sanity)


def test_a_slope_that_is_half_as_large_would_be_noticed() -> None:
    assert any(steepest(told, 7) > private_metrics._error_slope(told, 7) / 2 for told in range(60))


@settings(max_examples=15)
@given(st.integers(0, 10_000))
def test_a_row_is_in_no_more_questions_than_the_reach_says(seed: int) -> None:
    chance = np.random.default_rng(seed)
    questions = random_questions(CELLS, 40)
    weights = chance.integers(0, 9, 40).tolist()
    for cells in np.ndindex(*SIZES):
        inside = [all(mask[cells[c]] for c, mask in zip(q.columns, q.masks, strict=True)) for q in questions]
        assert sum(weight for weight, within in zip(weights, inside, strict=True) if within) <= weight_bound(
            questions, weights
        )
    assert weight_bound(questions, weights) < sum(weights) or not any(weights)


# ---------------------------------------------------------------- price


@pytest.mark.parametrize("neighbours", list(Neighbours))
def test_the_noise_on_all_numbers_is_worth_the_price(neighbours: Neighbours) -> None:
    budget = budget_of(unread_of(people(1)), 0.5, 1e-6, None, None, neighbours)
    asked = MetricTask(TABLES, random_questions(CELLS, 30), 100, 3, budget.whom)
    noise = noise_of(asked, budget, 3)
    assert noise.event.dimension == 24
    assert noise.event.sensitivity**2 >= 24 * budget.whom.l1**2
    assert 0.45 < cost_of(noise.event, delta=1e-6, neighbours=neighbours) <= 0.5


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"private": people(100)},
        {"private": people(100), "epsilon": 1},
        {"private": people(100), "delta": 1e-6},
        {"private": people(100), "holdout": people(100), "epsilon": 1, "delta": 1e-6},
        {"holdout": people(100), "epsilon": 1, "delta": 1e-6},
    ],
)
def test_there_is_no_number_from_private_rows_without_a_price(asked: dict[str, Any]) -> None:
    with pytest.raises(MissingParameter):
        compare(people(100), domain=DOMAIN, **asked)


def test_models_are_for_public_rows() -> None:
    with pytest.raises(OutOfRange):
        compare(people(100), private=people(100), epsilon=1, delta=1e-6, domain=DOMAIN, target="smokes")
    found = compare(people(100), private=people(100), epsilon=1, delta=1e-6, domain=DOMAIN)
    assert not any({"pmse", "auc"} & set(scores.values) for scores in found.scores)


def test_noisy_numbers_are_near_the_exact_ones_within_their_margins(monkeypatch: pytest.MonkeyPatch) -> None:
    seed_noise(monkeypatch, 11)
    rows, made = people(3000), people(3000, seed=4)
    noisy = compare(made, private=rows, epsilon=1, delta=1e-6, domain=DOMAIN)
    cells = ComparisonCells.of({n: coding_of(c) for n, c in DOMAIN.items()}, bins=20)  # type: ignore[arg-type]
    ours, theirs = (RowTable(CodedRows(cells.encode(each), cells.sizes)) for each in (made, rows))
    for width in (1, 2, 3):
        exact = [0.5 * np.abs(ours.shares(t) - theirs.shares(t)).sum() for t in cells.marginals(width)]
        for name, value in ((f"tvd{width}_mean", np.mean(exact)), (f"tvd{width}_max", max(exact))):
            score = noisy["table"].values[name]
            assert 0 < score.margin < 0.05
            assert abs(score.value - value) < 1.5 * score.margin
    assert noisy["independent columns"]["tvd2_max"] > 2 * noisy["table"]["tvd2_max"]
    assert noisy[REAL]["tvd2_mean"] < 0.2
    assert noisy.guarantee is not None and "±" in noisy.text()


def test_the_numbers_differ_from_run_to_run() -> None:
    found = [compare(people(500), private=people(500), epsilon=1, delta=1e-6, domain=DOMAIN) for _ in range(2)]
    assert found[0].scores != found[1].scores


# ---------------------------------------------------------------- ledger


def test_it_is_charged_once_and_the_same_again_is_free(tmp_path: Path) -> None:
    price: dict[str, Any] = {"private": people(500), "epsilon": 0.9, "delta": 1e-7, "domain": DOMAIN, "dataset": "v1"}
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("patients", Budget(1, 1e-6), by="owner", why="test")
        first = compare(people(500, seed=2), account=ledger, **price)
        again = compare(people(500, seed=2), account=ledger, **price)
        assert first.scores == again.scores and first.receipt is not None
        with pytest.raises(BudgetExceeded):  # another table is another question
            compare(people(500, seed=3), account=ledger, **price)
        charges = [entry.fields() for entry in ledger.log() if entry.fields()["kind"] == "charge"]
    assert [each["title"] for each in charges] == ["utility of tables"]


def test_a_person_counts_with_so_many_rows() -> None:
    rows = people(600).append_column("who", pyarrow.array(np.arange(600) // 100))
    asked: dict[str, Any] = {"private": rows, "epsilon": 50, "delta": 1e-6, "domain": DOMAIN, "unit": "who"}
    with pytest.raises(MissingParameter):
        compare(people(600), **asked)
    found = compare(people(60), max_rows_per_unit=10, about_rows=60, **asked)
    assert found.guarantee is not None and "10 rows of one person" in found.guarantee.describe()
    assert found["table"]["tvd1_mean"] < 0.6


def test_the_independent_baseline_has_the_single_columns_of_a_candidate() -> None:
    rows = table([(0, 0, 0), (2, 1, 3), (2, 1, 3)])
    flat = Independent(rows)
    assert np.allclose(flat.counts((0,)), rows.counts((0,)))
    assert np.allclose(flat.counts((0, 1)), np.outer(rows.counts((0,)), rows.counts((1,))) / 3)
