"""``within`` for an average without a known number of rows: a count is bought first, shown, charged, and used again."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import hubbub as hb
from hubbub.sql import Connection, connect
from hubbub.sql.count_preview import CountPreview
from hubbub.sql.preview import Preview
from hubbub.terms import BudgetExceeded, CannotPromise, NotAllowed

MEAN = "SELECT AVG(cost) AS mean FROM t"
BY_WARD = "SELECT ward, AVG(cost) AS mean, AVG(cost) FILTER (WHERE cost > 50) AS dear FROM t GROUP BY ward"


def visits(rows: int) -> pandas.DataFrame:
    number = numpy.arange(rows)
    return pandas.DataFrame(
        {"pid": number // 2, "ward": numpy.where(number % 3, "north", "south"), "cost": number % 100, "key": number}
    )


def opened(place: Path, *, rows: int = 6_000, budget: hb.Budget | None = None, **facts: Any) -> Connection:
    given = {"unit": "pid", "max_rows_per_unit": 2, "bounds": {"cost": (0, 99)}, "keys": {"ward": ["north", "south"]}}
    budget = budget or hb.Budget(3, 1e-6)
    return connect(visits(rows), budget=budget, ledger=place / "ledger.db", name="t", **given | facts)


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    with opened(tmp_path) as connection:
        yield connection


def charges(db: Connection) -> int:
    return db.ledger.balance("t").spent.epsilon


def test_a_preview_says_what_is_bought_first_and_what_may_follow(db: Connection) -> None:
    preview = db.preview(MEAN, within=2)
    assert isinstance(preview, CountPreview) and charges(db) == 0
    assert preview.affordable and preview.errors == {"mean": 2}
    assert preview.first.guarantee.endswith("epsilon = 0.06.")  # a fiftieth of the budget
    assert [each.rows for each in preview.later] == [1_000, 10_000, 100_000]
    assert "a noisy count of them is bought first" in " ".join(preview.text().split())
    assert preview.to_json()["first"]["cost"]["epsilon"] == 0.06


def test_both_steps_are_charged_and_repeats_are_free(db: Connection) -> None:
    first = db.preview(MEAN, within=2)
    answer = db.sql(MEAN, within=2)
    assert first.first.cost.epsilon < charges(db)
    [(low, high)] = answer.intervals(0.95)["mean"]
    assert high - low <= 4
    spent = charges(db)
    again = db.sql(MEAN, within=2)
    assert again.repeated and again.dbapi_rows() == answer.dbapi_rows() and charges(db) == spent
    preview = db.preview(MEAN, within=2)
    assert isinstance(preview, Preview) and preview.repeated
    assert any("bought first (receipt #" in note for note in answer.notes)


def test_another_error_uses_the_same_count(db: Connection) -> None:
    db.sql(MEAN, within=2)
    spent = charges(db)
    preview = db.preview(MEAN, within=4)
    assert isinstance(preview, Preview) and not preview.repeated  # what follows is priced
    db.sql(MEAN, within=4)
    assert charges(db) == spent + preview.cost.epsilon


def test_new_noise_needs_no_new_count(db: Connection) -> None:
    db.sql(MEAN, within=2)
    spent, price = charges(db), db.preview(MEAN, within=2).cost.epsilon
    db.sql(MEAN, within=2, fresh=True)
    assert charges(db) == spent + price


def test_the_price_follows_from_the_released_count_alone(tmp_path: Path) -> None:
    """Asked by somebody who assumes what the count tells at least, it is the very same question."""
    with opened(tmp_path) as db:
        answer = db.sql(BY_WARD, within=5)
        [note] = [each for each in answer.notes if "bought first" in each]
        rows = int(note.split("at least ")[1].split(" ")[0].replace(",", ""))
        confidence = 1 - Fraction(9, 200)
        assert db.sql(BY_WARD, within=5, assume=rows, confidence=confidence).repeated


@pytest.mark.parametrize("budget", [hb.Budget(3), hb.Budget(rho=0.5), hb.Budget(3, 1e-6)])
def test_every_sort_of_budget_can_buy_a_count(tmp_path: Path, budget: hb.Budget) -> None:
    with opened(tmp_path, budget=budget) as db:
        assert isinstance(db.preview(BY_WARD, within=10), CountPreview)
        assert len(db.sql(BY_WARD, within=10)) == 2


@pytest.mark.parametrize("mean", ["AVG(cost) FILTER (WHERE ward = 'north')", "REGR_AVGX(cost, key)"])
def test_the_rows_are_counted_that_have_what_the_average_is_of(tmp_path: Path, mean: str) -> None:
    frame = visits(6_000).astype({"key": "float"})
    frame.loc[frame["pid"] < 1_500, "key"] = float("nan")  # half of the rows have no pair
    facts = {"bounds": {"cost": (0, 99), "key": (0, 6_000)}, "budget": hb.Budget(50, 1e-6)}
    with connect(frame, unit="pid", max_rows_per_unit=2, ledger=tmp_path / "l.db", name="t", **facts) as db:
        answer = db.sql(f"SELECT {mean} AS mean FROM t", within=10)
    [note] = [each for each in answer.notes if "bought first" in each]
    rows = int(note.split("at least ")[1].split(", with")[0].replace(",", ""))
    true = 3_000 if "REGR" in mean else 4_000
    assert true - 60 < rows < true + 20  # a count of epsilon 1 and cap 2


def test_a_count_is_bought_once_also_when_an_account_was_closed_meanwhile(db: Connection) -> None:
    answer = db.sql(MEAN, within=2)
    db.sql("SELECT COUNT(*) AS n FROM t", epsilon=1)  # uses up the account of rho
    assert db.sql(MEAN, within=2).dbapi_rows() == answer.dbapi_rows()


def test_a_count_that_tells_nothing_is_refused_and_free_to_use(tmp_path: Path) -> None:
    with opened(tmp_path, rows=20) as db:
        with pytest.raises(CannotPromise, match="cannot be told from noise"):
            db.sql(BY_WARD, within=5)
        spent = charges(db)
        with pytest.raises(CannotPromise, match="cannot be told from noise"):
            db.sql(BY_WARD, within=5)
        assert charges(db) == spent > 0
        assert len(db.sql(BY_WARD, within=5, assume=1_000)) == 2


@pytest.mark.parametrize(
    "text",
    [
        "SELECT AVG(cost) AS mean, MEDIAN(cost) AS half FROM t",
        "SELECT VAR_POP(cost) AS v, AVG(cost) AS mean FROM t",
        "SELECT 2 * AVG(cost) AS mean FROM t",
        "SELECT key, AVG(cost) AS mean FROM t GROUP BY key",
        "SELECT AVG(cost) AS mean FROM t UNION ALL SELECT AVG(cost) AS mean FROM t",
        "SELECT MAX(mean) AS most FROM (SELECT ward, AVG(cost) AS mean FROM t GROUP BY ward)",
    ],
)
def test_what_cannot_be_promised_after_a_count_is_refused_before_it(db: Connection, text: str) -> None:
    for ask in (db.preview, db.sql):
        with pytest.raises((CannotPromise, NotAllowed)):
            ask(text, within=5)
    assert charges(db) == 0


def test_a_second_step_that_does_not_fit_leaves_the_count_alone_paid(db: Connection) -> None:
    with pytest.raises(BudgetExceeded):
        db.sql(MEAN, within=0.01)
    assert charges(db) == db.ledger.balance("t").limit.whole.epsilon // 50


def test_a_number_that_is_assumed_needs_no_count(tmp_path: Path) -> None:
    with opened(tmp_path) as db:
        assert isinstance(db.preview(MEAN, within=2, assume=5_000), Preview)


def test_the_promise_is_kept(tmp_path: Path) -> None:
    """Over both steps and both groups, each with noise of its own: 48 errors, of which 1 in 20 may be larger."""
    true = visits(6_000).groupby("ward")["cost"].mean()
    kept = 0
    for run in range(24):
        place = tmp_path / str(run)
        place.mkdir()
        with opened(place) as db:
            rows = db.sql("SELECT ward, AVG(cost) AS mean FROM t GROUP BY ward", within=3).dbapi_rows()
        kept += sum(abs(mean - true[ward]) <= 3 for ward, mean in rows)
    assert kept >= 39  # with 95%: fewer in one of 3,000 runs
