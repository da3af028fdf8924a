"""Connections as their users meet them: sources, prices, previews, repeats, remeasuring, clipping."""

from __future__ import annotations

import datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import hubbub as hb
from hubbub.engines import EngineFailed
from hubbub.terms import (
    BudgetConflict,
    BudgetExceeded,
    CannotPromise,
    MissingParameter,
    NoAnswer,
    NotAllowed,
    SourceUnavailable,
    UnknownName,
)

WARDS = ["north", "south", "east"]
BY_WARD = "SELECT ward, COUNT(*) AS n, AVG(cost) AS cost FROM {} GROUP BY ward"


@pytest.fixture(autouse=True)
def state(tmp_path, monkeypatch):
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path / "state"))


def visits() -> pd.DataFrame:
    """600 visits of 200 patients to two of three wards."""
    rows = range(600)
    return pd.DataFrame(
        {
            "patient_id": [i % 200 for i in rows],
            "ward": [WARDS[i % 2] for i in rows],
            "cost": [float(i % 120) for i in rows],
            "day": [datetime.date(2025, 1 + i % 12, 1 + i % 28) for i in rows],
        }
    )


FACTS = {
    "unit": "patient_id",
    "max_rows_per_unit": 3,
    "bounds": {"cost": (0, 100, 0.5), "day": (datetime.date(2025, 1, 1), datetime.date(2025, 12, 31))},
    "keys": {"ward": WARDS},
}


def connected(tmp_path, source=None, *, budget=None, **more):
    source = visits() if source is None else source
    given = {**FACTS, "budget": budget or hb.Budget(1000, 1e-5), "ledger": tmp_path / "ledger.db", **more}
    return hb.connect(source, **given)


def written(tmp_path, name):
    frame, path = visits(), tmp_path / name
    if name.endswith(".csv"):
        frame.to_csv(path, index=False)
    elif name.endswith(".duckdb"):
        import duckdb

        with duckdb.connect(str(path)) as connection:
            connection.register("given", pa.Table.from_pandas(frame, preserve_index=False))
            connection.execute("CREATE TABLE visits AS SELECT * FROM given")
    elif "*" in name:
        half = len(frame) // 2
        for i, part in enumerate((frame[:half], frame[half:])):
            pq.write_table(pa.Table.from_pandas(part, preserve_index=False), tmp_path / name.replace("*", str(i)))
    else:
        pq.write_table(pa.Table.from_pandas(frame, preserve_index=False), path)
    return str(path)


