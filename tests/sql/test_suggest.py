"""Suggested bounds: each person in one bucket of each histogram, one charge, and numbers that fit the data."""

from __future__ import annotations

import math
import tomllib
from bisect import bisect_left
from collections import Counter
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pytest

from hubbub import Budget, accounting
from hubbub.relations.dialects import DIALECTS
from hubbub.sql.bounds.buckets import Buckets, rows_buckets, values_buckets
from hubbub.sql.bounds.suggest import plan_suggestion, reference_noise, suggest_bounds
from hubbub.sql.connection import Connection
from hubbub.sql.open_connection import connect
from hubbub.terms import MissingParameter, NotAllowed, UnknownName, WrongType


@pytest.fixture(autouse=True)
def _second_place(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """The ledgers' second place is a temporary folder."""
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path_factory.mktemp("state")))


def visits(people: int = 4000, seed: int = 1) -> pandas.DataFrame:
    """People with few visits and some with many; costs above 0, changes around 0, and ages."""
    generator = np.random.default_rng(seed)
    who = np.repeat(np.arange(people), np.maximum(1, generator.lognormal(1, 1, people).astype(int)))
    size = len(who)
    return pandas.DataFrame(
        {
            "who": who,
            "cost": np.round(generator.lognormal(4, 1, size), 2),
            "change": generator.normal(0, 5, size),
            "age": generator.integers(18, 90, size),
            "ward": generator.choice(["n", "s"], size),
        }
    )


def odd_values() -> pandas.DataFrame:
    """Values at and beyond the edges of buckets, missing ones, and rows of nobody."""
    values = [0.0, -0.0, 1.0, 1.5, 1.5000001, -1.0, -2.5, 5e-4, -5e-4, 1e300, -1e300, math.inf, -math.inf, math.nan]
    rows = [(i % 5, value) for i, value in enumerate(values)] + [(9, math.nan), (10, 3.0), (11, -7e13)]
    frame = pandas.DataFrame(rows, columns=["who", "cost"])
    frame["who"] = pandas.Series(frame["who"], dtype="Int64").where(frame.index != 3)
    return frame


def opened(frame: pandas.DataFrame, folder: Path, budget: Budget | None = None, **options: Any) -> Connection:
    given = {"unit": "who", **options}
    return connect(frame, budget=budget or Budget(100, 1e-6), ledger=folder / "ledger.db", **given)


def cell(buckets: Buckets, value: float | Fraction) -> int:
    """The bucket of a value, by searching."""
    size = min(bisect_left(buckets.edges, abs(value)), len(buckets.edges) - 1)
    zero = len(buckets.edges) if buckets.signed else 0
    return zero if value == 0 else zero + 1 + size if value > 0 else zero - 1 - size


def by_hand(frame: pandas.DataFrame) -> list[Counter[int]]:
    """The four histograms of rows and of one column, person by person."""
    told: list[Counter[int]] = [Counter() for _ in range(4)]
    signed, sizes = values_buckets(signed=True), values_buckets(signed=False)
    for _, own in frame.dropna(subset="who").groupby("who"):
        values = [float(value) for value in own["cost"] if not math.isnan(value)]
        told[0][cell(rows_buckets(), len(own))] += 1
        if values:
            told[1][cell(signed, max(values))] += 1
            told[2][cell(signed, min(values))] += 1
            total = sum(math.floor(min(abs(value), 1e12) * 1000 + 0.5) for value in values)
            told[3][min(bisect_left([math.floor(e * 1000) for e in sizes.edges], total), 95) + 1 if total else 0] += 1
    return told


def histograms(db: Connection, columns: list[str]) -> list[Counter[int]]:
    """What leaves the engine."""
    planned = plan_suggestion(db.dataset, "table", columns)
    told: list[Counter[int]] = [Counter() for _ in planned.measures()]
    for which, bucket, count in db.engine.rows(planned.statement(DIALECTS["duckdb"])):
        told[which][bucket] += count
    return told


