"""COUNT, SUM and AVG of one value from parts that share a price: the same numbers, less error, one price."""

from __future__ import annotations

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy
import pandas
import pytest

import hubbub as hb
from hubbub.mechanisms import DiscreteGaussian, Geometric
from hubbub.schema.tables import Column, Dataset, Kind, PersonLink, Table
from hubbub.sql import answer, connect
from hubbub.sql.compiler.query_plan import How, NoiseKind, readings_in
from hubbub.sql.measurement import NoisyResult
from hubbub.sql.pricing.noise_allocation import joint_event
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import QueryPlan, plan_kinds, quote_plan
from hubbub.terms import Budget, Neighbours, PureStep
from tests.sql._exact import engine_over, read_exactly
from tests.sql._moved import jointly_moved

ROWS = [  # person, value, ward, flag
    (1, 3.0, "n", True),
    (1, 99.0, "n", False),
    (2, None, "s", True),
    (3, math.nan, "s", True),
    (4, -5.0, "n", False),
    (5, 10.0, "s", None),
]


def dataset(neighbours: Neighbours = Neighbours.ADD_REMOVE, *, lower: int = 2) -> Dataset:
    number = {"lower": Fraction(lower), "upper": Fraction(50), "step": Fraction(1)}
    columns = (
        Column(name="pid", kind=Kind.INTEGER),
        Column(name="x", kind=Kind.NUMBER, **number),  # type: ignore[arg-type]
        Column(name="w", kind=Kind.TEXT, values=("n", "s")),
        Column(name="b", kind=Kind.BOOLEAN),
    )
    table = Table(name="t", source="", columns=columns, link=PersonLink("pid"), max_rows_per_unit=2)
    return Dataset(
        name="d", population="d", unit="t.pid", budget=Budget(9, 1e-2), tables=(table,), neighbours=neighbours
    )


def engine(rows: list[tuple[Any, ...]]) -> Any:
    import pyarrow

    types = {"pid": pyarrow.int64(), "x": pyarrow.float64(), "w": pyarrow.string(), "b": pyarrow.bool_()}
    return engine_over({"t": (types, rows)})


def split_plan(text: str, declared: Dataset) -> QueryPlan:
    """The plan that reads parts; the one before it does not."""
    [_, split] = plan_kinds(text, declared, [NoiseKind.LAPLACE], totals={}, clipping=False)
    return split


def readings(text: str, rows: list[tuple[Any, ...]], declared: Dataset) -> list[list[Fraction]]:
    """Every column of the answer without noise, worked out from the parts by hand: key by key."""
    planned = split_plan(text, declared)
    [plan], [read] = planned.plans, read_exactly(engine(rows), planned)
    columns = []
    for output in plan.outputs:
        if not readings_in(output.value):
            continue
        [reading] = readings_in(output.value)
        measured = [[value * plan.measures[i].unit for value in read.measures[i].values()] for i in reading.measures]
        weights = reading.lines[-1] if reading.lines else reading.weights or (Fraction(1),)
        line = [sum(w * v for w, v in zip(weights, values, strict=True)) for values in zip(*measured, strict=True)]
        if reading.how is How.MEAN:
            line = [reading.centre + total / count for total, count in zip(measured[0], line, strict=True)]
        columns.append(line)
    return columns


def test_the_parts_give_the_same_numbers_whatever_is_missing() -> None:
    text = "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t"
    [count, total, mean] = readings(text, ROWS, dataset())
    assert (count, total, mean) == ([6], [3 + 50 + 2 + 10], [Fraction(65, 4)])  # 99 and -5 are clamped


def test_the_parts_of_a_filter_are_those_of_its_rows() -> None:
    text = "SELECT COUNT(*) FILTER (WHERE b) AS n, SUM(x) FILTER (WHERE b) AS s, AVG(x) FILTER (WHERE b) AS a FROM t"
    [count, total, mean] = readings(text, ROWS, dataset())
    assert (count, total, mean) == ([3], [3], [3])


def test_groups_have_parts_of_their_own() -> None:
    [count, mean] = readings("SELECT w, COUNT(*) AS n, AVG(x) AS a FROM t GROUP BY w", ROWS, dataset())
    assert (count, mean) == ([3, 3], [Fraction(55, 3), 10])


@pytest.mark.parametrize(
    ("text", "splits"),
    [
        ("SELECT SUM(x) AS s FROM t", False),
        ("SELECT COUNT(*) AS n FROM t", False),
        ("SELECT COUNT(*) AS n, COUNT(DISTINCT pid) AS p FROM t", False),
        ("SELECT AVG(x) AS a, VAR_POP(x) AS v FROM t", True),
        ("SELECT STDDEV(x) AS s FROM t", True),
        ("SELECT SUM(x) AS s, COUNT(*) FILTER (WHERE b) AS n FROM t", False),
        ("SELECT AVG(x) AS a FROM t", True),
        ("SELECT SUM(x) AS s, COUNT(*) AS n FROM t", True),
        ("SELECT SUM(x) / COUNT(*) AS a FROM t", True),
        ("SELECT w, COUNT(*) AS n FROM t GROUP BY w HAVING AVG(x) > 3", True),
    ],
)
def test_parts_are_read_where_several_numbers_come_of_one_value(text: str, splits: bool) -> None:
    plans = plan_kinds(text, dataset(), [NoiseKind.LAPLACE], totals={}, clipping=False)
    assert [bool(plan.plans[0].joint) for plan in plans] == ([False, True] if splits else [False])


