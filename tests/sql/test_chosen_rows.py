"""After keys were chosen: rows of others take no place under a person's bound, and nobody moves more than it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from hubbub import noise
from hubbub.noise.testing import seeded
from hubbub.schema.tables import Column, Kind
from hubbub.sql import measurement, quote
from hubbub.sql.answer.show import release
from hubbub.sql.compiler.lowering.engine_statements import EngineStatement
from hubbub.sql.compiler.query_plan import NoiseKind
from hubbub.sql.pricing.price import Price
from hubbub.sql.quote import plan_kinds, plan_text, quote_plan
from hubbub.terms import Neighbours
from tests.sql._exact import engine_over, read_exactly, read_neighbours
from tests.sql._moved import distances
from tests.sql.test_key_selection import COUNT, dataset

ADD_REMOVE, REPLACE = Neighbours.ADD_REMOVE, Neighbours.REPLACE
TYPES = {"pid": pyarrow.int64(), "city": pyarrow.string(), "x": pyarrow.float64()}
QUIET = {"deadline": None, "suppress_health_check": list(HealthCheck), "database": None, "phases": [Phase.generate]}
CAP = 12
KEYS_BESIDE = 16
TEXTS = (
    COUNT,
    "SELECT city, COUNT(*) AS n, SUM(x) AS s, AVG(x) AS a FROM t GROUP BY city",
    "SELECT city, COUNT(DISTINCT x) AS d, COUNT(DISTINCT pid) FILTER (WHERE x > 3) AS p FROM t GROUP BY city",
    "SELECT city, COUNT(DISTINCT pid) FILTER (WHERE x > 3) AS p FROM t GROUP BY city",
    "SELECT city, COUNT(*) FILTER (WHERE x > 3) AS a, COUNT(*) FILTER (WHERE x <= 3) AS b FROM t GROUP BY city",
    "SELECT city, MEDIAN(x) AS m, COUNT(*) AS n FROM t WHERE x < 9 GROUP BY city",
)
Row = tuple[int, str, float]


def names(cities: set[str]) -> set[str]:
    return {repr((city,)) for city in cities}


def counted(text: str, rows: list[Row], cities: set[str]) -> int:
    """What the first measure adds up over the chosen keys, without noise, of people with these rows.

    Each key has somebody else with one row, so that it can be chosen whatever keys of the others count.
    """
    others = [(1000 + i, city, 8.0) for i, city in enumerate(sorted({row[1] for row in rows}))]
    engine = engine_over({"t": (TYPES, [*rows, *others])})
    [read] = read_exactly(engine, plan_text(text, dataset(), gaussian=True), names(cities))
    engine.close()
    return sum(read.measures[0].values()) - len(cities)


# ---------------------------------------------------------------- the bound is spent on chosen keys

GREEDY: list[Row] = [(1, "a", 1.0)] * CAP + [(1, "b", 2.0)] * CAP + [(1, f"c{i}", 3.0) for i in range(400)]


@pytest.mark.parametrize("text", [*TEXTS[:2], TEXTS[5]])
def test_all_places_under_the_bound_are_for_rows_of_chosen_keys(text: str) -> None:
    """As many as the bound says: not fewer, as rows of 400 other keys would leave; not more, as without a bound."""
    assert counted(text, GREEDY, {"a", "b"}) == CAP
    assert counted(text, GREEDY, {"b"}) == CAP
    assert counted(text, GREEDY, {"c7", "c9"}) == 2
    assert counted(text, GREEDY, set()) == 0


def test_people_are_under_as_many_chosen_keys_as_they_may_be() -> None:
    text = TEXTS[3]
    rows: list[Row] = [(1, f"c{i}", 9.0) for i in range(400)]
    assert counted(text, rows, {f"c{i}" for i in range(4)}) == 4
    assert counted(text, rows, {f"c{i}" for i in range(40)}) == 5


def test_ranks_of_a_prepared_copy_go_over_all_rows_and_are_not_taken() -> None:
    """Here the chosen rows come last of all: by those ranks none would count."""
    facts = dataset()
    [table] = facts.tables
    facts = replace(facts, tables=(replace(table, prepared=True),))
    ranked = [(*row, rank, len(GREEDY)) for rank, row in enumerate(reversed(GREEDY), start=1)]
    ranked += [(1000 + i, city, 8.0, 1, 1) for i, city in enumerate("ab")]
    types = {**TYPES, "_hb_rank": pyarrow.int64(), "_hb_rows": pyarrow.int64()}
    engine = engine_over({"t": (types, ranked)})
    [read] = read_exactly(engine, plan_text(COUNT, facts, gaussian=True), names({"a", "b"}))
    engine.close()
    assert sum(read.measures[0].values()) - 2 == CAP


def test_rows_beyond_the_bound_are_not_those_of_the_same_keys_for_everybody() -> None:
    """By one order for everybody, one of two keys would keep all rows and the other none."""
    rows: list[Row] = [(person, city, 1.0) for person in range(60) for city in "ab" for _ in range(CAP)]
    engine = engine_over({"t": (TYPES, rows)})
    [read] = read_exactly(engine, plan_text(COUNT, dataset(), gaussian=True))
    engine.close()
    first, second = read.measures[0].values()
    assert first + second == 60 * CAP
    assert min(first, second) >= 10 * CAP  # a fair coin of each person falls below with a chance of 1 in 10^7


@pytest.mark.parametrize("text", [TEXTS[2], TEXTS[3]])
def test_keys_beyond_the_bound_are_not_the_same_for_everybody(text: str) -> None:
    """By one order for everybody, five of six keys would have everybody and the sixth nobody."""
    rows: list[Row] = [(person, city, 9.0) for person in range(200) for city in "abcdef"]
    rows += [(1000 + i, city, 9.0) for i, city in enumerate("abcdef")]
    engine = engine_over({"t": (TYPES, rows)})
    [read] = read_exactly(engine, plan_text(text, dataset(), gaussian=True), names(set("abcdef")))
    engine.close()
    people = read.measures[-1].values()
    assert sum(people) == 200 * 5 + 6
    assert min(people) > 100  # each keeps 5 of 6 keys: 167 are expected, and below 130 a chance of 1 in 10^8


# ---------------------------------------------------------------- one person moves no more than the bound


def rows_of(person: int) -> st.SearchStrategy[list[Row]]:
    values = st.integers(0, 20).map(float)
    return st.lists(st.tuples(st.just(person), st.sampled_from("abcdefgh"), values), max_size=45)


@st.composite
def pairs(draw: Callable[[Any], Any]) -> tuple[Neighbours, list[Row], list[Row], set[str]]:
    """Neighbours, one of which has a greedy person, and any keys as chosen."""
    others = [row for person in range(2, 5) for row in draw(rows_of(person))]
    relation = draw(st.sampled_from([ADD_REMOVE, REPLACE]))
    one, other = draw(rows_of(1)), draw(rows_of(1)) if relation is REPLACE else []
    return relation, others + one, others + other, draw(st.sets(st.sampled_from("abcdefgh"), min_size=1))


def moved_too_far(pair: tuple[Neighbours, list[Row], list[Row], set[str]], text: str) -> list[str]:
    relation, one, other, cities = pair
    engines = [engine_over({"t": (TYPES, rows)}) for rows in (one, other)]
    too_far: list[str] = []
    try:
        for kind in NoiseKind:
            for planned in plan_kinds(
                text, dataset(neighbours=relation), [kind], totals={}, clipping=False, choose_keys=True
            ):
                [[before, after]] = read_neighbours(engines, planned, names(cities))
                too_far += distances(planned.plans[0], before, after, relation)
    finally:
        for engine in engines:
            engine.close()
    return too_far


@pytest.mark.parametrize("text", TEXTS)
def test_whatever_keys_are_chosen_one_person_moves_them_by_no_more_than_the_bound(text: str, soak: int) -> None:
    @settings(max_examples=8 * soak, **QUIET)
    @given(pairs())
    def check(pair: tuple[Neighbours, list[Row], list[Row], set[str]]) -> None:
        assert not (found := moved_too_far(pair, text)), "\n".join(found)

    check()


# ---------------------------------------------------------------- the tests can fail


def uncapped(sql: str) -> str:
    """No cap on rows or keys of what is told."""
    return re.sub(r"(_hb_r <=|_hb_r >|count\(\*\) >) (\d+)", r"\1 999999", sql) if "_hb_chosen" in sql else sql


def capped_before(sql: str) -> str:
    """All keys are read, bounded, and what is not chosen is thrown away afterwards."""
    return re.sub(r'EXISTS \(SELECT 1 FROM _hb_chosen WHERE \(hash\(.*?\) = _hb_chosen."h"\)\)', "TRUE", sql)


def plant(monkeypatch: pytest.MonkeyPatch, fault: Callable[[str], str]) -> None:
    real = quote.write_statements

    def faulty(*args: Any, **named: Any) -> tuple[EngineStatement, ...]:
        return tuple(replace(each, sql=fault(each.sql)) for each in real(*args, **named))

    monkeypatch.setattr(quote, "write_statements", faulty)


def test_a_missing_cap_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, uncapped)
    assert counted(COUNT, GREEDY, {"a", "b"}) == 2 * CAP
    others = [(2, "a", 1.0), (3, "b", 1.0)]
    assert moved_too_far((ADD_REMOVE, GREEDY[: 2 * CAP] + others, others, {"a", "b"}), COUNT)


def test_a_cap_before_the_choice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    plant(monkeypatch, capped_before)
    assert counted(COUNT, GREEDY, {"a", "b"}) < CAP


# ---------------------------------------------------------------- keys of every kind, and what is told of them

MOMENT = datetime(2025, 3, 30, 2, 30, 0, 123456)
KEYS = {
    Kind.INTEGER: (pyarrow.int64(), [0, -1, 2**63 - 1, -(2**63), None]),
    Kind.NUMBER: (pyarrow.float64(), [0.0, -0.0, 0.1, 1 / 3, math.nan, math.inf, -math.inf, 5e-324, None]),
    Kind.TEXT: (pyarrow.string(), ["", "'", "a\0b", "\n", '"; --', "\U0001f469\u200d\U0001f467", "x" * 5000, None]),
    Kind.DATE: (pyarrow.date32(), [date(1, 1, 1), date(9999, 12, 31), date(1970, 1, 1), None]),
    Kind.TIMESTAMP: (pyarrow.timestamp("us"), [MOMENT, datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59), None]),
}


@pytest.mark.parametrize("kind", KEYS)
def test_a_key_of_any_kind_is_the_same_in_both_statements(kind: Kind) -> None:
    """Every person has one row, so a key has as many rows as people."""
    arrow, values = KEYS[kind]
    rows = [(person, value) for person, value in enumerate(values * 3)]
    facts = dataset()
    [table] = facts.tables
    columns = (table.columns[0], Column(name="k", kind=kind))
    facts = replace(facts, tables=(replace(table, columns=columns, max_rows_per_unit=1),))
    engine = engine_over({"t": ({"pid": pyarrow.int64(), "k": arrow}, rows)})
    for text in ("SELECT k, COUNT(*) AS n FROM t GROUP BY k", "SELECT k, k AS j, COUNT(*) AS n FROM t GROUP BY 1, 2"):
        [read] = read_exactly(engine, plan_text(text, facts, gaussian=True))
        assert read.measures == (read.people,)
        assert sum(read.people.values()) == len(rows)
    engine.close()


class Log:
    """An engine that notes what it was asked and what it gave."""

    dialect = "duckdb"

    def __init__(self, rows: list[Row]) -> None:
        self.engine = engine_over({"t": (TYPES, rows)})
        self.asked: list[str] = []
        self.given: list[Any] = []
        self.known: dict[str, Any] = {}

    def rows(self, sql: str, *, seconds: float) -> Any:
        if sql not in self.known:
            self.known[sql] = self.engine.rows(sql, seconds=seconds)
        self.asked.append(sql)
        self.given.append(self.known[sql])
        return self.known[sql]


PRICE = Price(epsilon=Fraction(1), tail=Fraction(1, 10**6), own=Fraction(1, 10**6))


def test_the_second_statement_names_no_value() -> None:
    rows = [(person, city, 1.0) for person in range(3000) for city in ("o'Hara", "10")]
    log = Log(rows)
    told = quote_plan(plan_text(COUNT, dataset(), gaussian=True), PRICE)
    [texts] = told.planned.statements("duckdb", secret="s")
    result = measurement.run(log, told.plans[0], told.spent[0], texts, seconds=60)  # type: ignore[arg-type]
    assert [key for (key,) in result.keys] == ["10", "o'Hara"]
    numbers = sorted(row[-1] for row in log.given[0])
    assert log.asked[1] == texts[1].of_keys(numbers) != texts[1].sql
    assert "Hara" not in "".join(log.asked)
    assert re.findall(r"VALUES (.*?)\) AS listed", log.asked[1]) == [", ".join(f"({number})" for number in numbers)]
    log.engine.close()


# ---------------------------------------------------------------- intervals after the choice


def seed(monkeypatch: pytest.MonkeyPatch, stretch: Fraction = Fraction(1)) -> None:
    """Noise from a seeded source, ``stretch`` times as wide as it should be."""
    source = seeded(31)

    def drawing(draw: Callable[..., Any]) -> Callable[..., Any]:
        return lambda scale, size=None, *, rng=None: draw(scale * stretch, size, rng=source)

    for name in ("discrete_laplace", "discrete_gaussian"):
        monkeypatch.setattr(noise, name, drawing(getattr(noise, name)))


def coverage(kind: NoiseKind, draws: int) -> dict[str, tuple[int, int]]:
    """By key: how often it was named, and how often the interval then held its bounded count of the draw.

    Keys are far below the threshold, beside it and above, and many people have more rows than count.
    """
    [planned] = plan_kinds(COUNT, dataset(), [kind], totals={}, clipping=False, choose_keys=True)
    told = quote_plan(planned, PRICE)
    chooser = told.spent[0].chooser
    assert chooser is not None
    rng, sure = np.random.default_rng(8), chooser.threshold / chooser.weights.one
    rows: list[Row] = []
    for place in range(KEYS_BESIDE):
        people = rng.choice(600, size=round(sure * (0.4 + 0.1 * place)), replace=False)
        rows += [(int(person), f"c{place:02}", 1.0) for person in people for _ in range(4)]
    log = Log(rows)
    [texts] = told.planned.statements("duckdb", secret="s")
    known: dict[str, tuple[int, int]] = {}
    for _ in range(draws):
        part = measurement.run(log, told.plans[0], told.spent[0], texts, seconds=60)  # type: ignore[arg-type]
        truth = dict(log.given[-1])
        column = release(told, (part,), None, "", repeated=False)["n"]
        for (city,), low, high in zip(part.keys, *column.interval(0.95), strict=True):
            named, held = known.get(str(city), (0, 0))
            known[str(city)] = named + 1, held + (low <= truth[city] <= high)
    log.engine.close()
    return known


@pytest.mark.parametrize("kind", list(NoiseKind))
def test_intervals_of_named_keys_cover_given_that_they_are_named(
    kind: NoiseKind, soak: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    seed(monkeypatch)
    draws = 300 * soak
    known = coverage(kind, draws)
    beside = [each for each in known.values() if draws / 20 < each[0] < draws * 19 / 20]
    assert len(beside) >= 4  # named in some draws, and in others not
    for cells in (beside, list(known.values())):
        named, held = (sum(column) for column in zip(*cells, strict=True))
        assert held / named >= 0.95 - 4 * math.sqrt(0.05 * 0.95 / named)


def test_intervals_that_are_too_short_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    seed(monkeypatch, Fraction(5, 4))
    named, held = (sum(column) for column in zip(*coverage(NoiseKind.LAPLACE, 300).values(), strict=True))
    assert held / named < 0.94