@pytest.mark.parametrize("frame", [visits(500), odd_values()], ids=["visits", "odd values"])
def test_the_engine_puts_each_person_into_one_bucket_of_each_histogram(tmp_path: Path, frame: pandas.DataFrame) -> None:
    with opened(frame, tmp_path) as db:
        assert histograms(db, ["cost"]) == by_hand(frame)


@pytest.mark.parametrize("who", [0, 1, 10, 11])
@pytest.mark.parametrize("frame", [visits(300), odd_values()], ids=["visits", "odd values"])
def test_a_person_moves_each_histogram_by_one(tmp_path: Path, frame: pandas.DataFrame, who: int) -> None:
    tables = []
    for name, part in (("with", frame), ("without", frame[frame["who"] != who])):
        (tmp_path / name).mkdir()
        with opened(part, tmp_path / name) as db:
            tables.append(histograms(db, ["cost"]))
    for more, less in zip(*tables, strict=True):
        assert sum((more - less).values()) == 1
        assert not less - more


def test_buckets_meet_and_zero_is_one_of_them() -> None:
    signed = values_buckets(signed=True)
    assert signed.cells == 2 * 96 + 1
    around = list(zip(signed.lows, signed.highs, strict=True))
    assert (0, 0) in around
    assert all(high == low for (_, high), (low, _) in pairwise(around))
    for value in (-7e12, -3, -0.5, 0, 0.001, 12.5, 7e12):
        low, high = around[cell(signed, value)]
        assert low <= value <= high
    assert [int(end) for end in rows_buckets().highs[1:13]] == [1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24]
    assert rows_buckets().highs[-1] == 2**20


@pytest.mark.usefixtures("silence")
def test_without_noise_the_bounds_cover_nearly_all_people_and_not_much_more(tmp_path: Path) -> None:
    frame = visits()
    with opened(frame, tmp_path) as db:
        told = suggest_bounds(db, "table", epsilon=50)
    people = frame.groupby("who")
    lower, upper = told.bounds["cost"]
    assert 0.99 <= float((people["cost"].max() <= upper).mean()) <= 1
    assert upper <= 2 * people["cost"].max().quantile(0.995)
    assert 0 <= lower <= people["cost"].min().quantile(0.01)
    assert told.bounds["age"] == (15, 100)
    down, up = told.bounds["change"]
    assert -30 <= down < -10 < 10 < up <= 30
    sizes = frame["change"].abs().groupby(frame["who"]).sum()
    assert sizes.quantile(0.98) <= told.totals["change"] <= 2 * sizes.quantile(0.999)
    assert set(told.bounds) == {"cost", "change", "age"}


@pytest.mark.usefixtures("silence")
def test_the_cap_has_nearly_the_least_error_of_all_caps(tmp_path: Path) -> None:
    frame = visits()
    rows = frame.groupby("who").size().to_numpy()
    for name, budget in (("small", Budget(1, 1e-6)), ("large", Budget(100, 1e-6))):
        (tmp_path / name).mkdir()
        with opened(frame, tmp_path / name, budget) as db:
            told = suggest_bounds(db, "table", columns=[], epsilon=0.9 * float(budget.epsilon or 0))
        noise = reference_noise(budget)[0]
        errors = {cap: math.hypot(np.maximum(0, rows - cap).sum(), noise * cap) for cap in range(1, rows.max() + 1)}
        assert told.max_rows_per_unit is not None
        assert errors[min(told.max_rows_per_unit, rows.max())] <= 1.3 * min(errors.values()) + 5
    assert reference_noise(Budget(4, 1e-6))[0] > 10 * reference_noise(Budget(100, 1e-6))[0]


def test_the_cap_shrinks_when_noise_is_dear(tmp_path: Path) -> None:
    caps = []
    for name, budget in (("dear", Budget(1, 1e-6)), ("cheap", Budget(5000, 1e-6))):
        (tmp_path / name).mkdir()
        with opened(visits(20_000), tmp_path / name, budget) as db:
            caps.append(suggest_bounds(db, "table", columns=[], epsilon=1).max_rows_per_unit)
    assert caps[0] is not None and caps[1] is not None
    assert caps[0] < caps[1]