TWO = "SELECT w, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY w"
CURVED = "SELECT w, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a, VAR_POP(x) AS v FROM t GROUP BY w"


@pytest.mark.parametrize("lower", [0, 2, -50])
def test_three_parts_give_the_same_numbers_and_a_variance(lower: int) -> None:
    declared = dataset(lower=lower)
    planned = split_plan(CURVED, declared)
    assert [len(plan.joint) for plan in planned.plans] == [1] and len(planned.plans[0].measures) == 4
    [exact] = read_exactly(engine([*ROWS, (6, 30.0, "s", True)]), planned)
    quote = quote_plan(planned, Price(epsilon=Fraction(100)))
    noisy = tuple(tuple(column.values()) for column in exact.measures)
    told = answer.release(quote, [NoisyResult((("n",), ("s",)), noisy, ())], None, "", repeated=False)
    held = {"n": [3.0, 50.0, max(-5.0, lower)], "s": [10.0, 30.0]}
    assert told["n"].values == [3, 4] and told["s"].values == [sum(held[w]) for w in "ns"]
    assert told["a"].values == pytest.approx([numpy.mean(held[w]) for w in "ns"])
    assert told["v"].values == pytest.approx([numpy.var(held[w]) for w in "ns"], abs=1e-9)


@pytest.mark.parametrize("neighbours", list(Neighbours))
@pytest.mark.parametrize("lower", [0, 2, -50])
@pytest.mark.parametrize("text", [TWO, CURVED])
def test_one_person_moves_all_parts_together_by_no_more_than_one(neighbours: Neighbours, lower: int, text: str) -> None:
    """Also where rows lie at the ends, or have no value; a joint bound of half as much would be passed."""
    declared = dataset(neighbours, lower=lower)
    planned = split_plan(text, declared)
    [plan] = planned.plans
    values = (float(lower), 50.0, 7.0, None, math.nan) if text == TWO else (float(lower), 50.0, 26.0)
    persons = [[(9, one, "n", True), (9, other, "s", True)] for one in values for other in values]
    largest = Fraction(0)
    [without, *with_one] = [read_exactly(engine(ROWS + rows), planned)[0] for rows in ([], *persons)]
    for person in with_one:
        for instead in [without] if neighbours is Neighbours.ADD_REMOVE else with_one:
            reads = [person, instead]
            assert jointly_moved(plan, *reads) == []
            [group] = plan.joint
            moved = sum(
                Fraction(sum(abs(a - b) for a, b in zip(x.values(), y.values(), strict=True)), plan.moved[i].l1)
                for i in group
                for x, y in [(reads[0].measures[i], reads[1].measures[i])]
            )
            largest = max(largest, moved)
    assert largest == 1


def test_joint_noise_is_one_event_of_the_largest_ratio() -> None:
    pair = [Geometric(sensitivity=10, epsilon=Fraction(1, 2)), Geometric(sensitivity=3, epsilon=Fraction(1, 4))]
    event = joint_event(pair)
    assert isinstance(event, PureStep) and event.epsilon == Fraction(1, 2)
    gaussian = [DiscreteGaussian(sensitivity=10, sigma=40), DiscreteGaussian(sensitivity=3, sigma=6)]
    both = joint_event(gaussian)
    assert both.rho == max(each.event.rho for each in gaussian) and both.sigma == 6  # type: ignore[union-attr]
    assert joint_event(pair[:1]) is pair[0].event


