"""Tables of counts: they add up, they are within their margins, and they are paid for first."""

from __future__ import annotations

import copy
import datetime
import importlib
import json
import math
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.compute
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import csv, parquet

from hubbub.accounting import epsilon as epsilon_of
from hubbub.audit import lower_bound
from hubbub.ledger import Account, Ledger
from hubbub.publish import Categorical, DailySeries, Numeric, SurrogateKey, marginals, top_down
from hubbub.publish.tables.consistency import combine_levels, round_downwards, to_totals
from hubbub.publish.tables.visits import Visits
from hubbub.terms import Budget, EmptyInput, MissingParameter, OutOfRange, Repeat, TooLarge, WrongShape

SEX, SMOKES = Categorical(["f", "m"], other="f"), Categorical(["no", "yes"], other="no")
AGE = Numeric(lower=0, upper=89, bins=9)
DOMAIN = {"sex": SEX, "smokes": SMOKES, "age": AGE}
TREE = [("north", "a"), ("north", "b"), ("south", "c"), ("south", "d")]


def people(count: int = 4000) -> pyarrow.Table:
    random = np.random.default_rng(3)
    sex = random.choice(["f", "m"], count)
    return pyarrow.table(
        {
            "sex": sex,
            "smokes": np.where(random.random(count) < np.where(sex == "f", 0.2, 0.5), "yes", "no"),
            "age": random.integers(0, 90, count),
            "town": random.choice(["a", "b", "c", "d", "zzz"], count, p=[0.5, 0.2, 0.2, 0.05, 0.05]),
            "person": np.arange(count) // 2,
        }
    )


# ---------------------------------------------------------------- whole numbers that add up


@given(
    st.integers(1, 6).flatmap(
        lambda rows: st.lists(st.lists(st.floats(-50, 50), min_size=rows, max_size=rows), min_size=1, max_size=4)
    ),
    st.data(),
)
def test_totals_are_met_by_whole_numbers_that_are_not_negative(columns: list[list[float]], data: st.DataObject) -> None:
    totals = np.array([data.draw(st.integers(0, 60)) for _ in columns])
    found = to_totals(np.array(columns).T, totals)
    assert (found >= 0).all()
    assert (found.sum(axis=0) == totals).all()


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.lists(st.floats(-3, 12), min_size=4, max_size=4))
def test_the_simplex_point_is_the_nearest(other: list[int], values: list[float]) -> None:
    padded = np.array((other + [0] * 4)[:4], dtype=float)
    total = int(padded.sum())
    from hubbub.publish.tables.consistency import _on_simplex

    near = _on_simplex(np.array(values)[:, None], np.array([total]))[:, 0]
    assert math.isclose(near.sum(), total, abs_tol=1e-9)
    assert np.linalg.norm(near - values) <= np.linalg.norm(padded - values) + 1e-9


def test_levels_help_each_other_as_least_squares_would() -> None:
    noisy = [np.array([[10.0]]), np.array([[2.0], [3.0], [1.0]])]
    best = combine_levels(noisy, [1.0, 2.0], [np.array([0, 0, 0])])
    matrix = np.array([[1, 1, 1], [1, 0, 0], [0, 1, 0], [0, 0, 1]]) / np.array([[1.0], [2.0], [2.0], [2.0]])
    leaves = np.linalg.lstsq(matrix, np.array([10, 2, 3, 1]) / np.array([1, 2, 2, 2]), rcond=None)[0]
    assert math.isclose(best[0][0, 0], leaves.sum())


def test_from_the_top_down_everything_adds_up() -> None:
    random = np.random.default_rng(1)
    parents = [np.array([0, 0, 1, 1, 1]), np.array([0, 1, 1, 2, 3, 4, 4])]
    estimates = [random.normal(5, 20, (size, 3)) for size in (2, 5, 7)]
    found = round_downwards(estimates, parents)
    for level, up in enumerate(parents):
        sums = np.zeros_like(found[level])
        np.add.at(sums, up, found[level + 1])
        assert (sums == found[level]).all()
        assert (found[level + 1] >= 0).all()


