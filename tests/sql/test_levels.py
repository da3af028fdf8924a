"""ROLLUP, CUBE and GROUPING SETS with noise on each level: what one person moves, what it costs, what it says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pandas
import pyarrow
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

import hubbub as hb
from hubbub.accounting import basic_cost, costs
from hubbub.releases import Release
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import Connection, connect
from hubbub.sql.compiler.query_plan import BoundingShape, NoiseKind, QuestionPlan
from hubbub.sql.pricing.level_noise import level_allocations
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import QueryPlan, QueryQuote, plan_kinds, quote_plan
from hubbub.terms import Budget, Neighbours, NotAllowed, PureDP
from tests.sql._databases import Database, Pair, dataset_of, pairs
from tests.sql._exact import engine_over, read_exactly, read_neighbours
from tests.sql._moved import distances
from tests.sql.test_coverage_of_intervals import Remembering, released, seed

KINDS = (NoiseKind.LAPLACE, NoiseKind.GAUSSIAN)
PRICES = {
    NoiseKind.LAPLACE: Price(epsilon=Fraction(1)),
    NoiseKind.GAUSSIAN: Price(epsilon=Fraction(1), tail=Fraction(1, 10**6)),
}


def leveled_plans(text: str, dataset: Dataset, kind: NoiseKind, **totals: Fraction) -> list[QueryPlan]:
    """The plans with noise on each level, reconciled or not."""
    plans = plan_kinds(text, dataset, [kind], totals=totals, clipping=False, choose_keys=True)
    return [planned for planned in plans if any(plan.measured or plan.one_level for plan in planned.plans)]


# ---------------------------------------------------------------- what one person moves

ASKED = (
    ("SELECT v.ward, COUNT(*) AS n, SUM(v.cost) AS c FROM visits v GROUP BY ROLLUP (v.ward)", {}),
    ("SELECT v.ward, COUNT(*) AS n FROM visits v GROUP BY ROLLUP (v.ward)", {"n": Fraction(5)}),
    ("SELECT v.ward, v.k, COUNT(*) AS n, AVG(v.cost) AS a FROM visits v GROUP BY CUBE (v.ward, v.k)", {}),
    ("SELECT v.k, SUM(v.cost) AS c FROM visits v GROUP BY GROUPING SETS ((v.k), ())", {"c": Fraction(7)}),
    (
        "SELECT v.ward, v.k, COUNT(*) FILTER (WHERE v.cost > 1) AS n, COUNT(*) FILTER (WHERE v.cost <= 1) AS m "
        "FROM visits v GROUP BY GROUPING SETS ((v.ward), (v.k))",
        {},
    ),
    ("SELECT v.ward, COUNT(DISTINCT v.pid) AS n, COUNT(DISTINCT v.k) AS c FROM visits v GROUP BY ROLLUP (v.ward)", {}),
    ("SELECT v.txt, v.ward, COUNT(*) AS n, MEDIAN(v.cost) AS m FROM visits v GROUP BY CUBE (v.txt, v.ward)", {}),
)


def moved_too_far(pair: Pair, text: str, totals: dict[str, Fraction], counted: list[int]) -> list[str]:
    engines = pair.one.engine(), pair.other.engine()
    found = []
    try:
        for kind in KINDS:
            for planned in leveled_plans(text, pair.one.dataset, kind, **totals):
                counted[0] += 1
                both = zip(planned.plans, read_neighbours(engines, planned), strict=True)
                found += [
                    f"{text}: {w}" for plan, reads in both for w in distances(plan, *reads, planned.dataset.neighbours)
                ]
    finally:
        for engine in engines:
            engine.close()
    return found


@pytest.mark.parametrize("by_row", [False, True])
def test_one_unit_moves_every_level_by_at_most_what_is_said(by_row: bool, soak: int) -> None:
    counted = [0]

    @settings(
        max_examples=12 * soak,
        deadline=None,
        suppress_health_check=list(HealthCheck),
        database=None,
        phases=[Phase.generate],
    )
    @given(pairs(by_row=by_row), st.sampled_from(ASKED))
    def check(pair: Pair, question: tuple[str, dict[str, Fraction]]) -> None:
        text, totals = question
        assert not (found := moved_too_far(pair, text, {} if by_row else totals, counted)), "\n".join(found)

    check()
    assert counted[0] > 0


HEAVY = {"people": [], "items": [], "wards": []}
EVERYWHERE = [(i, 1, ward, 2.0, i % 3, None, "a") for i, ward in enumerate("nnss")]


def by_ward() -> tuple[QuestionPlan, QueryPlan, Pair]:
    """Two wards of one person with two rows in each, measured in wards and in all, and the same without the person."""
    dataset = dataset_of("integer", Neighbours.ADD_REMOVE, (1, 6, 1), by_row=False, signed=False)
    one = Database(dataset, "integer", {**HEAVY, "visits": EVERYWHERE})
    text = "SELECT ward, COUNT(*) AS n FROM visits GROUP BY ROLLUP (ward)"
    [planned] = leveled_plans(text, dataset, NoiseKind.GAUSSIAN)
    return planned.plans[0], planned, Pair(one, replace(one, rows={**HEAVY, "visits": []}))


def test_a_person_in_several_groups_moves_their_total_by_all_of_them() -> None:
    """Two keys, two rows in each: sqrt(8) over the wards, and 4 in all; a total with the noise of wards would tell."""
    plan, planned, pair = by_ward()
    assert plan.bounding.shape is BoundingShape.KEYS
    assert {level.kept: level.moved[0].l2_squared for level in plan.measured} == {(0,): 8, (): 16}
    assert {level.moved[0].l1 for level in plan.measured} == {4}
    engines = pair.one.engine(), pair.other.engine()
    try:
        [before], [after] = (read_exactly(engine, planned) for engine in engines)
    finally:
        for engine in engines:
            engine.close()
    assert distances(plan, before, after, Neighbours.ADD_REMOVE) == []
    assert [sum(n * n for n in column.values()) for column in before.measures] == [8, 16]  # the bound is reached
    small = tuple(replace(level, moved=plan.moved) for level in plan.measured)
    assert distances(replace(plan, measured=small), before, after, Neighbours.ADD_REMOVE) != []


# ---------------------------------------------------------------- price and noise

ROWS = [(i, (i * 37 % 101) / 10, "ab"[i % 3 == 0], i * 7 % 20) for i in range(900)]
TABLE = Table(
    name="t",
    source="",
    columns=(
        Column(name="pid", kind=Kind.INTEGER),
        Column(name="x", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(10), step=Fraction(1, 10)),
        Column(name="w", kind=Kind.TEXT, values=("a", "b")),
        Column(name="g", kind=Kind.INTEGER, values=tuple(range(20))),
    ),
    link=PersonLink("pid"),
    max_rows_per_unit=2,
)
DATASET = Dataset(name="d", population="d", unit="t.pid", budget=Budget(1, 1e-6), tables=(TABLE,))
ROLLUP = "SELECT w, g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY ROLLUP (w, g)"
CUBE = "SELECT w, g, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY CUBE (w, g)"


def quoted(text: str, kind: NoiseKind) -> QueryQuote:
    return quote_plan(leveled_plans(text, DATASET, kind)[-1], PRICES[kind])


@pytest.mark.parametrize("text", [ROLLUP, CUBE])
def test_levels_share_just_the_price(text: str) -> None:
    for kind in KINDS:
        told = quoted(text, kind)
        assert sum(level.share for level in told.plans[0].measured) == 1
        cost = basic_cost(told.event, Neighbours.ADD_REMOVE, tail=told.price.tail, stated=Fraction(1))
        assert cost is not None and Fraction(995, 1000) < cost.epsilon <= 1
    assert costs.pure_epsilon(quoted(text, NoiseKind.LAPLACE).event, Neighbours.ADD_REMOVE) == 1


@pytest.mark.parametrize("kind", KINDS)
def test_the_noise_of_a_level_follows_from_its_share(kind: NoiseKind) -> None:
    """One measure, cap 2: Laplace 2 / (share epsilon), Gaussian with rho in proportion to the share."""
    [planned] = leveled_plans("SELECT g, COUNT(*) AS n FROM t GROUP BY ROLLUP (g)", DATASET, kind)
    [spent] = quote_plan(planned, PRICES[kind]).spent
    scales = [spent.noise(place).scale for place in range(2)]
    shares = [level.share for level in planned.plans[0].measured]
    if kind is NoiseKind.LAPLACE:
        assert scales == [2 / share for share in shares]
    else:
        assert float(scales[0] / scales[1]) ** 2 == pytest.approx(float(shares[1] / shares[0]), rel=1e-3)


# ---------------------------------------------------------------- what is told, on real data with seeded noise


@pytest.fixture(scope="module")
def engine() -> Iterator[Remembering]:
    types = {"pid": pyarrow.int64(), "x": pyarrow.float64(), "w": pyarrow.string(), "g": pyarrow.int64()}
    real = engine_over({"t": (types, ROWS)})
    yield Remembering(real)
    real.close()


def true_value(w: Any, g: Any) -> dict[str, float]:
    xs = [x for _, x, ward, group in ROWS if w in (ward, None) and g in (group, None)]
    return {"n": len(xs), "s": sum(xs), "a": sum(xs) / len(xs) if xs else float("nan")}


def level_errors(engine: Remembering, told: QueryQuote, runs: int) -> dict[tuple[str, str], tuple[float, float, float]]:
    """By column and level: how often intervals hold, the mean error, and the mean squared one."""
    seen: dict[tuple[str, str], list[tuple[bool, float]]] = {}
    for _ in range(runs):
        answer = released(engine, told)
        ends = answer.intervals(0.95)
        for row, (w, g) in enumerate(zip(answer["w"].values, answer["g"].values, strict=True)):
            level = ("w" if w is not None else "") + ("g" if g is not None else "")
            for name, true in true_value(w, g).items():
                low, high = ends[name][row]
                if name in "ns" or level in ("", "w"):  # a mean over few rows cannot be told from noise
                    held = low - 1e-9 <= true <= high + 1e-9
                    seen.setdefault((name, level), []).append((held, answer[name].values[row] - true))
    return {
        place: (*np.mean(errors, axis=0).tolist(), float(np.mean([error**2 for _, error in errors])))
        for place, errors in seen.items()
    }


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("text", [ROLLUP, CUBE])
def test_intervals_of_every_level_hold_and_errors_are_those_that_were_said(
    text: str, kind: NoiseKind, engine: Remembering, soak: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch)
    told, runs = quoted(text, kind), 80 * soak
    plan, [spent] = told.plans[0], told.spent
    place = next(output.value.param.measures[0] for output in plan.outputs if output.name == "s")
    step = float(plan.measures[place].unit)
    levels = level_allocations(plan, spent)
    spread = {"".join("wg"[i] for i in kept): step * noise.noise(place).std_dev() for kept, noise in levels}
    found = level_errors(engine, told, runs)
    assert {level for _, level in found} == set(spread)
    for (name, level), (held, bias, square) in found.items():
        assert held >= 0.95 - 4 * (0.05 * 0.95 / runs) ** 0.5, (name, level, held)  # rows share noise: runs count
        if name == "s":
            assert abs(bias) <= 4 * spread[level] / runs**0.5, (level, bias)
            draws = runs * {"": 1, "w": 2, "g": 20, "wg": 40}[level]  # a Laplace draw's square has a variance of 5
            assert square / spread[level] ** 2 == pytest.approx(1, rel=4 * (5 / draws) ** 0.5), level


@pytest.mark.parametrize("kind", KINDS)
def test_noise_that_is_half_too_wide_would_be_seen(
    kind: NoiseKind, engine: Remembering, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch, stretch=Fraction(3, 2))
    found = level_errors(engine, quoted(ROLLUP, kind), 60)
    assert found["n", "wg"][0] < 0.9
    assert min(found["n", level][0] for level in ("", "w")) < 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_totals_are_the_sums_of_their_groups(kind: NoiseKind, engine: Remembering) -> None:
    told = quoted("SELECT w, g, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY ROLLUP (w, g)", kind)
    rows = list(zip(*(released(engine, told)[name].values for name in ("w", "g", "s")), strict=True))
    [total] = [s for w, g, s in rows if w is None and g is None]
    wards = {w: s for w, g, s in rows if g is None and w is not None}
    assert total == pytest.approx(sum(wards.values()), abs=1e-6)
    for ward, whole in wards.items():
        assert whole == pytest.approx(sum(s for w, g, s in rows if w == ward and g is not None), abs=1e-6)


# ---------------------------------------------------------------- from text to release


@pytest.fixture
def db(tmp_path: Path) -> Iterator[Connection]:
    rows = np.arange(1200)
    table = pandas.DataFrame({"pid": rows // 3, "ward": rows % 3, "shop": rows % 40, "cost": rows % 100})
    keys = {"ward": [0, 1, 2], "shop": list(range(40))}
    with connect(
        table,
        unit="pid",
        max_rows_per_unit=3,
        bounds={"cost": (0, 99)},
        keys=keys,
        name="t",
        budget=hb.Budget(8, 1e-6),
        ledger=tmp_path / "ledger.db",
    ) as connection:
        yield connection


SHOPS = "SELECT shop, COUNT(*) AS n FROM t GROUP BY ROLLUP (shop)"
WARDS = "SELECT ward, COUNT(*) AS n FROM t GROUP BY ROLLUP (ward)"


def test_many_groups_share_with_their_total_and_few_are_added_up(db: Connection) -> None:
    """Cap 3 at epsilon 1: a separate question for half of the price would have 18 each, sums alone 9 and 57."""
    many, few = db.preview(SHOPS, epsilon=1), db.preview(WARDS, epsilon=1)
    assert many.errors["n"] is not None and many.errors["n"] <= 19
    assert any("share the price" in note for note in many.notes)
    assert any("sums of these noisy numbers" in note for note in few.notes)
    assert few.columns[0].predicted.words == "±9 by ward; ±15 in all"
    assert many.rows == (41,)


def test_a_rollup_is_charged_what_was_stated_and_is_free_again(db: Connection) -> None:
    first = db.sql(SHOPS, epsilon=1)
    assert first.receipt is not None and first.receipt.charged == PureDP(Fraction(1))
    again = db.sql(SHOPS, epsilon=1)
    assert again.repeated and again["n"].values == first["n"].values
    assert first["n"].values[-1] == sum(first["n"].values[:-1])
    assert db.ledger.verify()


def test_totals_of_what_was_told_already_are_free(db: Connection) -> None:
    """A plain GROUP BY at that price was answered: its sums are the totals, although a new answer would be better."""
    plain = db.sql("SELECT shop, COUNT(*) AS n FROM t GROUP BY shop", epsilon=1)
    totals = db.sql(SHOPS, epsilon=1)
    assert totals.repeated
    assert totals["n"].values == [*plain["n"].values, sum(plain["n"].values)]


def test_a_release_with_levels_reads_back_as_it_was(db: Connection) -> None:
    release = db.sql(SHOPS, epsilon=1)
    back = Release.from_json(json.loads(json.dumps(release.to_json())))
    assert back["n"].values == release["n"].values
    assert back.intervals(0.95) == release.intervals(0.95)


def test_more_accuracy_for_the_difference_measures_every_level_again(db: Connection) -> None:
    coarse = db.sql(SHOPS, rho=0.01, noise="gaussian")
    fine = db.remeasure(coarse, rho=0.04)
    assert fine["n"].values[-1] == sum(fine["n"].values[:-1])
    (low, high), (below, above) = coarse.intervals(0.95)["n"][-1], fine.intervals(0.95)["n"][-1]
    assert (above - below) < 0.7 * (high - low)


ENDS = [" by ward", " in all"]


@pytest.mark.parametrize("what", ["COUNT(DISTINCT pid)", "MEDIAN(cost)", "COUNT(DISTINCT cost)"])
def test_what_does_not_add_up_is_asked_level_by_level(what: str, db: Connection) -> None:
    """400 people, each in three shops or wards; every ward has all of them, and so has the total."""
    text = f"SELECT ward, {what} AS n FROM t GROUP BY ROLLUP (ward) ORDER BY n"
    preview = db.preview(text, epsilon=2)
    assert preview.rows == (3, 1)
    assert [
        column.predicted.words.rpartition(end)[1] for column, end in zip(preview.columns, ENDS, strict=True)
    ] == ENDS
    release = db.sql(text, epsilon=2)
    assert release.receipt is not None and release.receipt.charged == PureDP(Fraction(2))
    assert sorted(release["ward"].values, key=str) == [0, 1, 2, None]
    exact = {"COUNT(DISTINCT pid)": 400, "MEDIAN(cost)": 49.5, "COUNT(DISTINCT cost)": 100}[what]
    within = {"COUNT(DISTINCT pid)": 60, "MEDIAN(cost)": 20, "COUNT(DISTINCT cost)": 60}[what]
    assert all(abs(n - exact) < within for n in release["n"].values)
    assert any("each by itself" in note for note in release.notes)


def test_people_in_all_move_the_total_by_one(db: Connection) -> None:
    """Three wards are moved by a person of three rows, the total by one: 95% of Laplace noise at epsilon 1 each."""
    preview = db.preview("SELECT ward, COUNT(DISTINCT pid) AS n FROM t GROUP BY ROLLUP (ward)", epsilon=2)
    assert [column.predicted.error for column in preview.columns] == [9, 3]


def test_keys_that_are_not_public_are_chosen_at_each_level(tmp_path: Path) -> None:
    rows = np.arange(6000)
    table = pandas.DataFrame({"pid": rows, "name": np.char.add("x", (rows % 4).astype(str)), "ok": rows % 2 == 0})
    with connect(table, unit="pid", max_rows_per_unit=1, budget=hb.Budget(8, 1e-6), ledger=tmp_path / "l.db") as db:
        name = db.dataset.tables[0].name
        text = f"SELECT name, ok, COUNT(*) AS n FROM {name} GROUP BY ROLLUP (name, ok) HAVING COUNT(*) > 100"
        release = db.sql(text, epsilon=2)
        levels = [
            (n is not None) + (ok is not None)
            for n, ok in zip(*(release[c].values for c in ("name", "ok")), strict=True)
        ]
        assert {size: levels.count(size) for size in range(3)} == {0: 1, 1: 4, 2: 4}
        assert abs(release["n"].values[levels.index(0)] - 6000) < 60


def test_keys_inside_arithmetic_are_worked_on_after_the_noise_where_levels_are_apart(db: Connection) -> None:
    worked_on = db.sql("SELECT ward + 1 AS w, COUNT(DISTINCT pid) AS n FROM t GROUP BY ROLLUP (ward)", epsilon=1)
    plain = db.sql("SELECT ward, COUNT(DISTINCT pid) AS n FROM t GROUP BY ROLLUP (ward)", epsilon=1)
    assert plain.repeated
    assert [(None if ward is None else ward + 1, n) for ward, n in plain] == list(worked_on)


GROUPED = [  # the aggregate, and how its levels are measured
    "COUNT(*)",  # the finest are added up
    "COUNT(DISTINCT pid)",  # each level by itself
]


@pytest.mark.parametrize("counted", GROUPED)
def test_grouping_tells_the_levels_apart_and_is_public(counted: str, db: Connection) -> None:
    text = f"""SELECT FLOOR(cost / 50) AS half, ward, {counted} AS n, GROUPING(FLOOR(cost / 50)) AS g,
            GROUPING(half, ward) AS both
        FROM t GROUP BY CUBE (FLOOR(cost / 50), ward)"""
    answer = db.sql(text, epsilon=1)
    names = zip(*(answer[name].values for name in ("half", "ward", "g", "both")), strict=True)
    rows = [(half is None, ward is None, g, both) for half, ward, g, both in names]
    assert {size: rows.count(size) for size in rows} == {
        (False, False, 0, 0): 6,
        (False, True, 0, 1): 2,
        (True, False, 1, 2): 3,
        (True, True, 1, 3): 1,
    }
    assert answer.intervals()["both"] == [(both, both) for *_, both in rows]
    assert not answer.is_noisy(3) and not answer.is_noisy(4)
    kept = db.sql(f"{text} HAVING GROUPING(ward) = 0 AND g = 1", epsilon=1)
    assert kept.repeated and len(kept) == 3 and set(kept["both"].values) == {2}


def test_grouping_of_measured_levels_and_of_no_levels(db: Connection) -> None:
    levels = db.sql("SELECT shop, COUNT(*) AS n, GROUPING(shop) AS g FROM t GROUP BY ROLLUP (shop)", epsilon=1)
    assert levels["g"].values == [0] * 40 + [1]
    plain = db.sql("SELECT ward, COUNT(*) AS n, GROUPING(ward) AS g FROM t GROUP BY ward HAVING g = 0", epsilon=1)
    assert plain["g"].values == [0, 0, 0]
    with pytest.raises(NotAllowed, match="GROUPING takes keys"):
        db.preview("SELECT ward, COUNT(*) AS n, GROUPING(shop) AS g FROM t GROUP BY ward", epsilon=1)


@pytest.mark.parametrize("key", ["FLOOR(cost / 50) * 50", "WIDTH_BUCKET(cost, 0, 99, 2)", "ward % 2"])
def test_totals_of_keys_that_are_worked_on(key: str, db: Connection) -> None:
    plain = db.sql(f"SELECT {key} AS k, COUNT(*) AS n FROM t GROUP BY {key}", epsilon=1)
    totals = db.sql(f"SELECT {key} AS k, COUNT(*) AS n, GROUPING({key}) AS g FROM t GROUP BY ROLLUP ({key})", epsilon=1)
    assert totals.repeated and totals["k"].values == [*plain["k"].values, None]
    assert totals["g"].values == [0] * len(plain) + [1]


def test_within_holds_for_every_level(db: Connection) -> None:
    preview = db.preview(SHOPS, within=30)
    assert preview.errors["n"] is not None and 25 <= preview.errors["n"] <= 30
