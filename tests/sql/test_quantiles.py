"""Quantiles: pairs of ends by one choice for all levels and groups, the curve beyond, and what is said about them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import date
from fractions import Fraction
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from hubbub.mechanisms import JointQuantiles, NoisyCDF
from hubbub.noise.testing import seeded
from hubbub.releases import Release
from hubbub.releases.formulas import GivenIntervals
from hubbub.releases.release import UNKNOWN
from hubbub.sql import Connection, connect, measurement
from hubbub.sql.answer.quantile_intervals import quantile_formula
from hubbub.sql.compiler.query_plan import QuantileCurve
from hubbub.sql.measurement import NoisyResult, QuantilePairs
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import QueryQuote, plan_text, quote_plan
from hubbub.terms import Budget, ExponentialChoice, WrongType
from tests.sql.passes.datasets import HOSPITAL

PEOPLE = 4000
FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def db(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Connection]:
    """People with five rows each: amounts that are known beforehand, days, a public ward and a town that is not."""
    rows = 5 * PEOPLE
    at = np.arange(rows)
    towns = np.where(at % 100 < 60, "large", np.where(at % 100 < 99, "middle", None))
    towns[: rows // 1000] = "small"
    table = pyarrow.table(
        {
            "pid": at // 5,
            "x": (at * 7919 % rows) / 100,  # each hundredth below 200 once
            "day": [date(2025, 1, 1 + int(i % 31)) for i in at],
            "ward": [("n", "s")[i // 5 % 2] for i in at],
            "town": towns,
        }
    )
    with connect(
        table,
        unit="pid",
        max_rows_per_unit=5,
        bounds={"x": (0, 200, 0.01), "day": (date(2025, 1, 1), date(2025, 1, 31))},
        keys={"ward": ["n", "s"]},
        budget=Budget(1000, 1e-3),
        ledger=tmp_path_factory.mktemp("quantiles") / "l.db",
    ) as connection:
        yield connection


def quoted(text: str, price: Price | None = None) -> QueryQuote:
    """A question about the hospital with its noise."""
    return quote_plan(
        plan_text(text, HOSPITAL, gaussian=True), price or Price(epsilon=Fraction(1), tail=Fraction("1e-8"))
    )


# ---------------------------------------------------------------- what is charged


def test_all_levels_and_all_groups_are_one_choice_at_the_whole_price() -> None:
    [spent] = quoted(
        "SELECT ward, QUANTILE_CONT(cost, [0.25, 0.5]) AS q, MAX(cost) AS m FROM visits GROUP BY ward"
    ).spent
    [event] = spent.events()
    assert isinstance(event, ExponentialChoice)
    assert event.epsilon == 1
    [noise] = spent.curves
    assert isinstance(noise, JointQuantiles)
    assert noise.levels == (Fraction(1, 4), Fraction(1, 2), Fraction(1))


def test_rho_buys_the_choice_whose_range_costs_it() -> None:
    [spent] = quoted("SELECT MEDIAN(cost) AS m FROM visits", Price(rho=Fraction(1, 8))).spent
    assert float(spent.curves[0].event.epsilon) == pytest.approx(1)  # type: ignore[union-attr]


def test_values_and_filters_of_their_own_have_a_choice_of_their_own_and_share_the_price() -> None:
    [spent] = quoted("SELECT MEDIAN(cost) AS a, MEDIAN(cost) FILTER (WHERE urgent) AS b FROM visits").spent
    assert [event.epsilon for event in spent.events()] == [Fraction(1, 2)] * 2  # type: ignore[attr-defined]


def test_a_curve_tells_many_levels_more_exactly_than_one_choice_would() -> None:
    def noise(levels: int) -> JointQuantiles | NoisyCDF:
        some = ", ".join(str(round((i + 1) / (levels + 1), 3)) for i in range(levels))
        return quoted(f"SELECT QUANTILE_CONT(cost, [{some}]) AS q FROM visits").spent[0].curves[0]

    few, many = noise(9), noise(40)
    assert isinstance(few, JointQuantiles)
    assert isinstance(many, NoisyCDF)
    assert few.error(0.95) < many.error(0.95)


# ---------------------------------------------------------------- what is answered


def test_a_list_of_levels_is_a_column_for_each(db: Connection) -> None:
    release = db.sql("SELECT ward, QUANTILE_CONT(x, [0.25, 0.5, 0.905]) AS q FROM table GROUP BY ward", epsilon=4)
    assert release.columns_names == ("ward", "q_p25", "q_p50", "q_p90_5")
    for name, true in (("q_p25", 50), ("q_p50", 100), ("q_p90_5", 181)):
        for value, low, high in zip(release[name].values, release[name].low, release[name].high, strict=True):
            assert low <= true <= high
            assert abs(value - true) < 8


def test_the_short_interval_lies_within_the_one_that_holds_everywhere(db: Connection) -> None:
    release = db.sql("SELECT MEDIAN(x) AS m FROM table", epsilon=1)
    (low,), (high,) = release["m"].interval()
    (near_low,), (near_high,) = release["m"].dense_interval()
    assert low < near_low <= release.value <= near_high < high
    assert f"m: {near_low:g} to {near_high:g} if values lie densely there." in release.remarks()
    (wide_low,), (wide_high,) = release["m"].interval(0.999)
    assert wide_low < low < high < wide_high
    assert release["m"].interval(0.5) == release["m"].interval()


def test_a_release_keeps_both_intervals_in_its_stored_form(db: Connection) -> None:
    release = db.sql("SELECT ward, MEDIAN(x) AS m FROM table GROUP BY ward ORDER BY m LIMIT 1", epsilon=2)
    again = Release.from_json(json.loads(json.dumps(release.to_json())))
    assert again["m"].dense_interval() == release["m"].dense_interval()
    assert again["m"].interval() == release["m"].interval()


def formulas_of(levels: str, rows: int, seed: int, epsilon: int = 1) -> tuple[list[GivenIntervals], QuantileCurve]:
    """The formulas of quantiles of a cost in cells of eight cents, with so many rows spread over them."""
    quote = quoted(f"SELECT QUANTILE_CONT(cost, [{levels}]) AS q FROM visits", Price(epsilon=Fraction(epsilon)))
    [plan], [spent] = quote.plans, quote.spent
    [curve], [noise] = plan.curves, spent.curves
    cells = np.random.default_rng(seed).integers(0, curve.cells, rows)
    if isinstance(noise, JointQuantiles):
        drawn = noise.release_sparse(cells, np.ones_like(cells), keys=np.zeros_like(cells), number=1, rng=seeded(seed))
        places = [noise.levels.index(reading.quantile) for reading in plan.quantiles]
        together = [measurement._pairs(drawn[:, place], len(noise.levels)) for place in places]
    else:
        told = noise.release_sparse(cells, np.ones_like(cells), rng=seeded(seed))
        together = [measurement._quantile(curve, told, reading) for reading in plan.quantiles]
    pairs = zip(together, plan.quantiles, strict=True)
    return [quantile_formula(given, together, reading, curve) for given, reading in pairs], curve


MANY = ", ".join(f"0.{i:02d}" for i in range(2, 99, 3))


@pytest.mark.parametrize("levels", ["0.5", "0.25, 0.5, 0.75", MANY])
@pytest.mark.parametrize("rows", [0, 30, 3000, 100_000])
def test_values_rise_with_their_levels_in_whole_steps_within_intervals_and_bounds(levels: str, rows: int) -> None:
    for seed in range(10):
        given, curve = formulas_of(levels, rows, seed)
        told = [value for each in given for value in each.values if value is not None]
        assert told == sorted(told)
        assert all(Fraction(value).limit_denominator(10**6) % curve.step == 0 for value in told)
        for each in given:
            for dense in (each, *([each.dense] if each.dense else [])):
                for (low,), (high,) in zip(dense.lows, dense.highs, strict=True):
                    assert 0 <= low <= high <= 5000
                    assert each.values[0] is None or low <= each.values[0] <= high


@pytest.mark.parametrize("levels", ["0.5", "0.25, 0.5, 0.75"])
def test_beside_an_interval_that_spans_all_cells_no_shorter_one_stands(levels: str) -> None:
    few, _ = formulas_of(levels, 10, 1)
    many, _ = formulas_of(levels, 100_000, 1)
    assert any(each.is_unknown(0.95) == [True] for each in few)
    assert all(each.dense.lows[:-1] == each.lows[:-1] and each.dense.highs == each.highs for each in few)
    assert all(each.dense.lows[4] > each.lows[4] and each.dense.highs[4] < each.highs[4] for each in many)


def test_one_level_that_spans_all_cells_leaves_none_told_with_it_a_shorter_interval() -> None:
    [plan] = quoted("SELECT QUANTILE_CONT(cost, [0.25, 0.5]) AS q FROM visits").plans
    [curve] = plan.curves
    wide, narrow = QuantilePairs((-9,), (curve.cells + 9,), 2), QuantilePairs((100,), (300,), 2)
    for together, shorter in (((narrow, wide), False), ((narrow, narrow), True)):
        told = quantile_formula(narrow, together, plan.quantiles[0], curve)
        assert told.dense is not None
        assert (told.dense.highs[4] < told.highs[4]) is shorter


def test_values_between_two_steps_count_as_the_nearest(tmp_path: Path) -> None:
    table = pyarrow.table({"pid": np.arange(4000), "x": np.full(4000, 7.0079)})
    declared = {"max_rows_per_unit": 1, "bounds": {"x": (0, 10, 0.01)}, "budget": Budget(9, 1e-6)}
    with connect(table, unit="pid", ledger=tmp_path / "l.db", **declared) as some:
        release = some.sql("SELECT MEDIAN(x) AS m FROM table", epsilon=5)
    assert release["m"].interval(0.5) == ([7.01], [7.01])
    assert release.value == 7.01


def test_the_middle_day_is_a_day(db: Connection) -> None:
    release = db.sql("SELECT MEDIAN(day) AS m, MIN(day) AS a FROM table", epsilon=4)
    [(middle, first)] = list(release)
    assert isinstance(middle, date)
    assert abs((middle - date(2025, 1, 16)).days) <= 1
    assert date(2025, 1, 1) <= first <= date(2025, 1, 4)


def test_quantiles_of_moments_are_refused_with_the_days_that_are_answered() -> None:
    moment = "CAST(day AS TIMESTAMP)"
    for call in (f"MEDIAN({moment})", f"PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY {moment})"):
        with pytest.raises(WrongType, match=r"told by the day") as refusal:
            plan_text(f"SELECT {call} AS m FROM visits", HOSPITAL, gaussian=True)
        assert "MEDIAN(CAST(x AS DATE))" in str(refusal.value)
    assert quoted(f"SELECT MEDIAN(CAST({moment} AS DATE)) AS m FROM visits").spent


def test_by_keys_that_are_not_public_only_chosen_groups_have_a_quantile(db: Connection) -> None:
    release = db.sql("SELECT town, MEDIAN(x) AS m, COUNT(*) AS n FROM table GROUP BY town", epsilon=20, delta=1e-6)
    told = {row[0]: row[1] for row in release}
    assert "large" in told
    assert "small" not in told or len(told) == 4
    assert all(abs(told[town] - 100) < 15 for town in ("large", "middle"))


def test_min_and_max_follow_the_noise(db: Connection) -> None:
    text = "SELECT MAX(x) AS m FROM table"
    far, near = (db.preview(text, epsilon=price).columns[0].predicted.words for price in (0.5, 5))
    rows = [int(words.split("about ")[1].split(" rows")[0].replace(",", "")) for words in (far, near)]
    assert 9 < rows[0] / rows[1] < 11
    [noise] = (
        quote_plan(plan_text(text, db.dataset, gaussian=True), Price(epsilon=Fraction(5), tail=Fraction("1e-8")))
        .spent[0]
        .curves
    )
    assert isinstance(noise, JointQuantiles)
    assert noise.from_end(1) == rows[1]
    release = db.sql(text, epsilon=5)
    [value] = release["m"].values
    assert f"About {rows[1]:,} rows lie above m." in release.remarks()
    assert value == pytest.approx(200 - rows[1] / 100, abs=2 * noise.rank_error(1, 0.999) / 100)


def test_a_preview_tells_the_error_in_rows_before_any_data_is_read(db: Connection) -> None:
    [one] = db.preview("SELECT MEDIAN(x) AS m FROM table", epsilon=1).columns
    assert one.predicted.error is None
    assert one.predicted.words.startswith(
        "off by at most 16.4 rows in rank where values lie densely; the interval spans"
    )
    two = db.preview("SELECT MEDIAN(x) AS m, QUANTILE_CONT(x, 0.25) AS q FROM table", epsilon=1).columns
    assert "2 levels at once" in two[0].mechanism


def test_the_preview_says_how_many_rows_an_interval_needs_and_the_release_that_they_may_not_be_there(
    db: Connection,
) -> None:
    text = "SELECT MEDIAN(x) AS m FROM table WHERE x < {limit}"
    [one] = db.preview(text.format(limit=0), epsilon=1).columns
    needed = int(one.predicted.words.split("needs about ")[1].split(" rows")[0].replace(",", ""))
    assert 100 < needed < 200
    nobody, many = (db.sql(text.format(limit=limit), epsilon=1) for limit in (0, needed / 10))
    assert nobody["m"].interval() == ([0], [200])  # with so few rows no middle is anything but chance
    assert f"m: {UNKNOWN}" in nobody.remarks()
    assert f"m: {UNKNOWN}" not in many.remarks()


def test_a_preview_of_many_quantiles_says_each_thing_once(db: Connection) -> None:
    preview = db.preview("SELECT QUANTILE_CONT(x, [0.1, 0.25, 0.75, 0.9]) AS q, COUNT(*) AS n FROM table", epsilon=1)
    exact, *_ = preview.sections()
    assert exact.table is not None
    assert [line[0] for line in exact.table.rows] == ["q_p10, q_p90", "q_p25, q_p75", "n"]
    assert len(preview.noises) == 2
    noises = next(section for section in preview.sections() if section.heading == "With which noise")
    assert noises.table is not None
    assert noises.table.header == ("noise", "q_p10, q_p90", "q_p25, q_p75", "n", "charged", "more like it")
    assert all(len(words) < 70 for row in noises.table.rows for words in row)


def test_beside_many_levels_the_preview_says_which_quantile_stands_for_the_end(db: Connection) -> None:
    levels = ", ".join(f"0.{i:02d}" for i in range(2, 62, 2))
    *_, end = db.preview(f"SELECT QUANTILE_CONT(x, [{levels}]) AS q, MAX(x) AS m FROM table", epsilon=1).columns
    assert end.predicted.words.startswith("told as the 99% quantile, off by at most")


# ---------------------------------------------------------------- what is stored


def test_pairs_are_stored_and_read_again_and_fit_the_size_that_was_told() -> None:
    quote = quoted("SELECT ward, MEDIAN(cost) AS m FROM visits GROUP BY ward")
    [plan] = quote.plans
    keys = measurement.public_keys(plan.keys)
    pairs = QuantilePairs((62_000,) * len(keys), (62_500,) * len(keys), 1)
    text = measurement.stored([NoisyResult(keys, (), (pairs,))], quote.plans)
    assert json.loads(text)["format"] == 2
    assert measurement.read(text, quote.plans) == (NoisyResult(keys, (), (pairs,)),)
    assert len(text) <= measurement.size_of(plan)


def test_the_stored_form_of_pairs_is_for_ever() -> None:
    quote = quoted("SELECT MEDIAN(cost) AS m FROM visits")
    text = (FOLDER.parent / "fixtures" / "sql" / "format-2" / "median.json").read_text()
    [result] = measurement.read(text, quote.plans)
    assert result.quantiles == (QuantilePairs((1200,), (1300,), 1),)
    assert measurement.stored([result], quote.plans) == text.strip()