class TestSources:
    @pytest.mark.parametrize("name", ["visits.parquet", "visits.csv", "visits.duckdb", "visits*.parquet"])
    def test_a_file_is_a_table_named_after_its_stem(self, tmp_path, name, silence) -> None:
        with connected(tmp_path, written(tmp_path, name)) as db:
            answer = db.sql(BY_WARD.format("visits"), epsilon=1)
        assert dict(zip(answer["ward"].values, answer["n"].values, strict=True)) == {
            "north": 300,
            "south": 300,
            "east": 0,
        }

    @pytest.mark.parametrize(
        "kind", [pl.from_pandas, lambda f: pa.Table.from_pandas(f, preserve_index=False), lambda f: f]
    )
    def test_a_table_in_memory_is_one_too(self, tmp_path, kind, silence) -> None:
        with connected(tmp_path, kind(visits())) as db:
            assert db.sql("SELECT COUNT(DISTINCT patient_id) AS n FROM table", epsilon=1).value == 200

    def test_a_descriptor_says_it_all_once(self, tmp_path, silence) -> None:
        written(tmp_path, "visits.parquet")
        (tmp_path / "hospital.toml").write_text(
            """
            dataset.name = "hospital"
            [privacy]
            population = "patients"
            unit = "visits.patient_id"
            budget = { epsilon = 3.0, delta = 1e-6 }
            [tables.visits]
            source = "visits.parquet"
            unit = "patient_id"
            max_rows_per_unit = 3
            [tables.visits.columns]
            ward = { values = ["north", "south", "east"] }
            cost = { lower = 0, upper = 100, step = 0.5 }
            """
        )
        with hb.connect(tmp_path / "hospital.toml") as db:
            answer = db.sql(BY_WARD.format("visits"), epsilon=0.5)
            assert len(answer) == 3 and answer.receipt.population == "patients"
            assert db.budget.left.loss > 0
        with pytest.raises(MissingParameter, match="stands in the descriptor"):
            hb.connect(tmp_path / "hospital.toml", unit="patient_id")

    @pytest.mark.parametrize("name", ["missing.parquet", "missing*.parquet", "visits.xyz"])
    def test_what_is_not_there_is_said_to_be(self, tmp_path, name) -> None:
        (tmp_path / "visits.xyz").write_text("")
        with pytest.raises(SourceUnavailable):
            connected(tmp_path, str(tmp_path / name))

    def test_facts_about_columns_that_are_not_there_are_refused(self, tmp_path) -> None:
        with pytest.raises(UnknownName, match="costs"):
            connected(tmp_path, bounds={"costs": (0, 1)})
        with pytest.raises(UnknownName, match="patient"):
            connected(tmp_path, unit="patient")
        with pytest.raises(MissingParameter, match="unit"):
            hb.connect(visits(), budget=hb.Budget(1))

    def test_the_budget_of_people_is_opened_once(self, tmp_path) -> None:
        connected(tmp_path, population="people").close()
        connected(tmp_path, population="people").close()
        with pytest.raises(BudgetConflict):
            connected(tmp_path, population="people", budget=hb.Budget(2, 1e-5))
        with pytest.raises(MissingParameter, match="budget"):
            hb.connect(visits(), **FACTS, ledger=tmp_path / "other.db")


class TestPrices:
    def test_there_is_no_default_price(self, tmp_path) -> None:
        with connected(tmp_path) as db, pytest.raises(MissingParameter, match="what it may cost"):
            db.sql("SELECT COUNT(*) AS n FROM table")

    def test_asking_again_is_free_and_marked_and_a_fresh_answer_is_paid(self, tmp_path) -> None:
        with connected(tmp_path) as db:
            first = db.sql(BY_WARD.format("table"), epsilon=0.5)
            spent = db.ledger.balance("table").spent
            again = db.sql(BY_WARD.format("table") + " ORDER BY n LIMIT 2", epsilon=0.5)
            assert again.repeated and not first.repeated and db.ledger.balance("table").spent == spent
            assert set(again["n"].values) <= set(first["n"].values)
            assert not db.sql(BY_WARD.format("table"), epsilon=0.5, fresh=True).repeated
            assert db.ledger.balance("table").spent.loss == 2 * spent.loss

    def test_a_pure_budget_is_spent_in_epsilons(self, tmp_path) -> None:
        with connected(tmp_path, budget=hb.Budget(1)) as db:
            for i in range(10):  # ten questions at 0.1 fit a budget of 1 exactly
                db.sql(f"SELECT COUNT(*) AS n FROM table WHERE cost > {i}", epsilon=0.1)
            with pytest.raises(BudgetExceeded):
                db.sql("SELECT COUNT(*) AS n FROM table", epsilon=0.1)
            with pytest.raises(MissingParameter):
                db.sql("SELECT COUNT(*) AS n FROM table", rho=0.1)

    @pytest.mark.parametrize("budget", [hb.Budget(1000, 1e-5), hb.Budget(1000)])
    @pytest.mark.parametrize("within", [3, 7.5, 40])
    def test_within_keeps_its_promise_and_no_more(self, tmp_path, budget, within) -> None:
        with connected(tmp_path, budget=budget) as db:
            told = db.preview("SELECT COUNT(*) AS n FROM table", within=within)
            assert within * 0.6 - 1 <= told.errors["n"] <= within
            low, high = db.sql("SELECT COUNT(*) AS n FROM table", within=within)["n"].interval(0.95)
            assert high[0] - low[0] <= 2 * within

    def test_an_average_is_promised_with_an_assumed_count_and_a_quantile_is_not(self, tmp_path) -> None:
        with connected(tmp_path) as db:
            assert db.preview("SELECT AVG(cost) AS a FROM table", within=1, assume=600).errors["a"] <= 1
            with pytest.raises(CannotPromise):
                db.preview("SELECT MEDIAN(cost) AS m FROM table", within=1)

    def test_several_columns_come_out_equally_exact(self, tmp_path) -> None:
        with connected(tmp_path) as db:
            errors = db.preview("SELECT COUNT(*) AS n, SUM(cost) AS s FROM table", within=500).errors
        assert errors["n"] == pytest.approx(errors["s"], rel=0.7) or errors["n"] < errors["s"]
        assert errors["s"] == pytest.approx(500, rel=0.01)