def test_with_noise_the_intervals_hold_the_bucket_of_the_true_quantile(tmp_path: Path) -> None:
    frame = visits(20_000)
    with opened(frame, tmp_path) as db:
        told = suggest_bounds(db, "table", columns=["cost"], epsilon=5)
    _, upper, _ = told.columns["cost"]
    largest = frame.groupby("who")["cost"].max()
    assert upper.low is not None and upper.high is not None
    assert upper.low <= 2 * largest.quantile(0.999) and upper.high >= largest.quantile(0.98)
    assert "of people" in upper.reason


def test_it_is_one_charge_of_the_price_and_asking_again_is_free(tmp_path: Path) -> None:
    with opened(visits(500), tmp_path) as db:
        told = suggest_bounds(db, "table", epsilon=1)
        spent = db.budget.spent
        again = suggest_bounds(db, "table", epsilon=1)
        assert (told.repeated, again.repeated) == (False, True)
        assert (again.bounds, again.max_rows_per_unit) == (told.bounds, told.max_rows_per_unit)
        assert db.budget.spent == spent
        assert told.receipt is not None and told.receipt == again.receipt
        cost = accounting.epsilon(
            told.receipt.event, delta=db.limit.default_tail(epsilon=Fraction(1)), neighbours="add-remove"
        )
        assert 0.95 <= cost <= 1 + 1e-6
        assert suggest_bounds(db, "table", epsilon=1, fresh=True).receipt != told.receipt


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_a_pure_budget_is_spent_to_the_digit(tmp_path: Path, neighbours: str) -> None:
    with opened(visits(500), tmp_path, Budget(2), neighbours=neighbours) as db:
        told = suggest_bounds(db, "table", columns=["cost", "age"], epsilon=0.5)
        assert told.guarantee.holds.describe() == "epsilon = 0.5"
        assert abs(float(db.budget.spent.parts()[0]) - 0.5) < 1e-9


def test_few_people_get_no_suggestion_and_no_error(tmp_path: Path) -> None:
    with opened(visits(3), tmp_path) as db:
        told = suggest_bounds(db, "table", rho=0.01)
    assert (told.max_rows_per_unit, told.bounds, told.totals) == (None, {}, {})
    assert "too few people" in told.text()
    assert tomllib.loads(told.toml()) == {"tables": {"table": {}}}


def test_where_rows_are_the_unit_no_cap_is_suggested(tmp_path: Path) -> None:
    with opened(visits(2000), tmp_path, unit="row") as db:
        told = suggest_bounds(db, "table", columns=["age"], epsilon=5)
        assert told.rows is None
        assert told.bounds["age"] == (15, 100)
        with pytest.raises(NotAllowed):
            suggest_bounds(db, "table", columns=[], epsilon=1)


def test_it_is_told_as_text_html_json_and_lines_of_a_descriptor(tmp_path: Path) -> None:
    frame = visits().rename(columns={"age": 'the "age"'})
    with opened(frame, tmp_path) as db:
        told = suggest_bounds(db, "table", columns=["cost", 'the "age"'], epsilon=5)
    lines = tomllib.loads(told.toml())["tables"]["table"]
    assert lines["max_rows_per_unit"] == told.max_rows_per_unit
    assert lines["columns"]['the "age"'] == {"lower": 15, "upper": 100}
    assert told.to_json()["max_rows_per_unit"] == told.max_rows_per_unit
    assert "of people" in told.text() and "<table" in told.html()


def test_what_cannot_be_suggested_is_refused_for_free(tmp_path: Path) -> None:
    with opened(visits(50), tmp_path) as db:
        for table, columns, error in (
            ("nothing", None, UnknownName),
            ("table", ["no"], UnknownName),
            ("table", ["ward"], WrongType),
        ):
            with pytest.raises(error):
                suggest_bounds(db, table, columns=columns, epsilon=1)
        with pytest.raises(MissingParameter):
            suggest_bounds(db, "table")
        assert db.budget.spent.loss == 0