def test_the_errors_are_those_of_the_full_price(tmp_path: Path) -> None:
    """95% errors times epsilon, in caps: SUM 3.00 as if alone, COUNT 4.97 (both were 5.99)."""
    frame = pandas.DataFrame({"pid": numpy.arange(40_000) // 4, "slot": 0, "x": 18})
    options: dict[str, Any] = {"unit": "pid", "max_rows_per_unit": 4, "name": "t", "ledger": tmp_path / "l.db"}
    bounds = {"x": (0, 100), "slot": (0, 3999)}
    with connect(frame, bounds=bounds, budget=hb.Budget(10, 1e-6), **options) as db:
        asked = "SELECT FLOOR(slot) AS slot, COUNT(*) AS n, SUM(x) AS s FROM t GROUP BY 1"
        release = db.sql(asked, epsilon=1)
        event = release.receipt.event
        assert isinstance(event, PureStep) and event.epsilon == 1
        counts, sums = (numpy.abs([float(v) for v in release[name].values][1:]) for name in "ns")
        assert numpy.quantile(counts, 0.95) == pytest.approx(4.97 * 4, rel=0.08)
        assert numpy.quantile(sums, 0.95) == pytest.approx(3.0 * 400, rel=0.08)
        ends = numpy.array(release.intervals(0.95)["n"][1:], dtype=float)
        covered = numpy.mean((ends[:, 0] <= 0) & (ends[:, 1] >= 0))
        assert 0.94 <= covered <= 0.97
        assert db.preview(asked, epsilon=1).errors["s"] == pytest.approx(3.0 * 400, rel=0.02)


def strayed(text: str, value: Any, *, split: bool, people: int = 4_000, runs: int = 2_000) -> hb.Release:
    """One release with a row per run: everybody's ``value``, at epsilon 1, and noise of its own in each run."""
    plans = plan_kinds(text, dataset(lower=0), [NoiseKind.LAPLACE], totals={}, clipping=False)
    quote = quote_plan(plans[-1] if split else plans[0], Price(epsilon=Fraction(1)))
    rows = [(i, float(value(i)), "n", True) for i in range(people)]
    [exact] = read_exactly(engine(rows), quote.planned)
    generator = numpy.random.default_rng(11)
    measures = []
    for place, measure in enumerate(exact.measures):
        [true] = measure.values()
        noise = quote.spent[0].noise(place).draw(generator, (runs,))
        measures.append(tuple(int(true + each) for each in noise))
    told = NoisyResult(((),) * runs, tuple(measures), ())
    return answer.release(quote, [told], None, "", repeated=False)


@pytest.mark.parametrize("value", [lambda i: i % 19, lambda i: 20 + i % 11, lambda i: 50 * (i % 2)])
def test_a_variance_is_more_exact_from_three_parts_and_its_interval_holds(value: Any) -> None:
    text, true = "SELECT VAR_POP(x) AS v FROM t", float(numpy.var([value(i) for i in range(4_000)]))
    parts, before = (strayed(text, value, split=split) for split in (True, False))
    errors = [numpy.abs(numpy.array(each["v"].values, dtype=float) - true) for each in (parts, before)]
    assert numpy.quantile(errors[1], 0.95) > 1.25 * numpy.quantile(errors[0], 0.95)
    held = [low <= true <= high for low, high in parts.head(300).intervals(0.95)["v"]]
    assert numpy.mean(held) > 0.91  # with 95%: fewer in one of 500 runs


def test_beside_a_variance_no_part_of_an_average_is_dropped() -> None:
    """95% errors at epsilon 1, cap 2: 11, 320, .050 and .049; 29, 1470, .145 and .174 with noise for each by itself."""
    text = "SELECT COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a, STDDEV_POP(x) AS d FROM t"
    parts, before = (strayed(text, lambda i: i % 51, split=split) for split in (True, False))
    true = {"n": 4_000, "s": sum(i % 51 for i in range(4_000))}
    values = [i % 51 for i in range(4_000)]
    true |= {"a": numpy.mean(values), "d": numpy.std(values)}
    for name, exact in true.items():
        wide = [numpy.quantile(numpy.abs(numpy.array(each[name].values) - exact), 0.95) for each in (before, parts)]
        assert wide[0] > 2 * wide[1]


@pytest.mark.parametrize(
    "beside", ["AVG(x) AS a", "COUNT(*) AS n, SUM(x) AS s", "VAR_POP(x) AS v", "COUNT(*) AS n, AVG(x) AS a"]
)
@pytest.mark.parametrize("rank", ["MEDIAN(x)", "QUANTILE_CONT(x, 0.9)", "MIN(x)", "MAX(x)"])
def test_a_quantile_beside_parts_of_the_same_value_is_a_quantile(beside: str, rank: str) -> None:
    """It was a count of the rows: the last of the readings that parts have."""
    planned = split_plan(f"SELECT {beside}, {rank} AS m FROM t", dataset())
    [plan] = planned.plans
    assert plan.joint and plan.outputs[-1].value.param.how is How.QUANTILE


def test_a_median_beside_an_average_is_told_as_one(tmp_path: Path) -> None:
    frame = pandas.DataFrame({"pid": numpy.arange(2_000), "x": numpy.arange(2_000) % 100})
    options: dict[str, Any] = {"unit": "pid", "max_rows_per_unit": 1, "name": "t", "ledger": tmp_path / "l.db"}
    with connect(frame, bounds={"x": (0, 99)}, budget=hb.Budget(10, 1e-6), **options) as db:
        release = db.sql("SELECT COUNT(*) AS n, AVG(x) AS a, MEDIAN(x) AS m FROM t", epsilon=3, noise="laplace")
    [median], [mean] = release["m"].values, release["a"].values
    assert abs(median - 50) < 5 and abs(mean - 49.5) < 2
