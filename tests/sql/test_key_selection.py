"""Keys that are chosen: what a price buys, what the engine adds up, and intervals of keys that were nearly left out."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow
import pyarrow.parquet
import pytest

import hubbub as hb
from hubbub.accounting import costs, epsilon
from hubbub.accounting.either_way import BasicCost, basic_cost, own_delta
from hubbub.mechanisms import DiscreteGaussian, Geometric
from hubbub.mechanisms.common import KeyWeights
from hubbub.releases import Release, formulas
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import measurement
from hubbub.sql.answer.show import release
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.pricing.error_prediction import typical_error
from hubbub.sql.pricing.key_selection_noise import allocate_with_selection, choice_share
from hubbub.sql.pricing.noise_allocation import NoiseAllocation, event_of
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import plan_text, quote_plan
from hubbub.terms import Budget, BudgetExceeded, GaussianKeys, Neighbours, Unit
from tests.sql._exact import engine_over, read_exactly

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
EPSILON, TAIL, OWN = Fraction(1), Fraction(1, 10**8), Fraction(3, 10**8)
COUNT = "SELECT city, COUNT(*) AS n FROM t GROUP BY city"
PEOPLE = "SELECT city, COUNT(DISTINCT pid) AS n FROM t GROUP BY city"
BOTH = "SELECT city, COUNT(DISTINCT pid) AS n, SUM(x) AS s FROM t GROUP BY city"
MANY = "SELECT city, {} FROM t GROUP BY city".format(
    ", ".join(f"COUNT(*) FILTER (WHERE x > {i}) AS n{i}" for i in range(14))
)
TEXTS = (COUNT, PEOPLE, BOTH, MANY)


def dataset(*, keys: int | None = 5, rows: int = 12, neighbours: Neighbours = ADD_REMOVE) -> Dataset:
    columns = (
        Column(name="pid", kind=Kind.INTEGER),
        Column(name="city", kind=Kind.TEXT, max_per_unit=keys),
        Column(name="x", kind=Kind.NUMBER, lower=Fraction(0), upper=Fraction(20), step=Fraction(1)),
    )
    table = Table(name="t", source="", columns=columns, link=PersonLink("pid"), max_rows_per_unit=rows)
    return Dataset(
        name="d", population="d", unit="t.pid", budget=Budget(9, 1e-6), tables=(table,), neighbours=neighbours
    )


def plan_of(text: str, **given: Any) -> Any:
    [plan] = plan_text(text, dataset(**given), gaussian=True).plans
    return plan


def spent_on(text: str, neighbours: Neighbours = ADD_REMOVE) -> NoiseAllocation:
    return allocated(plan_of(text, neighbours=neighbours), Price(epsilon=EPSILON, tail=TAIL, own=OWN), neighbours)


def allocated(plan: Any, price: Price, neighbours: Neighbours) -> NoiseAllocation:
    """The noise of less error, Laplace or Gaussian."""
    both = [allocate_with_selection(plan, kind, price, neighbours=neighbours, unit=Unit("t.pid")) for kind in NoiseKind]
    return min(both, key=lambda spent: typical_error((plan,), (spent,), 0.95))


# ---------------------------------------------------------------- the price


@pytest.mark.parametrize("text", TEXTS, ids=["count", "people", "both", "many"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_price_in_epsilon_is_what_all_noise_together_costs(text: str, relation: Neighbours) -> None:
    event = event_of([spent_on(text, relation)])
    assert basic_cost(event, relation, tail=TAIL, stated=EPSILON) == BasicCost(EPSILON, TAIL)
    less = basic_cost(event, relation, tail=TAIL)
    assert less is not None and less.epsilon >= 0.99
    assert own_delta(event, relation) == OWN
    assert epsilon(event, delta=TAIL + OWN, neighbours=relation) <= 1 + 1e-9


@pytest.mark.parametrize("text", TEXTS, ids=["count", "people", "both", "many"])
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE])
def test_a_price_in_rho_is_what_all_noise_together_costs(text: str, relation: Neighbours) -> None:
    plan = plan_of(text, neighbours=relation)
    rho = Fraction(1, 20)
    spent = allocated(plan, Price(rho=rho, own=OWN), relation)
    cost = costs.concentrated(event_of([spent]), relation)
    assert cost is not None
    assert 0.99 * rho <= cost[0] <= rho
    assert cost[1] == OWN


def test_few_numbers_get_laplace_noise_and_many_gaussian() -> None:
    assert {type(each) for each in spent_on(COUNT).measures} == {Geometric}
    assert {type(each) for each in spent_on(MANY).measures} == {DiscreteGaussian}


def test_the_choice_is_paid_by_all_of_the_price_where_it_is_the_answer() -> None:
    spent = spent_on(PEOPLE)
    assert spent.measures == ()
    assert [type(event) for event in spent.events()] == [GaussianKeys]
    assert choice_share(plan_of(PEOPLE)) == 1


def test_the_share_of_the_choice_grows_with_keys_and_falls_with_what_is_told() -> None:
    known = [choice_share(plan_of(COUNT, keys=keys, rows=40)) for keys in (1, 5, 20)]
    assert known == sorted(known)
    assert Fraction(33, 100) < known[-1] < Fraction(34, 100)
    assert choice_share(plan_of(MANY)) < choice_share(plan_of(COUNT)) < 1


def test_people_that_are_told_are_counted_plainly_and_else_weighed() -> None:
    assert plan_of(COUNT).selection.weighted
    assert not plan_of(BOTH).selection.weighted
    assert not plan_of(COUNT, keys=1).selection.weighted
    assert plan_of(COUNT, keys=None).selection.keys == 12  # no more than rows
    assert plan_of(PEOPLE.replace("DISTINCT pid)", "DISTINCT pid) FILTER (WHERE x > 1)")).selection.weighted


@pytest.mark.parametrize("price", [Price(epsilon=EPSILON, tail=TAIL, own=OWN), Price(rho=Fraction(1, 10), own=OWN)])
def test_parts_of_a_union_share_the_price(price: Price) -> None:
    text = f"{COUNT} UNION ALL {COUNT} UNION ALL SELECT 'all', COUNT(*) FROM t"
    quote = quote_plan(plan_text(text, dataset(), gaussian=True), price)
    own = own_delta(quote.event, ADD_REMOVE)
    assert own <= price.delta
    if price.epsilon is not None:
        assert epsilon(quote.event, delta=price.delta, neighbours=ADD_REMOVE) <= 1 + 1e-9
    else:
        rho, _ = costs.concentrated(quote.event, ADD_REMOVE)  # type: ignore[misc]
        assert rho <= Fraction(1, 10)


# ---------------------------------------------------------------- what the engine adds up


def test_the_engine_adds_up_the_weights_of_the_mechanism() -> None:
    """Nobody is over a bound here, so the sums can be worked out by hand."""
    rng = np.random.default_rng(5)
    rows = [(int(p), f"c{int(c)}", 1.0) for p, c in zip(rng.integers(0, 60, 150), rng.integers(0, 9, 150), strict=True)]
    rows += [(None, "c1", 1.0), (7, None, 1.0), (7, None, 2.0)]
    cities: dict[int, set[str | None]] = defaultdict(set)
    for person, city, _ in rows:
        if person is not None:
            cities[person].add(city)
    weights = KeyWeights(9, weighted=True)
    expected: Counter[Any] = Counter()
    for known in cities.values():
        for city in known:
            expected[repr((city,))] += weights.of(len(known))
    types = {"pid": pyarrow.int64(), "city": pyarrow.string(), "x": pyarrow.float64()}
    engine = engine_over({"t": (types, rows)})
    [read] = read_exactly(engine, plan_text(COUNT, dataset(keys=9, rows=40), gaussian=True))
    assert read.people == dict(expected)
    [told] = read_exactly(engine, plan_text(PEOPLE, dataset(keys=9, rows=40), gaussian=True))
    assert told.people == {
        repr((city,)): sum(city in known for known in cities.values())
        for city in {c for k in cities.values() for c in k}
    }
    engine.close()


@pytest.mark.parametrize("most", [3, 200])
def test_who_has_more_keys_than_count_is_held_to_them(most: int) -> None:
    types = {"pid": pyarrow.int64(), "city": pyarrow.string(), "x": pyarrow.float64()}
    rows = [(1, f"c{i}", 1.0) for i in range(450)] + [(2, "c1", 1.0)]
    engine = engine_over({"t": (types, rows)})
    [read] = read_exactly(engine, plan_text(COUNT, dataset(keys=most, rows=500), gaussian=True))
    weights = KeyWeights(most, weighted=True)
    alone = weights.of(1)
    counts = Counter(read.people.values())
    assert sum(read.people.values()) == most * weights.of(most) + alone
    assert set(counts) <= {weights.one, alone, weights.one + alone}
    [column] = read.measures  # rows have a bound of their own: of a key that is named, none is left out
    assert column == {key: 1 + (key == "('c1',)") for key in read.people}
    engine.close()


def test_what_is_no_number_is_one_key_in_both_statements() -> None:
    types = {"pid": pyarrow.int64(), "x": pyarrow.float64()}
    engine = engine_over({"t": (types, [(i, math.nan) for i in range(4)] + [(9, 1.0)])})
    columns = (Column(name="pid", kind=Kind.INTEGER), Column(name="x", kind=Kind.NUMBER))
    table = Table(name="t", source="", columns=columns, link=PersonLink("pid"), max_rows_per_unit=2)
    shop = replace(dataset(), tables=(table,))
    [read] = read_exactly(engine, plan_text("SELECT x, COUNT(*) AS n FROM t GROUP BY x", shop, gaussian=True))
    assert read.measures == ({"(nan,)": 4, "(1.0,)": 1},)
    engine.close()


# ---------------------------------------------------------------- intervals of keys that were nearly left out


class _Given:
    """An engine that gives what it was made with, statement by statement."""

    dialect = "duckdb"

    def __init__(self, *answers: list[tuple[Any, ...]]) -> None:
        self.answers = list(answers)

    def rows(self, sql: str, *, seconds: float) -> list[tuple[Any, ...]]:
        return self.answers.pop(0)


def _released(text: str, *answers: list[tuple[Any, ...]]) -> Any:
    quote = quote_plan(plan_text(text, dataset(), gaussian=True), Price(epsilon=EPSILON, tail=TAIL / 2, own=TAIL / 2))
    engine: Any = _Given(*answers)
    statements = quote.planned.statements("duckdb")
    runs = [
        measurement.run(engine, plan, spent, texts, seconds=9)
        for plan, spent, texts in zip(quote.plans, quote.spent, statements, strict=True)
    ]
    kept = measurement.read(measurement.stored(runs, quote.plans), quote.plans)
    assert kept == tuple(runs)
    return release(quote, kept, None, "", repeated=False)


@pytest.mark.parametrize("sigmas", [1, 2])
def test_people_of_keys_below_the_threshold_are_covered_given_that_they_are_named(sigmas: int, soak: int) -> None:
    chooser = (
        quote_plan(plan_text(PEOPLE, dataset(), gaussian=True), Price(epsilon=EPSILON, tail=TAIL / 2, own=TAIL / 2))
        .spent[0]
        .chooser
    )
    assert chooser is not None
    number = chooser.threshold - round(sigmas * float(chooser.scale))
    keys = [f"c{i}" for i in range((20_000 if sigmas == 1 else 60_000) * soak)]
    answer = _released(PEOPLE, [(key, number, 0) for key in keys])
    lows, highs = answer["n"].interval(0.95)
    covered = [low <= number <= high for low, high in zip(lows, highs, strict=True)]
    assert len(covered) > 1000
    assert np.mean(covered) >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / len(covered))
    measures = answer.measures[0]
    plain = measures.noise.error(0.95)  # what the interval would be if nothing had been left out
    assert np.mean([abs(value - number) <= plain for value in measures.values]) < 0.9


def test_keys_for_which_there_is_no_room_raise_the_threshold_that_intervals_know() -> None:
    """Given that a key is among the largest, what was left out is the least that it could have been told with."""
    chooser = spent_on(PEOPLE).chooser
    assert chooser is not None
    number = chooser.threshold
    keys = [f"c{i}" for i in range(60_000)]
    answer = _released(PEOPLE, [(key, number, 0) for key in keys])
    assert 5_000 < len(answer) < 10_000
    assert any(f"the {len(answer):,} with the most people" in note for note in answer.notes)
    [told] = [each.formula for each in answer.columns if isinstance(each.formula, formulas.Thresholded)]
    assert told.least > number
    lows, highs = answer["n"].interval(0.95)
    covered = np.mean([low <= number <= high for low, high in zip(lows, highs, strict=True)])
    assert covered >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / len(answer))


@pytest.mark.parametrize("sigmas", [1, 2])
def test_counts_of_keys_below_the_threshold_keep_their_plain_interval(sigmas: int, soak: int) -> None:
    """Their noise has nothing to do with the choice, so that its interval covers as it does anywhere."""
    chooser = spent_on(COUNT).chooser
    assert chooser is not None
    number = chooser.threshold - round(sigmas * float(chooser.scale))
    keys = [f"c{i}" for i in range((20_000 if sigmas == 1 else 60_000) * soak)]
    answer = _released(COUNT, [(key, number, 0) for key in keys], [(key, 77) for key in keys])
    lows, highs = answer["n"].interval(0.95)
    covered = np.mean([low <= 77 <= high for low, high in zip(lows, highs, strict=True)])
    slack = 4 * math.sqrt(0.05 * 0.95 / len(lows))
    assert 0.95 - slack <= covered <= 0.97 + slack  # whole numbers cover a little more
    assert {high - low for low, high in zip(lows, highs, strict=True)} == {2 * answer.measures[0].noise.error(0.95)}


def test_answers_that_hold_no_people_are_read_as_they_were() -> None:
    plan = plan_of(COUNT)
    part = {"keys": [["a"]], "measures": [[7]], "quantiles": [], "fine": 1}
    [kept] = measurement.read(json.dumps({"format": 1, "parts": [part]}), (plan,))
    assert (kept.keys, kept.measures, kept.people) == ((("a",),), ((7,),), ())


# ---------------------------------------------------------------- from end to end


def _written(folder: Path, *, people: int) -> Path:
    """A file of people of three cities, as many in each."""
    table = pyarrow.table(
        {"pid": range(people), "city": ["paris", "rome", "oslo"] * (people // 3), "x": [1.0] * people}
    )
    pyarrow.parquet.write_table(table, folder / "t.parquet")
    return folder / "t.parquet"


def test_three_questions_at_epsilon_1_fit_a_budget_of_3(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path / "state"))
    path = _written(tmp_path, people=3000)
    facts = {"unit": "pid", "max_rows_per_unit": 2, "bounds": {"x": (0, 2)}, "budget": hb.Budget(3, 1e-6)}
    with hb.connect(path, ledger=tmp_path / "ledger.db", **facts) as db:  # type: ignore[arg-type]
        for text in (COUNT, PEOPLE, BOTH):
            preview = db.preview(text, epsilon=1)
            assert preview.affordable
            answer = db.sql(text, epsilon=1)
            assert [row[0] for row in answer] == ["oslo", "paris", "rome"]
            lows, highs = answer["n"].interval(0.999)
            assert all(low <= 1000 <= high for low, high in zip(lows, highs, strict=True))
            again = db.sql(text, epsilon=1)
            assert again.repeated
            assert again.measures == answer.measures
            assert Release.from_json(answer.to_json())["n"].interval() == answer["n"].interval()
        with pytest.raises(BudgetExceeded):
            db.sql(COUNT, epsilon=0.5)


def test_a_price_for_an_error_of_people_is_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HUBBUB_STATE", str(tmp_path / "state"))
    path = _written(tmp_path, people=300)
    facts = {"unit": "pid", "max_rows_per_unit": 2, "bounds": {"x": (0, 2)}, "budget": hb.Budget(9, 1e-6)}
    with hb.connect(path, ledger=tmp_path / "ledger.db", **facts) as db:  # type: ignore[arg-type]
        for text in (PEOPLE, COUNT):
            error = db.preview(text, within=20).errors["n"]
            assert error is not None and 15 <= error <= 20