class TestPreviews:
    def test_a_preview_says_what_the_answer_will_say_and_costs_nothing(self, tmp_path) -> None:
        with connected(tmp_path) as db:
            before = db.ledger.balance("table").spent
            told = db.preview(BY_WARD.format("table"), epsilon=0.5)
            assert db.ledger.balance("table").spent == before and told.affordable and not told.repeated
            answer = db.sql(BY_WARD.format("table"), epsilon=0.5)
            low, high = answer["n"].interval(0.95)
            assert told.errors["n"] == pytest.approx((high[0] - low[0]) / 2, abs=0.5)
            assert db.ledger.balance("table").spent == before + told.cost
            assert db.preview(BY_WARD.format("table"), epsilon=0.5).repeated

    def test_what_does_not_fit_is_said_before(self, tmp_path) -> None:
        with connected(tmp_path, budget=hb.Budget(1, 1e-6)) as db:
            told = db.preview(BY_WARD.format("table"), epsilon=50)
            assert not told.affordable and "does not fit" in told.text()

    def test_explanations_say_where_bounds_and_noise_enter(self, tmp_path) -> None:
        with connected(tmp_path) as db:
            told = db.explain("EXPLAIN PRIVATE " + BY_WARD.format("table")).text()
            assert "at most 3 rows per person" in told and "clamp" in told and "noise" in told
            with pytest.raises(NotAllowed, match="EXPLAIN PRIVATE"):
                db.sql("EXPLAIN PRIVATE SELECT COUNT(*) AS n FROM table", epsilon=1)


class TestNoise:
    @pytest.mark.parametrize("noise", ["gaussian", "laplace"])
    def test_an_answer_has_the_noise_of_its_receipt(self, tmp_path, noise) -> None:
        """20,000 empty groups: their variance strays by at most 1.6%; noise 10% too small would lack 19%."""
        frame = visits().assign(slot=-1)
        with connected(tmp_path, frame, budget=hb.Budget(1000, 1e-5), bounds={"slot": (0, 19_999)}) as db:
            told = db.sql("SELECT FLOOR(slot) AS slot, COUNT(*) AS n FROM table GROUP BY 1", epsilon=0.5, noise=noise)
        event = told.receipt.event
        sigma = float(event.sigma) if noise == "gaussian" else 2**0.5 * float(event.scale)
        variance = sum(value**2 for value in told["n"].values) / 20_000
        assert len(told) == 20_000 and event.sensitivity == 3
        assert 0.92 < variance / sigma**2 < 1.08