# ---------------------------------------------------------------- marginals


def test_marginals_agree_wherever_they_meet() -> None:
    made = marginals(people(), of=[["sex", "smokes"], ["smokes", "age"], ["sex"]], domain=DOMAIN, epsilon=1, delta=1e-6)
    smokes = [_sums(made.tables[name], "smokes") for name in ("sex-smokes", "smokes-age")]
    assert smokes[0] == pytest.approx(smokes[1], abs=0.5)
    assert _sums(made.tables["sex-smokes"], "sex") == pytest.approx(_sums(made.tables["sex"], "sex"), abs=0.5)
    assert all(min(table["count"].to_pylist()) >= 0 for table in made.tables.values())


def _sums(table: pyarrow.Table, column: str) -> dict[str, float]:
    found = table.group_by(column).aggregate([("count", "sum")])
    return dict(zip(found[column].to_pylist(), found["count_sum"].to_pylist(), strict=True))


def test_the_margin_holds_as_often_as_it_says() -> None:
    table = people(1000)
    truth = np.bincount(np.asarray(table["age"]) // 10, minlength=9)
    inside = []
    for _ in range(60):
        made = marginals(table, of=[["age"]], domain=DOMAIN, epsilon=1, delta=1e-6).tables["age"]
        inside += (np.abs(np.asarray(made["noisy"]) - truth) <= np.asarray(made["margin"])).tolist()
    assert 0.91 < np.mean(inside) <= 1  # of 540; 95% and a little more, since counts are whole


def test_all_tables_together_cost_what_was_asked() -> None:
    asked = [["sex"], ["sex", "age"], ["smokes", "age"]]
    made = marginals(people(), of=asked, domain=DOMAIN, epsilon=1, delta=1e-6, neighbours="replace")
    assert 0.97 < float(epsilon_of(made.event, delta=1e-6, neighbours="replace")) <= 1


def test_tables_of_neighbours_cannot_be_told_apart(soak: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Twenty rows more, with a budget for one: it shows. One row more with its own budget: it does not."""
    module = importlib.import_module("hubbub.publish.tables.marginals")
    quick = partial(module.fit_model, iterations=1)  # fitting is post-processing, and slow
    monkeypatch.setattr(module, "fit_model", quick)

    def noisy(count: int) -> int:
        made = marginals(pyarrow.table({"sex": ["m"] * count}), of=[["sex"]], domain=DOMAIN, epsilon=1, delta=1e-3)
        return int(made.tables["sex"]["noisy"][1].as_py())

    assert float(lower_bound(noisy, 20, 21, trials=200 * soak, delta=1e-3)) <= 1
    assert float(lower_bound(noisy, 20, 40, trials=200, delta=1e-3)) > 1


def test_columns_may_be_stored_in_any_way() -> None:
    """Views of strings, and dictionaries that differ from chunk to chunk: no kernel may fail on them."""
    sex = pyarrow.array(["m", "f"] * 200, pyarrow.string_view())
    towns = pyarrow.chunked_array([pyarrow.array([town] * 200).dictionary_encode() for town in ("a", "b")])
    table = pyarrow.table({"sex": sex, "town": towns, "person": sex})
    told = {"epsilon": 1, "delta": 1e-6, "domain": DOMAIN, "unit": "person", "max_rows_per_unit": 1}
    assert max(marginals(table, of=[["sex"]], **told).tables["sex"]["noisy"].to_pylist()) < 60
    tree = top_down(table, levels=["region", "town"], places=TREE, by=["sex"], **told).tables["town"]
    assert max(tree["noisy"].to_pylist()) < 60


def test_a_person_counts_no_more_often_than_said() -> None:
    crowd = pyarrow.table({"sex": ["m"] * 5000, "person": [1] * 5000})
    made = marginals(
        crowd, of=[["sex"]], domain=DOMAIN, epsilon=5, delta=1e-6, unit="person", max_rows_per_unit=3
    ).tables["sex"]
    assert max(made["noisy"].to_pylist()) < 100


def test_what_cannot_be_published_is_refused_before_a_charge(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(3, 1e-5), by="owner", why="a start")
        account = Account(ledger=ledger, population="people")
        asked = {"epsilon": 1, "delta": 1e-6, "account": account}
        opened = len(list(ledger.log()))
        with pytest.raises(MissingParameter, match=r"'age'.*has no domain"):
            marginals(people(), of=[["age"]], domain={}, **asked)
        with pytest.raises(OutOfRange, match="not public"):
            marginals(people(), of=[["age"]], domain={"age": Numeric(bounds="private")}, **asked)
        with pytest.raises(OutOfRange, match="not public"):
            marginals(people(), of=[["person"]], domain={"person": SurrogateKey()}, **asked)
        with pytest.raises(OutOfRange, match="no column 'shoe'"):
            marginals(people(), of=[["shoe"]], domain=DOMAIN, **asked)
        with pytest.raises(OutOfRange, match="twice"):
            marginals(people(), of=[["sex", "age"], ["age", "sex"]], domain=DOMAIN, **asked)
        with pytest.raises(EmptyInput):
            marginals(people(), of=[], domain=DOMAIN, **asked)
        with pytest.raises(MissingParameter, match="max_rows_per_unit"):
            marginals(people(), of=[["sex"]], domain=DOMAIN, unit="person", **asked)
        wide = {name: Numeric(lower=0, upper=1999, bins=2000) for name in ("age", "person")}
        with pytest.raises(TooLarge, match="cells"):
            marginals(people(), of=[["age", "person"]], domain=wide, **asked)
        assert len(list(ledger.log())) == opened
        made = marginals(people(), of=[["sex"]], domain=DOMAIN, dataset="2026", **asked)
        again = marginals(people(), of=[["sex"]], domain=DOMAIN, dataset="2026", **asked)
        assert made.tables["sex"].equals(again.tables["sex"])
        assert made.receipt is not None


def test_tables_are_written_with_their_methods_sheet(tmp_path) -> None:  # type: ignore[no-untyped-def]
    made = marginals(people(), of=[["sex"]], domain=DOMAIN, epsilon=1, delta=1e-6)
    made.write(tmp_path / "csv")
    made.write(tmp_path / "parquet", format="parquet")
    assert csv.read_csv(tmp_path / "csv" / "sex.csv")["noisy"].equals(made.tables["sex"]["noisy"])
    assert parquet.read_table(tmp_path / "parquet" / "sex.parquet").equals(made.tables["sex"])
    assert "discrete Gaussian" in (tmp_path / "csv" / "methods.html").read_text()
    assert json.loads((tmp_path / "csv" / "methods.json").read_text())["tables"]["sex"]["margin"] == made.margins["sex"]
    with pytest.raises(OutOfRange, match="no format"):
        made.write(tmp_path, format="xls")


# ---------------------------------------------------------------- top down


def test_every_place_adds_up_to_the_one_above() -> None:
    made = top_down(
        people(), levels=["region", "town"], places=TREE, by=["sex"], domain=DOMAIN, epsilon=1, delta=1e-6
    )  # fmt: skip
    above, below = made.tables["region"], made.tables["town"]
    assert below.column_names == ["region", "town", "sex", "count", "noisy", "margin"]
    parts = below.group_by(["region", "sex"]).aggregate([("count", "sum")])
    told = {(r, s): c for r, s, c in zip(*(parts[n].to_pylist() for n in ("region", "sex", "count_sum")), strict=True)}
    for region, sex, count in zip(*(above[n].to_pylist() for n in ("region", "sex", "count")), strict=True):
        assert told[region, sex] == count


def test_places_that_nobody_listed_are_counted_elsewhere() -> None:
    made = top_down(people(), levels=["region", "town"], places=TREE, epsilon=1, delta=1e-6)
    region = dict(zip(*(made.tables["region"][n].to_pylist() for n in ("region", "count")), strict=True))
    assert abs(region["(elsewhere)"] - 200) < 60
    assert set(region) == {"north", "south", "(elsewhere)"}


def test_a_larger_share_means_less_noise() -> None:
    made = top_down(people(), levels=["region", "town"], places=TREE, epsilon=1, delta=1e-6, shares=[1, 9])
    assert made.margins["region"] > 2.5 * made.margins["town"]
    assert 0.97 < float(epsilon_of(made.event, delta=1e-6)) <= 1


def test_a_tree_that_is_none_is_refused() -> None:
    for levels, places, error in (
        (["region", "town"], [("north",)], WrongShape),
        (["region", "town"], [("north", "a"), ("south", "a")], WrongShape),
        ([], [], EmptyInput),
    ):
        with pytest.raises(error):
            top_down(people(), levels=levels, places=places, epsilon=1, delta=1e-6)
    for shares, error in (([1], MissingParameter), ([1, 0], OutOfRange)):
        with pytest.raises(error):
            top_down(people(), levels=["region", "town"], places=TREE, epsilon=1, delta=1e-6, shares=shares)


# ---------------------------------------------------------------- days


def visits(day: datetime.date, *, park: int, shop: int) -> pyarrow.Table:
    places = ["park"] * park + ["shop"] * shop
    return pyarrow.table({"person": range(len(places)), "place": places, "day": [day] * len(places)})


def series(**more: object) -> DailySeries:
    told = {"places": ["park", "shop"], "first": "2026-01-05", "days": 14, "epsilon": 4, "delta": 1e-6}
    return DailySeries(**{**told, **more})


def test_a_series_tells_by_how_much_a_day_differs_from_the_usual() -> None:
    made = series()
    first = datetime.date(2026, 1, 5)
    for i in range(7):
        made.publish(visits(first + datetime.timedelta(i), park=5000, shop=10), first + datetime.timedelta(i))
    later = first + datetime.timedelta(7)
    made.publish(visits(later, park=2500, shop=10), later)
    told = made.changes(later, baseline=[first + datetime.timedelta(i) for i in range(7)])
    assert abs(told["change"][0].as_py() + 50) < told["margin"][0].as_py() < 10
    assert told["change"][1].as_py() is None  # lost in noise


def test_a_day_is_measured_once() -> None:
    made = series()
    day = datetime.date(2026, 1, 6)
    first = made.publish(visits(day, park=500, shop=500), day)
    assert made.publish(visits(day, park=1, shop=1), "2026-01-06").equals(first)


def test_however_often_all_days_are_asked_for_each_is_measured_once(tmp_path: Path) -> None:
    """Ten answers under one promise would average the noise away."""
    day = datetime.date(2026, 1, 6)
    table = visits(day, park=500, shop=500)
    made = series()
    alone = made.publish(table, day)
    first = made.publish_all(table)
    assert all(
        made.publish_all(visits(day, park=1, shop=1)).tables["daily"].equals(first.tables["daily"]) for _ in "ab"
    )
    assert first.tables["daily"].filter(pyarrow.compute.equal(first.tables["daily"]["day"], day)).equals(alone)
    with pytest.raises(TypeError):
        copy.deepcopy(made)
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(9, 1e-5), by="owner", why="a start")
        paying = series(account=Account(ledger=ledger, population="people"))
        paying.publish(table, day)
        receipts = [paying.publish_all(table).receipt for _ in range(3)]
        events = [entry.fields()["event"] for entry in ledger.log() if entry.fields()["kind"] == "charge"]
        assert len(events) == 2 and len(set(map(repr, receipts))) == 1
        assert receipts[0] is not None and receipts[0].event == Repeat(paying.mechanism.event, 13)
        assert paying.receipt(day) != receipts[0]


def test_threads_that_ask_for_a_day_together_get_one_measurement() -> None:
    day = datetime.date(2026, 1, 6)
    table, made = visits(day, park=500, shop=500), series()
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda _: made.publish_all(table).tables["daily"], range(8)))
    assert all(each.equals(found[0]) for each in found)


def test_a_person_is_at_so_many_places_a_day() -> None:
    day = datetime.date(2026, 1, 6)
    runner = pyarrow.table({"person": [7] * 4000, "place": ["park", "shop"] * 2000, "day": [day] * 4000})
    seen = Visits.of(runner, ("person", "place", "day"), ["park", "shop"])
    assert seen.counts(day, most=1).sum() == 1  # one place, once
    assert seen.counts(day, most=2).tolist() == [1, 1]


def test_a_person_is_one_person_however_the_names_are_stored() -> None:
    """The same name twice in a dictionary, and dictionaries that differ from chunk to chunk."""
    day = datetime.date(2026, 1, 6)
    twice = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0, 1, 2]), pyarrow.array(["ann", "ann", "bob"]))
    other = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0]), pyarrow.array(["ann"]))
    visits = pyarrow.table(
        {
            "person": pyarrow.chunked_array([twice, other]),
            "place": pyarrow.array(["park"] * 4, pyarrow.string_view()),
            "day": [day] * 4,
        }
    )
    seen = Visits.of(visits, ("person", "place", "day"), ["park", "shop"])
    assert seen.counts(day, most=2).tolist() == [2, 0]


def test_the_whole_series_costs_what_was_asked() -> None:
    made = series(max_places=2, epsilon=1)
    assert 0.97 < float(epsilon_of(made.event, delta=1e-6)) <= 1


def test_a_series_is_charged_day_by_day_and_not_beyond_its_end(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with Ledger(tmp_path / "book.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(4, 1e-5), by="owner", why="a start")
        made = series(account=Account(ledger=ledger, population="people"), dataset="visits")
        for i in range(14):
            day = datetime.date(2026, 1, 5) + datetime.timedelta(i)
            made.publish(visits(day, park=50, shop=50), day)
            assert made.receipt(day) is not None
        with pytest.raises(OutOfRange, match="outside the series"):
            made.publish(visits(day, park=1, shop=1), "2026-01-19")


def test_changes_need_published_days_of_the_same_weekday() -> None:
    made = series()
    day = datetime.date(2026, 1, 6)
    made.publish(visits(day, park=500, shop=500), day)
    with pytest.raises(OutOfRange, match="has not been published"):
        made.changes("2026-01-07", baseline=[day])
    made.publish(visits(day, park=500, shop=500), "2026-01-07")
    with pytest.raises(OutOfRange, match="same day of the week"):
        made.changes("2026-01-07", baseline=[day])


def test_all_days_at_once_cost_what_the_series_costs_and_are_compared_like_single_ones(tmp_path: Path) -> None:
    """One charge of the whole price; day by day each would be charged, and in a pool for plans they would add up."""
    days = [datetime.date(2026, 1, 5) + datetime.timedelta(days=i) for i in range(8)]
    count = 400
    visits = pyarrow.table(
        {
            "person": np.tile(np.arange(count), 8),
            "place": np.tile(np.where(np.arange(count) < 300, "park", "shop"), 8),
            "day": np.repeat(np.array(days, dtype="datetime64[D]"), count),
        }
    )
    with Ledger(tmp_path / "ledger.db", state=tmp_path / "state") as ledger:
        ledger.open_population("people", Budget(9, 1e-4), by="board", why="a test")
        series = DailySeries(places=["park", "shop"], first=days[0], days=8, epsilon=4, delta=1e-6, account=ledger)
        made = series.publish_all(visits)
        assert sum(entry.fields()["kind"] == "charge" for entry in ledger.log()) == 1
    assert made.receipt is not None and made.receipt.event == series.event == made.event
    assert epsilon_of([made.event], delta=1e-6) <= 4
    told = made.tables["daily"]
    assert told["day"].to_pylist() == [day for day in days for _ in range(2)]
    truth = np.tile([300, 100], 8)
    assert (np.abs(np.array(told["noisy"]) - truth) <= 3 * series.margin).all()
    assert series.publish(visits, days[3]).equals(told.slice(6, 2))  # measured already
    assert series.receipt(days[3]) == made.receipt
    assert series.changes(days[7], baseline=days[:7]).num_rows == 2