class TestTotals:
    def test_a_persons_total_is_clipped_where_it_can_be(self, tmp_path, silence) -> None:
        with connected(tmp_path) as db:
            assert db.sql("SELECT COUNT(*) AS n FROM table", epsilon=1, totals={"n": 2}).value == 400  # 200 people
            errors = [
                db.preview("SELECT COUNT(*) AS n FROM table", epsilon=1, totals={"n": c}).errors["n"] for c in (1, 3)
            ]
            assert errors[1] == pytest.approx(3 * errors[0], rel=0.2)

    def test_small_totals_are_scaled_and_not_cut_to_nothing(self, tmp_path, silence) -> None:
        everywhere = visits().assign(ward=[WARDS[i // 200] for i in range(600)])  # each patient once in each ward
        with connected(tmp_path, everywhere) as db:
            told = db.sql("SELECT ward, COUNT(*) AS n FROM table GROUP BY ward", epsilon=1, totals={"n": 1})
        assert told["n"].values == pytest.approx([200 / 3**0.5] * 3, rel=0.001)

    @pytest.mark.parametrize(
        "question",
        [
            "SELECT patient_id % 2 AS odd, day, SUM(cost) AS n FROM table GROUP BY odd, day",
            "SELECT SUM(cost) AS n, MEDIAN(cost) AS m FROM table",
            "SELECT SUM(cost) AS n, COUNT(DISTINCT patient_id) AS m FROM table",
            "SELECT AVG(cost) AS n FROM table",
        ],
    )
    def test_and_refused_where_not(self, tmp_path, question) -> None:
        with connected(tmp_path) as db, pytest.raises(NotAllowed, match="totals"):
            db.preview(question, epsilon=1, totals={"n": 10})


class TestAnswers:
    def test_more_accuracy_costs_the_difference(self, tmp_path) -> None:
        question = "SELECT ward, COUNT(*) AS n, SUM(cost) AS s FROM table GROUP BY ward"
        with connected(tmp_path) as db:
            first = db.sql(question, rho=0.01)
            better = db.remeasure(first, rho=0.04)
            assert float(db.ledger.balance("table").spent.parts()[0]) == pytest.approx(0.04, rel=1e-3)
            best = db.remeasure(better, rho=0.16)
            assert float(db.ledger.balance("table").spent.parts()[0]) == pytest.approx(0.16, rel=1e-3)
            widths = [r["n"].interval(0.95)[1][0] - r["n"].interval(0.95)[0][0] for r in (first, better, best)]
            assert widths[0] / widths[1] == pytest.approx(2, rel=0.05) and widths[1] / widths[2] == pytest.approx(
                2, rel=0.05
            )
            assert db.remeasure(better, rho=0.16).repeated

    def test_a_combined_answer_is_as_exact_as_it_says(self, tmp_path) -> None:
        errors = []
        with connected(tmp_path) as db:
            for i in range(60):
                question = f"SELECT COUNT(*) AS n FROM table WHERE cost > -{i + 1}"
                told = db.remeasure(db.sql(question, rho=0.01), rho=0.02)
                errors.append((told["n"].values[0] - 600) / told["n"].std_dev[0])
        variance = sum(error**2 for error in errors) / len(errors)
        assert 0.4 < variance < 1.9  # chi-square of 60: fails once in 10^4 runs, and if either answer were left out

    def test_clipping_is_told_where_it_is_paid_for(self, tmp_path, silence) -> None:
        with connected(tmp_path) as db:
            told = db.sql("SELECT SUM(cost) AS s FROM table", epsilon=1, clipping=True)
            assert told.clipped["cost"].startswith("about 16% of its values")  # 95 of 600 above 100
            assert db.sql("SELECT SUM(cost) AS s FROM table", epsilon=1).clipped == {}

    def test_an_engine_that_fails_is_charged_and_tells_nothing(self, tmp_path, monkeypatch) -> None:
        def fail(sql, *, seconds):
            raise EngineFailed

        with connected(tmp_path) as db:
            monkeypatch.setattr(db.engine, "rows", fail)
            with pytest.raises(NoAnswer, match="charged") as told:
                db.sql("SELECT COUNT(*) AS n FROM table", epsilon=1)
            assert "600" not in str(told.value) and db.ledger.balance("table").spent.loss > 0

    def test_dates_come_back_as_dates(self, tmp_path) -> None:
        with connected(tmp_path) as db:
            monthly = db.sql("SELECT DATE_TRUNC('month', day) AS m, COUNT(*) AS n FROM table GROUP BY m", epsilon=1)
            assert monthly["m"].values[0] == datetime.date(2025, 1, 1) and len(monthly) == 12
            latest = db.sql("SELECT MAX(day) AS last FROM table", epsilon=1)
            assert latest.to_arrow().schema.field("last").type == pa.date32()
